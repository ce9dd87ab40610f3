package torch

// SDPAArgs are the arguments of scaled_dot_product_attention beside its operands.
type SDPAArgs struct {
	// Mask is attn_mask, None where absent.
	Mask   Tensor
	P      float64
	Causal bool
}

// FloatMask turns a bool mask into one of -inf and zeros (F._canonical_mask); others pass.
func (g *Graph) FloatMask(mask Tensor, d DType) Tensor {
	if mask == None || g.t[mask].dtype != Bool {
		return mask
	}
	m := g.fresh(g.t[mask].shape, nil, d)
	return g.record(op{name: "masked_fill_", in: g.list(mask), out: m})
}

// LogicalOr is a | b of bool masks.
func (g *Graph) LogicalOr(a, b Tensor) Tensor {
	return g.record(op{name: "logical_or", in: g.list(a, b), out: g.fresh(g.broadcast(g.t[a].shape, g.t[b].shape), nil, Bool)})
}

// PadLast is F.pad(x, (left, right)).
func (g *Graph) PadLast(x Tensor, left, right int64) Tensor {
	sh := g.shapeOf(g.t[x].shape...)
	sh[len(sh)-1] += left + right
	return g.Resize("pad", x, sh, false)
}

// Repeat is x.repeat(times...), one number per dimension.
func (g *Graph) Repeat(x Tensor, times ...int64) Tensor {
	sh := g.shapeOf(g.t[x].shape...)
	for i := range sh {
		sh[i] *= times[i]
	}
	return g.record(op{name: "repeat", in: g.list(x), out: g.fresh(sh, nil, g.t[x].dtype), back: func(b *backward) { b.set(0, b.like2(0)) }})
}

// SDPA is scaled_dot_product_attention on [B, H, L, E] operands, with the kernel that CUDA picks
// (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp): flash takes half types without a mask and heads of at most 256
// features, efficient what is aligned to 16 bytes; the rest is the math kernel.
func (g *Graph) SDPA(q, k, v Tensor, a SDPAArgs) Tensor {
	q, k, v = g.cast(q), g.cast(k), g.cast(v)
	t := g.t[q]
	n := len(t.shape)
	if ks, vs := g.t[k].shape, g.t[v].shape; n < 2 || len(ks) != n || len(vs) != n || ks[n-1] != t.shape[n-1] || ks[n-2] != vs[n-2] {
		g.Fail("shape-matmul", "a", Shape(t.shape), "b", Shape(ks))
	} else {
		g.broadcast(g.broadcast(t.shape[:n-2], ks[:n-2]), vs[:n-2])
	}
	kernel := g.Rules.Attention
	e := t.shape[n-1]
	if kernel == "flash" && (!t.dtype.Half() || a.Mask != None || e > 256) {
		kernel = "efficient"
	}
	switch {
	case n != 4, kernel == "efficient" && (e*t.dtype.Size()%16 != 0 || t.dtype == Float64):
		return g.sdpaMath(q, k, v, a)
	case kernel == "flash":
		return g.flash(q, k, v)
	case kernel == "efficient":
		return g.efficient(q, k, v, a.Mask)
	}
	return g.sdpaMath(q, k, v, a)
}

// attentionKernel records a fused kernel: it keeps its operands, its output and a float32 logsumexp of rows per head.
// The dropout's seed and offset are scalars on the host.
func (g *Graph) attentionKernel(name string, q, k, v, mask Tensor, stride []int64, rows int64, back func(*backward)) Tensor {
	t := g.t[q]
	shape := g.shapeOf(t.shape[0], t.shape[1], t.shape[2], g.Dim(v, 3))
	y := g.fresh(shape, stride, t.dtype)
	if g.noGrad {
		rows = 0
	}
	lse := g.fresh(g.shapeOf(t.shape[0], t.shape[1], rows), nil, Float32)
	saved := []Tensor{q, k, v, y, lse}
	if mask != None {
		saved = append(saved, mask)
	}
	return g.record(op{name: name, in: g.list(q, k, v, mask), out: y, nOut: 2, saved: g.list(saved...), back: back})
}

func ceilTo(n, m int64) int64 { return (n + m - 1) / m * m }

// byToken are the strides of a [B, H, L, E] view of [B, L, H, E].
func (g *Graph) byToken(s []int64) []int64 { return g.shapeOf(s[1]*s[2]*s[3], s[3], s[1]*s[3], 1) }

// tokenMajor says whether v is such a view.
func tokenMajor(v view) bool {
	s, t := v.shape, v.stride
	return isContiguous([]int64{s[0], s[2], s[1], s[3]}, []int64{t[0], t[2], t[1], t[3]})
}

