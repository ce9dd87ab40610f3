// Package onnx reads an ONNX file: the graph, the shapes of its weights (also external ones, and those that
// ConstantOfShape makes), never their data. The network it gives runs each operator as the PyTorch operation that
// exports to it, so that it keeps for backward what PyTorch keeps.
package onnx

import (
	"io"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/read/checkpoint"
	"vrametre/calc/torch"
)

// Field is the request's field that a file comes from.
const Field = "model.file"

// Sizes that a file leaves open.
const (
	assumedTokens = 128
	assumedSide   = 224
)

// Read reads a file of size bytes.
func Read(r io.ReaderAt, size int64) (m *read.Model, err error) {
	defer fault.Catch(&err)
	g := parse(&parser{Stream: checkpoint.NewStream(r, size, 0)}, size)
	p := g.plan()
	m = &read.Model{Kind: "onnx", Name: g.name, Loss: "cross_entropy"}
	if p.last != nil {
		m.Warn("onnx-softmax", p.last.name)
	}
	if p.forInference() {
		m.Warn("onnx-inference", Field)
	}
	for _, s := range p.unsupported {
		m.Warn("onnx-operator", s.path, "operator", s.op)
	}
	for _, in := range p.in {
		m.Inputs = append(m.Inputs, assumed(m, in))
	}
	if len(m.Inputs) == 0 {
		return nil, fault.New("onnx-input", "graph.input")
	}
	m.Build = p.build
	m.Tree = read.Modules(m)
	return m, m.Measure()
}

// forInference says whether the exporter has merged normalisations into convolutions: there is none, and convolutions have biases.
func (p *plan) forInference() bool {
	convolutions := false
	for _, s := range p.steps {
		switch s.op {
		case "BatchNormalization", "Dropout", "InstanceNormalization", "GroupNormalization", "LayerNormalization":
			return false
		case "Conv":
			convolutions = convolutions || s.weights[2] != nil
		}
	}
	return convolutions
}

// assumed is an input per sample, with the sizes that the file leaves open.
func assumed(m *read.Model, in input) models.Input {
	var out models.Input
	whole := in.kind == typeInt64 || in.kind == typeInt32
	if whole {
		out.Below = 1 << 31
	}
	for i, d := range in.dims {
		if i == 0 {
			continue
		}
		if d < 0 {
			d = assumedSide
			if whole || len(in.dims) < 4 {
				d = assumedTokens
			}
			m.Warn("size-assumed", Field, "field", in.name, "size", d)
		}
		out.Shape = append(out.Shape, d)
	}
	return out
}

// build makes the modules and their parameters.
func (p *plan) build(b *nn.Builder) *models.Net {
	root := b.Root("ONNX")
	r := &run{plan: p, b: b, g: b.G, params: map[string]torch.Tensor{}, modules: map[*step]*nn.Layer{}}
	paths := map[string]*nn.Layer{"": root}
	for _, s := range p.steps {
		if s.class == "" {
			continue
		}
		l := r.module(paths, s.path, s.class)
		r.modules[s] = l
		r.parameters(s, l)
	}
	return &models.Net{Root: root, Forward: func(x ...torch.Tensor) []torch.Tensor {
		b.G.Enter(root.Module, x...)
		out := r.forward(x)
		b.G.Exit(out...)
		b.G.Return(out[1:]...)
		return out[:1]
	}}
}

// module makes the module at a path, and the containers above it.
func (r *run) module(paths map[string]*nn.Layer, path, class string) *nn.Layer {
	if l := paths[path]; l != nil {
		return l
	}
	up, name := "", path
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' {
			up, name = path[:i], path[i+1:]
			break
		}
	}
	l := r.b.Container(r.module(paths, up, "Module"), name, class)
	paths[path] = l
	return l
}
