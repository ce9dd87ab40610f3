// The charts' library, loaded when a figure is about to be seen.
import { complete, init, moved } from "./complete.js";

const drawn = new WeakMap();
const ends = new WeakMap(); // of the axes of each, as a text

const endsOf = ({ xAxis }) => xAxis.map(({ max }) => max).join();

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
      ends.set(element, endsOf(parsed));
      chart.setOption(parsed, true);
      return;
    }
    const place = document.createElement("div");
    element.append(place);
    chart = init(place, null, { renderer: "svg", width: element.clientWidth, height: element.clientHeight });
    chart.setOption(parsed);
    element.replaceChildren(place);
    drawn.set(element, chart);
    ends.set(element, endsOf(parsed));
    sizes.observe(element);
  },
  // move changes a part of what an element shows: as fast as can be while the
  // reader is still moving it.
  move(element, options, moving) {
    const chart = drawn.get(element);
    const parsed = JSON.parse(options);
    if (moving && endsOf(parsed) === ends.get(element)) {
      chart.dispatchAction({ type: "stretch", ...parsed }, { flush: true, silent: true });
      return;
    }
    ends.set(element, endsOf(parsed));
    chart.setOption(moved(parsed), { silent: true });
  },
};
