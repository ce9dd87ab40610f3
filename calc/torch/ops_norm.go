package torch

import "slices"

// norm is a normalisation by rows of saved statistics: aten's native_batch_norm, native_layer_norm, native_group_norm.
// It keeps its input and two statistics (float32 for half inputs); the backward gives input, weight and bias.
// With stride nil the kernel wants a contiguous input: it copies another for itself, and its results are contiguous.
func (g *Graph) norm(name string, x, w, bias Tensor, stats []int64, stride []int64, kept ...Tensor) Tensor {
	g.floating(x)
	t := g.t[x]
	if w != None && !(t.dtype.Half() && g.t[w].dtype == Float32) { // CUDA's kernels take half inputs with float32 weights
		g.alike(x, w)
	}
	y := g.fresh(t.shape, stride, t.dtype)
	sd := t.dtype
	if sd.Half() {
		sd = Float32
	}
	mean := g.fresh(stats, nil, sd)
	rstd := g.fresh(stats, nil, sd)
	var scratch int64
	if stride == nil && g.Rules.KernelCopies && !isContiguous(t.shape, t.stride) {
		scratch = g.bytes(t.shape, t.dtype)
	}
	o := op{name: name, in: g.list(x, w, bias), out: y, nOut: 3, tmp: scratch, back: func(b *backward) {
		b.scratch(scratch)
		for i := range 3 {
			switch {
			case !b.need(i):
			case i == 0 && stride != nil:
				b.set(0, b.alloc(b.in(0).shape, b.c.g.formatStrides(b.in(0).shape, b.in(0)), b.c.g.t[b.o.in[0]].dtype))
			default:
				b.set(i, b.like2(i))
			}
		}
	}}
	var list [8]Tensor
	saved := append(list[:0], x, mean, rstd)
	if w != None {
		saved = append(saved, w)
	}
	o.saved = g.list(append(saved, kept...)...)
	return g.record(o)
}

// BatchNorm over channel 1. training: the batch's own statistics (training); else the running ones, and only the input is kept.
func (g *Graph) BatchNorm(x, w, bias Tensor, running []Tensor, training bool) Tensor {
	t := g.t[x]
	g.RankFrom(x, 2)
	c := t.shape[1]
	if training && !g.noGrad {
		if c > 0 && numel(t.shape)/c == 1 {
			g.Fail("batchnorm-one-value", "shape", Shape(t.shape))
		}
	}
	if !training {
		c = 0
	}
	stats := g.shapeOf(c)
	return g.norm("native_batch_norm", x, w, bias, stats, g.formatStrides(t.shape, t.view), running...)
}

// LayerNorm over the last dimensions normalised.
func (g *Graph) LayerNorm(x, w, bias Tensor, normalised []int64) Tensor {
	x, w, bias = g.float(x), g.float(w), g.float(bias)
	t := g.t[x]
	n := len(t.shape) - len(normalised)
	if n < 0 || !sameShape(t.shape[n:], normalised) {
		g.Fail("layernorm-shape", "shape", Shape(t.shape), "normalized_shape", Shape(normalised))
	}
	stats := g.ints(len(t.shape))
	for i := range stats {
		stats[i] = 1
		if i < n {
			stats[i] = t.shape[i]
		}
	}
	if bias != None { // the weight's and the bias's are kept alike
		return g.norm("native_layer_norm", x, w, bias, stats, nil, bias)
	}
	return g.norm("native_layer_norm", x, w, bias, stats, nil)
}

