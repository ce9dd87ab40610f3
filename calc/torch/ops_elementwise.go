package torch

import "slices"

// Unary describes an elementwise function by what its backward needs
// (tools/autograd/derivatives.yaml; measured table of layers).
type Unary struct {
	Name string
	// SavesInput or SavesOutput: what is kept for backward.
	SavesInput, SavesOutput bool
	// Buffer is bytes per element of a further tensor the kernel makes for its backward.
	Buffer int64
	// Float: autocast runs it in float32.
	Float bool
	// Temps is how many further tensors of the input's size the backward formula holds at once.
	Temps int
	// InPlaceClones: the in-place form clones its input, since the formula needs it.
	InPlaceClones bool
	// Integers: there is a kernel for integers too.
	Integers bool
}

func (f *Unary) back(b *backward) {
	var temps [4]gt
	for i := range f.Temps {
		temps[i] = b.like(0)
	}
	b.set(0, b.like(0, b.layout(b.gout(0))))
	for _, t := range temps[:f.Temps] {
		b.free(t)
	}
}

// Unary applies f to x, into x's own storage if inplace.
func (g *Graph) Unary(f *Unary, x Tensor, inplace bool) Tensor {
	if !f.Integers {
		g.floating(x)
	}
	if f.Float && !inplace {
		x = g.float(x)
	}
	t := g.t[x]
	if inplace {
		saved := None
		if f.InPlaceClones && g.wants(x) {
			saved = g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
			g.record(op{name: "clone", out: saved})
		}
		y := g.alias(x, t.shape, t.stride)
		o := op{name: f.Name, in: g.list(x), out: y, back: f.back}
		switch {
		case saved != None:
			o.saved = g.list(saved)
		case f.SavesOutput || f.SavesInput: // the kept result is the same storage
			o.saved = g.list(y)
		}
		g.record(o)
		if saved != None {
			g.touch(saved)
		}
		return y
	}
	y := g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	o := op{name: f.Name, in: g.list(x), out: y, back: f.back}
	switch {
	case f.SavesInput:
		o.saved = g.list(x)
	case f.SavesOutput:
		o.saved = g.list(y)
	}
	if f.Buffer > 0 {
		buf := g.add(tensor{view: t.view, dtype: UInt8, leaf: -1, owner: true, store: g.newStorage(numel(t.shape)*f.Buffer, KindTemporaries)})
		o.nOut = 2
		o.saved = g.list(append(slices.Clone(o.saved), buf)...)
	}
	return g.record(o)
}

// Add is a + b (also a - b and a + alpha*b) with broadcasting; the gradient passes through.
func (g *Graph) Add(a, b Tensor) Tensor { return g.add2("add", a, b, false) }

// AddInPlace is a += b.
func (g *Graph) AddInPlace(a, b Tensor) Tensor { return g.add2("add_", a, b, true) }

func (g *Graph) add2(name string, a, b Tensor, inplace bool) Tensor {
	x, y := g.t[a], g.t[b]
	shape := g.broadcast(x.shape, y.shape)
	var out Tensor
	if inplace {
		if !slices.Equal(shape, x.shape) {
			g.Fail("shape-broadcast", "a", Shape(x.shape), "b", Shape(y.shape))
		}
		out = g.alias(a, x.shape, x.stride)
	} else {
		out = g.fresh(shape, g.likeStrides(shape, x.view, y.view), promote(x.dtype, y.dtype))
	}
	return g.record(op{name: name, in: g.list(a, b), out: out, back: func(b *backward) {
		v := b.gout(0)
		for i := range 2 {
			if b.need(i) {
				b.set(i, b.pass(v))
			}
		}
	}})
}

// AddScalar is x + c: a copy, the gradient passes through.
func (g *Graph) AddScalar(x Tensor) Tensor { return g.passUnary("add", x) }

// AddInPlaceScalar is x += c.
func (g *Graph) AddInPlaceScalar(x Tensor) Tensor {
	t := g.t[x]
	return g.viewOp("add_", x, t.shape, t.stride, func(b *backward) {
		v := b.gout(0)
		l := b.layout(v)
		b.set(0, b.alias(v, l.shape, l.stride))
	})
}

