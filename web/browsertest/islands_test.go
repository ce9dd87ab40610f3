package browsertest

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/build"
	"vrametre/web/site"
	figures "vrametre/web/view"
)

// until waits for a condition of the page, which may be leaving for another.
func (tab *tab) until(condition string) {
	tab.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		holds, err := cd.Run(tab, cd.Evaluate[bool](condition, cd.EvalAwaitPromise))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			tab.t.Fatalf("never true: %s (%v)", condition, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// put gives a control a value, as a reader does.
func (tab *tab) put(selector, value string) {
	tab.t.Helper()
	eval[any](tab, fmt.Sprintf(`(() => {
		const control = document.querySelector(%q);
		control.value = %q;
		for (const event of ["input", "change"]) control.dispatchEvent(new Event(event, {bubbles: true}));
	})()`, selector, value))
}

const (
	slider = `input[type=range][data-control=batch]`
	box    = `input[type=number][data-control=batch]`
	scrub  = `[data-scrub=batch]`
)

// before runs a script in every document of a tab before its own.
func before(tab *tab, script string) {
	tab.t.Helper()
	call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// described writes an element and all in it, with what go-app and HTML write
// in their own ways made alike.
const described = `
function described(element) {
	const attributes = [...element.attributes]
		.filter(({name}) => !["value", "selected", "style"].includes(name))
		.filter(({name}) => !(element.dataset.v && ["role", "tabindex", "aria-haspopup"].includes(name))) // numbers become buttons
		.map(({name, value}) => name + "=" + value).sort().join(" ");
	const kids = element.matches("[data-chart]") ? [] : [...element.childNodes];
	return "<" + element.tagName + " " + attributes + ">" + kids.map((kid) =>
		kid.nodeType === Node.TEXT_NODE ? kid.nodeValue : described(kid)).join("") + "</>";
}`

// The live islands are the elements that stood there.
func TestWakingChangesNothing(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{"", "en/"} {
		tab := open(t, root+path, view{})
		got := eval[map[string][]string](tab, `(async () => {
			`+described+`
			const page = new DOMParser().parseFromString(await (await fetch("")).text(), "text/html");
			const islands = {};
			for (const slot of document.querySelectorAll("[data-island]")) {
				const name = slot.dataset.island;
				islands[name] = [page.querySelector("[data-island=" + name + "]").firstElementChild, slot.firstElementChild].map(described);
			}
			return islands;
		})()`)
		if len(got) < 4 {
			t.Fatalf("/%s: islands %v", path, got)
		}
		for name, forms := range got {
			if forms[0] != forms[1] {
				t.Errorf("/%s: %s was\n%s\nand is\n%s", path, name, forms[0], forms[1])
			}
		}
		// So are all the figures in the text.
		changed := eval[[]string](tab, `(async () => {
			const page = new DOMParser().parseFromString(await (await fetch("")).text(), "text/html");
			const before = [...page.querySelectorAll("[data-v], [data-scrub]")], after = [...document.querySelectorAll("[data-v], [data-scrub]")];
			return after.flatMap((element, i) => element.textContent === before[i]?.textContent ? [] : [before[i]?.outerHTML + " -> " + element.outerHTML]);
		})()`)
		for _, change := range changed {
			t.Errorf("/%s: %s", path, change)
		}
		values := eval[string](tab, `[...document.querySelectorAll(".settings [data-control]")].map((c) => c.value).join()`)
		if values != "32,32,128,128,adam,4,4,36,36,gtx-1650" {
			t.Errorf("/%s: controls hold %s", path, values)
		}
	}
}

// Nothing moves when the page wakes, even slowly and in the middle of it.
func TestNothingMovesOnWaking(t *testing.T) {
	root := serve(t, "")
	type opening struct {
		path     string
		v        view
		scrolled float64
	}
	var openings []opening
	for _, path := range []string{"", workshop} {
		for _, v := range []view{{}, {width: 390, height: 844}} {
			openings = append(openings, opening{path, v, 0}, opening{path, v, .4})
		}
	}
	for _, path := range []string{"en/", oomPage, "embed/timeline/", "embed/atelier/"} {
		openings = append(openings, opening{path, view{}, 0}, opening{path, view{width: 390, height: 844}, 0})
	}
	for _, o := range openings {
		t.Run(fmt.Sprintf("/%s at %d from %v", o.path, o.v.width, o.scrolled), func(t *testing.T) {
			scrolled := o.scrolled
			tab := opened(t, o.v)
			before(tab, fmt.Sprintf(`
				self.shifts = [];
				new PerformanceObserver((list) => {
					for (const entry of list.getEntries()) self.shifts.push([entry.value, ...entry.sources.map(({node}) => node?.outerHTML?.slice(0, 80))]);
				}).observe({type: "layout-shift", buffered: true});
				addEventListener("DOMContentLoaded", () => scrollTo(0, document.documentElement.scrollHeight * %v));`, scrolled))
			call(tab, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 4})
			tab.navigate(root + o.path)
			tab.awake()
			time.Sleep(500 * time.Millisecond)
			shifts := eval[[][]any](tab, `shifts`)
			sum := 0.0
			for _, shift := range shifts {
				sum += shift[0].(float64)
			}
			if sum > .02 {
				t.Errorf("layout shift %v: %v", sum, shifts)
			}
			if got := eval[float64](tab, `scrollY / document.documentElement.scrollHeight`); got < scrolled-.02 || got > scrolled+.02 {
				t.Errorf("scrolled to %v, then to %v", scrolled, got)
			}
		})
	}
}

// One move changes every view of the state.
func TestSliderMovesEverything(t *testing.T) {
	root := serve(t, "")
	tab := opened(t, view{})
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	tab.navigate(root)
	tab.awake()
	eval[any](tab, `document.querySelector(".chart").scrollIntoView({block: "center"})`)
	tab.until(`document.querySelector(".chart svg text") !== null && document.querySelectorAll(".chart > div").length === 1`)
	const seen = `[
		document.querySelector(".tank b").textContent,
		document.querySelector(".verdict").textContent,
		document.querySelector("[data-scrub=batch]").textContent,
		document.querySelector(".where .total td:last-child").textContent,
		document.querySelector(".chart").getAttribute("aria-label"),
		[...document.querySelectorAll(".chart svg text")].map((t) => t.textContent).join("|"),
		[...document.querySelectorAll(".chart svg path[fill='var(--activations)']")].map((p) => p.getAttribute("d")).join("|"),
		getComputedStyle(document.querySelector(".vessel .k-activations")).getPropertyValue("--share"),
		document.querySelector("` + slider + `").getAttribute("aria-valuetext"),
	]`
	// While the reader moves it the chart is stretched as it stands, to what is drawn anew at the pause.
	const drawn = `[...document.querySelectorAll(".chart svg path, .chart svg text")].map((part) => part.getAttribute("d") ?? part.textContent).join("\n")`
	stretched := eval[[]string](tab, `(async () => {
		const mark = document.querySelector(".chart svg text");
		const slider = document.querySelector("`+slider+`");
		slider.value = 30;
		slider.dispatchEvent(new Event("input", {bubbles: true}));
		await new Promise(requestAnimationFrame); // the page has asked for this frame first
		return ["" + mark.isConnected, `+drawn+`];
	})()`)
	tab.until(`location.hash.includes("batch=30")`)
	if got := eval[string](tab, drawn); stretched[0] != "true" || stretched[1] != got {
		t.Errorf("the chart moves to\n%s\nits marks kept: %s; it is drawn as\n%s", stretched[1], stretched[0], got)
	}
	was := eval[[]string](tab, seen)
	tab.put(slider, "900")
	tab.until(`location.hash.includes("batch=900")`)
	is := eval[[]string](tab, seen)
	for i := range was {
		if was[i] == is[i] || is[i] == "" {
			t.Errorf("view %d stays %q", i, is[i])
		}
	}
	if !strings.Contains(is[1], "saturée") || eval[string](tab, `document.querySelector(".verdict").dataset.tone`) != "alarm" {
		t.Errorf("a batch of 900 images on a card of 4 GB: %q", is[1])
	}
	if is[0] != is[3] || !strings.Contains(is[5], is[0]) || !strings.Contains(is[4], is[0]) {
		t.Errorf("tank %q, table %q, chart %q, its text %q", is[0], is[3], is[5], is[4])
	}
	if got := eval[string](tab, `document.querySelector("`+box+`").value`); got != "900" {
		t.Errorf("the box holds %s", got)
	}
	// The box moves the slider, when its number is complete.
	tab.put(box, "64")
	tab.until(`document.querySelector("` + slider + `").value === "64" && document.querySelector("` + scrub + `").textContent.startsWith("64")`)
	// A number out of bounds is brought back, in the box too.
	tab.put(box, "5000")
	tab.until(`document.querySelector("` + box + `").value === "1024"`)
	// The optimizer and the number of values per weight are one setting.
	tab.put(`select[data-control=optimizer]`, "sgd")
	tab.until(`document.querySelector("input[data-control=values]").value === "2"`)
	tab.put(`input[type=range][data-control=values]`, "3")
	tab.until(`document.querySelector("select[data-control=optimizer]").value === "sgd-momentum"`)
	// Another card, another tank.
	tab.put(`select[data-control=gpu]`, "a100-80")
	tab.until(`document.querySelector(".verdict").dataset.tone === "ok" && location.hash.includes("gpu=a100-80")`)
	tab.quiet(root)
	for _, message := range console() {
		t.Errorf("console: %s", message)
	}
}

func TestScrubByKeyboard(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	eval[any](tab, `document.querySelector("`+scrub+`").focus()`)
	for _, c := range []struct{ key, want string }{
		{kb.ArrowRight, "33"}, {kb.ArrowUp, "34"}, {kb.ArrowLeft, "33"}, {kb.ArrowDown, "32"},
		{kb.PageUp, "64"}, {kb.PageDown, "32"}, {kb.End, "1024"}, {kb.Home, "1"},
		{"2", "2"}, {"5", "25"}, {"6", "256"}, {kb.Backspace, "25"},
	} {
		if err := cd.Do(tab, cd.KeyEvent(c.key)); err != nil {
			t.Fatal(err)
		}
		tab.until(fmt.Sprintf(`document.activeElement.matches(%q) && document.activeElement.ariaValueNow === %q && document.activeElement.textContent.replace(/\D/g, "") === %[2]q`, scrub, c.want))
	}
	for attribute, want := range map[string]string{"role": "slider", "aria-valuemin": "1", "aria-valuemax": "1024", "aria-label": "taille du lot"} {
		if got := eval[string](tab, `document.activeElement.getAttribute("`+attribute+`")`); got != want {
			t.Errorf("%s is %q, want %q", attribute, got, want)
		}
	}
	if text, shown := eval[string](tab, `document.activeElement.getAttribute("aria-valuetext")`), eval[string](tab, `document.activeElement.textContent`); text != shown {
		t.Errorf("says %q, shows %q", text, shown)
	}
	// All numbers of one setting move together.
	if eval[bool](tab, `new Set([...document.querySelectorAll("`+scrub+`")].map((e) => e.textContent)).size !== 1`) {
		t.Error("two numbers of one setting differ")
	}
}

// centre is the middle of an element in the window.
func (tab *tab) centre(selector string) (x, y float64) {
	tab.t.Helper()
	box := eval[[]float64](tab, fmt.Sprintf(`(() => {
		const element = document.querySelector(%q);
		element.scrollIntoView({block: "center"});
		const {left, top, width, height} = element.getBoundingClientRect();
		return [left + width / 2, top + height / 2];
	})()`, selector))
	return box[0], box[1]
}

func TestScrubByPointer(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	x, y := tab.centre(scrub)
	const value = `+document.querySelector("` + scrub + `").ariaValueNow`
	if err := cd.Do(tab,
		cd.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, cd.ButtonLeft),
		cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+40, y, cd.ButtonLeft),
		cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+144, y, cd.ButtonLeft),
	); err != nil {
		t.Fatal(err)
	}
	tab.until(value + ` === 128`)
	if eval[string](tab, `getSelection().toString()`) != "" {
		t.Error("dragging selects text")
	}
	if err := cd.Do(tab, cd.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x+144, y, cd.ButtonLeft), cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+300, y)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if got := eval[int](tab, value); got != 128 {
		t.Errorf("the number moves to %d after the drag", got)
	}
	if !eval[bool](tab, `document.activeElement.matches("`+scrub+`")`) {
		t.Error("the number that was dragged is not focused: its keys would not work")
	}
	// One drag is one change. The button follows at the pause.
	tab.until(`!document.querySelector("[data-action=undo]").disabled`)
	eval[any](tab, `document.querySelector("[data-action=undo]").click()`)
	tab.until(value + ` === 32`)
}

