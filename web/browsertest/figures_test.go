package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var figureNames = []string{"slots", "images", "maps", "timeline", "memory", "blocks", "infer"}

// The live figures are the drawings that stood there.
func TestWakingKeepsFigures(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{"", "en/"} {
		tab := open(t, root+path, view{})
		for _, name := range figureNames {
			eval[any](tab, fmt.Sprintf(`document.querySelector("[data-figure=%s]").scrollIntoView({block: "center", behavior: "instant"})`, name))
		}
		changed := eval[[]string](tab, `(async () => {
			await new Promise((done) => setTimeout(done, 400));
			const page = new DOMParser().parseFromString(await (await fetch("")).text(), "text/html");
			const parts = (root) => [...root.querySelectorAll("[data-part]")];
			const before = parts(page);
			return parts(document).flatMap((part, i) => part.innerHTML === before[i].innerHTML ? [] : [part.closest("[data-figure]").dataset.figure + "/" + part.dataset.part]);
		})()`)
		if len(changed) > 0 {
			t.Errorf("/%s: %v", path, changed)
		}
		if n := eval[int](tab, `document.querySelectorAll("[data-figure]").length`); n != len(figureNames) {
			t.Errorf("/%s: %d figures", path, n)
		}
	}
}

// show brings a figure into the window.
func (tab *tab) show(figure string) {
	tab.t.Helper()
	eval[any](tab, fmt.Sprintf(`document.querySelector("[data-figure=%s]").scrollIntoView({block: "center", behavior: "instant"})`, figure))
}

// part is the HTML of a figure's part.
func (tab *tab) part(figure, part string) string {
	tab.t.Helper()
	return eval[string](tab, fmt.Sprintf(`document.querySelector("[data-figure=%s] [data-part=%s]").innerHTML`, figure, part))
}

// A figure outside the window does no work; it is drawn when it is seen.
func TestFiguresOutOfSightRest(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	tab.show("slots")
	far := tab.part("infer", "drawing")
	tab.put(slider, "200")
	tab.until(`location.hash.includes("batch=200")`)
	if got := tab.part("infer", "drawing"); got != far {
		t.Error("a figure far below is drawn")
	}
	tab.show("infer")
	tab.until(`document.querySelector("[data-figure=infer] [data-part=drawing]").textContent.includes("1") && document.querySelector("[data-figure=infer] table td").textContent !== ""`)
	tab.until(fmt.Sprintf(`document.querySelector("[data-figure=infer] [data-part=drawing]").innerHTML.length !== %d`, len([]rune(far))))
	// Printing draws them all.
	maps := tab.part("timeline", "drawing")
	tab.put(slider, "300")
	tab.until(`location.hash.includes("batch=300")`)
	eval[any](tab, `dispatchEvent(new Event("beforeprint"))`)
	if got := tab.part("timeline", "drawing"); got == maps {
		t.Error("the printed page holds an old figure")
	}
}

// Many moves in one frame are one drawing.
func TestOneDrawingPerFrame(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	tab.show("timeline")
	drawings := eval[int](tab, `(async () => {
		const part = document.querySelector("[data-figure=timeline] [data-part=drawing]");
		const frame = () => new Promise(requestAnimationFrame);
		let drawings = 0;
		await frame();
		await frame();
		new MutationObserver(() => drawings++).observe(part, {subtree: true, childList: true, attributes: true, characterData: true});
		const slider = document.querySelector("`+slider+`");
		for (let i = 0; i < 20; i++) {
			slider.value = 100 + i;
			slider.dispatchEvent(new Event("input", {bubbles: true}));
		}
		await frame();
		await frame();
		return drawings;
	})()`)
	if drawings != 1 {
		t.Errorf("%d drawings for twenty moves in a frame", drawings)
	}
}

