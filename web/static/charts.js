// The charts' library, loaded when a figure is about to be seen.
import { complete, init, moved } from "./complete.js";

const drawn = new WeakMap();

const sizes = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    drawn.get(target)?.resize({ width: contentRect.width, height: contentRect.height });
  }
});

self.vrametreCharts = {
  // draw shows options, given as JSON, in an element, in place of what is there.
  draw(element, options) {
    const parsed = complete(JSON.parse(options), getComputedStyle(element).fontFamily);
    let chart = drawn.get(element);
    if (chart) {
      chart.setOption(parsed, true);
      return;
    }
    const place = document.createElement("div");
    element.append(place);
    chart = init(place, null, { renderer: "svg", width: element.clientWidth, height: element.clientHeight });
    chart.setOption(parsed);
    element.replaceChildren(place);
    drawn.set(element, chart);
    sizes.observe(element);
  },
  // move changes a part of what an element shows.
  move(element, options) {
    drawn.get(element).setOption(moved(JSON.parse(options)), { silent: true });
  },
};
