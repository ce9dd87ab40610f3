package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"vrametre/calc/fault"
	"vrametre/calc/optim"
	"vrametre/calc/read/readtest"
	"vrametre/calc/read/trace"
	"vrametre/calc/torch"
	"vrametre/calc/walk"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// edited is a sample with one piece of text replaced.
func edited(t *testing.T, old, new string) []byte {
	t.Helper()
	data := sample(t, "lesson")
	if bytes.Count(data, []byte(old)) == 0 {
		t.Fatalf("the sample has no %q", old)
	}
	return bytes.Replace(data, []byte(old), []byte(new), 1)
}

func TestBadTraces(t *testing.T) {
	events := `"events":[`
	for _, c := range []struct {
		name     string
		data     []byte
		code, at string
	}{
		{"empty", nil, "trace-format", ""},
		{"not JSON", []byte("PK\x03\x04"), "trace-format", ""},
		{"another JSON", []byte(`{"model_type":"llama"}`), "trace-format", "format"},
		{"cut", sample(t, "lesson")[:2000], "json-integer", "train.calls"},
		{"more after the end", append(sample(t, "lesson"), '1'), "json-syntax", ""},
		{"newer", edited(t, `"version":1`, `"version":2`), "trace-newer", "version"},
		{"no version of PyTorch", edited(t, `"torch":"1.13.0a0"`, `"torch":"nightly"`), "trace-torch", "torch"},
		{"NaN size", edited(t, `"sizes":[`, `"sizes":[NaN,`), "json-integer", "sizes"},
		{"size of 2^63", edited(t, `"sizes":[`, `"sizes":[9223372036854775808,`), "json-number", "sizes"},
		{"size of 2^62", edited(t, `"sizes":[`, `"sizes":[4611686018427387904,`), "json-range", "sizes"},
		{"fraction", edited(t, `"sizes":[`, `"sizes":[1.5,`), "json-integer", "sizes"},
		{"half a size", edited(t, `"sizes":[`, `"sizes":[1,`), "json-row", "sizes"},
		{"negative dimension", edited(t, `"0.weight",[32`, `"0.weight",[-32`), "json-range", "parameters"},
		{"dimension of 2^63", edited(t, `"0.weight",[32`, `"0.weight",[9223372036854775807`), "json-range", "parameters"},
		{"larger than its storage", edited(t, `"0.weight",[32`, `"0.weight",[33`), "trace-parameter", "parameters[0]"},
		{"unknown event", edited(t, events, events+"9,"), "trace-event", "train.events[0]"},
		{"freed twice", edited(t, events, events+"1,0,0,2,14,2,14,"), "trace-event", "train.events[5]"},
		{"frees a parameter", edited(t, events, events+"2,0,"), "trace-event", "train.events[0]"},
		{"gradient in forward", edited(t, events, events+"1,0,0,4,0,14,"), "trace-event", "train.events[3]"},
		{"reads what is not there", edited(t, events, events+"0,0,0,1,99,"), "trace-event", "train.events[0]"},
		{"reads beyond the end", edited(t, events, events+"0,0,0,2147483647,"), "trace-event", "train.events[0]"},
		{"negative operand", edited(t, events, events+"2,-1,"), "json-range", "train.events"},
		{"loss twice", edited(t, events, events+"6,7,7,"), "trace-event", "train.events[2]"},
		{"two losses", edited(t, `"loss":[`, `"loss":[99999,`), "trace-output", "train.loss[0]"},
		{"size table too short", edited(t, `"batch":[[`, `"batch":[[1000,0,1],[`), "json-range", "train.batch[0]"},
		{"deep", []byte(`{"x":` + strings.Repeat("[", 10_000)), "json-depth", "x"},
		{"long", make([]byte, trace.MaxBytes+1), "trace-large", ""},
	} {
		_, err := trace.Parse(c.data)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.At != c.at {
			t.Errorf("%s: %v, want %s at %q", c.name, err, c.code, c.at)
		}
	}
}

// TestSizes refuses a batch at which a size leaves the range, and takes every other.
func TestSizes(t *testing.T) {
	tr, err := trace.Parse(edited(t, `"sizes":[`, `"sizes":[-100,1,`))
	if err == nil { // every index has moved by one: the parameters no longer fit
		t.Fatal("a shifted size table was taken")
	}
	if tr, err = trace.Parse(sample(t, "lesson")); err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int64{1, 2, 3, 1000, 1 << 30} {
		if _, err := tr.Program(trace.Options{Batch: batch, Train: true}); err != nil {
			t.Errorf("batch %d: %v", batch, err)
		}
	}
	var f *fault.Error
	if _, err := tr.Program(trace.Options{Batch: 1 << 50, Train: true}); !errors.As(err, &f) || f.Code != "trace-size" || !strings.HasPrefix(f.At, "train.") {
		t.Errorf("batch 2^50: %v", err)
	}
}

