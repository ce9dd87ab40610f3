//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// ViT is Hugging Face's ViTModel or ViTForImageClassification (DeiT adds a distillation token).
type ViT struct {
	Prefix, Model                                     string // "ViT", "vit"
	Hidden, Layers, Heads, FF, Image, Patch, Channels int64
	Act                                               string
	P, PAttn                                          float64
	NoQKVBias, Distilled, Pooler                      bool
	Labels                                            int64 // 0: no classifier
}

// Build makes the modules.
func (v *ViT) Build(b *nn.Builder) *Net {
	g := b.G
	h := hf{b, g, v.Prefix, nil}
	root := b.Root(v.Prefix + "Model")
	model := root
	if v.Labels > 0 {
		root.Type = v.Prefix + "ForImageClassification"
		model = b.Container(root, v.Model, v.Prefix+"Model")
	}
	drop := func(x torch.Tensor) torch.Tensor { return g.Dropout(x, h.p2(v.P), false) }
	emb := b.Container(model, "embeddings", v.Prefix+"Embeddings")
	extra := []torch.Tensor{b.Param(emb, 1, 1, v.Hidden)}
	if v.Distilled {
		extra = append(extra, b.Param(emb, 1, 1, v.Hidden))
	}
	patches := (v.Image / v.Patch) * (v.Image / v.Patch)
	pos := b.Param(emb, 1, patches+int64(len(extra)), v.Hidden)
	pe := b.Container(emb, "patch_embeddings", v.Prefix+"PatchEmbeddings")
	conv := b.Add(pe, "projection", nn.Conv{Dim: 2, In: v.Channels, Out: v.Hidden, Kernel: nn.N(v.Patch), Stride: nn.N(v.Patch)})
	emb.Forward(func(x ...torch.Tensor) torch.Tensor {
		if sh := g.Shape(x[0]); len(sh) != 4 || sh[2] != v.Image || sh[3] != v.Image {
			g.Fail("vit-image", "shape", torch.Shape(sh), "image_size", v.Image)
		}
		y := g.Transpose(g.Flatten(conv.Call(x[0]), 2, -1), 1, 2)
		var all []torch.Tensor
		for _, t := range extra {
			all = append(all, g.Expand(t, g.Dim(y, 0), -1, -1))
		}
		return drop(g.Add(g.Cat(1, append(all, y)...), pos))
	})
	enc := b.Container(model, "encoder", v.Prefix+"Encoder")
	list := b.Container(enc, "layer", "ModuleList")
	d := v.Hidden / v.Heads
	f := act(v.Act)
	for i := range v.Layers {
		l := b.Container(list, strconv.FormatInt(i, 10), v.Prefix+"Layer")
		q, k, w := h.linear(l, "attention.attention.query", v.Hidden, v.Hidden, !v.NoQKVBias, ""), h.linear(l, "attention.attention.key", v.Hidden, v.Hidden, !v.NoQKVBias, ""),
			h.linear(l, "attention.attention.value", v.Hidden, v.Hidden, !v.NoQKVBias, "")
		out := h.linear(l, "attention.output.dense", v.Hidden, v.Hidden, true, "")
		up, down := h.linear(l, "intermediate.dense", v.Hidden, v.FF, true, ""), h.linear(l, "output.dense", v.FF, v.Hidden, true, "")
		n1, n2 := h.norm(l, "layernorm_before", v.Hidden, false), h.norm(l, "layernorm_after", v.Hidden, false)
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			z := n1.Call(x[0])
			y := g.Local(func() torch.Tensor {
				a, b, c := splitHeads(g, q.Call(z), v.Heads, d), splitHeads(g, k.Call(z), v.Heads, d), splitHeads(g, w.Call(z), v.Heads, d)
				g.Keep(a, b, c)
				return mergeHeads(g, g.SDPA(a, b, c, torch.SDPAArgs{Mask: torch.None, P: h.p2(v.PAttn)}))
			})
			y = g.Add(drop(out.Call(y)), x[0])
			return g.Add(drop(down.Call(f(g, up.Call(n2.Call(y))))), y)
		})
	}
	enc.Forward(func(x ...torch.Tensor) torch.Tensor { return nn.Through(x[0], list.Kids...) })
	norm := h.norm(model, "layernorm", v.Hidden, false)
	var pool *nn.Layer
	if v.Pooler {
		p := b.Container(model, "pooler", v.Prefix+"Pooler")
		dense := b.Add(p, "dense", nn.Linear{In: v.Hidden, Out: v.Hidden})
		pool = p.Forward(func(x ...torch.Tensor) torch.Tensor {
			return nn.Activation{Type: "Tanh"}.Apply(g, dense.Call(g.Select(x[0], 1)))
		})
	}
	body := func(x torch.Tensor) torch.Tensor {
		y := norm.Call(enc.Call(emb.Call(x)))
		if pool != nil {
			y = pool.Call(y)
		}
		return y
	}
	if v.Labels == 0 {
		return blocksOf(chain(root.Forward(func(x ...torch.Tensor) torch.Tensor { return body(x[0]) })), list)
	}
	model.Forward(func(x ...torch.Tensor) torch.Tensor { return body(x[0]) })
	head := b.Add(root, "classifier", nn.Linear{In: v.Hidden, Out: v.Labels})
	root.Forward(func(x ...torch.Tensor) torch.Tensor { return head.Call(g.Select(model.Call(x[0]), 1)) })
	return blocksOf(chain(root), list)
}