func sameShape(a, b []int64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// GroupNorm with groups over channel 1.
func (g *Graph) GroupNorm(x, w, bias Tensor, groups int64) Tensor {
	x, w, bias = g.float(x), g.float(w), g.float(bias)
	t := g.t[x]
	g.RankFrom(x, 2)
	if groups <= 0 || t.shape[1]%groups != 0 {
		g.Fail("groupnorm-groups", "shape", Shape(t.shape), "num_groups", groups)
	}
	return g.norm("native_group_norm", x, w, bias, []int64{t.shape[0], groups}, g.formatStrides(t.shape, t.view))
}

// InstanceNorm views N x C as channels of one sample; its affine weights and running statistics are repeated N times
// (aten/src/ATen/native/Normalization.cpp, instance_norm).
func (g *Graph) InstanceNorm(x, w, bias Tensor, running []Tensor, training bool) Tensor {
	t := g.t[x]
	g.RankFrom(x, 3)
	n, c := t.shape[0], t.shape[1]
	if training && numel(t.shape) == n*c {
		g.Fail("batchnorm-one-value", "shape", Shape(t.shape))
	}
	sh := g.shapeOf(t.shape...)
	sh[0], sh[1] = 1, n*c
	if w != None {
		w, bias = g.repeat(w, n), g.repeat(bias, n)
	}
	kept := make([]Tensor, len(running))
	for i, r := range running {
		kept[i] = g.repeat(r, n)
	}
	stats := []int64{n * c}
	if !training {
		stats[0] = 0
	}
	x = g.View(g.Contiguous(x), sh...)
	y := g.norm("native_batch_norm", x, w, bias, stats, nil, kept...)
	for _, r := range kept { // the running statistics take the mean of the repeated ones
		g.Mean(g.View(r, n, c), false, 0)
		g.Alive(x, y)
	}
	return g.View(y, t.shape...)
}

// repeat is x.repeat(n) of a vector.
func (g *Graph) repeat(x Tensor, n int64) Tensor {
	c := g.t[x].shape[0]
	return g.record(op{name: "repeat", in: g.list(x), out: g.fresh([]int64{n * c}, nil, g.t[x].dtype), back: func(b *backward) {
		b.set(0, b.like2(0))
	}})
}

// RMSNorm over the last dimensions normalised. Since 2.9 CUDA has a fused kernel that keeps its input and one statistic per
// row (pytorch PR 153666); before, and where the weight has another type than the input, it is written out in float32
// (aten/src/ATen/native/layer_norm.cpp, rms_norm).
func (g *Graph) RMSNorm(x, w Tensor, normalised []int64) Tensor {
	t := g.t[x]
	n := len(t.shape) - len(normalised)
	if n < 0 || !sameShape(t.shape[n:], normalised) {
		g.Fail("layernorm-shape", "shape", Shape(t.shape), "normalized_shape", Shape(normalised))
	}
	if g.Rules.FusedRMSNorm && (w == None || g.t[w].dtype == t.dtype) {
		stats := g.shapeOf(t.shape...)
		for i := n; i < len(stats); i++ {
			stats[i] = 1
		}
		sd := t.dtype
		if sd.Half() {
			sd = Float32
		}
		y := g.fresh(t.shape, nil, t.dtype)
		rstd := g.fresh(stats, nil, sd)
		saved := []Tensor{x, rstd}
		if w != None {
			saved = append(saved, w)
		}
		return g.record(op{name: "_fused_rms_norm", in: g.list(x, w), out: y, nOut: 2, saved: g.list(saved...), back: func(b *backward) {
			for i := range 2 {
				if b.need(i) {
					b.set(i, b.like2(i))
				}
			}
		}})
	}
	dims := make([]int, len(normalised))
	for i := range dims {
		dims[i] = -1 - i
	}
	up := x
	if t.dtype.Half() {
		up = g.To(x, Float32)
	}
	r := g.Unary(&Unary{Name: "rsqrt", SavesOutput: true, Temps: 2}, g.AddInPlaceScalar(g.Mean(g.Pow(up), true, dims...)), false)
	y := g.To(g.Mul(up, r), t.dtype)
	g.Alive(up)
	if w != None {
		y = g.Mul(y, w)
	}
	return g.To(y, t.dtype)
}

// LocalResponseNorm divides x by the average of its squares over size neighbouring channels (F.local_response_norm).
func (g *Graph) LocalResponseNorm(x Tensor, size int64) Tensor {
	t := g.t[x]
	n := len(t.shape)
	g.RankFrom(x, 3)
	d := g.Unsqueeze(g.Mul(x, x), 1)
	s := g.shapeOf(t.shape...)
	if n > 3 {
		s = g.shapeOf(s[0], s[1], s[2], numel(s[3:]))
		d = g.View(d, s[0], 1, s[1], s[2], s[3])
	}
	s = slices.Insert(slices.Clone(s), 1, 1)
	padded := slices.Clone(s)
	padded[2] += size - 1
	d = g.Pool("avg_pool", g.Resize("pad", d, padded, false), s, true, false)
	d = g.Squeeze(d, 1)
	if n > 3 {
		d = g.View(d, t.shape...)
	}
	p := g.Pow(g.AddScalar(g.Scale(d)))
	g.Alive(d)
	return g.Div(x, p)
}
