package chart

import (
	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"vrametre/web/view"
)

// WhereHeight is the height of the bars of Where, with their axes, in pixels.
const WhereHeight = 228

// Where is the stacked bar of where the memory goes: the lesson's calculation
// by hand and the simulated peak on one scale, then the peak again inside the
// chosen card, on the card's scale. Lengths are bytes.
func Where(f view.Figures) (Options, error) {
	bar := charts.NewBar()
	rows := f.Where()
	tank := f.Tank()
	lang := f.Lang()

	var ruleTotal, peak int64
	for _, row := range rows {
		ruleTotal += row.Rule
		peak += row.Simulated
	}
	card, _ := f.Number("card.total") // 0: no card
	scales := []int64{max(ruleTotal, peak), max(card, peak)}
	names := [][]string{
		{
			view.Text(lang, "chart.where.rule", view.Args{"total": ruleTotal}),
			view.Text(lang, "chart.where.simulated", view.Args{"total": peak}),
		},
		{view.Text(lang, "chart.where.card", view.Args{"card": f.Scene().State.Device.Name(lang), "total": card})},
	}

	bar.SetGlobalOptions(
		charts.WithAnimation(false),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item", Formatter: types.FuncStr(tooltip(lang))}),
		charts.WithGridOpts(
			opts.Grid{Left: "1", Right: "14", Top: "0", Height: "118"},
			opts.Grid{Left: "1", Right: "14", Top: "148", Height: "59"},
		),
	)
	// The second pair of axes belongs to the second grid.
	bar.ExtendXAxis(opts.XAxis{})
	bar.ExtendYAxis(opts.YAxis{})
	for i := range scales {
		ticks := ticksOf(scales[i])
		bar.SetGlobalOptions(
			charts.WithXAxisOpts(opts.XAxis{
				Type: "value", GridIndex: i, Max: scales[i],
				MinInterval: float64(ticks.interval), MaxInterval: float64(ticks.interval),
				AxisLine:  &opts.AxisLine{Show: opts.Bool(false)},
				AxisTick:  &opts.AxisTick{Show: opts.Bool(false)},
				SplitLine: &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: rule}},
				AxisLabel: &opts.AxisLabel{
					Color: soft, FontSize: 11, Formatter: ticks.labels(lang),
					HideOverlap: opts.Bool(true), AlignMinLabel: "left", AlignMaxLabel: "right",
				},
			}, i),
			charts.WithYAxisOpts(opts.YAxis{
				Type: "category", GridIndex: i, Inverse: opts.Bool(true), Data: names[i],
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

	for _, row := range rows {
		bar.AddSeries(row.Label, []opts.BarData{
			{Name: row.RuleText, Value: row.Rule},
			{Name: row.SimulatedText, Value: row.Simulated},
		}, charts.WithSeriesId(row.Kind), charts.WithItemStyleOpts(fill(row.Kind)),
			charts.WithBarChartOpts(opts.BarChart{Stack: "peak", BarWidth: "18"}))
	}
	for i, row := range rows {
		options := []charts.SeriesOpts{
			charts.WithSeriesId(row.Kind + cardSuffix), charts.WithItemStyleOpts(fill(row.Kind)),
			charts.WithBarChartOpts(opts.BarChart{Stack: "card", BarWidth: "18", XAxisIndex: 1, YAxisIndex: 1}),
		}
		if i == 0 && card > 0 {
			options = append(options,
				charts.WithMarkLineNameXAxisItemOpts(opts.MarkLineNameXAxisItem{Name: tank.Of, XAxis: card}),
				charts.WithMarkLineStyleOpts(opts.MarkLineStyle{
					Symbol: []string{"none", "none"}, Label: &opts.Label{Show: opts.Bool(false)},
					LineStyle: &opts.LineStyle{Color: warn, Type: "dashed", Width: 2},
				}))
		}
		bar.AddSeries(row.Label, []opts.BarData{{Name: row.SimulatedText, Value: row.Simulated}}, options...)
	}
	return encode(bar)
}

// cardSuffix tells the series of a kind on the card's scale from the one above.
const cardSuffix = "-card"
