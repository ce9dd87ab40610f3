package nn

import (
	"strconv"

	"vrametre/calc/torch"
)

// TransformerLayer is nn.TransformerEncoderLayer, or with Decoder nn.TransformerDecoderLayer.
type TransformerLayer struct {
	Embed, Heads, FF      int64
	P                     float64
	Act                   string // a class of unaries: ReLU (default) or GELU
	BatchFirst, NormFirst bool
	NoBias, Decoder       bool
}

func (s TransformerLayer) class() string {
	if s.Decoder {
		return "TransformerDecoderLayer"
	}
	return "TransformerEncoderLayer"
}

func (s TransformerLayer) build(b *Builder, l *Layer) {
	f := s.layer(b, l)
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return f(x, NoMasks, NoMasks) })
}

// transformerLayer runs on x[0] (and, in a decoder, the memory x[1]) with masks of the self and of the cross attention.
type transformerLayer func(x []torch.Tensor, self, cross Masks) torch.Tensor

// layer builds the children in the order of the constructor and gives the forward, without the call's frame.
func (s TransformerLayer) layer(b *Builder, l *Layer) transformerLayer {
	g := b.G
	att := MultiheadAttention{Embed: s.Embed, Heads: s.Heads, P: s.P, BatchFirst: s.BatchFirst, NoBias: s.NoBias}
	self := b.AddAttention(l, "self_attn", att)
	var cross *Attention
	if s.Decoder {
		cross = b.AddAttention(l, "multihead_attn", att)
	}
	linear1 := b.Add(l, "linear1", Linear{In: s.Embed, Out: s.FF, NoBias: s.NoBias})
	dropout := b.Add(l, "dropout", Dropout{P: s.P})
	linear2 := b.Add(l, "linear2", Linear{In: s.FF, Out: s.Embed, NoBias: s.NoBias})
	n := 2
	if s.Decoder {
		n = 3
	}
	norm, drop := make([]*Layer, n), make([]*Layer, n)
	for i := range n {
		norm[i] = b.Add(l, "norm"+strconv.Itoa(i+1), LayerNorm{Shape: []int64{s.Embed}, NoBias: s.NoBias})
	}
	for i := range n {
		drop[i] = b.Add(l, "dropout"+strconv.Itoa(i+1), Dropout{P: s.P})
	}
	act := Activation{Type: "ReLU"}
	if s.Act != "" {
		act.Type = s.Act
	}
	return func(x []torch.Tensor, ms, mc Masks) torch.Tensor {
		blocks := []func(torch.Tensor) torch.Tensor{
			func(y torch.Tensor) torch.Tensor { return self.Call(y, y, y, ms) },
			func(y torch.Tensor) torch.Tensor {
				z := linear2.Call(dropout.Call(act.Apply(g, linear1.Call(y))))
				g.Alive(y)
				return z
			},
		}
		if s.Decoder {
			blocks = []func(torch.Tensor) torch.Tensor{blocks[0], func(y torch.Tensor) torch.Tensor { return cross.Call(y, x[1], x[1], mc) }, blocks[1]}
		}
		y := x[0]
		for i, f := range blocks {
			if s.NormFirst {
				y = g.Add(y, drop[i].Call(f(norm[i].Call(y))))
			} else {
				y = norm[i].Call(g.Add(y, drop[i].Call(f(y))))
			}
		}
		return y
	}
}

// TransformerStack is nn.TransformerEncoder or nn.TransformerDecoder: Layers copies of a layer, then a LayerNorm if Norm.
type TransformerStack struct {
	Layer  TransformerLayer
	Layers int64
	Norm   bool
}

func (s TransformerStack) class() string {
	if s.Layer.Decoder {
		return "TransformerDecoder"
	}
	return "TransformerEncoder"
}

func (s TransformerStack) build(b *Builder, l *Layer) {
	f := s.stack(b, l)
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return f(x, NoMasks, NoMasks) })
}

func (s TransformerStack) stack(b *Builder, l *Layer) transformerLayer {
	g := b.G
	list := b.Container(l, "layers", "ModuleList")
	layers := make([]*Layer, s.Layers)
	run := make([]transformerLayer, s.Layers)
	for i := range layers {
		layers[i] = b.Container(list, strconv.Itoa(i), s.Layer.class())
		run[i] = s.Layer.layer(b, layers[i])
	}
	var norm *Layer
	if s.Norm {
		norm = b.Add(l, "norm", LayerNorm{Shape: []int64{s.Layer.Embed}, NoBias: s.Layer.NoBias})
	}
	return func(x []torch.Tensor, ms, mc Masks) torch.Tensor {
		y := x[0]
		if g.Rules.SDPA { // floating masks are made once per stack (F._canonical_mask)
			for _, t := range []*torch.Tensor{&ms.Attn, &ms.Padding} {
				*t = g.FloatMask(*t, g.DType(y))
				g.Keep(*t)
			}
		}
		for i := range layers {
			in := append([]torch.Tensor{y}, x[1:]...)
			g.Enter(layers[i].Module, in...)
			y = run[i](in, ms, mc)
			g.Exit(y)
		}
		if norm != nil {
			y = norm.Call(y)
		}
		return y
	}
}