func TestScrubByTouch(t *testing.T) {
	tab := open(t, serve(t, ""), view{width: 390, height: 844})
	call(tab, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
	x, y := tab.centre(scrub)
	touch := func(kind input.DispatchTouchEventType, points ...*input.TouchPoint) {
		if points == nil {
			points = []*input.TouchPoint{}
		}
		call(tab, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
	}
	touch(input.DispatchTouchEventTypeTouchStart, &input.TouchPoint{X: x, Y: y})
	for dx := 8.0; dx <= 72; dx += 8 {
		touch(input.DispatchTouchEventTypeTouchMove, &input.TouchPoint{X: x + dx, Y: y})
	}
	touch(input.DispatchTouchEventTypeTouchEnd)
	tab.until(`document.querySelector("` + scrub + `").ariaValueNow > 50`)
}

func TestUndoAndReset(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	enabled := func() string {
		return eval[string](tab, `[...document.querySelectorAll("[data-action]")].filter((b) => !b.disabled).map((b) => b.dataset.action).join(" ")`)
	}
	if got := enabled(); got != "copy" {
		t.Errorf("untouched page: %s", got)
	}
	tab.put(slider, "64")
	tab.put(`select[data-control=gpu]`, "tesla-t4")
	tab.until(`location.hash.includes("batch=64") && location.hash.includes("gpu=tesla-t4")`)
	if got := enabled(); got != "undo reset copy" {
		t.Errorf("changed page: %s", got)
	}
	// By keyboard alone.
	press := func(action string) {
		eval[any](tab, `document.querySelector("[data-action=`+action+`]").focus()`)
		if err := cd.Do(tab, cd.KeyEvent(kb.Enter)); err != nil {
			t.Fatal(err)
		}
	}
	press("undo")
	tab.until(`location.hash.includes("batch=64") && location.hash.includes("gpu=gtx-1650") && document.querySelector(".said").textContent !== ""`)
	press("reset")
	tab.until(`location.hash === "" && document.querySelector("` + slider + `").value === "32"`)
	press("undo")
	tab.until(`location.hash.includes("batch=64")`)
	press("undo")
	tab.until(`location.hash === "" && document.querySelector("[data-action=undo]").disabled`)
}

func TestAddressHoldsTheState(t *testing.T) {
	root := serve(t, "")
	const state = "#v=1&batch=256&side=64&opt=sgd&buffers=50&gpu=tesla-t4"
	tab := open(t, root+state, view{})
	const controls = `[...document.querySelectorAll(".settings [data-control]")].map((c) => c.value).join()`
	if got := eval[string](tab, controls); got != "256,256,64,64,sgd,2,2,50,50,tesla-t4" {
		t.Errorf("controls hold %s", got)
	}
	if got := tab.text(scrub); got != "256 images" {
		t.Errorf("the sentence says %s", got)
	}
	// The other language keeps it, even right after a move.
	tab.put(slider, "300")
	tab.until(`document.querySelector("[data-lang-switch]").hash.includes("batch=300")`)
	tab.follow("[data-lang-switch]")
	if got := eval[string](tab, `document.documentElement.lang + " " + `+controls); got != "en 300,300,64,64,sgd,2,2,50,50,tesla-t4" {
		t.Errorf("in the other language: %s", got)
	}
	// An address typed or gone back to is followed without a reload.
	eval[any](tab, `(self.kept = true, location.hash = "#v=1&batch=8&unknown=1")`)
	tab.until(`document.querySelector("` + slider + `").value === "8"`)
	// A link to a section moves the page, not the state.
	eval[any](tab, `location.hash = "#" + document.querySelector("section[id]").id`)
	time.Sleep(100 * time.Millisecond)
	if got := eval[string](tab, `kept + " " + document.querySelector("`+slider+`").value`); got != "true 8" {
		t.Errorf("after a link to a section: %s", got)
	}
	// What is no state is the lesson.
	for _, other := range []string{"#v=2&batch=64", "#%zz", "#" + strings.Repeat("v=1&", 50), "?x=1#v=1"} {
		if got := eval[string](open(t, root+other, view{}), controls); !strings.HasPrefix(got, "32,32,128,128,adam") {
			t.Errorf("%s: %s", other, got)
		}
	}
}

func TestCopyLink(t *testing.T) {
	root := serve(t, "")
	for name, script := range map[string]string{
		"clipboard": `navigator.clipboard.writeText = async (text) => void (self.copied = text)`,
		"refused":   `navigator.clipboard.writeText = () => Promise.reject(new DOMException("no", "NotAllowedError")); document.execCommand = () => (self.copied = document.activeElement.value, true)`,
		"missing":   `delete Navigator.prototype.clipboard; document.execCommand = () => (self.copied = document.activeElement.value, true)`,
	} {
		tab := opened(t, view{})
		before(tab, script)
		tab.navigate(root)
		tab.awake()
		tab.put(slider, "77")
		eval[any](tab, `document.querySelector("[data-action=copy]").click()`)
		tab.until(`self.copied !== undefined && document.querySelector(".said").textContent !== ""`)
		if got := eval[string](tab, `copied`); got != root+"#v=1&batch=77&side=128&opt=adam&buffers=36&gpu=gtx-1650" {
			t.Errorf("%s: copied %q", name, got)
		}
		if eval[bool](tab, `document.querySelector("textarea:not(dialog *)") !== null`) {
			t.Errorf("%s: the selected field is left behind", name)
		}
	}
}

// slow serves the site and holds the engine back until it is released.
func slow(t *testing.T) (root string, release func()) {
	t.Helper()
	held := make(chan struct{})
	files := site.Handler(os.DirFS(built))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".gz") {
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		files.ServeHTTP(w, r)
	}))
	released := false
	release = func() {
		if !released {
			released = true
			close(held)
		}
	}
	t.Cleanup(server.Close)
	t.Cleanup(release)
	return server.URL + "/", release
}

