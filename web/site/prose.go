package site

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"vrametre/content/lesson"
	"vrametre/web/view"
)

// prose renders the lesson's text with the figures of one page.
type prose struct {
	page    page
	figures view.Figures
	// fixed gives the figures of one of the text's own cases; false: there is none of that name.
	fixed func(name string) (view.Figures, bool, error)
	// fact gives a figure of the page's own; nil: it has none. drawn draws a part of such a page.
	fact     func(ref string) (string, bool)
	drawn    func(part, text string) (template.HTML, error)
	markdown goldmark.Markdown
	// err is the first directive that could not be rendered.
	err error
}

func newProse(of page, figures view.Figures, fixed func(string) (view.Figures, bool, error)) *prose {
	p := &prose{page: of, figures: figures, fixed: fixed}
	p.markdown = goldmark.New(
		goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(directiveParser{}, 50))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(directiveRenderer{p}, 50))),
	)
	return p
}

// block renders a run of Markdown.
func (p *prose) block(source string) (template.HTML, error) {
	var b bytes.Buffer
	if err := p.markdown.Convert([]byte(source), &b); err != nil {
		return "", err
	}
	if p.err != nil {
		return "", p.err
	}
	return template.HTML(b.String()), nil
}

// line renders Markdown that is one paragraph, without its <p>.
func (p *prose) line(source string) (template.HTML, error) {
	if source == "" {
		return "", nil
	}
	out, err := p.block(source)
	line := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(out)), "<p>"), "</p>")
	return template.HTML(line), err
}

// Table is a Markdown table, its cells rendered.
type Table struct {
	Head []template.HTML
	Rows []Row
}

// Last is the index of a total's row, -1 where the table has none.
func (t Table) Last() int {
	if last := len(t.Rows) - 1; last >= 0 && strings.HasPrefix(string(t.Rows[last].Header), "Total") {
		return last
	}
	return -1
}

// Row is a table's row: its header cell and the others.
type Row struct {
	Header template.HTML
	Cells  []template.HTML
}

// table renders the leading table of a text and what follows it.
func (p *prose) table(source string) (Table, template.HTML, error) {
	rows, rest, _ := strings.Cut(source, "\n\n")
	var t Table
	for i, line := range strings.Split(rows, "\n") {
		if i == 1 {
			continue // the rule under the head
		}
		var cells []template.HTML
		for _, cell := range tableCells(line) {
			out, err := p.line(cell)
			if err != nil {
				return Table{}, "", err
			}
			cells = append(cells, out)
		}
		switch {
		case i == 0:
			t.Head = cells
		case len(cells) != len(t.Head):
			return Table{}, "", fmt.Errorf("table row %q has %d cells, its head %d", line, len(cells), len(t.Head))
		default:
			t.Rows = append(t.Rows, Row{cells[0], cells[1:]})
		}
	}
	after, err := p.line(rest)
	return t, after, err
}

// tableCells cuts a table's line at its bars, but not at those of a directive.
func tableCells(line string) []string {
	var cells []string
	depth, start := 0, 0
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	for i, r := range line {
		switch {
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == '|' && depth == 0:
			cells = append(cells, strings.TrimSpace(line[start:i]))
			start = i + 1
		}
	}
	return append(cells, strings.TrimSpace(line[start:]))
}

var mark = regexp.MustCompile(`\[(\d) ([^\]]+)\]`)

// message renders the error message: its numbers are links to their explanations.
func message(source string) template.HTML {
	name, rest, _ := strings.Cut(source, ":")
	marked := mark.ReplaceAllString(html.EscapeString(rest), `<a class="mark m$1" href="#m$1">$2<sup>$1</sup></a>`)
	return template.HTML(`<b>` + html.EscapeString(name) + `</b>:` + marked)
}

var answer = regexp.MustCompile(`(?m)^\d\. `)

// answers renders the explanations of a message's numbers, in their order.
func (p *prose) answers(source string) ([]template.HTML, error) {
	var list []template.HTML
	for _, item := range answer.Split(source, -1)[1:] {
		out, err := p.line(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		list = append(list, out)
	}
	return list, nil
}

// A directive of the text: {ref}, {32:ref}, {case:ref}, {=2*3}, {~scrub}, {kind|words}, {page:name|words}.
type directive struct {
	ast.BaseInline
	ref, words string
}

var kindDirective = ast.NewNodeKind("Directive")

func (*directive) Kind() ast.NodeKind { return kindDirective }

func (n *directive) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"ref": n.ref, "words": n.words}, nil)
}

type directiveParser struct{}

func (directiveParser) Trigger() []byte { return []byte{'{'} }

func (directiveParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	end := bytes.IndexByte(line, '}')
	if end < 2 {
		return nil
	}
	block.Advance(end + 1)
	ref, words, _ := strings.Cut(string(line[1:end]), "|")
	return &directive{ref: ref, words: words}
}

type directiveRenderer struct{ prose *prose }

func (r directiveRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindDirective, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		n := node.(*directive)
		out, err := r.prose.directive(n.ref, n.words)
		if err != nil && r.prose.err == nil {
			r.prose.err = err
		}
		_, err = w.WriteString(string(out))
		return ast.WalkContinue, err
	})
}

