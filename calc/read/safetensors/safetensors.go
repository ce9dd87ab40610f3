// Package safetensors reads the header of a .safetensors file (8 bytes of length, then JSON; format described at
// github.com/huggingface/safetensors) and the index of a sharded checkpoint. The tensors' data is never read.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"vrametre/calc/fault"
	"vrametre/calc/read/checkpoint"
	"vrametre/calc/read/jsonscan"
)

// dtypes are the format's element types: PyTorch's name and bits.
var dtypes = map[string]struct {
	name string
	bits int64
}{
	"BOOL": {"bool", 8}, "U8": {"uint8", 8}, "I8": {"int8", 8}, "F8_E5M2": {"float8_e5m2", 8}, "F8_E4M3": {"float8_e4m3fn", 8}, "F8_E8M0": {"float8_e8m0fnu", 8},
	"F8_E5M2FNUZ": {"float8_e5m2fnuz", 8}, "F8_E4M3FNUZ": {"float8_e4m3fnuz", 8},
	"I16": {"int16", 16}, "U16": {"uint16", 16}, "F16": {"float16", 16}, "BF16": {"bfloat16", 16}, "I32": {"int32", 32}, "U32": {"uint32", 32}, "F32": {"float32", 32},
	"I64": {"int64", 64}, "U64": {"uint64", 64}, "F64": {"float64", 64}, "C64": {"complex64", 64}, "F4": {"float4_e2m1fn_x2", 4}, "F6_E2M3": {"float6_e2m3", 6}, "F6_E3M2": {"float6_e3m2", 6},
}

// span is where a tensor's data lies.
type span struct{ from, to int64 }

// Read reads the header. size is the whole file's; a file that ends before its tensors do gives a warning, since only
// their headers are needed.
func Read(r io.ReaderAt, size int64) (f *checkpoint.File, err error) {
	defer fault.Catch(&err)
	var length [8]byte
	if n, err := r.ReadAt(length[:], 0); n < 8 {
		return nil, unreadable(err, size, 8)
	}
	n := binary.LittleEndian.Uint64(length[:])
	switch {
	case n < 2 || n > uint64(max(size-8, 0)):
		return nil, fault.New("safetensors-length", "header", "length", n, "bytes", size)
	case n > checkpoint.MaxHeader:
		return nil, fault.New("safetensors-large", "header", "length", n, "limit", checkpoint.MaxHeader)
	}
	header := int64(n)
	data := make([]byte, n)
	if k, err := r.ReadAt(data, 8); k < len(data) {
		return nil, unreadable(err, size, int64(n)+8)
	}
	f = &checkpoint.File{Format: "safetensors", Metadata: map[string]string{}}
	s := &jsonscan.Scanner{Data: data}
	if s.Peek() != '{' {
		return nil, fault.New("safetensors-header", "header")
	}
	n = uint64(min(bytes.Count(data, []byte(`"data_offsets"`)), checkpoint.MaxTensors))
	f.Tensors = make([]checkpoint.Tensor, 0, n)
	spans := make([]span, 0, n)
	s.Object(func(name string) {
		if name == "__metadata__" {
			metadata(s, f.Metadata)
			return
		}
		t, where := tensor(s, name)
		f.Add(t)
		spans = append(spans, where)
	})
	s.End()
	s.Data, data = nil, nil // what follows needs no header
	names := make([]string, len(f.Tensors))
	for i := range f.Tensors {
		names[i] = f.Tensors[i].Name
	}
	unique(names)
	check(f, spans, size-8-header)
	return f, nil
}

func unreadable(err error, size, want int64) error {
	if err != nil && !errors.Is(err, io.EOF) && size >= want {
		return fault.New("file-unreadable", "", "detail", err.Error())
	}
	return fault.New("file-short", "", "bytes", size, "wanted", want)
}

func metadata(s *jsonscan.Scanner, m map[string]string) {
	s.Object(func(key string) {
		v := s.Text()
		if len(m) < 64 && len(v) < 1024 {
			m[key] = v
		}
	})
}