// What a reader does before the page wakes is not lost.
func TestTouchedBeforeWaking(t *testing.T) {
	root, release := slow(t)
	tab := opened(t, view{})
	tab.navigate(root)
	tab.until(`document.body.dataset.engine === "loading"`)
	eval[any](tab, `(() => {
		const slider = document.querySelector("`+slider+`");
		slider.scrollIntoView({block: "center"});
		slider.focus({preventScroll: true});
		slider.value = 96;
		document.querySelector("select[data-control=gpu]").value = "rtx-4090";
		self.place = scrollY;
		self.early = vrametre.estimate({want: []});
	})()`)
	release()
	tab.awake()
	tab.until(`location.hash.includes("batch=96") && location.hash.includes("gpu=rtx-4090")`)
	if got := eval[string](tab, `[document.activeElement.matches("`+slider+`"), document.activeElement.isConnected, scrollY === place].join()`); got != "true,true,true" {
		t.Errorf("focused, in the page, not scrolled: %s", got)
	}
	if got := eval[int64](tab, `early.then(({parameters}) => parameters.total)`); got != 538981 {
		t.Errorf("asked before the engine arrives: %d parameters", got)
	}
}

// A section's address is scrolled to once, when the page opens.
func TestSectionIsNotScrolledToAgain(t *testing.T) {
	root, release := slow(t)
	tab := opened(t, view{})
	tab.navigate(root)
	section := eval[string](tab, `[...document.querySelectorAll("section[id]")].at(-1).id`)
	tab.navigate("about:blank")
	tab.navigate(root + "#" + section)
	tab.until(`scrollY > 500`)
	eval[any](tab, `scrollTo(0, 0)`)
	release()
	tab.awake()
	time.Sleep(300 * time.Millisecond)
	if got := eval[float64](tab, `scrollY`); got != 0 {
		t.Errorf("waking scrolls to %v", got)
	}
}

