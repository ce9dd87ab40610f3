package torch

import "slices"

func dims(g *Graph, d int, rank int) int {
	if d < -rank || d >= rank {
		g.Fail("dim-range", "dim", d, "low", -rank, "high", rank-1, "rank", rank)
	}
	if d < 0 {
		d += rank
	}
	return d
}

// viewOp records an alias whose gradient is reshaped back.
func (g *Graph) viewOp(name string, x Tensor, shape, stride []int64, back func(*backward)) Tensor {
	return g.record(op{name: name, in: g.list(x), out: g.alias(x, shape, stride), back: back})
}

func reshapeBack(b *backward) { b.set(0, b.reshape(b.gout(0), b.in(0).shape)) }

// resolve replaces one -1 in shape.
func (g *Graph) resolve(x Tensor, shape []int64) []int64 {
	s := g.shapeOf(shape...)
	n, at, inferred := int64(1), -1, 0
	for i, d := range s {
		if d == -1 {
			at = i
			inferred++
		} else {
			n *= d
		}
	}
	total := numel(g.t[x].shape)
	if inferred == 1 && n > 0 && total%n == 0 {
		s[at] = total / n
		n *= s[at]
	}
	if n != total {
		g.Fail("shape-view", "shape", Shape(g.t[x].shape), "to", Shape(shape))
	}
	return s
}

// Reshape is x.reshape: a view where the strides allow it, else a copy (clone, then view).
func (g *Graph) Reshape(x Tensor, shape ...int64) Tensor {
	t := g.t[x]
	s := g.resolve(x, shape)
	if st, ok := g.viewStrides(t.shape, t.stride, s); ok {
		return g.viewOp("view", x, s, st, reshapeBack)
	}
	return g.View(g.Clone(x), s...)
}

// View is x.view; impossible strides are an error of the model's forward.
func (g *Graph) View(x Tensor, shape ...int64) Tensor {
	t := g.t[x]
	s := g.resolve(x, shape)
	st, ok := g.viewStrides(t.shape, t.stride, s)
	if !ok {
		g.Fail("shape-view", "shape", Shape(t.shape), "to", Shape(s))
	}
	return g.viewOp("view", x, s, st, reshapeBack)
}

// Clone is a contiguous copy.
func (g *Graph) Clone(x Tensor) Tensor {
	t := g.t[x]
	y := g.fresh(t.shape, nil, t.dtype)
	return g.record(op{name: "clone", in: g.list(x), out: y, back: func(b *backward) {
		v := b.gout(0)
		b.set(0, b.pass(v))
	}})
}

// Contiguous is x.contiguous().
func (g *Graph) Contiguous(x Tensor) Tensor {
	if t := g.t[x]; isContiguous(t.shape, t.stride) {
		return x
	}
	return g.Clone(x)
}

// Flatten is torch.flatten(x, start, end).
func (g *Graph) Flatten(x Tensor, start, end int) Tensor {
	s := g.t[x].shape
	if len(s) == 0 {
		return g.Reshape(x, 1)
	}
	start, end = dims(g, start, len(s)), dims(g, end, len(s))
	if start > end {
		g.Fail("flatten-order", "start_dim", start, "end_dim", end)
	}
	if start == end {
		return x
	}
	to := slices.Concat(s[:start], []int64{numel(s[start : end+1])}, s[end+1:])
	return g.Reshape(x, to...)
}

// Permute reorders dimensions.
func (g *Graph) Permute(x Tensor, perm ...int) Tensor {
	t := g.t[x]
	if len(perm) != len(t.shape) {
		g.Fail("shape-permute", "shape", Shape(t.shape))
	}
	var seen [64]bool
	sh, st := g.ints(len(perm)), g.ints(len(perm))
	inv := make([]int, len(perm))
	for i, p := range perm {
		p = dims(g, p, len(perm))
		if seen[p] {
			g.Fail("shape-permute", "shape", Shape(t.shape))
		}
		seen[p] = true
		sh[i], st[i], inv[p] = t.shape[p], t.stride[p], i
	}
	return g.viewOp("permute", x, sh, st, func(b *backward) {
		v := b.gout(0)
		l := b.layout(v)
		s, d := b.c.g.ints(len(inv)), b.c.g.ints(len(inv))
		for i, p := range inv {
			s[i], d[i] = l.shape[p], l.stride[p]
		}
		b.set(0, b.alias(v, s, d))
	})
}