// The timeline's cursor follows the keyboard and the pointer.
func TestTimelineCursor(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	tab.show("timeline")
	const said = `document.querySelector("[data-cursor]").getAttribute("aria-valuetext")`
	tab.until(`document.querySelector("[data-figure=timeline] .moment") !== null`)
	peak := tab.text("[data-figure=timeline] .moment")
	if !strings.Contains(peak, "Opération 34 sur 49, rétropropagation de la couche 10 (ReLU).") {
		t.Errorf("at the peak: %q", peak)
	}
	if err := cd.Do(tab, cd.Focus(cd.CSS("[data-cursor]")), cd.KeyEvent(kb.Home)); err != nil {
		t.Fatal(err)
	}
	tab.until(said + `.includes("opération 1 sur 49")`)
	first := tab.text("[data-figure=timeline] .moment")
	if !strings.Contains(first, "passe avant de la couche 0 (Conv2d)") {
		t.Errorf("first: %q", first)
	}
	if n := eval[int](tab, `document.querySelectorAll("[data-figure=timeline] .cursor-line line").length`); n != 1 {
		t.Errorf("%d cursors", n)
	}
	if err := cd.Do(tab, cd.KeyEvent(kb.ArrowRight)); err != nil {
		t.Fatal(err)
	}
	tab.until(said + `.includes("opération 2 sur 49")`)
	// The pointer, on the drawing itself: near its end, the step.
	box := eval[[]float64](tab, `(() => { const b = document.querySelector("[data-plot] .area").getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()`)
	y := box[1] + box[3]/2
	if err := cd.Do(tab, cd.MouseEvent(input.DispatchMouseEventTypeMousePressed, box[0]+box[2]*.99, y, cd.ButtonLeft)); err != nil {
		t.Fatal(err)
	}
	tab.until(said + `.includes("opération 49 sur 49, pas de l")`)
	if err := cd.Do(tab, cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0]+1, y, cd.ButtonLeft)); err != nil {
		t.Fatal(err)
	}
	tab.until(said + `.includes("opération 1 sur 49")`)
	if err := cd.Do(tab, cd.MouseEvent(input.DispatchMouseEventTypeMouseReleased, box[0]+1, y, cd.ButtonLeft)); err != nil {
		t.Fatal(err)
	}
	if height := eval[float64](tab, `document.querySelector("[data-figure=timeline]").getBoundingClientRect().height`); height < 300 {
		t.Errorf("the figure is %v high", height)
	}
}

// The pieces of a drawing tell what they are, to the pointer and to the keys.
func TestFiguresTell(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	for figure, want := range map[string]string{
		"maps":   "ReLU 1, sortie : 32 × 128 × 128 × float32 (4 o) = 2 097 152 octets. ReLU relit sa sortie pour savoir où elle est nulle.",
		"blocks": "Poids, la couche 0 (Conv2d) : 3 456 octets demandés, bloc de 3 584 octets, 128 octets d’arrondi.",
	} {
		// Away from where the figure before left it: a piece may scroll under it.
		if err := cd.Do(tab, cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 1, 1)); err != nil {
			t.Fatal(err)
		}
		tab.show(figure)
		told := func() string { return tab.text("[data-figure=" + figure + "] .readout") }
		hint := told()
		if err := cd.Do(tab, cd.Focus(cd.CSS("[data-browse="+figure+"]")), cd.KeyEvent(kb.ArrowRight)); err != nil {
			t.Fatal(err)
		}
		if got := told(); got != want {
			t.Errorf("%s: %q, want %q", figure, got, want)
		}
		if err := cd.Do(tab, cd.KeyEvent(kb.End)); err != nil {
			t.Fatal(err)
		}
		if got := told(); got == want || got == hint {
			t.Errorf("%s: the last piece says %q", figure, got)
		}
		if err := cd.Do(tab, cd.KeyEvent(kb.Escape)); err != nil {
			t.Fatal(err)
		}
		if got := told(); got != hint {
			t.Errorf("%s: after Escape %q", figure, got)
		}
		// The readout's place is kept: nothing moves.
		height := eval[float64](tab, fmt.Sprintf(`document.querySelector("[data-figure=%s]").offsetHeight`, figure))
		box := eval[[]float64](tab, fmt.Sprintf(`(() => { const b = document.querySelector("[data-figure=%s] [data-tip]").getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()`, figure))
		if err := cd.Do(tab, cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0], box[1])); err != nil {
			t.Fatal(err)
		}
		tab.until(fmt.Sprintf(`document.querySelector("[data-figure=%s] .readout").classList.contains("told")`, figure))
		if got := eval[float64](tab, fmt.Sprintf(`document.querySelector("[data-figure=%s]").offsetHeight`, figure)); got != height {
			t.Errorf("%s: %v high, then %v", figure, height, got)
		}
	}
}

