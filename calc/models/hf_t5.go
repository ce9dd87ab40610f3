//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// T5 is an encoder and decoder with relative position biases, RMSNorm and no other biases.
type T5 struct {
	Vocab, Hidden, FF, Heads, HeadDim int64
	Encoders, Decoders, Buckets       int64
	Gated                             bool
	Act                               string
	P                                 float64
	Tied                              bool
	// EncoderOnly is T5EncoderModel.
	EncoderOnly bool
	// EveryBias: each layer has its own relative biases (umT5).
	EveryBias bool
}

// attention is T5Attention on x and, for cross attention, the encoder's result.
// bias gives the position bias, with the mask in it, for a query and a key.
func (t *T5) attention(h hf, l *nn.Layer, biased, cross, cached bool, bias func(q, k torch.Tensor) torch.Tensor) func(x, memory torch.Tensor) torch.Tensor {
	g, inner := h.g, t.Heads*t.HeadDim
	add := func(name string, in, out int64) *nn.Layer { return h.linear(l, name, in, out, false, "") }
	q, k, v, o := add("q", t.Hidden, inner), add("k", t.Hidden, inner), add("v", t.Hidden, inner), add("o", inner, t.Hidden)
	if biased {
		h.b.Add(l, "relative_attention_bias", nn.Embedding{Num: t.Buckets, Dim: t.Heads})
	}
	return func(x, memory torch.Tensor) torch.Tensor {
		g.Enter(l.Module, x)
		if !cross {
			memory = x
		}
		a := splitHeads(g, q.Call(x), t.Heads, t.HeadDim)
		b := splitHeads(g, k.Call(memory), t.Heads, t.HeadDim)
		c := splitHeads(g, v.Call(memory), t.Heads, t.HeadDim)
		g.Keep(a, b, c)
		if cached && h.b.Training { // the output's past_key_values
			g.Return(b, c)
		}
		scores := g.AddInPlace(g.Matmul(a, g.Transpose(b, 3, 2)), bias(a, b))
		g.Keep(scores)
		w := g.To(g.Softmax(g.To(scores, torch.Float32)), g.DType(a))
		w = g.Dropout(w, h.p2(t.P), false)
		g.Keep(w)
		y := o.Call(mergeHeads(g, g.Matmul(w, c)))
		g.Exit(y)
		return y
	}
}

// bias is compute_bias: the buckets' values for each pair of positions.
func (t *T5) bias(g *torch.Graph, table *nn.Layer, n int64) torch.Tensor {
	v := table.Call(g.Constant("relative_position_bucket", []int64{n, n}, torch.Int64))
	return g.Unsqueeze(g.Permute(v, 2, 0, 1), 0)
}

func (t *T5) ff(h hf, l *nn.Layer) func(torch.Tensor) torch.Tensor {
	g, f := h.g, act(t.Act)
	name := "T5DenseActDense"
	if t.Gated {
		name = "T5DenseGatedActDense"
	}
	k := h.b.Container(l, "DenseReluDense", name)
	up := "wi"
	var wi1 *nn.Layer
	if t.Gated {
		up = "wi_0"
	}
	wi := h.linear(k, up, t.Hidden, t.FF, false, "")
	if t.Gated {
		wi1 = h.linear(k, "wi_1", t.Hidden, t.FF, false, "")
	}
	wo := h.linear(k, "wo", t.FF, t.Hidden, false, "")
	k.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := f(g, wi.Call(x[0]))
		if wi1 != nil {
			y = g.Mul(y, wi1.Call(x[0]))
		}
		return wo.Call(g.Dropout(y, h.p2(t.P), false))
	})
	return func(x torch.Tensor) torch.Tensor { return k.Call(x) }
}

