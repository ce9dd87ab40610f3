package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
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
	module := (&url.URL{Scheme: "file", Path: filepath.Join(built, "vrametre.js")}).String()
	for _, first := range []string{"", "delete globalThis.DecompressionStream;"} {
		script := fmt.Sprintf("import * as engine from %q;\n%sprocess.stdout.write(await (%s)(engine));", module, first, questions)
		out, err := exec.Command("node", "--input-type=module", "--eval", script).Output()
		if err != nil {
			t.Fatalf("%v", err)
		}
		answered(t, string(out))
	}
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
