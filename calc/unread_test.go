package calc

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

// What a request says and nothing reads is told at its place, and so is what contradicts itself.
func TestNothingIsIgnoredSilently(t *testing.T) {
	const printed = "Net(\n  (a): Linear(in_features=8, out_features=4, bias=True)\n  (b): ReLU()\n)"
	for name, c := range map[string]struct{ request, warning, err, at string }{
		"an auxiliary loss without a head":      {`{"aux_loss": 0.4}`, "aux-none", "", "aux_loss"},
		"an auxiliary loss of a read model":     {`{"aux_loss": 0.4, "input": {"shape": [8]}, "model": {"torch": ` + quoted(printed) + `}}`, "aux-none", "", "aux_loss"},
		"classes of a language model":           {`{"model": {"preset": "gpt2"}, "batch": 1, "num_classes": 10}`, "classes-unused", "", "num_classes"},
		"classes of layers":                     {`{"model": {"layers": [{"type": "Linear", "in_features": 8, "out_features": 4}]}, "input": {"shape": [8]}, "num_classes": 10}`, "classes-unused", "", "num_classes"},
		"classes given twice":                   {`{"model": {"preset": "lenet5", "preset_args": {"num_classes": 3}}, "num_classes": 10}`, "", "argument-both", "model.preset_args"},
		"a layer of another type":               {`{"model": {"layers": [{"type": "Linear", "in_features": 8, "out_features": 4, "dtype": "float16"}]}, "input": {"shape": [8]}}`, "", "argument-dtype", "0"},
		"a layer of no type that there is":      {`{"model": {"layers": [{"name": "a", "type": "Linear", "in_features": 8, "out_features": 4, "dtype": "float12"}]}, "input": {"shape": [8]}}`, "", "argument-dtype", "a"},
		"a function of another type":            {`{"model": {"layers": [{"type": "softmax", "dim": 1, "dtype": "float64"}]}, "input": {"shape": [8]}}`, "", "argument-dtype", "0"},
		"a preset of another type":              {`{"model": {"preset": "lenet5", "preset_args": {"dtype": "float16"}}}`, "", "argument-unknown", "model.preset_args"},
		"a base of another type":                {`{"model": {"preset": "gpt2"}, "batch": 1, "precision": "fp16", "adapter": {"kind": "lora", "rank": 8, "targets": ["c_attn"], "base": "bf16"}}`, "", "adapter-precision", "adapter.base"},
		"a cache beyond the positions":          {`{"model": {"preset": "gpt2"}, "batch": 1, "mode": "infer", "inference": {"context": 1025}}`, "context-positions", "", "inference.context"},
		"an input that a read model has not":    {`{"input": [{"shape": [8]}, {"shape": [8]}], "model": {"torch": ` + quoted(printed) + `}}`, "input-unused", "", "input[1]"},
		"an input that layers do not read":      {`{"input": [{"shape": [8]}, {"shape": [8]}], "model": {"layers": [{"type": "Linear", "in_features": 8, "out_features": 4}]}}`, "input-unused", "", "input[1]"},
		"an auxiliary loss, and a head":         {`{"model": {"preset": "inception_v3"}, "batch": 2, "aux_loss": 0.4}`, "", "", ""},
		"classes, and a last layer":             {`{"num_classes": 10}`, "", "", ""},
		"classes as the layers have them":       {`{"model": {"layers": [{"type": "Linear", "in_features": 8, "out_features": 4}]}, "input": {"shape": [8]}, "num_classes": 4}`, "", "", ""},
		"the type of the network":               {`{"model": {"layers": [{"type": "Linear", "in_features": 8, "out_features": 4, "dtype": "torch.float16"}]}, "input": {"shape": [8]}, "precision": "fp16"}`, "", "", ""},
		"a base in the precision":               {`{"model": {"preset": "gpt2"}, "batch": 1, "precision": "bf16", "adapter": {"kind": "lora", "rank": 8, "targets": ["c_attn"], "base": "bf16"}}`, "", "", ""},
		"4 bits, unpacked to the precision":     {`{"model": {"preset": "gpt2"}, "batch": 1, "precision": "fp16", "adapter": {"kind": "lora", "rank": 8, "targets": ["c_attn"], "base": "nf4"}}`, "", "", ""},
		"a cache as long as the positions":      {`{"model": {"preset": "gpt2"}, "batch": 1, "mode": "infer", "inference": {"context": 1024}}`, "", "", ""},
		"a long cache without positions":        {`{"model": {"preset": "tinyllama_1_1b"}, "batch": 1, "mode": "infer", "inference": {"context": 100000}}`, "", "", ""},
		"two inputs, both read":                 {`{"input": [{"shape": [8]}, {"shape": [8]}], "model": {"layers": [{"type": "add", "inputs": ["input0", "input1"]}, {"type": "Linear", "in_features": 8, "out_features": 4}]}}`, "", "", ""},
		"an auxiliary loss, without a training": {`{"mode": "infer", "aux_loss": 0.4}`, "", "", ""},
	} {
		r, err := ParseRequest([]byte(c.request))
		if err != nil {
			t.Fatal(name, err)
		}
		res, err := Estimate(r)
		var fault *Error
		if errors.As(err, &fault) != (c.err != "") || fault != nil && (fault.Code != c.err || fault.At != c.at) {
			t.Errorf("%s: %v, want %q at %s", name, err, c.err, c.at)
		}
		told := []string{"aux-none", "classes-unused", "context-positions", "input-unused"}
		for _, w := range res.Warnings {
			if slices.Contains(told, w.Code) && (w.Code != c.warning || w.At != c.at) {
				t.Errorf("%s: warns %s at %s", name, w.Code, w.At)
			}
		}
		if c.warning != "" && !slices.ContainsFunc(res.Warnings, func(w Warning) bool { return w.Code == c.warning }) {
			t.Errorf("%s: no %s in %v", name, c.warning, res.Warnings)
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// The parameters of the per-layer table sum to the total: what is shared counts once, and what others read counts.
func TestLayersSumToTheParameters(t *testing.T) {
	for _, name := range Presets() {
		p, _ := PresetOf(name)
		for _, mode := range []string{"train", "infer"} {
			res, err := Estimate(Request{Model: Model{Preset: name}, Input: p.Input, Batch: 2, Mode: mode, Steps: 1, Want: []string{WantLayers}})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var sum, saved int64
			for _, row := range res.Layers {
				sum, saved = sum+row.Params, saved+row.Saved
				if row.Tied != "" && !slices.ContainsFunc(res.Layers, func(r LayerRow) bool { return r.Path == row.Tied && r.Params > 0 }) {
					t.Errorf("%s: %s shares with %s, which has nothing", name, row.Path, row.Tied)
				}
			}
			if sum != res.Parameters.Total || saved != res.SavedForBackward {
				t.Errorf("%s, %s: the rows have %d parameters and save %d, the model has %d and %d", name, mode, sum, saved, res.Parameters.Total, res.SavedForBackward)
			}
		}
	}
	// Tied, and never called.
	rows := map[string]LayerRow{}
	for _, name := range []string{"gpt2", "vit_b_16"} {
		res, err := Estimate(Request{Model: Model{Preset: name}, Batch: 1, Want: []string{WantLayers}})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range res.Layers {
			rows[row.Path] = row
		}
	}
	if got := rows["lm_head"]; got.Tied != "transformer.wte" || got.Params != 0 {
		t.Errorf("lm_head: %+v", got)
	}
	if got := rows["encoder.layers.encoder_layer_0.self_attention.out_proj"]; got.Params != 768*768+768 || got.Output != nil {
		t.Errorf("out_proj: %+v", got)
	}
}
