package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/site"
	figures "vrametre/web/view"
)

// questions are asked of the engine in each place where scripts can ask.
const questions = `async ({ estimate, explain, presets }) => {
	const refused = await estimate({ bacth: 3, language: "en" }).catch((e) => [e instanceof Error, e.code, e.message, e.at]);
	const { verdict, requested } = await explain("RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB", { language: "en" });
	return JSON.stringify({
		Result: await estimate({ batch: 64, want: ["max_batch"], device: { gpu: "tesla-t4" } }),
		Other: (await estimate({ model: { torch: "Sequential(\n  (0): Linear(in_features=20, out_features=5, bias=True)\n)" }, input: { shape: [20] } })).parameters.total,
		Refused: refused, Verdict: verdict, Requested: requested, Presets: await presets(),
	});
}`

// answered checks the answers to the questions.
func answered(t *testing.T, text string) {
	t.Helper()
	var got struct {
		Result    any
		Other     int
		Refused   []any
		Verdict   string
		Requested int64
		Presets   []struct {
			Name, Family, Loss string
			Input              any
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	result, err := calc.Estimate(calc.Request{Batch: 64, Want: []string{"max_batch"}, Device: calc.Device{GPU: "tesla-t4"}})
	if err != nil {
		t.Fatal(err)
	}
	figures.Fill(&result, content.French)
	data, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Result, want) {
		t.Errorf("the engine answers\n%s\nhere\n%s", text, data)
	}
	if got.Other != 105 {
		t.Errorf("a printed model has %d parameters", got.Other)
	}
	if len(got.Refused) != 4 || got.Refused[0] != true || got.Refused[1] != "field-unknown" || got.Refused[2] == "" || got.Refused[3] != "bacth" {
		t.Errorf("a bad request gives %v", got.Refused)
	}
	if got.Requested != 384<<20 || len(got.Verdict) < 20 {
		t.Errorf("the message asks for %d: %q", got.Requested, got.Verdict)
	}
	if len(got.Presets) != len(calc.Presets()) {
		t.Errorf("%d presets, want %d", len(got.Presets), len(calc.Presets()))
	}
	for i, p := range got.Presets {
		if p.Name != calc.Presets()[i] || p.Family == "" || p.Loss == "" || p.Input == nil {
			t.Errorf("preset %+v", p)
		}
	}
}

// A page on another host, with a policy of its own, imports the engine alone.
func TestImportedByAnotherHost(t *testing.T) {
	root := serve(t, "/cours/gpu")
	site := strings.TrimSuffix(root, "/")
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' "+root+"; connect-src "+root)
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><title>A course</title><script type="module" src="course.js"></script>`)
		case "/course.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprintf(w, "import * as engine from %q;\nself.answers = (%s)(engine).then((text) => (self.names = ['process', 'path'].filter((name) => name in self), text));", site+"/vrametre.js", questions)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(host.Close)
	tab := opened(t, view{})
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	tab.navigate(host.URL + "/")
	tab.until(`self.answers !== undefined`)
	answered(t, eval[string](tab, `self.answers`))
	if left := eval[[]string](tab, `self.names`); len(left) != 0 {
		t.Errorf("the page is left with %v", left)
	}
	tab.mu.Lock()
	var asked []string
	for _, request := range tab.requests {
		if name, ok := strings.CutPrefix(request, root); ok {
			asked = append(asked, name)
		}
	}
	tab.mu.Unlock()
	if len(asked) != 2 || asked[0] != "vrametre.js" || !strings.HasPrefix(asked[1], "engine.") || !strings.HasSuffix(asked[1], ".wasm.gz") {
		t.Errorf("the module asks for %q", asked)
	}
	for _, message := range console() {
		if !strings.Contains(message, "favicon.ico") {
			t.Errorf("console: %s", message)
		}
	}
}

// A page that holds the module of an older version, whose engine is gone, gets
// its answers from today's; where that one's is gone too, it is told.
func TestModuleOfAnotherVersion(t *testing.T) {
	module, err := os.ReadFile(filepath.Join(built, "vrametre.js"))
	if err != nil {
		t.Fatal(err)
	}
	older := regexp.MustCompile(`engine\.[0-9a-f]{10}`).ReplaceAll(module, []byte("engine.0000000000"))
	files := site.Handler(os.DirFS(built))
	var gone atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/course/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><title>A course</title><link rel="icon" href="data:,">`)
		case r.URL.Path == "/vrametre.js" && (r.URL.RawQuery == "" || gone.Load()):
			w.Header().Set("Content-Type", "text/javascript")
			w.Write(older)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	tab := opened(t, view{})
	tab.navigate(server.URL + "/course/")
	answered(t, eval[string](tab, `import("../vrametre.js").then(`+questions+`)`))
	gone.Store(true)
	tab.navigate(server.URL + "/course/?")
	if got := eval[string](tab, `import("../vrametre.js").then((engine) => engine.presets()).then(() => "answered", (e) => e.code)`); got != "engine-unavailable" {
		t.Errorf("without any engine: %s", got)
	}
	if n := eval[int](tab, `performance.getEntriesByType("resource").filter((e) => e.name.includes("vrametre.js")).length`); n != 2 {
		t.Errorf("the module is asked for %d times", n)
	}
}