// Transpose swaps two dimensions.
func (g *Graph) Transpose(x Tensor, a, b int) Tensor {
	n := len(g.t[x].shape)
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	a, b = dims(g, a, n), dims(g, b, n)
	p[a], p[b] = p[b], p[a]
	return g.Permute(x, p...)
}

// Unsqueeze inserts a dimension of size 1.
func (g *Graph) Unsqueeze(x Tensor, d int) Tensor {
	t := g.t[x]
	d = dims(g, d, len(t.shape)+1)
	st := int64(1)
	if d < len(t.shape) {
		st = t.shape[d] * t.stride[d]
	}
	return g.viewOp("unsqueeze", x, slices.Insert(slices.Clone(t.shape), d, 1), slices.Insert(slices.Clone(t.stride), d, st), reshapeBack)
}

// Squeeze removes dimension d when its size is 1.
func (g *Graph) Squeeze(x Tensor, d int) Tensor {
	t := g.t[x]
	d = dims(g, d, len(t.shape))
	if t.shape[d] != 1 {
		return x
	}
	return g.viewOp("squeeze", x, slices.Delete(slices.Clone(t.shape), d, d+1), slices.Delete(slices.Clone(t.stride), d, d+1), reshapeBack)
}

// Expand broadcasts x to shape without a copy; its gradient is summed back.
func (g *Graph) Expand(x Tensor, shape ...int64) Tensor {
	t := g.t[x]
	s := g.shapeOf(shape...)
	st := g.ints(len(s))
	lead := len(s) - len(t.shape)
	for i := range s {
		j := i - lead
		switch {
		case j < 0:
			st[i] = 0
		case s[i] == -1 || s[i] == t.shape[j]:
			s[i], st[i] = t.shape[j], t.stride[j]
		case t.shape[j] == 1:
			st[i] = 0
		default:
			g.Fail("shape-broadcast", "a", Shape(t.shape), "b", Shape(s))
		}
	}
	return g.viewOp("expand", x, s, st, func(b *backward) {
		v := b.gout(0)
		b.set(0, b.pass(v)) // set sums
	})
}

// Narrow is x.narrow(dim, start, n), also x[..., start:start+n] and one part of split or chunk
// taken alone: its gradient is written into zeros of x's size.
func (g *Graph) Narrow(x Tensor, d int, n int64) Tensor { return g.NarrowFrom(x, d, 0, n) }

// NarrowFrom is Narrow where the start is known to be in range or not; negative ones count from the end.
func (g *Graph) NarrowFrom(x Tensor, d int, start, n int64) Tensor {
	t := g.t[x]
	d = dims(g, d, len(t.shape))
	if start < 0 {
		start += t.shape[d]
	}
	if n < 0 || start < 0 || start+n > t.shape[d] {
		g.Fail("shape-narrow", "shape", Shape(t.shape), "dim", d, "length", n, "start", start)
	}
	sh := slices.Clone(t.shape)
	sh[d] = n
	return g.viewOp("slice", x, sh, t.stride, zerosBack)
}

// Colon is an explicit x[:] of one dimension of an indexing expression: a view of everything, whose gradient is
// written into zeros all the same (torch/csrc/autograd/python_variable_indexing.h).
func (g *Graph) Colon(x Tensor, d int) Tensor { return g.Narrow(x, d, g.Dim(x, d)) }

// SliceTo is x[..., :n]: x itself where n is the whole dimension.
func (g *Graph) SliceTo(x Tensor, d int, n int64) Tensor {
	if n == g.Dim(x, d) {
		return x
	}
	return g.Narrow(x, d, n)
}

// SliceStep is x[..., start::step].
func (g *Graph) SliceStep(x Tensor, d int, start, step int64) Tensor {
	t := g.t[x]
	d = dims(g, d, len(t.shape))
	sh, st := slices.Clone(t.shape), slices.Clone(t.stride)
	sh[d] = max(0, (t.shape[d]-start+step-1)/step)
	st[d] *= step
	return g.viewOp("slice", x, sh, st, zerosBack)
}

