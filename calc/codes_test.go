package calc

import "testing"

// What PresetOf says of a preset is what Estimate does without it.
func TestPresetOf(t *testing.T) {
	for _, name := range []string{"lesson", "resnet18", "gpt2", "t5_small", "mlp"} {
		p, ok := PresetOf(name)
		if !ok || p.Family == "" || p.Loss == "" || len(p.Input) == 0 {
			t.Fatalf("%s: %+v, %v", name, p, ok)
		}
		own, err := Estimate(Request{Model: Model{Preset: name}, Batch: 2})
		if err != nil {
			t.Fatal(err)
		}
		said, err := Estimate(Request{Model: Model{Preset: name}, Batch: 2, Input: p.Input, Loss: p.Loss})
		if err != nil {
			t.Fatalf("%s with %+v: %v", name, p, err)
		}
		if own.Peak != said.Peak {
			t.Errorf("%s: %+v, with its own inputs %+v", name, own.Peak, said.Peak)
		}
	}
	if _, ok := PresetOf("no-such-model"); ok {
		t.Error("an unknown preset is found")
	}
}
