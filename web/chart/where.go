package chart

import (
	"encoding/json"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"vrametre/content"
	"vrametre/web/view"
)

// WhereHeight is the height of the bars of Where, with their axes, in pixels.
const WhereHeight = 228

// bars are the numbers of Where.
type bars struct {
	lang content.Lang
	rows []view.WhereRow
	// card is the chosen card's memory; 0: no card.
	card int64
	// scales are the ends of the two axes: of the sums, and of the card.
	scales [2]int64
	names  [2][]string
}

func barsOf(f view.Figures) bars {
	b := bars{lang: f.Lang()}
	shown := map[string]view.WhereRow{}
	for _, row := range f.Where() {
		shown[row.Kind] = row
	}
	var rule, peak int64
	for _, kind := range view.Kinds { // all of them, so that a bar that grows from nothing is there
		row, ok := shown[kind]
		if !ok {
			row = view.WhereRow{Kind: kind, Label: view.Text(b.lang, "kind."+kind, nil)}
		}
		b.rows = append(b.rows, row)
		rule, peak = rule+row.Rule, peak+row.Simulated
	}
	b.card, _ = f.Number("card.total")
	b.scales = [2]int64{endOf(max(rule, peak)), b.card}
	if peak > b.card {
		b.scales[1] = endOf(peak)
	}
	b.names = [2][]string{
		{
			view.Text(b.lang, "chart.where.rule", view.Args{"total": rule}),
			view.Text(b.lang, "chart.where.simulated", view.Args{"total": peak}),
		},
		{view.Text(b.lang, "chart.where.card", view.Args{"card": f.Scene().State.Device.Name(b.lang), "total": b.card})},
	}
	return b
}

// peak are a kind's bars by hand and at the peak, onCard the second again.
func peak(row view.WhereRow) []opts.BarData {
	return []opts.BarData{{Name: row.RuleText, Value: row.Rule}, {Name: row.SimulatedText, Value: row.Simulated}}
}

func onCard(row view.WhereRow) []opts.BarData {
	return []opts.BarData{{Name: row.SimulatedText, Value: row.Simulated}}
}

// cardSuffix tells the series of a kind on the card's scale from the one above.
const cardSuffix = "-card"

// Where is the stacked bar of where the memory goes: the lesson's calculation
// by hand and the simulated peak on one scale, then the peak again inside the
// chosen card, on the card's scale. Lengths are bytes.
func Where(f view.Figures) (Options, error) {
	b := barsOf(f)
	bar := charts.NewBar()
	bar.SetGlobalOptions(
		charts.WithAnimation(false),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item", Formatter: types.FuncStr(tooltip(b.lang))}),
		charts.WithGridOpts(
			opts.Grid{Left: "1", Right: "14", Top: "0", Height: "118"},
			opts.Grid{Left: "1", Right: "14", Top: "148", Height: "59"},
		),
	)
	// The second pair of axes belongs to the second grid.
	bar.ExtendXAxis(opts.XAxis{})
	bar.ExtendYAxis(opts.YAxis{})
	for i, scale := range b.scales {
		ticks := ticksOf(scale)
		bar.SetGlobalOptions(
			charts.WithXAxisOpts(opts.XAxis{
				Type: "value", GridIndex: i, Max: scale,
				MinInterval: float64(ticks.interval), MaxInterval: float64(ticks.interval),
				AxisLine:  &opts.AxisLine{Show: opts.Bool(false)},
				AxisTick:  &opts.AxisTick{Show: opts.Bool(false)},
				SplitLine: &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: rule}},
				AxisLabel: &opts.AxisLabel{
					Color: soft, FontSize: 11, Formatter: ticks.labels(b.lang),
					HideOverlap: opts.Bool(true), AlignMinLabel: "left", AlignMaxLabel: "right",
				},
			}, i),
			charts.WithYAxisOpts(opts.YAxis{
				Type: "category", GridIndex: i, Inverse: opts.Bool(true), Data: b.names[i],
				AxisLine: &opts.AxisLine{Show: opts.Bool(false)},
				AxisLabel: &opts.AxisLabel{
					Color: ink, FontSize: 12, Inside: opts.Bool(true), Align: "left", Margin: 1,
					ShowMinLabel: opts.Bool(true), ShowMaxLabel: opts.Bool(true),
					// A blank second line lifts the name above its bar.
					Formatter: "{value}\n", LineHeight: "38",
				},
			}, i),
		)
	}
	for _, row := range b.rows {
		bar.AddSeries(row.Label, peak(row), charts.WithSeriesId(row.Kind), charts.WithItemStyleOpts(fill(row.Kind)),
			charts.WithBarChartOpts(opts.BarChart{Stack: "peak", BarWidth: "18"}))
	}
	for i, row := range b.rows {
		options := []charts.SeriesOpts{
			charts.WithSeriesId(row.Kind + cardSuffix), charts.WithItemStyleOpts(fill(row.Kind)),
			charts.WithBarChartOpts(opts.BarChart{Stack: "card", BarWidth: "18", XAxisIndex: 1, YAxisIndex: 1}),
		}
		if i == 0 && b.card > 0 {
			options = append(options,
				charts.WithMarkLineNameXAxisItemOpts(opts.MarkLineNameXAxisItem{XAxis: b.card}),
				charts.WithMarkLineStyleOpts(opts.MarkLineStyle{
					Symbol: []string{"none", "none"}, Label: &opts.Label{Show: opts.Bool(false)},
					LineStyle: &opts.LineStyle{Color: warn, Type: "dashed", Width: 2},
				}))
		}
		bar.AddSeries(row.Label, onCard(row), options...)
	}
	return encode(bar)
}

// WhereShape names all of Where that WhereMoved does not change.
func WhereShape(f view.Figures) string {
	card, _ := f.Number("card.total")
	return view.Exact(f.Lang(), card)
}

// WhereMoved is the part of Where's options that follows a slider: lengths,
// scales and names. Drawing it is half the work of drawing all, and while the
// scales stay as they are a tenth.
func WhereMoved(f view.Figures) (Options, error) {
	type series struct {
		ID   string         `json:"id"`
		Data []opts.BarData `json:"data"`
	}
	type label struct {
		Formatter types.FuncStr `json:"formatter"`
	}
	type scale struct {
		Max         int64 `json:"max"`
		MinInterval int64 `json:"minInterval"`
		MaxInterval int64 `json:"maxInterval"`
		AxisLabel   label `json:"axisLabel"`
	}
	type names struct {
		Data []string `json:"data"`
	}
	var moved struct {
		Series []series `json:"series"`
		XAxis  []scale  `json:"xAxis"`
		YAxis  []names  `json:"yAxis"`
	}
	b := barsOf(f)
	for _, row := range b.rows {
		moved.Series = append(moved.Series, series{row.Kind, peak(row)}, series{row.Kind + cardSuffix, onCard(row)})
	}
	for i, end := range b.scales {
		ticks := ticksOf(end)
		moved.XAxis = append(moved.XAxis, scale{end, ticks.interval, ticks.interval, label{ticks.labels(b.lang)}})
		moved.YAxis = append(moved.YAxis, names{b.names[i]})
	}
	text, err := json.Marshal(moved)
	return Options(text), err
}
