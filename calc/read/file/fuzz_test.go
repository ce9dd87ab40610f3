package file_test

import (
	"errors"
	"fmt"
	"testing"

	"vrametre/calc/fault"
	"vrametre/calc/read/file"
	"vrametre/calc/torch"
)

// FuzzParts reads three files as the parts of one checkpoint, and runs what they say.
func FuzzParts(f *testing.F) {
	const first, second, index = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"
	a := tensors{"model.embed_tokens.weight": {10, 8}, "model.norm.weight": {8}}.safetensors("BF16", 2)
	b := tensors{"model.layers.0.self_attn.q_proj.weight": {8, 8}, "model.norm.weight": {8}}.safetensors("F32", 4)
	f.Add(first, second, index, a, b, fmt.Appendf(nil, `{"weight_map": {"model.norm.weight": %q, "lm_head.weight": %q}}`, first, second))
	f.Add(first, second, "config.json", a, b, fmt.Appendf(nil, llamaConfig, true))
	f.Add("consolidated.00.safetensors", "consolidated.01.safetensors", "params.json", a, a, []byte(`{}`))
	f.Add("pytorch_model-00001-of-00002.bin", "x-00002-of-00003.gguf", "tokenizer.json", []byte("PK\x03\x04"), []byte("GGUF\x03\x00\x00\x00"), []byte(`{"version": 1}`))
	f.Fuzz(func(t *testing.T, name1, name2, name3 string, data1, data2, data3 []byte) {
		m, err := file.Read([]file.Part{part(name1, data1), part(name2, data2), part(name3, data3)}, 0)
		var e *fault.Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			return
		}
		if m.Parameters < 0 {
			t.Fatalf("%d parameters", m.Parameters)
		}
		if m.Program != nil {
			if _, err := m.Program(true, true, torch.Float32, nil); err != nil && !errors.As(err, &e) {
				t.Fatal(err)
			}
		}
	})
}
