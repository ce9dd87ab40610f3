package torch

// Pool is a kernel that makes a smaller (or larger) map: x is kept if keep is set (always for pooling, whose
// kernels ask for the input's shape through the tensor itself), with int64 indices if indices is set.
func (g *Graph) Pool(name string, x Tensor, out []int64, keep, indices bool) Tensor {
	t := g.t[x]
	if keep {
		g.floating(x)
	}
	y := g.fresh(out, g.formatStrides(out, t.view), t.dtype)
	o := op{name: name, in: g.list(x), out: y, back: func(b *backward) {
		in := b.in(0)
		b.set(0, b.alloc(in.shape, b.c.g.formatStrides(in.shape, in), b.c.gts[b.gout(0)].dtype))
	}}
	if keep {
		o.saved = append(o.saved, x)
	}
	if indices {
		i := g.fresh(out, g.t[y].stride, Int64)
		o.nOut = 2
		o.saved = append(o.saved, i)
	}
	o.saved = g.list(o.saved...)
	return g.record(o)
}

// Window is the output size of a pooling window, as pooling_output_shape computes it.
func (g *Graph) Window(x Tensor, kernel, stride, padding, dilation []int64, ceil bool) []int64 {
	n := len(kernel)
	g.Rank(x, n+1, n+2)
	t := g.t[x]
	lead := len(t.shape) - n
	sh := g.shapeOf(t.shape...)
	for i := range n {
		d := t.shape[lead+i]
		span := d + 2*padding[i] - dilation[i]*(kernel[i]-1) - 1
		if padding[i]*2 > kernel[i] {
			g.Fail("pool-padding", "kernel", Shape(kernel), "padding", Shape(padding))
		}
		if span < 0 && !(ceil && span+stride[i]-1 >= 0) {
			g.Fail("pool-kernel", "shape", Shape(t.shape), "kernel", Shape(kernel))
		}
		v := span/stride[i] + 1
		if ceil {
			v = (span+stride[i]-1)/stride[i] + 1
			if (v-1)*stride[i] >= d+padding[i] {
				v--
			}
		}
		sh[lead+i] = v
	}
	return sh
}

// Resize is upsampling, padding or any kernel whose gradient needs only shapes: nothing is kept, unless keep.
func (g *Graph) Resize(name string, x Tensor, out []int64, keep bool) Tensor {
	return g.Pool(name, x, g.shapeOf(out...), keep, false)
}
