package build

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compileSample compiles testdata/program as the page's module is.
func compileSample(t *testing.T) (root string, module []byte) {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "program.wasm")
	args := append(append([]string{"build", "-trimpath"}, gcflags...), "-o", out, "./web/build/testdata/program")
	if _, err := run(root, []string{"GOOS=js", "GOARCH=wasm"}, "go", args...); err != nil {
		t.Fatal(err)
	}
	module, err = os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return root, module
}

// runSample runs a module under Node and returns all that it writes.
func runSample(t *testing.T, root string, module []byte) string {
	t.Helper()
	glue, err := goRuntime(root)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "program.wasm")
	if err := os.WriteFile(name, module, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("node", filepath.Join(filepath.Dir(glue), "wasm_exec_node.js"), name).CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return string(out)
}

// A program without line numbers runs as before: garbage is collected, panics
// are recovered, stacks grow, traces name their functions.
func TestPackedProgramRuns(t *testing.T) {
	root, module := compileSample(t)
	packed, err := pack(module)
	if err != nil {
		t.Fatal(err)
	}
	before, after := runSample(t, root, module), runSample(t, root, packed)
	for _, want := range []string{
		"tree 2047\n", "error recovered: runtime error: index out of range", "stacks 108000\n",
		"wrapped true\n", "deferred\n", "panic: the end", "main.main(",
	} {
		if !strings.Contains(before, want) || !strings.Contains(after, want) {
			t.Errorf("no %q in\n%s\nor in\n%s", want, before, after)
		}
	}
	if !strings.Contains(before, "caller main.main false true") || !strings.Contains(before, "main.go:") {
		t.Errorf("the whole program has no lines:\n%s", before)
	}
	if !strings.Contains(after, "caller main.main true true") || strings.Contains(after, "main.go:") {
		t.Errorf("the packed program has lines:\n%s", after)
	}
}

func TestDropLines(t *testing.T) {
	_, module := compileSample(t)
	memory := memoryOf(segmentsOf(t, module))
	table, ok := findPclntab(memory)
	if !ok {
		t.Fatal("Go's tables of functions are not where this package knows them: compare wasmlines.go with runtime/symtab.go and runtime/runtime2.go of this Go")
	}
	if table.count < 1000 {
		t.Errorf("%d functions", table.count)
	}
	names := map[string]bool{}
	for i := range table.count {
		name := table.names[field(table.function(i), funcName):]
		names[string(name[:bytes.IndexByte(name, 0)])] = true
	}
	for _, want := range []string{"main.main", "main.deep", "runtime.mallocgc", "fmt.Fprintln"} {
		if !names[want] {
			t.Errorf("no function %s", want)
		}
	}
	if !dropLines(memory) {
		t.Fatal("no lines dropped")
	}
	once := bytes.Clone(memory)
	if !dropLines(memory) || !bytes.Equal(memory, once) {
		t.Error("dropping lines twice changes more")
	}
	// Whatever is not such a table stays as it is.
	for name, other := range map[string][]byte{
		"nothing":       nil,
		"the magic":     pcHeader,
		"a magic in it": bytes.Repeat(append(bytes.Clone(pcHeader), bytes.Repeat([]byte{7}, 90)...), 5),
		"a part of it":  bytes.Clone(once[:table.functions+100]),
	} {
		was := bytes.Clone(other)
		if dropLines(other) || !bytes.Equal(other, was) {
			t.Errorf("%s is taken for a table", name)
		}
	}
}
