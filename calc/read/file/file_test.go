package file_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/read/file"
	"vrametre/calc/torch"
)

type tensors map[string][]int64

// safetensors writes a header for the tensors, with no data behind it.
func (t tensors) safetensors(dtype string, size int64) []byte {
	type entry struct {
		DType   string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	h := map[string]entry{}
	at := int64(0)
	for name, s := range t {
		n := size
		for _, d := range s {
			n *= d
		}
		h[name] = entry{dtype, append([]int64{}, s...), [2]int64{at, at + n}}
		at += n
	}
	data, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(data))), data...)
}

func open(t *testing.T, name string, data []byte) *read.Model {
	t.Helper()
	m, err := file.Read([]file.Part{{Name: name, Data: bytes.NewReader(data), Size: int64(len(data))}}, 0)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

func codes(m *read.Model) map[string]bool {
	out := map[string]bool{}
	for _, w := range m.Warnings {
		out[w.Code] = true
	}
	return out
}

// TestPreset recognises a network of the presets by its shapes, whatever the number of its classes.
func TestPreset(t *testing.T) {
	for name, classes := range map[string]int64{"resnet18": 7, "resnet50": 1000, "vgg11_bn": 3, "vit_b_16": 5, "unet": 0} {
		p, err := models.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		args := map[string]any{}
		if classes > 0 {
			args["num_classes"] = classes
		}
		g := torch.NewGraph(2, torch.Rules{})
		p.Build(&nn.Builder{G: g, Training: true}, nn.NewArgs(name, "", args))
		s := tensors{}
		var n int64
		for i, v := range g.Parameters() {
			s[fmt.Sprintf("m.%d.weight", i)] = g.Shape(v)
			n += g.StorageBytes(v) / 4
		}
		m := open(t, "model.safetensors", s.safetensors("F32", 4))
		if m.Name != name || m.Parameters != n || m.Build == nil || !codes(m)["architecture-guessed"] {
			t.Errorf("%s: read as %q, %d parameters of %d, %v", name, m.Name, m.Parameters, n, m.Warnings)
			continue
		}
		if err := m.Measure(); err != nil || m.Parameters != n {
			t.Errorf("%s: the network has %d parameters of %d: %v", name, m.Parameters, n, err)
		}
	}
}

func llama(layers int64, bias, norm, head bool) tensors {
	s := tensors{"model.embed_tokens.weight": {1000, 256}, "model.norm.weight": {256}}
	if head {
		s["lm_head.weight"] = []int64{1000, 256}
	}
	for i := range layers {
		p := fmt.Sprintf("model.layers.%d.", i)
		for name, shape := range (tensors{"input_layernorm.weight": {256}, "post_attention_layernorm.weight": {256}, "self_attn.q_proj.weight": {256, 256},
			"self_attn.k_proj.weight": {128, 256}, "self_attn.v_proj.weight": {128, 256}, "self_attn.o_proj.weight": {256, 256},
			"mlp.gate_proj.weight": {688, 256}, "mlp.up_proj.weight": {688, 256}, "mlp.down_proj.weight": {256, 688}}) {
			s[p+name] = shape
		}
		if bias {
			s[p+"self_attn.q_proj.bias"], s[p+"self_attn.k_proj.bias"], s[p+"self_attn.v_proj.bias"] = []int64{256}, []int64{128}, []int64{128}
		}
		if norm {
			s[p+"self_attn.q_norm.weight"], s[p+"self_attn.k_norm.weight"] = []int64{64}, []int64{64}
		}
	}
	return s
}

// TestConfig reads the sizes of a transformer off its tensors' names and shapes.
func TestConfig(t *testing.T) {
	for name, s := range map[string]tensors{"llama": llama(3, false, false, true), "qwen2": llama(2, true, false, false), "qwen3": llama(2, false, true, true)} {
		m := open(t, "model.safetensors", s.safetensors("BF16", 2))
		if m.Name != name || m.Build == nil || m.KVElements == 0 || m.DType != "bfloat16" || !codes(m)["architecture-guessed"] {
			t.Errorf("%s: %q %v", name, m.Name, m.Warnings)
		}
		if assumed := codes(m)["size-assumed"]; assumed != (name != "qwen3") {
			t.Errorf("%s: %v", name, m.Warnings)
		}
	}
	s := llama(2, false, false, true)
	s["model.layers.0.extra.weight"] = []int64{3, 3}
	if m := open(t, "model.safetensors", s.safetensors("F32", 4)); m.Build != nil || m.Program == nil || !codes(m)["architecture-differs"] {
		t.Errorf("a tensor more: %q %v", m.Name, m.Warnings)
	}
}

// TestPacked counts the weights that a quantiser has packed.
func TestPacked(t *testing.T) {
	gptq := tensors{"a.qweight": {32, 64}, "a.qzeros": {2, 8}, "a.scales": {2, 64}, "a.g_idx": {256}}
	for dtype, c := range map[string]struct {
		s    tensors
		size int64
		want int64
	}{
		"I32": {gptq, 4, 256 * 64},
		"U8":  {tensors{"w": {2048, 1}, "w.absmax": {64}, "w.quant_map": {16}}, 1, 4096},
	} {
		if m := open(t, "q.safetensors", c.s.safetensors(dtype, c.size)); m.Parameters != c.want || !m.Quantised {
			t.Errorf("%s: %d weights, want %d", dtype, m.Parameters, c.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"m", "GGUF\x03", file.GGUF},
		{"m.bin", "PK\x03\x04", file.PyTorch},
		{"m", "\x80\x02\x8a", file.PyTorch},
		{"m", " {\x00\x00\x00\x00\x00\x00{\"a\"", file.Safetensors},
		{"m", "\x10\x00\x00\x00\x00\x00\x00\x00{\"a\"", file.Safetensors},
		{"model.safetensors.index.json", " {", file.Index},
		{"config.json", "\xef\xbb\xbf{", file.JSON},
		{"m.onnx", "\x08\x07\x12", file.ONNX},
		{"m.pt", "abc", file.PyTorch},
		{"m.safetensors", "", file.Safetensors},
		{"photo.png", "\x89PNG\r\n", file.Unknown},
		{"", "", file.Unknown},
	} {
		if got := file.KindOf(c.name, []byte(c.head)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.head, got, c.want)
		}
	}
	_, err := file.Read([]file.Part{{Name: "photo.png", Data: strings.NewReader("\x89PNG\r\n\x1a\n"), Size: 8}}, 0)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != "file-kind" {
		t.Error(err)
	}
}
