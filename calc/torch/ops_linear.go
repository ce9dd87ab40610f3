package torch

import "slices"

// Matrix products. The order of allocations in each backward is that of the
// generated code (tools/autograd/derivatives.yaml) as measured.

// Linear is F.linear: addmm where there is a bias and the input can be seen as a
// matrix, else matmul and an added bias (aten/src/ATen/native/Linear.cpp).
func (g *Graph) Linear(x, w, bias Tensor) Tensor {
	x, w, bias = g.cast(x), g.cast(w), g.cast(bias)
	in, out := g.t[w].shape[1], g.t[w].shape[0]
	t := g.t[x]
	if len(t.shape) == 0 || t.shape[len(t.shape)-1] != in {
		g.Fail("linear-features", "shape", Shape(t.shape), "in_features", in, "found", last(t.shape))
	}
	g.alike(x, w)
	sh := g.shapeOf(t.shape...)
	sh[len(sh)-1] = out
	if len(sh) == 2 {
		return g.addmm(x, w, bias)
	}
	fused := bias
	if !isContiguous(t.shape, t.stride) || (len(sh) != 3 && !g.Rules.LinearAnyRank) {
		fused = None
	}
	m := g.Reshape(x, numel(t.shape)/max(in, 1), in)
	y := g.View(g.addmm(m, w, fused), sh...)
	g.Alive(x)
	if bias != fused {
		y = g.AddBias(y, bias)
	}
	return y
}

// AddBias is output.add_(bias), as aten's composites write it.
func (g *Graph) AddBias(y, bias Tensor) Tensor {
	if g.Rules.LinearAddCopies {
		return g.Add(y, bias)
	}
	return g.AddInPlace(y, bias)
}

// addmm is x w^T + bias on matrices (mm without a bias). The weight's own transpose is a view.
func (g *Graph) addmm(x, w, bias Tensor) Tensor {
	t := g.t[x]
	out := g.t[w].shape[0]
	y := g.fresh(g.shapeOf(t.shape[0], out), nil, t.dtype)
	o := op{name: "addmm", in: g.list(bias, x, w), out: y, back: addmmBack}
	if bias == None {
		o.name, o.back, o.in = "mm", mmBack, g.list(x, w)
	}
	if g.wants(w) {
		o.saved = append(o.saved, x)
	}
	if g.wants(x) {
		o.saved = append(o.saved, w)
	}
	o.saved = g.list(o.saved...)
	return g.record(o)
}

func addmmBack(b *backward) {
	for i := 1; i <= 2; i++ {
		if b.need(i) {
			b.step()
			b.set(i, b.like2(i))
		}
	}
	if b.need(0) {
		b.set(0, b.pass(b.gout(0)))
	}
}

func mmBack(b *backward) {
	for _, i := range [...]int{1, 0} {
		if b.need(i) {
			b.step()
			b.set(i, b.like2(i))
		}
	}
}

// like2 is a contiguous gradient for input i.
func (b *backward) like2(i int) gt {
	x := &b.c.g.t[b.o.in[i]]
	return b.alloc(x.shape, nil, x.dtype)
}

// Matmul is torch.matmul for two operands of at least two dimensions: batched operands are
// expanded and reshaped to three dimensions, which copies what is not contiguous.
func (g *Graph) Matmul(a, b Tensor) Tensor {
	a, b = g.cast(a), g.cast(b)
	x, y := g.t[a], g.t[b]
	n, k := len(x.shape), len(y.shape)
	if n < 2 || k < 2 || x.shape[n-1] != y.shape[k-2] {
		g.Fail("shape-matmul", "a", Shape(x.shape), "b", Shape(y.shape))
	}
	if n == 2 && k == 2 {
		return g.mm2(a, b)
	}
	lead := g.broadcast(x.shape[:n-2], y.shape[:k-2])
	full := func(t Tensor, v view) Tensor {
		m := len(v.shape)
		sh := append(g.shapeOf(lead...), v.shape[m-2], v.shape[m-1])
		e := g.Expand(t, sh...)
		return g.Reshape(e, numel(lead), v.shape[m-2], v.shape[m-1])
	}
	p := full(a, x.view)
	q := full(b, y.view)
	r := g.Bmm(p, q)
	g.Alive(a, b)
	return g.View(r, append(g.shapeOf(lead...), x.shape[n-2], y.shape[k-1])...)
}

// mm2 is torch.mm of two activations.
func (g *Graph) mm2(a, b Tensor) Tensor { return g.Bmm(a, b) }

// Bmm is a batched matrix product; each factor is kept for the other's gradient, the second's comes first.
func (g *Graph) Bmm(a, b Tensor) Tensor { return g.Baddbmm(None, a, b) }

