package nn

import "vrametre/calc/torch"

// MultiheadAttention is nn.MultiheadAttention.
type MultiheadAttention struct {
	Embed, Heads int64
	// KDim and VDim, where they differ from Embed, give each projection a weight of its own.
	KDim, VDim                           int64
	P                                    float64
	NoBias, BiasKV, ZeroAttn, BatchFirst bool
	// NoWeights: called with need_weights=False.
	NoWeights bool
}

// Masks are what a call of attention is given beside its operands; None where absent.
type Masks struct {
	// Attn is attn_mask, [L, S] or [B * heads, L, S], bool or floating; Padding is key_padding_mask, [B, S].
	Attn, Padding torch.Tensor
	// Causal: Attn is the causal mask and the caller says so (is_causal).
	Causal bool
}

// NoMasks is a call without any.
var NoMasks = Masks{torch.None, torch.None, false}

func (MultiheadAttention) class() string { return "MultiheadAttention" }

func (s MultiheadAttention) build(b *Builder, l *Layer) {
	a := s.attention(b, l)
	l.Forward(func(x ...torch.Tensor) torch.Tensor { // of two tensors the second is key and value
		q, k, v := x[0], x[len(x)-1], x[len(x)-1]
		if len(x) > 2 {
			k, v = x[1], x[2]
		}
		y, _ := a.forward(q, k, v, NoMasks, !s.NoWeights)
		return y
	})
}

// Attention is a built MultiheadAttention, for callers that pass masks.
type Attention struct {
	*Layer
	s                        MultiheadAttention
	b                        *Builder
	in, inBias, kBias, vBias torch.Tensor
	sep                      []torch.Tensor // the separate projections of query, key and value
	out, outBias             torch.Tensor
}

// AddAttention builds s as the child name of parent.
func (b *Builder) AddAttention(parent *Layer, name string, s MultiheadAttention) *Attention {
	l := b.Container(parent, name, s.class())
	return s.attention(b, l)
}

func (s MultiheadAttention) attention(b *Builder, l *Layer) *Attention {
	if s.Heads <= 0 || s.Embed%s.Heads != 0 {
		fail(l, "attention-heads", "embed_dim", s.Embed, "num_heads", s.Heads)
	}
	e := s.Embed
	a := &Attention{Layer: l, s: s, b: b, in: torch.None, inBias: torch.None, kBias: torch.None, vBias: torch.None, outBias: torch.None}
	kd, vd := s.KDim, s.VDim
	if kd == 0 {
		kd = e
	}
	if vd == 0 {
		vd = e
	}
	if kd == e && vd == e {
		a.in = b.Param(l, 3*e, e)
	} else {
		a.sep = []torch.Tensor{b.Param(l, e, e), b.Param(l, e, kd), b.Param(l, e, vd)}
	}
	if !s.NoBias {
		a.inBias = b.Param(l, 3*e)
	}
	if s.BiasKV {
		a.kBias, a.vBias = b.Param(l, 1, 1, e), b.Param(l, 1, 1, e)
	}
	o := b.Container(l, "out_proj", "NonDynamicallyQuantizableLinear")
	a.out = b.Param(o, e, e)
	if !s.NoBias {
		a.outBias = b.Param(o, e)
	}
	return a
}

// Call attends from q to k and v with need_weights=False.
func (a *Attention) Call(q, k, v torch.Tensor, m Masks) torch.Tensor {
	a.b.G.Enter(a.Module, q, k, v)
	y, _ := a.forward(q, k, v, m, false)
	a.b.G.Exit(y)
	return y
}

