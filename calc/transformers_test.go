package calc

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"vrametre/calc/validate/exacttest"
)

// TestTransformers compares bytes saved and both peaks, to the byte, with PyTorch itself on the CPU: with 2.6.0 attention,
// transformers and the lesson's network (the math kernel of scaled_dot_product_attention, no dropout), with 1.13 the
// language models of transformers with attention written out (native_dropout), as small configurations. They were measured
// under a dispatch mode, where composites add out of place and the kernels' own copies cannot be seen.
func TestTransformers(t *testing.T) {
	data, err := os.ReadFile("testdata/transformers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		PyTorch, Preset          string
		PresetArgs               map[string]any `json:"preset_args"`
		Batch, Tokens            int64
		Saved, Forward, Backward int64
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	var count exacttest.Count
	for _, c := range cases {
		r := Request{Model: Model{Preset: c.Preset, PresetArgs: c.PresetArgs}, Batch: c.Batch, PyTorch: c.PyTorch, Attention: "math"}
		if p, ok := PresetOf(c.Preset); ok && c.Tokens > 0 {
			r.Input = slices.Repeat(Inputs{{Tokens: c.Tokens}}, len(p.Input))
		}
		q, err := understand(r)
		if err != nil {
			t.Fatal(err)
		}
		q.rules.LinearAddCopies, q.rules.KernelCopies = true, false
		n, err := q.resolve()
		if err != nil {
			t.Fatal(err)
		}
		e, err := q.estimate(n)
		if err != nil {
			t.Fatal(err)
		}
		exact := e.SavedForBackward == c.Saved && e.First.Forward == c.Forward && e.First.Backward == c.Backward
		count.Add(exact)
		if !exact {
			t.Errorf("%s %v batch %d: saved %d, forward %d, backward %d; PyTorch %s: %d, %d, %d", c.Preset, c.PresetArgs, c.Batch,
				e.SavedForBackward, e.First.Forward, e.First.Backward, c.PyTorch, c.Saved, c.Forward, c.Backward)
		}
	}
	exacttest.Hold(t, exactFile, map[string]exacttest.Count{"transformers": count})
}
