//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// Swin transformers, as torchvision/models/swin_transformer.py builds them.
func init() {
	for _, m := range []struct {
		name   string
		dim    int64
		third  int // blocks of the third stage; the others have two
		heads  int64
		window int64
		p      float64
		v2     bool
		side   int64
	}{
		{"swin_t", 96, 6, 3, 7, 0.2, false, 224},
		{"swin_s", 96, 18, 3, 7, 0.3, false, 224},
		{"swin_b", 128, 18, 4, 7, 0.5, false, 224},
		{"swin_v2_t", 96, 6, 3, 8, 0.2, true, 256},
		{"swin_v2_s", 96, 18, 3, 8, 0.3, true, 256},
		{"swin_v2_b", 128, 18, 4, 8, 0.5, true, 256},
	} {
		add(&Preset{Name: m.name, Family: "swin", Inputs: image(m.side), Build: func(b *nn.Builder, a *nn.Args) *Net {
			root := b.Root("SwinTransformer")
			s := swin{window: m.window, v2: m.v2, p: a.Probability("dropout", 0), pa: a.Probability("attention_dropout", 0)}
			features := b.Container(root, "features", "Sequential")
			b.Sequential(features, "0", nn.Conv{Dim: 2, In: 3, Out: m.dim, Kernel: nn.N(4), Stride: nn.N(4)}, nn.Permute{0, 2, 3, 1}, nn.LayerNorm{Shape: []int64{m.dim}})
			sd := a.Probability("stochastic_depth_prob", m.p)
			depths := []int{2, 2, m.third, 2}
			total, id, at := float64(m.third+5), 0, 1
			dim, heads := m.dim, m.heads
			for i, n := range depths {
				stage := b.Container(features, strconv.Itoa(at), "Sequential")
				for j := range n {
					shift := int64(0)
					if j%2 == 1 {
						shift = m.window / 2
					}
					s.block(b, stage, strconv.Itoa(j), dim, heads, shift, sd*float64(id)/total)
					id++
				}
				stage.Chain()
				at++
				if i < len(depths)-1 {
					s.merging(b, features, strconv.Itoa(at), dim)
					at++
					dim, heads = 2*dim, 2*heads
				}
			}
			features.Chain()
			b.Add(root, "norm", nn.LayerNorm{Shape: []int64{dim}})
			b.Add(root, "permute", nn.Permute{0, 3, 1, 2})
			b.Add(root, "avgpool", nn.AdaptivePool{Dim: 2, Out: nn.N(1)})
			b.Add(root, "flatten", nn.Flatten{Start: 1, End: -1})
			b.Add(root, "head", nn.Linear{In: dim, Out: a.Positive("num_classes", 1000)})
			return chain(root.Chain())
		}})
	}
}

type swin struct {
	window int64
	v2     bool
	p, pa  float64
}

// class adds V2 to a class name in the second version.
func (s swin) class(name string) string {
	if s.v2 {
		return name + "V2"
	}
	return name
}

// merging halves the map: four interleaved slices side by side, then a linear layer.
func (s swin) merging(b *nn.Builder, parent *nn.Layer, name string, dim int64) {
	g := b.G
	l := b.Container(parent, name, s.class("PatchMerging"))
	reduction := b.Add(l, "reduction", nn.Linear{In: 4 * dim, Out: 2 * dim, NoBias: true})
	width := 4 * dim
	if s.v2 {
		width = 2 * dim
	}
	norm := b.Add(l, "norm", nn.LayerNorm{Shape: []int64{width}})
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := g.Local(func() torch.Tensor {
			sh := g.Shape(x[0])
			y := g.Resize("pad", x[0], []int64{sh[0], sh[1] + sh[1]%2, sh[2] + sh[2]%2, sh[3]}, false)
			var parts []torch.Tensor
			for _, k := range [][2]int64{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
				parts = append(parts, g.Colon(g.SliceStep(g.SliceStep(y, 1, k[0], 2), 2, k[1], 2), 3))
			}
			return g.Cat(3, parts...)
		})
		if s.v2 {
			return norm.Call(reduction.Call(y))
		}
		return reduction.Call(norm.Call(y))
	})
}

