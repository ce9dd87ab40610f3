package onnx

import (
	"slices"

	"vrametre/calc/nn"
	"vrametre/calc/read/checkpoint"
	"vrametre/calc/torch"
)

// value is a tensor of the recording, or a constant.
type value struct {
	t torch.Tensor
	c *constant
}

func of(t torch.Tensor) value { return value{t: t} }

func (v value) isTensor() bool { return v.c == nil && v.t != torch.None }

// run is the network being built and recorded.
type run struct {
	*plan
	b       *nn.Builder
	g       *torch.Graph
	params  map[string]torch.Tensor // weights by name
	modules map[*step]*nn.Layer
	values  map[string]value
	s       *step
	size    int64 // the batch size
}

// parameters registers a step's weights and running statistics; one that another module has is shared.
func (r *run) parameters(s *step, l *nn.Layer) {
	for k := range s.in {
		if c := s.buffers[k]; c != nil {
			r.params[key(c)] = r.g.Buffer(l.Module, r.b.DType, c.dims...)
			if k == 4 { // num_batches_tracked
				r.g.Buffer(l.Module, torch.Int64)
			}
		}
		c := s.weights[k]
		if c == nil {
			continue
		}
		if t, ok := r.params[key(c)]; ok {
			if !slices.Contains(l.Params, t) {
				r.g.Share(l.Module, t)
			}
			continue
		}
		r.params[key(c)] = r.g.Param(l.Module, r.b.DType, r.layout(s, k, c)...)
	}
}

// key is the name of the weight behind a view of it.
func key(c *constant) string {
	for c.of != nil {
		c = c.of
	}
	return c.name
}

// layout is a weight's shape in the PyTorch module: a linear one is [out, in], a slope or bias a vector.
func (r *run) layout(s *step, k int, c *constant) []int64 {
	root := c
	for root.of != nil {
		root = root.of
	}
	switch {
	case s.class == "Linear" && k == 1 && len(c.dims) == 2:
		if s.op == "Gemm" && s.int("transB", 0) == 1 {
			return c.dims
		}
		return []int64{c.dims[1], c.dims[0]}
	case s.op == "PRelu", s.op == "GroupNormalization":
		return []int64{c.numel()}
	}
	return root.dims
}

// forward runs every step.
func (r *run) forward(x []torch.Tensor) []torch.Tensor {
	r.values = map[string]value{}
	r.size = r.g.Batch
	for i, in := range r.in {
		if i < len(x) {
			r.values[in.name] = of(x[i])
		}
	}
	for _, s := range r.steps {
		r.s = s
		in := make([]value, len(s.in))
		for i, name := range s.in {
			in[i] = r.value(name)
		}
		var out []value
		if l := r.modules[s]; l != nil {
			r.g.Enter(l.Module, tensorsOf(in)...)
			out = r.step(s, in)
			r.g.Exit(tensorsOf(out)...)
		} else {
			out = r.step(s, in)
		}
		for i, name := range s.out {
			if i < len(out) && name != "" {
				r.values[name] = out[i]
			}
		}
	}
	var out []torch.Tensor
	for _, name := range r.outputs {
		if v, ok := r.values[name]; ok && v.isTensor() && !slices.Contains(out, v.t) {
			out = append(out, r.g.Contiguous(v.t)) // a loss flattens it
		}
	}
	if len(out) == 0 {
		r.s = nil
		r.g.Fail("onnx-output")
	}
	return out
}

func tensorsOf(vs []value) []torch.Tensor {
	var out []torch.Tensor
	for _, v := range vs {
		if v.isTensor() {
			out = append(out, v.t)
		}
	}
	return out
}

func (r *run) value(name string) value {
	if v, ok := r.values[name]; ok {
		return v
	}
	if c := r.known[name]; c != nil {
		return value{t: torch.None, c: c}
	}
	return value{t: torch.None}
}

// needed is how many inputs an operator must have, where it is more than one.
var needed = map[string]int{"Conv": 2, "ConvTranspose": 2, "Gemm": 2, "MatMul": 2, "Linear": 3, "BatchNormalization": 5, "InstanceNormalization": 3, "LayerNormalization": 2,
	"RMSNormalization": 2, "GroupNormalization": 3, "PRelu": 2, "Add": 2, "Sub": 2, "Mul": 2, "Div": 2, "Pow": 2, "Mod": 2, "Where": 3, "Gather": 2, "LSTM": 3, "GRU": 3, "RNN": 3, "Range": 3,
	"Equal": 2, "Greater": 2, "GreaterOrEqual": 2, "Less": 2, "LessOrEqual": 2, "And": 2, "Or": 2, "Xor": 2}

