// Package gguf reads the header of a GGUF file (llama.cpp's format, versions 1 to 3, described in ggml's docs/gguf.md):
// metadata and the tensors' names, types and shapes. The tensors' data is never read.
package gguf

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"vrametre/calc/fault"
	"vrametre/calc/read/checkpoint"
)

// Limits of a header.
const (
	maxText   = 64 << 10
	maxKey    = 1024
	maxName   = 128 // twice what llama.cpp takes
	maxKeys   = 1 << 16
	maxKept   = 1024 // bytes of a value that is kept
	maxDepth  = 4
	keptItems = 16
)

// types of tensors: name, elements per block and bytes of one (ggml's type traits).
var types = map[uint32]struct {
	name         string
	block, bytes int64
}{
	0: {"float32", 1, 4}, 1: {"float16", 1, 2}, 2: {"q4_0", 32, 18}, 3: {"q4_1", 32, 20}, 6: {"q5_0", 32, 22}, 7: {"q5_1", 32, 24}, 8: {"q8_0", 32, 34}, 9: {"q8_1", 32, 36},
	10: {"q2_k", 256, 84}, 11: {"q3_k", 256, 110}, 12: {"q4_k", 256, 144}, 13: {"q5_k", 256, 176}, 14: {"q6_k", 256, 210}, 15: {"q8_k", 256, 292},
	16: {"iq2_xxs", 256, 66}, 17: {"iq2_xs", 256, 74}, 18: {"iq3_xxs", 256, 98}, 19: {"iq1_s", 256, 50}, 20: {"iq4_nl", 32, 18}, 21: {"iq3_s", 256, 110},
	22: {"iq2_s", 256, 82}, 23: {"iq4_xs", 256, 136}, 24: {"int8", 1, 1}, 25: {"int16", 1, 2}, 26: {"int32", 1, 4}, 27: {"int64", 1, 8}, 28: {"float64", 1, 8},
	29: {"iq1_m", 256, 56}, 30: {"bfloat16", 1, 2}, 34: {"tq1_0", 256, 54}, 35: {"tq2_0", 256, 66}, 39: {"mxfp4", 32, 17}, 40: {"nvfp4", 64, 36},
}

type reader struct {
	*checkpoint.Stream
	order binary.ByteOrder
	v1    bool
}

func (r *reader) u32() uint32 { return r.order.Uint32(r.Next(4)) }
func (r *reader) u64() uint64 { return r.order.Uint64(r.Next(8)) }

// count is a length: 32 bits in version 1, 64 since.
func (r *reader) count() uint64 {
	if r.v1 {
		return uint64(r.u32())
	}
	return r.u64()
}

// text is a string, whole if keep, else skipped; at names what is read.
func (r *reader) text(at string, limit uint64, keep bool) string {
	n := r.count()
	if n > limit || n > uint64(r.Left()) {
		fault.Throw("gguf-text", checkpoint.Short(at), "offset", r.Pos, "length", n)
	}
	if !keep || n > maxText {
		r.Skip(int64(n))
		return ""
	}
	b := r.Next(int(n))
	if !utf8.Valid(b) {
		fault.Throw("gguf-text", checkpoint.Short(at), "offset", r.Pos, "length", n)
	}
	return string(b)
}

// sizes of the values of fixed size, by type.
var sizes = [...]int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

const (
	typeText  = 8
	typeArray = 9
)

// value reads one value of a key as text; long ones come back empty.
func (r *reader) value(key string, kind uint32, depth int) string {
	if int(kind) >= len(sizes) {
		fault.Throw("gguf-value", checkpoint.Short(key), "offset", r.Pos, "type", kind)
	}
	switch kind {
	case typeText:
		s := r.text(key, math.MaxInt64, true)
		if len(s) > maxKept {
			return ""
		}
		return s
	case typeArray:
		return r.array(key, depth)
	}
	b := r.Next(int(sizes[kind]))
	switch kind {
	case 0, 7:
		return strconv.Itoa(int(b[0]))
	case 1:
		return strconv.Itoa(int(int8(b[0])))
	case 2:
		return strconv.FormatUint(uint64(r.order.Uint16(b)), 10)
	case 3:
		return strconv.FormatInt(int64(int16(r.order.Uint16(b))), 10)
	case 4:
		return strconv.FormatUint(uint64(r.order.Uint32(b)), 10)
	case 5:
		return strconv.FormatInt(int64(int32(r.order.Uint32(b))), 10)
	case 6:
		return strconv.FormatFloat(float64(math.Float32frombits(r.order.Uint32(b))), 'g', -1, 32)
	case 10:
		return strconv.FormatUint(r.order.Uint64(b), 10)
	case 11:
		return strconv.FormatInt(int64(r.order.Uint64(b)), 10)
	}
	return strconv.FormatFloat(math.Float64frombits(r.order.Uint64(b)), 'g', -1, 64)
}