func (g *Graph) passUnary(name string, x Tensor) Tensor {
	t := g.t[x]
	y := g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	return g.record(op{name: name, in: g.list(x), out: y, back: func(b *backward) {
		v := b.gout(0)
		b.set(0, b.pass(v))
	}})
}

// Mul is a * b with broadcasting; each factor is kept for the other's gradient.
func (g *Graph) Mul(a, b Tensor) Tensor {
	x, y := g.t[a], g.t[b]
	shape := g.broadcast(x.shape, y.shape)
	out := g.fresh(shape, g.likeStrides(shape, x.view, y.view), promote(x.dtype, y.dtype))
	o := op{name: "mul", in: g.list(a, b), out: out, back: func(b *backward) {
		v := b.gout(0)
		l := b.layout(v)
		r := [2]gt{noGrad, noGrad}
		for _, i := range [...]int{1, 0} {
			if b.need(i) {
				b.step()
				r[i] = b.alloc(l.shape, b.c.g.likeStrides(l.shape, l, b.in(1-i)), b.c.gts[v].dtype)
			}
		}
		for i := range 2 { // broadcast factors are summed once both are there
			if r[i] != noGrad {
				b.set(i, r[i])
			}
		}
	}}
	if g.wants(b) {
		o.saved = append(o.saved, a)
	}
	if g.wants(a) {
		o.saved = append(o.saved, b)
	}
	o.saved = g.list(o.saved...)
	return g.record(o)
}

// Div is a / b with broadcasting (div's backward also keeps the numerator for the denominator).
func (g *Graph) Div(a, b Tensor) Tensor {
	x, y := g.t[a], g.t[b]
	shape := g.broadcast(x.shape, y.shape)
	out := g.fresh(shape, g.likeStrides(shape, x.view, y.view), promote(x.dtype, y.dtype))
	o := op{name: "div", in: g.list(a, b), out: out, back: func(b *backward) {
		v := b.gout(0)
		l := b.layout(v)
		d := b.c.gts[v].dtype
		if b.need(1) { // -grad * ((self / other) / other); C++ temporaries live to the end of the expression
			st := b.c.g.likeStrides(l.shape, b.in(0), b.in(1))
			q := b.alloc(l.shape, st, d)
			q2 := b.alloc(l.shape, st, d)
			neg := b.alloc(l.shape, l.stride, d)
			b.set(1, b.alloc(l.shape, b.c.g.likeStrides(l.shape, l), d))
			b.free(q)
			b.free(q2)
			b.free(neg)
		}
		if b.need(0) {
			b.step()
			b.set(0, b.alloc(l.shape, b.c.g.likeStrides(l.shape, l, b.in(1)), d))
		}
	}}
	if g.wants(b) {
		o.saved = append(o.saved, a)
	}
	o.saved = g.list(append(o.saved, b)...)
	return g.record(o)
}

// Scale is x * c or x / c with a Python number: nothing kept, one copy each way.
func (g *Graph) Scale(x Tensor) Tensor {
	t := g.t[x]
	y := g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	return g.record(op{name: "mul", in: g.list(x), out: y, back: func(b *backward) {
		b.set(0, b.like(0, b.layout(b.gout(0))))
	}})
}

// mulNoise multiplies x by noise made for it, in place or not.
func (g *Graph) mulNoise(name string, x Tensor, noiseShape []int64, inplace bool) Tensor {
	return g.mulBy(name, x, g.Constant("bernoulli_", noiseShape, g.t[x].dtype), inplace)
}

// mulBy multiplies x by a tensor that needs no gradient, and keeps that one only.
func (g *Graph) mulBy(name string, x, noise Tensor, inplace bool) Tensor {
	t := g.t[x]
	var y Tensor
	if inplace {
		y = g.alias(x, t.shape, t.stride)
	} else {
		y = g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	}
	return g.record(op{name: name, in: g.list(x, noise), out: y, saved: g.list(noise), back: func(b *backward) {
		b.set(0, b.like(0, b.layout(b.gout(0))))
	}})
}

// perChannel is [N, C, 1, ...].
func (g *Graph) perChannel(x Tensor) []int64 {
	g.RankFrom(x, 2)
	s := g.shapeOf(g.t[x].shape...)
	for i := range s[2:] {
		s[i+2] = 1
	}
	return s
}

