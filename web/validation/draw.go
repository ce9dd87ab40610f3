package validation

import (
	"math"
	"strconv"
	"strings"

	"vrametre/calc/validate"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// at is a place along an axis, as a percentage.
func at(share float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(100*share, 'f', 2, 64), "0"), ".") + "%"
}

func elem(tag string, pairs ...string) markup.Node { return markup.Elem(tag, markup.A(pairs...)) }

func label(class, x, y, dy, anchor, s string) markup.Node {
	return markup.Elem("text", markup.A("class", class, "x", x, "y", y, "dy", dy, "text-anchor", anchor), markup.Text(s))
}

// drawing is as wide as its place; its height is the style sheet's.
func drawing(class, words string, kids ...markup.Node) markup.Node {
	return markup.Elem("svg", markup.A("class", class, "role", "img", "aria-label", words, "width", "100%"), kids...)
}

// figure is a drawing with its caption, and the table of its numbers.
func figure(name, caption string, kids ...markup.Node) markup.Node {
	return markup.Elem("figure", markup.A("class", "fig wide fig-"+name), append(kids, markup.Elem("figcaption", nil, markup.Text(caption)))...)
}

// strip is one estimator's errors in one family.
type strip struct {
	family, who string
	errors      []float64
}

// strips are those of the families that the published tools estimate too.
func (p *Page) estimators() []strip {
	var list []strip
	for _, family := range []string{validate.CNN, validate.Transformer} {
		list = append(list, strip{family, "ours", p.study.Errors(family)})
		for _, tool := range validate.Tools {
			if errors := p.study.ToolErrors(family, tool); len(errors) > 0 {
				list = append(list, strip{family, tool, errors})
			}
		}
	}
	return list
}

// strips draws the errors of each estimator, one mark for each case, on one
// axis; a bar marks the median. The table under it says the same in numbers.
func (p *Page) strips(b Block) markup.Node {
	list := p.estimators()
	low, high := 0., 0.
	for _, s := range list {
		for _, e := range s.errors {
			low, high = min(low, e), max(high, e)
		}
	}
	const margin = .04
	low, high = low-margin, high+margin
	x := func(e float64) string { return at((e - low) / (high - low)) }
	var marks []float64
	for e := math.Ceil(low*2) / 2; e <= high; e += .5 {
		marks = append(marks, e)
	}
	var kids []markup.Node
	var lines []line
	family := ""
	for _, s := range list {
		if s.family != family {
			family = s.family
			kids = append(kids, markup.Elem("p", markup.A("class", "strip-family"), markup.Text(b.word(family))))
		}
		var dots []markup.Node
		for _, m := range marks {
			class := "grid"
			if m == 0 {
				class = "zero"
			}
			dots = append(dots, elem("line", "class", class, "x1", x(m), "x2", x(m), "y1", "0", "y2", "100%"))
		}
		for _, e := range s.errors {
			dots = append(dots, elem("circle", "cx", x(e), "cy", "50%", "r", "4"))
		}
		stats := validate.StatsOf(s.errors)
		dots = append(dots, elem("line", "class", "median", "x1", x(stats.Drift), "x2", x(stats.Drift), "y1", "12%", "y2", "88%"))
		class := "strip"
		if s.who == "ours" {
			class += " ours"
		}
		kids = append(kids, markup.Elem("div", markup.A("class", class),
			markup.Elem("span", nil, markup.Text(b.word(s.who))),
			drawing("", b.word(family)+", "+b.word(s.who)+"\u00a0: "+p.percent(stats.Median), dots...)))
		lines = append(lines, line{markup.A("data-strip", family+"."+s.who), words(b.word(s.who)+", "+b.word(family), p.count64(stats.Rows), p.percent(stats.Median), p.percent(stats.P90), p.percent(stats.Worst), p.signed(stats.Drift))})
	}
	var axis []markup.Node
	for _, m := range marks {
		axis = append(axis, label("", x(m), "1em", "0", "middle", p.whole(m)))
	}
	kids = append(kids, markup.Elem("div", markup.A("class", "strip axis", "aria-hidden", "true"), markup.Elem("span", nil), markup.Elem("svg", markup.A("width", "100%"), axis...)))
	twin := b
	twin.Caption = b.word("table")
	kids = append(kids, table("", twin, lines))
	return figure("strips", b.Caption, kids...)
}

