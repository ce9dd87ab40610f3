// Package file recognises a model file by its first bytes and reads it: safetensors and its index, GGUF, what
// torch.save wrote, ONNX. It reads headers through an io.ReaderAt, never a tensor's data.
package file

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf8"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/read/checkpoint"
	"vrametre/calc/read/hf"
	"vrametre/calc/read/onnx"
	"vrametre/calc/read/safetensors"
	"vrametre/calc/read/trace"
	"vrametre/calc/torch"
)

// Kinds of file.
const (
	Safetensors = "safetensors"
	Index       = "safetensors-index"
	GGUF        = "gguf"
	PyTorch     = "pytorch"
	ONNX        = "onnx"
	JSON        = "json"
	Unknown     = ""
)

// KindOf recognises a file by its first bytes; the name decides only where they leave a doubt.
func KindOf(name string, head []byte) string {
	trimmed := bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf")
	lower := strings.ToLower(name)
	switch {
	case bytes.HasPrefix(head, []byte("GGUF")):
		return GGUF
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte{0x80, 2}), bytes.HasPrefix(head, []byte{0x80, 4}):
		return PyTorch
	case len(head) > 9 && binary.LittleEndian.Uint64(head) < 1<<40 && head[8] == '{': // before JSON: the length may look like its beginning
		return Safetensors
	case len(trimmed) > 0 && trimmed[0] == '{':
		if strings.HasSuffix(lower, ".index.json") {
			return Index
		}
		return JSON
	case strings.HasSuffix(lower, ".safetensors"):
		return Safetensors
	case strings.HasSuffix(lower, ".pt"), strings.HasSuffix(lower, ".pth"), strings.HasSuffix(lower, ".bin"), strings.HasSuffix(lower, ".ckpt"):
		return PyTorch
	case strings.HasSuffix(lower, ".onnx"), len(head) > 1 && head[0] == 8 && head[1] < 32: // field 1 of ModelProto: ir_version
		return ONNX
	}
	return Unknown
}

// Kind recognises a file of size bytes.
func Kind(name string, r io.ReaderAt, size int64) (string, error) {
	if size == 0 {
		return "", fault.New("file-empty", Field)
	}
	head := make([]byte, min(size, 64))
	if err := fill(head, r); err != nil {
		return "", err
	}
	return KindOf(name, head), nil
}

// fill reads the beginning of a file.
func fill(head []byte, r io.ReaderAt) error {
	n, err := r.ReadAt(head, 0)
	if n == len(head) {
		return nil
	}
	detail := "cut short"
	if err != nil {
		detail = err.Error()
	}
	return fault.New("file-unreadable", Field, "detail", detail)
}

// Text is the whole of a file that holds a text; what is none is refused.
func Text(name string, r io.ReaderAt, size int64) ([]byte, error) {
	data, err := whole(r, size)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return nil, fault.New("file-kind", Field, "name", name)
	}
	return data, nil
}

// IsIndex says whether a JSON text is the index of a checkpoint in several files.
func IsIndex(data []byte) bool { return bytes.Contains(data, []byte(`"weight_map"`)) }

// single reads a file that is no list of tensors. tokens is the sequence length where the caller gave one.
func single(p Part, tokens int64) (*read.Model, error) {
	kind, err := Kind(p.Name, p.Data, p.Size)
	if err != nil {
		return nil, err
	}
	if kind == ONNX {
		return onnx.Read(p.Data, p.Size)
	}
	if kind != Index && kind != JSON {
		return nil, fault.New("file-kind", Field, "name", p.Name)
	}
	data, err := whole(p.Data, p.Size)
	switch {
	case err != nil:
		return nil, err
	case kind == Index || IsIndex(data):
		return index(data)
	case trace.Is(data):
		t, err := trace.Parse(data)
		if err != nil {
			return nil, err
		}
		return t.Model(), nil
	}
	m, err := hf.Read(data, tokens)
	if e, ok := err.(*fault.Error); ok { // its field is this one
		moved := *e
		moved.At = Field + strings.TrimPrefix(e.At, hf.Field)
		err = &moved
	}
	return m, err
}

// index is what an index says without the files that it names.
func index(data []byte) (*read.Model, error) {
	x, err := safetensors.ReadIndex(data)
	if err != nil {
		return nil, err
	}
	f := &checkpoint.File{Format: "safetensors-index"}
	for _, name := range x.Names {
		f.Tensors = append(f.Tensors, checkpoint.Tensor{Name: name})
	}
	m := &read.Model{Kind: f.Format, Tree: f.Tree(), Loss: "cross_entropy", Missing: fault.New("index-only", Field, "tensors", len(x.Names), "bytes", x.Bytes)}
	m.Warn("index-only", Field, "files", len(x.Files), "tensors", len(x.Names), "bytes", x.Bytes)
	return m, nil
}

// Field is the request's field that a file comes from.
const Field = "model.file"

func whole(r io.ReaderAt, size int64) ([]byte, error) {
	if size > checkpoint.MaxHeader {
		return nil, fault.New("file-large", Field, "bytes", size, "limit", checkpoint.MaxHeader)
	}
	data := make([]byte, size)
	return data, fill(data, r)
}

// model is what a list of tensors says: the tree, the totals and, if guess, the network where names and shapes give one
// away.
func model(f *checkpoint.File, tokens int64, guess bool) (*read.Model, error) {
	sum := f.Total()
	m := &read.Model{Kind: f.Format, Tree: f.Tree(), Parameters: sum.Parameters, Trainable: sum.Parameters, Loss: "cross_entropy"}
	for _, w := range f.Warnings {
		m.Warnings = append(m.Warnings, fault.Within(w, Field).(*fault.Error))
	}
	if f.Other > 0 {
		m.Warn("file-others", Field, "bytes", f.Other)
	}
	d, known := torch.ParseDType(sum.DType)
	if known && d.Floating() {
		m.DType = sum.DType
	}
	m.Quantised = sum.Packed || !known || !d.Floating()
	m.Program = f.Program
	if !guess {
		return m, nil
	}
	if name, args := f.Preset(); name != "" {
		p, err := models.Find(name)
		if err != nil {
			return nil, err
		}
		m.Name, m.Inputs, m.Loss, m.Flat = name, p.Inputs, p.Loss, p.Flat
		m.Build = func(b *nn.Builder) *models.Net { return p.Build(b, nn.NewArgs(name, Field, args)) }
		m.Warn("architecture-guessed", Field, "name", name)
		return m, nil
	}
	config, assumed := f.Config()
	if config == nil {
		return m, nil
	}
	h, err := hf.Read(config, tokens)
	switch {
	case err != nil:
	case h.Parameters != sum.Parameters:
		m.Warn("architecture-differs", Field, "name", h.Name, "expected", h.Parameters, "found", sum.Parameters)
	default:
		m.Name, m.Inputs, m.Loss, m.Flat, m.KVElements, m.Build = h.Name, h.Inputs, h.Loss, h.Flat, h.KVElements, h.Build
		m.Warn("architecture-guessed", Field, "name", h.Name)
		m.Warnings = append(m.Warnings, h.Warnings...)
		for _, a := range assumed {
			m.Warn("size-assumed", Field, "field", a)
		}
	}
	return m, nil
}
