Reveal.initialize({ transition: "none", viewDistance: 9, width: 960, height: 1400 });
