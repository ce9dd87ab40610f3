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

// SDPA is scaled_dot_product_attention on [..., L, E] operands with the graph's kernel.
// flash and efficient keep q, k, v, the output and a float32 logsumexp per row and head; the math
// kernel scales copies of q and k by the root of the scale and keeps the L x L probabilities.
func (g *Graph) SDPA(q, k, v Tensor, a SDPAArgs) Tensor {
	if g.Rules.Attention == "math" {
		return g.sdpaMath(q, k, v, a.P, a.Causal)
	}
	q, k, v = g.cast(q), g.cast(k), g.cast(v)
	t := g.t[q]
	n := len(t.shape)
	if n < 3 || len(g.t[k].shape) != n || len(g.t[v].shape) != n || g.t[k].shape[n-1] != t.shape[n-1] {
		g.Fail("shape-matmul", "a", Shape(t.shape), "b", Shape(g.t[k].shape))
	}
	sh := g.shapeOf(t.shape...)
	sh[n-1] = g.t[v].shape[n-1]
	lse := g.shapeOf(t.shape[:n-1]...)
	// the kernels write [B, L, H, E], seen as [B, H, L, E]
	st := g.contiguousStrides(sh)
	if n == 4 {
		st = g.shapeOf(sh[1]*sh[2]*sh[3], sh[3], sh[1]*sh[3], 1)
	}
	y := g.fresh(sh, st, t.dtype)
	l := g.fresh(lse, nil, Float32)
	return g.record(op{name: "scaled_dot_product_attention", in: g.list(q, k, v), out: y, nOut: 2, saved: g.list(q, k, v, y, l), back: func(b *backward) {
		for i := range 3 {
			if b.need(i) {
				b.set(i, b.like(i))
			}
		}
		// the row sums of grad * out, one float32 per row and head
		b.scratch(4 * numel(lse))
	}})
}

func (g *Graph) sdpaMath(q, k, v Tensor, p float64, causal bool) Tensor {
	q = g.Scale(q)
	a := g.Matmul(q, g.Scale(g.Transpose(k, -2, -1)))
	if causal {
		n := len(g.t[a].shape)
		mask := g.Constant("tril", g.t[a].shape[n-2:], g.t[a].dtype)
		a = g.Add(a, mask)
	}
	a = g.Softmax(a)
	if g.amp != Float32 {
		a = g.cast(a)
	}
	return g.Matmul(g.Dropout(a, p, false), v)
}