// estimate in the page answers as the engine does here.
func TestEstimateAPI(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	for _, request := range []string{
		`{}`,
		`{"batch": 256, "optimizer": {"name": "sgd"}, "device": {"gpu": "tesla-t4"}, "language": "en"}`,
		`{"mode": "infer", "want": []}`,
		// What the page's program leaves out is answered by the whole engine.
		`{"model": {"torch": "Sequential(\n  (0): Linear(in_features=20, out_features=5, bias=True)\n  (1): ReLU()\n)"}, "input": {"shape": [20]}}`,
	} {
		parsed, err := calc.ParseRequest([]byte(request))
		if err != nil {
			t.Fatal(err)
		}
		want, err := calc.Estimate(parsed)
		if err != nil {
			t.Fatal(err)
		}
		figures.Fill(&want, content.ParseLang(parsed.Language))
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := eval[string](tab, `vrametre.estimate(`+request+`).then(JSON.stringify)`)
		var a, b any
		if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal(text, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the page answers\n%s\nthe engine\n%s", request, got, text)
		}
	}
	for request, want := range map[string]string{
		`{bacth: 3}`:                          "field-unknown",
		`{bacth: 3, language: "en"}`:          "field-unknown",
		`{batch: -1}`:                         "",
		`{model: {preset: "no-such-net"}}`:    "",
		`{model: {layers: [{type: "Nope"}]}}`: "",
	} {
		got := eval[[]string](tab, `vrametre.estimate(`+request+`).then(() => ["none", "", ""], (e) => [String(e.code), e.message, String(e instanceof Error)])`)
		if got[0] == "none" || got[0] == "undefined" || got[1] == "" || got[2] != "true" || want != "" && got[0] != want {
			t.Errorf("%s: %q", request, got)
		}
	}
}

