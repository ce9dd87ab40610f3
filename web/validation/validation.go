// Package validation draws the page of measurements: tables and figures of the
// engine's errors, as mark-up, from package calc/validate. Their words come
// with the page's text; only the site's generator imports it.
package validation

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"strings"

	"vrametre/calc"
	"vrametre/calc/validate"
	"vrametre/content"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Style is the page's part of the style sheet.
//
//go:embed validation.css
var Style []byte

// Page is the study in one language.
type Page struct {
	study *validate.Study
	lang  content.Lang
	facts map[string]string
	files string
}

// New prepares the page of a study. files leads from the page to the folder of Files.
func New(study *validate.Study, lang content.Lang, files string) *Page {
	p := &Page{study: study, lang: lang, facts: map[string]string{}, files: files}
	p.count()
	return p
}

// Fact is a figure of the page's text; false: there is none of that name.
func (p *Page) Fact(ref string) (string, bool) {
	text, ok := p.facts[ref]
	return text, ok
}

// count works out the text's figures.
func (p *Page) count() {
	number := func(name string, n int) { p.facts[name] = view.Count(p.lang, int64(n)) }
	stats := func(name string, errors []float64) {
		s := validate.StatsOf(errors)
		number(name+".rows", s.Rows)
		p.facts[name+".median"], p.facts[name+".p90"], p.facts[name+".worst"] = p.percent(s.Median), p.percent(s.P90), p.percent(s.Worst)
	}
	within := 0
	for _, family := range validate.Families {
		stats(family, p.study.Errors(family))
		stats(family+".start", p.study.ErrorsAtStart(family))
		for _, tool := range validate.Tools {
			stats(family+"."+tool, p.study.ToolErrors(family, tool))
		}
		missed := 0
		for _, c := range p.study.Of(family) {
			if c.Missed {
				missed++
			}
			if c.Within() {
				within++
			}
		}
		number(family+".missed", missed)
	}
	// what the cases of a cause have beside our figure, at least and at most
	surplus := map[string][2]int64{}
	for _, c := range p.study.Missed() {
		s, ok := surplus[c.Cause]
		if more := c.Measured - c.Ours; !ok {
			s = [2]int64{more, more}
		} else {
			s = [2]int64{min(s[0], more), max(s[1], more)}
		}
		surplus[c.Cause] = s
	}
	for cause, s := range surplus {
		p.facts[cause+".low"], p.facts[cause+".high"] = view.Binary(p.lang, s[0]), view.Binary(p.lang, s[1])
	}
	// the largest batch with the surplus, and the smallest of the same networks without it
	var with, without int64
	networks := map[string]bool{}
	for _, c := range p.study.Missed() {
		if c.Cause == validate.CauseWorkspace {
			networks[c.Request.Model.Preset] = true
			with = max(with, c.Request.Batch)
		}
	}
	for _, c := range p.study.Cases {
		if networks[c.Request.Model.Preset] && c.Cause == "" && (without == 0 || c.Request.Batch < without) {
			without = c.Request.Batch
		}
	}
	p.facts["surplus.until"], p.facts["surplus.from"] = view.Count(p.lang, with), view.Count(p.lang, without)
	number("cases", len(p.study.Cases))
	number("within", within)
	number("missed", len(p.study.Missed()))
	p.facts["beyond"] = view.Percent(p.lang, int64(math.Round(100*validate.Beyond)), 100)
	for _, kind := range []string{validate.Capped, validate.Card, validate.Public} {
		right, full := 0, 0
		list := p.study.VerdictsOf(kind)
		for _, v := range list {
			if v.Right {
				right++
			}
			if !v.Ran {
				full++
			}
		}
		number(kind+".rows", len(list))
		number(kind+".right", right)
		number(kind+".oom", full)
		// a capped run is within what the uncapped peak says in far fewer cases
		naive := 0
		for _, v := range list {
			if (v.Needs <= v.Limit) == v.Ran {
				naive++
			}
		}
		number(kind+".naive", naive)
	}
	for _, e := range p.study.Exact {
		number("exact."+e.What, e.Exact)
		number("exact."+e.What+".of", e.Compared)
	}
	for family, s := range calc.Spreads() {
		p.facts["spread."+family+".low"], p.facts["spread."+family+".high"] = p.decimals(s.Low), p.decimals(s.High)
		held, of := p.study.Unseen(family)
		number("unseen."+family, held)
		number("unseen."+family+".of", of)
	}
	p.facts["growth"], p.facts["context"] = view.Binary(p.lang, validate.ContextGrowth), view.Binary(p.lang, validate.CardContext)
}

