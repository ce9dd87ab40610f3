package checkpoint

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Config is the config.json that the tensors' names and shapes, or a GGUF's metadata, stand for; nil where they spell no
// known family. What shapes cannot say (the number of heads) is assumed, and listed.
func (f *File) Config() (config []byte, assumed []string) {
	var m map[string]any
	if f.Format == "gguf" {
		m = f.ggufConfig()
	} else {
		m, assumed = f.namesConfig()
	}
	if m == nil {
		return nil, nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, nil
	}
	return data, assumed
}

// ggufTypes are llama.cpp's names of architectures where they are not Hugging Face's.
var ggufTypes = map[string]string{"llama": "llama", "qwen2": "qwen2", "qwen2moe": "qwen2_moe", "qwen3": "qwen3", "qwen3moe": "qwen3_moe", "gemma": "gemma", "gemma2": "gemma2",
	"gemma3": "gemma3_text", "phi3": "phi3", "phi2": "phi", "gpt2": "gpt2", "starcoder2": "starcoder2", "stablelm": "stablelm", "falcon": "falcon", "gptneox": "gpt_neox",
	"bert": "bert", "bloom": "bloom", "mistral": "mistral", "granite": "granite"}

// ggufConfig turns the metadata's keys into config.json's.
func (f *File) ggufConfig() map[string]any {
	arch := f.Metadata["general.architecture"]
	t := ggufTypes[arch]
	if t == "" {
		return nil
	}
	m := map[string]any{"model_type": t}
	set := func(name string, keys ...string) {
		for _, k := range keys {
			if n, err := strconv.ParseInt(f.Metadata[arch+"."+k], 10, 64); err == nil && n >= 0 {
				m[name] = n
				return
			}
		}
	}
	set("num_hidden_layers", "block_count")
	set("hidden_size", "embedding_length")
	set("intermediate_size", "feed_forward_length")
	set("num_attention_heads", "attention.head_count")
	set("num_key_value_heads", "attention.head_count_kv")
	set("max_position_embeddings", "context_length")
	set("head_dim", "attention.key_length")
	set("vocab_size", "vocab_size")
	set("moe_intermediate_size", "expert_feed_forward_length")
	set("num_experts_per_tok", "expert_used_count")
	set("num_experts", "expert_count")
	output := false
	for i := range f.Tensors {
		s := f.Tensors[i].Shape
		switch f.Tensors[i].Name {
		case "token_embd.weight":
			if len(s) == 2 {
				m["vocab_size"] = s[0]
			}
		case "output.weight":
			output = true
		}
	}
	m["tie_word_embeddings"] = !output
	if t == "llama" && m["num_experts"] != nil && m["num_experts"] != int64(0) {
		m["model_type"], m["num_local_experts"] = "mixtral", m["num_experts"]
	}
	if t == "gpt2" {
		m["n_positions"] = m["max_position_embeddings"]
	}
	return m
}

// shapes finds tensors by name.
type shapes map[string][]int64

func (f *File) shapes() shapes {
	m := make(shapes, len(f.Tensors))
	for i := range f.Tensors {
		m[f.Tensors[i].Name] = f.Tensors[i].Shape
	}
	return m
}

// rows and columns of a matrix, 0 where it is none.
func (s shapes) rows(name string) int64 {
	if v := s[name]; len(v) > 0 {
		return v[0]
	}
	return 0
}

func (s shapes) columns(name string) int64 {
	if v := s[name]; len(v) > 1 {
		return v[1]
	}
	return 0
}

// layers counts prefix + "0." and so on.
func (s shapes) layers(prefix, member string) int64 {
	var n int64
	for s[prefix+strconv.FormatInt(n, 10)+"."+member] != nil {
		n++
	}
	return n
}

// namesConfig recognises Hugging Face's names of the common families.
func (f *File) namesConfig() (map[string]any, []string) {
	s := f.shapes()
	for _, p := range []string{"", "model.", "transformer.", "bert.", "roberta.", "module."} {
		switch {
		case s[p+"embed_tokens.weight"] != nil && s[p+"layers.0.self_attn.o_proj.weight"] != nil:
			return llama(s, p)
		case s[p+"wte.weight"] != nil && s[p+"h.0.attn.c_attn.weight"] != nil:
			return gpt2(s, p)
		case s[p+"embeddings.word_embeddings.weight"] != nil && s[p+"encoder.layer.0.attention.self.query.weight"] != nil:
			return bert(s, p)
		}
	}
	return nil, nil
}

