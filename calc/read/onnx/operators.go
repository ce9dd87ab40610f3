package onnx

import (
	"math"
	"slices"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// operator runs a node: in are its inputs, cs the constants among them. false: this form of it is not understood.
type operator func(r *run, in []value, cs []*constant) ([]value, bool)

var operators map[string]operator

// one wraps an operation with one result.
func one(t torch.Tensor) ([]value, bool) { return []value{of(t)}, true }

// on is an operation on its first input as a tensor.
func on(f func(r *run, x torch.Tensor) torch.Tensor) operator {
	return func(r *run, in []value, _ []*constant) ([]value, bool) {
		if len(in) == 0 {
			return nil, false
		}
		return one(f(r, r.tensor(in[0])))
	}
}

func activation(class string) operator {
	a := nn.Activation{Type: class}
	return on(func(r *run, x torch.Tensor) torch.Tensor { return a.Apply(r.g, x) })
}

func elementwise(u torch.Unary) operator {
	u.Integers = true
	return on(func(r *run, x torch.Tensor) torch.Tensor { return r.g.Unary(&u, x, false) })
}

// mask is a result that takes no gradient, of the operands' common shape.
func mask(d torch.DType) operator {
	return func(r *run, in []value, _ []*constant) ([]value, bool) {
		var sh []int64
		for _, v := range in {
			var ok bool
			if sh, ok = common(sh, r.dims(v)); !ok {
				return nil, false
			}
		}
		return one(r.g.Constant(lower(r.s.op), r.shape(sh), d))
	}
}

func (r *run) dims(v value) []int64 {
	switch {
	case v.c != nil:
		return v.c.dims
	case v.t == torch.None:
		return nil
	}
	return r.g.Shape(v.t)
}

// common is the shape that two broadcast to.
func common(a, b []int64) ([]int64, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	lead := len(a) - len(b)
	for i, d := range b {
		switch o := out[lead+i]; {
		case o == d || d == 1:
		case o == 1:
			out[lead+i] = d
		default:
			return nil, false
		}
	}
	return out, true
}

func init() {
	extreme := pairwise((*torch.Graph).Clamp, (*torch.Graph).Clamp, (*torch.Graph).Mul)
	operators = map[string]operator{
		"Conv": conv, "ConvTranspose": conv, "Gemm": gemm, "MatMul": matmul, "Linear": linear,
		"BatchNormalization": batchNorm, "InstanceNormalization": instanceNorm, "LayerNormalization": layerNorm, "GroupNormalization": groupNorm, "RMSNormalization": rmsNorm,
		"LRN":     on(func(r *run, x torch.Tensor) torch.Tensor { return r.g.LocalResponseNorm(x, r.s.int("size", 1)) }),
		"MaxPool": pool, "AveragePool": pool, "GlobalAveragePool": global, "GlobalMaxPool": global,
		"Relu": activation("ReLU"), "LeakyRelu": activation("LeakyReLU"), "Elu": activation("ELU"), "Selu": activation("SELU"), "Celu": activation("CELU"),
		"Sigmoid": activation("Sigmoid"), "HardSigmoid": activation("Hardsigmoid"), "HardSwish": activation("Hardswish"), "Tanh": activation("Tanh"),
		"Softplus": activation("Softplus"), "Gelu": activation("GELU"), "Mish": activation("Mish"), "SiLU": activation("SiLU"), "ThresholdedRelu": activation("Threshold"),
		"Softsign":   function("div", func(r *run, x torch.Tensor) torch.Tensor { return r.g.Div(x, r.g.AddScalar(r.call("abs", x))) }),
		"Softmax":    on(func(r *run, x torch.Tensor) torch.Tensor { return r.g.Softmax(x) }),
		"LogSoftmax": on(func(r *run, x torch.Tensor) torch.Tensor { return r.g.LogSoftmax(x) }),
		"PRelu":      prelu, "Clip": clip, "Dropout": dropout,
		"Exp": function("exp", nil), "Sqrt": function("sqrt", nil), "Abs": function("abs", nil), "Sign": function("sign", nil),
		"Erf": elementwise(torch.Unary{Name: "erf", SavesInput: true, Temps: 2}), "Log": elementwise(torch.Unary{Name: "log", SavesInput: true}),
		"Sin": elementwise(torch.Unary{Name: "sin", SavesInput: true, Temps: 1}), "Cos": elementwise(torch.Unary{Name: "cos", SavesInput: true, Temps: 1}),
		"Reciprocal": elementwise(torch.Unary{Name: "reciprocal", SavesOutput: true, Temps: 2}),
		"Neg":        on(func(r *run, x torch.Tensor) torch.Tensor { return r.g.Scale(x) }),
		"Floor":      elementwise(torch.Unary{Name: "floor"}), "Ceil": elementwise(torch.Unary{Name: "ceil"}), "Round": elementwise(torch.Unary{Name: "round"}),
		"Add": pairwise((*torch.Graph).AddScalar, (*torch.Graph).AddScalar, (*torch.Graph).Add), "Sub": pairwise((*torch.Graph).AddScalar, (*torch.Graph).AddScalar, (*torch.Graph).Sub),
		"Mul": pairwise((*torch.Graph).Scale, (*torch.Graph).Scale, (*torch.Graph).Mul), "Div": pairwise((*torch.Graph).Scale, dividing, (*torch.Graph).Div),
		// maximum and minimum keep both operands; with a number they are a clamp
		"Max": extreme, "Min": extreme, "Pow": pow, "Sum": sum, "Mean": meanOf, "Mod": mask(torch.Int64), "Where": where,
		"Equal": mask(torch.Bool), "Greater": mask(torch.Bool), "GreaterOrEqual": mask(torch.Bool), "Less": mask(torch.Bool), "LessOrEqual": mask(torch.Bool),
		"And": mask(torch.Bool), "Or": mask(torch.Bool), "Xor": mask(torch.Bool), "Not": mask(torch.Bool), "IsNaN": mask(torch.Bool), "IsInf": mask(torch.Bool),
		"Cast": cast, "CastLike": cast, "Identity": func(_ *run, in []value, _ []*constant) ([]value, bool) { return in[:min(len(in), 1)], len(in) > 0 },
		"Concat": concat, "Split": split, "Slice": slicing, "Gather": gather, "Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": squeeze,
		"Transpose": transpose, "Expand": expand, "Tile": tile, "Pad": pad, "Resize": resize, "Upsample": resize, "DepthToSpace": space, "SpaceToDepth": space,
		"ReduceMean": reduce, "ReduceSum": reduce, "ReduceMax": reduce, "ReduceMin": reduce, "ReduceL2": reduce, "ReduceL1": reduce, "ReduceProd": reduce,
		"ReduceSumSquare": reduce, "ReduceLogSumExp": reduce, "LpNormalization": lpNorm,
		"ArgMax": argument, "ArgMin": argument, "Constant": made, "ConstantOfShape": made, "Range": made, "Shape": made, "Size": made, "Trilu": trilu,
		"LSTM": recurrent, "GRU": recurrent, "RNN": recurrent,
	}
}

// call is one of nn's functional operations on a tensor.
func (r *run) call(name string, x torch.Tensor) torch.Tensor {
	f, ok := nn.FunctionOf(name)
	if !ok {
		r.g.Fail("onnx-operator", "operator", name)
	}
	fn, err := f.Parse(r.g.At(), nil)
	if err != nil {
		panic(err)
	}
	return fn(r.g, x)
}

// function is a functional operation of nn, by name, or f where given.
func function(name string, f func(r *run, x torch.Tensor) torch.Tensor) operator {
	if f == nil {
		f = func(r *run, x torch.Tensor) torch.Tensor { return r.call(name, x) }
	}
	return on(f)
}

// made is a constant that could not be folded because a size is not known.
func made(r *run, in []value, _ []*constant) ([]value, bool) {
	if sh := r.noted(r.s.out[0]); sh != nil {
		return one(r.g.Constant(lower(r.s.op), sh, torch.Int64))
	}
	if len(in) == 1 && in[0].c != nil && known(in[0].c) && r.s.op == "ConstantOfShape" {
		return one(r.g.Constant("zeros", r.shape(in[0].c.ints), r.b.DType))
	}
	return nil, false
}

func trilu(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) == 0 {
		return nil, false
	}
	x := r.tensor(in[0])
	return one(r.g.Constant("tril", r.g.Shape(x), r.g.DType(x)))
}

