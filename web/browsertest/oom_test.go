package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cd "github.com/chromedp/chromedp"

	"vrametre/calc/oom"
	"vrametre/content"
	"vrametre/web/build"
	figures "vrametre/web/view"
)

const oomPage = "oom/"

const pasted = `RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 15.90 GiB total capacity; 14.75 GiB already allocated; 225.81 MiB free; 14.81 GiB reserved in total by PyTorch) <script>self.hacked = true</script>`

// paste gives the page a text, as a reader does.
func (tab *tab) paste(text string) {
	tab.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		tab.t.Fatal(err)
	}
	eval[any](tab, `(() => {
		const area = document.querySelector("[data-field=message]");
		area.value = `+string(quoted)+`;
		area.dispatchEvent(new Event("input", {bubbles: true}));
	})()`)
}

// A pasted message is shown back as text and explained number by number.
func TestPasteAMessage(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root+oomPage, view{})
	if got := tab.text(".says"); got != "La carte est pleine de vos propres tenseurs." {
		t.Errorf("the example says %q", got)
	}
	tab.paste(pasted)
	tab.until(`document.querySelectorAll(".oom .mark").length === 5`)
	if got := tab.text(".oom .message"); !strings.Contains(got, "<script>self.hacked = true</script>") {
		t.Errorf("the message is shown as %q", got)
	}
	if eval[bool](tab, `"hacked" in self || document.querySelector(".oom .message script") !== null`) {
		t.Error("the pasted text is more than text")
	}
	if got := tab.text(".candidates"); !strings.Contains(got, "32 × 12 × 512 × 512 × 4 o") {
		t.Errorf("the request is decoded as %q", got)
	}
	// A megabyte of log with one message inside.
	tab.paste(strings.Repeat("2024-01-01 INFO step 123 loss=0.123 memory allocated\n", 20000) + "RuntimeError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free.\n")
	tab.until(`document.querySelectorAll(".oom .mark").length === 3`)
	tab.paste("nothing of interest")
	tab.until(`document.querySelectorAll(".oom .mark").length === 0`)
	if got := tab.text(".says"); !strings.HasPrefix(got, "Aucun message") {
		t.Errorf("no message is %q", got)
	}
	tab.clean("no message")
	eval[any](tab, `document.querySelector("[data-action=example]").click()`)
	tab.until(`document.querySelectorAll(".oom .mark").length === 6`)
	got := eval[string](tab, `vrametre.explain(`+"`"+pasted+"`"+`, {language: "en"}).then((e) => e.verdict + e.requested)`)
	if got != "The card is full of your own tensors. The request is only the last straw. What counts is what was already there.402653184" {
		t.Errorf("vrametre.explain: %q", got)
	}
	tab.quiet(root)
}

// mock stands in for the browser's answers, which self.answers holds.
const mock = `
Object.defineProperty(Navigator.prototype, "gpu", {configurable: true, get: () => self.answers?.api === false ? undefined : {
	async requestAdapter() {
		const {adapter, refused} = self.answers ?? {};
		if (refused) throw new Error("refused");
		if (!adapter) return null;
		return {limits: adapter.limits ?? {}, info: {
			vendor: adapter.vendor, architecture: adapter.architecture, device: adapter.device ?? "", description: adapter.description ?? "",
			isFallbackAdapter: adapter.fallback ?? false,
			...(adapter.heap_bytes ? {memoryHeaps: [{size: adapter.heap_bytes, properties: 1}, {size: 2 ** 36, properties: 2}]} : {}),
		}};
	},
}});
Object.defineProperty(Navigator.prototype, "deviceMemory", {configurable: true, get: () => self.answers?.memory_gib});
Object.defineProperty(self, "isSecureContext", {configurable: true, get: () => self.answers?.secure ?? true});
HTMLCanvasElement.prototype.getContext = () => self.answers?.webgl ? {
	getExtension: (name) => name === "WEBGL_debug_renderer_info" ? {UNMASKED_RENDERER_WEBGL: 1} : null,
	getParameter: () => self.answers.renderer ?? "",
} : null;`

