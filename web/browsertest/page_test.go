package browsertest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cd "github.com/chromedp/chromedp"
)

var languages = map[string]struct{ path, title, exact string }{
	"fr": {"", "Pourquoi mon GPU est-il déjà plein ?", "8 623 696 octets"},
	"en": {"en/", "Why is my GPU already full?", "8,623,696 bytes"},
}

func TestPagesLoad(t *testing.T) {
	root := serve(t, "")
	for lang, page := range languages {
		tab := opened(t, view{})
		console, err := watch(tab)
		if err != nil {
			t.Fatal(err)
		}
		tab.navigate(root + page.path)
		tab.awake()
		if got := tab.text("h1"); got != page.title {
			t.Errorf("%s: title %q", lang, got)
		}
		tab.quiet(root)
		for _, message := range console() {
			t.Errorf("%s: console: %s", lang, message)
		}
	}
}

// watch collects what the console says, warnings and errors only.
func watch(tab *tab) (said func() []string, err error) {
	messages := make(chan string, 100)
	go func() {
		for message, err := range cd.Console(tab) {
			if err != nil {
				return
			}
			if message.IsException() || strings.Contains(strings.ToLower(message.String()), "error") || strings.Contains(strings.ToLower(message.String()), "warn") {
				messages <- message.String()
			}
		}
	}()
	return func() []string {
		var list []string
		for {
			select {
			case message := <-messages:
				list = append(list, message)
			default:
				return list
			}
		}
	}, nil
}

// The tank takes its colours where the reader meets the kinds of memory, by the
// place on the page alone; paper has them all, and the limit is in sight.
func TestTankFillsAsTheReaderGoes(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	for _, step := range []struct{ place, met string }{
		{"h1", ""},
		{"#weights", "weights gradients optimizer"},
		{"#activations", "weights gradients optimizer batch activations"},
		{"#end", "weights gradients optimizer batch activations temporaries runtime"},
		{"#batch", "weights gradients optimizer batch"},
	} {
		eval[any](tab, `document.querySelector("`+step.place+`").scrollIntoView({behavior: "instant"})`)
		tab.until(`document.body.dataset.met?.split(" ").sort().join(" ").trim() === "` + sorted(step.met) + `"`)
	}
	const pale = `[...document.querySelectorAll(".gauge .vessel i")].filter((i) => getComputedStyle(i).filter !== "none").map((i) => i.className.slice(2)).sort().join(" ")`
	tab.until(pale + ` === "activations runtime temporaries"`)
	// What is lit is not pale.
	eval[any](tab, `document.body.dataset.lit = "activations"`)
	tab.until(pale + ` === ""`)
	eval[any](tab, `delete document.body.dataset.lit`)
	if inside := eval[bool](tab, `(() => { const [vessel, limit] = [".vessel", ".vessel .limit"].map((s) => document.querySelector(s).getBoundingClientRect()); return limit.top > vessel.top && limit.bottom < vessel.bottom; })()`); !inside {
		t.Error("the limit is out of the vessel's sight")
	}
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	tab.until(pale + ` === ""`)
}

// sorted puts words in order.
func sorted(words string) string {
	list := strings.Fields(words)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Without JavaScript the lesson is whole, and nothing on it pretends to move.
func TestWithoutJavaScript(t *testing.T) {
	root := serve(t, "")
	for lang, page := range languages {
		tab := open(t, root+page.path, view{noScripts: true})
		body := tab.text("main")
		for _, want := range []string{page.exact, "538", "939", "1", "174"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %q", lang, want)
			}
		}
		for selector, want := range map[string]bool{
			".tank": true, ".where table": true, ".chart .wide svg": true, "noscript p": true, "#end": true,
			".settings": false, ".toolbar": false, ".scripted": false,
		} {
			if got := shown(tab, selector); got != want {
				t.Errorf("%s: %s shown: %v", lang, selector, got)
			}
		}
		tab.quiet(root)
	}
}

// shown reports whether the first element of a selector takes room on the page.
func shown(tab *tab, selector string) bool {
	tab.t.Helper()
	return eval[bool](tab, `document.querySelector("`+selector+`").getClientRects().length > 0`)
}

// tooWide lists the elements that reach beyond the window, and rows of tables
// that a rule for something else has taken apart. What scrolls inside a frame of
// its own, such as a wide table, does not make the page scroll.
const tooWide = `(() => {
	const wide = [];
	const framed = (element) => {
		for (let e = element.parentElement; e && e !== document.body; e = e.parentElement) {
			if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true;
		}
		return false;
	};
	if (document.documentElement.scrollWidth > innerWidth) wide.push("document: " + document.documentElement.scrollWidth);
	for (const element of document.querySelectorAll("body *")) {
		const box = element.getBoundingClientRect();
		if (box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5) && !element.closest(".skip, svg") && !framed(element)) {
			wide.push(element.tagName + "." + element.className + " " + Math.round(box.left) + ".." + Math.round(box.right));
		}
	}
	for (const row of document.querySelectorAll("tr")) {
		const { display } = getComputedStyle(row);
		if (!["table-row", "none"].includes(display)) wide.push("tr." + row.className + ": " + display);
	}
	return wide.slice(0, 8).join("; ");
})()`

