//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// Vision transformers, as torchvision/models/vision_transformer.py builds them.
func init() {
	for _, m := range []struct {
		name                        string
		patch, layers, heads, d, ff int64
	}{
		{"vit_b_16", 16, 12, 12, 768, 3072},
		{"vit_b_32", 32, 12, 12, 768, 3072},
		{"vit_l_16", 16, 24, 16, 1024, 4096},
		{"vit_l_32", 32, 24, 16, 1024, 4096},
		{"vit_h_14", 14, 32, 16, 1280, 5120},
	} {
		add(&Preset{Name: m.name, Family: "vit", Inputs: image(224), Build: func(b *nn.Builder, a *nn.Args) *Net {
			g, root := b.G, b.Root("VisionTransformer")
			side, p, pa := a.Positive("image_size", 224), a.Probability("dropout", 0), a.Probability("attention_dropout", 0)
			class := b.Param(root, 1, 1, m.d)
			conv := b.Add(root, "conv_proj", nn.Conv{Dim: 2, In: 3, Out: m.d, Kernel: nn.N(m.patch), Stride: nn.N(m.patch)})
			enc := b.Container(root, "encoder", "Encoder")
			pos := b.Param(enc, 1, (side/m.patch)*(side/m.patch)+1, m.d)
			drop := b.Add(enc, "dropout", nn.Dropout{P: p})
			layers := b.Container(enc, "layers", "Sequential")
			for i := range m.layers {
				vitBlock(b, layers, "encoder_layer_"+strconv.FormatInt(i, 10), m.heads, m.d, m.ff, p, pa)
			}
			layers.Chain()
			ln := b.Add(enc, "ln", nn.LayerNorm{Shape: []int64{m.d}})
			enc.Forward(func(x ...torch.Tensor) torch.Tensor {
				return ln.Call(layers.Call(drop.Call(g.Add(x[0], pos))))
			})
			head := nn.Ordered{Children: []nn.Child{{Name: "head", Spec: nn.Linear{In: m.d, Out: a.Positive("num_classes", 1000)}}}}
			r := a.Int("representation_size", 0)
			if r < 0 || r > 1<<24 {
				a.Fail("argument-range", "representation_size", r)
			}
			if r > 0 {
				head.Children = []nn.Child{{Name: "pre_logits", Spec: nn.Linear{In: m.d, Out: r}}, {Name: "act", Spec: nn.Activation{Type: "Tanh"}},
					{Name: "head", Spec: nn.Linear{In: r, Out: a.Positive("num_classes", 1000)}}}
			}
			heads := b.Add(root, "heads", head)
			return chain(root.Forward(func(x ...torch.Tensor) torch.Tensor {
				n := g.Dim(x[0], 0)
				if sh := g.Shape(x[0]); len(sh) != 4 || sh[2] != side || sh[3] != side {
					g.Fail("vit-image", "shape", torch.Shape(sh), "image_size", side)
				}
				y := g.Permute(g.Flatten(conv.Call(x[0]), 2, -1), 0, 2, 1)
				y = g.Cat(1, g.Expand(class, n, -1, -1), y)
				return heads.Call(g.Select(g.Colon(enc.Call(y), 0), 1))
			}))
		}})
	}
}

func vitBlock(b *nn.Builder, parent *nn.Layer, name string, heads, d, ff int64, p, pa float64) {
	g := b.G
	l := b.Container(parent, name, "EncoderBlock")
	ln1 := b.Add(l, "ln_1", nn.LayerNorm{Shape: []int64{d}})
	att := b.Add(l, "self_attention", nn.MultiheadAttention{Embed: d, Heads: heads, P: pa, BatchFirst: true, NoWeights: true})
	drop := b.Add(l, "dropout", nn.Dropout{P: p})
	ln2 := b.Add(l, "ln_2", nn.LayerNorm{Shape: []int64{d}})
	mlp := b.SequentialNamed(l, "mlp", "MLPBlock", nn.Linear{In: d, Out: ff}, nn.Activation{Type: "GELU"}, nn.Dropout{P: p}, nn.Linear{In: ff, Out: d}, nn.Dropout{P: p})
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := g.Add(drop.Call(att.Call(ln1.Call(x[0]))), x[0])
		return g.Add(y, mlp.Call(ln2.Call(y)))
	})
}
