package site

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"vrametre/web/piece"
	"vrametre/web/view"
)

// Each part stands alone in a page that says what it is, holds the part and
// nothing of the page around it, and leads to the whole.
func TestPieces(t *testing.T) {
	dir := written(t)
	seen := 0
	for _, p := range pages {
		if p.Piece.Name == "" {
			continue
		}
		seen++
		whole := parsed(t, dir, pathOf(p.Name, p.Lang))
		doc := parsed(t, dir, p.Path)
		name, selected := "", func(n *html.Node) bool { return false }
		switch p.Piece.Kind {
		case piece.Figure:
			name = "figure"
			selected = func(n *html.Node) bool {
				class, _ := attribute(n, "class")
				return n.Data == "figure" && strings.Contains(" "+class+" ", " fig-"+p.Piece.Part+" ")
			}
		case piece.Island:
			name = "island"
			selected = func(n *html.Node) bool { value, _ := attribute(n, "data-island"); return value == p.Piece.Part }
		case piece.Quiz:
			name = "question"
			selected = func(n *html.Node) bool { value, _ := attribute(n, "data-quiz"); return value == p.Piece.Part }
		case piece.Puzzle:
			name = "puzzle"
			selected = func(n *html.Node) bool { _, ok := attribute(n, "data-puzzle"); return ok }
		case piece.Sections:
			name = "sections"
			selected = func(n *html.Node) bool { value, _ := attribute(n, "id"); return value == "result" }
		}
		if found, there := find(doc, selected), find(whole, selected); len(found) != 1 || len(there) != 1 {
			t.Errorf("%s: %d of its %s alone, %d in the page", p.Path, len(found), name, len(there))
		} else if p.Piece.Kind != piece.Sections && words(found[0]) != withoutButton(there[0]) {
			t.Errorf("%s says %q, the page %q", p.Path, words(found[0]), withoutButton(there[0]))
		}
		if n := len(find(doc, func(n *html.Node) bool { return n.Data == "header" || n.Data == "footer" || n.Data == "nav" })); n > 0 {
			t.Errorf("%s: %d parts of a whole page", p.Path, n)
		}
		var controls []string
		for _, n := range find(doc, func(n *html.Node) bool { value, _ := attribute(n, "data-island"); return value == "settings" }) {
			for _, c := range find(n, func(n *html.Node) bool {
				_, ok := attribute(n, "data-control")
				return ok && n.Data != "input" || hasType(n, "range")
			}) {
				control, _ := attribute(c, "data-control")
				controls = append(controls, control)
			}
		}
		if got, want := strings.Join(controls, " "), strings.Join(p.Piece.Settings, " "); got != want {
			t.Errorf("%s: settings %q, want %q", p.Path, got, want)
		}
		title := find(doc, func(n *html.Node) bool { return n.Data == "h1" })[0]
		if words(title) == "" || strings.Contains(words(title), ".") && !strings.HasSuffix(words(title), "?") && p.Piece.Kind != piece.Quiz {
			t.Errorf("%s is called %q", p.Path, words(title))
		}
	}
	if want := 2 * len(piece.All); seen != want {
		t.Errorf("%d pages of parts, want %d", seen, want)
	}
}

// withoutButton is a part's text in its page, without what opens the dialog that
// shows it elsewhere.
func withoutButton(n *html.Node) string {
	text := words(n)
	for _, button := range find(n, func(n *html.Node) bool { _, ok := attribute(n, "data-integrate"); return ok }) {
		text = strings.Replace(text, words(button), "", 1)
	}
	return text
}

func find(n *html.Node, selected func(*html.Node) bool) []*html.Node {
	var found []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && selected(d) {
			found = append(found, d)
		}
	}
	return found
}

func hasType(n *html.Node, kind string) bool {
	value, _ := attribute(n, "type")
	return value == kind
}

// The gallery lists every part.
func TestGallery(t *testing.T) {
	dir := written(t)
	doc := read(t, dir, "embed/index.html")
	for _, p := range piece.All {
		if !strings.Contains(doc, `<a href="`+p.Name+`/index.html">`) {
			t.Errorf("no link to %s", p.Name)
		}
	}
}

// A page that is told its theme has the colours of that theme.
func TestThemes(t *testing.T) {
	rules, err := themeRules()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{":root[data-theme=light]{color-scheme:light;", "--paper:#fbfaf6", ":root[data-theme=dark]{color-scheme:dark;", "--paper:#171613", "--screen-rule:#37342d"} {
		if !strings.Contains(string(rules), want) {
			t.Errorf("no %s in %s", want, rules)
		}
	}
	for _, kind := range view.Kinds {
		if strings.Count(string(rules), "--"+kind+":") != 2 {
			t.Errorf("%s has no colour in one of the themes", kind)
		}
	}
}

// Each figure has a picture that stands alone, with nothing in it that asks for
// something else.
func TestPictures(t *testing.T) {
	dir := written(t)
	seen := 0
	for _, p := range pages {
		if !p.Piece.Pictured() {
			continue
		}
		seen++
		name := "figures/" + p.Piece.Name + "." + string(p.Lang) + ".svg"
		picture := read(t, dir, name)
		ids := map[string]bool{}
		decoder := xml.NewDecoder(strings.NewReader(picture))
		texts := 0
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if start, ok := token.(xml.StartElement); ok {
				for _, a := range start.Attr {
					switch {
					case a.Name.Local == "id" && ids[a.Value]:
						t.Errorf("%s: two elements are called %s", name, a.Value)
					case a.Name.Local == "id":
						ids[a.Value] = true
					case strings.Contains(a.Value, "var(") || strings.Contains(a.Value, "%") || a.Name.Local == "class" || a.Name.Local == "style":
						t.Errorf("%s: %s=%q depends on a page", name, a.Name.Local, a.Value)
					}
				}
				if start.Name.Local == "text" {
					texts++
				}
			}
		}
		for _, m := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(picture, -1) {
			if id, ok := strings.CutPrefix(m[1], "#"); !ok || !ids[id] {
				t.Errorf("%s: nothing is called %s", name, m[1])
			}
		}
		if texts < 2 {
			t.Errorf("%s holds %d texts", name, texts)
		}
	}
	if want := 2 * 13; seen != want {
		t.Errorf("%d pictures, want %d", seen, want)
	}
}
