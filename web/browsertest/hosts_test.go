package browsertest

import (
	"archive/zip"
	"cmp"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vrametre/web/build"
	"vrametre/web/site"
)

// tool finds a program that makes host pages. Where it is missing the host is
// left out, but never in the project's own check.
func tool(t *testing.T, name string) (path string, found bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed (.ci/hosts installs it on Debian as root)", name)
		}
		t.Logf("%s is not installed: its pages are not tested here", name)
	}
	return path, err == nil
}

// debianPython is the one that Debian's packages are for.
const debianPython = "/usr/bin/python3"

// having reports whether a command succeeds; a host that needs it is left out as
// one whose program is missing.
func having(t *testing.T, what, program string, args ...string) bool {
	t.Helper()
	err := exec.Command(program, args...).Run()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed (.ci/hosts installs it on Debian as root)", what)
		}
		t.Logf("%s is not installed: its pages are not tested here", what)
	}
	return err == nil
}

// source copies the pages of a host, with the address of the site in them.
func source(t *testing.T, host, root string) string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join("testdata", "hosts", host)
	err := filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, name)
		if err != nil || entry.IsDir() {
			return cmp.Or(err, os.MkdirAll(filepath.Join(dir, relative), 0o755))
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, relative), []byte(strings.ReplaceAll(string(data), "ROOT", root)), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a host's program in a folder.
func run(t *testing.T, dir string, environment []string, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// sphinx builds a document with the directive in a format and returns its folder.
func sphinx(t *testing.T, program, document, root, format string) string {
	t.Helper()
	module, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := source(t, document, root)
	// -W: a warning is an error.
	run(t, dir, []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + filepath.Join(module, "web", "sphinx")}, program, "-q", "-W", "-b", format, "-d", "doctrees", ".", "out")
	return filepath.Join(dir, "out")
}

