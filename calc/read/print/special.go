package print

import (
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// rms is an RMSNorm of any of its names. Old Hugging Face versions print no size: it is the width of what stands
// beside it.
func (r *reader) rms(m *module, args map[string]any, rest string) nn.Spec {
	width := ints(args["normalized_shape"])
	if width == nil {
		if args, _ := arguments("RMSNorm", m.extra); args["normalized_shape"] != nil {
			width = ints(args["normalized_shape"])
		}
	}
	if width == nil && r.widths[m] > 0 {
		width = []int64{r.widths[m]}
	}
	if len(width) != 1 || width[0] < 1 || width[0] > 1<<40 {
		r.warn(m, "norm-size")
		return nn.Identity{}
	}
	return nn.LlamaRMSNorm{Width: width[0], Class: m.class}
}

// infer gives each norm printed without a size the width of the nearest layer after it in its parent, else before it; and finds
// which Permutes bring images to channels last.
func (r *reader) infer(m *module) {
	in := make([]int64, len(m.kids)) // width each child takes
	for i, k := range m.kids {
		r.infer(k)
		in[i] = widthIn(k)
	}
	for i, k := range m.kids {
		if k.kind() == "MultiheadAttention" { // a transformer layer gives its attention the dropout it prints as its own
			if p, ok := m.kid("dropout1").args()["p"].(float64); ok && p >= 0 && p <= 1 {
				r.dropout[k] = p
			}
		}
		if k.kind() == "Permute" && i+1 < len(m.kids) {
			r.last[k] = wants(m.kids[i+1]).dim == -1
		}
		if len(k.kids) > 0 || k.extra != "" {
			continue
		}
		for j := i + 1; j < len(m.kids) && r.widths[k] == 0; j++ {
			r.widths[k] = in[j]
		}
		for j := i - 1; j >= 0 && r.widths[k] == 0; j-- {
			r.widths[k] = in[j]
		}
	}
}

// widthIn is the number of features that the first layer with weights at or below m takes.
func widthIn(m *module) int64 {
	switch alias(m.kind()) {
	case "Linear":
		return m.size("in_features")
	case "Embedding":
		return m.size("embedding_dim")
	}
	for _, k := range m.kids {
		if n := widthIn(k); n > 0 {
			return n
		}
	}
	return 0
}

// quantisedBits are the bits of a weight in the linear layers that keep it quantised: those of bitsandbytes, AutoAWQ and
// torch.ao.nn.quantized.
var quantisedBits = map[string]int64{"Linear4bit": 4, "LinearNF4": 4, "LinearFP4": 4, "WQLinear_GEMM": 4, "WQLinear_GEMV": 4,
	"Linear8bitLt": 8, "Linear8bit": 8, "QuantizedLinear": 8, "DynamicQuantizedLinear": 8, "QuantizedLinearReLU": 8}

// quantised is one of quantisedBits: a frozen weight in four or eight bits with its scales.
func (r *reader) quantised(m *module, args map[string]any) nn.Spec {
	a := nn.NewArgs(m.class, at(m.line), args)
	in, out, bias := a.Size("in_features"), a.Size("out_features"), a.Bool("bias", true)
	a.Ignore("quant_type", "compute_dtype", "has_fp16_weights", "threshold", "w_bit", "group_size", "dtype", "qscheme", "scale", "zero_point")
	if err := a.Finish(); err != nil {
		panic(err)
	}
	bytes := in*out/2 + (in*out+63)/64 + 4*((in*out/64+255)/256)
	if quantisedBits[m.kind()] == 8 {
		bytes = in*out + 4*out
	}
	return nn.Block{Class: m.class, Build: func(b *nn.Builder, l *nn.Layer) {
		g := b.G
		w := b.Param(l, out, in)
		g.Quantise(w, bytes)
		w2 := torch.None
		if bias {
			w2 = b.Param(l, out)
		}
		g.Freeze(l.Module)
		l.Forward(func(x ...torch.Tensor) torch.Tensor { return g.Linear4bit(x[0], w, w2) })
	}}
}

// permute is torchvision's Permute, whose dimensions are not printed: images to channels last where a layer over the
// last dimension follows, back otherwise.
func (r *reader) permute(m *module) nn.Spec {
	return nn.Block{Class: m.class, Build: func(b *nn.Builder, l *nn.Layer) {
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			if r.last[m] {
				return b.G.Permute(x[0], 0, 2, 3, 1)
			}
			return b.G.Permute(x[0], 0, 3, 1, 2)
		})
	}}
}

// attention is nn.MultiheadAttention, which prints its output projection alone.
func (r *reader) attention(m *module) nn.Spec {
	out := m.kid("out_proj")
	embed := out.size("out_features")
	if embed <= 0 || embed > 1<<40 {
		r.warn(m, "layer-unknown", "extra", short(m.extra))
		return nn.Identity{}
	}
	heads := headsOf(embed)
	r.warn(m, "assumed-heads", "embed_dim", embed, "num_heads", heads)
	return nn.MultiheadAttention{Embed: embed, Heads: heads, P: r.dropout[m], BatchFirst: true, NoWeights: true, NoBias: out.args()["bias"] == false}
}

// headsOf is the usual number of heads of a width: 64 features each where that divides it, else the largest of 32 to 1.
func headsOf(width int64) int64 {
	for _, d := range []int64{64, 32, 80, 96, 48, 16, 8} {
		if width%d == 0 && width > d {
			return width / d
		}
	}
	return 1
}

// PEFT's wrapper of a linear layer: the frozen layer and two matrices of low rank beside it.
func init() {
	class(variant{need: []string{"base_layer", "lora_A", "lora_B"}, forward: func(c *call) forward {
		g, base := c.g, c.kid("base_layer")
		g.Freeze(base.Module)
		a, b := c.kid("lora_A"), c.kid("lora_B")
		drop := c.kid("lora_dropout")
		return func(x ...torch.Tensor) torch.Tensor {
			y := base.Call(x[0])
			if len(a.Kids) == 0 || len(b.Kids) == 0 {
				return y
			}
			g.Keep(y)
			d := g.DType(y)
			z := x[0]
			if drop != nil && len(drop.Kids) > 0 {
				z = drop.Kids[0].Call(z)
			}
			z = g.Scale(b.Kids[0].Call(a.Kids[0].Call(z)))
			return g.To(g.Add(y, z), d)
		}
	}}, "Linear", "Linear4bit", "Linear8bitLt")
}
