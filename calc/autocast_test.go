package calc

import (
	"encoding/json"
	"os"
	"testing"
)

// TestAutocast compares what autocast(bfloat16) keeps, casts of weights included, with PyTorch 1.13 on the CPU, for networks
// whose operations are in the same list on CUDA.
func TestAutocast(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/extras/amp_cpu_bf16.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Model         string
		Batch         int64
		AutocastSaved int64 `json:"autocast_saved"`
		FP32Saved     int64 `json:"fp32_saved"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for precision, want := range map[string]int64{"fp32": c.FP32Saved, "amp-bf16": c.AutocastSaved, "amp-fp16": c.AutocastSaved} {
			r := estimate(t, Request{Model: Model{Preset: c.Model}, Batch: c.Batch, PyTorch: "1.13", Precision: precision})
			if r.SavedForBackward != want {
				t.Errorf("%s %s: saved %d, measured %d", c.Model, precision, r.SavedForBackward, want)
			}
		}
	}
}
