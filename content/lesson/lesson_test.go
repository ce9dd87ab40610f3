package lesson

import (
	"slices"
	"strings"
	"testing"

	"vrametre/content"
	"vrametre/content/typography"
)

func parse(t *testing.T, page string, lang content.Lang) Doc {
	t.Helper()
	doc, err := Parse(Source(page, lang))
	if err != nil {
		t.Fatalf("%s, %s: %v", page, lang, err)
	}
	return doc
}

// outline writes what both languages must share, one line per block.
func outline(doc Doc) []string {
	var list []string
	block := func(b Block) {
		// A translation may order the figures of one block differently.
		refs := Directives(b.Text)
		slices.Sort(refs)
		list = append(list, strings.TrimSpace(b.Directive+" "+b.Argument)+": "+strings.Join(refs, " "))
	}
	for _, b := range doc.Opening {
		block(b)
	}
	for _, s := range doc.Sections {
		list = append(list, "# "+s.ID)
		for _, b := range s.Blocks {
			block(b)
		}
	}
	return list
}

func TestLanguagesHaveTheSameOutline(t *testing.T) {
	for _, page := range Pages {
		f, e := outline(parse(t, page, content.French)), outline(parse(t, page, content.English))
		if len(f) != len(e) {
			t.Errorf("%s: %d blocks in French, %d in English", page, len(f), len(e))
		}
		for i := range min(len(f), len(e)) {
			if f[i] != e[i] {
				t.Fatalf("%s, block %d: %q in French, %q in English", page, i, f[i], e[i])
			}
		}
	}
}

func TestFrenchTypography(t *testing.T) {
	for _, page := range Pages {
		checkTypography(t, page, parse(t, page, content.French))
	}
}

func checkTypography(t *testing.T, page string, doc Doc) {
	check := func(place, text string) {
		for _, fault := range typography.FrenchFaults(text) {
			t.Errorf("%s, %s: %s", page, place, fault)
		}
	}
	check("title", doc.Title)
	check("description", doc.Description)
	blocks := func(place string, list []Block) {
		for _, b := range list {
			if b.Directive == "message" || strings.HasPrefix(b.Text, "```") {
				continue // PyTorch's words and Python
			}
			check(place, b.Text)
		}
	}
	blocks("opening", doc.Opening)
	for _, s := range doc.Sections {
		check(s.ID, s.Eyebrow)
		check(s.ID, s.Title)
		blocks(s.ID, s.Blocks)
	}
}

// The prose has the sections that a reader is promised.
func TestSections(t *testing.T) {
	for page, want := range map[string][]string{
		Lesson:     {"message", "weights", "batch", "activations", "buffers", "total", "times8", "compute", "inference", "end"},
		OOM:        {"paste", "card", "advice", "beliefs"},
		Validation: {"summary", "misses", "exact", "cnn", "transformers", "tables", "verdicts", "method"},
	} {
		var ids []string
		for _, s := range parse(t, page, content.French).Sections {
			ids = append(ids, s.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s: sections %v, want %v", page, ids, want)
		}
	}
}

func TestParse(t *testing.T) {
	const head = "title: T\ndescription: D\n\n"
	doc, err := Parse(head + "::: lead\nA {x}\n:::\n\n## 1 · E | H {#h}\n\nOne\ntwo.\n\n::: note\nN\n\nM\n:::\n\n```\na\n\nb\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	if doc.Title != "T" || doc.Description != "D" || len(doc.Opening) != 1 || len(doc.Sections) != 1 {
		t.Fatalf("%+v", doc)
	}
	if got, want := doc.Opening[0], (Block{"lead", "", "A {x}"}); got != want {
		t.Errorf("opening %+v, want %+v", got, want)
	}
	s := doc.Sections[0]
	if s.ID != "h" || s.Eyebrow != "1 · E" || s.Title != "H" {
		t.Errorf("section %+v", s)
	}
	want := []Block{{"", "", "One\ntwo."}, {"note", "", "N\n\nM"}, {"", "", "```\na\n\nb\n```"}}
	if !slices.Equal(s.Blocks, want) {
		t.Errorf("blocks %+v, want %+v", s.Blocks, want)
	}
	for name, bad := range map[string]string{
		"no title":       "x\ny\n",
		"bad heading":    head + "## No id\n",
		"open directive": head + "::: note\nN\n",
		"open fence":     head + "```\nx\n",
	} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDirectives(t *testing.T) {
	got := Directives("a {x.y:exact} b {~batch} c {weights|les poids} d {32:rule.total}")
	if want := []string{"x.y:exact", "~batch", "weights", "32:rule.total"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