// window are a convolution's or pooling's sizes: kernel, stride, dilation, and the padding before and after.
type window struct{ kernel, stride, dilation, before, after []int64 }

func (r *run) window(x torch.Tensor, kernel []int64) window {
	n := len(kernel)
	fill := func(name string, def int64) []int64 {
		out := make([]int64, n)
		a := r.s.attrOf(name).ints
		for i := range out {
			out[i] = def
			if i < len(a) {
				out[i] = a[i]
			}
			if out[i] < 0 || out[i] > 1<<30 || (def == 1 && out[i] == 0) {
				r.g.Fail("onnx-attribute", "attribute", name, "value", out[i])
			}
		}
		return out
	}
	w := window{kernel: kernel, stride: fill("strides", 1), dilation: fill("dilations", 1), before: make([]int64, n), after: make([]int64, n)}
	sh := r.g.Shape(x)
	if len(sh) != n+2 {
		r.g.Fail("conv-rank", "shape", torch.Shape(sh), "expected", n+2)
	}
	pads := r.s.attrOf("pads").ints
	same := r.s.attrOf("auto_pad").s
	for i := range n {
		if kernel[i] < 1 || kernel[i] > 1<<30 {
			r.g.Fail("onnx-attribute", "attribute", "kernel_shape", "value", kernel[i])
		}
		switch {
		case same == "SAME_UPPER" || same == "SAME_LOWER":
			out := (sh[i+2] + w.stride[i] - 1) / w.stride[i]
			total := max((out-1)*w.stride[i]+w.dilation[i]*(kernel[i]-1)+1-sh[i+2], 0)
			w.before[i], w.after[i] = total/2, total-total/2
		case len(pads) == 2*n:
			w.before[i], w.after[i] = pads[i], pads[n+i]
			if max(pads[i], pads[n+i]) > 1<<30 || min(pads[i], pads[n+i]) < 0 {
				r.g.Fail("onnx-attribute", "attribute", "pads", "value", pads[i])
			}
		}
	}
	return w
}

