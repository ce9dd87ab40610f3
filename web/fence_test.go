package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vrametre/content"
	"vrametre/web/figure"
)

const module = "vrametre"

// root is the module's folder, seen from this package's.
const root = ".."

// fence forbids imports: what a set of packages may not depend on, and why.
type fence struct {
	// packages is a pattern of go list, from the module's folder.
	packages string
	// environment of go list, where the packages are built for another system.
	environment []string
	// direct: only what the packages import themselves counts. Otherwise whatever they end up with does.
	direct    bool
	forbidden []string
	why       string
}

var fences = []fence{
	{
		packages: "./calc/...", direct: true,
		forbidden: []string{"os", "os/...", "net", "net/...", "syscall", "syscall/...", "log", "log/...", "io/ioutil", "path/filepath"},
		why:       "the engine has no input and no output: it answers the same in the browser, in the command and under test",
	},
	{
		packages: "./calc/...", direct: true,
		forbidden: []string{"time", "math/rand", "math/rand/..."},
		why:       "the same request has the same answer, today and tomorrow",
	},
	{
		packages:  "./calc/...",
		forbidden: []string{"syscall/js", "github.com/maxence-charriere/...", "github.com/go-echarts/...", module + "/web/...", module + "/wasm/..."},
		why:       "the engine knows no page",
	},
	{
		packages:  "./calc/...",
		forbidden: []string{module + "/content/..."},
		why:       "the engine speaks codes: sentences are content's",
	},
	{
		packages:  "./content/...",
		forbidden: []string{module + "/calc/...", module + "/web/...", module + "/wasm/...", "github.com/maxence-charriere/...", "syscall/js"},
		why:       "words are data: whoever shows them depends on them, not the other way round",
	},
	{
		packages:  "./content",
		forbidden: []string{"regexp", "net/...", "html/...", "text/template", module + "/content/lesson", module + "/content/typography"},
		why:       "the catalogue is in the wasm, and every dependency is downloaded by every reader",
	},
	{
		packages: "./web/view/...", direct: true,
		forbidden: []string{"syscall/js", "net/...", "html/...", "text/template", "regexp", "github.com/...", module + "/content/lesson", module + "/content/typography"},
		why:       "the view is pure and small: the generator and the wasm write the same texts with it",
	},
	{
		packages: "./web/ui/...", environment: []string{"GOOS=js", "GOARCH=wasm"}, direct: true,
		forbidden: []string{"syscall/js"},
		why:       "components are tested without a browser: only wasm/ touches one",
	},
	{
		packages: "./wasm/...", environment: []string{"GOOS=js", "GOARCH=wasm"},
		forbidden: []string{module + "/content/lesson", module + "/content/python", module + "/content/typography", module + "/web/site/...", module + "/web/build/...", "github.com/yuin/...", "github.com/invopop/...", "github.com/chromedp/...", "gopkg.in/..."},
		why:       "the prose is in the pages already, and the generator's libraries stay on the builder's machine",
	},
	{
		packages: "./wasm/...", environment: []string{"GOOS=js", "GOARCH=wasm"},
		forbidden: []string{module + "/calc/validate/..."},
		why:       "the measured cases stand in their page: no reader downloads them with the engine",
	},
}

// testHelpers are packages of tests, which run programs, read and write files.
var testHelpers = []string{module + "/calc/read/readtest", module + "/calc/validate/exacttest"}

func TestFences(t *testing.T) {
	for _, f := range fences {
		for importer, imported := range imports(t, f) {
			if slices.Contains(testHelpers, importer) {
				continue
			}
			for _, path := range imported {
				for _, pattern := range f.forbidden {
					if matches(pattern, path) {
						t.Errorf("%s imports %s: %s", importer, path, f.why)
					}
				}
			}
		}
	}
}

// imports lists what the packages of a fence import, by importer.
func imports(t *testing.T, f fence) map[string][]string {
	t.Helper()
	args := []string{"list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`}
	if !f.direct {
		args = append(args, "-deps")
	}
	cmd := exec.Command("go", append(args, f.packages)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), f.environment...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", f.packages, err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		// In a closure the standard library's own imports are its business.
		if strings.HasPrefix(words[0], module) || strings.Contains(words[0], ".") {
			all[words[0]] = words[1:]
		}
	}
	if len(all) == 0 {
		t.Fatalf("no packages in %s", f.packages)
	}
	return all
}

