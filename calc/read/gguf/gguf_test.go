package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"vrametre/calc/fault"
	"vrametre/calc/read/checkpoint"
	"vrametre/calc/read/gguf"
	"vrametre/calc/read/readtest"
)

// writer makes a header.
type writer struct {
	bytes.Buffer
	order binary.ByteOrder
	v1    bool
}

func (w *writer) put(v any) { _ = binary.Write(w, w.order, v) }

func (w *writer) count(n uint64) {
	if w.v1 {
		w.put(uint32(n))
	} else {
		w.put(n)
	}
}

func (w *writer) text(s string) {
	w.count(uint64(len(s)))
	w.WriteString(s)
}

func header(version uint32, order binary.ByteOrder, tensors, keys uint64) *writer {
	w := &writer{order: order, v1: version == 1}
	w.WriteString("GGUF")
	w.put(version)
	w.count(tensors)
	w.count(keys)
	return w
}

func (w *writer) tensor(name string, kind uint32, offset uint64, fastest ...uint64) {
	w.text(name)
	w.put(uint32(len(fastest)))
	for _, d := range fastest {
		w.count(d)
	}
	w.put(kind)
	w.put(offset)
}

func read(data []byte) (*checkpoint.File, error) {
	return gguf.Read(bytes.NewReader(data), int64(len(data)))
}

func sample(version uint32, order binary.ByteOrder) []byte {
	w := header(version, order, 2, 4)
	w.text("general.architecture")
	w.put(uint32(8))
	w.text("llama")
	w.text("llama.block_count")
	w.put(uint32(4))
	w.put(uint32(7))
	w.text("tokenizer.ggml.tokens")
	w.put(uint32(9))
	w.put(uint32(8))
	w.count(20)
	for i := range 20 {
		w.text(strings.Repeat("x", i))
	}
	w.text("scales")
	w.put(uint32(9))
	w.put(uint32(6))
	w.count(2)
	w.put([]float32{0.5, -1})
	w.tensor("token_embd.weight", 12, 0, 256, 20)
	w.tensor("output_norm.weight", 0, 20*144, 256)
	return append(w.Bytes(), make([]byte, 32+20*144+1024)...)
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		version uint32
		order   binary.ByteOrder
	}{{1, binary.LittleEndian}, {2, binary.LittleEndian}, {3, binary.LittleEndian}, {3, binary.BigEndian}} {
		f, err := read(sample(c.version, c.order))
		if err != nil {
			t.Errorf("version %d: %v", c.version, err)
			continue
		}
		want := "[{token_embd.weight q4_k [20 256] 2880 false} {output_norm.weight float32 [256] 1024 false}] " +
			"map[general.architecture:llama llama.block_count:7 scales:0.5,-1 tokenizer.ggml.tokens:[20]] {5376 3904 0 q4_k false} []"
		if got := fmt.Sprint(f.Tensors, f.Metadata, f.Total(), f.Warnings); got != want {
			t.Errorf("version %d: %s", c.version, got)
		}
	}
}