// even pads x where the two sides differ, as a module before the convolution.
func (r *run) even(x torch.Tensor, w *window) torch.Tensor {
	if slices.Equal(w.before, w.after) {
		return x
	}
	sh := slices.Clone(r.g.Shape(x))
	for i := range w.before {
		sh[i+2] += w.before[i] + w.after[i]
		w.before[i], w.after[i] = 0, 0
	}
	return r.g.Resize("pad", x, r.shape(sh), false)
}

// conv is Conv or ConvTranspose.
func conv(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) < 2 {
		return nil, false
	}
	w := r.weight(in, 1)
	if w == torch.None || len(r.g.Shape(w)) < 3 {
		return nil, false
	}
	x := r.tensor(in[0])
	g := r.s.int("group", 1)
	if g < 1 || g > 1<<30 {
		r.g.Fail("onnx-attribute", "attribute", "group", "value", g)
	}
	k := r.window(x, r.g.Shape(w)[2:])
	a := torch.ConvArgs{Stride: k.stride, Dilation: k.dilation, Groups: g, Transposed: r.s.op == "ConvTranspose"}
	if a.Transposed { // the kernel takes one padding: the other end is cut
		a.OutputPadding = make([]int64, len(k.kernel))
		copy(a.OutputPadding, r.s.attrOf("output_padding").ints)
		for i := range a.OutputPadding {
			a.OutputPadding[i] += k.before[i] - k.after[i]
			if v := a.OutputPadding[i]; v > 1<<30 || v < -1<<30 {
				r.g.Fail("onnx-attribute", "attribute", "output_padding", "value", v)
			}
		}
	} else {
		x = r.even(x, &k)
	}
	a.Padding = k.before
	return one(r.g.Conv(x, w, r.weight(in, 2), a))
}

func gemm(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) < 2 {
		return nil, false
	}
	x := r.tensor(in[0])
	if r.s.int("transA", 0) == 1 {
		x = r.g.Transpose(x, 0, 1)
	}
	if in[1].c != nil && r.s.weights[1] != nil {
		return one(r.g.Linear(x, r.weight(in, 1), r.weight(in, 2)))
	}
	w := r.tensor(in[1])
	if r.s.int("transB", 0) == 1 {
		w = r.g.Transpose(w, 0, 1)
	}
	y := r.g.Matmul(x, w)
	if len(in) > 2 && r.tensor(in[2]) != torch.None {
		y = r.g.Add(y, r.tensor(in[2]))
	}
	return one(y)
}