// A program imports it under Node, with and without a browser's way to unpack.
func TestImportedByNode(t *testing.T) {
	for _, first := range []string{"", "delete globalThis.DecompressionStream;"} {
		answered(t, inNode(t, first, questions))
	}
}

// inNode gives the module to a function under Node, after a first statement, and
// returns the text that it resolves to.
func inNode(t *testing.T, first, function string) string {
	t.Helper()
	module := (&url.URL{Scheme: "file", Path: filepath.Join(built, "vrametre.js")}).String()
	script := fmt.Sprintf("import * as engine from %q;\n%sprocess.stdout.write(await (%s)(engine));", module, first, function)
	out, err := exec.Command("node", "--input-type=module", "--eval", script).Output()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(out)
}

// What no JSON can hold is refused by name and at its place, and the engine goes on.
func TestImportedWithMistakes(t *testing.T) {
	text := inNode(t, "", `async ({ estimate, explain }) => {
		const circle = { layers: [] };
		circle.layers.push(circle);
		const told = {};
		for (const [name, request] of Object.entries({
			null: null, number: 3, text: "batch", list: [], function: () => 1, promise: Promise.resolve({ batch: 8 }),
			nan: { batch: NaN }, infinite: { batch: -Infinity }, huge: { batch: 2n ** 80n }, symbol: { precision: Symbol("fp16") }, call: { batch: () => 8 },
			circle: { model: circle }, map: { device: new Map([["gpu", "tesla-t4"]]) }, set: { want: new Set(["layers"]) }, later: { input: Promise.resolve({ tokens: 8 }) },
			thrown: { get batch() { throw new Error("mine"); } }, long: { model: { torch: "A".repeat(10e6) } },
		})) {
			told[name] = await estimate(request).then(() => "answered", (e) => [e instanceof Error && e.message.length > 10, e.code, e.at, e.cause?.message].filter(Boolean).join(" "));
		}
		for (const request of [undefined, {}, { batch: undefined }, { batch: 32n }]) told.lesson = [...(told.lesson ?? []), (await estimate(request)).rule_of_thumb.activations];
		const nothing = (await explain("")).verdict;
		told.explained = await Promise.all([[], [null], [3], [{}], [Symbol("x")], [Object.create(null)], ["", null], ["", { language: null }]].map(async (given) => (await explain(...given)).verdict === nothing));
		return JSON.stringify(told);
	}`)
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"null": "true request-syntax", "number": "true request-syntax", "text": "true request-syntax", "list": "true request-syntax", "function": "true request-syntax", "promise": "true request-syntax",
		"nan": "true field-integer batch", "infinite": "true field-integer batch", "huge": "true field-integer batch", "symbol": "true field-choice precision", "call": "true field-integer batch",
		"circle": "true field-object model.layers[0]", "map": "true field-object device", "set": "true field-list want", "later": "true field-list input",
		"thrown": "true request-syntax mine", "long": "true text-large model.torch",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if want := []any{117473280., 117473280., 117473280., 117473280.}; !reflect.DeepEqual(got["lesson"], want) {
		t.Errorf("what is not given: %v", got["lesson"])
	}
	for i, same := range got["explained"].([]any) {
		if same != true {
			t.Errorf("explain, mistake %d: another verdict than on no message", i)
		}
	}
}