// Whisper is WhisperForConditionalGeneration, or without convolutions BART-like (BartForConditionalGeneration).
type Whisper struct {
	Prefix                                   string
	Vocab, Hidden, Heads, Mels               int64
	Encoders, Decoders, EncoderFF, DecoderFF int64
	Source, Target                           int64 // positions
	Act                                      string
	P, PAttn                                 float64
	// Bart: token embeddings shared by both stacks, biases on every projection, norms after the sum and after the embedding.
	Bart bool
}

type pair = func(x, memory torch.Tensor) torch.Tensor

// attention is WhisperAttention: the key has no bias (BART's has one).
func (w *Whisper) attention(h hf, l *nn.Layer, causal bool) pair {
	g, d := h.g, w.Hidden/w.Heads
	k, v, q, o := h.linear(l, "k_proj", w.Hidden, w.Hidden, w.Bart, ""), h.linear(l, "v_proj", w.Hidden, w.Hidden, true, ""),
		h.linear(l, "q_proj", w.Hidden, w.Hidden, true, ""), h.linear(l, "out_proj", w.Hidden, w.Hidden, true, "")
	return func(x, memory torch.Tensor) torch.Tensor {
		g.Enter(l.Module, x)
		a := splitHeads(g, g.Scale(q.Call(x)), w.Heads, d)
		b := splitHeads(g, k.Call(memory), w.Heads, d)
		c := splitHeads(g, v.Call(memory), w.Heads, d)
		g.Keep(a, b, c)
		y := o.Call(mergeHeads(g, g.SDPA(a, b, c, torch.SDPAArgs{Mask: torch.None, P: h.p2(w.PAttn), Causal: causal})))
		g.Exit(y)
		return y
	}
}

// layer is an encoder's or decoder's layer.
func (w *Whisper) layer(h hf, parent *nn.Layer, name string, ff int64, decoder bool) pair {
	g, b := h.g, h.b
	class := "EncoderLayer"
	if decoder {
		class = "DecoderLayer"
	}
	l := b.Container(parent, name, w.Prefix+class)
	type part struct {
		norm *nn.Layer
		run  pair
	}
	self := w.attention(h, b.Container(l, "self_attn", w.Prefix+"Attention"), decoder)
	parts := []part{{h.norm(l, "self_attn_layer_norm", w.Hidden, false), func(x, _ torch.Tensor) torch.Tensor { return self(x, x) }}}
	if decoder {
		cross := w.attention(h, b.Container(l, "encoder_attn", w.Prefix+"Attention"), false)
		parts = append(parts, part{h.norm(l, "encoder_attn_layer_norm", w.Hidden, false), cross})
	}
	up, down := h.linear(l, "fc1", w.Hidden, ff, true, ""), h.linear(l, "fc2", ff, w.Hidden, true, "")
	f := act(w.Act)
	parts = append(parts, part{h.norm(l, "final_layer_norm", w.Hidden, false), func(x, _ torch.Tensor) torch.Tensor { return down.Call(f(g, up.Call(x))) }})
	return func(x, memory torch.Tensor) torch.Tensor {
		g.Enter(l.Module, x)
		y := x
		for _, p := range parts {
			if w.Bart {
				y = p.norm.Call(g.Add(y, g.Dropout(p.run(y, memory), h.p2(w.P), false)))
			} else {
				y = g.Add(y, g.Dropout(p.run(p.norm.Call(y), memory), h.p2(w.P), false))
			}
		}
		g.Exit(y)
		return y
	}
}