// flash is _flash_attention_forward (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp): heads are padded to
// a multiple of 8 features. Its backward makes the three gradients, a contiguous incoming one, a float32 per row (rows
// padded to 128) and dq in float32 (features padded to 32).
func (g *Graph) flash(q, k, v Tensor) Tensor {
	e := g.Dim(q, 3)
	if pad := ceilTo(e, 8) - e; pad > 0 {
		return g.SliceTo(g.flash(g.PadLast(q, 0, pad), g.PadLast(k, 0, pad), g.PadLast(v, 0, pad)), 3, e)
	}
	t := g.t[q]
	n, heads, l := t.shape[0], t.shape[1], t.shape[2]
	return g.attentionKernel("_scaled_dot_product_flash_attention", q, k, v, None, g.likeStrides(t.shape, t.view), l, func(b *backward) {
		in := b.layout(b.gout(0))
		for i := range 3 {
			b.set(i, b.like(i))
		}
		var temps []gt
		if !tokenMajor(in) {
			temps = append(temps, b.alloc(in.shape, nil, t.dtype))
		}
		width := ceilTo(e, 32)
		if e > 192 {
			width = 256
		}
		rows := ceilTo(l, 128)
		temps = append(temps, b.alloc([]int64{n, heads, rows}, nil, Float32), b.alloc([]int64{n, rows, heads, width}, nil, Float32))
		for _, x := range temps {
			b.free(x)
		}
	})
}

// efficient is _efficient_attention_forward (aten/src/ATen/native/transformers/cuda/attention.cu): the logsumexp's rows are
// padded to 32, a mask's to 16. Its backward (attention_backward.cu, mem_eff_attention/kernel_backward.h) makes the three
// gradients, for float32 the product grad * out to sum by row, and a workspace of dq in float32 by blocks of 64 x 64.
func (g *Graph) efficient(q, k, v, mask Tensor) Tensor {
	t := g.t[q]
	n, heads, l, e := t.shape[0], t.shape[1], t.shape[2], t.shape[3]
	if mask != None {
		mask = g.FloatMask(mask, t.dtype)
		if m := g.t[mask].shape; m[len(m)-1]%16 != 0 {
			last := m[len(m)-1]
			mask = g.Narrow(g.PadLast(mask, 0, 16-last%16), -1, last)
		}
		mask = g.Expand(mask, n, heads, l, g.Dim(k, 2))
	}
	shape := []int64{n, heads, l, g.Dim(v, 3)}
	return g.attentionKernel("_scaled_dot_product_efficient_attention", q, k, v, mask, g.byToken(shape), ceilTo(l, 32), func(b *backward) {
		for i := range 3 {
			s := b.in(i).shape
			b.set(i, b.alloc(s, b.c.g.byToken(s), t.dtype))
		}
		if !t.dtype.Half() {
			product := b.alloc(shape, nil, Float32)
			sums := b.alloc([]int64{n, l, heads}, nil, Float32)
			b.free(product)
			defer b.free(b.alloc([]int64{n, heads, l}, nil, Float32))
			b.free(sums)
		} else {
			defer b.free(b.alloc([]int64{n, heads, l}, nil, Float32))
		}
		blocks := (l + 63) / 64 * ((e + 63) / 64)
		b.scratch(4 * n * heads * blocks * (64*64 + 4))
	})
}

// sdpaMath is _scaled_dot_product_attention_math: q and k scaled by the root of the scale, the L x L product with the mask
// added in place, softmax, dropout and the product with v. Since 2.5 half operands are computed in float32, and the softmax
// is one that gives zeros for rows masked throughout (_safe_softmax).
func (g *Graph) sdpaMath(q, k, v Tensor, a SDPAArgs) Tensor {
	amp := g.amp
	g.amp = Float32 // inside the operation autocast is over
	defer func() { g.amp = amp }()
	d := g.t[q].dtype
	if g.Rules.MathUpcasts && d.Half() {
		q, k, v = g.To(q, Float32), g.To(k, Float32), g.To(v, Float32)
	}
	q = g.Scale(q)
	mask := g.FloatMask(a.Mask, g.t[q].dtype)
	l, s := g.Dim(q, -2), g.Dim(k, -2)
	if a.Causal {
		mask = g.FloatMask(g.Constant("tril", []int64{l, s}, Bool), g.t[q].dtype)
	}
	att := g.Matmul(q, g.Scale(g.Transpose(k, -2, -1)))
	if mask != None {
		att = g.AddInPlace(att, mask)
	}
	if g.Rules.MathUpcasts {
		att = g.safeSoftmax(att)
	} else {
		att = g.Softmax(att)
	}
	g.Alive(q, mask)
	y := g.Matmul(g.Dropout(att, a.P, false), v)
	g.Alive(q, k, v, att, mask)
	return g.To(y, d)
}

// safeSoftmax is one operation whose kernel makes a softmax, a comparison with -inf, its conjunction by row and the
// chosen result.
func (g *Graph) safeSoftmax(x Tensor) Tensor {
	if !g.Rules.KernelCopies {
		return g.Softmax(x)
	}
	t := g.t[x]
	rows := g.shapeOf(t.shape...)
	rows[len(rows)-1] = 1
	soft := g.Constant("_softmax", t.shape, t.dtype)
	masked := g.Constant("eq", t.shape, Bool)
	all := g.Constant("all", rows, Bool)
	y := g.fresh(t.shape, nil, t.dtype)
	g.record(op{name: "_safe_softmax", in: g.list(x), out: y, saved: g.list(y), back: func(b *backward) { b.set(0, b.like2(0)) }})
	g.Alive(soft, masked, all)
	return y
}