func linear(r *run, in []value, _ []*constant) ([]value, bool) {
	return one(r.g.Linear(r.tensor(in[0]), r.weight(in, 1), r.weight(in, 2)))
}

func matmul(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) != 2 {
		return nil, false
	}
	a, b := r.dims(in[0]), r.dims(in[1])
	if r.s.class == "Linear" && len(a) >= 2 {
		return one(r.g.Linear(r.tensor(in[0]), r.weight(in, 1), torch.None))
	}
	x, y := r.tensor(in[0]), r.tensor(in[1])
	if len(a) == 1 && len(b) >= 2 {
		return one(r.g.Squeeze(r.g.Matmul(r.g.Unsqueeze(x, 0), y), -2))
	}
	if len(b) == 1 && len(a) >= 2 {
		return one(r.g.Squeeze(r.g.Matmul(x, r.g.Unsqueeze(y, 1)), -1))
	}
	if len(a) < 2 || len(b) < 2 {
		return nil, false
	}
	return one(r.g.Matmul(x, y))
}

func batchNorm(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) < 5 || len(r.dims(in[0])) < 2 {
		return nil, false
	}
	stats := []torch.Tensor{r.weight(in, 3), r.weight(in, 4)}
	if c := r.dims(in[1]); len(c) != 1 || c[0] != r.dims(in[0])[1] {
		r.g.Fail("norm-channels", "shape", torch.Shape(r.dims(in[0])), "num_features", product(c))
	}
	return one(r.g.BatchNorm(r.tensor(in[0]), r.weight(in, 1), r.weight(in, 2), stats, r.b.Training))
}

func instanceNorm(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) < 3 || len(r.dims(in[0])) < 3 || product(r.dims(in[1])) != r.dims(in[0])[1] {
		return nil, false
	}
	return one(r.g.InstanceNorm(r.tensor(in[0]), r.weight(in, 1), r.weight(in, 2), nil, true))
}

func layerNorm(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) < 2 {
		return nil, false
	}
	sh := r.dims(in[0])
	a := axis(r.s.int("axis", -1), len(sh))
	if a < 0 {
		return nil, false
	}
	return one(r.g.LayerNorm(r.tensor(in[0]), r.weight(in, 1), r.weight(in, 2), sh[a:]))
}

func rmsNorm(r *run, in []value, _ []*constant) ([]value, bool) {
	sh := r.dims(in[0])
	a := axis(r.s.int("axis", -1), len(sh))
	if a < 0 || len(in) < 2 {
		return nil, false
	}
	return one(r.g.RMSNorm(r.tensor(in[0]), r.weight(in, 1), sh[a:]))
}

func groupNorm(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) < 3 {
		return nil, false
	}
	return one(r.g.GroupNorm(r.tensor(in[0]), r.weight(in, 1), r.weight(in, 2), r.s.int("num_groups", 1)))
}

// pool is MaxPool or AveragePool; the output's size is ONNX's own formula, since its padding may differ on the two sides.
func pool(r *run, in []value, _ []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	w := r.window(x, r.s.attrOf("kernel_shape").ints)
	sh := slices.Clone(r.g.Shape(x))
	for i := range w.kernel {
		span := sh[i+2] + w.before[i] + w.after[i] - w.dilation[i]*(w.kernel[i]-1) - 1
		if span < 0 {
			r.g.Fail("pool-kernel", "shape", torch.Shape(sh), "kernel", torch.Shape(w.kernel))
		}
		n := span/w.stride[i] + 1
		if r.s.int("ceil_mode", 0) == 1 && span%w.stride[i] != 0 && n*w.stride[i] < sh[i+2]+w.before[i] {
			n++
		}
		sh[i+2] = n
	}
	if r.s.op == "MaxPool" {
		return one(r.g.Pool("max_pool", x, r.shape(sh), true, true))
	}
	return one(r.g.Pool("avg_pool", x, r.shape(sh), true, false))
}

// global pools a map to one value.
func global(r *run, in []value, _ []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	n := len(r.g.Shape(x)) - 2
	if n < 1 {
		return nil, false
	}
	if r.s.op == "GlobalMaxPool" {
		sh := slices.Concat(r.g.Shape(x)[:2], slices.Repeat([]int64{1}, n))
		return one(r.g.Pool("adaptive_pool", x, sh, true, true))
	}
	dims := make([]int, n)
	for i := range dims {
		dims[i] = -1 - i
	}
	return one(r.g.Mean(x, true, dims...))
}