// CallMasked runs a built stack in its own frame.
type maskedLayer struct {
	*Layer
	run transformerLayer
}

func (m maskedLayer) call(g *torch.Graph, x []torch.Tensor, self, cross Masks) torch.Tensor {
	g.Enter(m.Module, x...)
	y := m.run(x, self, cross)
	g.Exit(y)
	return y
}

// Transformer is nn.Transformer: an encoder and a decoder, each with a final LayerNorm.
type Transformer struct {
	Layer              TransformerLayer
	Encoders, Decoders int64
}

func (Transformer) class() string { return "Transformer" }
func (s Transformer) build(b *Builder, l *Layer) {
	f := s.model(b, l)
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return f(x, NoMasks) })
}

func (s Transformer) model(b *Builder, l *Layer) func(x []torch.Tensor, target Masks) torch.Tensor {
	g := b.G
	add := func(name string, dec bool, n int64) maskedLayer {
		t := TransformerStack{Layer: s.Layer, Layers: n, Norm: true}
		t.Layer.Decoder = dec
		k := b.Container(l, name, t.class())
		return maskedLayer{k, t.stack(b, k)}
	}
	enc := add("encoder", false, s.Encoders)
	dec := add("decoder", true, s.Decoders)
	return func(x []torch.Tensor, target Masks) torch.Tensor {
		memory := enc.call(g, x[:1], NoMasks, NoMasks)
		g.Keep(memory)
		return dec.call(g, []torch.Tensor{x[1], memory}, target, NoMasks)
	}
}

// AddTransformer builds s as the child name of parent; the result runs it on source and target with the target's masks.
func (b *Builder) AddTransformer(parent *Layer, name string, s Transformer) func(src, dst torch.Tensor, target Masks) torch.Tensor {
	l := b.Container(parent, name, s.class())
	f := s.model(b, l)
	return func(src, dst torch.Tensor, target Masks) torch.Tensor {
		b.G.Enter(l.Module, src, dst)
		y := f([]torch.Tensor{src, dst}, target)
		b.G.Exit(y)
		return y
	}
}

// AddStack builds s as the child name of parent; the result runs it on x with masks of the self attention.
func (b *Builder) AddStack(parent *Layer, name string, s TransformerStack) func(self Masks, x ...torch.Tensor) torch.Tensor {
	l := b.Container(parent, name, s.class())
	m := maskedLayer{l, s.stack(b, l)}
	return func(self Masks, x ...torch.Tensor) torch.Tensor { return m.call(b.G, x, self, NoMasks) }
}

func transformerArgs(a *Args) TransformerLayer {
	act := map[string]string{"relu": "ReLU", "gelu": "GELU"}[a.String("activation", "relu", "relu", "gelu")]
	a.Ignore("layer_norm_eps")
	return TransformerLayer{Embed: a.Positive("d_model", 512), Heads: a.Positive("nhead", 8), FF: a.Positive("dim_feedforward", 2048), P: a.Probability("dropout", 0.1), Act: act,
		BatchFirst: a.Bool("batch_first", false), NormFirst: a.Bool("norm_first", false), NoBias: !a.Bool("bias", true)}
}

func init() {
	for _, dec := range []bool{false, true} {
		register(func(a *Args) Spec {
			s := transformerArgs(a)
			s.Decoder = dec
			return s
		}, TransformerLayer{Decoder: dec}.class())
		register(func(a *Args) Spec {
			s := transformerArgs(a)
			s.Decoder = dec
			a.Ignore("enable_nested_tensor", "mask_check")
			return TransformerStack{Layer: s, Layers: a.Count("num_layers", 0), Norm: a.Bool("norm", false)}
		}, TransformerStack{Layer: TransformerLayer{Decoder: dec}}.class())
	}
	register(func(a *Args) Spec {
		return Transformer{transformerArgs(a), a.Count("num_encoder_layers", 6), a.Count("num_decoder_layers", 6)}
	}, "Transformer")
}