func TestBad(t *testing.T) {
	good := sample(3, binary.LittleEndian)
	made := func(f func(w *writer)) []byte {
		w := header(3, binary.LittleEndian, 1, 0)
		f(w)
		return w.Bytes()
	}
	key := func(f func(w *writer)) []byte {
		w := header(3, binary.LittleEndian, 0, 1)
		w.text("k")
		f(w)
		return w.Bytes()
	}
	for _, c := range []struct {
		name     string
		data     []byte
		code, at string
	}{
		{"empty", nil, "file-short", ""},
		{"other magic", []byte("GGML0000"), "gguf-magic", ""},
		{"version 9", append([]byte("GGUF"), 9, 0, 0, 0), "gguf-version", "version"},
		{"cut", good[:60], "file-short", ""},
		{"2^63 tensors", header(3, binary.LittleEndian, 1<<63, 0).Bytes(), "file-tensors", "tensor_count"},
		{"2^63 keys", header(3, binary.LittleEndian, 0, 1<<63).Bytes(), "gguf-keys", "metadata_kv_count"},
		{"a text longer than the file", key(func(w *writer) { w.put(uint32(8)); w.put(uint64(1 << 40)) }), "gguf-text", "k"},
		{"an array longer than the file", key(func(w *writer) { w.put(uint32(9)); w.put(uint32(4)); w.put(uint64(1 << 60)) }), "gguf-text", "k"},
		{"arrays in arrays", key(func(w *writer) {
			w.put(uint32(9))
			for range 9 {
				w.put(uint32(9))
				w.put(uint64(1))
			}
			w.Write(make([]byte, 200))
		}), "gguf-value", "k"},
		{"unknown value", key(func(w *writer) { w.put(uint32(77)) }), "gguf-value", "k"},
		{"many dimensions", made(func(w *writer) { w.tensor("w", 0, 0, make([]uint64, 17)...) }), "tensor-rank", "w"},
		{"dimension of 2^63", made(func(w *writer) { w.tensor("w", 0, 0, 1<<63) }), "tensor-dim", "w"},
		{"dimension of 2^62", made(func(w *writer) { w.tensor("w", 0, 0, 1<<62) }), "tensor-dim", "w"},
		{"product beyond int64", made(func(w *writer) { w.tensor("w", 0, 0, 1<<40, 1<<40) }), "tensor-size", "w"},
		{"unknown type", made(func(w *writer) { w.tensor("w", 5, 0, 32) }), "tensor-dtype", "w"},
		{"row that blocks do not divide", made(func(w *writer) { w.tensor("w", 12, 0, 100) }), "gguf-block", "w"},
		{"offset of 2^64-1", made(func(w *writer) { w.tensor("w", 0, math.MaxUint64, 1) }), "gguf-offset", "w"},
	} {
		_, err := read(c.data)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.At != c.at {
			t.Errorf("%s: %v, want %s at %q", c.name, err, c.code, c.at)
		}
	}
}

// TestHostile: a long vocabulary is stepped over; as many texts, arrays, keys and tensors as 64 MiB hold are bounded.
func TestHostile(t *testing.T) {
	room := 64 << 20
	if testing.Short() {
		room = 8 << 20
	}
	texts := func(n int, each string) []byte {
		w := header(3, binary.LittleEndian, 1, 1)
		w.text("tokens")
		w.put(uint32(9))
		w.put(uint32(8))
		w.count(uint64(n))
		item := append(binary.LittleEndian.AppendUint64(nil, uint64(len(each))), each...)
		w.Write(bytes.Repeat(item, n))
		return w.Bytes()
	}
	keys := header(3, binary.LittleEndian, 0, 1<<16)
	for range 1 << 16 {
		keys.text(strings.Repeat("k", 1000))
		keys.put(uint32(8))
		keys.text("v")
	}
	tensors := header(3, binary.LittleEndian, checkpoint.MaxTensors, 0)
	for i := range checkpoint.MaxTensors {
		tensors.tensor(fmt.Sprintf("%0256d", i), 0, math.MaxUint64-uint64(i)>>1, 1, 1, 1, 1, 1, 1, 1, 1)
	}
	nested := header(3, binary.LittleEndian, 0, 1)
	nested.text("k")
	nested.put(uint32(9))
	nested.put(uint32(9))
	nested.count(uint64(room / 12))
	nested.Write(bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, room/12))
	for name, data := range map[string][]byte{
		"vocabulary": append(texts(1_000_000, "abcdef"), 1), "empty texts": append(texts(room/8-100, ""), 1), "keys": keys.Bytes()[:keys.Len()-1], "tensors": tensors.Bytes(),
		"nested": append(nested.Bytes()[:nested.Len()-4], 9),
	} {
		readtest.Bound(t, name, func() error { _, err := read(data); return err })
	}
}

func FuzzGGUF(f *testing.F) {
	for _, v := range []uint32{1, 2, 3} {
		f.Add(sample(v, binary.LittleEndian))
	}
	f.Add(sample(3, binary.BigEndian))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := read(data)
		var e *fault.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		if err == nil {
			if s := c.Total(); s.Parameters < 0 || s.ParameterBytes < 0 {
				t.Fatal(s)
			}
			c.Tree()
			c.Config()
		}
	})
}