func TestNoSidewaysScroll(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{"", "en/", workshop, "en/" + workshop, measurements, "en/" + measurements} {
		for _, width := range []int64{320, 390, 640, 768, 1024, 1440} {
			tab := open(t, root+path, view{width: width})
			eval[any](tab, `document.querySelectorAll("details").forEach((d) => (d.open = true))`)
			if wide := eval[string](tab, tooWide); wide != "" {
				t.Errorf("/%s at %d: %s", path, width, wide)
			}
		}
		// Twice the text at the width of a phone held sideways.
		tab := open(t, root+path, view{width: 640})
		eval[any](tab, `document.documentElement.style.fontSize = "200%"`)
		if width := eval[int](tab, `document.documentElement.scrollWidth`); width > 640 {
			t.Errorf("/%s with large text: %d px wide", path, width)
		}
	}
}

func TestDark(t *testing.T) {
	root := serve(t, "")
	const background = `getComputedStyle(document.documentElement).backgroundColor`
	light := eval[string](open(t, root, view{media: map[string]string{"prefers-color-scheme": "light"}}), background)
	dark := eval[string](open(t, root, view{media: map[string]string{"prefers-color-scheme": "dark"}}), background)
	if light != "rgb(251, 250, 246)" || dark != "rgb(23, 22, 19)" {
		t.Errorf("light %s, dark %s", light, dark)
	}
}

func TestReducedMotion(t *testing.T) {
	tab := open(t, serve(t, ""), view{media: map[string]string{"prefers-reduced-motion": "reduce"}})
	moving := eval[int](tab, `[...document.querySelectorAll("*")].filter((e) => getComputedStyle(e).transitionDuration.split(",").some((d) => parseFloat(d) > 0)).length`)
	if moving != 0 {
		t.Errorf("%d elements move", moving)
	}
}

// Notes stand in the margin where there is one, and among the text elsewhere.
func TestNotesInTheMargin(t *testing.T) {
	root := serve(t, "")
	for width, want := range map[int64]string{1440: "beside", 1024: "among", 390: "among"} {
		got := eval[[]string](open(t, root, view{width: width}), `[...document.querySelectorAll(".note")].map((note) => {
			const text = note.parentElement.querySelector(":scope > p").getBoundingClientRect(), box = note.getBoundingClientRect();
			return box.left >= text.right ? "beside" : box.left >= text.left - 1 && box.right <= text.right + 1 ? "among" : "elsewhere";
		})`)
		if len(got) < 5 || slices.ContainsFunc(got, func(place string) bool { return place != want }) {
			t.Errorf("at %d: %v, want all %s", width, got, want)
		}
	}
}

// In forced colours the kinds of memory keep an outline each.
func TestForcedColors(t *testing.T) {
	tab := open(t, serve(t, ""), view{media: map[string]string{"forced-colors": "active"}})
	if got := eval[string](tab, `getComputedStyle(document.querySelector(".vessel i")).outlineStyle`); got != "solid" {
		t.Errorf("outline %q", got)
	}
	// What is lit is underlined there too: colours say nothing.
	eval[any](tab, `document.body.dataset.lit = "gradients"`)
	if got := eval[string](tab, `getComputedStyle(document.querySelector(".num.g")).textDecorationLine`); got != "underline" {
		t.Errorf("a lit number has %q", got)
	}
	for _, violation := range violations(tab) {
		t.Error(violation)
	}
}

func TestPrint(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{"", "en/", workshop, "en/" + workshop} {
		tab := open(t, root+path, view{})
		pdf, err := cd.Run(tab, cd.PrintToPDF(cd.PDFPaper(cd.PaperA4), cd.PDFPrintBackground()))
		if err != nil {
			t.Fatal(err)
		}
		sheets := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1))
		if sheets == 0 || sheets > 6 {
			t.Errorf("/%s: %d sheets, want at most 6", path, sheets)
		}
	}
	// What is printed says of what state, where it is found again, and when.
	tab := open(t, root+"#v=1&batch=300", view{})
	tab.put(slider, "301")
	eval[any](tab, `dispatchEvent(new Event("beforeprint"))`)
	printed := eval[string](tab, `document.querySelector(".printed").textContent`)
	if year := strconv.Itoa(time.Now().Year()); !strings.Contains(printed, year) || !strings.Contains(printed, root+"#v=1&batch=301") {
		t.Errorf("printed with %q", printed)
	}
	paper := open(t, root, view{print: true, width: 700})
	eval[any](paper, `dispatchEvent(new Event("beforeprint"))`)
	for selector, want := range map[string]bool{".tank": true, ".where table": true, ".settings": false, ".toolbar": false, "nav": false, ".live": false, ".printed": true, ".onward": false} {
		if got := shown(paper, selector); got != want {
			t.Errorf("print: %s shown: %v", selector, got)
		}
	}
}