// hosts are the ways a static host may serve the compressed module.
func TestEngineOnAnyHost(t *testing.T) {
	files := site.Handler(os.DirFS(built))
	for name, host := range map[string]http.HandlerFunc{
		"as bytes": func(w http.ResponseWriter, r *http.Request) {
			files.ServeHTTP(typed{w, "application/octet-stream"}, r)
		},
		"as text": func(w http.ResponseWriter, r *http.Request) { files.ServeHTTP(typed{w, "text/plain"}, r) },
		"declared as encoded": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".gz") {
				w.Header().Set("Content-Encoding", "gzip")
			}
			files.ServeHTTP(typed{w, "application/wasm"}, r)
		},
		"unpacked, with brotli": func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, ".gz") {
				files.ServeHTTP(w, r)
				return
			}
			sent := httptest.NewRecorder()
			files.ServeHTTP(sent, r)
			unpacked, err := gzip.NewReader(sent.Body)
			if err != nil {
				t.Error(err)
				return
			}
			w.Header().Set("Content-Encoding", "br")
			packed := brotli.NewWriterLevel(w, brotli.DefaultCompression)
			if _, err := io.Copy(packed, unpacked); err != nil {
				t.Log(err) // the reader has gone
			}
			packed.Close()
		},
	} {
		server := httptest.NewServer(host)
		t.Cleanup(server.Close)
		tab := open(t, server.URL+"/", view{})
		tab.quiet(server.URL + "/")
		if got := eval[string](tab, `document.body.dataset.engine`); got != "running" {
			t.Errorf("%s: engine %s", name, got)
		}
	}
}