// SliceZero is x[..., start:start+n].zero_(): the gradient is copied, and its slice's replaced by zeros (CopySlices).
func (g *Graph) SliceZero(x Tensor, d int, n int64) Tensor {
	t := g.t[x]
	part := slices.Clone(t.shape)
	part[dims(g, d, len(part))] = n
	return g.viewOp("zero_", x, t.shape, t.stride, func(b *backward) {
		r := b.like(0)
		old := b.alloc(part, nil, t.dtype)
		b.free(b.alloc(part, nil, t.dtype))
		b.free(old)
		b.set(0, r)
	})
}

// Index is x[i] with a tensor of n indices on the first dimension, which are kept; the gradient is added into
// zeros out of place (index_put).
func (g *Graph) Index(x, i Tensor) Tensor {
	g.RankFrom(x, 1)
	if d := g.t[i].dtype; d.Floating() || d == Int32 {
		g.Fail("index-dtype", "dtype", d.String())
	}
	sh := append(g.shapeOf(g.t[i].shape...), g.t[x].shape[1:]...)
	o := op{name: "index", in: g.list(x, i), out: g.fresh(sh, nil, g.t[x].dtype), saved: g.list(i), back: func(b *backward) {
		z := b.like2(0)
		b.step()
		b.set(0, b.like2(0))
		b.free(z)
	}}
	return g.record(o)
}

func zerosBack(b *backward) {
	x := &b.c.g.t[b.o.in[0]]
	b.set(0, b.alloc(x.shape, nil, x.dtype))
}

// SelectAt is Select where i is known to be in range or not; negative ones count from the end.
func (g *Graph) SelectAt(x Tensor, d int, i int64) Tensor {
	if n := g.Dim(x, d); i < -n || i >= n {
		g.Fail("index-range", "shape", Shape(g.t[x].shape), "dim", d, "index", i)
	}
	return g.Select(x, d)
}

// Select is x[..., i, ...]: a view one dimension smaller.
func (g *Graph) Select(x Tensor, d int) Tensor {
	t := g.t[x]
	d = dims(g, d, len(t.shape))
	return g.viewOp("select", x, slices.Delete(slices.Clone(t.shape), d, d+1), slices.Delete(slices.Clone(t.stride), d, d+1), zerosBack)
}

// Split is x.split(sizes, dim): one node, whose gradient is the concatenation of the parts'
// (zeros where a part had none).
func (g *Graph) Split(x Tensor, d int, sizes ...int64) []Tensor {
	t := g.t[x]
	d = dims(g, d, len(t.shape))
	var sum int64
	for _, n := range sizes {
		sum += n
	}
	if sum != t.shape[d] || len(sizes) > 127 {
		g.Fail("shape-split", "shape", Shape(t.shape), "dim", d)
	}
	out := make([]Tensor, len(sizes))
	for i, n := range sizes {
		sh := slices.Clone(t.shape)
		sh[d] = n
		out[i] = g.alias(x, sh, t.stride)
	}
	g.record(op{name: "split", in: g.list(x), out: out[0], nOut: int8(len(out)), back: func(b *backward) {
		b.gather(len(sizes), func(i int) []int64 {
			sh := slices.Clone(b.in(0).shape)
			sh[d] = sizes[i]
			return sh
		})
	}})
	return out
}

// Chunk is x.chunk(n, dim).
func (g *Graph) Chunk(x Tensor, n int64, d int) []Tensor {
	total := g.Dim(x, d)
	each := (total + n - 1) / n
	var sizes []int64
	for left := total; left > 0; left -= each {
		sizes = append(sizes, min(each, left))
	}
	return g.Split(x, d, sizes...)
}

// Unbind is x.unbind(dim): views without that dimension.
func (g *Graph) Unbind(x Tensor, d int) []Tensor {
	t := g.t[x]
	d = dims(g, d, len(t.shape))
	if t.shape[d] > 127 || t.shape[d] == 0 {
		g.Fail("shape-split", "shape", Shape(t.shape), "dim", d)
	}
	out := make([]Tensor, t.shape[d])
	part := slices.Delete(slices.Clone(t.shape), d, d+1)
	for i := range out {
		out[i] = g.alias(x, part, slices.Delete(slices.Clone(t.stride), d, d+1))
	}
	g.record(op{name: "unbind", in: g.list(x), out: out[0], nOut: int8(len(out)), back: func(b *backward) {
		b.gather(len(out), func(int) []int64 { return part })
	}})
	return out
}

