package view

import (
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/content"
)

func TestAdviceRows(t *testing.T) {
	for _, s := range []State{Default(), Default().With(ScrubBatch, 512), Default().With(ScrubBatch, 1024).WithOptimizer("sgd-momentum"), Default().With(ScrubBatch, 1)} {
		list, err := AllAdvice(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, lang := range content.Langs {
			idle := false
			for _, row := range AdviceRows(list, lang) {
				for _, words := range []string{row.Change, row.Saves, row.Costs, row.Fits, row.MaxBatch} {
					if words == "" || strings.ContainsAny(words, "{}=") && !strings.Contains(words, "(") || strings.Contains(words, "costs.") {
						t.Errorf("%+v: %+v", s, row)
					}
				}
				if row.Tone == ToneUnknown || idle && !row.Idle {
					t.Errorf("%+v: %+v after one that frees nothing: %v", s, row, idle)
				}
				idle = row.Idle
			}
		}
	}
}

func TestChangeText(t *testing.T) {
	for change, want := range map[string]string{
		"batch=16":                                   "Batch of 16",
		"batch=128,accumulation=2":                   "Batch of 128, gradients accumulated over 2 passes",
		"precision=amp-bf16":                         "Mixed precision (bfloat16)",
		"precision=amp-bf16 + batch=8":               "Mixed precision (bfloat16) + Batch of 8",
		"input=[3, 96, 96]":                          "Input of 3~×~96~×~96",
		"input.tokens=256":                           "Sequences of 256 tokens",
		"optimizer.fused=true + frozen=all-but-last": "Fused optimizer (fused=True) + Everything frozen but the last layer",
		"nonsense=1":                                 "nonsense=1",
	} {
		if got := strings.ReplaceAll(ChangeText(change, content.English), "\u00a0", "~"); got != want {
			t.Errorf("%s: %q, want %q", change, got, want)
		}
	}
}

// Every change that the engine can name has its words, and every reason.
func TestChangesHaveTexts(t *testing.T) {
	for _, r := range []calc.Request{
		{Batch: 4}, {Mode: "infer"}, {ZeroGrad: "zeros"}, {Model: calc.Model{Preset: "vit_b_16"}, Attention: "math", Batch: 2}, {Model: calc.Model{Preset: "gpt_small"}, Batch: 4}, {Precision: "amp-fp16"},
	} {
		for a, err := range calc.Advise(r, nil) {
			if err != nil {
				t.Fatal(err)
			}
			for _, lang := range content.Langs {
				if words := ChangeText(a.Change, lang); words == a.Change {
					t.Errorf("%s: no words for %s", lang, a.Change)
				}
				for _, code := range strings.Fields(a.Costs) {
					if !Has(lang, "costs."+code) {
						t.Errorf("%s: no words for %s", lang, code)
					}
				}
			}
		}
	}
}
