package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"vrametre/web/browsertest/webdriver"
	"vrametre/web/site"
)

// engines are the browsers other than Chromium, as they come and with WebGPU.
var engines = map[string]struct {
	start func() (*webdriver.Browser, error)
	// probed are the states that the browser's answers about the card may lead to.
	probed []string
	// brief: only the card is of interest, and parts in other sites' pages.
	brief bool
}{
	"firefox": {func() (*webdriver.Browser, error) { return webdriver.Firefox(nil) }, []string{"no-webgpu"}, false},
	// Nor does it keep anything for third parties.
	"firefox with WebGPU": {func() (*webdriver.Browser, error) {
		return webdriver.Firefox(map[string]string{"dom.webgpu.enabled": "true", "gfx.webgpu.ignore-blocklist": "true", "network.cookie.cookieBehavior": "1"})
	}, []string{"masked", "software", "no-adapter"}, true},
	"webkit":             {func() (*webdriver.Browser, error) { return webdriver.WebKit() }, []string{"no-webgpu"}, false},
	"webkit with WebGPU": {func() (*webdriver.Browser, error) { return webdriver.WebKit("--features=+WebGPU") }, []string{"no-webgpu", "no-adapter"}, true},
}

// window is an engine's window under test.
type window struct {
	*webdriver.Browser
	t *testing.T
}

func (w window) open(address string) {
	w.t.Helper()
	if err := w.Open("about:blank"); err != nil { // a fragment alone would not load anything
		w.t.Fatal(err)
	}
	if err := w.Open(address); err != nil {
		w.t.Fatalf("%s: %v", address, err)
	}
	w.until(`document.body?.dataset.ready === ""`)
}

// until waits for a condition of the page, which may be leaving for another.
func (w window) until(condition string) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var holds bool
		err := w.Run(`return Boolean(`+condition+`)`, &holds)
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			var said string
			_ = w.Run(`return document.body.dataset.engine + " " + document.querySelector(".banner")?.textContent + " " + JSON.stringify(self.complaints)`, &said)
			w.t.Fatalf("never true: %s (%v, %s)", condition, err, said)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (w window) text(selector string) string {
	w.t.Helper()
	var text string
	if err := w.Run(fmt.Sprintf(`return document.querySelector(%q).textContent`, selector), &text); err != nil {
		w.t.Fatalf("%s: %v", selector, err)
	}
	return strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(text)
}

func (w window) press(selector, keys string) {
	w.t.Helper()
	if err := w.Type(selector, keys); err != nil {
		w.t.Fatal(err)
	}
}

// put gives a control a value, as a reader does.
func (w window) put(selector, value string) {
	w.t.Helper()
	quoted, err := json.Marshal([]string{selector, value})
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.Run(`const [selector, value] = `+string(quoted)+`;
		const control = document.querySelector(selector);
		control.value = value;
		for (const event of ["input", "change"]) control.dispatchEvent(new Event(event, {bubbles: true}));`, nil)
	if err != nil {
		w.t.Fatalf("%s: %v", selector, err)
	}
}

// whole checks that no figure of the page is empty and that nothing was thrown
// or complained about.
func (w window) whole(at string) {
	w.t.Helper()
	var faults []string
	err := w.Run(`
		const faults = [...(self.complaints ?? ["nothing listens to complaints"])];
		if (document.querySelector(".banner")) faults.push("banner: " + document.querySelector(".banner").textContent);
		for (const {name} of performance.getEntriesByType("resource")) {
			if (!name.startsWith(location.origin) && !/^(data|blob):/.test(name)) faults.push("calls " + name);
		}
		if (document.body.dataset.engine !== "running") faults.push("engine " + document.body.dataset.engine);
		for (const figure of document.querySelectorAll("main [data-v], .gauge [data-v]")) {
			if (!figure.textContent.trim() || /undefined|NaN|\[object/.test(figure.textContent)) faults.push("empty: " + figure.outerHTML.slice(0, 120));
		}
		for (const chart of document.querySelectorAll("[data-chart]")) {
			if (!chart.querySelector("svg path")) faults.push("no picture: " + chart.dataset.chart);
		}
		return faults;`, &faults)
	if err != nil {
		w.t.Fatalf("%s: %v", at, err)
	}
	for _, fault := range faults {
		w.t.Errorf("%s: %s", at, fault)
	}
}