// gather makes input 0's gradient from those of n outputs, with zeros for the missing ones.
func (b *backward) gather(n int, shape func(int) []int64) {
	x := &b.c.g.t[b.o.in[0]]
	var zeros []gt
	for i := range n {
		if b.gout(i) == noGrad {
			zeros = append(zeros, b.alloc(shape(i), nil, x.dtype))
		}
	}
	r := b.alloc(x.shape, nil, x.dtype)
	for _, z := range zeros {
		b.free(z)
	}
	b.set(0, r)
}

// Cat concatenates along dim; each gradient is a slice of the incoming one.
func (g *Graph) Cat(d int, xs ...Tensor) Tensor {
	return g.joined("cat", d, xs)
}

func (g *Graph) joined(name string, d int, xs []Tensor) Tensor {
	t := g.t[xs[0]]
	d = dims(g, d, len(t.shape))
	sh := g.shapeOf(t.shape...)
	sh[d] = 0
	dt := t.dtype
	format := t.view
	for _, x := range xs {
		u := g.t[x]
		if len(u.shape) != len(sh) {
			g.Fail("shape-cat", "a", Shape(t.shape), "b", Shape(u.shape), "dim", d)
		}
		for i := range sh {
			if i != d && u.shape[i] != sh[i] {
				g.Fail("shape-cat", "a", Shape(t.shape), "b", Shape(u.shape), "dim", d)
			}
		}
		sh[d] += u.shape[d]
		dt = promote(dt, u.dtype)
		if !isChannelsLast(u.shape, u.stride) {
			format = view{}
		}
	}
	if g.amp != Float32 { // autocast brings them to the widest type
		xs = slices.Clone(xs)
		for i := range xs {
			if g.t[xs[i]].dtype.Floating() {
				xs[i] = g.To(xs[i], dt)
			}
		}
	}
	y := g.fresh(sh, g.formatStrides(sh, format), dt)
	return g.record(op{name: name, in: g.list(xs...), out: y, back: func(b *backward) {
		v := b.gout(0)
		l := b.layout(v)
		for i := range b.o.in {
			if b.need(i) {
				b.set(i, b.alias(v, b.in(i).shape, l.stride))
			}
		}
	}})
}

// Sum is x.sum(dims, keepdim); no dims: everything. The gradient is expanded, not copied.
func (g *Graph) Sum(x Tensor, keep bool, ds ...int) Tensor {
	return g.reduce("sum", x, keep, ds, func(b *backward, v gt) { b.set(0, v) }, false)
}

// Mean is x.mean(dims, keepdim). Before 2.2 mean(dim) kept its input; the gradient is divided into a full copy.
func (g *Graph) Mean(x Tensor, keep bool, ds ...int) Tensor {
	g.floating(x)
	return g.reduce("mean", x, keep, ds, func(b *backward, v gt) {
		b.step()
		l := b.layout(v)
		r := b.alloc(l.shape, b.c.g.expandedLike(l), b.c.gts[v].dtype)
		b.free(v)
		b.set(0, r)
	}, g.Rules.MeanSavesInput && len(ds) > 0)
}

// expandedLike are the strides of an elementwise result over an expanded operand: contiguous,
// unless its dense dimensions are ordered as channels last.
func (g *Graph) expandedLike(l view) []int64 { return g.contiguousStrides(l.shape) }

func (g *Graph) reduce(name string, x Tensor, keep bool, ds []int, back func(*backward, gt), saves bool) Tensor {
	t := g.t[x]
	red := make([]bool, len(t.shape))
	for _, d := range ds {
		i := dims(g, d, len(t.shape))
		if red[i] {
			g.Fail("dim-twice", "dim", i)
		}
		red[i] = true
	}
	kept := g.ints(len(t.shape))
	var sh []int64
	for i, d := range t.shape {
		kept[i] = d
		if red[i] || len(ds) == 0 {
			kept[i] = 1
			if keep {
				sh = append(sh, 1)
			}
		} else {
			sh = append(sh, d)
		}
	}
	d := t.dtype
	if name == "sum" {
		d = g.sumType(d)
	}
	y := g.fresh(sh, nil, d)
	o := op{name: name, in: g.list(x), out: y, back: func(b *backward) {
		in := b.in(0)
		v := b.gout(0)
		st := b.c.g.contiguousStrides(kept)
		for i := range st {
			if kept[i] != in.shape[i] {
				st[i] = 0
			}
		}
		back(b, b.alias(v, in.shape, st))
	}}
	if saves {
		o.saved = g.list(x)
	}
	return g.record(o)
}