// Whatever a browser answers, the page says what package view makes of it.
func TestProbes(t *testing.T) {
	data, err := os.ReadFile("../view/testdata/probes.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name  string
		Probe json.RawMessage
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	root := serve(t, "")
	tab := opened(t, view{})
	before(tab, mock)
	tab.navigate(root + oomPage)
	tab.awake()
	device := figures.Start(figures.PageOOM).Device
	asked := 0
	for _, c := range cases {
		var probe figures.Probe
		if err := json.Unmarshal(c.Probe, &probe); err != nil {
			t.Fatal(err)
		}
		if probe.Opaque || probe.Lost {
			continue // not what a browser answers, but what the page has seen
		}
		asked++
		want := probe.Read(device, content.French)
		eval[any](tab, `self.answers = `+string(c.Probe))
		eval[any](tab, `document.querySelector("[data-action=probe]").click()`)
		sentences, _ := json.Marshal(want.Sentences)
		tab.until(`JSON.stringify([...document.querySelectorAll(".heard li")].map((li) => li.textContent)) === JSON.stringify(` + string(sentences) + `)`)
		if got := eval[string](tab, `document.querySelector(".asked").dataset.state`); got != want.State {
			t.Errorf("%s: state %s, want %s", c.Name, got, want.State)
		}
		if got := eval[string](tab, `document.querySelector(".asked .question").textContent`); got != want.Question {
			t.Errorf("%s: asks %q, want %q", c.Name, got, want.Question)
		}
		if got := eval[int](tab, `document.querySelectorAll("#card-option option").length - 1`); got != len(want.Options) {
			t.Errorf("%s: %d options, want %d", c.Name, got, len(want.Options))
		}
		if adapter := probe.Adapter; adapter != nil {
			tab.until(fmt.Sprintf(`document.querySelectorAll(".limits tbody tr").length === %d`, len(adapter.Limits)))
		}
	}
	if asked < 25 {
		t.Errorf("only %d answers", asked)
	}
	tab.quiet(root)
}

// The reader's card goes into the address, and is kept on this device if they say so.
func TestChooseACard(t *testing.T) {
	root := serve(t, "")
	tab := open(t, root+oomPage, view{})
	tab.put("[data-field=query]", "colab")
	tab.until(`document.querySelectorAll(".hits button").length === 1`)
	tab.clean("the catalogue searched")
	eval[any](tab, `document.querySelector(".hits button").click()`)
	tab.until(`location.hash.includes("gpu=colab-free-t4")`)
	tab.until(`document.querySelector(".chosen").textContent.includes("Colab")`)
	tab.put("[data-field=context]", "700")
	tab.until(`location.hash.includes("ctx=734003200")`)
	// Every line of the budget is the reader's to change, and they can have them all back.
	for field, key := range map[string]string{"driver": "drv=104857600", "libraries": "lib=104857600", "fragmentation": "frag=104857600"} {
		tab.put("tr:not([hidden]) [data-field="+field+"]", "100")
		tab.until(`location.hash.includes("` + key + `")`)
	}
	tab.until(`[...document.querySelectorAll(".budget tr:not([hidden]) small")].filter((s) => s.textContent === "votre propre valeur").length === 4`)
	eval[any](tab, `document.querySelector("[data-action=restore]").click()`)
	tab.until(`!/drv=|ctx=|lib=|frag=/.test(location.hash)`)
	tab.until(`document.querySelector("[data-field=fragmentation]").value !== "100"`)
	// A Mac's desktop draws on the same memory.
	tab.put("[data-field=query]", "m2 pro")
	tab.until(`document.querySelector(".hits:not(.close) button")?.dataset.value === "apple-m2-pro"`)
	eval[any](tab, `document.querySelector(".hits:not(.close) button").click()`)
	tab.until(`location.hash.includes("gpu=apple-m2-pro")`)
	eval[any](tab, `document.querySelector("#card-desktop").click()`)
	tab.until(`location.hash.includes("desk=yes") && document.querySelector("[data-field=use]").value === "307"`)
	tab.put("[data-field=memory]", "6")
	eval[any](tab, `document.querySelector("[data-value=memory]").click()`)
	tab.until(`location.hash.includes("gpu=other&desk=yes&total=6000000000")`)
	if kept := eval[string](tab, `JSON.stringify(localStorage)`); strings.Contains(kept, "vrametre.card") {
		t.Errorf("kept without being asked to: %s", kept)
	}
	eval[any](tab, `document.querySelector("[data-field=remember]").click()`)
	tab.until(`localStorage.getItem("vrametre.card")?.includes("total=6000000000")`)
	tab.navigate(root)
	tab.awake()
	if got := tab.text(".tank small"); !strings.Contains(got, "6,00 Go") {
		t.Errorf("the lesson starts with %q", got)
	}
	// An address that names no card says so, and offers what is close.
	tab.navigate(root + oomPage + "#v=1&gpu=rtx-4900")
	tab.awake()
	tab.until(`document.querySelector("#card .picker .fault").textContent.includes("rtx-4900")`)
	eval[any](tab, `document.querySelector(".close [data-value=rtx-4090]").click()`)
	tab.until(`location.hash.includes("gpu=rtx-4090") && document.querySelector("#card .picker .fault").hidden`)
}

// withGPU is a browser of its own, with WebGPU on the processor (SwiftShader),
// that also knows an address without a secure context.
func withGPU(t *testing.T) context.Context {
	t.Helper()
	allocator, cancel := cd.NewExecAllocator(context.Background(), append(cd.DefaultExecAllocatorOptions[:],
		cd.NoSandbox, cd.Flag("disable-quic", true), cd.Flag("enable-unsafe-swiftshader", true), cd.Flag("enable-unsafe-webgpu", true),
		cd.Flag("host-resolver-rules", "MAP probe.test 127.0.0.1"))...)
	t.Cleanup(cancel)
	ctx, cancel := cd.NewContext(allocator)
	t.Cleanup(cancel)
	if err := cd.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// A real adapter, a real refusal, and a real loss of the card.
func TestRealAdapter(t *testing.T) {
	root := serve(t, "")
	chromium := withGPU(t)
	tab := openedIn(t, chromium, view{})
	tab.navigate(root + oomPage)
	tab.awake()
	eval[any](tab, `document.querySelector("#card").scrollIntoView()`)
	tab.until(`document.querySelector(".asked").dataset.state === "software"`)
	if n := eval[int](tab, `document.querySelectorAll(".limits tbody tr").length`); n < 20 {
		t.Errorf("%d limits", n)
	}
	// A gibibyte in one piece is more than SwiftShader gives.
	tab.put("[data-field=cap]", "8")
	eval[any](tab, `document.querySelector("[data-action=measure]").click()`)
	tab.until(`document.querySelector(".result").dataset.state === "full"`)
	if got := eval[string](tab, `document.querySelector(".result").textContent`); !strings.Contains(got, "refus") {
		t.Errorf("the measurement says %q", got)
	}
	tab.put("[data-field=cap]", "1")
	eval[any](tab, `document.querySelector("[data-action=measure]").click()`)
	tab.until(`document.querySelector(".result").dataset.state === "reached"`)
	// It can be stopped on the way, and says how far it is.
	tab.put("[data-field=cap]", "64")
	eval[any](tab, `(() => {
		const create = GPUDevice.prototype.createBuffer;
		GPUDevice.prototype.createBuffer = function (d) { return create.call(this, {...d, size: 4096}); }; // goes on until it is stopped
		document.querySelector("[data-action=measure]").click();
	})()`)
	tab.until(`document.querySelector(".measure progress:not([hidden])")?.value > 0`)
	eval[any](tab, `document.querySelector("[data-action=cancel]").click()`)
	tab.until(`document.querySelector(".result").dataset.state === "cancelled"`)

	address, err := url.Parse(root)
	if err != nil {
		t.Fatal(err)
	}
	insecure := openedIn(t, chromium, view{height: 2400}) // frames out of sight do not draw
	insecure.navigate(fmt.Sprintf("http://probe.test:%s/%s", address.Port(), oomPage))
	insecure.awake()
	eval[any](insecure, `document.querySelector("#card").scrollIntoView()`)
	insecure.until(`document.querySelector(".asked").dataset.state === "insecure"`)

	// The same in the frames of a page of another site that was not opened over https.
	insecure.navigate(strings.Replace(host(t, root, `<vrametre-figure id="two" figure="memory" state="batch=64"></vrametre-figure><vrametre-figure id="one" figure="atelier"></vrametre-figure>`), "localhost", "probe.test", 1))
	insecure.heard(`e.type === "ready" && e.on === "one"`)
	insecure.heard(`e.type === "ready" && e.on === "two" && e.state.includes("batch=64") && e.result.device > 1e9`)
	frames := framesOf(insecure, root)
	eval[any](frames["atelier"], `(document.querySelector("#card details").open = true, document.querySelector("[data-action=probe]").click())`)
	frames["atelier"].until(`!isSecureContext && document.querySelector(".asked").dataset.state === "insecure" && document.querySelector(".heard").textContent.includes("entoure")`)
	frames["memory"].put(slider, "128")
	insecure.heard(`e.type === "state" && e.on === "two" && e.state.includes("batch=128")`)

	// The browser's graphics process crashes in the middle of a measurement.
	eval[any](tab, `document.querySelector("[data-action=measure]").click()`)
	crash, cancel := cd.NewContext(chromium)
	defer cancel()
	_ = cd.Do(crash, cd.Navigate("chrome://gpucrash")) // it never finishes loading
	tab.until(`["lost", "failed", "reached", "full"].includes(document.querySelector(".result").dataset.state)`)
	if eval[bool](tab, `document.querySelector(".banner") !== null`) {
		t.Error("the page has stopped with the card")
	}
	tab.paste(pasted)
	tab.until(`document.querySelectorAll(".oom .mark").length === 5`)
}

// Without JavaScript the example is explained, the card's budget and the remedies are there.
func TestOOMWithoutJavaScript(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{oomPage, "en/" + oomPage} {
		tab := open(t, root+path, view{noScripts: true})
		body := tab.text("main")
		for _, want := range []string{"256.00 MiB", "GTX 1650", "SqueezeNet", "538"} {
			if !strings.Contains(body, want) {
				t.Errorf("/%s: no %q", path, want)
			}
		}
		for selector, want := range map[string]bool{".oom .answers": true, ".budget table": true, ".advice table": true, "#later": true, "textarea": false, ".picker": false, "[data-action=probe]": false} {
			if got := shown(tab, selector); got != want {
				t.Errorf("/%s: %s shown: %v", path, selector, got)
			}
		}
	}
}

// The page fits a phone, and tools for accessibility find no fault.
func TestOOMPageFitsAndIsAccessible(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{oomPage, "en/" + oomPage} {
		for _, width := range []int64{320, 1440} {
			tab := open(t, root+path, view{width: width})
			tab.paste(pasted)
			tab.until(`document.querySelectorAll(".oom .mark").length === 5`)
			eval[any](tab, `document.querySelectorAll("details").forEach((d) => (d.open = true))`)
			if wide := eval[string](tab, tooWide); wide != "" {
				t.Errorf("/%s at %d: %s", path, width, wide)
			}
			for _, violation := range violations(tab) {
				t.Errorf("/%s at %d: %s", path, width, violation)
			}
		}
	}
}

// So does the explanation of every kind of message.
func TestEveryVerdictIsAccessible(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "calc", "oom", "testdata", "messages.json"))
	if err != nil {
		t.Fatal(err)
	}
	var messages []struct{ Text string }
	if err := json.Unmarshal(data, &messages); err != nil {
		t.Fatal(err)
	}
	tab := open(t, serve(t, "")+oomPage, view{})
	seen := map[string]bool{}
	for _, m := range messages {
		code := oom.Explain(m.Text, oom.Hints{}).Verdict.Code
		if seen[code] {
			continue
		}
		seen[code] = true
		was := eval[string](tab, `document.querySelector("[data-island=oom]").textContent`)
		tab.paste(m.Text)
		tab.until(fmt.Sprintf(`document.querySelector("[data-island=oom]").textContent !== %q`, was))
		for _, violation := range violations(tab) {
			t.Errorf("%s: %s", code, violation)
		}
	}
	if len(seen) < 12 {
		t.Errorf("messages of %d kinds", len(seen))
	}
}

