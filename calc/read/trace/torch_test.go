package trace_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vrametre/calc/optim"
	"vrametre/calc/read/readtest"
	"vrametre/calc/read/trace"
	"vrametre/calc/torch"
	"vrametre/calc/walk"
)

type truth struct{ Batch, Saved, Forward, Backward int64 }

func step(t *testing.T, tr *trace.Trace, batch int64) (*torch.Program, walk.Peaks) {
	t.Helper()
	d, ok := torch.ParseDType(tr.DType)
	if !ok {
		t.Fatalf("type %q", tr.DType)
	}
	p, err := tr.Program(trace.Options{Batch: batch, Train: true, DType: d})
	if err != nil {
		t.Fatal(err)
	}
	return p, walk.Run(p, walk.Config{Train: true, Optimizer: optim.Config{Name: "sgd"}, Iterations: 2}, nil).First
}

// TestAgainstPyTorch exports each network of testdata/zoo.py and compares the import with what was measured beside
// it, to the byte, also at a batch size that was not traced.
func TestAgainstPyTorch(t *testing.T) {
	py := readtest.Python(t)
	if py == "" {
		return
	}
	dir := t.TempDir()
	if out, err := exec.Command(py, filepath.Join("testdata", "zoo.py"), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.truth.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d networks measured: %v", len(files), err)
	}
	freezes, err := filepath.Glob(filepath.Join(dir, "*.frozen.json"))
	if err != nil || len(freezes) < 9 {
		t.Fatalf("%d networks measured with frozen modules: %v", len(freezes), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".truth.json")
		data, err := os.ReadFile(filepath.Join(dir, name+".trace.json"))
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 300_000 {
			t.Errorf("%s: the trace has %d bytes", name, len(data))
		}
		tr, err := trace.Parse(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want []truth
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			p, peaks := step(t, tr, w.Batch)
			if got := (truth{w.Batch, p.Saved, peaks[walk.Forward], peaks[walk.Backward]}); got != w {
				t.Errorf("%s: %+v, measured %+v", name, got, w)
			}
		}
		if f := filepath.Join(dir, name+".frozen.json"); slices.Contains(freezes, f) {
			frozen(t, f, tr)
		}
	}
}

// frozen compares a network frozen after its trace with what was measured when it was frozen in PyTorch: what is saved and
// the backward to the byte. Variables of a forward written out can hold what the trace cannot know, up to a twentieth of
// its peak.
func frozen(t *testing.T, file string, tr *trace.Trace) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Paths []string
		Truth []truth
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	tr, err = tr.Freeze(c.Paths)
	if err != nil {
		t.Error(err)
		return
	}
	for _, w := range c.Truth {
		p, peaks := step(t, tr, w.Batch)
		got := truth{w.Batch, p.Saved, peaks[walk.Forward], peaks[walk.Backward]}
		if got.Saved != w.Saved || got.Backward != w.Backward || got.Forward > w.Forward || got.Forward < w.Forward-w.Forward/20 {
			t.Errorf("%s: %+v, measured %+v", file, got, w)
		}
	}
}

// TestExporterUses runs the ways to call the exporter, and checks what it must leave as it was.
func TestExporterUses(t *testing.T) {
	py := readtest.Python(t)
	if py == "" {
		return
	}
	if out, err := exec.Command(py, filepath.Join("testdata", "uses.py")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestExporterRefuses runs the command on what it must refuse, with a sentence that says why.
func TestExporterRefuses(t *testing.T) {
	py := readtest.Python(t)
	if py == "" {
		return
	}
	script, err := filepath.Abs("../../../content/python/vrametre_trace.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"refused:linear", "--input", "8", "--batch", "1"}, "at batch 1 some copies are not made"},
		{[]string{"refused:linear", "--input", "8,x"}, "write the sizes of one sample"},
		{[]string{"refused:linear", "--input", "8", "--loss", "hinge"}, "is not one of cross_entropy"},
		{[]string{"refused:frozen", "--input", "8"}, "nothing to train"},
		{[]string{"refused:branches", "--input", "8"}, "depend on the batch size"},
		{[]string{"refused:square", "--input", "8", "--loss", "none"}, "not a + b * batch"},
		{[]string{"refused", "--input", "8"}, "write module:function"},
		{[]string{"absent:model", "--input", "8"}, "absent"},
	} {
		cmd := exec.Command(py, append([]string{script, "--output", filepath.Join(t.TempDir(), "t.json")}, c.args...)...)
		cmd.Dir = "testdata"
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "Traceback") {
			t.Errorf("%v: %v, %q lacks %q", c.args, err, out, c.want)
		}
	}
}