func (s swin) block(b *nn.Builder, parent *nn.Layer, name string, dim, heads, shift int64, sd float64) {
	g := b.G
	l := b.Container(parent, name, s.class("SwinTransformerBlock"))
	norm1 := b.Add(l, "norm1", nn.LayerNorm{Shape: []int64{dim}})
	attn := s.attention(b, l, dim, heads, shift)
	depth := b.Add(l, "stochastic_depth", nn.StochasticDepth{P: sd})
	norm2 := b.Add(l, "norm2", nn.LayerNorm{Shape: []int64{dim}})
	mlp := b.SequentialNamed(l, "mlp", "MLP", nn.Linear{In: dim, Out: 4 * dim}, nn.Activation{Type: "GELU"}, nn.Dropout{P: s.p}, nn.Linear{In: 4 * dim, Out: dim}, nn.Dropout{P: s.p})
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if s.v2 {
			y := g.Add(x[0], depth.Call(norm1.Call(attn.Call(x[0]))))
			return g.Add(y, depth.Call(norm2.Call(mlp.Call(y))))
		}
		y := g.Add(x[0], depth.Call(attn.Call(norm1.Call(x[0]))))
		return g.Add(y, depth.Call(mlp.Call(norm2.Call(y))))
	})
}

// relativeBias is _get_relative_position_bias: rows of the table, as [1, heads, n, n].
func relativeBias(g *torch.Graph, table, index torch.Tensor, n int64) torch.Tensor {
	return g.Local(func() torch.Tensor {
		g.Keep(table)
		y := g.View(g.Index(table, index), n, n, -1)
		return g.Unsqueeze(g.Contiguous(g.Permute(y, 2, 0, 1)), 0)
	})
}

// attention is ShiftedWindowAttention, or its second version with a cosine and a network for the position bias.
func (s swin) attention(b *nn.Builder, parent *nn.Layer, dim, heads, shift int64) *nn.Layer {
	g := b.G
	l := b.Container(parent, "attn", s.class("ShiftedWindowAttention"))
	w := s.window
	n := w * w
	rows := (2*w - 1) * (2*w - 1)
	table, logit, coords := torch.None, torch.None, torch.None
	if s.v2 {
		logit = b.Param(l, heads, 1, 1)
		coords = g.Buffer(l.Module, b.DType, 1, 2*w-1, 2*w-1, 2)
	} else {
		table = b.Param(l, rows, heads)
	}
	index := g.Buffer(l.Module, torch.Int64, n*n)
	qkv := b.Add(l, "qkv", nn.Linear{In: dim, Out: 3 * dim})
	proj := b.Add(l, "proj", nn.Linear{In: dim, Out: dim})
	var cpb *nn.Layer
	if s.v2 {
		cpb = b.Sequential(l, "cpb_mlp", nn.Linear{In: 2, Out: 512}, nn.ReLU(true), nn.Linear{In: 512, Out: heads, NoBias: true})
	}
	return l.Forward(func(x ...torch.Tensor) torch.Tensor {
		g.Rank(x[0], 4)
		if sh := g.Shape(x[0]); sh[3] != dim {
			g.Fail("linear-features", "shape", torch.Shape(sh), "in_features", dim, "found", sh[3])
		}
		bias := g.Local(func() torch.Tensor {
			if !s.v2 {
				return relativeBias(g, table, index, n)
			}
			r := relativeBias(g, g.View(cpb.Call(coords), -1, heads), index, n)
			g.Keep(r)
			return g.Scale(nn.Activation{Type: "Sigmoid"}.Apply(g, r))
		})
		g.Keep(bias)
		return g.Local(func() torch.Tensor {
			return s.windows(b, x[0], bias, logit, qkv, proj, heads, shift)
		})
	})
}

