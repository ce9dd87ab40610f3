// Draws figures when they are seen. A figure outside the window does no work:
// its last options wait until it comes into view, or until the page is printed.

let charts; // resolves to the library, asked for once

export function figures(root) {
  const waiting = new Map();
  const visible = new WeakSet();

  const show = (element, library) => {
    const options = waiting.get(element);
    if (options === undefined) return;
    waiting.delete(element);
    library.draw(element, options);
  };
  const library = () =>
    (charts ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(CHARTS, root);
      script.onload = () => resolve(self.vrametreCharts);
      script.onerror = () => reject(new Error(`cannot load ${script.src}`));
      document.head.append(script);
    }));
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
  window.addEventListener("beforeprint", () => {
    if (self.vrametreCharts) for (const element of [...waiting.keys()]) show(element, self.vrametreCharts);
  });

  // The program hands over an element and its options in JSON, as often as they change.
  window.vrametreDraw = (element, options) => {
    const first = !waiting.has(element) && !visible.has(element);
    waiting.set(element, options);
    if (visible.has(element)) request(element);
    else if (first) seen.observe(element);
  };
}