// Dropout as CUDA runs it: native_dropout's bool mask (aten/src/ATen/native/Dropout.cpp);
// the in-place form keeps its noise in the input's type. p of 0 is the identity.
func (g *Graph) Dropout(x Tensor, p float64, inplace bool) Tensor {
	t := g.t[x]
	switch {
	case p == 0 || g.noGrad:
		return x
	}
	g.floating(x)
	switch {
	case p == 1: // times one zero
		return g.mulNoise("dropout_", x, nil, inplace)
	case inplace:
		return g.mulNoise("dropout_", x, t.shape, inplace)
	}
	y := g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	mask := g.fresh(t.shape, g.t[y].stride, Bool)
	return g.record(op{name: "native_dropout", in: g.list(x), out: y, nOut: 2, saved: g.list(mask), back: func(b *backward) {
		b.set(0, b.like(0, b.layout(b.gout(0))))
	}})
}

// FeatureDropout drops whole channels: noise of shape [N, C, 1, ...].
func (g *Graph) FeatureDropout(x Tensor, p float64, inplace bool) Tensor {
	if p == 0 || g.noGrad {
		return x
	}
	return g.mulNoise("feature_dropout", x, g.perChannel(x), inplace)
}

// To is x.to(dtype): x itself when it already has the type.
func (g *Graph) To(x Tensor, d DType) Tensor {
	t := g.t[x]
	if t.dtype == d {
		return x
	}
	y := g.fresh(t.shape, g.likeStrides(t.shape, t.view), d)
	return g.record(op{name: "_to_copy", in: g.list(x), out: y, back: func(b *backward) {
		v := b.gout(0)
		b.set(0, b.pass(v)) // set casts to the input's type
	}})
}

// Roll is torch.roll: a contiguous copy each way.
func (g *Graph) Roll(x Tensor) Tensor {
	t := g.t[x]
	y := g.fresh(t.shape, nil, t.dtype)
	return g.record(op{name: "roll", in: g.list(x), out: y, back: func(b *backward) {
		b.set(0, b.alloc(b.in(0).shape, nil, b.c.gts[b.gout(0)].dtype))
	}})
}

// MaskedFill is x.masked_fill(mask, c), keeping the mask.
func (g *Graph) MaskedFill(x, mask Tensor) Tensor {
	t := g.t[x]
	shape := g.broadcast(t.shape, g.t[mask].shape)
	y := g.fresh(shape, g.likeStrides(shape, t.view), t.dtype)
	return g.record(op{name: "masked_fill", in: g.list(x, mask), out: y, saved: g.list(mask), back: func(b *backward) {
		l := b.layout(b.gout(0))
		b.set(0, b.alloc(l.shape, b.c.g.likeStrides(l.shape, l), b.c.gts[b.gout(0)].dtype))
	}})
}

// Compare is an elementwise comparison of x with a number: a bool tensor.
func (g *Graph) Compare(x Tensor) Tensor {
	t := g.t[x]
	return g.record(op{name: "eq", in: g.list(x), out: g.fresh(t.shape, nil, Bool)})
}

// Softmax and log-softmax keep their result.
func (g *Graph) Softmax(x Tensor) Tensor { return g.softmax("_softmax", x, false) }

// SoftmaxFloat is softmax(x, dtype=float32): half inputs are not copied, the result is in float32.
func (g *Graph) SoftmaxFloat(x Tensor) Tensor {
	return g.softmax("_softmax", x, true)
}

// LogSoftmax is log_softmax over one dimension.
func (g *Graph) LogSoftmax(x Tensor) Tensor { return g.softmax("_log_softmax", x, false) }

// softmax reads half types into float32 on the way where asked, as autocast does (half_to_float).
func (g *Graph) softmax(name string, x Tensor, float bool) Tensor {
	g.floating(x)
	t := g.t[x]
	d := t.dtype
	if d.Half() && (float || g.amp != Float32) {
		d = Float32
	}
	y := g.fresh(t.shape, g.formatStrides(t.shape, t.view), d)
	saved := g.list(y)
	if g.Rules.SoftmaxSavesInput {
		saved = g.list(y, x)
	}
	return g.record(op{name: name, in: g.list(x), out: y, saved: saved, back: func(b *backward) {
		b.set(0, b.like2(0))
	}})
}