// windows is shifted_window_attention.
func (s swin) windows(b *nn.Builder, x, bias, logit torch.Tensor, qkv, proj *nn.Layer, heads, shift int64) torch.Tensor {
	g := b.G
	sh := g.Shape(x)
	n, h, wd, c := sh[0], sh[1], sh[2], sh[3]
	w := s.window
	up := func(v int64) int64 { return (v + w - 1) / w * w }
	ph, pw := up(h), up(wd)
	y := g.Resize("pad", x, []int64{n, ph, pw, c}, false)
	var shifted [2]int64 // windows as large as the map are not shifted
	for i, d := range [2]int64{ph, pw} {
		if w < d {
			shifted[i] = shift
		}
	}
	roll := shifted[0]+shifted[1] > 0
	if roll {
		y = g.Roll(y)
	}
	count, l := (ph/w)*(pw/w), w*w
	y = g.View(y, n, ph/w, w, pw/w, w, c)
	y = g.Reshape(g.Permute(y, 0, 1, 3, 2, 4, 5), n*count, l, c)
	qb := qkv.Params[1]
	if logit != torch.None {
		qb = g.SliceZero(g.Clone(qb), 0, c)
	}
	z := g.Linear(y, qkv.Params[0], qb)
	z = g.Permute(g.Reshape(z, n*count, l, 3, heads, c/heads), 2, 0, 3, 1, 4)
	q, k, v := g.Select(z, 0), g.Select(z, 0), g.Select(z, 0)
	g.Keep(qb, z)
	var att torch.Tensor
	if logit != torch.None {
		att = g.Matmul(g.Normalize(q, -1), g.Transpose(g.Normalize(k, -1), -2, -1))
		scale := nn.Exp(g, g.Clamp(logit))
		g.Keep(scale)
		att = g.Mul(att, scale)
	} else {
		q = g.Scale(q)
		g.Keep(q)
		att = g.Matmul(q, g.Transpose(k, -2, -1))
	}
	att = g.Add(att, bias)
	if roll {
		mask := s.mask(g, ph, pw, g.DType(y))
		g.Keep(mask)
		att = g.View(att, n, count, heads, l, l)
		att = g.Add(att, g.Unsqueeze(g.Unsqueeze(mask, 1), 0))
		att = g.View(att, -1, heads, l, l)
	}
	att = g.Dropout(g.Softmax(att), s.pa, false)
	g.Keep(att)
	parts := y
	y = g.Reshape(g.Transpose(g.Matmul(att, v), 1, 2), n*count, l, c)
	g.Alive(parts)
	y = g.Dropout(g.Linear(y, proj.Params[0], proj.Params[1]), s.p, false)
	y = g.View(y, n, ph/w, pw/w, w, w, c)
	y = g.Reshape(g.Permute(y, 0, 1, 3, 2, 4, 5), n, ph, pw, c)
	if roll {
		y = g.Roll(y)
	}
	return g.Contiguous(g.Colon(g.SliceTo(g.SliceTo(g.Colon(y, 0), 1, h), 2, wd), 3))
}

// mask is the [windows, n, n] mask of a shifted map, and what is made on the way.
func (s swin) mask(g *torch.Graph, h, w int64, d torch.DType) torch.Tensor {
	k := s.window
	m := g.Constant("zeros", []int64{h, w}, d)
	m = g.Permute(g.View(m, h/k, k, w/k, k), 0, 2, 1, 3)
	m = g.Reshape(m, (h/k)*(w/k), k*k)
	m = g.Sub(g.Unsqueeze(m, 1), g.Unsqueeze(m, 2))
	first := g.MaskedFill(m, g.Compare(m))
	first = g.MaskedFill(first, g.Compare(m))
	g.Alive(m)
	return first
}