func prelu(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) < 2 || r.s.weights[1] == nil {
		return nil, false
	}
	return one(r.g.PReLU(r.tensor(in[0]), r.weight(in, 1)))
}

func clip(r *run, in []value, cs []*constant) ([]value, bool) {
	lo, hi, _ := bounds(r.s.node, cs)
	class := "Hardtanh"
	if lo == 0 && hi == 6 {
		class = "ReLU6"
	}
	x := r.tensor(in[0])
	if !r.g.DType(x).Floating() {
		return one(r.g.Constant("clamp", r.g.Shape(x), r.g.DType(x)))
	}
	return one(nn.Activation{Type: class}.Apply(r.g, x))
}

func dropout(r *run, in []value, _ []*constant) ([]value, bool) {
	p := 0.5
	if a := r.s.attr["ratio"]; a != nil {
		p = a.f
	} else if len(in) > 1 {
		if v, ok := number(in[1]); ok {
			p = v
		}
	}
	if !(p >= 0 && p <= 1) {
		r.g.Fail("onnx-attribute", "attribute", "ratio", "value", p)
	}
	x := r.tensor(in[0])
	if !r.b.Training {
		return one(x)
	}
	return one(r.g.Dropout(x, p, false))
}

// numeric says whether both operands are tensors or weights of floating type.
func (r *run) integral(in []value) bool {
	for _, v := range in {
		if v.isTensor() && r.g.DType(v.t).Floating() || v.c != nil && v.c.floating() {
			return false
		}
	}
	return true
}

// pairwise is an operation of two operands: integers take no gradient; scalar is its form where the second is a number, swapped
// where the first is.
func pairwise(scalar, swapped func(g *torch.Graph, x torch.Tensor) torch.Tensor, both func(g *torch.Graph, a, b torch.Tensor) torch.Tensor) operator {
	return func(r *run, in []value, cs []*constant) ([]value, bool) {
		switch {
		case len(in) != 2:
			return nil, false
		case r.integral(in):
			return mask(torch.Int64)(r, in, cs)
		case r.scalarLike(in[1]):
			return one(scalar(r.g, r.tensor(in[0])))
		case r.scalarLike(in[0]):
			return one(swapped(r.g, r.tensor(in[1])))
		}
		return one(both(r.g, r.tensor(in[0]), r.tensor(in[1])))
	}
}

func dividing(g *torch.Graph, x torch.Tensor) torch.Tensor {
	return g.Scale(g.Unary(&torch.Unary{Name: "reciprocal", SavesOutput: true, Temps: 2, Integers: true}, x, false))
}

func pow(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) != 2 || in[0].c != nil && !r.scalarLike(in[1]) {
		return nil, false
	}
	if v, ok := number(in[1]); ok && v == 0.5 {
		return one(r.call("sqrt", r.tensor(in[0])))
	}
	return one(r.g.Pow(r.tensor(in[0])))
}

func sum(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) == 0 {
		return nil, false
	}
	y := r.tensor(in[0])
	for _, v := range in[1:] {
		y = r.g.Add(y, r.tensor(v))
	}
	return one(y)
}

func meanOf(r *run, in []value, cs []*constant) ([]value, bool) {
	out, ok := sum(r, in, cs)
	if !ok {
		return nil, false
	}
	return one(r.g.Scale(out[0].t))
}

func where(r *run, in []value, cs []*constant) ([]value, bool) {
	switch {
	case len(in) != 3:
		return nil, false
	case r.integral(in[1:]):
		return mask(torch.Int64)(r, in, cs)
	case r.scalarLike(in[1]) && in[2].isTensor():
		return one(r.g.MaskedFill(in[2].t, r.tensor(in[0])))
	case r.scalarLike(in[2]) && in[1].isTensor():
		return one(r.g.MaskedFill(in[1].t, r.tensor(in[0])))
	case !in[1].isTensor() && !in[2].isTensor():
		return mask(r.b.DType)(r, in, cs)
	}
	return one(r.g.Where(r.tensor(in[0]), r.tensor(in[1]), r.tensor(in[2])))
}

