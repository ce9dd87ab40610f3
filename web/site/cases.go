package site

import (
	"strconv"

	"vrametre/calc"
	"vrametre/web/view"
)

// lora is the adapter that the case of a fine-tuned language model takes.
func lora(base string) *calc.Adapter {
	return &calc.Adapter{Kind: "lora", Rank: 8, Targets: []string{"q_proj", "v_proj"}, Base: base}
}

// cases are the examples of the pages' text that are not the lesson's network.
var cases = map[string]calc.Request{
	"squeezenet": {
		Model: calc.Model{Preset: "squeezenet1_0"}, Input: calc.Inputs{{Shape: []int64{3, 227, 227}}}, Batch: 32,
		Optimizer: calc.Optimizer{Name: "sgd", Momentum: 0.9},
	},
	"gpt2xl": {
		Model: calc.Model{Preset: "gpt2_xl"}, Input: calc.Inputs{{Tokens: 1024}}, Batch: 1,
		Optimizer: calc.Optimizer{Name: "adamw"}, Precision: "amp-bf16",
	},
	"lora": {
		Model: calc.Model{Preset: "llama_7b"}, Input: calc.Inputs{{Tokens: 2048}}, Batch: 1,
		Optimizer: calc.Optimizer{Name: "adamw"}, Precision: "bf16", Adapter: lora(""),
	},
	"qlora": {
		Model: calc.Model{Preset: "llama_7b"}, Input: calc.Inputs{{Tokens: 2048}}, Batch: 1,
		Optimizer: calc.Optimizer{Name: "adamw"}, Precision: "bf16", Adapter: lora("nf4"),
	},
	"kv": {
		Model: calc.Model{Preset: "llama3_8b"}, Input: calc.Inputs{{Tokens: 1}}, Batch: 1,
		Mode: "infer", Precision: "bf16", Inference: &calc.Inference{Context: 29000},
	},
}

// ownCase is a case of a page's text: the lesson's network at a batch size
// ("256"), or one of cases. false: there is none of that name.
func (b *builder) ownCase(name string) (view.Scene, bool, error) {
	if scene, ok := b.own[name]; ok {
		return scene, true, nil
	}
	var scene view.Scene
	var err error
	if batch, e := strconv.ParseInt(name, 10, 64); e == nil {
		scene, err = view.Compute(view.Default().With(view.ScrubBatch, batch))
	} else if request, ok := cases[name]; ok {
		scene.State = view.Default()
		scene.Now, err = calc.Estimate(request)
	} else {
		return scene, false, nil
	}
	b.own[name] = scene
	return scene, true, err
}
