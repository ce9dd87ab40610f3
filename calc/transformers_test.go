package calc

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestTransformersNewRules compares attention, transformers and the lesson's network with PyTorch 2.6.0 itself (CPU, the
// math kernel of scaled_dot_product_attention, no dropout): bytes saved and both peaks, to the byte. They were measured
// under a dispatch mode, where composites add out of place and the kernels' own copies cannot be seen.
func TestTransformersNewRules(t *testing.T) {
	data, err := os.ReadFile("testdata/transformers_2.6.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Preset                   string
		PresetArgs               map[string]any `json:"preset_args"`
		Batch                    int64
		Saved, Forward, Backward int64
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		q, err := understand(Request{Model: Model{Preset: c.Preset, PresetArgs: c.PresetArgs}, Batch: c.Batch, PyTorch: "2.6", Attention: "math"})
		if err != nil {
			t.Fatal(err)
		}
		q.rules.LinearAddCopies, q.rules.KernelCopies = true, false
		n, err := q.resolve()
		if err != nil {
			t.Fatal(err)
		}
		r, err := q.estimate(n)
		if err != nil {
			t.Fatal(err)
		}
		if r.SavedForBackward != c.Saved || r.First.Forward != c.Forward || r.First.Backward != c.Backward {
			t.Errorf("%s %v batch %d: saved %d, forward %d, backward %d; PyTorch 2.6: %d, %d, %d", c.Preset, c.PresetArgs, c.Batch,
				r.SavedForBackward, r.First.Forward, r.First.Backward, c.Saved, c.Forward, c.Backward)
		}
	}
}
