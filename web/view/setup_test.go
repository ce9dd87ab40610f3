package view

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/content"
)

// The lesson's rows are the lesson's network, to the byte.
func TestLessonRows(t *testing.T) {
	preset := Start(PageWorkshop)
	rows := preset
	rows.Setup = rows.Setup.With(SetupModel, ModelRows)
	a, err := Compute(preset)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Compute(rows)
	if err != nil {
		t.Fatal(err)
	}
	if a.Now.Peak != b.Now.Peak || a.Now.Parameters != b.Now.Parameters || a.Now.SavedForBackward != b.Now.SavedForBackward {
		t.Errorf("the preset %+v, its rows %+v", a.Now.Peak, b.Now.Peak)
	}
	lessons, err := Compute(Default())
	if err != nil {
		t.Fatal(err)
	}
	if lessons.Now.Peak != a.Now.Peak {
		t.Errorf("the lesson %+v, the workshop opens with %+v", lessons.Now.Peak, a.Now.Peak)
	}
}

// A state goes into the address and back, whatever the reader has written.
func TestSetupRoundTrip(t *testing.T) {
	base := Start(PageWorkshop).With(ScrubBatch, 7).WithGPU("rtx-4090")
	for _, u := range []Setup{
		{Model: "lesson"},
		{Model: "resnet50", Precision: "amp-fp16", Recompute: true, Accumulation: 4, Input: "3, 192, 192"},
		{Model: "gpt2", Input: "512", Optimizer: "adam8bit", Attention: "math", PyTorch: "1.13", Loss: "none", Mode: "infer"},
		{Model: "vgg16", Cards: 8, Zero: 3, Kernel: "fused"},
		Setup{Model: ModelRows}.WithList([]Row{{"Conv2d", "3, 8, (3, 3), padding='same'", "a b&c", ""}, {"add", "", "", "a,1"}, {"Ré~l;u", "x=%41+é", "", ""}}),
	} {
		s := base
		s.Setup = u
		got := ParseFragment(s.Fragment())
		if got != s {
			t.Errorf("%+v\nis read back as\n%+v\nfrom %s", s, got, s.Fragment())
		}
		if strings.ContainsAny(s.Fragment(), " \"<>`#") {
			t.Errorf("%s cannot stand in an address", s.Fragment())
		}
	}
}

func FuzzSetup(f *testing.F) {
	f.Add("v=1&batch=3&m=layers&layers=Conv2d~3,+8,+3;ReLU~~a~b")
	f.Add("v=1&m=resnet50&dp=2&zero=3&acc=0&in=%zz%e9")
	f.Fuzz(func(t *testing.T, fragment string) {
		s := ParseFragment(fragment).On(PageWorkshop)
		again := ParseFragment(s.Fragment())
		if again != s {
			t.Fatalf("%q: %+v, then %+v", fragment, s, again)
		}
		if rows := s.Setup.List(); !reflect.DeepEqual(rows, s.Setup.WithList(rows).List()) {
			t.Fatalf("%q: rows change", fragment)
		}
	})
}

// Another page takes over what it knows.
func TestPagesShareTheState(t *testing.T) {
	s := Default().With(ScrubBatch, 100).With(ScrubSide, 256)
	w := ParseFragment(s.Fragment()).On(PageWorkshop)
	if w.Batch != 100 || w.Setup.Model != "lesson" || w.OwnInput() != "3, 256, 256" {
		t.Errorf("the workshop opens with %+v", w)
	}
	w.Setup = w.Setup.With(SetupModel, "resnet50")
	if back := ParseFragment(w.Fragment()).On("lesson"); back != s {
		t.Errorf("back on the lesson: %+v", back)
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		row  Row
		want map[string]any
	}{
		{Row{Type: "Conv2d", Args: "3, 32, 3, padding=1"}, map[string]any{"in_channels": int64(3), "out_channels": int64(32), "kernel_size": int64(3), "padding": int64(1)}},
		{Row{Type: "Conv2d", Args: " 3,32,(3, 5) , bias = False,"}, map[string]any{"in_channels": int64(3), "out_channels": int64(32), "kernel_size": []any{int64(3), int64(5)}, "bias": false}},
		{Row{Type: "Dropout", Args: "0.5"}, map[string]any{"p": 0.5}},
		{Row{Type: "ReLU"}, map[string]any{}},
		{Row{Type: "Upsample", Args: "scale_factor=2, mode='nearest'"}, map[string]any{"scale_factor": int64(2), "mode": "nearest"}},
		{Row{Type: "MaxPool2d", Args: "2, None"}, map[string]any{"kernel_size": int64(2), "stride": nil}},
	} {
		if got, err := arguments(c.row); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %v, %v, want %v", c.row, got, err, c.want)
		}
	}
	for _, row := range []Row{{Type: "ReLU", Args: "3, 4"}, {Type: "Conv2d", Args: "three"}, {Type: "Conv2d", Args: "3, =2"}, {Type: "Conv2d", Args: "3, (1, x)"}, {Type: "Conv2d", Args: "kernel_size="}} {
		if got, err := arguments(row); err == nil {
			t.Errorf("%+v is read as %v", row, got)
		}
	}
}

