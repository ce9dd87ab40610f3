package models

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// counted is what a built preset registers.
func counted(t testing.TB, name string, args map[string]any) (params, tensors, bytes, buffers int64) {
	t.Helper()
	p, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	g := torch.NewGraph(1, torch.Rules{})
	a := nn.NewArgs(name, "model.preset_args", args)
	net := p.Build(&nn.Builder{G: g, Training: true}, a)
	if err := a.Finish(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, w := range g.Parameters() {
		tensors++
		params += g.StorageBytes(w) / g.DType(w).Size()
	}
	var walk func(m *torch.Module)
	walk = func(m *torch.Module) {
		for _, b := range m.Buffers {
			buffers++
			bytes += g.StorageBytes(b)
		}
		for _, c := range m.Children {
			walk(c)
		}
	}
	walk(net.Root.Module)
	return
}

// TestParameters compares every torchvision constructor with torchvision 0.14.1 itself:
// sum(p.numel() for p in m.parameters()), and the same for its buffers.
func TestParameters(t *testing.T) {
	f, err := os.Open("testdata/torchvision.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[1:] {
		args := map[string]any{}
		if k, v, ok := strings.Cut(r[1], "="); ok {
			args[k] = v == "true"
		}
		params, tensors, bytes, buffers := counted(t, r[0], args)
		for i, got := range []int64{params, tensors, bytes, buffers} {
			if want, err := strconv.ParseInt(r[i+2], 10, 64); err != nil || got != want {
				t.Errorf("%s %s: %s %d, torchvision has %s", r[0], r[1], rows[0][i+2], got, r[i+2])
			}
		}
	}
}