// listening is a script that keeps what a page throws or complains about.
const listening = `self.complaints = [];
addEventListener("error", (e) => complaints.push("error: " + (e.message ?? "cannot load " + (e.target?.src || e.target?.href))), true);
addEventListener("unhandledrejection", (e) => complaints.push("rejected: " + e.reason));
for (const level of ["error", "warn"]) {
	const say = console[level];
	console[level] = (...words) => { complaints.push(level + ": " + words.join(" ")); say.apply(console, words); };
}
// In a frame it tells the page around what it has heard, and whether the browser
// let it keep anything.
let keeps = true;
try { localStorage.getItem(""); } catch { keeps = false; }
addEventListener("vrametre:ready", () => {
	if (parent !== self) parent.postMessage({ frame: document.body.dataset.embed, keeps, complaints }, "*");
});`

// listened serves the site with that script first on every page.
func listened(t *testing.T) (root string, server *httptest.Server) {
	t.Helper()
	files := site.Handler(os.DirFS(built))
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/complaints.js") {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, listening)
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/") && path.Ext(r.URL.Path) != ".html" {
			files.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		files.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		w.Write(bytes.Replace(answer.Body.Bytes(), []byte("<head>"), []byte(`<head><script src="/complaints.js"></script>`), 1))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/", server
}

// The journeys of a reader in the two other engines: the lesson, the workshop, a model of theirs,
// a pasted message, the card, and all of it offline.
func TestOtherEngines(t *testing.T) {
	for name, engine := range engines {
		if strings.HasPrefix(name, "webkit") && runtime.GOOS != "linux" {
			continue // WebKitGTK is Linux's
		}
		t.Run(name, func(t *testing.T) {
			browser, err := engine.start()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(browser.Close)
			w := window{browser, t}
			root, server := listened(t)
			w.asksTheCard(root, engine.probed)
			if engine.brief {
				w.embeds(root, strings.HasPrefix(name, "webkit"))
				return
			}
			w.explains(root)
			w.teaches(root)
			w.calculates(root)
			w.imports(root)
			w.whole("import")
			w.until(`(await navigator.serviceWorker.getRegistration())?.active?.state === "activated"`)
			server.CloseClientConnections()
			server.Close()
			w.staysOffline(root)
			w.imports(root)
			w.opensFiles()
		})
	}
}

// The lesson follows the keyboard, in both languages, and answers scripts.
func (w window) teaches(root string) {
	w.t.Helper()
	w.open(root)
	w.press(slider, webdriver.Home+strings.Repeat(webdriver.ArrowRight, 3))
	w.until(`/batch=[2-9]/.test(location.hash)`)
	w.put(slider, "64")
	w.until(`document.querySelector("[data-scrub=batch]").textContent.startsWith("64")`)
	w.until(`location.hash.includes("batch=64")`)
	w.whole("lesson")
	var activations int64
	if err := w.Run(`return (await vrametre.estimate({batch: 64})).rule_of_thumb.activations`, &activations); err != nil || activations != 2*117473280 {
		w.t.Errorf("vrametre.estimate answers %v, %v", activations, err)
	}
	w.open(root + "en/")
	if got := w.text("h1"); got != languages["en"].title {
		w.t.Errorf("in English: %q", got)
	}
	w.whole("english lesson")
}

// Two figures in a page of another site: as high as they need, heard and obeyed,
// also where third parties may keep nothing.
func (w window) embeds(root string, keeps bool) {
	w.t.Helper()
	if err := w.Open(host(w.t, root, `<vrametre-figure id="one" figure="timeline" state="batch=64" hide="nav,result" loading="eager"></vrametre-figure>
<vrametre-figure id="two" figure="memory" lang="en" lock="all" loading="eager"></vrametre-figure>
<script nonce="host">window.told = {}; addEventListener("message", ({data}) => { if (data?.frame) told[data.frame] = data; });</script>`)); err != nil {
		w.t.Fatal(err)
	}
	w.until(`["one", "two"].every((id) => heard.some((e) => e.type === "ready" && e.on === id))`)
	w.until(`told.timeline && told.memory`)
	var told map[string]struct {
		Keeps      bool
		Complaints []string
	}
	if err := w.Run(`return told`, &told); err != nil {
		w.t.Fatal(err)
	}
	for name, frame := range told {
		if frame.Keeps != keeps || len(frame.Complaints) > 0 {
			w.t.Errorf("%s may keep something: %v, want %v; complaints %q", name, frame.Keeps, keeps, frame.Complaints)
		}
	}
	w.until(`[...document.querySelectorAll("iframe")].every((f) => f.clientHeight > 250 && f.clientHeight === heard.findLast((e) => e.type === "height" && e.on === f.parentNode.id)?.height)`)
	if err := w.Run(`await document.querySelector("#two").set({batch: 128})`, nil); err != nil {
		w.t.Fatal(err)
	}
	w.until(`heard.some((e) => e.type === "state" && e.on === "two" && e.state.includes("batch=128") && e.result.device > 1e9)`)
	var state string
	if err := w.Run(`const { state, ...more } = await document.querySelector("#one").get(); return state + Object.keys(more)`, &state); err != nil || !strings.HasPrefix(state, "v=1&batch=64") || strings.Contains(state, "result") {
		w.t.Errorf("the figure tells %q, %v", state, err)
	}
}