// TestTypes scales what has the parameters' type, and nothing else.
func TestTypes(t *testing.T) {
	tr, err := trace.Parse(sample(t, "gpt"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(d torch.DType) int64 {
		p, err := tr.Program(trace.Options{Batch: 4, Train: true, DType: d})
		if err != nil {
			t.Fatal(err)
		}
		return p.Saved
	}
	single, double, half := at(torch.Float32), at(torch.Float64), at(torch.BFloat16)
	fixed := 2*single - double // masks and ids
	if fixed <= 0 || double <= single || 2*(half-fixed) != single-fixed {
		t.Errorf("saved: float32 %d, float64 %d, bfloat16 %d", single, double, half)
	}
}

// TestHostile bounds time and memory by what the largest file can make of each list.
func TestHostile(t *testing.T) {
	fill := func(head, item, tail string) []byte {
		n := (trace.MaxBytes - len(head) - len(tail)) / len(item)
		return []byte(head + strings.Repeat(item, n-1) + strings.TrimSuffix(item, ",") + tail)
	}
	for name, data := range map[string][]byte{
		"events":     fill(`{"format":"vrametre-trace","version":1,"ops":[],"sizes":[1,1],"dtypes":["x"],"parameters":[],"train":{"events":[`, "1,0,0,", "]}}"),
		"sizes":      fill(`{"sizes":[`, "0,", "]}"),
		"modules":    fill(`{"modules":[`, `["","",0,0],`, "]}"),
		"calls":      fill(`{"train":{"calls":[`, "[0,[1,1,1,1,1,1,1,1]],", "]}}"),
		"parameters": fill(`{"parameters":[`, `["",[1,1,1,1,1,1,1,1],0,0,0],`, "]}"),
		"resident":   fill(`{"train":{"resident":[`, "[0,0,0],", "]}}"),
		"names":      fill(`{"ops":[`, `"",`, "]}"),
		"skipped":    fill(`{"x":[`, `{"a":1},`, "]}"),
		"escapes":    []byte(`{"x":"` + strings.Repeat(`\u0041`, 600_000) + `"}`),
	} {
		readtest.Bound(t, name, func() error {
			tr, err := trace.Parse(data)
			if err == nil {
				_, err = tr.Program(trace.Options{Batch: 2, Train: true})
			}
			return err
		})
	}
}

// TestWide: operations that read and make as much as a file can say take time in proportion.
func TestWide(t *testing.T) {
	const n = 200_000
	head := `{"format":"vrametre-trace","version":1,"torch":"2.1","dtype":"float32","ops":["mm","convolution"],"modules":[["","",0,0]],"sizes":[40,0,0,4],"dtypes":["float32"],` +
		`"parameters":[["w",[1],0,1,0]],"mean_saved":[1],"train":{"resident":[[0,0,1]],"batch":[[1,0,1]],"calls":[[0,[2]]],"events":[3,1,0,`
	tail := `6,7,8],"outputs":[` + strings.Repeat("2,", n) + `2],"loss":[]}}`
	for name, events := range map[string]string{
		"reads":        fmt.Sprintf("0,0,0,%d,", n) + strings.Repeat("1,", n) + strings.Repeat("1,1,0,", n),
		"convolutions": strings.Repeat("0,1,0,1,1,1,1,0,", n),
		"saves":        strings.Repeat("1,1,0,3,2,0,", n) + "0,0,0,1,2,",
	} {
		data := []byte(head + events + tail)
		readtest.Bound(t, name, func() error {
			tr, err := trace.Parse(data)
			if err != nil {
				return err
			}
			p, err := tr.Program(trace.Options{Batch: 2, Train: true, DropMean: true, Autocast: torch.Float16})
			if err != nil {
				return err
			}
			tr.ConvOutputs(p)
			return fault.New("taken", "") // there is nothing wrong with it
		})
	}
}

// try reads data and runs what it says, with modules frozen too; anything but an error with a place is a fault of ours.
func try(data []byte) error {
	tr, err := trace.Parse(data)
	if err != nil {
		return err
	}
	for i, n := range tr.Model().Tree.Children {
		if frozen, err := tr.Freeze([]string{n.Path}); err == nil && i < 3 {
			if err := programs(frozen); err != nil {
				return err
			}
		}
	}
	return programs(tr)
}

func programs(tr *trace.Trace) error {
	for _, train := range []bool{true, false} {
		for _, batch := range []int64{1, 2, 7, 1 << 30} {
			p, err := tr.Program(trace.Options{Batch: batch, Train: train, DropMean: batch == 7, DType: torch.Float64, Autocast: []torch.DType{torch.Float32, torch.BFloat16}[batch%2]})
			if err != nil {
				continue
			}
			w := walk.Run(p, walk.Config{Train: train, Iterations: 3, KeepGrads: batch == 2, Optimizer: optim.Config{Name: "adam"}}, nil)
			if w.Peak < 0 || p.Saved < 0 {
				return fmt.Errorf("peak %d, saved %d", w.Peak, p.Saved)
			}
			tr.InputBytes(p)
			if train {
				tr.ConvOutputs(p)
			}
		}
	}
	tr.Family()
	tr.Recurrent()
	return nil
}

func FuzzTrace(f *testing.F) {
	for _, name := range []string{"lesson", "gpt"} {
		f.Add(sample(f, name))
	}
	f.Add([]byte(`{"format":"vrametre-trace","version":1,"torch":"2.1","dtype":"float32","ops":["mm"],"modules":[["","",0,0]],"sizes":[4,0,0,4],"dtypes":["float32"],` +
		`"parameters":[["w",[1],0,1,0]],"train":{"resident":[[0,0,1]],"batch":[[1,0,1]],"calls":[[0,[2]]],"events":[3,1,0,0,0,0,2,0,1,1,1,0,6,7,8,5,0,0,0,2,2],"outputs":[],"loss":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e *fault.Error
		if err := try(data); err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
}