// product works out {=2*3*4}.
func product(factors string) (int64, error) {
	n := int64(1)
	for factor := range strings.SplitSeq(factors, "*") {
		f, err := strconv.ParseInt(factor, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("not a product: {=%s}", factors)
		}
		n *= f
	}
	return n, nil
}

// directive writes one directive of the text.
func (p *prose) directive(ref, words string) (template.HTML, error) {
	if name, ok := strings.CutPrefix(ref, "page:"); ok {
		return p.link(name, words)
	}
	if words != "" {
		switch ref {
		case "dotted":
			return element("span", "scrub sample", "", words), nil
		case "live":
			return element("span", "scripted", "", words), nil
		}
		return element("span", "kind "+ink(ref), `data-kind="`+html.EscapeString(ref)+`"`, words), nil
	}
	if p.fact != nil {
		if text, ok := p.fact(ref); ok {
			return element("span", "num", "", text), nil
		}
	}
	if name, ok := strings.CutPrefix(ref, "~"); ok {
		if _, known := view.ScrubNamed(name); !known {
			return "", fmt.Errorf("unknown number {~%s}", name)
		}
		return scrub(p.figures, name), nil
	}
	if factors, ok := strings.CutPrefix(ref, "="); ok {
		n, err := product(factors)
		return element("span", "num", "", view.Bytes(p.figures.Lang(), n)), err
	}
	if name, rest, ok := strings.Cut(ref, ":"); ok {
		figures, ok, err := p.fixed(name)
		if err != nil {
			return "", err
		}
		if ok {
			written, known := figures.Text(rest)
			if !known {
				return "", fmt.Errorf("unknown figure {%s}", ref)
			}
			return element("span", "num "+ink(figures.Kind(rest)), "", written), nil
		}
	}
	return value(p.figures, ref)
}

// value writes a number that follows the reader's settings.
func value(f view.Figures, ref string) (template.HTML, error) {
	text, ok := f.Text(ref)
	if !ok {
		return "", fmt.Errorf("unknown figure {%s}", ref)
	}
	class := "num "
	if f.Words(ref) {
		class = "word "
	}
	return element("span", class+ink(f.Kind(ref)), `data-v="`+html.EscapeString(ref)+`"`, text), nil
}

// scrub writes a number that the reader can move. It becomes a slider to the
// keyboard when the page wakes: until then a role would promise what nothing does.
func scrub(f view.Figures, name string) template.HTML {
	return element("span", "scrub "+ink(view.ScrubKind(name)), `data-scrub="`+html.EscapeString(name)+`"`, f.ScrubText(name))
}

// ink is the class of a kind of memory's text colour.
func ink(kind string) string {
	if kind == "" {
		return ""
	}
	return kind[:1]
}

// link leads to another page of the language, with the reader's state.
func (p *prose) link(name, words string) (template.HTML, error) {
	at := slices.IndexFunc(p.page.Nav, func(l navLink) bool { return l.Name == name })
	if at < 0 || words == "" {
		return "", fmt.Errorf("no page for {page:%s|%s}", name, words)
	}
	return template.HTML(`<a href="` + html.EscapeString(p.page.Nav[at].Href) + `" data-state-link>` + html.EscapeString(words) + `</a>`), nil
}

func element(tag, class, attributes, content string) template.HTML {
	if attributes != "" {
		attributes = " " + attributes
	}
	return template.HTML(`<` + tag + ` class="` + html.EscapeString(strings.TrimSpace(class)) + `"` + attributes + `>` + html.EscapeString(content) + `</` + tag + `>`)
}

// Block is one block of the page, ready for its template.
type Block struct {
	lesson.Block
	HTML    template.HTML
	Table   Table
	Answers []template.HTML
	// Title heads a misunderstanding; HTML answers it.
	Title template.HTML
}

// blocks renders a section's blocks.
func (p *prose) blocks(list []lesson.Block) ([]Block, error) {
	var out []Block
	for _, b := range list {
		rendered := Block{Block: b}
		var err error
		switch b.Directive {
		case "", "note":
			rendered.HTML, err = p.block(b.Text)
		case "table", "hand":
			rendered.Table, rendered.HTML, err = p.table(b.Text)
		case "message":
			rendered.HTML = message(b.Text)
		case "answers":
			rendered.Answers, err = p.answers(b.Text)
		case "lead", "live", "figure", "ledger", "sources":
			rendered.HTML, err = p.line(b.Text)
		case "belief", "exporter":
			title, answer, _ := strings.Cut(b.Text, "\n\n")
			if rendered.Title, err = p.line(title); err == nil {
				rendered.HTML, err = p.block(answer)
			}
		case "measured":
			if p.drawn == nil {
				err = fmt.Errorf("::: measured on a page without measurements")
			} else {
				rendered.HTML, err = p.drawn(b.Argument, b.Text)
			}
		case "island", "puzzle", "quiz":
		default:
			err = fmt.Errorf("unknown directive ::: %s", b.Directive)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, rendered)
	}
	return out, nil
}