func llama(s shapes, p string) (map[string]any, []string) {
	l := p + "layers.0."
	hidden := s.columns(p + "embed_tokens.weight")
	m := map[string]any{"model_type": "llama", "vocab_size": s.rows(p + "embed_tokens.weight"), "hidden_size": hidden,
		"num_hidden_layers": s.layers(p+"layers.", "input_layernorm.weight"), "intermediate_size": s.rows(l + "mlp.gate_proj.weight"),
		"tie_word_embeddings": s["lm_head.weight"] == nil}
	q, k := s.rows(l+"self_attn.q_proj.weight"), s.rows(l+"self_attn.k_proj.weight")
	head := s.rows(l + "self_attn.q_norm.weight")
	if head == 0 {
		head = 2 * s.rows(l+"self_attn.rotary_emb.inv_freq")
	}
	switch {
	case s[l+"self_attn.q_norm.weight"] != nil:
		m["model_type"] = "qwen3"
	case s[l+"self_attn.q_proj.bias"] != nil:
		m["model_type"] = "qwen2"
	case s[l+"self_attn.qkv_proj.weight"] != nil:
		m["model_type"] = "phi3"
		m["intermediate_size"] = s.rows(l+"mlp.gate_up_proj.weight") / 2
		q = s.columns(l + "self_attn.o_proj.weight")
		k = (s.rows(l+"self_attn.qkv_proj.weight") - q) / 2
	}
	if e := s.layers(l+"block_sparse_moe.experts.", "w1.weight"); e > 0 {
		m["model_type"], m["num_local_experts"] = "mixtral", e
		m["intermediate_size"] = s.rows(l + "block_sparse_moe.experts.0.w1.weight")
	}
	if e := s.layers(l+"mlp.experts.", "gate_proj.weight"); e > 0 {
		m["num_experts"], m["moe_intermediate_size"] = e, s.rows(l+"mlp.experts.0.gate_proj.weight")
		if m["model_type"] == "qwen3" {
			m["model_type"] = "qwen3_moe"
		} else {
			m["model_type"] = "qwen2_moe"
			m["shared_expert_intermediate_size"] = s.rows(l + "mlp.shared_expert.gate_proj.weight")
		}
		m["intermediate_size"] = m["moe_intermediate_size"]
	}
	var assumed []string
	if head == 0 {
		assumed = append(assumed, "head_dim")
		head = 128
		if hidden <= 2048 && m["model_type"] == "llama" || hidden < 1536 || q%128 != 0 || k%128 != 0 {
			head = 64
		}
	}
	if q == 0 || k == 0 || q%head != 0 || k%head != 0 {
		return nil, nil
	}
	m["head_dim"], m["num_attention_heads"], m["num_key_value_heads"] = head, q/head, k/head
	return m, assumed
}

// headsOf is the usual number of heads of a width: 64 features each, or 12 heads of a width that 64 does not divide.
func headsOf(hidden int64) int64 {
	if hidden%64 == 0 {
		return hidden / 64
	}
	return 12
}

func gpt2(s shapes, p string) (map[string]any, []string) {
	hidden := s.columns(p + "wte.weight")
	return map[string]any{"model_type": "gpt2", "vocab_size": s.rows(p + "wte.weight"), "n_positions": s.rows(p + "wpe.weight"), "n_embd": hidden,
		"n_layer": s.layers(p+"h.", "ln_1.weight"), "n_head": headsOf(hidden), "n_inner": s.columns(p + "h.0.mlp.c_fc.weight")}, []string{"n_head"}
}

func bert(s shapes, p string) (map[string]any, []string) {
	e := p + "embeddings."
	hidden := s.columns(e + "word_embeddings.weight")
	m := map[string]any{"model_type": "bert", "architectures": []string{"BertModel"}, "vocab_size": s.rows(e + "word_embeddings.weight"), "hidden_size": hidden,
		"max_position_embeddings": s.rows(e + "position_embeddings.weight"), "type_vocab_size": s.rows(e + "token_type_embeddings.weight"),
		"num_hidden_layers": s.layers(p+"encoder.layer.", "attention.self.query.weight"), "intermediate_size": s.rows(p + "encoder.layer.0.intermediate.dense.weight"),
		"num_attention_heads": headsOf(hidden)}
	family := "Bert"
	if strings.HasPrefix(p, "roberta") || s["lm_head.dense.weight"] != nil {
		family, m["model_type"] = "Roberta", "roberta"
	}
	labels := s.rows("classifier.weight")
	if n := s.rows("classifier.out_proj.weight"); n > 0 {
		labels = n
	}
	switch {
	case s["cls.seq_relationship.weight"] != nil:
		m["architectures"] = []string{family + "ForPreTraining"}
	case s["cls.predictions.bias"] != nil || s["lm_head.dense.weight"] != nil:
		m["architectures"] = []string{family + "ForMaskedLM"}
	case s["qa_outputs.weight"] != nil:
		m["architectures"] = []string{family + "ForQuestionAnswering"}
	case labels > 0 && s[p+"pooler.dense.weight"] == nil && family == "Bert":
		m["architectures"], m["num_labels"] = []string{family + "ForTokenClassification"}, labels
	case labels > 0:
		m["architectures"], m["num_labels"] = []string{family + "ForSequenceClassification"}, labels
	default:
		m["architectures"] = []string{family + "Model"}
	}
	return m, []string{"num_attention_heads"}
}
