//go:build !lean

package calc

import (
	"bytes"
	"fmt"
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

// Recognise says which of a model's texts a text is: a trace, a config.json, a summary table or, where it is none of
// them, print(model).
func Recognise(text string) Model {
	text = strings.TrimPrefix(text, "\ufeff")
	switch trimmed := strings.TrimLeft(text, " \t\r\n"); {
	case strings.HasPrefix(trimmed, "{"):
		data := []byte(text) // as it was written, so that lines are the text's
		switch {
		case trace.Is([]byte(trimmed[:min(len(trimmed), 1<<10)])):
			return Model{Trace: data}
		case file.IsIndex(data):
			return Model{File: &File{Name: "model.safetensors.index.json", Base64: data}}
		}
		return Model{HF: data}
	case summary.Is(text):
		return Model{Summary: text}
	}
	return Model{Torch: text}
}

// Open recognises files by their first bytes: one, or several that are parts of one checkpoint or say more of it. A single
// text is read whole and given back; of a model file only the header is read, later. The error is an *Error.
func Open(files []File) (m Model, text string, err error) {
	if len(files) == 0 {
		return m, "", fault.New("file-empty", file.Field)
	}
	if len(files) > 1 {
		first := files[0]
		first.More = files[1:]
		return Model{File: &first}, "", nil
	}
	f := files[0]
	r, size := f.reader()
	kind, err := file.Kind(f.Name, r, size)
	if err != nil {
		return m, "", fault.Within(err, file.Field)
	}
	if kind != file.Unknown && kind != file.JSON && kind != file.Index {
		return Model{File: &f}, "", nil
	}
	data, err := file.Text(f.Name, r, size)
	if err != nil {
		return m, "", fault.Within(err, file.Field)
	}
	return Recognise(string(data)), string(data), nil
}

// Read understands the model of a request, a text or a file, without estimating anything: the tree to show and edit, its
// parameters, what it was recognised as, and warnings with their lines. The request's inputs and number of classes, which
// some sizes depend on, count. Its error is an *Error.
func Read(r Request) (*read.Model, error) {
	memo := r.Model.Memo
	if memo == nil {
		return readAnew(r)
	}
	of := fmt.Sprint(r.Input, r.NumClasses)
	if memo.of != of {
		memo.of = of
		memo.model, memo.err = readAnew(r)
	}
	return memo.model, memo.err
}

func readAnew(r Request) (*read.Model, error) {
	m, err := understandModel(r.Model, r.Input)
	if err == nil && r.NumClasses > 0 {
		err = m.SetClasses(int64(r.NumClasses))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func understandModel(m Model, in Inputs) (*read.Model, error) {
	var shape []int64
	if len(in) > 0 {
		shape = in[0].Shape
		if len(shape) == 0 && in[0].Tokens > 0 {
			shape = []int64{in[0].Tokens}
		}
	}
	switch {
	case m.Torch != "":
		return print.Read(m.Torch, shape)
	case m.Summary != "":
		return summary.Read(m.Summary, shape)
	case m.HF != nil:
		return hf.Read(m.HF, in.tokens())
	case m.Trace != nil:
		t, err := m.parseTrace()
		if err != nil {
			return nil, err
		}
		return t.Model(), nil
	case m.File != nil:
		var parts []file.Part
		for _, f := range append([]File{*m.File}, m.File.More...) {
			r, size := f.reader()
			parts = append(parts, file.Part{Name: f.Name, Data: r, Size: size})
		}
		read, err := file.Read(parts, in.tokens())
		return read, fault.Within(err, file.Field)
	}
	return nil, fault.New("model-kind", "model")
}

// traceField is the request's field that a trace comes from.
const traceField = "model.trace"

// parseTrace reads the trace, once where there is a memo.
func (m *Model) parseTrace() (*trace.Trace, error) {
	if m.Memo != nil {
		if t, ok := m.Memo.trace.(*trace.Trace); ok {
			return t, nil
		}
	}
	t, err := trace.Parse(m.Trace)
	if err == nil && m.Memo != nil {
		m.Memo.trace = t
	}
	return t, fault.Within(err, traceField)
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
	shared, err := Read(q.Request)
	if err != nil {
		return nil, err
	}
	kept := *shared // what follows adds warnings of this request's
	m := &kept
	m.Warnings = m.Warnings[:len(m.Warnings):len(m.Warnings)]
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
				if inside, ok := strings.CutPrefix(p, m.Prefix+"."); ok {
					out[i] = inside
				} else if p != "" && p != m.Prefix && !strings.HasPrefix(m.Prefix, p+".") { // of what stands around the network: all of it
					out[i] = p
				}
			}
			return out
		}
		q.Frozen, q.Checkpointing.Paths = inner(q.Frozen), inner(q.Checkpointing.Paths)
	}
	n := &network{inputs: m.Inputs, loss: m.Loss, flat: m.Flat}
	if len(n.inputs) < len(q.Input) {
		n.inputs = make([]models.Input, len(q.Input))
		copy(n.inputs, m.Inputs)
		if m.IDs && len(m.Inputs) == 0 {
			n.inputs[0].Below = 1 << 31
		}
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