// float is autocast's other list: operations on CUDA that run in float32 (aten/src/ATen/autocast_mode.h, AT_FORALL_FP32).
func (g *Graph) float(x Tensor) Tensor {
	if g.amp == Float32 || x == None || !g.t[x].dtype.Half() {
		return x
	}
	return g.To(x, Float32)
}

// Pow is x ** c, keeping x.
func (g *Graph) Pow(x Tensor) Tensor {
	x = g.float(x)
	t := g.t[x]
	y := g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	return g.record(op{name: "pow", in: g.list(x), out: y, saved: g.list(x), back: func(b *backward) {
		// grad * (exponent * self.pow(exponent - 1))
		l := b.in(0)
		d := b.c.gts[b.gout(0)].dtype
		p := b.alloc(l.shape, l.stride, d)
		q := b.alloc(l.shape, l.stride, d)
		b.set(0, b.like(0, b.layout(b.gout(0))))
		b.free(p)
		b.free(q)
	}})
}

// PReLU keeps its input; the weight's gradient is collected beside the input's.
func (g *Graph) PReLU(x, w Tensor) Tensor {
	x, w = g.cast(x), g.cast(w)
	g.alike(x, w)
	t := g.t[x]
	channels := int64(1)
	if len(t.shape) > 1 {
		channels = t.shape[1]
	}
	if n := numel(g.t[w].shape); n != 1 && n != channels {
		g.Fail("norm-channels", "shape", Shape(t.shape), "num_features", n)
	}
	y := g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	return g.record(op{name: "prelu", in: g.list(x, w), out: y, saved: g.list(x, w), back: func(b *backward) {
		if b.need(0) {
			b.set(0, b.like(0, b.layout(b.gout(0))))
		}
		if b.need(1) {
			b.set(1, b.like2(1))
		}
	}})
}

// sumType is the type of sums and norms of d: autocast asks for float32 and copies nothing (AT_FORALL_FP32_SET_OPT_DTYPE).
func (g *Graph) sumType(d DType) DType {
	if g.amp != Float32 && d.Half() {
		return Float32
	}
	return d
}

// Norm is the Euclidean norm of x over dimension d, kept as size 1; it keeps x and its result.
func (g *Graph) Norm(x Tensor, d int) Tensor {
	t := g.t[x]
	sh := g.shapeOf(t.shape...)
	sh[dims(g, d, len(sh))] = 1
	y := g.fresh(sh, nil, g.sumType(t.dtype))
	return g.record(op{name: "norm", in: g.list(x), out: y, saved: g.list(x, y), back: func(b *backward) {
		// grad * (self / norm).masked_fill_(norm == 0, 0)
		r := b.like(0)
		zero := b.alloc(sh, nil, Bool)
		b.set(0, b.alloc(t.shape, nil, t.dtype))
		b.free(r)
		b.free(zero)
	}})
}

// Clamp is x.clamp with numbers, keeping x.
func (g *Graph) Clamp(x Tensor) Tensor {
	t := g.t[x]
	y := g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	return g.record(op{name: "clamp", in: g.list(x), out: y, saved: g.list(x), back: func(b *backward) {
		// where(self >= min, grad, 0)
		zero := b.alloc(nil, nil, t.dtype)
		mask := b.alloc(t.shape, nil, Bool)
		b.set(0, b.like(0, b.layout(b.gout(0))))
		b.free(zero)
		b.free(mask)
	}})
}

// Normalize is F.normalize(x, dim=d).
func (g *Graph) Normalize(x Tensor, d int) Tensor {
	return g.Div(x, g.Expand(g.Clamp(g.Norm(x, d)), g.t[x].shape...))
}

