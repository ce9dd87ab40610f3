package torch

import "slices"

// backward is what an operation's backward formula may do: look at the incoming
// gradients, allocate, free, and hand results to the operation's inputs.
type backward struct {
	c   *compiler
	o   *op
	res []gt
}

// need says whether input i wants a gradient.
func (b *backward) need(i int) bool { return b.o.in[i] != None && b.c.g.t[b.o.in[i]].needs }

// in is the layout of input i.
func (b *backward) in(i int) view { return b.c.g.t[b.o.in[i]].view }

// gout is the gradient of output i, noGrad when nothing came.
func (b *backward) gout(i int) gt { return b.c.gbuf[b.o.out+Tensor(i)] }

func (b *backward) layout(v gt) view { return b.c.gts[v].view }

// alloc makes a gradient-like tensor, contiguous unless stride is given.
func (b *backward) alloc(shape, stride []int64, d DType) gt {
	if stride == nil {
		stride = b.c.g.contiguousStrides(shape)
	}
	s := b.c.alloc(numel(shape)*d.Size(), KindTemporaries)
	b.c.s[s].refs = 1
	return b.c.handle(gten{view: view{shape, stride}, dtype: d, slot: s})
}

// free drops a tensor made by alloc or alias.
func (b *backward) free(v gt) { b.c.release(v) }

// alias is another view of v's storage.
func (b *backward) alias(v gt, shape, stride []int64) gt {
	x := b.c.gts[v]
	b.c.s[x.slot].refs++
	return b.c.handle(gten{view: view{shape, stride}, dtype: x.dtype, slot: x.slot})
}

// pass is v itself handed on: the same tensor, not another view of it.
func (b *backward) pass(v gt) gt {
	b.c.s[b.c.gts[v].slot].refs++
	b.c.gts[v].uses++
	return v
}

// step begins another operation of the same node.
func (b *backward) step() { b.c.step(b.o.name, b.o.call) }

// scratch allocates and frees within one kernel.
func (b *backward) scratch(bytes int64) {
	if bytes > 0 {
		s := b.c.alloc(bytes, KindTemporaries)
		b.c.emit(EvFree, KindTemporaries, s)
	}
}

// set hands v to input i.
func (b *backward) set(i int, v gt) { b.res[i] = v }

// validate sums results over broadcast dimensions and casts them to the input's type where it has another,
// once the whole formula has run (validate_outputs of the engine).
func (b *backward) validate() {
	for i, v := range b.res {
		if v == noGrad {
			continue
		}
		x := &b.c.g.t[b.o.in[i]]
		t := b.c.gts[v]
		if !slices.Equal(t.shape, x.shape) {
			v = b.replace(v, b.sumTo(v, x.shape))
			t = b.c.gts[v]
		}
		if t.dtype != x.dtype {
			b.step()
			v = b.replace(v, b.alloc(t.shape, b.c.g.likeStrides(t.shape, t.view), x.dtype))
		}
		b.res[i] = v
	}
}

func (b *backward) replace(old, new gt) gt {
	b.free(old)
	return new
}

// sumTo is at::sum_to: one reduction over the broadcast dimensions, then a view.
func (b *backward) sumTo(v gt, shape []int64) gt {
	t := b.c.gts[v]
	g := b.c.g
	lead := len(t.shape) - len(shape)
	red := g.ints(len(t.shape))
	same := true
	for i := range t.shape {
		red[i] = t.shape[i]
		if i < lead || (shape[i-lead] == 1 && t.shape[i] != 1) { // leading dimensions are summed even when 1
			same = false
			red[i] = 1
		}
	}
	if same {
		return b.alias(v, shape, g.contiguousStrides(shape))
	}
	b.step()
	r := b.alloc(red, nil, t.dtype)
	b.c.gts[r].shape, b.c.gts[r].stride = shape, g.contiguousStrides(shape)
	return r
}

// like allocates a gradient for input i in its shape, laid out as an elementwise
// kernel does over the given operands.
func (b *backward) like(i int, operands ...view) gt {
	x := &b.c.g.t[b.o.in[i]]
	return b.alloc(x.shape, b.c.g.likeStrides(x.shape, append(operands, x.view)...), x.dtype)
}

// contiguous is v.contiguous(): v itself (another reference) or a copy.
func (b *backward) contiguous(v gt) gt {
	t := b.c.gts[v]
	if isContiguous(t.shape, t.stride) {
		return b.alias(v, t.shape, t.stride)
	}
	b.step()
	return b.alloc(t.shape, nil, t.dtype)
}

// reshape is v.reshape(shape): a view where possible, else a copy.
func (b *backward) reshape(v gt, shape []int64) gt {
	t := b.c.gts[v]
	if s, ok := b.c.g.viewStrides(t.shape, t.stride, shape); ok {
		return b.alias(v, shape, s)
	}
	b.step()
	return b.alloc(shape, nil, t.dtype)
}