// A browser from before DecompressionStream unpacks the module itself.
func TestOlderBrowser(t *testing.T) {
	root := serve(t, "")
	file := (&url.URL{Scheme: "file", Path: filepath.Join(built, "vrametre.html")}).String()
	for _, address := range []string{root, file} {
		tab := opened(t, view{})
		before(tab, `delete self.DecompressionStream; delete self.requestIdleCallback;`)
		tab.navigate(address + "#v=1&batch=64")
		tab.awake()
		if got := tab.text(scrub); got != "64 images" || eval[bool](tab, `"DecompressionStream" in self`) {
			t.Errorf("%s: %s", address, got)
		}
	}
}

// The program comes at the reader's first touch where the browser is never idle.
func TestFirstTouchBringsTheProgram(t *testing.T) {
	root := serve(t, "")
	tab := opened(t, view{})
	before(tab, `self.requestIdleCallback = () => {};`)
	tab.navigate(root)
	tab.until(`self.vrametre !== undefined && document.readyState === "complete"`)
	programs := func() (n int) {
		tab.mu.Lock()
		defer tab.mu.Unlock()
		for _, request := range tab.requests {
			if strings.Contains(request, ".wasm") {
				n++
			}
		}
		return n
	}
	if n := programs(); n != 0 {
		t.Errorf("%d programs are asked for before a touch", n)
	}
	if err := cd.Do(tab, cd.KeyEvent(kb.Tab), cd.KeyEvent(kb.Tab)); err != nil {
		t.Fatal(err)
	}
	tab.awake()
	if n := programs(); n != 1 {
		t.Errorf("%d programs are asked for", n)
	}
}

// typed changes the content type of the module.
type typed struct {
	http.ResponseWriter
	kind string
}