func tensor(s *jsonscan.Scanner, name string) (checkpoint.Tensor, span) {
	t := checkpoint.Tensor{Name: name}
	var where span
	bits, seen := int64(0), 0
	s.Object(func(key string) {
		switch key {
		case "dtype":
			code := s.Text()
			d, ok := dtypes[code]
			if !ok {
				s.Fail("tensor-dtype", "dtype", code)
			}
			t.DType, bits = d.name, d.bits
			seen |= 1
		case "shape":
			s.Array(func(int) { t.Shape = jsonscan.AppendUpTo(s, t.Shape, checkpoint.MaxRank, s.Integer()) })
			seen |= 2
		case "data_offsets":
			s.Row(2, func(i int) {
				if i == 0 {
					where.from = s.Integer()
				} else {
					where.to = s.Integer()
				}
			})
			seen |= 4
		default:
			s.Skip()
		}
	})
	if seen != 7 {
		s.Fail("safetensors-tensor")
	}
	n := checkpoint.Numel(name, t.Shape)
	if bits < 8 {
		t.Bytes = n / 8 * bits
		if r := n % 8 * bits; r > 0 {
			t.Bytes += (r + 7) / 8
		}
	} else {
		if n > 1<<62/(bits/8) {
			s.Fail("tensor-dim", "dim", n)
		}
		t.Bytes = n * (bits / 8)
	}
	if where.from < 0 || where.to < where.from || where.to-where.from != t.Bytes {
		s.Fail("safetensors-offsets", "from", where.from, "to", where.to, "bytes", t.Bytes)
	}
	return t, where
}

// unique refuses a name that is there twice. It sorts the names.
func unique(names []string) {
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			fault.Throw("tensor-twice", names[i])
		}
	}
}

// check compares where the tensors lie with each other and with the file's end.
func check(f *checkpoint.File, spans []span, data int64) {
	order := make([]int32, len(spans))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(spans[a].from, spans[b].from), cmp.Compare(spans[a].to, spans[b].to))
	})
	end := int64(0)
	for _, i := range order {
		if spans[i].to == spans[i].from {
			continue
		}
		if spans[i].from < end {
			fault.Throw("safetensors-overlap", f.Tensors[i].Name, "from", spans[i].from, "end", end)
		}
		end = spans[i].to
	}
	if end > data {
		f.Warn("file-short", "", "bytes", data, "wanted", end)
	}
}

// Index is what model.safetensors.index.json (or pytorch_model.bin.index.json) says: which file holds which tensor, and
// the bytes of all. Shapes are in the files themselves.
type Index struct {
	// Names of the tensors, and for each the place of its file in Files.
	Names []string
	Of    []int32
	Files []string
	// Bytes of all tensors, 0 where it does not say.
	Bytes int64
}

// maxFiles bounds the files that an index names; the largest published checkpoints have some two hundred.
const maxFiles = 4096

// ReadIndex reads an index.
func ReadIndex(data []byte) (x *Index, err error) {
	defer fault.Catch(&err)
	if len(data) > checkpoint.MaxHeader {
		return nil, fault.New("safetensors-large", "", "length", len(data), "limit", checkpoint.MaxHeader)
	}
	x = &Index{}
	s := &jsonscan.Scanner{Data: data}
	files := map[string]int32{}
	found := false
	s.Object(func(key string) {
		switch key {
		case "metadata":
			s.Object(func(key string) {
				if key == "total_size" && s.Peek() != '"' {
					x.Bytes = s.Integer()
					return
				}
				s.Skip()
			})
		case "weight_map":
			found = true
			s.Object(func(name string) {
				if len(x.Names) >= checkpoint.MaxTensors {
					fault.Throw("file-tensors", checkpoint.Short(name), "limit", checkpoint.MaxTensors)
				}
				file := s.Text()
				of, known := files[file]
				if !known {
					if len(x.Files) >= maxFiles {
						fault.Throw("files-many", "weight_map", "count", len(x.Files)+1, "limit", maxFiles)
					}
					of = int32(len(x.Files))
					files[file] = of
					x.Files = append(x.Files, file)
				}
				x.Names, x.Of = append(x.Names, name), append(x.Of, of)
			})
		default:
			s.Skip()
		}
	})
	s.End()
	if !found {
		return nil, fault.New("safetensors-index", "weight_map")
	}
	unique(slices.Clone(x.Names))
	return x, nil
}
