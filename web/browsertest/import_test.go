package browsertest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"vrametre/content/python"
)

const (
	modelText  = `[data-field="import.text"]`
	understood = `document.querySelector(".import .understood").textContent`
	params     = `document.querySelector("#result [data-v=params]").textContent.replace(/\D/g, "")`
)

// smallPrint is a printed model of 754 parameters.
const smallPrint = "Net(\n  (a): Linear(in_features=20, out_features=30, bias=True)\n  (b): Linear(in_features=30, out_features=4, bias=True)\n)"

func golden(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../calc/testdata/golden/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// importer opens the workshop where a model can be pasted.
func importer(t *testing.T, path string, v view) *tab {
	t.Helper()
	tab := open(t, serve(t, "")+path, v)
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="import-open"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.activeElement?.dataset.field === "import.text"`)
	return tab
}

// drop drops a file on the place for models.
func (tab *tab) drop(name string, data []byte) {
	tab.t.Helper()
	tab.dropAll(map[string][]byte{name: data})
}

// dropAll drops files together.
func (tab *tab) dropAll(files map[string][]byte) {
	tab.t.Helper()
	encoded, err := json.Marshal(files) // bytes become base64
	if err != nil {
		tab.t.Fatal(err)
	}
	eval[any](tab, fmt.Sprintf(`(() => {
		const files = new DataTransfer();
		for (const [name, data] of Object.entries(%s)) files.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
		for (const event of ["dragover", "drop"]) document.querySelector(".import").dispatchEvent(new DragEvent(event, {bubbles: true, cancelable: true, dataTransfer: files}));
	})()`, encoded))
}

// A pasted print is understood, shown as a tree, and is what everything on the page speaks of.
func TestImportPrint(t *testing.T) {
	tab := importer(t, workshop, view{})
	text := golden(t, "resnet/resnet18")
	tab.put(modelText, text)
	tab.until(params + ` === "11689512" && ` + understood + `.includes("print(model)") && ` + understood + `.includes("ResNet")`)
	tab.until(`location.hash.includes("m=import") && !location.hash.includes("text=")`)
	if got := tab.text(".import .hint"); !strings.Contains(got, "ne porte pas ce modèle") {
		t.Errorf("about the link: %q", got)
	}
	tab.show("layers")
	tab.until(`document.querySelector("[data-figure=layers] tbody").textContent.includes("layer4.1.conv2")`)
	tab.until(`document.querySelector("[data-figure=timeline] svg.area") !== null && document.querySelector("[data-island=advice] tbody tr") !== null`)
	// The tree folds and opens from the keyboard.
	const fold = `[data-action="import-fold"][data-value="/layer2"]`
	for _, open := range []string{"false", "true"} {
		if err := cd.Do(tab, cd.Focus(cd.CSS(fold)), cd.KeyEvent(kb.Enter)); err != nil {
			t.Fatal(err)
		}
		tab.until(`document.querySelector('` + fold + `[aria-expanded="` + open + `"]') !== null && document.activeElement.dataset.value === "/layer2" && (document.querySelector('[data-field="freeze.layer2.0"]') !== null) === ` + open)
	}
	// Frozen modules are not trained, nor is what they hold.
	peak := tab.text(".tank b")
	if err := cd.Do(tab, cd.Focus(cd.CSS(`[data-field="freeze.layer2"]`)), cd.KeyEvent(" ")); err != nil {
		t.Fatal(err)
	}
	tab.until(`location.hash.includes("fz=layer2") && document.querySelector('[data-field="freeze.layer2.0"]').matches(":checked:disabled")`)
	tab.until(`document.querySelector(".tank b").textContent.replace(/\s/g, " ") !== ` + fmt.Sprintf("%q", peak))
	// A block is recomputed.
	frozen := tab.text(".tank b")
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-field="block.layer1"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`location.hash.includes("blocks=layer1") && document.querySelector(".tank b").textContent.replace(/\s/g, " ") !== ` + fmt.Sprintf("%q", frozen))
	// Other classes are those of the last layer, in the tree too.
	tab.put(`[data-field="setup.classes"]`, "37")
	tab.until(params + ` === "11195493" && document.querySelector(".tree").textContent.includes("out_features=37")`)
	tab.put(`[data-field="setup.input"]`, "3, 64, 64")
	tab.show("layers")
	tab.until(`document.querySelector("[data-figure=layers] tbody").textContent.replace(/\s/g, "").includes("64×32×32")`)
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="undo"]`)), cd.Click(cd.CSS(`[data-action="undo"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(params + ` === "11689512"`)
	// Another model does not lose the text.
	tab.put(`[data-field="setup.model"]`, "mlp")
	tab.until(`location.hash.includes("m=mlp")`)
	tab.put(`[data-field="setup.model"]`, "import")
	tab.until(params + ` === "11689512"`)
	if got := eval[string](tab, `document.querySelector('`+modelText+`').value`); got != text {
		t.Errorf("the text became %.60q", got)
	}
	tab.clean("a tree")
	// It goes along into the other language, though no link carries it.
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-lang-switch]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.documentElement.lang === "en" && document.body.dataset.ready === "" && ` + params + ` === "11689512" && document.querySelector('` + modelText + `').value.startsWith("ResNet(")`)
}