// cast between floating types is left out: the network's own type is the request's.
func cast(r *run, in []value, _ []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	to := r.b.DType
	switch int32(r.s.int("to", typeFloat)) {
	case typeInt64:
		to = torch.Int64
	case typeInt32:
		to = torch.Int32
	case typeBool:
		to = torch.Bool
	case typeUint8:
		to = torch.UInt8
	}
	if d := r.g.DType(x); d == to || d.Floating() && to.Floating() {
		return one(x)
	}
	return one(r.g.Constant("_to_copy", r.g.Shape(x), to))
}

func concat(r *run, in []value, _ []*constant) ([]value, bool) {
	var xs []torch.Tensor
	for _, v := range in {
		xs = append(xs, r.tensor(v))
	}
	if len(xs) == 0 || slices.Contains(xs, torch.None) {
		return nil, false
	}
	return one(r.g.Cat(int(r.s.int("axis", 0)), xs...))
}

func split(r *run, in []value, cs []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	d := axis(r.s.int("axis", 0), len(r.g.Shape(x)))
	n := int64(len(r.s.out))
	if d < 0 || n > 127 {
		return nil, false
	}
	sizes, ok := r.integers(cs, 1, "split")
	if !ok {
		total := r.g.Shape(x)[d]
		each := (total + n - 1) / n
		for range n {
			sizes = append(sizes, min(each, total))
			total -= min(each, total)
		}
	}
	if int64(len(sizes)) != n || slices.Min(sizes) < 0 {
		return nil, false
	}
	var out []value
	for _, t := range r.g.Split(x, d, sizes...) {
		out = append(out, of(t))
	}
	return out, true
}

func slicing(r *run, in []value, cs []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	cuts, ok := r.s.slices(cs, r.g.Shape(x))
	if !ok {
		return nil, false
	}
	for _, c := range cuts {
		switch d := r.g.Shape(x)[c.axis]; {
		case c.step == 1 && c.n == d:
		case c.step == 1:
			x = r.g.Narrow(x, c.axis, c.n)
		case c.step > 1:
			x = r.g.SliceStep(x, c.axis, c.start, c.step)
		default: // backwards: torch.flip
			sh := slices.Clone(r.g.Shape(x))
			sh[c.axis] = c.n
			x = r.g.Resize("flip", x, sh, false)
		}
	}
	return one(x)
}

func gather(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) != 2 {
		return nil, false
	}
	data := r.dims(in[0])
	d := axis(r.s.int("axis", 0), len(data))
	if d < 0 {
		return nil, false
	}
	if r.s.weights[0] != nil && d == 0 && len(data) == 2 {
		i := r.tensor(in[1])
		if r.g.DType(i).Floating() {
			i = r.g.Constant("_to_copy", r.g.Shape(i), torch.Int64)
		}
		return one(r.g.Embedding(i, r.weight(in, 0)))
	}
	x := r.tensor(in[0])
	index := r.dims(in[1])
	if len(index) == 0 {
		return one(r.g.Select(x, d))
	}
	sh := slices.Concat(data[:d], index, data[d+1:])
	if !r.g.DType(x).Floating() {
		return one(r.g.Constant("index_select", r.shape(sh), r.g.DType(x)))
	}
	return one(r.g.Resize("index_select", x, r.shape(sh), false))
}

// reshape turns a batch size that the exporter wrote down into the present one.
func reshape(r *run, in []value, cs []*constant) ([]value, bool) {
	to, ok := r.integers(cs, 1, "shape")
	if !ok {
		return nil, false
	}
	x := r.tensor(in[0])
	from := r.g.Shape(x)
	zero := r.s.int("allowzero", 0) == 1
	if len(to) > 0 && len(from) > 0 && from[0] == r.size && to[0] == r.batch && r.batch > 0 && r.batch != r.size {
		to = slices.Clone(to)
		to[0] = r.size
	}
	dims, ok := reshaped(from, to, zero)
	if !ok && len(to) > 0 && r.batch > 0 { // the batch folded into another dimension
		to = slices.Clone(to)
		to[0] = -1
		dims, ok = reshaped(from, to, zero)
	}
	if !ok {
		r.g.Fail("shape-view", "shape", torch.Shape(from), "to", torch.Shape(to))
	}
	return one(r.g.Reshape(x, dims...))
}