func (w typed) WriteHeader(status int) {
	if w.Header().Get("Content-Type") == "application/gzip" {
		w.Header().Set("Content-Type", w.kind)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w typed) Write(b []byte) (int, error) {
	if w.Header().Get("Content-Type") == "application/gzip" {
		w.Header().Set("Content-Type", w.kind)
	}
	return w.ResponseWriter.Write(b)
}

// headed serves the site with headers added.
func headed(t *testing.T, headers map[string]string) string {
	t.Helper()
	files := site.Handler(os.DirFS(built))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// A policy that refuses WebAssembly leaves the lesson, and says what is missing.
func TestEngineRefused(t *testing.T) {
	root := headed(t, map[string]string{"Content-Security-Policy": strings.ReplaceAll(build.Policy, " 'wasm-unsafe-eval'", "")})
	tab := opened(t, view{})
	tab.navigate(root)
	tab.until(`document.body.dataset.engine === "failed" && document.querySelector(".banner p")?.textContent.length > 20`)
	if text := tab.text("main"); !strings.Contains(text, "8 623 696") {
		t.Error("the lesson is gone")
	}
	if got := eval[string](tab, `vrametre.estimate({}).then(() => "answer", (e) => e.code)`); got != "engine-unavailable" {
		t.Errorf("estimate gives %s", got)
	}
	eval[any](tab, `document.querySelector(".banner button").click()`)
	tab.until(`document.querySelector(".banner") === null`)
}

// A frame without an origin may neither fetch nor store.
func TestOpaqueOrigin(t *testing.T) {
	root := headed(t, map[string]string{"Content-Security-Policy": "sandbox allow-scripts"})
	tab := open(t, root, view{})
	if got := eval[string](tab, `self.origin`); got != "null" {
		t.Fatalf("origin %s", got)
	}
	eval[any](tab, `document.querySelector(".chart").scrollIntoView()`)
	tab.until(`document.querySelectorAll(".chart > div").length === 1`)
	tab.put(slider, "64")
	tab.until(`document.querySelector("` + scrub + `").textContent.startsWith("64")`)
}

func TestOpenedAsAFile(t *testing.T) {
	tab := opened(t, view{})
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	tab.navigate((&url.URL{Scheme: "file", Path: filepath.Join(built, "index.html")}).String() + "#v=1&batch=64")
	tab.awake()
	if got := tab.text(scrub); got != "64 images" {
		t.Errorf("the sentence says %s", got)
	}
	eval[any](tab, `document.querySelector(".chart").scrollIntoView()`)
	tab.until(`document.querySelectorAll(".chart > div").length === 1`)
	tab.put(slider, "128")
	tab.until(`location.hash.includes("batch=128")`)
	for _, message := range console() {
		t.Errorf("console: %s", message)
	}
}

func TestStorageBlocked(t *testing.T) {
	root := serve(t, "")
	tab := opened(t, view{})
	before(tab, `
		for (const name of ["localStorage", "sessionStorage", "caches", "indexedDB"])
			Object.defineProperty(window, name, {configurable: true, get() { throw new DOMException("blocked", "SecurityError"); }});
		Object.defineProperty(Navigator.prototype, "cookieEnabled", {get: () => false});`)
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	tab.navigate(root)
	tab.awake()
	tab.put(slider, "64")
	tab.until(`location.hash.includes("batch=64")`)
	time.Sleep(300 * time.Millisecond)
	if eval[bool](tab, `navigator.serviceWorker.getRegistration().then((r) => r !== undefined)`) {
		t.Error("a worker is registered though storage is blocked")
	}
	tab.quiet(root)
	for _, message := range console() {
		t.Errorf("console: %s", message)
	}
}

// The end of the program is told, with a way out.
func TestProgramEnds(t *testing.T) {
	root := serve(t, "")
	for name, script := range map[string]string{
		"ends":   `Object.defineProperty(self, "Go", {get: () => self.theirGo, set(go) { self.theirGo = go; go.prototype.run = async () => {}; }})`,
		"panics": `addEventListener("vrametre:ready", () => dispatchEvent(new CustomEvent("vrametre:panic")))`,
	} {
		tab := opened(t, view{})
		before(tab, script)
		tab.navigate(root)
		tab.until(`document.querySelectorAll(".banner button").length === 2`)
		eval[any](tab, `(self.same = true, document.querySelector(".banner button").click())`)
		tab.until(`self.same === undefined`)
		if name == "ends" && eval[int](tab, `document.querySelectorAll("h2").length`) == 0 {
			t.Error("the lesson is gone")
		}
	}
}

// closable serves the site until it is closed.
func closable(t *testing.T, dir, prefix string) (root string, server *httptest.Server) {
	t.Helper()
	server = httptest.NewServer(http.StripPrefix(prefix, site.Handler(os.DirFS(dir))))
	t.Cleanup(server.Close)
	return server.URL + (&url.URL{Path: prefix + "/"}).EscapedPath(), server
}

// kept waits until the worker keeps the whole site.
func (tab *tab) kept() {
	tab.t.Helper()
	tab.until(`navigator.serviceWorker.getRegistration().then((r) => r?.active?.state === "activated")`)
}

// With the server closed, every address of the site opens, wherever the site lies.
func TestOffline(t *testing.T) {
	for _, prefix := range []string{"", "/cours/gpu", "/un dossier accentué/été 2"} {
		root, server := closable(t, built, prefix)
		tab := open(t, root, view{})
		tab.kept()
		server.CloseClientConnections()
		server.Close()
		if _, err := http.Get(root); err == nil {
			t.Fatal("the server still answers")
		}
		console, err := watch(tab)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"", "index.html", "en/", "en/index.html", "en", measurements, "en/" + measurements, "?from=mail", "#v=1&batch=64", "en/?a=b#v=1&batch=64"} {
			tab.navigate("about:blank")
			tab.navigate(root + path)
			tab.awake()
			if path == measurements && !strings.HasPrefix(eval[string](tab, `fetch("cases.csv").then((r) => r.text())`), "id,family,") {
				t.Errorf("%s%s: its table is not there", prefix, path)
			}
			if want := strings.Contains(path, "batch=64"); !strings.Contains(path, measurements) && want != strings.HasPrefix(tab.text(scrub), "64") {
				t.Errorf("%s%s: %s", prefix, path, tab.text(scrub))
			}
			if want := strings.HasPrefix(path, "en"); want != eval[bool](tab, `document.documentElement.lang === "en"`) {
				t.Errorf("%s%s is in the other language", prefix, path)
			}
			if eval[string](tab, `getComputedStyle(document.body).fontFamily`) == "" || eval[bool](tab, `[...document.styleSheets].length === 0`) {
				t.Errorf("%s%s has no style", prefix, path)
			}
		}
		eval[any](tab, `document.querySelector(".chart").scrollIntoView()`)
		tab.until(`document.querySelectorAll(".chart > div").length === 1`)
		eval[any](tab, `location.reload()`)
		tab.until(`document.body?.dataset.ready === ""`)
		for _, message := range console() {
			t.Errorf("%s: console: %s", prefix, message)
		}
		if prefix == "" {
			tab.linksOffline(root)
		}
	}
}

// linksOffline asks for all that any page of the site leads to, with the server
// closed: only the site in one file is not there.
func (tab *tab) linksOffline(root string) {
	tab.t.Helper()
	pages, err := json.Marshal(addresses(tab.t))
	if err != nil {
		tab.t.Fatal(err)
	}
	got := eval[struct {
		Asked   int
		Missing []string
	}](tab, fmt.Sprintf(`(async () => {
		const seen = new Set(), missing = [];
		const ask = async (address) => {
			seen.add(address);
			const response = await fetch(address).catch(() => undefined);
			if (!response?.ok) missing.push(address.slice(%q.length));
			return response?.text();
		};
		for (const page of %s) {
			const text = await ask(%q + page);
			const links = new DOMParser().parseFromString(text ?? "", "text/html").querySelectorAll("[href], [src]");
			for (const e of links) {
				const to = new URL(e.getAttribute("href") ?? e.getAttribute("src"), %q + page);
				to.hash = "";
				if (to.origin === location.origin && !seen.has(to.href)) await ask(to.href);
			}
		}
		return {Asked: seen.size, Missing: missing};
	})()`, root, pages, root, root))
	if got.Asked < 60 || !slices.Equal(got.Missing, []string{build.SingleName}) {
		tab.t.Errorf("of %d addresses, %q are not there offline", got.Asked, got.Missing)
	}
}

// A new version waits for the reader's consent, keeps the state, and touches no
// cache but its own.
func TestUpdate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if err := os.CopyFS(dir, os.DirFS(built)); err != nil {
		t.Fatal(err)
	}
	root, _ := closable(t, dir, "/a")
	tab := open(t, root, view{})
	tab.kept()
	eval[any](tab, `caches.open("another application").then((cache) => cache.put("x", new Response("x")))`)
	// Once more, so that the worker serves the page.
	tab.navigate(root)
	tab.awake()
	tab.put(slider, "64")

	// The new version differs in one page.
	name := filepath.Join(dir, "index.html")
	html, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(html), "</main>", "<p id=new>new</p></main>", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	worker := filepath.Join(dir, "worker.js")
	script, err := os.ReadFile(worker)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, ok := strings.Cut(string(script), `{"url":"./","revision":"`)
	if !ok {
		t.Fatal("the worker's list has no first page")
	}
	if err := os.WriteFile(worker, []byte(head+`{"url":"./","revision":"0`+tail[1:]), 0o644); err != nil {
		t.Fatal(err)
	}

	eval[any](tab, `navigator.serviceWorker.getRegistration().then((r) => r.update())`)
	tab.until(`document.querySelector(".banner") !== null`)
	if eval[bool](tab, `document.querySelector("#new") !== null`) {
		t.Fatal("the new version does not wait")
	}
	tab.put(slider, "72") // not yet in the address
	eval[any](tab, `document.querySelector(".banner button").click()`)
	tab.until(`document.querySelector("#new") !== null && document.body?.dataset.ready === ""`)
	if got := tab.text(scrub); got != "72 images" {
		t.Errorf("the new version says %s", got)
	}
	if got := eval[[]string](tab, `caches.keys()`); len(got) != 2 || !strings.Contains(strings.Join(got, " "), "another application") || !strings.Contains(strings.Join(got, " "), root) {
		t.Errorf("caches %q", got)
	}
	// What the old version had is gone.
	if got := eval[int](tab, `caches.keys().then((names) => caches.open(names.find((n) => n.startsWith("vrametre")))).then((c) => c.keys()).then((keys) => keys.filter((k) => new URL(k.url).pathname === "/a/").length)`); got != 1 {
		t.Errorf("%d versions of the page are kept", got)
	}
}