// Build makes the modules. Its inputs are the log-mel features (or source tokens) and the target tokens.
func (w *Whisper) Build(b *nn.Builder) *Net {
	g := b.G
	h := hf{b, g, w.Prefix, nil}
	root := b.Root(w.Prefix + "ForConditionalGeneration")
	model := b.Container(root, "model", w.Prefix+"Model")
	var shared *nn.Layer
	if w.Bart {
		shared = b.Add(model, "shared", nn.Embedding{Num: w.Vocab, Dim: w.Hidden})
	}
	drop := func(x torch.Tensor) torch.Tensor { return g.Dropout(x, h.p2(w.P), false) }
	positions := func(l *nn.Layer, n int64) (func(length int64) torch.Tensor, *nn.Layer) {
		limit := n
		if w.Bart {
			n += 2 // offset of BartLearnedPositionalEmbedding
		}
		p := b.Add(l, "embed_positions", nn.Embedding{Num: n, Dim: w.Hidden})
		return func(length int64) torch.Tensor {
			within(p, length, limit)
			return p.Call(g.Constant("arange", []int64{length}, torch.Int64))
		}, p
	}
	enc := b.Container(model, "encoder", w.Prefix+"Encoder")
	var conv1, conv2, encNorm, decNorm *nn.Layer
	if !w.Bart {
		conv1 = b.Add(enc, "conv1", nn.Conv{Dim: 1, In: w.Mels, Out: w.Hidden, Kernel: nn.N(3), Padding: nn.N(1)})
		conv2 = b.Add(enc, "conv2", nn.Conv{Dim: 1, In: w.Hidden, Out: w.Hidden, Kernel: nn.N(3), Stride: nn.N(2), Padding: nn.N(1)})
	}
	encPos, table := positions(enc, w.Source)
	if !w.Bart {
		g.Freeze(table.Module) // sinusoids
	}
	list := b.Container(enc, "layers", "ModuleList")
	encoders := make([]pair, w.Encoders)
	for i := range encoders {
		encoders[i] = w.layer(h, list, strconv.Itoa(i), w.EncoderFF, false)
	}
	if w.Bart {
		encNorm = h.norm(enc, "layernorm_embedding", w.Hidden, false)
	} else {
		encNorm = h.norm(enc, "layer_norm", w.Hidden, false)
	}
	dec := b.Container(model, "decoder", w.Prefix+"Decoder")
	tokens := shared
	if tokens == nil {
		tokens = b.Add(dec, "embed_tokens", nn.Embedding{Num: w.Vocab, Dim: w.Hidden})
	}
	decPos, _ := positions(dec, w.Target)
	dlist := b.Container(dec, "layers", "ModuleList")
	decoders := make([]pair, w.Decoders)
	for i := range decoders {
		decoders[i] = w.layer(h, dlist, strconv.Itoa(i), w.DecoderFF, true)
	}
	if w.Bart {
		decNorm = h.norm(dec, "layernorm_embedding", w.Hidden, false)
	} else {
		decNorm = h.norm(dec, "layer_norm", w.Hidden, false)
	}
	name := "proj_out"
	if w.Bart {
		name = "lm_head"
	}
	head := b.Add(root, name, nn.Linear{In: w.Hidden, Out: w.Vocab, NoBias: true, Tied: tokens})
	gelu := act("gelu")
	enc.Forward(func(x ...torch.Tensor) torch.Tensor {
		var y torch.Tensor
		if w.Bart {
			y = drop(encNorm.Call(g.Add(tokens.Call(x[0]), encPos(g.Dim(x[0], 1)))))
		} else {
			y = gelu(g, conv2.Call(gelu(g, conv1.Call(x[0]))))
			y = g.Permute(y, 0, 2, 1)
			y = drop(g.Add(y, encPos(g.Dim(y, 1))))
		}
		for _, f := range encoders {
			y = f(y, torch.None)
		}
		if !w.Bart {
			y = encNorm.Call(y)
		}
		return y
	})
	dec.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := g.Add(tokens.Call(x[0]), decPos(g.Dim(x[0], 1)))
		if w.Bart {
			y = decNorm.Call(y)
		}
		y = drop(y)
		for _, f := range decoders {
			y = f(y, x[1])
		}
		if !w.Bart {
			y = decNorm.Call(y)
		}
		return y
	})
	model.Forward(func(x ...torch.Tensor) torch.Tensor {
		memory := enc.Call(x[0])
		g.Keep(memory)
		return dec.Call(x[1], memory)
	})
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		if len(x) != 2 {
			g.Fail("function-inputs", "type", root.Type, "expected", 2, "given", len(x))
		}
		return head.Call(model.Call(x...))
	})
	n := &Net{Root: root, Forward: func(x ...torch.Tensor) []torch.Tensor { return []torch.Tensor{root.Call(x...)} }}
	n.KVElements, n.Positions = 2*w.Decoders*w.Hidden, w.Target
	return blocksOf(n, list, dlist)
}