// The folder opens from a disk too.
func (w window) opensFiles() {
	w.t.Helper()
	w.open((&url.URL{Scheme: "file", Path: filepath.Join(built, "index.html")}).String() + "#v=1&batch=64")
	w.put(slider, "96")
	w.until(`document.querySelector("[data-scrub=batch]").textContent.startsWith("96")`)
}

// The workshop knows another model.
func (w window) calculates(root string) {
	w.t.Helper()
	w.open(root + workshop)
	w.put(`[data-field="setup.model"]`, "resnet50")
	w.until(`location.hash.includes("m=resnet50")`)
	w.until(`document.querySelector('#result [data-v="params"]').textContent.replace(/\D/g, "") === "25557032"`)
	w.whole("workshop")
}

// The reader's own model is pasted, or chosen as a file.
func (w window) imports(root string) {
	w.t.Helper()
	w.open(root + "en/" + workshop)
	if err := w.Run(`document.querySelector("[data-action=import-open]").click()`, nil); err != nil {
		w.t.Fatal(err)
	}
	w.until(`document.activeElement?.dataset.field === "import.text"`)
	w.put(modelText, smallPrint)
	w.until(params + ` === "754" && location.hash.includes("text=")`)
	file := filepath.Join(w.t.TempDir(), "tête.onnx")
	if err := os.WriteFile(file, onnx(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.press("#import-file", file)
	w.until(params + ` === "65" && document.querySelector(".import").textContent.includes("tête.onnx")`)
	if err := os.WriteFile(file, []byte("not a model"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.press("#import-file", file)
	w.until(`document.querySelector("#import-trouble").textContent.length > 20`)
	if got := w.text("#result [data-v=params]"); got != "65" {
		w.t.Errorf("a file that is none leaves %q", got)
	}
}

// A pasted message is explained.
func (w window) explains(root string) {
	w.t.Helper()
	w.open(root + oomPage)
	w.put("[data-field=message]", pasted)
	w.until(`document.querySelectorAll(".oom .mark").length === 5`)
	if got := w.text(".candidates"); !strings.Contains(got, "32 × 12 × 512 × 512 × 4 o") {
		w.t.Errorf("the request is decoded as %q", got)
	}
	w.whole("message")
}

// Whatever the browser tells of the card, the page says what it means.
func (w window) asksTheCard(root string, states []string) {
	w.t.Helper()
	w.open(root + oomPage)
	if err := w.Run(`document.querySelector("[data-action=probe]").click()`, nil); err != nil {
		w.t.Fatal(err)
	}
	w.until(`document.querySelector(".asked").dataset.state !== "unasked"`)
	var asked struct {
		State, Question string
		Sentences       []string
	}
	err := w.Run(`return {
		State: document.querySelector(".asked").dataset.state,
		Question: document.querySelector(".asked .question").textContent.trim(),
		Sentences: [...document.querySelectorAll(".heard li")].map((li) => li.textContent.trim()),
	}`, &asked)
	if err != nil {
		w.t.Fatal(err)
	}
	if !slices.Contains(states, asked.State) || asked.Question == "" || len(asked.Sentences) == 0 || asked.Sentences[0] == "" {
		w.t.Errorf("the card: %+v, want one of %q", asked, states)
	}
	w.whole("card")
}

// With nobody to answer, every page opens, moves, and keeps its state when it
// is loaded again.
func (w window) staysOffline(root string) {
	w.t.Helper()
	if _, err := http.Get(root); err == nil {
		w.t.Fatal("the server still answers")
	}
	for _, page := range []string{"#v=1&batch=64", workshop + "#v=1&m=resnet50", oomPage, "en/", "en/" + oomPage} {
		w.open(root + page)
		w.put(slider, "72")
		w.until(`location.hash.includes("batch=72")`)
		if err := w.Run(`self.before = true; location.reload()`, nil); err != nil {
			w.t.Logf("reloading: %v", err) // the answer may be lost with the page
		}
		w.until(`self.before === undefined && document.body?.dataset.ready === "" && document.querySelector("` + slider + `").value === "72"`)
	}
}
