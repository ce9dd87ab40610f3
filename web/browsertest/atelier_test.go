package browsertest

import (
	"strings"
	"testing"

	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const workshop = "atelier/"

// verdictOf is what the tank says.
func verdictOf(tab *tab) string { return tab.text(".tank .verdict") }

// Another model is another answer everywhere, and the address holds it.
func TestWorkshopModels(t *testing.T) {
	root := serve(t, "")
	tab := opened(t, view{})
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	tab.navigate(root + workshop)
	tab.awake()
	was := tab.text(".tank b")
	tab.put(`[data-field="setup.model"]`, "resnet50")
	tab.until(`location.hash.includes("m=resnet50")`)
	if got := tab.text(".tank b"); got == was {
		t.Errorf("the tank stays at %s", got)
	}
	if got := eval[string](tab, `document.querySelector("[data-field='setup.input']").placeholder`); got != "3, 224, 224" {
		t.Errorf("its input is %q", got)
	}
	if got := tab.text(`#result [data-v="params"]`); got != "25 557 032" {
		t.Errorf("%s parameters", got)
	}
	tab.show("layers")
	tab.until(`document.querySelector("[data-figure=layers] tbody").textContent.includes("layer4.2.conv3")`)
	tab.show("timeline")
	tab.until(`document.querySelector("[data-figure=timeline] svg.area").getAttribute("aria-label").includes("413")`)
	// A kernel that the optimizer does not have cannot be chosen, and the page says why.
	tab.put(`[data-field="setup.kernel"]`, "fused")
	tab.until(`location.hash.includes("k=fused")`)
	tab.put(`[data-field="setup.optimizer"]`, "lion")
	tab.until(`!location.hash.includes("k=fused") && document.querySelector('[data-field="setup.kernel"]').value === "default"`)
	tab.until(`document.querySelector('[data-field="setup.kernel"] [value=fused]').disabled && document.querySelector("#setup-kernel-why").textContent.includes("Lion")`)
	tab.put(`[data-field="setup.optimizer"]`, "adam")
	tab.until(`!document.querySelector('[data-field="setup.kernel"] [value=fused]').disabled`)
	tab.put(`[data-field="setup.precision"]`, "amp-fp16")
	tab.until(`location.hash.includes("prec=amp-fp16")`)
	tab.put(`[data-field="setup.mode"]`, "infer")
	tab.until(`location.hash.includes("mode=infer")`)
	// A reader of this address sees the same.
	again := open(t, root+"en/"+workshop+eval[string](tab, `location.hash`), view{})
	if got, want := again.text(".tank b"), tab.text(".tank b"); strings.TrimRight(got, " MBGo") != strings.TrimRight(want, " MBGo") {
		t.Errorf("the address gives %s, the page %s", got, want)
	}
	tab.quiet(root)
	for _, message := range console() {
		t.Errorf("console: %s", message)
	}
}

// Layers are written, moved and removed; a mistake is told at its row, and the
// keyboard stays where the reader works.
func TestWorkshopLayers(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root+workshop, view{})
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="row-edit"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelectorAll(".layer").length === 16`)
	tab.until(`document.querySelector(".layer .out").textContent !== ""`)
	if got := tab.text(".layer:nth-child(3) .out"); got != "32 × 64 × 64" {
		t.Errorf("after the first MaxPool: %q", got)
	}
	peak := tab.text(".tank b")
	// Typing is followed, row by row.
	const args = `[data-field="row.3.args"]`
	if err := cd.Do(tab, cd.Focus(cd.CSS(args))); err != nil {
		t.Fatal(err)
	}
	eval[any](tab, `document.querySelector('`+args+`').select()`)
	if err := cd.Do(tab, cd.KeyEvent("33, 64, 3, padding=1")); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelector(".layer:nth-child(4) .fault").textContent !== ""`)
	if got := tab.text(".layer:nth-child(4) .fault"); !strings.Contains(got, "32 canaux, la couche en attend 33") {
		t.Errorf("told: %q", got)
	}
	state := eval[string](tab, `[document.querySelector('`+args+`').getAttribute("aria-invalid"), document.activeElement.dataset.field, document.querySelector('`+args+`').value, document.querySelectorAll(".fault:not(:empty)").length].join("|")`)
	if state != "true|row.3.args|33, 64, 3, padding=1|1" {
		t.Errorf("at the row: %s", state)
	}
	if got := tab.text(".layer:nth-child(3) .out"); got != "32 × 64 × 64" {
		t.Errorf("before the mistake: %q", got)
	}
	for _, violation := range violations(tab) {
		t.Errorf("with a mistake: %s", violation)
	}
	tab.until(`location.hash.includes("33")`)
	faulty := eval[string](tab, `location.hash`)
	eval[any](tab, `document.querySelector('`+args+`').select()`)
	if err := cd.Do(tab, cd.KeyEvent("32, 64, 3, padding=1")); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelectorAll(".fault:not(:empty)").length === 0`)
	if got := tab.text(".tank b"); got != peak {
		t.Errorf("mended: %s, want %s", got, peak)
	}
	// Removing, moving, adding, from the keyboard.
	if err := cd.Do(tab, cd.Focus(cd.CSS(`[data-action="row-down"][data-value="1"]`)), cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelector("[data-field='row.2.type']").value === "ReLU" && document.activeElement.dataset.value === "2"`)
	if err := cd.Do(tab, cd.Focus(cd.CSS(`[data-action="row-remove"][data-value="2"]`)), cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelectorAll(".layer").length === 15`)
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="row-add"][data-value="end"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelectorAll(".layer").length === 16 && document.activeElement.dataset.field === "row.15.type"`)
	if err := cd.Do(tab, cd.KeyEvent("Softmax")); err != nil {
		t.Fatal(err)
	}
	tab.until(`location.hash.includes("Softmax")`)
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="undo"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`!document.querySelector("[data-field='row.15.type']") || document.querySelector("[data-field='row.15.type']").value === "ReLU"`)
	// An address with a mistake opens on it.
	broken := open(t, root+workshop+faulty, view{})
	if got := broken.text(".layer:nth-child(4) .fault"); !strings.Contains(got, "33") {
		t.Errorf("opened: %q", got)
	}
	broken.quiet(root)
}

