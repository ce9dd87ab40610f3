package browsertest

import (
	"regexp"
	"strings"
	"testing"

	cd "github.com/chromedp/chromedp"
)

// measurements is the page that is only read.
const measurements = "validation/"

// The page of measurements runs no program, asks nobody, and is whole without scripts.
func TestMeasurementsAreStatic(t *testing.T) {
	root := serve(t, "")
	for lang, path := range map[string]string{"fr": measurements, "en": "en/" + measurements} {
		tab := opened(t, view{})
		console, err := watch(tab)
		if err != nil {
			t.Fatal(err)
		}
		tab.navigate(root + path)
		tab.awake()
		tab.quiet(root)
		for _, request := range tab.asked() {
			if strings.Contains(request, ".wasm") || strings.Contains(request, "boot.") || strings.Contains(request, "early.") {
				t.Errorf("%s: the page asks for %s", lang, request)
			}
		}
		for _, message := range console() {
			t.Errorf("%s: console: %s", lang, message)
		}
		bare := open(t, root+path, view{noScripts: true})
		if with, without := tab.text("main"), bare.text("main"); with != without || !strings.Contains(without, "DNNMem") {
			t.Errorf("%s: scripts change the text", lang)
		}
	}
}

// asked are the requests that a tab has made.
func (tab *tab) asked() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.requests...)
}

// Each page leads to the measurements and back, in its language, and the reader's settings come along.
func TestMeasurementsKeepTheSettings(t *testing.T) {
	root := serve(t, "")
	const settings = "#v=1&batch=64"
	tab := open(t, root+measurements+settings, view{})
	for _, selector := range []string{"nav [data-lang-switch]", "nav [data-state-link]"} {
		if hash := eval[string](tab, `document.querySelector("`+selector+`").hash`); hash != settings {
			t.Errorf("%s leads to %q", selector, hash)
		}
	}
	if err := cd.Do(tab, cd.Click(cd.CSS("nav [data-state-link]"))); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.body?.dataset.page === "lesson" && document.body.dataset.ready === ""`)
	if got := tab.text(scrub); !strings.HasPrefix(got, "64") {
		t.Errorf("the lesson says %q", got)
	}
	// A section of this page is none of another, but the same in the other language.
	tab = open(t, root+measurements+"#misses", view{})
	if hash := eval[string](tab, `document.querySelector("nav [data-state-link]").hash + document.querySelector("[data-lang-switch]").hash`); hash != "#misses" {
		t.Errorf("the links lead to %q", hash)
	}
	for _, page := range []string{"", "oom/", "atelier/", "en/", "en/oom/", "en/atelier/"} {
		tab := open(t, root+page, view{noScripts: true})
		want := root + measurements + "index.html"
		if strings.HasPrefix(page, "en/") {
			want = root + "en/" + measurements + "index.html"
		}
		if !eval[bool](tab, `[...document.querySelectorAll("nav a")].some((a) => a.href === "`+want+`")`) {
			t.Errorf("/%s does not lead to the measurements", page)
		}
	}
}

// A wide table scrolls in its own frame, with the keyboard too, and its caption stays in sight.
func TestMeasurementsOnAPhone(t *testing.T) {
	tab := open(t, serve(t, "")+measurements, view{width: 320})
	frames := eval[int](tab, `[...document.querySelectorAll(".measured")].filter((f) => f.scrollWidth > f.clientWidth).length`)
	if frames == 0 {
		t.Error("no table is wider than a phone: the test is idle")
	}
	outside := eval[[]string](tab, `[...document.querySelectorAll(".measured")].filter((f) => {
		f.scrollLeft = 120;
		const c = f.querySelector("caption span").getBoundingClientRect();
		return c.left < 0 || c.right > innerWidth;
	}).map((f) => f.getAttribute("aria-label"))`)
	if len(outside) != 0 {
		t.Errorf("captions out of sight: %q", outside)
	}
}

func TestMeasurementsOnPaper(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root+measurements, view{})
	pdf, err := cd.Run(tab, cd.PrintToPDF(cd.PDFPaper(cd.PaperA4), cd.PDFPrintBackground()))
	if err != nil {
		t.Fatal(err)
	}
	if sheets := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1)); sheets == 0 || sheets > 14 {
		t.Errorf("%d sheets", sheets)
	}
	// No table is cut at the edge of the sheet.
	paper := open(t, root+measurements, view{print: true, width: 680})
	if cut := eval[[]string](paper, `[...document.querySelectorAll(".measured table")].filter((t) => t.getBoundingClientRect().right > innerWidth + 1).map((t) => t.caption.textContent)`); len(cut) != 0 {
		t.Errorf("cut on paper: %q", cut)
	}
}
