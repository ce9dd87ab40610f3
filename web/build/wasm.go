package build

import (
	"os"
	"path/filepath"
	"strings"
)

// Without inlining the module is smaller by a tenth. The runtime keeps it: maps
// and allocations are on the path of every move of a slider, which takes two
// thirds of the time then.
var gcflags = []string{"-gcflags=all=-l", "-gcflags=runtime=", "-gcflags=internal/runtime/...="}

// program is one of the site's WebAssembly modules.
type program struct {
	// name starts its files' names; dir holds its sources.
	name, dir string
	// tags are those of its build.
	tags string
}

var (
	// lessonProgram wakes the lesson. The tag lean leaves out the other presets,
	// the readers of pasted models and messages, and the islands of other pages.
	lessonProgram = program{name: Lesson, dir: "./wasm", tags: "lean"}
	// workshopProgram wakes every other page.
	workshopProgram = program{name: Workshop, dir: "./wasm"}
	// engineProgram is the whole engine, loaded when a request needs it.
	engineProgram = program{name: "engine", dir: "./wasm/engine"}
)

// Names of the programs that wake pages: a page says which one is its own in
// its root element's attribute data-program.
const (
	Lesson   = "lesson"
	Workshop = "workshop"
)

// compile builds a program for the browser. Names of functions are kept for
// the size report only.
func (p program) compile(root string, names bool) ([]byte, error) {
	modfile, err := makeCuts(root, filepath.Join(root, "build", "cut"))
	if err != nil {
		return nil, err
	}
	ldflags := "-buildid="
	if !names {
		ldflags += " -s -w"
	}
	out := filepath.Join(root, "build", p.name+".wasm")
	args := append([]string{"build", "-modfile=" + modfile, "-tags=" + p.tags, "-trimpath", "-buildvcs=false"}, gcflags...)
	if _, err := run(root, wasmEnv, "go", append(args, "-ldflags="+ldflags, "-o", out, p.dir)...); err != nil {
		return nil, err
	}
	module, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return pack(module)
}

var wasmEnv = []string{"GOOS=js", "GOARCH=wasm", "GOFLAGS=-mod=mod", "GOWORK=off"}

// packages lists the import paths linked into the program.
func (p program) packages(root string) ([]string, error) {
	modfile, err := makeCuts(root, filepath.Join(root, "build", "cut"))
	if err != nil {
		return nil, err
	}
	out, err := run(root, wasmEnv, "go", "list", "-modfile="+modfile, "-tags="+p.tags, "-deps", p.dir)
	if err != nil {
		return nil, err
	}
	return append(strings.Fields(string(out)), "main"), nil
}

// goRuntime is the script with which Go's programs run in a browser, of the compiler in use.
func goRuntime(root string) (string, error) {
	out, err := run(root, nil, "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	name := filepath.Join(strings.TrimSpace(string(out)), "lib", "wasm", "wasm_exec.js")
	_, err = os.Stat(name)
	return name, err
}