// step runs one node. Shapes computed from tensors' sizes are constants at a given batch.
func (r *run) step(s *step, in []value) []value {
	if s.node == r.last && r.b.Training {
		return in[:1]
	}
	need := max(needed[s.op], 1)
	if s.op == "Constant" {
		need = 0
	}
	for i, v := range in {
		if v.c == nil && v.t == torch.None && (i < need || s.in[i] != "") {
			r.g.Fail("onnx-missing", "node", s.name, "value", s.in[i])
		}
	}
	if len(in) < need {
		r.g.Fail("onnx-missing", "node", s.name, "value", "")
	}
	constants := make([]*constant, len(in))
	all := true
	for i, v := range in {
		constants[i] = v.c
		if v.isTensor() {
			all = false
			if s.op == "Shape" || s.op == "Size" {
				constants[i] = &constant{kind: typeFloat, dims: r.g.Shape(v.t)}
			}
		}
	}
	if (all && len(s.weights) == 0) || s.op == "Shape" || s.op == "Size" {
		if c, ok := r.fold(s.node, constants); ok {
			return []value{{t: torch.None, c: c}}
		}
	}
	if f, ok := operators[s.op]; ok {
		if out, ok := f(r, in, constants); ok {
			return out
		}
	}
	return r.opaque(in)
}

// opaque stands for what is not understood: a result of the noted shape, else of the first operand's, that keeps its operand.
func (r *run) opaque(in []value) []value {
	var x torch.Tensor = torch.None
	for _, v := range in {
		if v.isTensor() && (x == torch.None || !r.g.DType(x).Floating()) {
			x = v.t
		}
	}
	var out []value
	for _, name := range r.s.out {
		shape := r.noted(name)
		if shape == nil && x != torch.None {
			shape = r.g.Shape(x)
		}
		if shape == nil {
			for _, v := range in {
				if v.c != nil && len(v.c.dims) > len(shape) {
					shape = v.c.dims
				}
			}
		}
		if x == torch.None || !r.g.DType(x).Floating() || len(out) > 0 {
			d := r.b.DType
			if x != torch.None && !r.g.DType(x).Floating() {
				d = r.g.DType(x)
			}
			out = append(out, of(r.g.Constant(lower(r.s.op), shape, d)))
			continue
		}
		out = append(out, of(r.g.Resize(lower(r.s.op), x, shape, true)))
	}
	return out
}

// noted is the exporter's shape of a value at this batch, nil where it says nothing.
func (r *run) noted(name string) []int64 {
	dims, ok := r.shapes[name]
	if !ok {
		return nil
	}
	out := slices.Clone(dims)
	for i, d := range out {
		switch {
		case i == 0 && (d < 0 || d == r.batch):
			out[i] = r.size
		case d < 0:
			return nil
		}
	}
	checkpoint.Numel(name, out)
	return out
}

// tensor makes a value a tensor: a weight, or a constant of the forward.
func (r *run) tensor(v value) torch.Tensor {
	if v.c == nil {
		return v.t
	}
	if t, ok := r.params[key(v.c)]; ok {
		if !slices.Equal(r.g.Shape(t), v.c.dims) {
			return r.like(t, v.c)
		}
		return t
	}
	d := r.b.DType
	switch v.c.kind {
	case typeInt64:
		d = torch.Int64
	case typeInt32:
		d = torch.Int32
	case typeBool:
		d = torch.Bool
	}
	return r.g.Constant("constant", v.c.dims, d)
}

// like is a weight seen under the shape of a constant: transposed where that is what differs, else reshaped.
func (r *run) like(t torch.Tensor, c *constant) torch.Tensor {
	sh := r.g.Shape(t)
	if len(sh) == 2 && len(c.dims) == 2 && sh[0] == c.dims[1] && sh[1] == c.dims[0] {
		return r.g.Transpose(t, 0, 1)
	}
	return r.g.Reshape(t, c.dims...)
}

// weight is the parameter of an input, None where the input is absent.
func (r *run) weight(in []value, k int) torch.Tensor {
	if k >= len(in) {
		return torch.None
	}
	if c := in[k].c; c != nil {
		if t, ok := r.params[key(c)]; ok {
			return t
		}
		return r.tensor(in[k])
	}
	return in[k].t
}

// number is the value of a constant of one element.
func number(v value) (float64, bool) {
	switch {
	case v.c == nil || v.c.numel() != 1:
		return 0, false
	case len(v.c.floats) == 1:
		return v.c.floats[0], true
	case len(v.c.ints) == 1:
		return float64(v.c.ints[0]), true
	}
	return 0, v.c.floating()
}

// scalarLike says whether a constant is one number, known or not, and no weight.
func (r *run) scalarLike(v value) bool {
	if v.c == nil || v.c.numel() != 1 {
		return false
	}
	_, isWeight := r.params[key(v.c)]
	return !isWeight
}

// integers are the values of an input or, before the opset that made it one, of an attribute.
func (r *run) integers(in []*constant, k int, name string) ([]int64, bool) {
	if a := r.s.attr[name]; a != nil {
		return a.ints, true
	}
	if k < len(in) && in[k] != nil && known(in[k]) {
		return in[k].ints, true
	}
	return nil, false
}

// shape checks and gives a result's shape.
func (r *run) shape(dims []int64) []int64 {
	checkpoint.Numel(r.g.At(), dims)
	return dims
}