// A short text travels in the address; on a phone nothing stands out of the page.
func TestImportTravels(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root+workshop, view{})
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="import-open"]`))); err != nil {
		t.Fatal(err)
	}
	const text = smallPrint
	tab.put(modelText, text)
	tab.until(`location.hash.includes("text=") && ` + params + ` === "754"`)
	for name, v := range map[string]view{
		"dark":   {media: map[string]string{"prefers-color-scheme": "dark", "prefers-reduced-motion": "reduce"}},
		"narrow": {width: 320, media: map[string]string{"prefers-reduced-motion": "reduce"}},
	} {
		again := open(t, root+"en/"+workshop+eval[string](tab, `location.hash`), v)
		again.until(params + ` === "754"`)
		if got := eval[string](again, `document.querySelector('`+modelText+`').value`); got != text {
			t.Errorf("%s: opened with %q", name, got)
		}
		eval[any](again, `document.querySelectorAll("details").forEach((d) => (d.open = true))`)
		for _, violation := range violations(again) {
			t.Errorf("%s: %s", name, violation)
		}
		if wide := eval[string](again, tooWide); wide != "" {
			t.Errorf("%s: %s", name, wide)
		}
		again.quiet(root)
	}
}

// What is wrong is told at its line, and nothing that was typed is lost.
func TestImportFaults(t *testing.T) {
	tab := importer(t, workshop, view{width: 400})
	was := tab.text(".tank b")
	cut := golden(t, "resnet/resnet18")
	cut = cut[:strings.Index(cut, "(layer3)")]
	tab.put(modelText, cut)
	tab.until(`document.querySelector(".trouble code").textContent === "ResNet("`)
	if got := eval[string](tab, `document.querySelector(".trouble").textContent`); !strings.Contains(got, "Ligne") || !strings.Contains(got, "copiez-le en entier") {
		t.Errorf("told: %q", got)
	}
	if got := tab.text(".tank b"); got != was {
		t.Errorf("the last answer was %s and is %s", was, got)
	}
	if got := eval[string](tab, `document.querySelector('`+modelText+`').value`); got != cut {
		t.Errorf("the text became %.60q", got)
	}
	// The button leads to the line.
	if err := cd.Do(tab, cd.Click(cd.CSS(`.trouble [data-action="import-line"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.activeElement.dataset.field === "import.text"`)
	selected := eval[string](tab, `(() => { const f = document.activeElement; return f.value.slice(f.selectionStart, f.selectionEnd).trim(); })()`)
	if quoted := eval[string](tab, `document.querySelector(".trouble code").textContent`); selected != quoted || selected == "" {
		t.Errorf("selected %q, quoted %q", selected, quoted)
	}
	tab.clean("with an error")
	// Text stays text.
	hostile := "Net(\n  (a): <img src=x onerror=document.title='owned'>()\n  (<b>b</b>): Linear(in_features=3, out_features=2, bias=True)\n  (c): Evil<script>document.title='owned'</script>(in_features=2)\n)"
	tab.put(modelText, hostile)
	tab.until(params + ` === "8" && [...document.querySelectorAll(".remarks code")].some((c) => c.textContent.includes("(<b>b</b>): Linear("))`)
	if got := eval[string](tab, `document.title + document.querySelectorAll(".import img, .import script, .tree b, .remarks b").length`); !strings.HasSuffix(got, "0") || strings.Contains(got, "owned") {
		t.Errorf("hostile text: %q", got)
	}
	// Warnings quote their line, and an input that is missing is asked for.
	tab.put(modelText, "Net(\n  (c): Conv2d(3, 8, kernel_size=(3, 3))\n  (x): Whatever()\n)")
	tab.until(`document.querySelector('[data-field="setup.input"]').getAttribute("aria-invalid") === "true"`)
	tab.put(`[data-field="setup.input"]`, "3, 32, 32")
	tab.until(params + ` === "224" && document.querySelector(".trouble .wrong").hidden && [...document.querySelectorAll(".remarks code")].some((c) => c.textContent === "(x): Whatever()")`)
	tab.clean("with remarks")
	// An empty field is no model.
	tab.put(modelText, "")
	tab.until(`document.querySelector('[data-field="setup.model"]').value === "lesson" && ` + params + ` === "538981"`)
	if wide := eval[string](tab, tooWide); wide != "" {
		t.Error(wide)
	}
}

// safetensors is a file with one layer; only its header counts.
func safetensors(layer string) []byte {
	header, _ := json.Marshal(map[string]any{
		layer + ".weight": map[string]any{"dtype": "F32", "shape": []int{2000, 1000}, "data_offsets": []int{0, 8_000_000}},
		layer + ".bias":   map[string]any{"dtype": "F32", "shape": []int{2000}, "data_offsets": []int{8_000_000, 8_008_000}},
	})
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), make([]byte, 8_008_000)...)
}

// field is one of a protobuf message: a number or bytes.
func field(number int, value any) []byte {
	switch v := value.(type) {
	case int:
		return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number<<3)), uint64(v))
	case string:
		return field(number, []byte(v))
	case []byte:
		return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number<<3|2)), uint64(len(v))), v...)
	}
	panic(value)
}

func message(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

// onnx is a linear layer of 12 inputs and 5 outputs.
func onnx() []byte {
	dims := func(sizes ...int) []byte {
		var shape []byte
		for _, n := range sizes {
			shape = append(shape, field(1, field(1, n))...)
		}
		return field(2, field(1, message(field(1, 1), field(2, shape))))
	}
	weight := func(name string, sizes ...int) []byte {
		elements := 1
		var w []byte
		for _, n := range sizes {
			w = append(w, field(1, n)...)
			elements *= n
		}
		return field(5, message(w, field(2, 1), field(8, name), field(9, make([]byte, 4*elements))))
	}
	transposed := field(5, message(field(1, "transB"), field(3, 1), field(20, 2)))
	node := field(1, message(field(1, "x"), field(1, "w"), field(1, "b"), field(2, "y"), field(3, "/fc/Gemm"), field(4, "Gemm"), transposed))
	graph := message(node, field(2, "net"), weight("w", 5, 12), weight("b", 5),
		field(11, message(field(1, "x"), dims(1, 12))), field(12, message(field(1, "y"), dims(1, 5))))
	return message(field(1, 8), field(7, graph), field(8, field(2, 17)))
}

// Files are read by their headers, texts whole, and what is no model is refused.
func TestImportFiles(t *testing.T) {
	tab := importer(t, "en/"+workshop, view{})
	eval[any](tab, `(() => {
		const slice = Blob.prototype.slice;
		self.sliced = 0;
		Blob.prototype.slice = function (from, to) { self.sliced += to - from; return slice.call(this, from, to); };
	})()`)
	tab.put(`[data-field="setup.mode"]`, "infer")
	tab.drop("weights.safetensors", safetensors("fc"))
	tab.until(params + ` === "2002000" && ` + understood + `.includes("safetensors file")`)
	if read := eval[int](tab, `self.sliced`); read == 0 || read > 1000 {
		t.Errorf("%d bytes read of the file", read)
	}
	if got := tab.text(".import .actions b"); got != "weights.safetensors" {
		t.Errorf("named %q", got)
	}
	tab.until(`document.querySelector(".import .hint").textContent.includes("does not carry")`)
	tab.put(slider, "64") // asks again, without the file
	tab.until(`document.querySelector(".trouble .wrong").hidden && location.hash.includes("batch=64")`)

	// The parts of a checkpoint are one model, whose forward is not known.
	tab.dropAll(map[string][]byte{"model-00001-of-00003.safetensors": safetensors("a"), "model-00002-of-00003.safetensors": safetensors("b")})
	tab.until(params + ` === "4004000" && document.querySelector(".remarks").textContent.includes("model-00003-of-00003.safetensors")`)
	tab.until(`["setup.loss", "setup.input", "setup.recompute"].every((f) => document.querySelector('[data-field="' + f + '"]').disabled) && !document.querySelector("#setup-fixed").hidden`)
	if got := eval[int](tab, `[...document.querySelectorAll('[data-field="freeze.a"], [data-field="block.a"]')].filter((box) => !box.closest("[hidden]")).length`); got != 1 {
		t.Errorf("%d boxes for a module of weights alone", got)
	}

	tab.put(`[data-field="setup.mode"]`, "default")
	tab.until(`!location.hash.includes("mode=")`)
	tab.drop("net.onnx", onnx())
	tab.until(params + ` === "65" && ` + understood + `.includes("ONNX")`)

	trace, err := os.ReadFile("../../calc/read/trace/testdata/lesson.json")
	if err != nil {
		t.Fatal(err)
	}
	tab.drop("trace.json", trace)
	tab.until(params + ` === "538981" && ` + understood + `.includes("trace")`)
	if got := eval[string](tab, `document.querySelector('`+modelText+`').value`); got != string(trace) {
		t.Errorf("a text file is shown as %.60q", got)
	}
	trained := tab.text(".tank b")
	if err := cd.Do(tab, cd.Focus(cd.CSS(`[data-field="freeze.0"]`)), cd.KeyEvent(" ")); err != nil {
		t.Fatal(err)
	}
	tab.until(`location.hash.includes("fz=0") && document.querySelector(".tank b").textContent.replace(/\s/g, " ") !== ` + fmt.Sprintf("%q", trained))
	for _, violation := range violations(tab) {
		t.Errorf("a trace: %s", violation)
	}
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="undo"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`!location.hash.includes("fz=")`)
	tab.drop("photo.png", []byte("\x89PNG\r\n\x1a\n\x00\x00"))
	tab.until(`document.querySelector(".trouble").textContent.includes("photo.png is not a file that is read here")`)
	if got := eval[string](tab, params+` + document.querySelector('`+modelText+`').value.length`); got != fmt.Sprint("538981", len(trace)) {
		t.Errorf("a refused file changed the model: %s", got)
	}
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="undo"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(params + ` === "65"`)
	if err := cd.Do(tab, cd.Click(cd.CSS(`[data-action="import-remove"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.querySelector('[data-field="setup.model"]').value === "lesson"`)
}

// The exporter is there to be copied and to be downloaded, whole.
func TestImportExporter(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{workshop, "en/" + workshop} {
		tab := open(t, root+path, view{})
		eval[any](tab, `navigator.clipboard.writeText = (text) => { self.copied = text; return Promise.resolve(); }`)
		if err := cd.Do(tab, cd.Click(cd.CSS(`.exporter summary`)), cd.Click(cd.CSS(`[data-copies=exporter]`))); err != nil {
			t.Fatal(err)
		}
		tab.until(`document.querySelector(".exporter .said").textContent !== ""`)
		if got := eval[string](tab, `self.copied`); got != python.Exporter {
			t.Errorf("/%s: copied %d bytes of %d", path, len(got), len(python.Exporter))
		}
		if got := eval[string](tab, `fetch(document.querySelector(".exporter a").href).then((r) => r.text())`); got != python.Exporter {
			t.Errorf("/%s: downloaded %d bytes of %d", path, len(got), len(python.Exporter))
		}
		tab.quiet(root)
	}
}