// forward is nn.MultiheadAttention.forward, inside the module's frame.
func (a *Attention) forward(q, k, v torch.Tensor, m Masks, need bool) (y, weights torch.Tensor) {
	g := a.b.G
	for _, x := range []torch.Tensor{q, k, v} {
		g.Rank(x, 3)
	}
	lb := 1 // where the batch stands
	if a.s.BatchFirst {
		lb = 0
	}
	if ks, vs := g.Shape(k), g.Shape(v); ks[0] != vs[0] || ks[1] != vs[1] || ks[lb] != g.Dim(q, lb) {
		g.Fail("attention-lengths", "query", torch.Shape(g.Shape(q)), "key", torch.Shape(ks), "value", torch.Shape(vs))
	}
	if a.s.BatchFirst {
		t := g.Transpose(q, 1, 0)
		switch {
		case q == k && k == v:
			q, k, v = t, t, t
		case k == v:
			k = g.Transpose(k, 1, 0)
			q, v = t, k
		default:
			q, k, v = t, g.Transpose(k, 1, 0), g.Transpose(v, 1, 0)
		}
	}
	weights = torch.None
	y = g.Local(func() torch.Tensor {
		y, weights = a.attend(q, k, v, m, need)
		return y
	})
	g.Keep(weights)
	if a.s.BatchFirst {
		y = g.Transpose(y, 1, 0)
	}
	return y, weights
}

// attend is F.multi_head_attention_forward (torch/nn/functional.py) on [L, B, E] operands. Up to 1.13 it is always
// written out; since 2.0 without need_weights it calls scaled_dot_product_attention.
func (a *Attention) attend(query, key, value torch.Tensor, m Masks, need bool) (y, weights torch.Tensor) {
	g := a.b.G
	sdpa := g.Rules.SDPA
	l, bsz, e := g.Dim(query, 0), g.Dim(query, 1), a.s.Embed
	heads, d := a.s.Heads, e/a.s.Heads
	if e != g.Dim(query, 2) {
		g.Fail("linear-features", "shape", torch.Shape(g.Shape(query)), "in_features", e, "found", g.Dim(query, 2))
	}
	mask, padding := m.Attn, m.Padding
	causal := m.Causal && sdpa && padding == torch.None && !need
	if causal {
		mask = torch.None
	}
	if sdpa { // masks become floating first (F._canonical_mask)
		mask, padding = g.FloatMask(mask, g.DType(query)), g.FloatMask(padding, g.DType(query))
	}
	q, k, v := a.project(query, key, value)
	if mask != torch.None && len(g.Shape(mask)) == 2 {
		mask = g.Unsqueeze(mask, 0)
	}
	widen := func() {
		if mask != torch.None {
			mask = g.PadLast(mask, 0, 1)
		}
		if padding != torch.None {
			padding = g.PadLast(padding, 0, 1)
		}
	}
	if a.kBias != torch.None {
		k = g.Cat(0, k, g.Repeat(a.kBias, 1, bsz, 1))
		v = g.Cat(0, v, g.Repeat(a.vBias, 1, bsz, 1))
		widen()
	}
	split := func(x torch.Tensor) torch.Tensor {
		if !sdpa {
			x = g.Contiguous(x)
		}
		return g.Transpose(g.View(x, g.Dim(x, 0), bsz*heads, d), 0, 1)
	}
	q = split(q)
	k = split(k)
	v = split(v)
	if a.s.ZeroAttn {
		zeros := func(x torch.Tensor) torch.Tensor {
			return g.Cat(1, x, g.Constant("zeros", []int64{bsz * heads, 1, d}, g.DType(x)))
		}
		k = zeros(k)
		v = zeros(v)
		widen()
	}
	s := g.Dim(k, 1)
	if padding != torch.None {
		p := g.Expand(g.View(padding, bsz, 1, 1, s), -1, heads, -1, -1)
		padding = g.Reshape(p, bsz*heads, 1, s)
		switch {
		case mask == torch.None:
			mask = padding
		case sdpa:
			mask = g.Add(mask, padding)
		case g.DType(mask) == torch.Bool:
			mask = g.LogicalOr(mask, padding)
		default:
			mask = g.MaskedFill(mask, padding)
		}
		g.Keep(padding)
	}
	if !sdpa {
		mask = g.FloatMask(mask, g.DType(q))
	}
	p := a.s.P
	if !a.b.Training {
		p = 0
	}
	g.Keep(query, key, value, mask)
	if sdpa && !need {
		q, k, v = g.View(q, bsz, heads, l, d), g.View(k, bsz, heads, s, d), g.View(v, bsz, heads, s, d)
		g.Keep(q, k, v)
		if mask != torch.None {
			if sh := g.Shape(mask); sh[0] == 1 {
				mask = g.Unsqueeze(mask, 0)
			} else {
				mask = g.View(mask, bsz, heads, -1, s)
			}
		}
		y = g.SDPA(q, k, v, torch.SDPAArgs{Mask: mask, P: p, Causal: causal})
		y = g.View(g.Contiguous(g.Permute(y, 2, 0, 1, 3)), bsz*l, e)
		y = g.View(g.Linear(y, a.out, a.outBias), l, bsz, e)
		return y, torch.None
	}
	g.Keep(q, k, v)
	scaled := g.Scale(q)
	g.Keep(scaled)
	w := g.Baddbmm(mask, scaled, g.Transpose(k, -2, -1))
	w = g.Softmax(w)
	if p > 0 {
		w = g.Dropout(w, p, false)
	}
	g.Keep(w)
	y = g.Bmm(w, v)
	y = g.View(g.Contiguous(g.Transpose(y, 0, 1)), l*bsz, e)
	y = g.View(g.Linear(y, a.out, a.outBias), l, bsz, e)
	if need {
		w = g.View(w, bsz, heads, l, s)
		if sdpa {
			w = g.Mean(w, false, 1)
		} else {
			w = g.Scale(g.Sum(w, false, 1))
		}
		return y, w
	}
	return y, torch.None
}

