package summary

import (
	"encoding/json"
	"strings"

	"vrametre/calc/read"
	"vrametre/calc/read/hf"
)

// huggingFace recognises a model of transformers whose blocks the table shows as one row each: the sizes follow from the
// rows' parameters. What it finds must have the table's number of parameters.
func (t *table) huggingFace(m *read.Model, shape []int64) bool {
	var sizes map[string]any
	switch {
	case strings.HasPrefix(t.model, "Bert"):
		sizes = t.bert()
	case strings.HasPrefix(t.model, "T5"):
		sizes = t.t5()
	}
	if sizes == nil {
		return false
	}
	sizes["architectures"] = []string{t.model}
	data, err := json.Marshal(sizes)
	if err != nil {
		return false
	}
	length := int64(0)
	for _, r := range t.rows {
		if r.class == "Embedding" && len(r.shape) == 3 {
			length = max(length, r.shape[1])
		}
	}
	if len(shape) == 1 {
		length = shape[0]
	}
	found, err := hf.Read(data, max(length, 0))
	if err != nil || found.Parameters != m.Parameters {
		return false
	}
	m.Name, m.Build, m.Inputs, m.Loss, m.Flat, m.KVElements = found.Name, found.Build, found.Inputs, found.Loss, found.Flat, found.KVElements
	m.Warn("assumed-heads", Field, "embed_dim", sizes["hidden"], "num_heads", sizes["heads"])
	return true
}

// first is the first row of a class, and how many there are.
func (t *table) first(class string) (r *row, n int64) {
	for _, k := range t.rows {
		if k.class == class {
			if r == nil {
				r = k
			}
			n++
		}
	}
	return r, n
}

func (r *row) below() int64 {
	n := r.params
	for _, k := range r.kids {
		n += k.below()
	}
	return n
}

// bert: three embeddings, layers of 4 h^2 + 9 h + 2 h f + f parameters (f the inner width), a pooler.
func (t *table) bert() map[string]any {
	emb, _ := t.first("Embedding")
	layer, layers := t.first("BertLayer")
	if emb == nil || layer == nil || len(emb.shape) != 3 || emb.shape[2] < 64 {
		return nil
	}
	h := emb.shape[2]
	var tables []int64
	for _, r := range t.rows {
		if r.class == "Embedding" {
			tables = append(tables, r.params/h)
		}
	}
	ff := (layer.below() - 4*h*h - 9*h) / (2*h + 1)
	if len(tables) != 3 || h%64 != 0 || ff < 1 {
		return nil
	}
	// word, position and type in either order: the vocabulary is the largest, the types the fewest
	return map[string]any{"model_type": "bert", "hidden_size": h, "num_hidden_layers": layers, "num_attention_heads": h / 64, "intermediate_size": ff,
		"vocab_size": max(tables[0], tables[1], tables[2]), "type_vocab_size": min(tables[0], tables[1], tables[2]),
		"max_position_embeddings": tables[0] + tables[1] + tables[2] - max(tables[0], tables[1], tables[2]) - min(tables[0], tables[1], tables[2]),
		"hidden":                  h, "heads": h / 64}
}

// t5: the first block of a stack has the relative position biases that the second lacks.
func (t *table) t5() map[string]any {
	emb, _ := t.first("Embedding")
	if emb == nil || len(emb.shape) != 3 {
		return nil
	}
	h := emb.shape[2]
	var stacks [2][]*row
	n := -1
	for _, r := range t.rows {
		if r.class == "T5Stack" {
			n++
		}
		if r.class == "T5Block" && n >= 0 && n < 2 {
			stacks[n] = append(stacks[n], r)
		}
	}
	if len(stacks[0]) < 2 || len(stacks[1]) < 2 {
		return nil
	}
	const buckets = 32
	heads := (stacks[0][0].below() - stacks[0][1].below()) / buckets
	if heads < 1 || h < 1 {
		return nil
	}
	inner := heads * 64
	rest := stacks[0][1].below() - 4*h*inner - 2*h
	head := false
	for _, r := range t.rows {
		head = head || r.class == "Linear" && r.depth == 1 && r.params > 0 && !r.again
	}
	c := map[string]any{"model_type": "t5", "vocab_size": emb.params / h, "d_model": h, "d_kv": 64, "num_heads": heads, "num_layers": len(stacks[0]),
		"num_decoder_layers": len(stacks[1]), "d_ff": rest / (2 * h), "feed_forward_proj": "relu", "tie_word_embeddings": !head, "hidden": h, "heads": heads}
	if head { // version 1.1: gated, untied
		c["d_ff"], c["feed_forward_proj"] = rest/(3*h), "gated-gelu"
	}
	return c
}
