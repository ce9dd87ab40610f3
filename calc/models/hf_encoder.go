//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// Encoder is a BERT-like encoder: BERT, RoBERTa, ELECTRA, DistilBERT.
type Encoder struct {
	Prefix, Model                    string // class prefix and the model's name in its head ("Bert", "bert")
	Vocab, Hidden, Layers, Heads, FF int64
	Positions, Types                 int64
	EmbedDim                         int64 // ELECTRA's, projected; 0: Hidden
	Act                              string
	P, PAttn                         float64
	// Pooler: a dense layer with tanh on the first token.
	Pooler bool
	// SharedLayers: every layer is the same module (ALBERT).
	SharedLayers bool
	// Head: "" none, "mlm" a masked language model's, "pretraining" that and a sentence pair's, "class" a classifier of Labels, "token" one per token, "qa" spans.
	Head   string
	Labels int64
	Tied   bool
	Distil bool // DistilBERT's names and head
}

// Build makes the modules.
func (e *Encoder) Build(b *nn.Builder) *Net {
	g := b.G
	h := hf{b, g, e.Prefix, new(torch.Tensor)}
	suffix := map[string]string{"": "Model", "mlm": "ForMaskedLM", "pretraining": "ForPreTraining", "class": "ForSequenceClassification", "token": "ForTokenClassification", "qa": "ForQuestionAnswering"}[e.Head]
	root := b.Root(e.Prefix + suffix)
	model := root
	if e.Head != "" {
		model = b.Container(root, e.Model, e.Prefix+"Model")
	}
	width := e.EmbedDim
	if width == 0 {
		width = e.Hidden
	}
	drop := func(x torch.Tensor) torch.Tensor { return g.Dropout(x, h.p2(e.P), false) }
	emb := b.Container(model, "embeddings", e.Prefix+"Embeddings")
	word := b.Add(emb, "word_embeddings", nn.Embedding{Num: e.Vocab, Dim: width})
	pos := b.Add(emb, "position_embeddings", nn.Embedding{Num: e.Positions, Dim: width})
	var types, project *nn.Layer
	if e.Types > 0 {
		types = b.Add(emb, "token_type_embeddings", nn.Embedding{Num: e.Types, Dim: width})
	}
	norm := h.norm(emb, "LayerNorm", width, false)
	ids := g.Buffer(emb.Module, torch.Int64, 1, e.Positions) // position_ids
	typeIDs := torch.None
	if types != nil && !e.Distil {
		typeIDs = g.Buffer(emb.Module, torch.Int64, 1, e.Positions)
	}
	emb.Forward(func(x ...torch.Tensor) torch.Tensor {
		n := g.Dim(x[0], 1)
		limit := e.Positions
		if e.Model == "roberta" {
			limit -= 2 // positions count from padding_idx + 1
		}
		within(pos, n, limit)
		y := word.Call(x[0])
		g.Keep(y)
		if types != nil {
			t := types.Call(g.Expand(g.Narrow(typeIDs, 1, n), g.Dim(x[0], 0), n))
			g.Keep(t)
			y = g.Add(y, t)
		}
		p := pos.Call(g.Narrow(ids, 1, n))
		g.Keep(p)
		if types != nil {
			y = g.AddInPlace(y, p)
		} else {
			y = g.Add(y, p)
		}
		return drop(norm.Call(y))
	})
	if width != e.Hidden {
		project = b.Add(model, "embeddings_project", nn.Linear{In: width, Out: e.Hidden})
	}
	stack, names := "encoder", [...]string{"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
		"attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"}
	list := "layer"
	if e.Distil {
		stack = "transformer"
		names = [...]string{"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"}
	}
	enc := b.Container(model, stack, e.Prefix+"Encoder")
	ls := b.Container(enc, list, "ModuleList")
	for i := range e.Layers {
		if i == 0 || !e.SharedLayers {
			e.layer(h, ls, strconv.FormatInt(i, 10), names, drop)
		}
	}
	enc.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := x[0]
		for i := range e.Layers {
			y = ls.Kids[i%int64(len(ls.Kids))].Call(y)
		}
		return y
	})
	var pool *nn.Layer
	if e.Pooler {
		p := b.Container(model, "pooler", e.Prefix+"Pooler")
		dense := b.Add(p, "dense", nn.Linear{In: e.Hidden, Out: e.Hidden})
		tanh := b.Add(p, "activation", nn.Activation{Type: "Tanh"})
		pool = p.Forward(func(x ...torch.Tensor) torch.Tensor { return tanh.Call(dense.Call(g.Select(x[0], 1))) })
	}
	body := func(x torch.Tensor) torch.Tensor {
		if g.Rules.Attention == "math" {
			*h.mask = g.Constant("extended_attention_mask", []int64{g.Dim(x, 0), 1, 1, g.Dim(x, 1)}, b.DType)
			g.Keep(*h.mask)
		}
		y := emb.Call(x)
		if project != nil {
			y = project.Call(y)
		}
		y = enc.Call(y)
		if pool != nil {
			g.Keep(y)
			pooled := pool.Call(y)
			g.Keep(pooled)
			if e.Head != "pretraining" { // whose masked language model reads every token
				y = pooled
			}
		}
		return y
	}
	net := func() *Net {
		n := chain(root)
		return blocksOf(n, ls)
	}
	if e.Head == "" {
		root.Forward(func(x ...torch.Tensor) torch.Tensor { return body(x[0]) })
		return net()
	}
	model.Forward(func(x ...torch.Tensor) torch.Tensor { return body(x[0]) })
	head := e.head(h, root, word, width)
	root.Forward(func(x ...torch.Tensor) torch.Tensor { return head(model.Call(x[0])) })
	return net()
}

