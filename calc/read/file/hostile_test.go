package file_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"vrametre/calc/read/checkpoint"
	"vrametre/calc/read/file"
	"vrametre/calc/read/readtest"
	"vrametre/calc/torch"
)

// room is the largest input that the bounds are stated for.
const room = 64 << 20

// hostile makes the inputs that cost the most on the whole way from bytes to a model, by what is much in them: one at a
// time, since what lies in memory beside loosens the bound. Those of the readers alone are in their packages.
func hostile() map[string]func() []file.Part {
	named := func(name func(i int) string, limit int) []byte {
		var b bytes.Buffer
		b.WriteByte('{')
		for i := 0; i < checkpoint.MaxTensors && b.Len() < limit; i++ {
			fmt.Fprintf(&b, `"%s":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]},`, name(i), 4*i, 4*i+4)
		}
		b.Truncate(b.Len() - 1)
		b.WriteByte('}')
		return append(binary.LittleEndian.AppendUint64(nil, uint64(b.Len())), b.Bytes()...)
	}
	header := checkpoint.MaxHeader - 4096
	flat := func(i int) string { return fmt.Sprintf("w%d.weight", i) }
	deep := func(i int) string { return strings.Repeat("m.", 60) + fmt.Sprint(i) + ".weight" }
	listed := func(i int) string { return fmt.Sprintf("model.layers.%d.self_attn.q_proj.weight", i) }
	index := func() file.Part {
		var b bytes.Buffer
		b.WriteString(`{"weight_map":{`)
		for i := range checkpoint.MaxTensors {
			fmt.Fprintf(&b, `"%s":"model-%05d-of-99999.safetensors",`, listed(i), i%4000)
		}
		b.Truncate(b.Len() - 1)
		b.WriteString("}}")
		return part("model.safetensors.index.json", b.Bytes())
	}
	gguf := func() []byte {
		data := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte("GGUF\x03\x00\x00\x00"), checkpoint.MaxTensors), 0)
		for i := range checkpoint.MaxTensors {
			name := fmt.Sprintf("blk.%d.%s", i, strings.Repeat("x", 110))
			data = append(binary.LittleEndian.AppendUint64(data, uint64(len(name))), name...)
			data = binary.LittleEndian.AppendUint32(data, 1)
			data = binary.LittleEndian.AppendUint64(data, 32)
			data = binary.LittleEndian.AppendUint32(data, 0)
			data = binary.LittleEndian.AppendUint64(data, uint64(128*i))
		}
		return data
	}
	shards := func() []file.Part {
		parts := []file.Part{index()}
		for i := range file.MaxParts - 1 {
			parts = append(parts, part(fmt.Sprintf("model-%05d-of-99999.safetensors", i+1), named(func(k int) string { return listed(i*190 + k) }, 190*90)))
		}
		return parts
	}
	padded := func(data []byte) []byte { return append(data, make([]byte, room-len(data))...) }
	config := []byte(`{"model_type": "llama", "x": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`)
	one := func(name string, data func() []byte) func() []file.Part {
		return func() []file.Part { return []file.Part{part(name, data())} }
	}
	return map[string]func() []file.Part{
		"tensors":    one("m.safetensors", func() []byte { return padded(named(flat, header)) }),
		"deep names": one("m.safetensors", func() []byte { return named(deep, header) }),
		"layers":     one("m.safetensors", func() []byte { return named(listed, header) }),
		"the same twice": func() []file.Part {
			twice := named(flat, header)
			return []file.Part{part("a.safetensors", twice), part("b.safetensors", twice)}
		},
		"shards":         shards,
		"index":          func() []file.Part { return []file.Part{index()} },
		"gguf":           one("m.gguf", func() []byte { return padded(gguf()) }),
		"nested config":  one("config.json", func() []byte { return config }),
		"one long text":  one("config.json", func() []byte { return []byte(`{"model_type": "` + strings.Repeat("x", header) + `"}`) }),
		"64 MiB of JSON": one("config.json", func() []byte { return append([]byte(`{"a": "`), bytes.Repeat([]byte("x"), room-7)...) }),
		"lines":          one("net.txt", func() []byte { return bytes.Repeat([]byte("Linear(1, 1)\n"), 1_000_000) }),
		"lying length":   one("m.safetensors", func() []byte { return padded([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f{}")) }),
		"zeros":          one("m.bin", func() []byte { return make([]byte, room) }),
		"pickle": one("m.pt", func() []byte {
			return padded(append([]byte("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.\x80\x02"), bytes.Repeat([]byte("]"), 8<<20)...))
		}),
		"zip": one("m.pt", func() []byte { return append([]byte("PK\x03\x04"), make([]byte, room-4)...) }),
		"onnx": one("m.onnx", func() []byte {
			return append([]byte("\x08\x07"), bytes.Repeat([]byte("\x3a\x02\x0a\x00"), room/4-1)...)
		}),
	}
}

// openHostile reads what is hostile, and asks of a model all that a request does.
func openHostile(parts []file.Part) error {
	m, err := file.Read(parts, 0)
	if err == nil && m.Program != nil {
		_, err = m.Program(true, false, torch.Float32, []string{"model"})
	}
	return err
}

// TestHostile bounds the memory of every reader, from the bytes to the model.
func TestHostile(t *testing.T) {
	for name, input := range hostile() {
		parts := input()
		readtest.Within(t, name, func() error { return openHostile(parts) })
	}
}

// BenchmarkHostile is the time of the same: two seconds at most are wanted.
func BenchmarkHostile(b *testing.B) {
	for name, input := range hostile() {
		parts := input()
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = openHostile(parts)
			}
		})
	}
}