func flatten(r *run, in []value, _ []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	sh := r.g.Shape(x)
	a := axis(r.s.int("axis", 1), len(sh)+1)
	switch {
	case a < 0:
		return nil, false
	case a == 1 && len(sh) > 1:
		return one(r.g.Flatten(x, 1, -1))
	}
	return one(r.g.Reshape(x, product(sh[:a]), product(sh[a:])))
}

func squeeze(r *run, in []value, cs []*constant) ([]value, bool) {
	axes, ok := r.s.axes(cs)
	x := r.tensor(in[0])
	if !ok {
		return nil, false
	}
	dims, ok := squeezed(r.g.Shape(x), axes, r.s.op == "Unsqueeze")
	if !ok {
		return nil, false
	}
	return one(r.g.Reshape(x, dims...))
}

func transpose(r *run, in []value, _ []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	n := len(r.g.Shape(x))
	perm := make([]int, n)
	given := r.s.attrOf("perm").ints
	seen := make([]bool, n)
	for i := range perm {
		perm[i] = n - 1 - i
		if len(given) > 0 {
			if len(given) != n || given[i] < 0 || given[i] >= int64(n) || seen[given[i]] {
				return nil, false
			}
			perm[i] = int(given[i])
			seen[given[i]] = true
		}
	}
	return one(r.g.Permute(x, perm...))
}

func expand(r *run, in []value, cs []*constant) ([]value, bool) {
	to, ok := r.integers(cs, 1, "shape")
	if !ok || len(to) > 16 {
		return nil, false
	}
	x := r.tensor(in[0])
	if len(to) > 0 && r.batch > 0 && to[0] == r.batch && len(to) > len(r.g.Shape(x))-1 {
		to = slices.Clone(to)
		to[0] = r.size
	}
	sh, ok := common(r.g.Shape(x), to)
	if !ok {
		return nil, false
	}
	return one(r.g.Expand(x, r.shape(sh)...))
}

func tile(r *run, in []value, cs []*constant) ([]value, bool) {
	times, ok := r.integers(cs, 1, "repeats")
	x := r.tensor(in[0])
	sh := slices.Clone(r.g.Shape(x))
	if !ok || len(times) != len(sh) {
		return nil, false
	}
	for i, n := range times {
		if n < 1 || n > 1<<30 || sh[i] > 1<<32 {
			return nil, false
		}
		sh[i] *= n
	}
	r.shape(sh)
	return one(r.g.Repeat(x, times...))
}

func pad(r *run, in []value, cs []*constant) ([]value, bool) {
	p, ok := r.integers(cs, 1, "pads")
	x := r.tensor(in[0])
	sh := slices.Clone(r.g.Shape(x))
	if !ok || len(p) != 2*len(sh) {
		return nil, false
	}
	for i := range sh {
		if a, b := p[i], p[len(sh)+i]; max(a, b) > 1<<30 || min(a, b) < -1<<30 || sh[i]+a+b < 0 {
			return nil, false
		}
		sh[i] += p[i] + p[len(sh)+i]
	}
	mode := r.s.attrOf("mode").s
	return one(r.g.Resize("pad", x, r.shape(sh), mode == "reflect" || mode == "edge"))
}

func resize(r *run, in []value, cs []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	sh := slices.Clone(r.g.Shape(x))
	scales := r.s.attrOf("scales").floats
	for _, k := range []int{1, 2} { // Upsample and the first Resize have them second, later ones third
		if k < len(cs) && cs[k] != nil && len(cs[k].floats) == len(sh) {
			scales = cs[k].floats
		}
	}
	if len(cs) > 3 && cs[3] != nil && known(cs[3]) && len(cs[3].ints) == len(sh) {
		for i, d := range cs[3].ints {
			if i > 0 {
				sh[i] = d
			}
		}
	} else {
		if len(scales) != len(sh) {
			return nil, false
		}
		for i, f := range scales {
			if !(f > 0 && f < 1<<20) {
				return nil, false
			}
			sh[i] = int64(math.Floor(float64(sh[i]) * f))
		}
	}
	return one(r.g.Resize("upsample", x, r.shape(sh), false))
}

