package calc

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

func tracedModel(t testing.TB, name string) Model {
	t.Helper()
	data, err := os.ReadFile("read/trace/testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return Model{Trace: data}
}

// TestTraceIsThePreset: the lesson's network traced in PyTorch 1.13 gives what the engine works out by itself.
func TestTraceIsThePreset(t *testing.T) {
	m := tracedModel(t, "lesson")
	no := false
	for _, r := range []Request{
		{Batch: 2},
		{Batch: 32, Optimizer: Optimizer{Name: "adam", Foreach: &no}},
		{Batch: 100, Optimizer: Optimizer{Name: "sgd", Momentum: 0.9}, Accumulation: 3},
		{Batch: 5, ZeroGrad: "set_to_none", Precision: "fp64"},
		{Batch: 16, Mode: "infer"},
		{Batch: 8, PyTorch: "2.6"},
	} {
		r.Want = []string{WantLayers, WantMaxBatch}
		if r.PyTorch == "" {
			r.PyTorch = "1.13"
		}
		p := r
		p.Model = Model{Preset: "lesson"}
		r.Model = m
		if r.PyTorch == "1.13" {
			r.PyTorch = "" // the trace's own
		}
		want, err := Estimate(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Estimate(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []struct {
			name string
			of   func(*Result) any
		}{
			{"parameters", func(r *Result) any { return r.Parameters }},
			{"rule of thumb", func(r *Result) any { return r.RuleOfThumb }},
			{"saved", func(r *Result) any { return r.SavedForBackward }},
			{"input saved", func(r *Result) any { return r.InputSaved }},
			{"first", func(r *Result) any { return r.First }},
			{"phases", func(r *Result) any { return r.Phases }},
			{"peak", func(r *Result) any { p := r.Peak; p.At = ""; return p }},
			{"largest batch", func(r *Result) any { return r.MaxBatch }},
			{"interval", func(r *Result) any { return r.Interval }},
		} {
			a, _ := json.Marshal(f.of(&got))
			b, _ := json.Marshal(f.of(&want))
			if string(a) != string(b) {
				t.Errorf("batch %d %s %s: %s is %s in the trace, %s in the preset", r.Batch, r.Mode, p.PyTorch, f.name, a, b)
			}
		}
		var saved int64
		for _, l := range got.Layers {
			saved += l.Saved
		}
		if saved != got.SavedForBackward {
			t.Errorf("the layers' saved bytes sum to %d of %d", saved, got.SavedForBackward)
		}
	}
}

// TestTraceShown: a trace shows its modules, also as a file, and gives the same answer.
func TestTraceShown(t *testing.T) {
	m := tracedModel(t, "gpt")
	shown, err := Read(Request{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	if shown.Parameters != 45440 || shown.Tree.Class != "Decoder" || shown.Tree.Params < shown.Parameters {
		t.Errorf("%d parameters, %s, %d in the tree", shown.Parameters, shown.Tree.Class, shown.Tree.Params)
	}
	f := Model{File: &File{Name: "trace.json", Base64: m.Trace}}
	if shown, err = Read(Request{Model: f}); err != nil || shown.Kind != "trace" {
		t.Errorf("%v %v", shown, err)
	}
	a, err := Estimate(Request{Model: m, Batch: 4})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Estimate(Request{Model: f, Batch: 4})
	if err != nil || a.Peak != b.Peak {
		t.Errorf("%+v as a trace, %+v as a file: %v", a.Peak, b.Peak, err)
	}
}

// TestTraceAutocast: a float32 trace asked about under autocast comes within a hundredth of the engine's own recording.
func TestTraceAutocast(t *testing.T) {
	r := Request{Model: tracedModel(t, "lesson"), Batch: 16, Precision: "amp-bf16"}
	got, err := Estimate(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Model, r.PyTorch = Model{Preset: "lesson"}, "1.13"
	want, err := Estimate(r)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][2]int64{
		"saved":    {got.SavedForBackward, want.SavedForBackward},
		"forward":  {got.First.Forward, want.First.Forward},
		"backward": {got.First.Backward, want.First.Backward},
		"step":     {got.First.Step, want.First.Step},
	} {
		if d := v[0] - v[1]; max(d, -d)*100 > v[1] {
			t.Errorf("%s: %d from the trace, %d recorded", name, v[0], v[1])
		}
	}
}

// TestTraceWarns names what was traced otherwise than it was asked for, and refuses what a trace cannot change.
func TestTraceWarns(t *testing.T) {
	for _, c := range []struct {
		r    Request
		code string
	}{
		{Request{PyTorch: "2.6"}, "trace-version"},
		{Request{Precision: "bf16"}, "trace-precision"},
		{Request{Precision: "amp-bf16"}, "trace-precision"},
		{Request{Batch: 1}, "trace-batch"},
	} {
		c.r.Model = tracedModel(t, "gpt")
		res, err := Estimate(c.r)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Warnings) != 1 || res.Warnings[0].Code != c.code {
			t.Errorf("%+v, want %s", res.Warnings, c.code)
		}
	}
	exact, err := Estimate(Request{Model: tracedModel(t, "gpt"), Batch: 2})
	if err != nil || len(exact.Warnings) > 0 {
		t.Errorf("warnings %+v, error %v for what was traced", exact.Warnings, err)
	}
	for field, r := range map[string]Request{
		"input":         {Input: Inputs{{Shape: []int64{3, 64, 64}}}},
		"checkpointing": {Checkpointing: Checkpointing{EveryBlock: true}},
		"loss":          {Loss: "mse"},
	} {
		r.Model = tracedModel(t, "lesson")
		_, err := Estimate(r)
		var e *Error
		if !errors.As(err, &e) || e.Code != "trace-fixed" || e.At != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestTraceFrozen: frozen modules lose their gradients and states, and what was kept for them alone.
func TestTraceFrozen(t *testing.T) {
	m := tracedModel(t, "lesson")
	all, err := Estimate(Request{Model: m, Batch: 8})
	if err != nil {
		t.Fatal(err)
	}
	// The beginning frozen is what the engine says of the preset.
	r := Request{Model: m, Batch: 8, Frozen: []string{"0", "3", "6"}}
	got, err := Estimate(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Model, r.PyTorch = Model{Preset: "lesson"}, "1.13"
	want, err := Estimate(r)
	if err != nil {
		t.Fatal(err)
	}
	if got.Parameters != want.Parameters || got.SavedForBackward != want.SavedForBackward || got.First != want.First || got.SavedForBackward >= all.SavedForBackward {
		t.Errorf("%+v, %d saved, %+v; the preset %+v, %d, %+v", got.Parameters, got.SavedForBackward, got.First, want.Parameters, want.SavedForBackward, want.First)
	}
	if len(got.Warnings) != 1 || got.Warnings[0].Code != "trace-frozen" {
		t.Errorf("%+v", got.Warnings)
	}
	for path, code := range map[string]string{"nowhere": "path-unknown", "0-20": "path-unknown"} {
		var e *Error
		if _, err := Estimate(Request{Model: m, Frozen: []string{path}}); !errors.As(err, &e) || e.Code != code || e.At != "frozen" {
			t.Errorf("%q: %v", path, err)
		}
	}
	var e *Error
	if _, err := Estimate(Request{Model: m, Frozen: []string{"0", "3", "6", "9", "13", "15"}}); !errors.As(err, &e) || e.Code != "nothing-trainable" {
		t.Errorf("all of it: %v", err)
	}
}

func fileModel(t testing.TB, path string) Model {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Model{File: &File{Name: path, Base64: data}}
}

// TestWeightsAlone: a file of weights whose network is not known gives what weights cost, and says what is missing.
func TestWeightsAlone(t *testing.T) {
	m := fileModel(t, "read/pickle/testdata/state.pt")
	const parameters, buffers = 75, 3*4 + 3*4 + 8 // the tied head counts once
	r, err := Estimate(Request{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	if r.Parameters.Total != parameters || r.Parameters.BuffersBytes != buffers || r.SavedForBackward != 0 {
		t.Errorf("%+v, %d saved", r.Parameters, r.SavedForBackward)
	}
	if got, want := r.Phases.Step, int64(4*4*parameters+buffers); got < want || got > want+4*parameters {
		t.Errorf("the step has %d bytes, weights, gradients and states %d", got, want)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "activations-unknown" {
		t.Errorf("%+v", r.Warnings)
	}
	if r, err = Estimate(Request{Model: m, Mode: "infer", Precision: "fp16"}); err != nil || r.Phases.Forward != 2*parameters+buffers {
		t.Errorf("inference in fp16: %+v %v", r.Phases, err)
	}
	var e *Error
	if _, err = Estimate(Request{Model: m, Loss: "mse"}); !errors.As(err, &e) || e.Code != "weights-only" || e.At != "loss" {
		t.Error(err)
	}
	all, err := Estimate(Request{Model: m, Optimizer: Optimizer{Name: "adam"}})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := Read(Request{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	first := shown.Tree.Children[0]
	part, err := Estimate(Request{Model: m, Frozen: []string{first.Path}})
	if err != nil || part.Parameters.Trainable != parameters-first.Params || all.Phases.Step-part.Phases.Step < 12*first.Params {
		t.Errorf("without %s, %d of %d trained, %d then %d bytes: %v", first.Path, part.Parameters.Trainable, parameters, all.Phases.Step, part.Phases.Step, err)
	}
	for path, code := range map[string]string{"nowhere": "path-unknown", "": "path-unknown"} {
		if _, err = Estimate(Request{Model: m, Frozen: []string{path}}); !errors.As(err, &e) || e.Code != code || e.At != "frozen" {
			t.Errorf("%q: %v", path, err)
		}
	}
	m.File.Base64 = []byte("abc")
	if _, err = Estimate(Request{Model: m}); !errors.As(err, &e) || e.Code != "pickle-format" {
		t.Error(err)
	}
}
