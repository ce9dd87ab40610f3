// Package chart turns figures into options of ECharts, built with go-echarts.
// The same options are drawn in the page and, at build time, into the SVG that
// stands there before any script runs.
package chart

import (
	"encoding/json"

	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"vrametre/content"
	"vrametre/web/view"
)

// Options is one chart's options as JSON.
type Options string

// drawn is a chart that go-echarts can check and write.
type drawn interface {
	Validate()
	JSON() map[string]interface{}
}

// encode writes a chart's options. What go-echarts cannot express is added by
// the page's charts script: colours' patterns, number formats, tooltips drawn
// without HTML.
func encode(c drawn) (Options, error) {
	c.Validate()
	options := c.JSON()
	delete(options, "toolbox") // always there, always empty
	delete(options, "legend")
	delete(options, "title")
	text, err := json.Marshal(options)
	return Options(text), err
}

// Colours of the page, as its style sheet names them.
const (
	ink  = "var(--ink)"
	soft = "var(--soft)"
	rule = "var(--rule)"
	warn = "var(--alarm)"
)

// fill is the colour of a kind of memory.
func fill(kind string) opts.ItemStyle { return opts.ItemStyle{Color: "var(--" + kind + ")"} }

// tooltip is the pattern of ECharts for one bar: {a} stands for the series, {b} for the item.
func tooltip(lang content.Lang) string {
	return view.Text(lang, "chart.tooltip", view.Args{"kind": "{a}", "size": "{b}"})
}

// ticks are the marks of an axis of bytes: the multiples of interval up to max.
type ticks struct{ interval, max int64 }

// endOf is where an axis ends that has to reach n. The ends are far apart: lengths grow
// with what the reader moves, under marks that stay where they are.
func endOf(n int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, step := range []int64{1, 2, 3, 5} {
			if end := step * power; end >= n {
				return end
			}
		}
	}
}

// ticksOf chooses an interval of 1, 2 or 5 times a power of ten that makes two to five marks.
func ticksOf(max int64) ticks {
	for power := int64(1); ; power *= 10 {
		for _, step := range []int64{1, 2, 5} {
			if interval := step * power; max/interval <= 5 {
				return ticks{interval, max}
			}
		}
	}
}

// tickUnits are the units of marks, in powers of a thousand.
var tickUnits = []string{"B", "kB", "MB", "GB", "TB"}

// labels are the marks' texts by value, for the charts script to look up. An
// interval is a whole number of its unit, so every mark is.
func (t ticks) labels(lang content.Lang) types.FuncStr {
	scale, unit := int64(1), 0
	for t.interval >= 1000*scale && unit < len(tickUnits)-1 {
		scale, unit = 1000*scale, unit+1
	}
	texts := map[int64]string{0: view.Count(lang, 0)}
	for n := t.interval; n <= t.max; n += t.interval {
		texts[n] = view.Text(lang, "chart.tick."+tickUnits[unit], view.Args{"n": n / scale})
	}
	text, err := json.Marshal(texts)
	if err != nil {
		panic(err) // a map of integers and strings always has a JSON form
	}
	return opts.FuncOpts(string(text))
}