// whole is a mark of an axis: +50 %.
func (p *Page) whole(e float64) string {
	text := view.Percent(p.lang, int64(math.Round(100*math.Abs(e))), 100)
	switch {
	case e < 0:
		return "\u2212" + text
	case e > 0:
		return "+" + text
	}
	return text
}

// shapes of the families' marks, around their place: not the colour alone tells them apart.
var shapes = map[string]string{
	validate.CNN:         "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
	validate.Transformer: "M-3.5-3.5h7v7h-7z",
	validate.Segmented:   "M0-5l4.6 8.2h-9.2z",
	validate.BERT:        "M0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",
}

func shape(family, class string) markup.Node {
	return elem("path", "class", class, "d", shapes[family])
}

// gigabytes is a mark of a scale.
func (p *Page) gigabytes(n float64) string {
	return view.Text(p.lang, "chart.tick.GB", view.Args{"n": int64(n / 1e9)})
}

// scatter draws our figure over the measurement, both on a scale of powers.
// Positions are percentages, so the lines of equal error are straight at any width.
func (p *Page) scatter(b Block) markup.Node {
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range p.study.Cases {
		for _, n := range []int64{c.Measured, c.Ours} {
			low, high = min(low, math.Log(float64(n))), max(high, math.Log(float64(n)))
		}
	}
	const margin = .15
	low, high = low-margin, high+margin
	share := func(n float64) float64 { return (math.Log(n) - low) / (high - low) }
	var behind, values []markup.Node
	for power := 1e9; power <= math.Exp(high); power *= 10 {
		for _, step := range []float64{1, 2, 5} {
			n := step * power
			if share(n) < .02 || share(n) > .97 {
				continue
			}
			x, y := at(share(n)), at(1-share(n))
			behind = append(behind, elem("line", "class", "grid", "x1", x, "x2", x, "y1", "0", "y2", "100%"), elem("line", "class", "grid", "x1", "0", "x2", "100%", "y1", y, "y2", y))
			values = append(values, label("mark", "0.4em", y, "-4", "start", p.gigabytes(n)), label("mark", x, "100%", "-6", "middle", p.gigabytes(n)))
		}
	}
	// ours = factor × measured, from the left edge to the right one, cut at the frame by the drawing's own edge
	diagonal := func(class string, factor float64) markup.Node {
		d := math.Log(factor) / (high - low)
		return elem("line", "class", class, "x1", "0", "y1", at(1-d), "x2", "100%", "y2", at(-d))
	}
	behind = append(behind, diagonal("equal", 1), diagonal("near", 1+validate.Beyond), diagonal("near", 1-validate.Beyond))
	var points []markup.Node
	for _, family := range validate.Families {
		for _, c := range p.study.Of(family) {
			class := "point"
			if c.Missed {
				class += " missed"
			}
			points = append(points, markup.Elem("svg", markup.A("x", at(share(float64(c.Measured))), "y", at(1-share(float64(c.Ours))), "data-point", c.ID), shape(family, class)))
		}
	}
	var legend []markup.Node
	for _, family := range validate.Families {
		legend = append(legend, markup.Elem("li", nil, markup.Elem("svg", markup.A("class", "key-shape", "viewBox", "-6 -6 12 12", "aria-hidden", "true"), shape(family, "point")), markup.Text(b.word(family))))
	}
	legend = append(legend, markup.Elem("li", nil, markup.Elem("svg", markup.A("class", "key-shape", "viewBox", "-6 -6 12 12", "aria-hidden", "true"), shape(validate.CNN, "point missed")), markup.Text(b.word("missed"))))
	return figure("scatter", b.Caption,
		markup.Elem("ul", markup.A("class", "legend"), legend...),
		markup.Elem("p", markup.A("class", "axis-name"), markup.Text(b.word("y"))),
		drawing("cloud", b.word("alt"), markup.Elem("g", nil, behind...), markup.Elem("g", nil, points...), markup.Elem("g", nil, values...)),
		markup.Elem("p", markup.A("class", "axis-name end"), markup.Text(b.word("x"))))
}
