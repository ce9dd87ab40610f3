package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"vrametre/calc/fault"
	"vrametre/calc/read/checkpoint"
	"vrametre/calc/read/readtest"
	"vrametre/calc/read/safetensors"
)

// file puts a header in front of n bytes of data.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

func read(data []byte) (*checkpoint.File, error) {
	return safetensors.Read(bytes.NewReader(data), int64(len(data)))
}

const two = `{"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"a.running_mean":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]}}`

func TestRead(t *testing.T) {
	f, err := read(file(two, 32))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.Tensors, f.Metadata, f.Total(), f.Warnings); got != "[{a.weight float32 [2 3] 24 false} {a.running_mean bfloat16 [4] 8 false}] map[format:pt] {6 24 8 float32 false} []" {
		t.Error(got)
	}
	if f, err = read(file(two, 31)); err != nil || len(f.Warnings) != 1 || f.Warnings[0].Code != "file-short" {
		t.Errorf("one byte short: %v %v", f, err)
	}
}

// counted notes what is read of a file that is not there.
type counted struct {
	header []byte
	n      int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.n += int64(len(p))
	if off >= int64(len(c.header)) {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, c.header[off:]), nil
}

// TestLargeFile: 40 GB of weights cost what their header does.
func TestLargeFile(t *testing.T) {
	var h strings.Builder
	h.WriteByte('{')
	const layers, each = 100, int64(400_000_000)
	for i := range int64(layers) {
		if i > 0 {
			h.WriteByte(',')
		}
		fmt.Fprintf(&h, `"model.layers.%d.mlp.weight":{"dtype":"F16","shape":[20000,10000],"data_offsets":[%d,%d]}`, i, i*each, (i+1)*each)
	}
	h.WriteByte('}')
	c := &counted{header: file(h.String(), 0)}
	f, err := safetensors.Read(c, int64(len(c.header))+layers*each)
	if err != nil || f.Total().Parameters != 20_000_000_000 || len(f.Warnings) > 0 {
		t.Fatalf("%v %v", f, err)
	}
	if c.n > int64(len(c.header)) {
		t.Errorf("%d bytes read of a header of %d", c.n, len(c.header))
	}
}

func TestBad(t *testing.T) {
	one := func(body string) []byte { return file(`{"w":{`+body+`}}`, 64) }
	for _, c := range []struct {
		name     string
		data     []byte
		code, at string
	}{
		{"empty", nil, "file-short", ""},
		{"three bytes", []byte("abc"), "file-short", ""},
		{"length beyond the file", binary.LittleEndian.AppendUint64(nil, 1000), "safetensors-length", "header"},
		{"length of 2^63", binary.LittleEndian.AppendUint64(nil, 1<<63), "safetensors-length", "header"},
		{"length of 2^64-1", binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "safetensors-length", "header"},
		{"not JSON", file("[1,2]", 0), "safetensors-header", "header"},
		{"cut", file(two[:80], 0), "json-text", "a.weight.shape"},
		{"unknown type", one(`"dtype":"F5","shape":[1],"data_offsets":[0,4]`), "tensor-dtype", "w.dtype"},
		{"negative dimension", one(`"dtype":"F32","shape":[-1],"data_offsets":[0,4]`), "tensor-dim", "w"},
		{"dimension of 2^63", one(`"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]`), "json-number", "w.shape"},
		{"dimension of 2^62", one(`"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,4]`), "tensor-dim", "w"},
		{"product beyond int64", one(`"dtype":"F32","shape":[4000000000,4000000000],"data_offsets":[0,4]`), "tensor-size", "w"},
		{"NaN", one(`"dtype":"F32","shape":[NaN],"data_offsets":[0,4]`), "json-integer", "w.shape"},
		{"fraction", one(`"dtype":"F32","shape":[1.5],"data_offsets":[0,4]`), "json-integer", "w.shape"},
		{"offsets that lie", one(`"dtype":"F32","shape":[2],"data_offsets":[0,4]`), "safetensors-offsets", "w"},
		{"offsets backwards", one(`"dtype":"F32","shape":[2],"data_offsets":[8,0]`), "safetensors-offsets", "w"},
		{"no shape", one(`"dtype":"F32","data_offsets":[0,4]`), "safetensors-tensor", "w"},
		{"many dimensions", one(`"dtype":"F32","shape":[` + strings.Repeat("1,", 16) + `1],"data_offsets":[0,4]`), "json-many", "w.shape"},
		{"twice", file(`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), "tensor-twice", "w"},
		{"overlapping", file(`{"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), "safetensors-overlap", "w"},
	} {
		_, err := read(c.data)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.At != c.at {
			t.Errorf("%s: %v, want %s at %q", c.name, err, c.code, c.at)
		}
	}
}

// TestHostile bounds time and memory of the largest header.
func TestHostile(t *testing.T) {
	item := `"%06x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; b.Len() < checkpoint.MaxHeader-200; i++ {
		fmt.Fprintf(&b, item, i)
	}
	full := b.String()[:b.Len()-1] + "}"
	data := file(full, 1)
	readtest.Bound(t, "tensors", func() error { _, err := read(data); return err })
	readtest.Bound(t, "one name", func() error {
		_, err := read(file(`{"`+strings.Repeat("x", checkpoint.MaxHeader-10)+`":1}`, 0))
		return err
	})
}

func TestIndex(t *testing.T) {
	x, err := safetensors.ReadIndex([]byte(`{"metadata":{"total_size":1000},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`))
	if err != nil || len(x.Names) != 2 || len(x.Files) != 2 || x.Bytes != 1000 {
		t.Errorf("%v %v", x, err)
	}
	for _, s := range []string{"", "{", `{"weight_map":[]}`, `{"metadata":{}}`, `{"weight_map":{"a":"f","a":"g"}}`, "nan"} {
		if _, err := safetensors.ReadIndex([]byte(s)); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(file(two, 32))
	f.Add(file(`{"w":{"dtype":"F4","shape":[3,3],"data_offsets":[0,5]}}`, 4))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e *fault.Error
		c, err := read(data)
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		if err == nil {
			if s := c.Total(); s.Parameters < 0 || s.ParameterBytes < 0 || s.BufferBytes < 0 {
				t.Fatal(s)
			}
			c.Tree()
			c.Config()
		}
		if _, err = safetensors.ReadIndex(data); err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
}
