package still

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const css = `:root{--paper:#ffffff;--ink:#000000;--soft:#5d5a54;--rule:#dddddd;--panel:#eeeeee;--runtime:#888888;--alarm:#ff0000;--a:#204060}
/* comment { */
@media print{.area{height:1rem}}
.area{height:10rem}.wide .area{height:5rem}
.area .grid{stroke:var(--rule)}.p-a{fill:color-mix(in srgb,var(--a) 50%,var(--paper))}
.fig svg text{font:400 12px var(--sans);fill:var(--soft)}.fig svg .strong{fill:var(--ink);font-weight:600}
.area .short{display:none}:root:is(.x,.strong){display:none}`

const paints = `<svg><defs><pattern id="f-a" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="p-a" width="4" height="4"></rect></pattern></defs></svg>`

func drawn(t *testing.T, figure string) string {
	t.Helper()
	picture, err := SVG(Source{Figure: figure, Paints: paints, Style: css, Name: `A & "B"`, Share: func(ref string) (float64, bool) { return .25, ref == "known" }})
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(string(picture)))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
	}
	return string(picture)
}

// Lengths become numbers, styles attributes, and what moves is left out.
func TestPicture(t *testing.T) {
	got := drawn(t, `<figure class="fig" data-figure="x"><fieldset>control</fieldset>
<ul class="legend"><li><span class="key k-a"></span>one</li><li><span class="key line"></span>two</li></ul>
<svg class="area" role="img" aria-label="words" width="100%"><line class="grid" x1="0" x2="100%" y1="50%" y2="25%"></line>
<svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none"><path d="M0 100h50V50 L100 0Z" vector-effect="non-scaling-stroke"></path></svg>
<text class="strong" x="50%" y="1em" dy="-4">peak</text><text class="short" x="0" y="0">short</text><rect width="100%" height="100%" fill="url(#f-a)" data-kind="a"></rect></svg>
<p>Some <b>words</b>`+"\u202f"+`here.</p><p class="scripted">hint</p><details>twin</details><figcaption>caption</figcaption></figure>`)
	for _, want := range []string{
		`<title>A &amp; &#34;B&#34;</title>`, `x2="660" y1="80" y2="40" stroke="#dddddd"`, `<path d="M0 160h330V80L660 0Z">`, `x="330"`, `fill="#000000" font-weight="600" font-size="12"`,
		`<rect width="660" height="160" fill="url(#f-a)">`, `<rect width="4" height="4" fill="#90a0b0">`, `patternUnits="userSpaceOnUse"`, `>one</tspan>`, `font-weight="600">words</tspan>`, "\u00a0here.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	for _, no := range []string{"class=", "data-", "aria-", "%\"", "var(", "control", "hint", "twin", "caption", "short", "\u202f", "<svg class"} {
		if strings.Contains(got, no) {
			t.Errorf("%s in\n%s", no, got)
		}
	}
}

func TestBars(t *testing.T) {
	got := drawn(t, `<div class="bar"><i class="k-a" data-share="known"></i><i class="k-a" data-share="known"></i><span class="limit" data-share="known"></span></div>`)
	for _, want := range []string{`<rect x="12" y="12" width="165" height="26" fill="url(#f-a)"/>`, `<rect x="177" y="12" width="165"`, `<path d="M177 9v32" stroke="#ff0000"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if _, err := SVG(Source{Figure: `<div class="bar"><i data-share="unknown"></i></div>`, Paints: paints, Style: css, Share: func(string) (float64, bool) { return 0, false }}); err == nil {
		t.Error("an unknown length is drawn")
	}
}

// Lines break at spaces, never inside a word, and lose nothing.
func TestLines(t *testing.T) {
	text := "Each of these words is in one of the lines"
	for _, most := range []float64{1, 60, 100, 1000} {
		var all string
		for _, line := range lines([]run{{text: text[:10]}, {text: text[10:], bold: true}}, 13, most) {
			if w := width(line, 13); w > most+4 && strings.Contains(strings.TrimSpace(line[0].text), " ") {
				t.Errorf("a line of %v pixels, at most %v", w, most)
			}
			for _, r := range line {
				all += r.text
			}
		}
		if all != text {
			t.Errorf("at %v pixels: %q", most, all)
		}
	}
}

func TestRules(t *testing.T) {
	s := parse(css)
	doc, err := html.Parse(strings.NewReader(`<div class="wide"><svg class="area"></svg></div>`))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Data == "svg" && s.of(n)["height"] != "5rem" {
			t.Errorf("%v", s.of(n))
		}
	}
}