// The workshop opens with the lesson's state.
func TestWorkshopStartsFromTheLesson(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root, view{})
	tab.put(slider, "77")
	tab.put(`input[type=range][data-control=side]`, "256")
	tab.until(`location.hash.includes("batch=77") && location.hash.includes("side=256")`)
	want := tab.text(".tank b")
	tab.follow(`nav a[href*="atelier"]`)
	if got := tab.text(".tank b"); got != want {
		t.Errorf("the lesson says %s, the workshop %s", want, got)
	}
	if got := eval[string](tab, `document.querySelector("[data-field='setup.input']").placeholder + document.querySelector("[data-control=batch]").value`); got != "3, 256, 25677" {
		t.Errorf("opened with %q", got)
	}
}

// The layers' table sorts, says so, and is copied.
func TestWorkshopTable(t *testing.T) {
	tab := open(t, serve(t, "")+workshop, view{})
	tab.show("layers")
	const first = `document.querySelector("[data-figure=layers] tbody th").textContent`
	if err := cd.Do(tab, cd.Focus(cd.CSS(`[data-sort=saved]`)), cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	tab.until(first + ` === "1" && document.querySelector("[data-figure=layers] [aria-sort=descending]").textContent.includes("gardé") && document.activeElement.dataset.sort === "saved"`)
	if err := cd.Do(tab, cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelector("[data-figure=layers] [aria-sort=ascending]") !== null && ` + first + ` === "0"`)
	// The order stays while the reader changes the settings.
	tab.put(slider, "64")
	tab.until(`document.querySelector("[data-figure=layers] caption").textContent.includes("64")`)
	if got := eval[string](tab, `document.querySelector("[data-figure=layers] [aria-sort=ascending]").textContent`); !strings.Contains(got, "gardé") {
		t.Errorf("sorted by %q", got)
	}
	eval[any](tab, `navigator.clipboard.writeText = (text) => { self.copied = text; return Promise.resolve(); }`)
	for format, want := range map[string]string{"csv": "path,type,output,params,saved,tied\n0,Conv2d,64x32x128x128,896,0,\n", "json": "[\n  {\n    \"path\": \"0\"", "markdown": "| path | type |"} {
		if err := cd.Do(tab, cd.Click(cd.CSS(`[data-copy=`+format+`]`))); err != nil {
			t.Fatal(err)
		}
		tab.until(`document.querySelector(".copies .said").textContent === "Copié"`)
		if got := eval[string](tab, `self.copied`); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.80q", format, got)
		}
	}
}

// The page works in every state that a reader can bring it to.
func TestWorkshopIsAccessible(t *testing.T) {
	root := serve(t, "")
	for name, v := range map[string]view{
		"light":  {media: map[string]string{"prefers-reduced-motion": "reduce"}},
		"dark":   {media: map[string]string{"prefers-color-scheme": "dark", "prefers-reduced-motion": "reduce"}},
		"narrow": {width: 320, media: map[string]string{"prefers-reduced-motion": "reduce"}},
	} {
		for _, path := range []string{workshop, "en/" + workshop} {
			tab := open(t, root+path+"#v=1&batch=8&m=layers&layers=Conv2d~3,+8,+3~a;ReLU~~b~a;add~~~a+b", v)
			eval[any](tab, `document.querySelectorAll("details").forEach((d) => (d.open = true))`)
			for _, violation := range violations(tab) {
				t.Errorf("%s /%s: %s", name, path, violation)
			}
			if wide := eval[string](tab, tooWide); wide != "" {
				t.Errorf("%s /%s: %s", name, path, wide)
			}
		}
	}
}