// A mistake is told at its row.
func TestMistakesNameTheirRow(t *testing.T) {
	with := func(i int, row Row) State {
		s := Start(PageWorkshop)
		rows := append([]Row{}, LessonRows...)
		rows[i] = row
		s.Setup = s.Setup.With(SetupModel, ModelRows).WithList(rows)
		return s
	}
	for _, c := range []struct {
		at   int
		row  Row
		code string
	}{
		{3, Row{Type: "Conv2d", Args: "33, 64, 3, padding=1"}, "conv-channels"},
		{6, Row{Type: "Conv2d", Args: "64, 128, 3, padding=?"}, "layer-syntax"},
		{4, Row{Type: "Rely"}, "layer-unknown"},
		{13, Row{Type: "Linear", Args: "100, 512"}, "linear-features"},
		{2, Row{Type: "MaxPool2d"}, "argument-missing"},
		{5, Row{Type: "MaxPool2d", Args: "2, speed=3", Name: "pool"}, "argument-unknown"},
		{8, Row{Type: "add", Inputs: "nowhere 7"}, "layer-input"},
	} {
		s := with(c.at, c.row)
		_, err := Compute(s)
		var e *calc.Error
		if !errors.As(err, &e) {
			t.Fatalf("%+v: %v", c.row, err)
		}
		if e.Code != c.code || RowOf(s.Setup.List(), e.At) != c.at {
			t.Errorf("%+v: %s at %q (row %d), want %s at row %d", c.row, e.Code, e.At, RowOf(s.Setup.List(), e.At), c.code, c.at)
		}
		for _, lang := range content.Langs {
			if words := FailureOf(err, lang).Message; words == "" || strings.ContainsAny(words, "{}") || strings.HasPrefix(words, "error.") {
				t.Errorf("%s %s: %q", lang, e.Code, words)
			}
		}
	}
}

// Every preset can be chosen, with its own input and with another.
func TestInputs(t *testing.T) {
	for _, c := range []struct{ model, input, own string }{
		{"resnet18", "3 × 160 × 160", "3, 224, 224"}, {"gpt2", "256", "128"}, {"mlp", "", ""}, {"t5_small", "64", ""},
	} {
		s := Start(PageWorkshop).With(ScrubBatch, 2)
		s.Setup = s.Setup.With(SetupModel, c.model)
		if own := s.OwnInput(); c.own != "" && own != c.own {
			t.Errorf("%s reads %q, want %q", c.model, own, c.own)
		}
		if s.OwnInput() == "" {
			t.Errorf("%s has no input", c.model)
		}
		s.Setup.Input = c.input
		if _, err := Compute(s); err != nil {
			t.Errorf("%s with %q: %v", c.model, c.input, err)
		}
	}
	s := Start(PageWorkshop)
	for _, wrong := range []string{"3, -1", "3, x4y", "0"} {
		s.Setup.Input = wrong
		var e *calc.Error
		if _, err := Compute(s); !errors.As(err, &e) || e.At != "input" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestSetupWith(t *testing.T) {
	u := Setup{Model: "resnet50", Input: "3, 64, 64", Loss: "mse"}
	if got := u.With(SetupModel, "resnet18"); got.Input != "" || got.Loss != "" || got.Model != "resnet18" {
		t.Errorf("another model keeps %+v", got)
	}
	for _, c := range []struct{ name, value, want string }{
		{SetupModel, "no-such", "resnet50"}, {SetupPrecision, "int3", ""}, {SetupAccumulation, "0", "1"}, {SetupAccumulation, "99999", "1024"}, {SetupAccumulation, "x", "1"}, {SetupStage, "2", "0"}, {SetupRecompute, "1", "1"},
	} {
		if got := u.With(c.name, c.value).Value(c.name); got != c.want {
			t.Errorf("%s=%s gives %q, want %q", c.name, c.value, got, c.want)
		}
	}
	// A kernel that the optimizer does not have goes with the choice, and its reason stands beside it.
	fused := State{Batch: 1, Optimizer: "adam", Device: Default().Device, Setup: Setup{Model: "lenet5", Kernel: "fused"}}
	for _, c := range []struct{ name, value, want string }{
		{SetupOptimizer, "adamw", "fused"}, {SetupOptimizer, "sgd-momentum", "fused"}, {SetupOptimizer, "rmsprop", ""}, {SetupOptimizer, "lion", ""}, {SetupVersion, "1.13", "fused"}, {SetupPrecision, "bf16", "fused"},
	} {
		if got := fused.WithSetting(c.name, c.value).Setup.Kernel; got != c.want {
			t.Errorf("%s=%s leaves the kernel %q, want %q", c.name, c.value, got, c.want)
		}
	}
	if got := fused.WithSetting(SetupOptimizer, "sgd").WithSetting(SetupVersion, "2.2").Setup.Kernel; got != "" {
		t.Errorf("SGD of 2.2 has the kernel %q", got)
	}
	for _, o := range SetupOptimizers {
		for _, version := range SetupPyTorch {
			s := fused.WithSetting(SetupKernel, "").WithSetting(SetupOptimizer, o).WithSetting(SetupVersion, version)
			for _, k := range s.Kernels(content.French) {
				chosen := s.WithSetting(SetupKernel, k.Value)
				if (chosen.Setup.Kernel == k.Value) != (k.Why == "") || k.Label == "" {
					t.Errorf("%s of %q: %+v", o, version, k)
				}
				r, err := chosen.Ask(content.French)
				if err == nil {
					_, err = calc.Estimate(r)
				}
				if err != nil {
					t.Errorf("%s of %q, %+v: %v", o, version, k, err)
				}
			}
		}
	}
	if got := ParseFragment("v=1&m=resnet50&o=lion&k=fused").Setup.Kernel; got != "" {
		t.Errorf("an address gives Lion the kernel %q", got)
	}
	if got := u.With(SetupCards, "4").With(SetupStage, "2").With(SetupCards, "1"); got.Zero != 0 {
		t.Errorf("one card shards: %+v", got)
	}
}
