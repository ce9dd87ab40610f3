package validation

import (
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/calc/validate"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// line is a table's row: its attributes, its header and its cells.
type line struct {
	attrs []markup.Attr
	cells []markup.Node
}

func words(list ...string) []markup.Node {
	cells := make([]markup.Node, len(list))
	for i, text := range list {
		cells[i] = markup.Text(text)
	}
	return cells
}

// over is a cell of two lines.
func over(first, second string) markup.Node {
	return markup.Elem("span", nil, markup.Text(first), markup.Elem("small", nil, markup.Text(second)))
}

func link(text, address string) markup.Node {
	return markup.Elem("a", markup.A("href", address), markup.Text(text))
}

// table scrolls in a frame of its own where it is wider than the page, and the keyboard scrolls it too.
func table(class string, b Block, lines []line) markup.Node {
	heads := make([]markup.Node, len(b.Head))
	for i, head := range b.Head {
		heads[i] = markup.Elem("th", markup.A("scope", "col"), markup.Text(head))
	}
	rows := make([]markup.Node, len(lines))
	for i, l := range lines {
		cells := make([]markup.Node, len(l.cells))
		for j, cell := range l.cells {
			if j == 0 {
				cells[j] = markup.Elem("th", markup.A("scope", "row"), cell)
			} else {
				cells[j] = markup.Elem("td", nil, cell)
			}
		}
		rows[i] = markup.Elem("tr", l.attrs, cells...)
	}
	return markup.Elem("div", markup.A("class", "measured scroll "+class, "role", "region", "tabindex", "0", "aria-label", b.Caption),
		markup.Elem("table", nil,
			markup.Elem("caption", nil, markup.Elem("span", nil, markup.Text(b.Caption))),
			markup.Elem("thead", nil, markup.Elem("tr", nil, heads...)),
			markup.Elem("tbody", nil, rows...)))
}

// summary is a line by family, and one for convolutional networks with inferred positions at the start.
func (p *Page) summary(b Block) markup.Node {
	var lines []line
	add := func(name, family string, errors []float64) {
		s := validate.StatsOf(errors)
		within := 0
		for _, c := range p.study.Of(family) {
			if c.Within() {
				within++
			}
		}
		tool := "\u2013"
		if others := p.study.ToolErrors(family, validate.Tools[0]); len(others) > 0 {
			tool = p.percent(validate.StatsOf(others).Median)
		}
		lines = append(lines, line{markup.A("data-summary", name), words(b.word(name), p.count64(s.Rows), p.percent(s.Median), p.percent(s.P90), p.percent(s.Worst), p.count64(within), tool)})
	}
	for _, family := range validate.Families {
		add(family, family, p.study.Errors(family))
		if family == validate.CNN {
			add("cnn.start", family, p.study.ErrorsAtStart(family))
		}
	}
	return table("wide", b, lines)
}

func (p *Page) count64(n int) string { return view.Count(p.lang, int64(n)) }

func (p *Page) exact(b Block) markup.Node {
	var lines []line
	for _, e := range p.study.Exact {
		lines = append(lines, line{markup.A("data-exact", e.What), words(b.word(e.What), p.count64(e.Compared), p.count64(e.Exact))})
	}
	return table("", b, lines)
}

// of are the attributes of a case's row.
func of(c validate.Case) []markup.Attr {
	attrs := markup.A("data-case", c.ID)
	if c.Missed {
		attrs = append(attrs, markup.Attr{Name: "class", Value: "miss"})
	}
	return attrs
}

// card is the card with the version of PyTorch, where the source says it.
func card(b Block, c validate.Case) markup.Node {
	version := b.word("no-version")
	if c.PyTorch != "" {
		number, _, _ := strings.Cut(c.PyTorch, "+") // without the build
		version = "PyTorch " + number
	}
	return over(c.GPU, version)
}

// against is a figure with its error.
func (p *Page) against(n int64, e float64) markup.Node { return over(p.mib(n), p.signed(e)) }

func (p *Page) interval(c validate.Case) markup.Node {
	return over(p.mib(c.Low)+"\u2013", p.mib(c.High))
}

// optimizer is written as PyTorch does.
func optimizer(q calc.Request) string {
	names := map[string]string{"": "Adam", "adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "rmsprop": "RMSprop", "adagrad": "Adagrad", "adafactor": "Adafactor", "adam8bit": "Adam8bit"}
	name, ok := names[q.Optimizer.Name]
	if !ok {
		name = q.Optimizer.Name
	}
	return name
}

func (p *Page) reserved(family string, b Block) markup.Node {
	var tools []string
	for _, tool := range validate.Tools {
		if len(p.study.ToolErrors(family, tool)) > 0 {
			tools = append(tools, tool)
		}
	}
	var lines []line
	for _, c := range p.study.Of(family) {
		position := markup.Text(b.word(c.Request.ZeroGradAt))
		if c.Inferred {
			position = over(position.Text, b.word("inferred"))
		}
		cells := []markup.Node{
			markup.Text(c.Request.Model.Preset), markup.Text(view.Count(p.lang, c.Request.Batch)), markup.Text(optimizer(c.Request)), card(b, c), position,
			markup.Text(p.mib(c.Measured)), p.against(c.Ours, c.Error), p.against(c.AtStart, c.AtStartError), p.interval(c),
		}
		for _, tool := range tools {
			if e, ok := c.ToolError(tool); ok {
				cells = append(cells, p.against(c.Tools[tool], e))
			} else {
				cells = append(cells, markup.Text("\u2013"))
			}
		}
		lines = append(lines, line{of(c), append(cells, link(c.Source, c.URL))})
	}
	return table("wide", b, lines)
}

// sides is an image's shape, or a number of tokens.
func (p *Page) sides(b Block, q calc.Request) string {
	if len(q.Input) == 0 {
		return b.word("own-input")
	}
	if n := q.Input[0].Tokens; n > 0 {
		return strings.ReplaceAll(b.word("tokens"), "N", view.Count(p.lang, n))
	}
	shape := q.Input[0].Shape
	return view.Shape(shape[len(shape)-2:])
}

func (p *Page) segmentation(b Block) markup.Node {
	var lines []line
	for _, c := range p.study.Of(validate.Segmented) {
		lines = append(lines, line{of(c), []markup.Node{
			markup.Text(c.Request.Model.Preset), markup.Text(p.sides(b, c.Request)), markup.Text(c.Dataset), markup.Text(view.Count(p.lang, c.Request.Batch)),
			card(b, c), markup.Text(p.mib(c.Measured)), p.against(c.Ours, c.Error), p.interval(c), link(c.Source, c.URL)}})
	}
	return table("wide", b, lines)
}

func (p *Page) bert(b Block) markup.Node {
	var lines []line
	for _, c := range p.study.Of(validate.BERT) {
		recomputed := b.word("kept")
		if c.Request.Checkpointing.EveryBlock {
			recomputed = b.word("recomputed")
		}
		lines = append(lines, line{of(c), []markup.Node{
			markup.Text(optimizer(c.Request)), markup.Text(p.accumulated(c.Request)), markup.Text(precision(c.Request)), markup.Text(recomputed),
			card(b, c), markup.Text(p.mib(c.Measured)), p.against(c.Ours, c.Error), p.interval(c), link(c.Source, c.URL)}})
	}
	return table("wide", b, lines)
}

// accumulated is the batch, and how many of them one step takes.
func (p *Page) accumulated(q calc.Request) string {
	text := view.Count(p.lang, q.Batch)
	if q.Accumulation > 1 {
		text += "\u202f×\u202f" + strconv.Itoa(q.Accumulation)
	}
	return text
}

func precision(q calc.Request) string {
	if q.Precision == "" {
		return "fp32"
	}
	return q.Precision
}

// misses lists every case beyond its interval, or farther from its measurement than validate.Beyond.
func (p *Page) misses(b Block) markup.Node {
	var lines []line
	for _, c := range p.study.Missed() {
		place := b.word("inside")
		if !c.Within() {
			place = b.word("outside")
		}
		name := c.Request.Model.Preset
		what := []string{view.Count(p.lang, c.Request.Batch)}
		switch c.Family {
		case validate.Segmented:
			what = append(what, p.sides(b, c.Request), c.Dataset)
		case validate.BERT:
			what = []string{p.accumulated(c.Request), optimizer(c.Request), precision(c.Request)}
		default:
			what = append(what, optimizer(c.Request))
		}
		lines = append(lines, line{markup.A("data-miss", c.ID), []markup.Node{
			over(name, strings.Join(what, " · ")), markup.Text(c.GPU), markup.Text(p.mib(c.Measured)), p.against(c.Ours, c.Error), markup.Text(place), markup.Text(b.word(c.Cause))}})
	}
	return table("wide reasons", b, lines)
}

func (b Block) ran(yes bool) string {
	if yes {
		return b.word("ran")
	}
	return b.word("oom")
}

func (b Block) fits(yes bool) string {
	if yes {
		return b.word("fits")
	}
	return b.word("over")
}

func (b Block) right(yes bool) string {
	if yes {
		return b.word("right")
	}
	return b.word("wrong")
}

func judged(v validate.Verdict) []markup.Attr {
	attrs := markup.A("data-verdict-of", v.ID)
	if !v.Right {
		attrs = append(attrs, markup.Attr{Name: "class", Value: "miss"})
	}
	return attrs
}

func (p *Page) limited(kind string, b Block) markup.Node {
	var lines []line
	for _, v := range p.study.VerdictsOf(kind) {
		lines = append(lines, line{judged(v), []markup.Node{
			markup.Text(v.Request.Model.Preset), markup.Text(view.Count(p.lang, v.Request.Batch)), markup.Text(optimizer(v.Request)), markup.Text(v.GPU),
			markup.Text(p.mib(v.Limit)), markup.Text(p.mib(v.Needs)), markup.Text(b.ran(v.Ran)), markup.Text(b.fits(v.Fits)), markup.Text(b.right(v.Right)), link(v.Source, v.URL)}})
	}
	return table("wide", b, lines)
}

// seen is what a report says of a case.
func (b Block) seen(v validate.Verdict) markup.Node {
	if v.Claim {
		return over(b.fits(v.Ran), b.word("claim"))
	}
	if v.Framework == "" {
		return markup.Text(b.ran(v.Ran))
	}
	return over(b.ran(v.Ran), v.Framework)
}

func (p *Page) report(b Block, v validate.Verdict) []markup.Node {
	name := v.Request.Model.Preset
	how := []string{p.sides(b, v.Request), precision(v.Request)}
	switch {
	case v.Request.Mode == "infer":
		how = []string{strings.ReplaceAll(b.word("cache"), "N", view.Count(p.lang, v.Request.Inference.Context)), precision(v.Request)}
	case v.Request.Adapter != nil:
		how = append(how, "LoRA")
	}
	limit := markup.Text(p.mib(v.Limit))
	if v.GPU != "" {
		limit = over(limit.Text, v.GPU)
	}
	return []markup.Node{
		over(name, strings.Join(how, " · ")), markup.Text(view.Count(p.lang, v.Request.Batch)), limit, markup.Text(p.mib(v.Needs)),
		b.seen(v), markup.Text(b.fits(v.Fits)), markup.Text(b.right(v.Right)), link(v.Source, v.URL),
	}
}

func (p *Page) reports(b Block) markup.Node {
	var lines []line
	for _, v := range p.study.VerdictsOf(validate.Public) {
		lines = append(lines, line{judged(v), p.report(b, v)})
	}
	return table("wide", b, lines)
}

// wrong lists the verdicts that are not what was seen.
func (p *Page) wrong(b Block) markup.Node {
	var lines []line
	for _, v := range p.study.Verdicts {
		if !v.Right {
			lines = append(lines, line{markup.A("data-wrong", v.ID), append(p.report(b, v)[:6], markup.Text(b.word(v.Kind)), link(v.Source, v.URL))})
		}
	}
	return table("wide", b, lines)
}

// Files are the same tables as data.
var Files = []struct {
	Name  string
	Write func(*validate.Study) ([]byte, error)
}{
	{"cases.csv", (*validate.Study).CasesCSV},
	{"verdicts.csv", (*validate.Study).VerdictsCSV},
	{"study.json", (*validate.Study).JSON},
}

func (p *Page) downloads(b Block) markup.Node {
	items := make([]markup.Node, len(Files))
	for i, f := range Files {
		items[i] = markup.Elem("li", nil, markup.Elem("a", markup.A("href", p.files+f.Name, "download", f.Name), markup.Text(f.Name)), markup.Text(" "+b.word(f.Name)))
	}
	return markup.Elem("ul", markup.A("class", "downloads"), items...)
}