// The optimizer of the boxes is the one of the settings.
func TestSlotsChooseTheOptimizer(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	tab.show("slots")
	if err := cd.Do(tab, cd.Focus(cd.CSS(`[data-set=optimizer]:checked`)), cd.KeyEvent(kb.ArrowLeft)); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelector("select[data-control=optimizer]").value === "sgd-momentum"`)
	tab.until(`document.querySelectorAll(".slot-row .hollow").length === 1`)
	if got := eval[string](tab, `document.activeElement.value`); got != "sgd-momentum" {
		t.Errorf("focus is on %q", got)
	}
	tab.put(`select[data-control=optimizer]`, "sgd")
	tab.until(`document.querySelector("[data-set=optimizer]:checked").value === "sgd" && document.querySelectorAll(".slot-row .hollow").length === 2`)
}

// The curve comes when the reader pauses, and stays while only the batch moves.
func TestMemoryCurve(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	tab.show("memory")
	tab.until(`document.querySelector("[data-figure=memory] .curve") !== null`)
	tab.put(`select[data-control=gpu]`, "rtx-3060")
	tab.until(`document.querySelector("[data-figure=memory] .curve") !== null && document.querySelector("[data-figure=memory] .alarm").textContent.includes("12")`)
	missing := eval[int](tab, `(async () => {
		const slider = document.querySelector("`+slider+`");
		let missing = 0;
		for (let i = 0; i < 30; i++) {
			slider.value = 40 + i;
			slider.dispatchEvent(new Event("input", {bubbles: true}));
			await new Promise(requestAnimationFrame);
			if (!document.querySelector("[data-figure=memory] .curve")) missing++;
		}
		return missing;
	})()`)
	if missing > 0 {
		t.Errorf("no curve in %d of 30 frames", missing)
	}
}

// Tables follow too, once they are open.
func TestTwinsFollow(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	tab.show("images")
	closed := tab.part("images", "table")
	tab.put(slider, "64")
	tab.until(`location.hash.includes("batch=64")`)
	if got := tab.part("images", "table"); got != closed {
		t.Error("a closed table is written")
	}
	eval[any](tab, `document.querySelector("[data-figure=images] details").open = true`)
	tab.until(`document.querySelector("[data-figure=images] table").textContent.includes("64 images")`)
	tab.put(slider, "65")
	tab.until(`document.querySelector("[data-figure=images] table").textContent.includes("65 images")`)
}

// A question is answered in place, and its answer was not there before.
func TestQuestions(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root, view{})
	const name = `[data-quiz="predict.activations"]`
	if html := eval[string](tab, `document.documentElement.outerHTML`); strings.Contains(html, "restent en mémoire jusque-là") {
		t.Error("the answer stands in the document")
	}
	if got := eval[string](tab, `document.querySelector('`+name+` .reveal').textContent`); got != "" {
		t.Errorf("revealed: %q", got)
	}
	if err := cd.Do(tab, cd.Focus(cd.CSS(name+` [data-choice=batch]`)), cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	if got := tab.text(name + " .reveal"); !strings.Contains(got, "Non : les activations gardées.") || !strings.Contains(got, "214 Mo") || !strings.Contains(got, "34 fois moins") {
		t.Errorf("revealed: %q", got)
	}
	if pressed := eval[string](tab, `[...document.querySelectorAll('`+name+` [aria-pressed=true]')].map((b) => b.dataset.choice).join()`); pressed != "batch" {
		t.Errorf("chosen: %q", pressed)
	}
	// The answer follows the reader's numbers.
	tab.put(slider, "64")
	tab.until(`document.querySelector('` + name + ` .reveal').textContent.includes("428")`)
	if got := tab.text(name + " .ask"); !strings.Contains(got, "lot de 64") {
		t.Errorf("asked: %q", got)
	}
	for _, violation := range violations(tab) {
		t.Errorf("with an answer: %s", violation)
	}
	// Nothing is kept: a reload asks again.
	tab.navigate("about:blank")
	tab.navigate(root)
	tab.awake()
	if kept := eval[string](tab, `document.querySelector('`+name+` .reveal').textContent + localStorage.length + sessionStorage.length + document.cookie`); kept != "00" {
		t.Errorf("kept: %q", kept)
	}
	tab.quiet(root)
}

func TestPuzzleIsSolved(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	told := func() string { return tab.text("[data-puzzle] .outcome") }
	eval[any](tab, `document.querySelector("[data-puzzle]").scrollIntoView({block: "center", behavior: "instant"})`)
	if got := told(); !strings.Contains(got, "Mémoire saturée : il faudrait 13,3 Go") {
		t.Errorf("at first: %q", got)
	}
	choose := func(lever, value string) {
		eval[any](tab, fmt.Sprintf(`document.querySelector("[data-lever=%s][value='%s']").click()`, lever, value))
	}
	choose("optimizer", "sgd")
	if got := told(); !strings.Contains(got, "Mémoire saturée") {
		t.Errorf("SGD: %q", got)
	}
	choose("optimizer", "adam")
	for i, c := range [][3]string{{"batch", "64", "128"}, {"precision", "amp-fp16", "fp32"}, {"activations", "recomputed", "kept"}} {
		choose(c[0], c[1])
		got := told()
		if !strings.Contains(got, "Ça tient") || i < 2 && !strings.Contains(got, fmt.Sprintf("%d façon", i+1)) || i == 2 && !strings.Contains(got, "Les 3 façons sont trouvées") {
			t.Errorf("%s: %q", c[0], got)
		}
		choose(c[0], c[2])
	}
	for _, violation := range violations(tab) {
		t.Errorf("solved: %s", violation)
	}
}

// Every number tells where it comes from, to the pointer and to the keyboard.
func TestNumbersExplainThemselves(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root, view{})
	mute := eval[[]string](tab, `[...document.querySelectorAll("main .num[data-v], main td [data-v], .gauge b[data-v]")].filter((n) => n.getAttribute("role") !== "button" && /\d/.test(n.textContent) && !/shape/.test(n.dataset.v)).map((n) => n.dataset.v)`)
	if len(mute) > 0 {
		t.Errorf("no explanation of %v", mute)
	}
	if n := eval[int](tab, `document.querySelectorAll("[data-v][role=button]").length`); n < 60 {
		t.Errorf("%d numbers have an explanation", n)
	}
	// One stop of Tab for each block.
	if twice := eval[[]string](tab, `[...document.querySelectorAll("main p, main table")].filter((b) => [...b.querySelectorAll("[data-v][tabindex='0']")].filter((n) => n.closest("p, table, li, figure, .note, .tank") === b).length > 1).map((b) => b.textContent.slice(0, 40))`); len(twice) > 0 {
		t.Errorf("several stops in %v", twice)
	}
	const dialog = "dialog.explained"
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-v="rule.weights"][role=button]`))); err != nil {
		t.Fatal(err)
	}
	told := tab.text(dialog)
	for _, want := range []string{"8,62 Mo", "8 623 696 octets, soit 8,22 Mio", "538 981 poids × 4 valeurs × 4 octets", "Source : le calcul à la main"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in %q", want, told)
		}
	}
	tab.clean("with the dialog")
	if err := cd.Do(tab, cd.KeyEvent(kb.Escape)); err != nil {
		t.Fatal(err)
	}
	tab.until(`!document.querySelector("` + dialog + `").open`)
	if got := eval[string](tab, `document.activeElement.dataset.v`); got != "rule.weights" {
		t.Errorf("focus is on %q", got)
	}
	// Arrows move along the paragraph, Enter opens; the reader's own values are in it.
	tab.put(slider, "64")
	tab.until(`location.hash.includes("batch=64")`)
	if err := cd.Do(tab, cd.Focus(cd.CSS(`[data-v="rule.activations"][role=button]`)), cd.KeyEvent(kb.ArrowRight)); err != nil {
		t.Fatal(err)
	}
	if got := eval[string](tab, `document.activeElement.dataset.v`); got != "rule.activations.ratio" {
		t.Errorf("the next number is %q", got)
	}
	if err := cd.Do(tab, cd.KeyEvent(kb.ArrowLeft), cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	if told := tab.text(dialog); !strings.Contains(told, "64 images × 917 760 valeurs × 4 octets") {
		t.Errorf("told %q", told)
	}
	if err := cd.Do(tab, cd.Click(cd.CSS(dialog+" button"))); err != nil {
		t.Fatal(err)
	}
	tab.until(`!document.querySelector("` + dialog + `").open`)
}