func matches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	}
	return path == pattern
}

// sources calls visit with every Go file of the folders, tests left out.
func sources(t *testing.T, folders []string, visit func(name string, file *ast.File, positions *token.FileSet)) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), "_")):
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			positions := token.NewFileSet()
			file, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			visit(path, file, positions)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func stringLiterals(node ast.Node, visit func(value string, at token.Pos)) {
	ast.Inspect(node, func(n ast.Node) bool {
		if _, isImport := n.(*ast.ImportSpec); isImport {
			return false
		}
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if value, err := strconv.Unquote(literal.Value); err == nil {
				visit(value, literal.Pos())
			}
		}
		return true
	})
}

var french = regexp.MustCompile(`[àâçéèêëîïôùûœÀÇÉÈÊ«»]|(?i)\b(les|des|une|est|votre|vous|pas|avec|pour|dans|mémoire|lot)\b`)

// The product's own name is the one French word that code may hold.
func TestNoFrenchInCode(t *testing.T) {
	sources(t, []string{"web", "wasm"}, func(name string, file *ast.File, positions *token.FileSet) {
		stringLiterals(file, func(value string, at token.Pos) {
			if found := french.FindString(strings.ReplaceAll(value, "vramètre", "")); found != "" {
				t.Errorf("%s: %q holds French (%q): words are content's", positions.Position(at), value, found)
			}
		})
	})
}

// Every text that is asked for exists, and every text that exists is asked for:
// by its key, by the beginning of a key that code completes ("kind."), or as a
// variant of another one ("verdict.over.short").
func TestTextsAreUsedAndPresent(t *testing.T) {
	keys := content.Keys(content.French)
	used := map[string]bool{figure.Predict + ".": true, figure.Recall + ".": true} // questions complete their kind
	form := regexp.MustCompile(`^[a-z]+(\.[a-zA-Z0-9_-]+)*\.?$`)
	sources(t, []string{"web", "wasm"}, func(name string, file *ast.File, positions *token.FileSet) {
		stringLiterals(file, func(value string, at token.Pos) {
			if strings.Contains(value, ".") && form.MatchString(value) {
				used[value] = true
			}
		})
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			callee := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				callee = f.Name
			case *ast.SelectorExpr:
				callee = f.Sel.Name
			}
			literal, ok := call.Args[1].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || !slices.Contains([]string{"Text", "Has", "text", "filled"}, callee) {
				return true
			}
			if key, err := strconv.Unquote(literal.Value); err == nil && !slices.Contains(keys, key) {
				t.Errorf("%s: no text %q", positions.Position(literal.Pos()), key)
			}
			return true
		})
	})
	inTemplate := regexp.MustCompile(`\bt (?:"([^"]+)"|\(printf "([^"%]+))`)
	templates, err := filepath.Glob("site/templates/*.html")
	if err != nil || len(templates) == 0 {
		t.Fatalf("templates: %v, %v", templates, err)
	}
	for _, name := range templates {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inTemplate.FindAllStringSubmatch(string(data), -1) {
			used[m[1]+m[2]] = true
			if m[1] != "" && !slices.Contains(keys, m[1]) {
				t.Errorf("%s: no text %q", name, m[1])
			}
		}
	}
	for _, key := range keys {
		asked := used[key]
		for i, r := range key {
			// The beginning with its dot, or a whole key before the dot.
			if r == '.' && (used[key[:i+1]] || used[key[:i]] && slices.Contains(keys, key[:i])) {
				asked = true
			}
		}
		if !asked {
			t.Errorf("the text %q is never asked for", key)
		}
	}
}

// What runs with the rights to publish is named by the commit that was read: a
// tag can be moved to another.
func TestActionsArePinned(t *testing.T) {
	workflows, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(workflows) == 0 {
		t.Fatal(workflows, err)
	}
	pinned := regexp.MustCompile(`^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, name := range workflows {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if _, action, ok := strings.Cut(line, "uses: "); ok && !pinned.MatchString(action) {
				t.Errorf("%s: %s", name, action)
			}
		}
	}
}