// The folder works wherever it is put.
func TestSubPaths(t *testing.T) {
	for _, prefix := range []string{"/cours/gpu", "/un dossier accentué/été 2"} {
		root := serve(t, prefix)
		for _, path := range []string{"", "index.html", "en/", "en/index.html"} {
			tab := open(t, root+path, view{})
			tab.quiet(root)
		}
		// The language switch leads to the other page and back.
		tab := open(t, root, view{})
		for _, want := range []string{"Why is my GPU already full?", "Pourquoi mon GPU est-il déjà plein ?"} {
			tab.follow("nav [hreflang]")
			if got := tab.text("h1"); got != want {
				t.Errorf("%s: %q, want %q", prefix, got, want)
			}
		}
	}
}

// violations runs axe-core and lists what it finds wrong.
func violations(tab *tab) []string {
	tab.t.Helper()
	eval[any](tab, axe+";0")
	return eval[[]string](tab, `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + " " + n.failureSummary.split("\n").slice(1, 2))))`)
}

// clean fails the test where axe-core finds something wrong, in any colours.
func (tab *tab) clean(state string) {
	tab.t.Helper()
	for _, colours := range []emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: "light"},
		{Name: "prefers-color-scheme", Value: "dark"},
		{Name: "forced-colors", Value: "active"},
	} {
		call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			&colours, {Name: "prefers-reduced-motion", Value: "reduce"}, // colours on their way would be mistaken for others
		}})
		for _, violation := range violations(tab) {
			tab.t.Errorf("%s, %s %s: %s", state, colours.Name, colours.Value, violation)
		}
	}
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
}

func TestAccessible(t *testing.T) {
	root := serve(t, "")
	for name, v := range map[string]view{
		"light":  {media: map[string]string{"prefers-color-scheme": "light", "prefers-reduced-motion": "reduce"}},
		"dark":   {media: map[string]string{"prefers-color-scheme": "dark", "prefers-reduced-motion": "reduce"}},
		"narrow": {width: 320, media: map[string]string{"prefers-reduced-motion": "reduce"}},
	} {
		for _, path := range []string{"", "en/", measurements, "en/" + measurements} {
			tab := open(t, root+path, v)
			eval[any](tab, `document.querySelectorAll("details").forEach((d) => (d.open = true))`)
			for _, violation := range violations(tab) {
				t.Errorf("%s /%s: %s", name, path, violation)
			}
		}
	}
}

// The page works in the states that a reader brings it to: an explanation
// open, a question answered, the puzzle tried, a kind of memory lit.
func TestAccessibleInEveryState(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	eval[any](tab, `document.querySelectorAll("[data-quiz]").forEach((quiz) => quiz.querySelector("[data-choice]").click())`)
	tab.until(`[...document.querySelectorAll("[data-quiz] .reveal")].every((reveal) => reveal.textContent !== "")`)
	eval[any](tab, `document.querySelector("[data-lever=precision][value=amp-fp16]").click()`)
	tab.until(`document.querySelector("[data-puzzle] .result.ok") !== null`)
	tab.clean("answered")
	for _, kind := range []string{"weights", "gradients", "optimizer", "batch", "activations", "temporaries", "runtime"} {
		eval[any](tab, `document.body.dataset.lit = "`+kind+`"`)
		tab.clean(kind + " lit")
	}
	eval[any](tab, `delete document.body.dataset.lit`)
	tab.put(slider, "1024")
	tab.until(`document.querySelector(".verdict").dataset.tone === "alarm"`)
	tab.clean("over the card")
	eval[any](tab, `document.querySelector(".gauge b[data-v]").click()`)
	tab.until(`document.querySelector("dialog.explained")?.open`)
	tab.clean("an explanation open")
}

// An error of axe-core itself would pass for a clean page: it must find a planted fault.
func TestAxeFindsFaults(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	eval[any](tab, `document.querySelector("main").insertAdjacentHTML("beforeend", "<img src='icon.svg'><button></button>")`)
	found := strings.Join(violations(tab), "\n")
	for _, want := range []string{"image-alt", "button-name"} {
		if !strings.Contains(found, want) {
			t.Errorf("axe does not report %s: %s", want, found)
		}
	}
}
