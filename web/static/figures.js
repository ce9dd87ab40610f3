// Draws figures when they are seen. A figure outside the window does no work:
// its last options wait until it comes into view, or until the page is printed.

let charts; // resolves to the library, asked for once

export function figures(root) {
  const waiting = new Map();
  const visible = new WeakSet();

  const show = (element, library) => {
    const { options, moved, moving } = waiting.get(element) ?? {};
    waiting.delete(element);
    if (options !== undefined) library.draw(element, options);
    if (moved !== undefined) library.move(element, moved, moving);
  };
  const loaded = () =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(CHARTS, root);
      script.onload = resolve;
      script.onerror = () => reject(new Error(`cannot load ${script.src}`));
      document.head.append(script);
    });
  const library = () => (charts ??= (self.vrametreScript?.(CHARTS) ?? loaded()).then(() => self.vrametreCharts));
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) visible.delete(target);
        else {
          visible.add(target);
          request(target);
        }
      }
    },
    { rootMargin: "25%" },
  );
  const request = (element) => {
    if (self.vrametreCharts) show(element, self.vrametreCharts);
    else library().then((loaded) => show(element, loaded), console.warn); // the picture of the page stays
  };
  // Paper has no second chance: by the time it is asked for, the library must be there.
  window.addEventListener("vrametre:ready", () => (self.requestIdleCallback ?? setTimeout)(() => library().catch(() => {})));
  window.addEventListener("beforeprint", () => {
    if (self.vrametreCharts) for (const element of [...waiting.keys()]) show(element, self.vrametreCharts);
  });

  // The program hands over an element and its options in JSON, then the parts
  // of them that change, as often as they do: moving, while the reader does.
  window.vrametreDraw = (element, options, part, moving) => {
    const { options: whole } = waiting.get(element) ?? {};
    waiting.set(element, part ? { options: whole, moved: options, moving } : { options });
    if (visible.has(element)) request(element);
    else seen.observe(element);
  };
}
