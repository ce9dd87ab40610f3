//go:build !lean

package calc

import (
	"errors"

	"vrametre/calc/fault"
	"vrametre/calc/read"
	"vrametre/calc/read/file"
	"vrametre/calc/read/trace"
	"vrametre/calc/torch"
)

// fixed refuses the fields that a network without a recorded forward cannot follow.
func (q *query) fixed(code string) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"input", len(q.Input) > 0},
		{"num_classes", q.NumClasses > 0},
		{"loss", q.Loss != ""},
		{"aux_loss", q.AuxLoss != nil},
		{"checkpointing", q.Checkpointing.EveryBlock || len(q.Checkpointing.Paths) > 0},
		{"adapter", q.Adapter != nil},
		{"inference", q.Inference != nil},
	} {
		if f.given {
			return fault.New(code, f.name, "field", f.name)
		}
	}
	return nil
}

// tracedPrecision is the value of Request.Precision that a trace was made with.
func tracedPrecision(t *trace.Trace) string {
	short := map[string]string{"float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16"}
	if t.Autocast != "" {
		return "amp-" + short[t.Autocast]
	}
	return short[t.DType]
}

// trace is a network recorded in PyTorch. Version and precision default to the recorded ones; where the request
// names others, the rules turn one into the other, with a warning.
func (q *query) trace() (*network, error) {
	t, err := q.Model.parseTrace()
	if err != nil {
		return nil, err
	}
	if err := q.fixed("trace-fixed"); err != nil {
		return nil, err
	}
	if len(q.Frozen) > 0 {
		if t, err = t.Freeze(q.Frozen); err != nil {
			return nil, err
		}
	}
	var warnings []*fault.Error
	warn := func(code, at string, args ...any) { warnings = append(warnings, fault.New(code, at, args...)) }
	switch {
	case q.PyTorch == "":
		q.PyTorch = t.Torch
		if err := q.version(); err != nil {
			return nil, err
		}
		if err := q.device(); err != nil {
			return nil, err
		}
	case !t.Made(q.major, q.minor):
		warn("trace-version", "pytorch", "traced", t.Torch, "asked", q.PyTorch)
	}
	o := trace.Options{Train: q.train, DType: q.dtype, Autocast: q.amp, DropMean: !q.rules.MeanSavesInput}
	if made := tracedPrecision(t); q.Precision == "fp32" || q.Precision == made {
		if d, ok := torch.ParseDType(t.DType); ok {
			o.DType, q.dtype = d, d
		}
		o.Autocast = torch.Float32
	} else {
		warn("trace-precision", "precision", "traced", made, "asked", q.Precision)
	}
	if len(q.Frozen) > 0 {
		warn("trace-frozen", "frozen")
	}
	if t.Attention != "" && q.Attention != "auto" && q.Attention != t.Attention {
		warn("trace-attention", "attention", "traced", t.Attention, "asked", q.Attention)
	}
	if at, class := t.Recurrent(); t.Device == "cpu" && class != "" {
		warn("trace-recurrent", at, "type", class)
	}
	return &network{imported: func(batch int64) (*torch.Graph, error) {
		o.Batch = batch
		p, err := t.Program(o)
		if err != nil {
			return nil, fault.Within(err, traceField)
		}
		in := torch.Imported{Program: p, Family: t.Family(), InputBytes: t.InputBytes(p)}
		if q.train {
			in.ConvOutputs = t.ConvOutputs(p)
		}
		g := torch.Import(batch, q.rules, in)
		g.Warnings = warnings
		if batch < 2 {
			g.Warn("trace-batch", "batch", batch)
		}
		return g, nil
	}}, nil
}

// weights is the network of a file whose forward is not known, or whose weights stay packed as in the file: nil where the
// network can be built.
func (q *query) weights(m *read.Model) (*network, error) {
	own, known := torch.ParseDType(m.DType)
	if q.Precision == "fp32" && known { // the file's type, unless another is asked for
		if own != torch.Float32 {
			m.Warn("file-dtype", "precision", "dtype", m.DType)
		}
		q.dtype = own
	}
	if m.Build != nil && (q.train || !m.Quantised) {
		if m.Quantised {
			m.Warn("weights-unpacked", "precision", "dtype", q.dtype.String())
		}
		return nil, nil
	}
	if m.Build == nil {
		if err := q.fixed("weights-only"); err != nil {
			return nil, err
		}
		q.rough = true
		m.Warn("activations-unknown", file.Field)
	}
	p, err := m.Program(q.train, q.Precision == "fp32", q.dtype, q.Frozen)
	var e *fault.Error
	switch {
	case errors.As(err, &e) && e.At == "frozen": // a field of the request's
		return nil, err
	case err != nil:
		return nil, fault.Within(err, file.Field)
	}
	q.kv = m.KVElements
	return &network{imported: func(batch int64) (*torch.Graph, error) {
		g := torch.Import(batch, q.rules, torch.Imported{Program: p, Family: "other"})
		g.Warnings = m.Warnings
		return g, nil
	}}, nil
}