// Sub is a - b with broadcasting: the second gradient is a negated copy.
func (g *Graph) Sub(a, b Tensor) Tensor {
	x, y := g.t[a], g.t[b]
	shape := g.broadcast(x.shape, y.shape)
	out := g.fresh(shape, g.likeStrides(shape, x.view, y.view), promote(x.dtype, y.dtype))
	return g.record(op{name: "sub", in: g.list(a, b), out: out, back: func(b *backward) {
		v := b.gout(0)
		l := b.layout(v)
		if b.need(1) {
			b.step()
			b.set(1, b.alloc(l.shape, b.c.g.likeStrides(l.shape, l), b.c.gts[v].dtype))
		}
		if b.need(0) {
			b.set(0, b.alias(v, l.shape, l.stride))
		}
	}})
}

// GLU halves dimension d: one half times the sigmoid of the other. It keeps its input.
func (g *Graph) GLU(x Tensor, d int) Tensor {
	g.floating(x)
	t := g.t[x]
	sh := g.shapeOf(t.shape...)
	d = dims(g, d, len(sh))
	if sh[d]%2 != 0 {
		g.Fail("glu-odd", "shape", Shape(sh), "dim", d)
	}
	sh[d] /= 2
	return g.record(op{name: "glu", in: g.list(x), out: g.fresh(sh, nil, t.dtype), saved: g.list(x), back: func(b *backward) { b.set(0, b.like2(0)) }})
}

// RReLU draws a slope per element, which it keeps beside its input (in eval the tensor for it is made all the same).
func (g *Graph) RReLU(x Tensor, inplace bool) Tensor {
	g.floating(x)
	t := g.t[x]
	noise := g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	g.record(op{name: "empty_like", out: noise})
	var y Tensor
	saved := g.list(x, noise)
	if inplace {
		y = g.alias(x, t.shape, t.stride)
		saved = g.list(y, noise)
	} else {
		y = g.fresh(t.shape, g.likeStrides(t.shape, t.view), t.dtype)
	}
	return g.record(op{name: "rrelu_with_noise", in: g.list(x, noise), out: y, saved: saved, back: func(b *backward) {
		b.set(0, b.like(0, b.layout(b.gout(0))))
	}})
}

// AlphaDropout keeps the noise that multiplies x; the noise added is made of it. Whole channels at once if channels is set
// (aten/src/ATen/native/Dropout.cpp, _dropout_impl).
func (g *Graph) AlphaDropout(x Tensor, p float64, channels bool) Tensor {
	if p == 0 || g.noGrad {
		return x
	}
	g.floating(x)
	shape := g.t[x].shape
	if channels {
		shape = g.perChannel(x)
	}
	noise := g.Constant("bernoulli_", shape, g.t[x].dtype)
	shift := g.AddScalar(noise)
	return g.AddInPlace(g.mulBy("mul", x, noise, false), shift)
}

// Max is x.max(d): the values, with the indices kept for the gradient, which is scattered into zeros.
func (g *Graph) Max(x Tensor, d int, keep bool) Tensor {
	t := g.t[x]
	d = dims(g, d, len(t.shape))
	sh := slices.Delete(slices.Clone(t.shape), d, d+1)
	if keep {
		sh = slices.Insert(sh, d, 1)
	}
	y := g.fresh(sh, nil, t.dtype)
	i := g.fresh(sh, nil, Int64)
	return g.record(op{name: "max", in: g.list(x), out: y, nOut: 2, saved: g.list(i), back: func(b *backward) {
		z := b.like2(0) // scattered into out of place
		b.step()
		b.set(0, b.like2(0))
		b.free(z)
	}})
}

// Where is torch.where(c, a, b), keeping the condition.
func (g *Graph) Where(c, a, b Tensor) Tensor {
	x, y := g.t[a], g.t[b]
	shape := g.broadcast(g.broadcast(x.shape, y.shape), g.t[c].shape)
	out := g.fresh(shape, g.likeStrides(shape, g.t[c].view, x.view, y.view), promote(x.dtype, y.dtype))
	return g.record(op{name: "where", in: g.list(c, a, b), out: out, saved: g.list(c), back: func(b *backward) {
		v := b.gout(0)
		l := b.layout(v)
		zero := b.alloc(nil, nil, b.c.gts[v].dtype)
		for i := 1; i <= 2; i++ {
			if b.need(i) {
				b.step()
				b.set(i, b.alloc(l.shape, nil, b.c.gts[v].dtype))
			}
		}
		b.free(zero)
	}})
}
