package torch

// ConvArgs are the arguments of F.conv1d to conv3d and their transposes, one value per spatial dimension.
type ConvArgs struct {
	Stride, Padding, Dilation, OutputPadding []int64
	Groups                                   int64
	Transposed                               bool
}

// Conv is aten::convolution. It keeps its input (also with a frozen weight, pytorch issue 133566) and never its
// output. Shape: the usual formula of nn.Conv2d and nn.ConvTranspose2d.
func (g *Graph) Conv(x, w, bias Tensor, a ConvArgs) Tensor {
	x, w, bias = g.cast(x), g.cast(w), g.cast(bias)
	g.alike(x, w)
	t, k := g.t[x], g.t[w]
	n := len(k.shape) - 2
	if len(t.shape) != n+2 {
		g.Fail("conv-rank", "shape", Shape(t.shape), "expected", n+2)
	}
	in, out := k.shape[1]*a.Groups, k.shape[0]
	if a.Transposed {
		in, out = k.shape[0], k.shape[1]*a.Groups
	}
	if t.shape[1] != in {
		g.Fail("conv-channels", "shape", Shape(t.shape), "in_channels", in, "channels", t.shape[1])
	}
	sh := g.ints(n + 2)
	sh[0], sh[1] = t.shape[0], out
	for i := range n {
		d := t.shape[i+2]
		if a.Transposed {
			if a.OutputPadding[i] >= max(a.Stride[i], a.Dilation[i]) {
				g.Fail("conv-output-padding", "output_padding", Shape(a.OutputPadding), "stride", Shape(a.Stride), "dilation", Shape(a.Dilation))
			}
			sh[i+2] = (d-1)*a.Stride[i] - 2*a.Padding[i] + a.Dilation[i]*(k.shape[i+2]-1) + a.OutputPadding[i] + 1
		} else {
			span := d + 2*a.Padding[i] - a.Dilation[i]*(k.shape[i+2]-1) - 1
			if span < 0 {
				g.Fail("conv-kernel", "shape", Shape(t.shape), "kernel", Shape(k.shape[2:]), "padding", Shape(a.Padding))
			}
			sh[i+2] = span/a.Stride[i] + 1
		}
		if sh[i+2] <= 0 {
			g.Fail("conv-kernel", "shape", Shape(t.shape), "kernel", Shape(k.shape[2:]), "padding", Shape(a.Padding))
		}
	}
	o := op{name: "convolution", in: g.list(x, w, bias), out: g.fresh(sh, g.formatStrides(sh, t.view), t.dtype), back: convBack}
	o.saved = g.list(x, w)
	return g.record(o)
}

// convBack: grad_input, grad_weight, grad_bias in one operation; the weight's gradient takes the memory format
// of the input, as mkldnn and cuDNN do.
func convBack(b *backward) {
	g := b.c.g
	v := b.gout(0)
	x := b.in(0)
	cl := isChannelsLast(x.shape, x.stride)
	if l := b.layout(v); g.Rules.KernelCopies && (cl != isChannelsLast(l.shape, l.stride) || !denseNonOverlapping(l.shape, l.stride)) {
		// the kernel wants the gradient in its own format
		b.step()
		n := b.alloc(l.shape, g.formatStrides(l.shape, x), b.c.gts[v].dtype)
		defer b.free(n)
	}
	b.step()
	if b.need(0) {
		b.set(0, b.alloc(x.shape, g.formatStrides(x.shape, x), g.t[b.o.in[0]].dtype))
	}
	if b.need(1) {
		w := b.in(1)
		st := g.contiguousStrides(w.shape)
		if cl {
			st = g.channelsLastStrides(w.shape)
		}
		b.set(1, b.alloc(w.shape, st, g.t[b.o.in[1]].dtype))
	}
	if b.need(2) {
		b.set(2, b.like2(2))
	}
}