// Baddbmm adds the product to c, which is broadcast and needs no gradient (a mask).
func (g *Graph) Baddbmm(c, a, b Tensor) Tensor {
	a, b = g.cast(a), g.cast(b)
	x, y := g.t[a], g.t[b]
	if x.dtype != y.dtype {
		g.Fail("dtype-operands", "a", x.dtype.String(), "b", y.dtype.String())
	}
	n := len(x.shape)
	sh := g.shapeOf(x.shape...)
	sh[n-1] = y.shape[n-1]
	o := op{name: "bmm", in: g.list(a, b, c), out: g.fresh(sh, nil, x.dtype), back: func(b *backward) {
		for _, i := range [...]int{1, 0} {
			if b.need(i) {
				b.step()
				b.set(i, b.like2(i))
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

// Embedding looks rows of w up by x's indices, which are kept.
func (g *Graph) Embedding(x, w Tensor) Tensor {
	t := g.t[x]
	sh := append(g.shapeOf(t.shape...), g.t[w].shape[1])
	g.indices(x)
	o := op{name: "embedding", in: g.list(w, x), out: g.fresh(sh, nil, g.t[w].dtype), back: func(b *backward) { b.set(0, b.like2(0)) }}
	if g.wants(w) {
		o.saved = g.list(w, x)
	}
	return g.record(o)
}

// indices refuses what cannot look up the rows of a table.
func (g *Graph) indices(x Tensor) {
	if d := g.t[x].dtype; d != Int64 && d != Int32 {
		g.Fail("embedding-dtype", "dtype", d.String())
	}
}

// last is the size of the last dimension, 1 without one.
func last(shape []int64) int64 {
	if len(shape) == 0 {
		return 1
	}
	return shape[len(shape)-1]
}

// cast is autocast's: floating tensors enter a matrix product in its type; a parameter's copy is
// made once per forward and kept (autocast's weight cache).
func (g *Graph) cast(x Tensor) Tensor {
	if x == None || g.amp == Float32 {
		return x
	}
	if d := g.t[x].dtype; d == g.amp || d == Float64 || !d.Floating() {
		return x
	}
	if g.t[x].leaf >= 0 && g.t[x].needs {
		if c, ok := g.casts[x]; ok {
			return c
		}
		c := g.To(x, g.amp)
		g.st[g.t[c].store].kind = KindCast
		g.casts[x] = c
		return c
	}
	return g.To(x, g.amp)
}

// Linear4bit is a linear layer whose frozen weight is stored quantised: forward and backward each make it whole in
// the input's type for the time of one product, and nothing but the packed weight is kept (bitsandbytes' MatMul4Bit).
func (g *Graph) Linear4bit(x, w, bias Tensor) Tensor {
	x = g.cast(x)
	in, out := g.t[w].shape[1], g.t[w].shape[0]
	t := g.t[x]
	if len(t.shape) == 0 || t.shape[len(t.shape)-1] != in {
		g.Fail("linear-features", "shape", Shape(t.shape), "in_features", in, "found", last(t.shape))
	}
	g.floating(x)
	sh := g.shapeOf(t.shape...)
	sh[len(sh)-1] = out
	whole := in * out * t.dtype.Size()
	y := g.fresh(sh, nil, t.dtype)
	y = g.record(op{name: "mm", in: g.list(x), out: y, tmp: whole, back: func(b *backward) {
		d := b.alloc([]int64{out, in}, nil, b.c.gts[b.gout(0)].dtype)
		b.set(0, b.like2(0))
		b.free(d)
	}})
	if bias != None {
		y = g.Add(y, bias)
	}
	return y
}

// Bilinear is F.bilinear without its bias: one fused product of three operands (aten::_trilinear), all kept.
func (g *Graph) Bilinear(x, w, y Tensor) Tensor {
	a, b := g.t[x], g.t[y]
	n := len(a.shape)
	if n == 0 || len(b.shape) != n || a.shape[n-1] != g.t[w].shape[1] || b.shape[n-1] != g.t[w].shape[2] || !slices.Equal(a.shape[:n-1], b.shape[:n-1]) {
		g.Fail("shape-matmul", "a", Shape(a.shape), "b", Shape(b.shape))
	}
	sh := g.shapeOf(a.shape...)
	sh[n-1] = g.t[w].shape[0]
	x, y = g.Reshape(x, -1, a.shape[n-1]), g.Reshape(y, -1, b.shape[n-1])
	out := g.fresh(g.shapeOf(g.t[x].shape[0], sh[n-1]), nil, a.dtype)
	g.record(op{name: "_trilinear", in: g.list(x, w, y), out: out, saved: g.list(x, w, y), back: func(b *backward) {
		for i := range 3 {
			if b.need(i) {
				b.step()
				b.set(i, b.like2(i))
			}
		}
	}})
	return g.View(out, sh...)
}

// EmbeddingBag sums, averages or takes the maximum of each sample's rows of w. It keeps the indices and where each bag
// starts, which bag each index is in (one value more than indices on the CPU), the bags' sizes and what the maximum took.
func (g *Graph) EmbeddingBag(x, w Tensor, mode string) Tensor {
	g.Rank(x, 2)
	g.indices(x)
	t := g.t[x]
	bags, n, dim := t.shape[0], numel(t.shape), g.t[w].shape[1]
	offsets := g.Constant("arange", []int64{bags}, Int64)
	x = g.Reshape(x, -1)
	y := g.fresh(g.shapeOf(bags, dim), nil, g.t[w].dtype)
	which := g.add(tensor{view: view{g.shapeOf(n), g.shapeOf(1)}, dtype: Int64, leaf: -1, owner: true, store: g.newStorage(8*(n+1), KindTemporaries)})
	size := g.fresh(g.shapeOf(bags), nil, Int64)
	took := g.shapeOf(bags)
	if mode == "max" {
		took = g.shapeOf(bags, dim)
	}
	m := g.fresh(took, nil, Int64)
	return g.record(op{name: "_embedding_bag", in: g.list(w, x, offsets), out: y, nOut: 4, saved: g.list(x, offsets, which, size, m), back: func(b *backward) { b.set(0, b.like2(0)) }})
}