func (e *Encoder) layer(h hf, parent *nn.Layer, name string, n [8]string, drop func(torch.Tensor) torch.Tensor) {
	g := h.g
	l := h.b.Container(parent, name, h.p+"Layer")
	q, k, v := h.linear(l, n[0], e.Hidden, e.Hidden, true, ""), h.linear(l, n[1], e.Hidden, e.Hidden, true, ""), h.linear(l, n[2], e.Hidden, e.Hidden, true, "")
	out := h.linear(l, n[3], e.Hidden, e.Hidden, true, "")
	at, last := h.parent(l, n[4], h.p+"SelfOutput")
	norm1 := h.norm(at, last, e.Hidden, false)
	up := h.linear(l, n[5], e.Hidden, e.FF, true, "")
	down := h.linear(l, n[6], e.FF, e.Hidden, true, "")
	at, last = h.parent(l, n[7], h.p+"Output")
	norm2 := h.norm(at, last, e.Hidden, false)
	f, d := act(e.Act), e.Hidden/e.Heads
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := g.Local(func() torch.Tensor {
			a := splitHeads(g, q.Call(x[0]), e.Heads, d)
			b := splitHeads(g, k.Call(x[0]), e.Heads, d)
			c := splitHeads(g, v.Call(x[0]), e.Heads, d)
			g.Keep(a, b, c)
			if g.Rules.Attention == "math" {
				return mergeHeads(g, e.written(h, a, b, c))
			}
			return mergeHeads(g, g.SDPA(a, b, c, torch.SDPAArgs{Mask: torch.None, P: h.p2(e.PAttn)}))
		})
		z := drop(out.Call(y))
		y = norm1.Call(g.Add(z, x[0]))
		g.Alive(z)
		z = drop(down.Call(f(g, up.Call(y))))
		r := norm2.Call(g.Add(z, y))
		g.Alive(z)
		return r
	})
}

// written is attention written out, with the padding mask that is always there.
func (e *Encoder) written(h hf, q, k, v torch.Tensor) torch.Tensor {
	g := h.g
	w := g.Scale(g.Matmul(q, g.Transpose(k, -1, -2)))
	w = g.Add(w, *h.mask)
	g.Keep(w)
	w = g.Dropout(g.Softmax(w), h.p2(e.PAttn), false)
	g.Keep(w)
	return g.Matmul(w, v)
}

// head is what follows the encoder.
func (e *Encoder) head(h hf, root, word *nn.Layer, width int64) func(torch.Tensor) torch.Tensor {
	g, b := h.g, h.b
	drop := func(x torch.Tensor) torch.Tensor { return g.Dropout(x, h.p2(e.P), false) }
	if e.Head == "pretraining" {
		h.linear(root, "cls.seq_relationship", e.Hidden, 2, true, "")
	}
	if e.Head == "mlm" || e.Head == "pretraining" {
		names := [...]string{"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.decoder"}
		switch {
		case e.Distil:
			names = [...]string{"vocab_transform", "vocab_layer_norm", "vocab_projector"}
		case e.Prefix != "Bert":
			names = [...]string{"lm_head.dense", "lm_head.layer_norm", "lm_head.decoder"}
		}
		dense := h.linear(root, names[0], e.Hidden, width, true, "")
		at, last := h.parent(root, names[1], h.p+"LMPredictionHead")
		norm := h.norm(at, last, width, false)
		at, last = h.parent(root, names[2], h.p+"LMPredictionHead")
		l := nn.Linear{In: width, Out: e.Vocab}
		if e.Tied {
			l.Tied = word
		}
		dec := b.Add(at, last, l)
		f := act(e.Act)
		return func(y torch.Tensor) torch.Tensor { return dec.Call(norm.Call(f(g, dense.Call(y)))) }
	}
	labels := e.Labels
	if e.Head == "qa" {
		labels = 2
	}
	var first *nn.Layer
	if e.Head == "class" && !e.Pooler { // a head with its own dense layer
		name := "classifier.dense"
		if e.Distil {
			name = "pre_classifier"
		}
		first = h.linear(root, name, e.Hidden, e.Hidden, true, "")
	}
	name := "classifier"
	switch {
	case e.Head == "qa":
		name = "qa_outputs"
	case first != nil && !e.Distil:
		name = "classifier.out_proj"
	}
	out := h.linear(root, name, e.Hidden, labels, true, "")
	return func(y torch.Tensor) torch.Tensor {
		if first != nil {
			y = first.Call(g.Select(y, 1))
			if e.Distil {
				y = nn.ReLU(false).Apply(g, y)
			} else {
				y = nn.Activation{Type: "Tanh"}.Apply(g, y)
			}
		}
		return out.Call(drop(y))
	}
}
