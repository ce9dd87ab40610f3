// Package nn builds torch.nn's modules over package torch: constructor arguments
// under PyTorch's own names, parameters in PyTorch's order, and the forward each
// module runs. One file per family of layers; each type registers itself under its
// PyTorch name, so that a list of layers, a printed model and a preset all build the same module.
package nn

import (
	"maps"
	"slices"
	"strconv"

	"vrametre/calc/fault"
	"vrametre/calc/torch"
)

// Builder makes modules in a graph.
type Builder struct {
	G *torch.Graph
	// DType of the parameters.
	DType torch.DType
	// Training is false for eval(): dropout is the identity, BatchNorm uses its running statistics.
	Training bool
	// Adapter adds low-rank matrices to the linear layers it names; nil: none.
	Adapter *Adapter

	layers []Layer // made in blocks
	// Replace, where set, may give another layer for the one a preset adds at path: a printed model's own sizes and
	// classes in a preset's forward. nil keeps the preset's.
	Replace func(path, class string) Spec
	// Outputs gives the linear layers and convolutions at some paths another number of outputs.
	Outputs map[string]int64
}

// Layer is a module with its forward.
type Layer struct {
	*torch.Module
	Kids    []*Layer
	forward func(x ...torch.Tensor) torch.Tensor
	g       *torch.Graph
}

// Spec is a module's constructor arguments.
type Spec interface {
	// build adds parameters to m and gives the forward.
	build(b *Builder, l *Layer)
	// class is PyTorch's name of the module.
	class() string
}

// Add builds s as the child name of parent.
func (b *Builder) Add(parent *Layer, name string, s Spec) *Layer {
	if b.Replace != nil {
		path := name
		if parent.Path != "" {
			path = parent.Path + "." + name
		}
		if r := b.Replace(path, s.class()); r != nil {
			s = r
		}
	}
	l := b.Container(parent, name, s.class())
	if n, ok := b.Outputs[l.Path]; ok {
		s = sized(s, n)
	}
	s.build(b, l)
	return l
}

// sized is a layer with another number of outputs.
func sized(s Spec, n int64) Spec {
	switch l := s.(type) {
	case Linear:
		l.Out = n
		return l
	case Conv:
		l.Out = n
		return l
	}
	return s
}

// Width is the number of outputs of a linear layer or a convolution whose weight is w; 0 for other classes.
func Width(class string, w torch.Shape) int64 {
	switch class {
	case "Linear", "NonDynamicallyQuantizableLinear", "Conv1d", "Conv2d", "Conv3d":
		return w[0]
	}
	return 0
}

// Root starts a model of the given class.
func (b *Builder) Root(class string) *Layer { return b.Container(nil, "", class) }

// Container adds a module whose forward is set by Forward or Sequential.
func (b *Builder) Container(parent *Layer, name, class string) *Layer {
	if len(b.layers) == cap(b.layers) {
		b.layers = make([]Layer, 0, 64)
	}
	b.layers = append(b.layers, Layer{g: b.G})
	l := &b.layers[len(b.layers)-1]
	if parent == nil {
		l.Module = b.G.Module(nil, name, class)
		return l
	}
	l.Module = b.G.Module(parent.Module, name, class)
	parent.Kids = append(parent.Kids, l)
	return l
}

// Forward sets what a call of l does.
func (l *Layer) Forward(f func(x ...torch.Tensor) torch.Tensor) *Layer {
	l.forward = f
	return l
}

// Call runs l's forward on x inside a frame of its own, as _call_impl does. What has no forward, such as a list or
// MultiheadAttention's out_proj, whose weights are all that is used, is an error, as in PyTorch.
func (l *Layer) Call(x ...torch.Tensor) torch.Tensor {
	if l.forward == nil {
		fail(l, "no-forward", "type", l.Type)
	}
	l.g.Enter(l.Module, x...)
	y := l.forward(x...)
	l.g.Exit(y)
	return y
}

// Sequential adds an nn.Sequential whose children are the specs, named by index.
func (b *Builder) Sequential(parent *Layer, name string, specs ...Spec) *Layer {
	return b.SequentialNamed(parent, name, "Sequential", specs...)
}

// SequentialNamed is Sequential for a subclass of it.
func (b *Builder) SequentialNamed(parent *Layer, name, class string, specs ...Spec) *Layer {
	l := b.Container(parent, name, class)
	for i, s := range specs {
		b.Add(l, strconv.Itoa(i), s)
	}
	return l.Chain()
}

// Chain makes l's forward call its children one after the other.
func (l *Layer) Chain() *Layer {
	return l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := x[0]
		for _, k := range l.Kids {
			y = k.Call(y)
		}
		return y
	})
}

// Param adds a parameter to l, in the builder's type.
func (b *Builder) Param(l *Layer, dims ...int64) torch.Tensor {
	return b.G.Param(l.Module, b.DType, dims...)
}

// Ints is one number for every spatial dimension or one each.
type Ints []int64

// N is one number for every dimension.
func N(n int64) Ints { return Ints{n} }

// expand gives d values; def when there are none.
func (v Ints) expand(d int, def int64) []int64 {
	out := make([]int64, d)
	v.fill(out, def)
	return out
}

func (v Ints) fill(out []int64, def int64) {
	for i := range out {
		switch {
		case len(v) == 0:
			out[i] = def
		case len(v) == 1:
			out[i] = v[0]
		case i < len(v):
			out[i] = v[i]
		}
	}
}

var registry = map[string]func(*Args) Spec{}

func register(f func(*Args) Spec, names ...string) {
	for _, n := range names {
		registry[n] = f
	}
}

// several are the modules that take more than one input: the least and the most.
var several = map[string][2]int{"Bilinear": {2, 2}, "CosineSimilarity": {2, 2}, "PairwiseDistance": {2, 2}, "MultiheadAttention": {1, 3},
	"RNNCell": {1, 2}, "GRUCell": {1, 2}, "LSTMCell": {1, 3}, "TransformerDecoderLayer": {2, 2}, "TransformerDecoder": {2, 2}, "Transformer": {2, 2}}

// CheckInputs refuses a number of inputs that a module of that type does not take.
func CheckInputs(typ, at string, given int) {
	n, ok := several[typ]
	if !ok {
		n = [2]int{1, 1}
	}
	if given < n[0] || given > n[1] {
		expected := strconv.Itoa(n[0])
		if n[1] > n[0] {
			expected += " / " + strconv.Itoa(n[1])
		}
		fault.Throw("function-inputs", at, "type", typ, "expected", expected, "given", given)
	}
}

// Types lists the registered module names, sorted.
func Types() []string { return slices.Sorted(maps.Keys(registry)) }

// Parse makes the Spec of a registered type from constructor arguments; at is the place named in errors.
func Parse(typ, at string, args map[string]any) (Spec, error) {
	f, ok := registry[typ]
	if !ok {
		return nil, unknownType(typ, at)
	}
	a := NewArgs(typ, at, args)
	s := f(a)
	return s, a.Finish()
}