// A word, the bars, the figures and the tables of one kind of memory light up
// together, whichever of them the reader points at or focuses.
func TestKindsAreLinked(t *testing.T) {
	tab := open(t, serve(t, ""), view{})
	lit := func(step, kind string) {
		t.Helper()
		tab.until(fmt.Sprintf(`(document.body.dataset.lit ?? "") === %q`, kind))
		for _, other := range []string{"gradients", "activations", "weights"} {
			want := "1"
			if kind != "" && kind != other {
				want = "0.25"
			}
			if got := eval[string](tab, fmt.Sprintf(`getComputedStyle(document.querySelector(".vessel .k-%s")).opacity`, other)); got != want {
				t.Errorf("%s: the tank's %s has opacity %s, want %s", step, other, got, want)
			}
			// Not by colour alone: words are underlined, rows marked.
			marks := eval[string](tab, fmt.Sprintf(`getComputedStyle(document.querySelector(".num.%s")).textDecorationLine + "|" + (getComputedStyle(document.querySelector(".where tr[data-kind=%s]")).boxShadow !== "none")`, other[:1], other))
			if want := map[bool]string{true: "underline|true", false: "none|false"}[kind == other]; marks != want {
				t.Errorf("%s: words and rows of %s: %s, want %s", step, other, marks, want)
			}
		}
	}
	point := func(selector string) {
		t.Helper()
		at := eval[[]float64](tab, fmt.Sprintf(`(() => {
			const e = document.querySelector(%q);
			e.scrollIntoView({block: "center", behavior: "instant"});
			const r = e.getClientRects()[0];
			return [r.x + r.width / 2, r.y + r.height / 2];
		})()`, selector))
		if err := cd.Do(tab, cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1])); err != nil {
			t.Fatal(err)
		}
	}
	lit("untouched", "")
	point(".kind[data-kind=gradients]")
	lit("a word", "gradients")
	point(".vessel .k-activations")
	lit("a bar", "activations")
	point(".where tr[data-kind=weights] td")
	lit("a row", "weights")
	point("h1")
	lit("nothing", "")
	// From the keyboard.
	const word = ".kind[data-kind=gradients]"
	if err := cd.Do(tab, cd.Focus(cd.CSS(word))); err != nil {
		t.Fatal(err)
	}
	lit("a focused word", "gradients")
	if err := cd.Do(tab, cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelector("` + word + `").getAttribute("aria-pressed") === "true"`)
	eval[any](tab, `document.activeElement.blur()`)
	lit("a pinned word", "gradients")
	for _, violation := range violations(tab) {
		t.Errorf("lit: %s", violation)
	}
	if err := cd.Do(tab, cd.Focus(cd.CSS(word)), cd.KeyEvent(kb.Escape)); err != nil {
		t.Fatal(err)
	}
	eval[any](tab, `document.activeElement.blur()`)
	lit("let go of", "")
	// A formula belongs to the number it explains.
	const number = `p .num.w[role=button]`
	if err := cd.Do(tab, cd.Focus(cd.CSS(number)), cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelector("dialog.explained")?.open`)
	lit("a formula", "weights")
}