// hosts make the page of a course with two figures, and return its folder.
var hosts = map[string]func(t *testing.T, root string) (dir string, ok bool){
	"sphinx": func(t *testing.T, root string) (string, bool) {
		program, ok := tool(t, "sphinx-build")
		if !ok {
			return "", false
		}
		return sphinx(t, program, "sphinx", root, "html"), true
	},
	"myst": func(t *testing.T, root string) (string, bool) {
		program, ok := tool(t, "sphinx-build")
		if !ok || !having(t, "MyST for Sphinx", debianPython, "-c", "import myst_parser") {
			return "", false
		}
		return sphinx(t, program, "myst", root, "html"), true
	},
	"mkdocs": func(t *testing.T, root string) (string, bool) {
		program, ok := tool(t, "mkdocs")
		if !ok {
			return "", false
		}
		dir := source(t, "mkdocs", root)
		run(t, dir, nil, program, "build", "--quiet", "--strict", "--site-dir", "out")
		return filepath.Join(dir, "out"), true
	},
	"nbconvert": func(t *testing.T, root string) (string, bool) {
		program, ok := tool(t, "jupyter-nbconvert")
		if !ok {
			return "", false
		}
		dir := source(t, "nbconvert", root)
		// Without its libraries from other hosts, which the figures do not need.
		run(t, dir, nil, program, "--to", "html", "--HTMLExporter.mathjax_url=none.js", "--HTMLExporter.require_js_url=none.js", "index.ipynb")
		if err := os.WriteFile(filepath.Join(dir, "none.js"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return dir, true
	},
	"reveal": func(t *testing.T, root string) (string, bool) {
		module, err := build.Root()
		if err != nil {
			t.Fatal(err)
		}
		dir := source(t, "reveal", root)
		for _, name := range []string{"reveal.js", "reveal.css"} {
			data, err := os.ReadFile(filepath.Join(module, "web", "build", "node_modules", "reveal.js", "dist", name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir, true
	},
}

// Pages of real hosts, on another site than ours, show two figures each: as
// high as they need, telling their state, with what is locked and hidden so.
func TestHosts(t *testing.T) {
	for name, make := range hosts {
		t.Run(name, func(t *testing.T) {
			root := serve(t, "/cours/gpu")
			dir, ok := make(t, root)
			if !ok {
				return
			}
			files := site.Handler(os.DirFS(dir))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/favicon.ico" { // asked for by the browser, whatever the page
					w.WriteHeader(http.StatusNoContent)
					return
				}
				files.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			tab := opened(t, view{height: 1600})
			console, err := watch(tab)
			if err != nil {
				t.Fatal(err)
			}
			before(tab, `self.heard = []; for (const type of ["ready", "height", "state", "answer"]) addEventListener(type, (e) => e.target.tagName === "VRAMETRE-FIGURE" && heard.push({type, on: e.target.getAttribute("figure"), ...e.detail}));`)
			tab.navigate(strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/")
			if name == "reveal" {
				eval[any](tab, `Reveal.slide(1)`)
			}
			for _, figure := range []string{"timeline", "memory"} {
				if name == "reveal" && figure == "memory" {
					eval[any](tab, `Reveal.slide(2)`)
				}
				eval[any](tab, fmt.Sprintf(`document.querySelector("[figure=%s]").scrollIntoView({behavior: "instant"})`, figure))
				tab.heard(fmt.Sprintf(`e.type === "ready" && e.on === %q`, figure))
			}
			if name == "reveal" { // the slide of the first figure once more: it tells its state again
				eval[any](tab, `(heard.length = 0, Reveal.slide(1))`)
				tab.heard(`e.type === "state" && e.on === "timeline" && e.state.includes("batch=64")`)
			}
			frames := framesOf(tab, root)
			for figure, least := range map[string]float64{"timeline": 350, "memory": 300} {
				frame := frames[figure]
				if frame == nil {
					t.Fatalf("no frame of %s among %d", figure, len(frames))
				}
				// The page's own measure of the figure is the height of the frame around it.
				frame.until(`innerHeight === Math.ceil(document.documentElement.getBoundingClientRect().height)`)
				if got := eval[[]float64](frame, `[innerHeight, document.documentElement.scrollHeight - innerHeight, document.documentElement.scrollWidth - innerWidth]`); got[0] < least || got[1] > 0 || got[2] > 0 {
					t.Errorf("%s: height and overflow %v", figure, got)
				}
			}
			timeline, memory := frames["timeline"], frames["memory"]
			if got := eval[[]bool](timeline, `[...["batch", "side"].map((name) => document.querySelector("[data-control=" + name + "]").disabled), ...[".whole", ".twin", "[data-island=settings]"].map((s) => document.querySelector(s).checkVisibility())]`); !slices.Equal(got, []bool{false, true, false, false, true}) {
				t.Errorf("locked and hidden: %v", got)
			}
			if got := eval[string](memory, `document.documentElement.lang + document.documentElement.dataset.theme`); got != "enlight" {
				t.Errorf("language and theme: %s", got)
			}
			timeline.put(`[data-control=batch][type=range]`, "128")
			tab.heard(`e.type === "state" && e.on === "timeline" && e.state.includes("batch=128") && e.result.live > 8e8`)
			for _, message := range console() {
				t.Errorf("console: %s", message)
			}
			nothingSaid(t, frames)
		})
	}
}

// On paper and in books the directive gives the picture of the figure and a
// link to it, and the link alone where there is no picture.
func TestSphinxOnPaper(t *testing.T) {
	program, ok := tool(t, "sphinx-build")
	if !ok {
		return
	}
	server := httptest.NewServer(http.StripPrefix("/cours", site.Handler(os.DirFS(built))))
	t.Cleanup(server.Close)
	root := server.URL + "/cours/"
	link := func(escape string) string {
		return strings.NewReplacer("#", escape+"#", "&", escape+"&").Replace(root + "embed/timeline/#v=1&batch=64&hide=nav,table&lock=side")
	}

	latex := sphinx(t, program, "sphinx", root, "latex")
	text := fileWith(t, latex, ".tex")
	for _, want := range []string{`\sphinxhref{` + link(`\`) + `}{\sphinxincludegraphics`, "timeline.fr}.png", "memory.en}.png", `\caption{Une étape, \sphinxstyleemphasis{opération} par opération.}`, `recall\sphinxhyphen{}weights/\#v=1}{Question}`} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.ReplaceAll(want, `recall\sphinxhyphen{}weights`, "recall-weights")) {
			t.Errorf("LaTeX: no %s in\n%s", want, text[strings.Index(text, `\begin{document}`):])
		}
	}
	if _, err := os.Stat(filepath.Join(latex, "tank.fr.png")); err == nil || !strings.Contains(text, "}{Le réservoir sans ses nombres}") {
		t.Errorf("LaTeX: a picture shows what is hidden (%v), or no link stands for it in\n%s", err, text[strings.Index(text, `\begin{document}`):])
	}
	if n := strings.Count(text, "sans ses nombres"); n != 1 {
		t.Errorf("LaTeX: the caption of what has no picture is there %d times", n)
	}
	same(t, filepath.Join(latex, "timeline.fr.png"), filepath.Join(built, "figures", "timeline.fr.png"))

	book, err := zip.OpenReader(filepath.Join(sphinx(t, program, "sphinx", root, "epub"), "Cours.epub"))
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	page, err := fs.ReadFile(book, "index.xhtml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`href="` + strings.ReplaceAll(link(""), "&", "&amp;") + `"`, `src="_images/timeline.fr.png"`, ">Le réservoir sans ses nombres<", `alt="Une étape, opération par opération."`, ">Question<"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("EPUB: no %s in\n%s", want, page)
		}
	}
	for _, no := range []string{"<vrametre-figure", "<iframe", "embed.js"} {
		if strings.Contains(string(page), no) {
			t.Errorf("EPUB: %s in\n%s", no, page)
		}
	}
	if _, err := fs.Stat(book, "_images/memory.en.png"); err != nil {
		t.Error(err)
	}
}

// Moodle leaves a teacher's Page as it is, and cleans what is written in a forum:
// the frame goes, the link stays and leads to the same figure.
func TestForumsKeepTheLink(t *testing.T) {
	if !having(t, "bleach", debianPython, "-c", "import bleach") {
		return
	}
	root := serve(t, "/cours/gpu")
	tab := open(t, root+"#v=1&batch=64", view{})
	eval[any](tab, `document.querySelector("[data-integrate=timeline]").click()`)
	snippet := eval[string](tab, `(() => {
		const format = document.querySelector("[data-choose=format]");
		format.value = "moodle";
		format.dispatchEvent(new Event("input", {bubbles: true}));
		return document.querySelector("#integrate-code").value;
	})()`)
	clean := exec.Command(debianPython, filepath.Join("testdata", "hosts", "moodle", "clean.py"))
	clean.Stdin = strings.NewReader(snippet)
	out, err := clean.Output()
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`^<p></p>\s*<p><a href="([^"]+)" target="_blank"[^>]*>Une étape d’entraînement, opération par opération</a></p>\s*$`).FindSubmatch(out)
	if link == nil {
		t.Fatalf("of\n%s\nremains\n%s", snippet, out)
	}
	tab.navigate(html.UnescapeString(string(link[1])))
	tab.awake()
	if got := eval[string](tab, `document.body.dataset.embed + document.querySelector("[data-control=batch]").value`); got != "timeline64" {
		t.Errorf("the link leads to %s", got)
	}
}

// A mistake in a document is told with its place.
func TestSphinxMistakes(t *testing.T) {
	program, ok := tool(t, "sphinx-build")
	if !ok {
		return
	}
	module, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	mistakes := []struct{ directive, want string }{
		{".. vrametre:: nothing", `index.rst:4: ERROR: vrametre: "nothing" unknown; choose from "slots"`},
		{".. vrametre:: timeline\n   :hide: all", `"all" unknown; choose from "settings"`},
		{".. vrametre:: timeline\n   :lock: a b\"c", `is no name: names are separated by commas`},
		{".. vrametre:: timeline\n   :theme: blue", `"blue" unknown; choose from "light", or "dark"`},
		{".. vrametre:: timeline\n   :height: -1", "negative or zero value"},
		{".. vrametre:: timeline\n   :nothing: 1", `unknown option: "nothing"`},
	}
	document := "A\n=\n"
	for _, m := range mistakes {
		document += "\n" + m.directive + "\n"
	}
	dir := source(t, "sphinx", "http://127.0.0.1:1/")
	if err := os.WriteFile(filepath.Join(dir, "index.rst"), []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Join(module, "web", "sphinx"))
	cmd := exec.Command(program, "-q", "-b", "html", dir, filepath.Join(dir, "out"))
	cmd.Env = environment
	out, _ := cmd.CombinedOutput() // mistakes are told, the rest is built
	for _, m := range mistakes {
		if !strings.Contains(string(out), m.want) {
			t.Errorf("%q: no %s in\n%s", m.directive, m.want, out)
		}
	}
	dir = source(t, "sphinx", "")
	cmd = exec.Command(program, "-q", "-b", "html", dir, filepath.Join(dir, "out"))
	cmd.Env = environment
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "vrametre_url is not set in conf.py") {
		t.Errorf("without an address: %v, %s", err, out)
	}
}

// fileWith is what a folder's file of an extension holds.
func fileWith(t *testing.T, dir, extension string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %v, %v", extension, names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func same(t *testing.T, a, b string) {
	t.Helper()
	first, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Errorf("%s is not %s", a, b)
	}
}