// Where the engine cannot be had, the promise says so and the next one tries
// again; and a worker may ask as well as a page.
func TestImportedWithoutEngine(t *testing.T) {
	var how atomic.Value
	how.Store("closed")
	files := site.Handler(os.DirFS(built))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".wasm.gz") {
			files.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		switch how.Load() {
		case "closed":
			panic(http.ErrAbortHandler)
		case "missing": // an older module, whose engine has gone
			http.NotFound(w, r)
		case "another":
			fmt.Fprint(w, "<!doctype html><title>Bienvenue</title>")
		case "mistyped":
			http.ServeFile(mistyped{w}, r, filepath.Join(built, path.Base(r.URL.Path)))
		}
	}))
	t.Cleanup(server.Close)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		policy := "default-src 'none'; img-src data:; worker-src 'self' " + server.URL + "; connect-src " + server.URL + "; script-src 'self' " + server.URL
		if r.URL.Path != "/strict" {
			policy += " 'wasm-unsafe-eval'"
		}
		w.Header().Set("Content-Security-Policy", policy)
		if r.URL.Path == "/course.js" {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprintf(w, `import * as engine from "%s/vrametre.js";
self.asked = () => engine.presets().then((list) => "" + list.length, (e) => [e instanceof Error, e.code, e.message].join(" "));
self.onmessage = async ({ data }) => data === "ask" && postMessage(await self.asked());`, server.URL)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>A course</title><link rel="icon" href="data:,"><script type="module" src="course.js"></script>`)
	}))
	t.Cleanup(host.Close)
	tab := opened(t, view{})
	tab.navigate(host.URL + "/")
	tab.until(`self.asked !== undefined`)
	presets := strconv.Itoa(len(calc.Presets()))
	for _, c := range []struct{ how, want string }{
		{"closed", "true engine-unavailable the engine is not running: Failed to fetch"},
		{"missing", "true engine-unavailable the engine is not running: 404 " + server.URL + "/engine."},
		{"another", "true engine-unavailable the engine is not running: " + server.URL + "/engine."},
		{"mistyped", presets},
		{"closed", presets}, // it is there now
	} {
		how.Store(c.how)
		if got := eval[string](tab, `asked()`); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.how, got, c.want)
		}
	}
	how.Store("mistyped")
	if got := eval[string](tab, `new Promise((resolve) => {
		const worker = new Worker("course.js", {type: "module"});
		worker.onmessage = ({data}) => (resolve(data), worker.terminate());
		worker.onerror = ({message}) => resolve("failed: " + message);
		worker.postMessage("ask");
	})`); got != presets {
		t.Errorf("in a worker: %q", got)
	}
	tab.navigate(host.URL + "/strict")
	tab.until(`self.asked !== undefined`)
	if got := eval[string](tab, `asked()`); !strings.HasPrefix(got, "true engine-unavailable") || !strings.Contains(got, "Content Security Policy") {
		t.Errorf("under a policy that forbids it: %q", got)
	}
}

// mistyped is an answer of no known type.
type mistyped struct{ http.ResponseWriter }

func (m mistyped) WriteHeader(status int) {
	m.Header().Set("Content-Type", "application/octet-stream")
	m.ResponseWriter.WriteHeader(status)
}

// The site's own pages answer the same.
func TestAnsweredByPages(t *testing.T) {
	root := serve(t, "")
	for _, path := range []string{"", workshop} {
		tab := open(t, root+path, view{})
		answered(t, eval[string](tab, "("+questions+")(vrametre)"))
		tab.quiet(root)
	}
}