// The live islands are those that stood there, the remedies too once they are tried.
func TestOOMWakesUnchanged(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{oomPage, "en/" + oomPage} {
		tab := open(t, root+path, view{})
		tab.until(`document.querySelector("#goapp-root").childElementCount === 0`)
		got := eval[map[string][]string](tab, `(async () => {
			`+described+`
			const page = new DOMParser().parseFromString(await (await fetch("")).text(), "text/html");
			const islands = {};
			for (const name of ["oom", "card", "advice"]) {
				islands[name] = [page, document].map((d) => described(d.querySelector("[data-island=" + name + "]").firstElementChild));
			}
			return islands;
		})()`)
		for name, forms := range got {
			if forms[0] != forms[1] {
				t.Errorf("/%s: %s was\n%s\nand is\n%s", path, name, forms[0], forms[1])
			}
		}
	}
}

// The workshop's network comes along: its remedies, and its settings no more.
func TestOOMOfAnotherNetwork(t *testing.T) {
	tab := open(t, serve(t, "")+oomPage+"#v=1&batch=64&gpu=tesla-t4&m=resnet50&prec=bf16", view{})
	for _, want := range []string{"resnet50, choisi dans l’atelier", "25\u202f557\u202f032"} {
		tab.until(`document.querySelector("#advice").textContent.includes("` + want + `")`)
	}
	for selector, want := range map[string]bool{"input[type=range][data-control=batch]": true, "input[type=range][data-control=side]": false} {
		if got := shown(tab, selector); got != want {
			t.Errorf("%s shown: %v", selector, got)
		}
	}
	tab.until(`document.querySelector(".advice tbody").querySelectorAll("tr").length > 3`)
	// A failed request is one of its tensors, in its precision: 64 x 256 x 56 x 56 x 2 bytes.
	tab.put(".oom textarea", "CUDA out of memory. Tried to allocate 98.00 MiB. GPU 0 has a total capacity of 14.75 GiB of which 50.12 MiB is free.")
	tab.until(`document.querySelector(".oom .candidates") !== null && document.querySelector(".oom .candidates").textContent.replace(/\s/g, " ").includes("64 × 256 × 56 × 56 × 2 o")`)
	// Back in the workshop it is still there; the lesson knows no other network than its own.
	tab.follow(`nav a[href*="atelier"]`)
	if got := eval[string](tab, `document.querySelector("#setup-model").value`); got != "resnet50" {
		t.Errorf("the workshop has %q", got)
	}
	tab.follow(`nav a[data-state-link]`)
	lesson, err := figures.Compute(figures.Default())
	if err != nil {
		t.Fatal(err)
	}
	params, _ := figures.NewFigures(lesson, content.French).Text("params")
	if got := eval[string](tab, `document.querySelector('[data-v="params"]').textContent`); got != params {
		t.Errorf("the lesson's network has %s parameters, not %s", got, params)
	}
}
