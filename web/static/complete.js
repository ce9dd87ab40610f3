// Adds to options built in Go what go-echarts has no words for. The page and
// the build draw with the same function, so the picture that stands before the
// scripts is the picture they draw.
import * as echarts from "echarts/core";
import { BarChart } from "echarts/charts";
import { AriaComponent, GridComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

echarts.use([AriaComponent, BarChart, GridComponent, MarkLineComponent, TooltipComponent, SVGRenderer]);

// Between two ends of its scales a chart of bars that moves changes lengths and
// names, nothing else: its shapes are stretched as they stand. Updating options
// would lay out axes and make every label anew, which takes ten times as long.
echarts.registerAction({ type: "stretch", update: "none" }, ({ series, yAxis }, model, api) => {
  const data = new Map(series.map(({ id, data }) => [id, data]));
  const sums = new Map();
  model.eachSeries((one) => {
    const axis = one.coordinateSystem.getAxis("x");
    const x = (value) => axis.toGlobalCoord(axis.dataToCoord(value));
    const bars = one.getData();
    data.get(one.id).forEach(({ value }, i) => {
      const bar = `${one.get("stack")} ${i}`;
      const from = sums.get(bar) ?? 0;
      sums.set(bar, from + value);
      bars.getItemGraphicEl(i)?.setShape({ x: x(from), width: x(from + value) - x(from) });
    });
  });
  yAxis.forEach(({ data: names }, i) => {
    const axis = model.getComponent("yAxis", i);
    const words = axis.get(["axisLabel", "formatter"]);
    api.getViewOfComponentModel(axis).group.traverse((part) => {
      const at = /^label_(\d+)$/.exec(part.anid);
      if (at) part.setStyle("text", words.replace("{value}", names[at[1]]));
    });
  });
});

export const init = echarts.init;

// The second cue beside the colour, one pattern for each kind of memory, as in
// the style sheet. Lines are drawn in the paper's colour.
const lines = (rotation, thick, apart) => ({
  symbol: "rect",
  dashArrayX: [1, 0],
  dashArrayY: [thick, apart],
  rotation,
  color: "var(--paper)",
});
const patterns = {
  weights: "none",
  gradients: lines(0, 1, 4),
  optimizer: { symbol: "circle", symbolSize: 0.6, dashArrayX: [[5, 0], [0, 5, 5]], dashArrayY: [5, 0], color: "var(--paper)" },
  batch: lines(Math.PI / 2, 1, 4),
  activations: lines(-Math.PI / 4, 1, 11),
  temporaries: lines(-Math.PI / 4, 2, 4),
  runtime: lines(Math.PI / 4, 4, 3),
};

// complete changes parsed options in place and returns them. Texts are measured
// in the font that the page uses.
export function complete(options, fontFamily) {
  options.textStyle = { fontFamily };
  for (const grid of [options.grid].flat()) grid.outerBoundsMode = "none"; // where it was put, whatever its labels
  if (options.tooltip) {
    // Drawn inside the chart: a strict content security policy refuses the
    // style attributes of an HTML tooltip.
    Object.assign(options.tooltip, {
      renderMode: "richText",
      confine: true,
      backgroundColor: "var(--ink)",
      borderWidth: 0,
      textStyle: { color: "var(--paper)", fontSize: 12, fontFamily },
    });
  }
  for (const axis of [options.xAxis, options.yAxis].flat()) {
    const label = axis?.axisLabel;
    if (label?.lineHeight) label.lineHeight = Number(label.lineHeight);
    if (axis.type === "category") {
      axis.axisTick = { show: false };
      label.interval = 0; // every name, however tall its line
    }
    if (axis.splitLine && axis.gridIndex > 0) axis.splitLine.showMaxLine = false; // the card's own line stands there
  }
  labelled(options);
  for (const series of options.series) {
    identified(series);
    series.emphasis = { disabled: true };
    series.cursor = "default";
    if (series.markLine) Object.assign(series.markLine, { silent: true, animation: false });
    const pattern = patterns[series.id?.split("-")[0]];
    if (pattern) series.itemStyle.decal = pattern;
  }
  return options;
}

// identified gives a series' bars identities of their own. Without them a bar is
// known by its name, which is its size in words, and every move of a slider
// would take it away and draw another.
function identified(series) {
  series.data.forEach((bar, i) => (bar.id = i));
}

// moved completes the part of options that follows a slider.
export function moved(options) {
  options.series.forEach(identified);
  return labelled(options);
}

// labelled makes functions of the axes' labels, which Go writes by value.
function labelled(options) {
  for (const { axisLabel } of options.xAxis ?? []) {
    const texts = /^__f__(\{.*\})__f__$/.exec(axisLabel?.formatter ?? "");
    if (!texts) continue;
    const byValue = JSON.parse(texts[1]);
    axisLabel.formatter = (value) => byValue[value] ?? "";
  }
  return options;
}