// array gives "[n]" of a long array, or its values where they are few numbers.
func (r *reader) array(key string, depth int) string {
	kind, n := r.u32(), r.count()
	if depth >= maxDepth || int(kind) >= len(sizes) {
		fault.Throw("gguf-value", checkpoint.Short(key), "offset", r.Pos, "type", kind)
	}
	smallest := sizes[kind]
	switch kind {
	case typeText:
		if smallest = 8; r.v1 {
			smallest = 4
		}
	case typeArray:
		smallest = 8
	}
	if n > uint64(r.Left()/smallest) {
		fault.Throw("gguf-text", checkpoint.Short(key), "offset", r.Pos, "length", n)
	}
	switch {
	case kind == typeText:
		for range n {
			r.text(key, math.MaxInt64, false)
		}
	case kind == typeArray:
		for range n {
			r.array(key, depth+1)
		}
	case n <= keptItems:
		s := ""
		for i := range n {
			if i > 0 {
				s += ","
			}
			s += r.value(key, kind, depth)
		}
		return s
	default:
		r.Skip(int64(n) * sizes[kind])
	}
	return "[" + strconv.FormatUint(n, 10) + "]"
}

// Read reads the header of a file of size bytes.
func Read(in io.ReaderAt, size int64) (f *checkpoint.File, err error) {
	defer fault.Catch(&err)
	r := &reader{Stream: checkpoint.NewStream(in, size, 0), order: binary.LittleEndian}
	if string(r.Next(4)) != "GGUF" {
		return nil, fault.New("gguf-magic", "")
	}
	version := r.u32()
	if version != 0 && version&0xffff == 0 {
		r.order = binary.BigEndian
		version = version >> 24
	}
	if version < 1 || version > 3 {
		return nil, fault.New("gguf-version", "version", "version", version)
	}
	r.v1 = version == 1
	tensors, keys := r.count(), r.count()
	if tensors > checkpoint.MaxTensors {
		return nil, fault.New("file-tensors", "tensor_count", "limit", checkpoint.MaxTensors)
	}
	if keys > maxKeys {
		return nil, fault.New("gguf-keys", "metadata_kv_count", "count", keys, "limit", maxKeys)
	}
	f = &checkpoint.File{Format: "gguf", Metadata: map[string]string{}}
	for range keys {
		key := r.text("metadata", maxKey, true)
		if v := r.value(key, r.u32(), 0); len(f.Metadata) < 4096 {
			f.Metadata[key] = v
		}
	}
	seen := make(map[string]bool, tensors)
	end := uint64(0)
	for range tensors {
		name := r.text("tensors", maxName, true)
		if seen[name] {
			return nil, fault.New("tensor-twice", name)
		}
		seen[name] = true
		last := r.tensor(f, name)
		end = max(end, last)
	}
	align := int64(32)
	if v, err := strconv.ParseInt(f.Metadata["general.alignment"], 10, 64); err == nil && v > 0 && v <= 1<<20 {
		align = v
	}
	data := (r.Pos + align - 1) / align * align
	if end > uint64(max(size-data, 0)) {
		f.Warn("file-short", "", "bytes", size, "wanted", uint64(data)+min(end, 1<<62))
	}
	return f, nil
}

// tensor reads one tensor's description and gives where its data ends. The file lists dimensions from the fastest.
func (r *reader) tensor(f *checkpoint.File, name string) uint64 {
	rank := r.u32()
	if rank > checkpoint.MaxRank {
		fault.Throw("tensor-rank", checkpoint.Short(name), "rank", rank, "limit", checkpoint.MaxRank)
	}
	t := checkpoint.Tensor{Name: name, Shape: make([]int64, rank)}
	for i := range t.Shape {
		d := r.count()
		if d > math.MaxInt64 {
			fault.Throw("tensor-dim", checkpoint.Short(name), "dim", d)
		}
		t.Shape[len(t.Shape)-1-i] = int64(d)
	}
	kind := r.u32()
	k, ok := types[kind]
	if !ok {
		fault.Throw("tensor-dtype", checkpoint.Short(name), "dtype", kind)
	}
	n := checkpoint.Numel(name, t.Shape)
	if row := rowOf(t.Shape); row%k.block != 0 {
		fault.Throw("gguf-block", checkpoint.Short(name), "row", row, "block", k.block, "dtype", k.name)
	}
	t.DType = k.name
	if n/k.block > math.MaxInt64/k.bytes {
		fault.Throw("tensor-dim", checkpoint.Short(name), "dim", n)
	}
	t.Bytes = n / k.block * k.bytes
	offset := r.u64()
	if offset > math.MaxInt64 {
		fault.Throw("gguf-offset", checkpoint.Short(name), "offset", offset)
	}
	f.Add(t)
	return offset + uint64(t.Bytes)
}

// rowOf is the fastest dimension, the one that blocks divide.
func rowOf(shape []int64) int64 {
	if len(shape) == 0 {
		return 1
	}
	return shape[len(shape)-1]
}