func space(r *run, in []value, _ []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	sh := slices.Clone(r.g.Shape(x))
	b := r.s.int("blocksize", 1)
	if len(sh) != 4 || b < 1 || b > 1<<15 {
		return nil, false
	}
	if r.s.op == "DepthToSpace" {
		if sh[1]%(b*b) != 0 {
			r.g.Fail("shuffle-factor", "shape", torch.Shape(sh), "factor", b)
		}
		sh[1], sh[2], sh[3] = sh[1]/(b*b), sh[2]*b, sh[3]*b
	} else {
		if sh[2]%b != 0 || sh[3]%b != 0 {
			r.g.Fail("shuffle-factor", "shape", torch.Shape(sh), "factor", b)
		}
		sh[1], sh[2], sh[3] = sh[1]*b*b, sh[2]/b, sh[3]/b
	}
	return one(r.g.Resize("pixel_shuffle", x, r.shape(sh), false))
}

func reduce(r *run, in []value, cs []*constant) ([]value, bool) {
	axes, ok := r.s.axes(cs)
	if !ok {
		return nil, false
	}
	x := r.tensor(in[0])
	sh := r.g.Shape(x)
	keep := r.s.int("keepdims", 1) == 1
	if len(axes) == 0 && r.s.int("noop_with_empty_axes", 0) == 1 {
		return one(x)
	}
	var d []int
	for _, a := range axes {
		i := axis(a, len(sh))
		if i < 0 || slices.Contains(d, i) {
			return nil, false
		}
		d = append(d, i)
	}
	if len(d) == 0 {
		for i := range sh {
			d = append(d, i)
		}
	}
	out := []int64{}
	for i, n := range sh {
		switch {
		case !slices.Contains(d, i):
			out = append(out, n)
		case keep:
			out = append(out, 1)
		}
	}
	if !r.g.DType(x).Floating() {
		return one(r.g.Constant(lower(r.s.op), out, r.g.DType(x)))
	}
	switch {
	case r.s.op == "ReduceMean" && len(d) > 0:
		return one(r.g.Mean(x, keep, d...))
	case r.s.op == "ReduceSum" && len(d) > 0:
		return one(r.g.Sum(x, keep, d...))
	case (r.s.op == "ReduceMax" || r.s.op == "ReduceMin") && len(d) == 1:
		return one(r.g.Max(x, d[0], keep))
	}
	return one(r.g.Resize(lower(r.s.op), x, out, true))
}

func lpNorm(r *run, in []value, _ []*constant) ([]value, bool) {
	x := r.tensor(in[0])
	d := axis(r.s.int("axis", -1), len(r.g.Shape(x)))
	if d < 0 {
		return nil, false
	}
	return one(r.g.Normalize(x, d))
}

func argument(r *run, in []value, _ []*constant) ([]value, bool) {
	sh := slices.Clone(r.dims(in[0]))
	d := axis(r.s.int("axis", 0), len(sh))
	if d < 0 {
		return nil, false
	}
	if r.s.int("keepdims", 1) == 1 {
		sh[d] = 1
	} else {
		sh = slices.Delete(sh, d, d+1)
	}
	return one(r.g.Constant("argmax", sh, torch.Int64))
}

// recurrent is cuDNN's kernel; ONNX's output is [time, direction, batch, hidden].
func recurrent(r *run, in []value, _ []*constant) ([]value, bool) {
	if len(in) < 3 || r.s.weights[1] == nil || r.s.weights[2] == nil || len(r.dims(in[0])) != 3 {
		return nil, false
	}
	gates := map[string]int64{"LSTM": 4, "GRU": 3, "RNN": 1}[r.s.op]
	w := r.s.weights[1].dims
	hidden := r.s.int("hidden_size", 0)
	if len(w) != 3 || hidden < 1 || hidden > 1<<24 || w[1] != gates*hidden || w[0] < 1 || w[0] > 2 {
		return nil, false
	}
	weights := []torch.Tensor{r.weight(in, 1), r.weight(in, 2)}
	if len(in) > 3 && r.s.weights[3] != nil {
		weights = append(weights, r.weight(in, 3))
	}
	x := r.tensor(in[0])
	if r.s.int("layout", 0) == 1 {
		x = r.g.Transpose(x, 0, 1)
	}
	y, h, c := r.g.RNN(x, weights, torch.RNNArgs{Gates: gates, Hidden: hidden, Layers: 1, Bidirectional: w[0] == 2})
	sh := r.g.Shape(y)
	y = r.g.Permute(r.g.View(y, sh[0], sh[1], w[0], hidden), 0, 2, 1, 3)
	if c == torch.None {
		c = h
	}
	return []value{of(y), of(h), of(c)}, true
}