// stack is T5Stack.
func (t *T5) stack(h hf, root *nn.Layer, name string, embed *nn.Layer, layers int64, decoder bool) func(x, memory torch.Tensor) torch.Tensor {
	g, b := h.g, h.b
	l := b.Container(root, name, "T5Stack")
	tokens := b.Container(l, "embed_tokens", "Embedding")
	g.Share(tokens.Module, embed.Params[0])
	tokens.Forward(func(x ...torch.Tensor) torch.Tensor { return g.Embedding(x[0], embed.Params[0]) })
	list := b.Container(l, "block", "ModuleList")
	type sub struct {
		norm *nn.Layer
		run  func(x, memory torch.Tensor) torch.Tensor
	}
	var mask, crossMask, bias, crossBias torch.Tensor // of the forward that runs; the biases have the masks in them
	blocks := make([]func(x, memory torch.Tensor) torch.Tensor, layers)
	for i := range layers {
		block := b.Container(list, strconv.FormatInt(i, 10), "T5Block")
		parts := b.Container(block, "layer", "ModuleList")
		var subs []sub
		add := func(class string, fill func(k *nn.Layer) func(x, memory torch.Tensor) torch.Tensor) {
			k := b.Container(parts, strconv.Itoa(len(subs)), class)
			run := fill(k)
			subs = append(subs, sub{h.norm(k, "layer_norm", t.Hidden, true), run})
		}
		add("T5LayerSelfAttention", func(k *nn.Layer) func(x, memory torch.Tensor) torch.Tensor {
			at := b.Container(k, "SelfAttention", "T5Attention")
			own := i == 0 || t.EveryBias
			return t.attention(h, at, own, false, decoder, func(q, k torch.Tensor) torch.Tensor {
				if own {
					bias = g.Add(t.bias(g, at.Kids[len(at.Kids)-1], g.Dim(q, 2)), mask)
				}
				return bias
			})
		})
		if decoder {
			add("T5LayerCrossAttention", func(k *nn.Layer) func(x, memory torch.Tensor) torch.Tensor {
				return t.attention(h, b.Container(k, "EncDecAttention", "T5Attention"), false, true, true, func(q, k torch.Tensor) torch.Tensor {
					if i == 0 {
						crossBias = g.Add(g.Constant("zeros", []int64{1, t.Heads, g.Dim(q, 2), g.Dim(k, 2)}, g.DType(q)), crossMask)
					}
					return crossBias
				})
			})
		}
		add("T5LayerFF", func(k *nn.Layer) func(x, memory torch.Tensor) torch.Tensor {
			f := t.ff(h, k)
			return func(x, _ torch.Tensor) torch.Tensor { return f(x) }
		})
		blocks[i] = func(x, memory torch.Tensor) torch.Tensor {
			g.Enter(block.Module, x)
			y := x
			for _, s := range subs {
				y = g.Add(y, g.Dropout(s.run(s.norm.Call(y), memory), h.p2(t.P), false))
			}
			g.Exit(y)
			return y
		}
	}
	final := h.norm(l, "final_layer_norm", t.Hidden, true)
	return func(x, memory torch.Tensor) torch.Tensor {
		g.Enter(l.Module, x)
		n, length := g.Dim(x, 0), g.Dim(x, 1)
		y := tokens.Call(x)
		g.Keep(y)
		rows := int64(1)
		if decoder {
			rows = length
			crossMask = g.Constant("encoder_extended_attention_mask", []int64{n, 1, 1, g.Dim(memory, 1)}, b.DType)
			g.Keep(crossMask)
		}
		mask = g.Constant("causal_mask", []int64{n, 1, rows, length}, b.DType)
		g.Keep(mask)
		y = g.Dropout(y, h.p2(t.P), false)
		for _, f := range blocks {
			y = f(y, memory)
		}
		y = g.Dropout(final.Call(y), h.p2(t.P), false)
		g.Exit(y)
		return y
	}
}

// Build makes the modules.
func (t *T5) Build(b *nn.Builder) *Net {
	g := b.G
	h := hf{b, g, "T5", nil}
	class := "T5ForConditionalGeneration"
	if t.EncoderOnly {
		class = "T5EncoderModel"
	}
	root := b.Root(class)
	shared := b.Add(root, "shared", nn.Embedding{Num: t.Vocab, Dim: t.Hidden})
	enc := t.stack(h, root, "encoder", shared, t.Encoders, false)
	blocks := []*nn.Layer{root.Kids[1].Kids[1]}
	if t.EncoderOnly {
		return blocksOf(chain(root.Forward(func(x ...torch.Tensor) torch.Tensor { return enc(x[0], torch.None) })), blocks...)
	}
	dec := t.stack(h, root, "decoder", shared, t.Decoders, true)
	blocks = append(blocks, root.Kids[2].Kids[1])
	l := nn.Linear{In: t.Hidden, Out: t.Vocab, NoBias: true}
	if t.Tied {
		l.Tied = shared
	}
	head := b.Add(root, "lm_head", l)
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		memory := enc(x[0], torch.None)
		g.Return(memory) // encoder_last_hidden_state
		y := dec(x[len(x)-1], memory)
		if t.Tied {
			y = g.Scale(y) // d_model ** -0.5
		}
		return head.Call(y)
	})
	n := &Net{Root: root, Forward: func(x ...torch.Tensor) []torch.Tensor { return []torch.Tensor{root.Call(x...)} }}
	n.KVElements = 2 * t.Decoders * t.Heads * t.HeadDim
	return blocksOf(n, blocks...)
}
