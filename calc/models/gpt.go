//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// A decoder with its attention written out, as in a first course on transformers: packed query, key and value, a
// causal mask in a buffer, GELU.
func init() {
	add(&Preset{Name: "gpt_small", Family: "gpt", Inputs: []Input{tokens(128, 1000)}, Flat: true, Build: func(b *nn.Builder, a *nn.Args) *Net {
		g, root := b.G, b.Root("GPT")
		vocab, t, d, h, p := a.Positive("vocab", 1000), a.Positive("T", 128), a.Positive("d", 256), a.Positive("h", 4), a.Probability("p", 0.1)
		tok := b.Add(root, "tok", nn.Embedding{Num: vocab, Dim: d})
		pos := b.Add(root, "pos", nn.Embedding{Num: t, Dim: d})
		drop := b.Add(root, "drop", nn.Dropout{P: p})
		list := b.Container(root, "blocks", "ModuleList")
		blocks := make([]*nn.Layer, a.Count("L", 4))
		for i := range blocks {
			blocks[i] = gptBlock(b, list, strconv.Itoa(i), d, h, t, p)
		}
		ln := b.Add(root, "ln", nn.LayerNorm{Shape: []int64{d}})
		head := nn.Linear{In: d, Out: vocab, NoBias: true}
		if a.Bool("tied", false) {
			head.Tied = tok
		}
		lm := b.Add(root, "head", head)
		net := chain(root.Forward(func(x ...torch.Tensor) torch.Tensor {
			n := g.Dim(x[0], 1)
			within(pos, n, t)
			y := drop.Call(g.Add(tok.Call(x[0]), pos.Call(g.Constant("arange", []int64{n}, torch.Int64))))
			for _, k := range blocks {
				y = k.Call(y)
			}
			return lm.Call(ln.Call(y))
		}))
		net.KVElements, net.Positions = 2*d*int64(len(blocks)), t
		return net
	}})
}

func gptBlock(b *nn.Builder, parent *nn.Layer, name string, d, h, t int64, p float64) *nn.Layer {
	g := b.G
	l := b.Container(parent, name, "GPTBlock")
	ln1 := b.Add(l, "ln1", nn.LayerNorm{Shape: []int64{d}})
	attn := b.Container(l, "attn", "CausalSelfAttention")
	mask := g.Buffer(attn.Module, b.DType, 1, 1, t, t)
	qkv := b.Add(attn, "qkv", nn.Linear{In: d, Out: 3 * d})
	proj := b.Add(attn, "proj", nn.Linear{In: d, Out: d})
	ad, rd := b.Add(attn, "ad", nn.Dropout{P: p}), b.Add(attn, "rd", nn.Dropout{P: p})
	attn.Forward(func(x ...torch.Tensor) torch.Tensor {
		n, c := g.Dim(x[0], 0), g.Dim(x[0], 2)
		s := g.Dim(x[0], 1)
		q := g.Split(qkv.Call(x[0]), 2, c, c, c)
		for i := range q {
			q[i] = g.Transpose(g.View(q[i], n, s, h, c/h), 1, 2)
		}
		g.Keep(q...)
		att := g.Scale(g.Matmul(q[0], g.Transpose(q[1], -2, -1)))
		att = g.MaskedFill(att, g.Compare(g.Narrow(g.Narrow(mask, 2, s), 3, s)))
		g.Keep(att)
		y := g.Matmul(ad.Call(g.Softmax(att)), q[2])
		g.Keep(y)
		return rd.Call(proj.Call(g.View(g.Contiguous(g.Transpose(y, 1, 2)), n, s, c)))
	})
	ln2 := b.Add(l, "ln2", nn.LayerNorm{Shape: []int64{d}})
	mlp := b.Sequential(l, "mlp", nn.Linear{In: d, Out: 4 * d}, nn.Activation{Type: "GELU"}, nn.Linear{In: 4 * d, Out: d}, nn.Dropout{P: p})
	return l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := g.Add(x[0], attn.Call(ln1.Call(x[0])))
		return g.Add(y, mlp.Call(ln2.Call(y)))
	})
}
