package hf

import (
	"encoding/json"
	"maps"
	"strings"

	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
)

// presets are published models by their config.json, as far as it differs from the family's defaults. A preset's arguments
// replace fields of the configuration; num_classes is num_labels.
var presets = []struct{ name, family, config string }{
	{"gpt2", "gpt", gpt2(768, 12, 12)},
	{"gpt2_medium", "gpt", gpt2(1024, 24, 16)},
	{"gpt2_large", "gpt", gpt2(1280, 36, 20)},
	{"gpt2_xl", "gpt", gpt2(1600, 48, 25)},
	{"distilgpt2", "gpt", gpt2(768, 6, 12)},
	{"cerebras_gpt_111m", "gpt", `{"model_type":"gpt2","vocab_size":50257,"n_positions":2048,"n_embd":768,"n_layer":10,"n_head":12,"n_inner":3072,
		"activation_function":"gelu","attn_pdrop":0.0,"embd_pdrop":0.0,"resid_pdrop":0.0}`},
	{"gpt_neo_125m", "gpt", `{"model_type":"gpt_neo","vocab_size":50257,"max_position_embeddings":2048,"hidden_size":768,"num_layers":12,"num_heads":12,
		"attention_dropout":0,"resid_dropout":0,"embed_dropout":0}`},
	{"opt_125m", "gpt", `{"model_type":"opt","vocab_size":50272,"max_position_embeddings":2048,"hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,
		"ffn_dim":3072,"word_embed_proj_dim":768,"do_layer_norm_before":true,"dropout":0.1,"attention_dropout":0.0}`},
	{"opt_350m", "gpt", `{"model_type":"opt","vocab_size":50272,"max_position_embeddings":2048,"hidden_size":1024,"num_hidden_layers":24,"num_attention_heads":16,
		"ffn_dim":4096,"word_embed_proj_dim":512,"do_layer_norm_before":false,"dropout":0.1,"attention_dropout":0.0}`},
	{"t5_small", "t5", `{"model_type":"t5","architectures":["T5ForConditionalGeneration"],"vocab_size":32128,"d_model":512,"d_kv":64,"d_ff":2048,"num_layers":6,"num_heads":8,"dropout_rate":0.1}`},
	{"t5_base", "t5", `{"model_type":"t5","architectures":["T5ForConditionalGeneration"],"vocab_size":32128,"d_model":768,"d_kv":64,"d_ff":3072,"num_layers":12,"num_heads":12,"dropout_rate":0.1}`},
	{"bert_base", "bert", bert("BertForSequenceClassification", 768, 12, 12, 3072)},
	{"bert_large", "bert", bert("BertForSequenceClassification", 1024, 24, 16, 4096)},
	{"bert_base_mlm", "bert", bert("BertForMaskedLM", 768, 12, 12, 3072)},
	{"bert_large_mlm", "bert", bert("BertForMaskedLM", 1024, 24, 16, 4096)},
	{"distilbert", "bert", `{"model_type":"distilbert","architectures":["DistilBertForSequenceClassification"],"vocab_size":30522,"max_position_embeddings":512,"dim":768,
		"n_layers":6,"n_heads":12,"hidden_dim":3072,"dropout":0.1,"attention_dropout":0.1,"num_labels":2}`},
	{"llama_7b", "llama", `{"model_type":"llama","vocab_size":32000,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":32,"max_position_embeddings":4096,"rms_norm_eps":1e-5,"tie_word_embeddings":false}`},
	{"llama3_8b", "llama", `{"model_type":"llama","vocab_size":128256,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":8,"max_position_embeddings":8192,"rms_norm_eps":1e-5,"tie_word_embeddings":false}`},
	{"tinyllama_1_1b", "llama", `{"model_type":"llama","vocab_size":32000,"hidden_size":2048,"intermediate_size":5632,"num_hidden_layers":22,"num_attention_heads":32,
		"num_key_value_heads":4,"max_position_embeddings":2048,"rms_norm_eps":1e-5,"tie_word_embeddings":false}`},
	{"deepseek_r1_qwen_1_5b", "llama", `{"model_type":"qwen2","vocab_size":151936,"hidden_size":1536,"intermediate_size":8960,"num_hidden_layers":28,"num_attention_heads":12,
		"num_key_value_heads":2,"max_position_embeddings":131072,"rms_norm_eps":1e-6,"tie_word_embeddings":false}`},
	{"qwen3_4b", "llama", `{"model_type":"qwen3","vocab_size":151936,"hidden_size":2560,"intermediate_size":9728,"num_hidden_layers":36,"num_attention_heads":32,
		"num_key_value_heads":8,"head_dim":128,"max_position_embeddings":40960,"rms_norm_eps":1e-6,"tie_word_embeddings":true}`},
}

func gpt2(width, layers, heads int) string {
	return encode(map[string]any{"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": width, "n_layer": layers, "n_head": heads,
		"activation_function": "gelu_new", "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1})
}

func bert(class string, hidden, layers, heads, ff int) string {
	c := map[string]any{"model_type": "bert", "architectures": []string{class}, "vocab_size": 30522, "max_position_embeddings": 512,
		"type_vocab_size": 2, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": ff,
		"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
	if class == "BertForSequenceClassification" {
		c["num_labels"] = 2
	}
	return encode(c)
}

// presetTokens is the sequence length of a preset where the request does not give one.
const presetTokens = 128

func init() {
	for _, p := range presets {
		base := parse(p.config)
		a := architecture(&config{base, Field}, &read.Model{})
		models.Register(&models.Preset{Name: p.name, Family: p.family, Inputs: a.inputs(presetTokens), Flat: a.flat, Build: func(b *nn.Builder, args *nn.Args) *models.Net {
			c := &config{maps.Clone(base), "model.preset_args"}
			for name := range base {
				if v, ok := args.Value(name); ok {
					c.m[name] = v
				}
			}
			if v, ok := args.Value("use_cache"); ok {
				c.m["use_cache"] = v
			}
			if base["num_labels"] != nil { // the others have no classes
				if v, ok := args.Value("num_classes"); ok {
					c.m["num_labels"] = v
				}
			}
			return architecture(&config{parse(encode(c.m)), c.at}, &read.Model{}).build(b)
		}})
	}
}

func encode(m map[string]any) string {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// parse reads a configuration of ours.
func parse(s string) map[string]any {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		panic(err)
	}
	return m
}
