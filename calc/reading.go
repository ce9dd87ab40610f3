//go:build !lean

package calc

import (
	"bytes"
	"io"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/read/file"
	"vrametre/calc/read/hf"
	"vrametre/calc/read/print"
	"vrametre/calc/read/summary"
	"vrametre/calc/read/trace"
)

// Read understands Model.Torch, Model.Summary, Model.HF, Model.Trace or Model.File without estimating anything: the tree to
// show and edit, its parameters, what it was recognised as, and warnings with their lines. in are the inputs the caller gave, which some
// models' sizes depend on. Its error is an *Error.
func Read(m Model, in Inputs) (*read.Model, error) {
	var shape []int64
	if len(in) > 0 {
		shape = in[0].Shape
	}
	switch {
	case m.Torch != "":
		return print.Read(m.Torch, shape)
	case m.Summary != "":
		return summary.Read(m.Summary, shape)
	case m.HF != nil:
		return hf.Read(m.HF, in.tokens())
	case m.Trace != nil:
		t, err := trace.Parse(m.Trace)
		if err != nil {
			return nil, err
		}
		return t.Model(), nil
	case m.File != nil:
		r, size := m.File.reader()
		return file.Read(m.File.Name, r, size, in.tokens())
	}
	return nil, fault.New("model-kind", "model")
}

// tokens is the sequence length that the caller gave, 0 without one.
func (in Inputs) tokens() int64 {
	switch {
	case len(in) == 0:
		return 0
	case in[0].Tokens == 0 && len(in[0].Shape) == 1:
		return in[0].Shape[0]
	}
	return in[0].Tokens
}

func (f *File) reader() (io.ReaderAt, int64) {
	if f.Source != nil {
		return f.Source, f.Size
	}
	return bytes.NewReader(f.Base64), int64(len(f.Base64))
}

// whole is a short file's bytes.
func whole(f *File) ([]byte, error) {
	if f.Source == nil {
		return f.Base64, nil
	}
	return io.ReadAll(io.NewSectionReader(f.Source, 0, f.Size))
}

// read is the network of a pasted model.
func (q *query) read() (*network, error) {
	m, err := Read(q.Model, q.Input)
	if err != nil {
		return nil, err
	}
	if m.Missing != nil {
		return nil, m.Missing
	}
	if m.Kind == "trace" { // a trace dropped as a file
		if q.Model.Trace, err = whole(q.Model.File); err != nil {
			return nil, err
		}
		return q.trace()
	}
	if m.Program != nil {
		if n, err := q.weights(m); n != nil || err != nil {
			return n, err
		}
	}
	q.rough = m.Rough
	if m.Prefix != "" { // paths are those of the tree, wrapper included
		inner := func(paths []string) []string {
			out := make([]string, len(paths))
			for i, p := range paths {
				out[i] = strings.TrimPrefix(p, m.Prefix+".")
			}
			return out
		}
		q.Frozen, q.Checkpointing.Paths = inner(q.Frozen), inner(q.Checkpointing.Paths)
	}
	n := &network{inputs: m.Inputs, loss: m.Loss, flat: m.Flat}
	if len(n.inputs) < len(q.Input) {
		n.inputs = make([]models.Input, len(q.Input))
		copy(n.inputs, m.Inputs)
	}
	if len(n.inputs) == 0 {
		return nil, fault.New("input-missing", "input")
	}
	n.build = func(b *nn.Builder) *models.Net {
		b.G.Warnings = append(b.G.Warnings, m.Warnings...)
		return m.Build(b)
	}
	return n, nil
}