// QwenVision is the vision tower of Qwen2-VL (plain MLP, LayerNorm) and Qwen2.5-VL (gated MLP, RMSNorm): its parameters
// count, the text model's forward does not run it.
type QwenVision struct {
	Width, Depth, Heads, FF, Channels, Patch, Frames, Merge, Out int64
	Gated                                                        bool
}

// WithVision is d with the tower beside it.
func WithVision(b *nn.Builder, d *Decoder, v *QwenVision) *Net {
	n := d.Build(b)
	h := hf{b, b.G, d.Names.Prefix, nil}
	l := b.Container(n.Root, "visual", "Qwen2VisionTransformer")
	patch := b.Container(l, "patch_embed", "VisionPatchEmbed")
	b.Add(patch, "proj", nn.Conv{Dim: 3, In: v.Channels, Out: v.Width, Kernel: nn.Ints{v.Frames, v.Patch, v.Patch}, Stride: nn.Ints{v.Frames, v.Patch, v.Patch}, NoBias: true})
	list := b.Container(l, "blocks", "ModuleList")
	for i := range v.Depth {
		k := b.Container(list, strconv.FormatInt(i, 10), "VisionBlock")
		h.norm(k, "norm1", v.Width, v.Gated)
		h.norm(k, "norm2", v.Width, v.Gated)
		h.linear(k, "attn.qkv", v.Width, 3*v.Width, true, "")
		h.linear(k, "attn.proj", v.Width, v.Width, true, "")
		if v.Gated {
			h.linear(k, "mlp.gate_proj", v.Width, v.FF, true, "")
			h.linear(k, "mlp.up_proj", v.Width, v.FF, true, "")
			h.linear(k, "mlp.down_proj", v.FF, v.Width, true, "")
		} else {
			h.linear(k, "mlp.fc1", v.Width, v.FF, true, "")
			h.linear(k, "mlp.fc2", v.FF, v.Width, true, "")
		}
	}
	merger := b.Container(l, "merger", "PatchMerger")
	h.norm(merger, "ln_q", v.Width, v.Gated)
	in := v.Width * v.Merge * v.Merge
	b.Sequential(merger, "mlp", nn.Linear{In: in, Out: in}, nn.Activation{Type: "GELU"}, nn.Linear{In: in, Out: v.Out})
	return n
}