// project is _in_projection_packed or _in_projection. Since 2.0 the packed result is copied once so that each part is
// contiguous; before, the parts are views that are copied one by one.
func (a *Attention) project(query, key, value torch.Tensor) (q, k, v torch.Tensor) {
	g := a.b.G
	e := a.s.Embed
	bias := []torch.Tensor{torch.None, torch.None, torch.None}
	if a.sep != nil || key != value {
		w := a.sep
		if w == nil {
			w = g.Chunk(a.in, 3, 0)
		}
		if a.inBias != torch.None {
			bias = g.Chunk(a.inBias, 3, 0)
		}
		return g.Linear(query, w[0], bias[0]), g.Linear(key, w[1], bias[1]), g.Linear(value, w[2], bias[2])
	}
	parts := func(x torch.Tensor, n int64) []torch.Tensor {
		if !g.Rules.SDPA {
			return g.Chunk(x, n, -1)
		}
		l, b := g.Dim(x, 0), g.Dim(x, 1)
		x = g.Squeeze(g.Transpose(g.Unsqueeze(g.View(x, l, b, n, e), 0), 0, -2), -2)
		x = g.Contiguous(x)
		out := make([]torch.Tensor, n)
		for i := range out {
			out[i] = g.Select(x, 0)
		}
		return out
	}
	if query == key {
		p := parts(g.Linear(query, a.in, a.inBias), 3)
		return p[0], p[1], p[2]
	}
	w := g.Split(a.in, 0, e, 2*e)
	if a.inBias != torch.None {
		bias = g.Split(a.inBias, 0, e, 2*e)
	}
	q = g.Linear(query, w[0], bias[0])
	p := parts(g.Linear(key, w[1], bias[1]), 2)
	return q, p[0], p[1]
}

func init() {
	register(func(a *Args) Spec {
		e := a.Size("embed_dim")
		return MultiheadAttention{Embed: e, Heads: a.Size("num_heads"), P: a.Probability("dropout", 0), NoBias: !a.Bool("bias", true),
			BiasKV: a.Bool("add_bias_kv", false), ZeroAttn: a.Bool("add_zero_attn", false), KDim: a.Positive("kdim", e), VDim: a.Positive("vdim", e),
			BatchFirst: a.Bool("batch_first", false), NoWeights: !a.Bool("need_weights", true)}
	}, "MultiheadAttention")
}
