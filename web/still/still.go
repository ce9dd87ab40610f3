// Package still makes a picture of a figure: one SVG that stands alone, for
// hosts that print. It lays out the very mark-up of the page, with the few rules
// that figures need, and writes every length as a number and every style as an
// attribute, so that whatever reads SVG reads it.
package still

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Lengths in pixels.
const (
	rem      = 16.0
	inside   = 660.0 // a picture's width without its margins
	margin   = 12.0
	wordSize = 13.0
	leading  = 1.4
	gap      = 10.0
)

// Source is what a picture is made of.
type Source struct {
	// Mark-up of the figure and of the paints that it uses, and style sheets.
	Figure, Paints, Style string
	// Name of the figure, for who does not see it.
	Name string
	// Share is the length that a bar's reference stands for, as a part of the whole.
	Share func(ref string) (float64, bool)
}

// SVG draws the picture.
func SVG(source Source) ([]byte, error) {
	figure, err := root(source.Figure)
	if err != nil {
		return nil, err
	}
	paints, err := root(source.Paints)
	if err != nil {
		return nil, err
	}
	p := &picture{sheet: parse(source.Style), share: source.Share}
	height := p.block(figure, margin, margin, inside)
	if p.err != nil {
		return nil, p.err
	}
	drawn := p.out.String()
	p.out.Reset()
	for n := range paints.Descendants() {
		if n.Data == "defs" {
			p.drawAll(n, space{})
		}
	}
	w, h := number(inside+2*margin), number(math.Ceil(height+2*margin))
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="` + w + `" height="` + h + `" viewBox="0 0 ` + w + ` ` + h + `" role="img" font-family="` + Family + `,system-ui,sans-serif" font-size="` + number(wordSize) + `">` +
		`<title>` + html.EscapeString(source.Name) + `</title><rect width="` + w + `" height="` + h + `" fill="` + p.colours["paper"] + `"/><defs>` + p.out.String() + `</defs>` + drawn + "</svg>\n"), nil
}

// root is the element that a run of mark-up is in.
func root(markup string) (*html.Node, error) {
	doc, err := html.Parse(strings.NewReader(markup))
	if err != nil {
		return nil, err
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "body" {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no mark-up in %q", markup)
}

type picture struct {
	sheet
	share func(string) (float64, bool)
	out   strings.Builder
	err   error
}

func (p *picture) write(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// blocks are elements that stand below one another.
var blocks = []string{"body", "div", "p", "ul", "ol", "li", "figure", "figcaption", "table", "svg", "details", "fieldset", "input", "h1", "section"}

// left out are controls, what scripts fill, and what is not the drawing.
func (p *picture) leftOut(n *html.Node) bool {
	switch n.Data {
	case "fieldset", "input", "details", "figcaption", "caption", "noscript", "template", "h1":
		return true
	case "table":
		return !within(n, "fig-layers")
	}
	return has(n, "scripted") || slices.Contains([]string{"cursor", "live"}, attribute(n, "data-part")) || p.of(n)["display"] == "none"
}

// block lays out an element's content and returns its height.
func (p *picture) block(n *html.Node, x, y, w float64) float64 {
	switch {
	case n.Data == "svg":
		return p.svg(n, x, y, w)
	case n.Data == "table":
		return p.table(n, x, y, w)
	case has(n, "legend"):
		return p.flow(n, x, y, w, 18, 4, p.item)
	case has(n, "map-row"):
		return p.flow(n, x, y, w, 18, 18, p.stack)
	case has(n, "segments"):
		return p.flow(n, x, y, w, 6, 6, p.stack)
	case has(n, "slot-row"):
		return p.columns(n, x, y, w, 16, p.stack)
	case has(n, "panels"):
		return p.columns(n, x, y, w, 32, p.block)
	case n.Parent != nil && has(n.Parent, "type-bars"):
		const label = 150
		p.words(children(n)[0], x, y, label)
		p.svg(children(n)[1], x+label, y+2, w-label)
		return wordSize * leading
	case has(n, "bar"), has(n, "vessel"):
		return p.bar(n, x, y, w)
	case has(n, "chart"):
		for d := range n.Descendants() {
			if has(d, "wide") {
				return p.block(d, x, y, w)
			}
		}
	}
	return p.pile(n, x, y, w, gap)
}

// stack is an item whose parts stand closely below one another.
func (p *picture) stack(n *html.Node, x, y, w float64) float64 {
	at := y
	for _, kid := range children(n) {
		if kid.Data == "svg" {
			at += p.svg(kid, x, at, w) + 5
		} else {
			at += p.words(kid, x, at, w)
		}
	}
	return at - y
}

// pile lays out blocks and runs of words below one another.
func (p *picture) pile(n *html.Node, x, y, w, between float64) float64 {
	at := y
	var run []*html.Node
	flush := func() {
		if h := p.wordsOf(run, x, at, w); h > 0 {
			at += h + between
		}
		run = nil
	}
	for kid := range n.ChildNodes() {
		switch {
		case kid.Type == html.TextNode || kid.Type == html.ElementNode && !slices.Contains(blocks, kid.Data):
			run = append(run, kid)
		case kid.Type == html.ElementNode && !p.leftOut(kid):
			flush()
			if h := p.block(kid, x, at, w); h > 0 {
				at += h
				if kid.Data != "svg" {
					at += between
				}
			}
		}
	}
	flush()
	return max(0, at-y-between)
}

// layout places an element and returns its height.
type layout func(n *html.Node, x, y, w float64) float64

// flow places items one after the other, in as many rows as it takes; those of
// a row stand on the same line.
func (p *picture) flow(n *html.Node, x, y, w, apart, between float64, item layout) float64 {
	type placed struct {
		n    *html.Node
		w, h float64
	}
	var row []placed
	at, used := y, 0.0
	flush := func() {
		tallest := 0.0
		for _, i := range row {
			tallest = max(tallest, i.h)
		}
		left := x
		for _, i := range row {
			item(i.n, left, at+tallest-i.h, i.w)
			left += i.w + apart
		}
		if len(row) > 0 {
			at += tallest + between
		}
		row, used = nil, 0
	}
	for _, kid := range children(n) {
		size := placed{n: kid, w: min(w, p.natural(kid))}
		size.h = p.measured(func() float64 { return item(kid, 0, 0, size.w) })
		if used+size.w > w {
			flush()
		}
		row = append(row, size)
		used += size.w + apart
	}
	flush()
	return max(0, at-y-between)
}

// columns places items side by side, as wide as one another.
func (p *picture) columns(n *html.Node, x, y, w, apart float64, item layout) float64 {
	kids := children(n)
	each := (w - apart*float64(len(kids)-1)) / float64(len(kids))
	tallest := 0.0
	for i, kid := range kids {
		tallest = max(tallest, item(kid, x+float64(i)*(each+apart), y, each))
	}
	return tallest
}

// measured is the height of what is drawn, without drawing it.
func (p *picture) measured(draw func() float64) float64 {
	kept := p.out.String()
	h := draw()
	p.out.Reset()
	p.out.WriteString(kept)
	return h
}

// natural is the width that an item would like.
func (p *picture) natural(n *html.Node) float64 {
	widest := 0.0
	if key := swatch(n); key != nil {
		return keyWidth(key) + width(p.runs([]*html.Node{n}), wordSize) + 1
	}
	for _, kid := range children(n) {
		if kid.Data == "svg" {
			widest = max(widest, length(attribute(kid, "width"), 0))
		} else {
			widest = max(widest, width(p.runs([]*html.Node{kid}), wordSize)+1)
		}
	}
	return widest
}

func swatch(n *html.Node) *html.Node {
	for _, kid := range children(n) {
		if has(kid, "key") {
			return kid
		}
	}
	return nil
}

func keyWidth(key *html.Node) float64 {
	if has(key, "line") {
		return 28
	}
	return 18
}

// item is an entry of a legend: its swatch, then its words.
func (p *picture) item(n *html.Node, x, y, w float64) float64 {
	key := swatch(n)
	switch {
	case has(key, "line"):
		p.write(`<rect x="%s" y="%s" width="22" height="2.5" fill="%s"/>`, number(x), number(y+8), p.colours["ink"])
	case has(key, "band"):
		p.write(`<rect x="%s" y="%s" width="12" height="12" fill="%s" fill-opacity=".35"/>`, number(x), number(y+3), p.colours["runtime"])
	default:
		p.write(`<rect x="%s" y="%s" width="12" height="12" fill="%s"/>`, number(x), number(y+3), paint(key))
	}
	return p.words(n, x+keyWidth(key), y, w)
}

// paint is the fill of an element that shows a kind of memory.
func paint(n *html.Node) string {
	for class := range strings.FieldsSeq(attribute(n, "class")) {
		if kind, ok := strings.CutPrefix(class, "k-"); ok {
			return "url(#f-" + kind + ")"
		}
	}
	return "none"
}

// bar lays lengths end to end.
func (p *picture) bar(n *html.Node, x, y, w float64) float64 {
	const h = 26
	at := x
	p.write(`<rect x="%s" y="%s" width="%s" height="%d" fill="%s"/>`, number(x), number(y), number(w), h, p.colours["panel"])
	for _, kid := range children(n) {
		share, ok := p.share(attribute(kid, "data-share"))
		if !ok {
			p.err = fmt.Errorf("unknown length %q", attribute(kid, "data-share"))
		}
		if has(kid, "limit") {
			p.write(`<path d="M%s %sv%d" stroke="%s" stroke-width="2" stroke-dasharray="5 4"/>`, number(x+w*share), number(y-3), h+6, p.colours["alarm"])
			continue
		}
		if share > 0 {
			p.write(`<rect x="%s" y="%s" width="%s" height="%d" fill="%s"/>`, number(at), number(y), number(w*share), h, paint(kid))
		}
		at += w * share
	}
	return h
}

// table lays rows out in columns as wide as they need.
func (p *picture) table(n *html.Node, x, y, w float64) float64 {
	var rows [][]*html.Node
	var widths []float64
	for d := range n.Descendants() {
		if d.Data != "tr" {
			continue
		}
		rows = append(rows, children(d))
		for i, cell := range children(d) {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(p.runs([]*html.Node{cell}), wordSize)+4)
		}
	}
	spare := w
	for _, each := range widths {
		spare -= each
	}
	spare /= float64(max(1, len(widths)-1))
	at := y
	for _, row := range rows {
		left, tall := x, wordSize*leading+5
		for i, cell := range row {
			if i > 1 { // numbers end their column
				p.text([][]run{p.runs([]*html.Node{cell})}, left+widths[i], at, "end")
			} else {
				p.words(cell, left, at, w)
			}
			for _, kid := range children(cell) {
				if kid.Data == "svg" {
					tall += p.svg(kid, left, at+wordSize*leading+1, widths[i]) + 2
				}
			}
			left += widths[i] + spare
		}
		at += tall
		p.write(`<path d="M%s %sh%s" stroke="%s"/>`, number(x), number(at-2), number(w), p.colours["rule"])
	}
	return at - y
}

// words writes an element's text and returns its height.
func (p *picture) words(n *html.Node, x, y, w float64) float64 {
	return p.wordsOf([]*html.Node{n}, x, y, w)
}

func (p *picture) wordsOf(nodes []*html.Node, x, y, w float64) float64 {
	return p.text(lines(p.runs(nodes), wordSize, w), x, y, "start")
}

// text writes lines that begin, or end, at x, and returns their height.
func (p *picture) text(all [][]run, x, y float64, anchor string) float64 {
	for i, line := range all {
		p.write(`<text x="%s" y="%s" text-anchor="%s">`, number(x), number(y+float64(i)*wordSize*leading+wordSize), anchor)
		for _, r := range line {
			weight := ""
			if r.bold {
				weight = ` font-weight="600"`
			}
			p.write(`<tspan fill="%s"%s>%s</tspan>`, r.colour, weight, html.EscapeString(r.text))
		}
		p.out.WriteString("</text>")
	}
	return float64(len(all)) * wordSize * leading
}

// runs are the words of nodes, those of bold elements bold.
func (p *picture) runs(nodes []*html.Node) []run {
	var all []run
	var walk func(n *html.Node, bold bool)
	walk = func(n *html.Node, bold bool) {
		switch {
		case n.Type == html.TextNode:
			text := plain(n.Data)
			if len(all) == 0 {
				text = strings.TrimLeft(text, " ")
			}
			if text != "" {
				look := run{text, bold, p.colours["soft"]}
				if bold {
					look.colour = p.colours["ink"]
				}
				all = append(all, look)
			}
		case n.Type == html.ElementNode && n.Data != "svg" && !p.leftOut(n):
			for kid := range n.ChildNodes() {
				walk(kid, bold || n.Data == "b" || n.Data == "th" && attribute(n, "scope") == "col")
			}
			if n.Data == "b" && has(n.Parent, "tank") {
				all = append(all, run{" ", false, p.colours["soft"]})
			}
		}
	}
	for _, n := range nodes {
		walk(n, false)
	}
	if last := len(all) - 1; last >= 0 {
		all[last].text = strings.TrimRight(all[last].text, " ")
	}
	return all
}

// plain makes white space one space, and leaves out the narrow no-break space
// that few fonts have.
func plain(s string) string {
	s = strings.ReplaceAll(s, "\u202f", "\u00a0")
	out := strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }), " ")
	if s != "" && out == "" {
		return " "
	}
	if s != "" && strings.ContainsAny(s[:1], " \n\t") {
		out = " " + out
	}
	if s != "" && strings.ContainsAny(s[len(s)-1:], " \n\t") {
		out += " "
	}
	return out
}

// children are an element's own elements, without those left out.
func children(n *html.Node) []*html.Node {
	var kids []*html.Node
	for kid := range n.ChildNodes() {
		if kid.Type == html.ElementNode {
			kids = append(kids, kid)
		}
	}
	return kids
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, class string) bool {
	return n != nil && n.Type == html.ElementNode && slices.Contains(strings.Fields(attribute(n, "class")), class)
}

func within(n *html.Node, class string) bool {
	for ; n != nil; n = n.Parent {
		if has(n, class) {
			return true
		}
	}
	return false
}

// length reads a length of CSS or SVG; whole is what a percentage is of.
func length(s string, whole float64) float64 {
	for unit, factor := range map[string]float64{"%": whole / 100, "rem": rem, "px": 1, "em": rem} {
		if n, ok := strings.CutSuffix(s, unit); ok && !(unit == "em" && strings.HasSuffix(s, "rem")) {
			f, _ := strconv.ParseFloat(n, 64)
			return f * factor
		}
	}
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

// number writes a coordinate.
func number(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
