//go:build !lean

package models

import (
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// A translation model on nn.Transformer: embeddings scaled by the root of their size, a causal mask on the target.
func init() {
	add(&Preset{Name: "seq2seq", Family: "transformer", Inputs: []Input{tokens(20, 1000), tokens(16, 1000)}, Flat: true, Build: func(b *nn.Builder, a *nn.Args) *Net {
		g, root := b.G, b.Root("Seq2Seq")
		vocab, d, layers, first := a.Positive("V", 1000), a.Positive("d", 64), a.Count("L", 2), a.Bool("batch_first", true)
		src := b.Add(root, "e", nn.Embedding{Num: vocab, Dim: d})
		dst := b.Add(root, "g", nn.Embedding{Num: vocab, Dim: d})
		t := b.AddTransformer(root, "t", nn.Transformer{Encoders: layers, Decoders: layers, Layer: nn.TransformerLayer{Embed: d, Heads: a.Positive("h", 4), FF: a.Positive("ff", 128),
			P: a.Probability("p", 0.1), BatchFirst: first, NormFirst: a.Bool("norm_first", false), Act: activation(a)}})
		out := b.Add(root, "o", nn.Linear{In: d, Out: vocab})
		masked := a.Bool("mask", true)
		return chain(root.Forward(func(x ...torch.Tensor) torch.Tensor {
			if len(x) != 2 {
				g.Fail("function-inputs", "type", "seq2seq", "expected", 2, "given", len(x))
			}
			s, y := g.Scale(src.Call(x[0])), g.Scale(dst.Call(x[1]))
			if !first {
				s, y = g.Transpose(s, 0, 1), g.Transpose(y, 0, 1)
			}
			g.Keep(s, y)
			m := nn.NoMasks
			if masked { // torch.triu(torch.full((n, n), -inf), 1)
				n := g.Dim(x[1], 1)
				g.Constant("full", []int64{n, n}, g.DType(y))
				m = nn.Masks{Attn: g.Constant("triu", []int64{n, n}, g.DType(y)), Padding: torch.None, Causal: true}
				g.Keep(m.Attn)
			}
			z := t(s, y, m)
			z = out.Call(z)
			if !first {
				z = g.Contiguous(g.Transpose(z, 0, 1))
			}
			return z
		}))
	}})
}
