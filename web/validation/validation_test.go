package validation

import (
	"encoding/csv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"vrametre/calc/validate"
	"vrametre/content"
	"vrametre/content/lesson"
	"vrametre/web/view"
)

var study = sync.OnceValues(validate.Run)

func studied(t *testing.T) *validate.Study {
	t.Helper()
	s, err := study()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drawn are the parts of the page that its text asks for, by name.
func drawn(t *testing.T, s *validate.Study, lang content.Lang) map[string]*html.Node {
	t.Helper()
	doc, err := lesson.Parse(lesson.Source(lesson.Validation, lang))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]*html.Node{}
	page := New(s, lang, "")
	for _, section := range doc.Sections {
		for _, b := range section.Blocks {
			if b.Directive != "measured" {
				continue
			}
			block, err := ParseBlock(b.Text)
			if err != nil {
				t.Fatal(err)
			}
			text, err := page.HTML(b.Argument, block)
			if err != nil {
				t.Fatalf("%s: %v", lang, err)
			}
			node, err := html.Parse(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if parts[b.Argument] != nil {
				t.Errorf("%s: %s is drawn twice", lang, b.Argument)
			}
			parts[b.Argument] = node
		}
	}
	return parts
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func spoken(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

// marked finds the elements of all parts that bear an attribute, by its value.
func marked(t *testing.T, parts map[string]*html.Node, name string) map[string]*html.Node {
	t.Helper()
	found := map[string]*html.Node{}
	for _, part := range parts {
		for n := range part.Descendants() {
			if value, ok := attribute(n, name); ok {
				if found[value] != nil {
					t.Errorf("%s=%q stands twice", name, value)
				}
				found[value] = n
			}
		}
	}
	return found
}

func has(row *html.Node, text string) bool { return strings.Contains(spoken(row), text) }

// mebi is a size as a reader expects it, worked out anew.
func mebi(lang content.Lang, n int64) string {
	return view.Count(lang, int64(math.Round(float64(n)/(1<<20))))
}

func percent(lang content.Lang, e float64) string {
	text := strconv.FormatFloat(math.Round(math.Abs(e)*1000)/10, 'f', 1, 64)
	if lang == content.French {
		text = strings.Replace(text, ".", ",", 1)
	}
	if !strings.Contains("0,0 0.0", text) {
		text = map[bool]string{true: "\u2212", false: "+"}[e < 0] + text
	}
	return text
}

// Each row of the study stands on the page once, in both languages, with the study's figures; no miss is hidden.
func TestPageHoldsTheStudy(t *testing.T) {
	s := studied(t)
	for _, lang := range content.Langs {
		parts := drawn(t, s, lang)
		rows, points, misses := marked(t, parts, "data-case"), marked(t, parts, "data-point"), marked(t, parts, "data-miss")
		if len(rows) != len(s.Cases) || len(points) != len(s.Cases) {
			t.Errorf("%s: %d rows and %d points of %d cases", lang, len(rows), len(points), len(s.Cases))
		}
		missed := 0
		for _, c := range s.Cases {
			row, point := rows[c.ID], points[c.ID]
			if row == nil || point == nil {
				t.Errorf("%s: %s is not on the page", lang, c.ID)
				continue
			}
			wanted := []string{mebi(lang, c.Measured), mebi(lang, c.Ours), percent(lang, c.Error), mebi(lang, c.Low), mebi(lang, c.High), c.GPU}
			if c.Measure == validate.Reserved {
				wanted = append(wanted, mebi(lang, c.AtStart), percent(lang, c.AtStartError), c.Request.Model.Preset)
				for tool, n := range c.Tools {
					e, _ := c.ToolError(tool)
					wanted = append(wanted, mebi(lang, n), percent(lang, e))
				}
			}
			for _, text := range wanted {
				if !has(row, text) {
					t.Errorf("%s, %s: no %q in %q", lang, c.ID, text, spoken(row))
				}
			}
			linked := false
			for n := range row.Descendants() {
				if href, ok := attribute(n, "href"); ok && href == c.URL && c.URL != "" {
					linked = true
				}
			}
			if !linked {
				t.Errorf("%s, %s: no source", lang, c.ID)
			}
			// by the definition, not by the study's own flag
			far := c.Measured < c.Low || c.Measured > c.High || math.Abs(c.Error) > validate.Beyond || math.Abs(c.AtStartError) > validate.Beyond
			if far {
				missed++
			}
			if miss := misses[c.ID]; far != (miss != nil) {
				t.Errorf("%s, %s: off by %v, among the misses: %v", lang, c.ID, c.Error, miss != nil)
			} else if far && (!has(miss, percent(lang, c.Error)) || !has(miss, mebi(lang, c.Measured))) {
				t.Errorf("%s, %s: the miss says %q", lang, c.ID, spoken(miss))
			}
			if class, _ := attribute(row, "class"); (class == "miss") != far {
				t.Errorf("%s, %s: class %q", lang, c.ID, class)
			}
		}
		if missed == 0 || len(misses) != missed {
			t.Errorf("%s: %d misses listed of %d", lang, len(misses), missed)
		}
		verdicts, wrong := marked(t, parts, "data-verdict-of"), marked(t, parts, "data-wrong")
		if len(verdicts) != len(s.Verdicts) {
			t.Errorf("%s: %d verdicts of %d", lang, len(verdicts), len(s.Verdicts))
		}
		for _, v := range s.Verdicts {
			row := verdicts[v.ID]
			if row == nil || !has(row, mebi(lang, v.Limit)) || !has(row, mebi(lang, v.Needs)) || !has(row, v.Request.Model.Preset) {
				t.Errorf("%s: verdict %s", lang, v.ID)
			}
			if (v.Fits == v.Ran) == (wrong[v.ID] != nil) {
				t.Errorf("%s: %s: ran %v, fits %v, among the wrong ones: %v", lang, v.ID, v.Ran, v.Fits, wrong[v.ID] != nil)
			}
		}
		for _, e := range s.Exact {
			if row := marked(t, parts, "data-exact")[e.What]; row == nil || !has(row, view.Count(lang, int64(e.Exact))) || !has(row, view.Count(lang, int64(e.Compared))) {
				t.Errorf("%s: exact %s", lang, e.What)
			}
		}
	}
}

// The summary and the table under the strips say what the rows give.
func TestSums(t *testing.T) {
	s := studied(t)
	for _, lang := range content.Langs {
		parts := drawn(t, s, lang)
		summary, strips := marked(t, parts, "data-summary"), marked(t, parts, "data-strip")
		if len(summary) != len(validate.Families)+1 {
			t.Errorf("%s: summaries %v", lang, slices.Collect(maps.Keys(summary)))
		}
		check := func(row *html.Node, errors []float64) {
			t.Helper()
			var size []float64
			for _, e := range errors {
				size = append(size, math.Abs(e))
			}
			slices.Sort(size)
			for _, q := range []float64{.5, .9, 1} {
				if want := strings.TrimLeft(percent(lang, validate.Quantile(size, q)), "+"); row == nil || !has(row, want) {
					t.Errorf("%s: no %s", lang, want)
				}
			}
		}
		for _, family := range validate.Families {
			check(summary[family], s.Errors(family))
			for _, tool := range validate.Tools {
				errors := s.ToolErrors(family, tool)
				row := strips[family+"."+tool]
				if (row != nil) != (len(errors) > 0) {
					t.Errorf("%s: strip of %s for %s", lang, tool, family)
				} else if row != nil {
					check(row, errors)
				}
			}
		}
		check(summary["cnn.start"], s.ErrorsAtStart(validate.CNN))
		check(strips["cnn.ours"], s.Errors(validate.CNN))
		circles := 0
		for n := range parts[Strips].Descendants() {
			if n.Data == "circle" {
				circles++
			}
		}
		want := 0
		for _, family := range []string{validate.CNN, validate.Transformer} {
			want += len(s.Errors(family))
			for _, tool := range validate.Tools {
				want += len(s.ToolErrors(family, tool))
			}
		}
		if circles != want {
			t.Errorf("%s: %d marks for %d errors", lang, circles, want)
		}
	}
}

// Tables can be read by ear: a caption, heads with a scope, a frame that the keyboard scrolls.
func TestTablesAreAccessible(t *testing.T) {
	for _, lang := range content.Langs {
		labels := map[string]bool{}
		for name, part := range drawn(t, studied(t), lang) {
			for n := range part.Descendants() {
				switch n.Data {
				case "table":
					frame := n.Parent
					label, _ := attribute(frame, "aria-label")
					role, _ := attribute(frame, "role")
					index, _ := attribute(frame, "tabindex")
					if label == "" || labels[label] || role != "region" || index != "0" {
						t.Errorf("%s, %s: frame %v", lang, name, frame.Attr)
					}
					labels[label] = true
					if n.FirstChild.Data != "caption" || spoken(n.FirstChild) != label {
						t.Errorf("%s, %s: no caption", lang, name)
					}
				case "th":
					if scope, _ := attribute(n, "scope"); scope == "" || spoken(n) == "" {
						t.Errorf("%s, %s: a head without scope or words", lang, name)
					}
				case "svg":
					if role, _ := attribute(n, "role"); role == "img" {
						if label, _ := attribute(n, "aria-label"); label == "" {
							t.Errorf("%s, %s: a drawing without words", lang, name)
						}
					}
				}
				if _, ok := attribute(n, "style"); ok {
					t.Errorf("%s, %s: <%s> has a style of its own", lang, name, n.Data)
				}
			}
		}
	}
}

// What the text says of the surplus of cuDNN's workspaces holds for every row of those networks.
func TestSurplusHasALimit(t *testing.T) {
	s := studied(t)
	page := New(s, content.English, "")
	fact := func(name string) int64 {
		text, ok := page.Fact(name)
		n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
		if !ok || err != nil {
			t.Fatalf("%s is %q", name, text)
		}
		return n
	}
	until, from := fact("surplus.until"), fact("surplus.from")
	networks := map[string]bool{}
	for _, c := range s.Cases {
		if c.Cause == validate.CauseWorkspace {
			networks[c.Request.Model.Preset] = true
		}
	}
	for _, c := range s.Cases {
		if n := c.Request.Batch; networks[c.Request.Model.Preset] && (c.Missed && n > until || !c.Missed && n < from || until >= from) {
			t.Errorf("%s: batch %d, missed %v; the surplus is said to be there up to %d and gone from %d on", c.ID, n, c.Missed, until, from)
		}
	}
}

func TestBadBlocks(t *testing.T) {
	page := New(studied(t), content.English, "")
	for _, c := range []struct{ part, text, want string }{
		{"nothing", "Caption", "no part"},
		{Exact, "Caption\n\n| a | b | c |", "no word"},
		{Exact, "Caption {nothing}\n\n| a | b | c |", "unknown figure"},
		{Download, "Caption\n\n| a |\n\ncases.csv = a\nverdicts.csv = b\nstudy.json = c", ""},
		{validate.Public, "Caption\n\n| a |\n\nran = a\noom = b\nfits = c\nover = d\nright = e\nwrong = f\nclaim = g\nown-input = h\ntokens = i\ncache = j", "1 heads for 8 columns"},
	} {
		block, err := ParseBlock(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := page.HTML(c.part, block); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.part, c.text, err, c.want)
		}
	}
	if _, err := ParseBlock("Caption\n\nnot a word"); err == nil {
		t.Error("a line that is no word is accepted")
	}
}

func TestFilesAreTables(t *testing.T) {
	for _, f := range Files {
		data, err := f.Write(studied(t))
		if err != nil || len(data) == 0 {
			t.Fatalf("%s: %d bytes, %v", f.Name, len(data), err)
		}
		if strings.HasSuffix(f.Name, ".csv") {
			if lines, err := csv.NewReader(strings.NewReader(string(data))).ReadAll(); err != nil || len(lines) < 50 {
				t.Errorf("%s: %d lines, %v", f.Name, len(lines), err)
			}
		}
	}
}