// The puzzle's attempt and the lesson's settings go on in the workshop.
func TestOnwardsToTheWorkshop(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root+"en/", view{})
	tab.put(slider, "77")
	tab.until(`document.querySelector(".onward [data-state-link]").hash.includes("batch=77")`)
	want := tab.text(".tank b")
	tab.follow(".onward [data-state-link]")
	if got := tab.text(".tank b"); got != want {
		t.Errorf("the lesson says %s, the workshop %s", want, got)
	}
	tab = open(t, root+"en/", view{})
	eval[any](tab, `document.querySelector("[data-lever=batch][value='64']").click()`)
	tab.until(`document.querySelector("[data-puzzle] .result.ok") !== null`)
	peak := strings.Fields(tab.text("[data-puzzle] .result"))
	tab.follow("[data-attempt]")
	if got := tab.text(".tank b"); !strings.Contains(strings.Join(peak, " "), strings.TrimSpace(got)) {
		t.Errorf("the puzzle says %q, the workshop %s", peak, got)
	}
	if got := eval[string](tab, `[document.querySelector("[data-field='setup.model']").value, document.querySelector("[data-control=batch]").value, document.querySelector("[data-field='setup.accumulation']").value].join("|")`); got != "resnet50|64|2" {
		t.Errorf("opened with %q", got)
	}
}