// Two copies of the site on one host do not share a cache.
func TestTwoCopiesOnOneHost(t *testing.T) {
	mux := http.NewServeMux()
	for _, prefix := range []string{"/a", "/a/b"} {
		mux.Handle(prefix+"/", http.StripPrefix(prefix, site.Handler(os.DirFS(built))))
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	tab := open(t, server.URL+"/a/", view{})
	tab.kept()
	tab.navigate(server.URL + "/a/b/")
	tab.awake()
	tab.until(`caches.keys().then((names) => names.length === 2)`)
}

// The page calls nobody, whatever is done to it; the chart wears the page's colours.
func TestChartFollowsTheColours(t *testing.T) {
	root := serve(t, "")
	for scheme, want := range map[string]string{"light": "rgb(212, 86, 42)", "dark": "rgb(238, 122, 77)"} {
		tab := open(t, root, view{media: map[string]string{"prefers-color-scheme": scheme}})
		const fill = `getComputedStyle(document.querySelector(".chart svg path[fill='var(--activations)']")).fill`
		if got := eval[string](tab, fill); got != want {
			t.Errorf("%s, before scripts: %s", scheme, got)
		}
		eval[any](tab, `document.querySelector(".chart").scrollIntoView()`)
		tab.until(`document.querySelectorAll(".chart > div").length === 1`)
		if got := eval[string](tab, fill); got != want {
			t.Errorf("%s: %s", scheme, got)
		}
	}
}