// percent is a size without its sign, with one decimal: 2,7 %.
func (p *Page) percent(e float64) string {
	return view.Text(p.lang, "unit.percent", view.Args{"value": view.Ratio(p.lang, int64(math.Round(1000*math.Abs(e))), 10)})
}

// signed is a relative error: +2,7 % or −16,4 %.
func (p *Page) signed(e float64) string {
	switch text := p.percent(e); {
	case text == p.percent(0):
		return text
	case e < 0:
		return "\u2212" + text
	default:
		return "+" + text
	}
}

// decimals is a ratio with three decimals.
func (p *Page) decimals(x float64) string {
	text := fmt.Sprintf("%.3f", x)
	if p.lang == content.French {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}

// mib is a size in whole MiB, the unit of the measurements, without its name.
func (p *Page) mib(n int64) string { return view.Count(p.lang, (n+1<<19)>>20) }

// Block is what the page's text says of a table or a figure: its caption, the
// heads of its columns, and the words of its cells by what they stand for.
type Block struct {
	Caption string
	Head    []string
	words   map[string]string
	// missing is the first word that the text does not give.
	missing *string
}

// ParseBlock reads a block: a caption, a line "| head | head |", lines
// "key = words", each after a blank line.
func ParseBlock(text string) (Block, error) {
	b := Block{words: map[string]string{}, missing: new(string)}
	for i, paragraph := range strings.Split(text, "\n\n") {
		switch {
		case i == 0:
			b.Caption = paragraph
		case strings.HasPrefix(paragraph, "|"):
			for _, head := range strings.Split(strings.Trim(paragraph, "|"), "|") {
				b.Head = append(b.Head, strings.TrimSpace(head))
			}
		default:
			for line := range strings.Lines(paragraph) {
				key, words, ok := strings.Cut(strings.TrimSpace(line), " = ")
				if !ok {
					return Block{}, fmt.Errorf("not a word of a table: %q", line)
				}
				b.words[key] = words
			}
		}
	}
	return b, nil
}

// word is what a cell says for a key.
func (b Block) word(key string) string {
	text, ok := b.words[key]
	if !ok && *b.missing == "" {
		*b.missing = key
	}
	return text
}

// Parts of the page.
const (
	Summary  = "summary"
	Exact    = "exact"
	Misses   = "misses"
	Wrong    = "wrong"
	Strips   = "strips"
	Scatter  = "scatter"
	Download = "download"
)

// HTML draws a part of the page: one of the constants above, a family of cases or a kind of verdicts.
func (p *Page) HTML(part string, b Block) (string, error) {
	draw, ok := map[string]func(Block) markup.Node{
		Summary:  p.summary,
		Exact:    p.exact,
		Misses:   p.misses,
		Wrong:    p.wrong,
		Strips:   p.strips,
		Scatter:  p.scatter,
		Download: p.downloads,

		validate.CNN:         func(b Block) markup.Node { return p.reserved(validate.CNN, b) },
		validate.Transformer: func(b Block) markup.Node { return p.reserved(validate.Transformer, b) },
		validate.Segmented:   p.segmentation,
		validate.BERT:        p.bert,

		validate.Capped: func(b Block) markup.Node { return p.limited(validate.Capped, b) },
		validate.Card:   func(b Block) markup.Node { return p.limited(validate.Card, b) },
		validate.Public: p.reports,
	}[part]
	if !ok {
		return "", fmt.Errorf("no part of the measurements is called %q", part)
	}
	if b.Caption = p.fill(b.Caption); strings.Contains(b.Caption, "{") {
		return "", fmt.Errorf("%s: unknown figure in %q", part, b.Caption)
	}
	node := draw(b)
	if *b.missing != "" {
		return "", fmt.Errorf("%s: no word for %q", part, *b.missing)
	}
	if n := columns(node); n >= 0 && n != len(b.Head) {
		return "", fmt.Errorf("%s: %d heads for %d columns", part, len(b.Head), n)
	}
	return node.HTML(), nil
}

// columns counts the cells of a table's first row; negative: there is none.
func columns(n markup.Node) int {
	if n.Tag == "tbody" && len(n.Kids) > 0 {
		return len(n.Kids[0].Kids)
	}
	for _, kid := range n.Kids {
		if c := columns(kid); c >= 0 {
			return c
		}
	}
	return -1
}

var ref = regexp.MustCompile(`\{([^{}]+)\}`)

// fill writes the figures of a caption.
func (p *Page) fill(text string) string {
	return ref.ReplaceAllStringFunc(text, func(r string) string {
		if fact, ok := p.Fact(strings.Trim(r, "{}")); ok {
			return fact
		}
		return r
	})
}
