package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/torch"
)

// published are the sizes of public models' config.json and the number of parameters that transformers' num_parameters() gives.
var published = []struct {
	name, config string
	params       int64
}{
	{"gpt2", `{"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "architectures": ["GPT2LMHeadModel"]}`, 124439808},
	{"gpt2-xl", `{"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 1600, "n_layer": 48, "n_head": 25}`, 1557611200},
	{"opt-125m", `{"model_type": "opt", "vocab_size": 50272, "hidden_size": 768, "num_hidden_layers": 12, "ffn_dim": 3072, "num_attention_heads": 12, "max_position_embeddings": 2048, "do_layer_norm_before": true, "word_embed_proj_dim": 768}`, 125239296},
	{"opt-350m", `{"model_type": "opt", "vocab_size": 50272, "hidden_size": 1024, "num_hidden_layers": 24, "ffn_dim": 4096, "num_attention_heads": 16, "max_position_embeddings": 2048, "do_layer_norm_before": false, "word_embed_proj_dim": 512}`, 331196416},
	{"gpt-neo-125m", `{"model_type": "gpt_neo", "vocab_size": 50257, "hidden_size": 768, "num_layers": 12, "num_heads": 12, "max_position_embeddings": 2048}`, 125198592},
	{"pythia-70m", `{"model_type": "gpt_neox", "vocab_size": 50304, "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048, "max_position_embeddings": 2048, "tie_word_embeddings": false}`, 70426624},
	{"gpt-j-6b", `{"model_type": "gptj", "vocab_size": 50400, "n_positions": 2048, "n_embd": 4096, "n_layer": 28, "n_head": 16, "rotary_dim": 64, "tie_word_embeddings": false}`, 6050882784},
	{"bloom-560m", `{"model_type": "bloom", "vocab_size": 250880, "hidden_size": 1024, "n_layer": 24, "num_attention_heads": 16}`, 559214592},
	{"falcon-7b", `{"model_type": "falcon", "vocab_size": 65024, "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": true, "parallel_attn": true, "bias": false}`, 6921720704},
	{"llama-2-7b", `{"model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32}`, 6738415616},
	{"llama-2-70b", `{"model_type": "llama", "vocab_size": 32000, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8}`, 68976648192},
	{"llama-3.2-1b", `{"model_type": "llama", "vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "tie_word_embeddings": true}`, 1235814400},
	{"mistral-7b", `{"model_type": "mistral", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}`, 7241732096},
	{"mixtral-8x7b", `{"model_type": "mixtral", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2}`, 46702792704},
	{"qwen2.5-0.5b", `{"model_type": "qwen2", "vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": true}`, 494032768},
	{"qwen2.5-3b", `{"model_type": "qwen2", "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 2, "tie_word_embeddings": true}`, 3085938688},
	{"qwen1.5-moe-a2.7b", `{"model_type": "qwen2_moe", "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16}`, 14315784192},
	{"qwen3-0.6b", `{"model_type": "qwen3", "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": true}`, 596049920},
	{"qwen3-8b", `{"model_type": "qwen3", "vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128}`, 8190735360},
	{"qwen3-30b-a3b", `{"model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128}`, 30532122624},
	{"phi-2", `{"model_type": "phi", "vocab_size": 51200, "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32, "num_attention_heads": 32, "partial_rotary_factor": 0.4}`, 2779683840},
	{"phi-3-mini", `{"model_type": "phi3", "vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32}`, 3821079552},
	{"gemma-2b", `{"model_type": "gemma", "vocab_size": 256000, "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256}`, 2506172416},
	{"gemma-2-9b", `{"model_type": "gemma2", "vocab_size": 256000, "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256}`, 9241705984},
	{"gemma-3-1b", `{"model_type": "gemma3_text", "vocab_size": 262144, "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256}`, 999885952},
	{"starcoder2-3b", `{"model_type": "starcoder2", "vocab_size": 49152, "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2}`, 3030371328},
	{"deepseek-v3", `{"model_type": "deepseek_v3", "vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}`, 671026419200},
	{"deepseek-v2-lite", `{"model_type": "deepseek_v2", "vocab_size": 102400, "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}`, 15706484224},
	{"bert-base-uncased, model", `{"model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}`, 109482240},
	{"bert-base-uncased", `{"architectures": ["BertForMaskedLM"], "model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}`, 109514298},
	{"bert-base-uncased, pretraining", `{"architectures": ["BertForPreTraining"], "model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}`, 110106428},
	{"bert-base-uncased, two classes", `{"architectures": ["BertForSequenceClassification"], "model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}`, 109483778},
	{"bert-large-uncased, model", `{"model_type": "bert", "vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 512, "type_vocab_size": 2}`, 335141888},
	{"roberta-base", `{"architectures": ["RobertaForMaskedLM"], "model_type": "roberta", "vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1}`, 124697433},
	{"roberta-base, model", `{"architectures": ["RobertaModel"], "model_type": "roberta", "vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1}`, 124645632},
	{"distilbert-base-uncased, model", `{"model_type": "distilbert", "vocab_size": 30522, "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512}`, 66362880},
	{"distilbert, two classes", `{"architectures": ["DistilBertForSequenceClassification"], "model_type": "distilbert", "vocab_size": 30522, "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512}`, 66955010},
	{"albert-base-v2, model", `{"model_type": "albert", "vocab_size": 30000, "embedding_size": 128, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}`, 11683584},
	{"electra-small, model", `{"model_type": "electra", "vocab_size": 30522, "embedding_size": 128, "hidden_size": 256, "num_hidden_layers": 12, "num_attention_heads": 4, "intermediate_size": 1024, "max_position_embeddings": 512, "type_vocab_size": 2}`, 13483008},
	{"t5-small", `{"model_type": "t5", "vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8}`, 60506624},
	{"flan-t5-small", `{"model_type": "t5", "vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_decoder_layers": 8, "num_heads": 6, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false}`, 76961152},
	{"t5-base", `{"model_type": "t5", "vocab_size": 32128, "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12}`, 222903552},
	{"vit-base-patch16-224", `{"architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224, "patch_size": 16, "num_channels": 3, "num_labels": 1000}`, 86567656},
	{"vit-base-patch16-224, model", `{"architectures": ["ViTModel"], "model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224, "patch_size": 16, "num_channels": 3}`, 86389248},
	{"whisper-tiny", `{"model_type": "whisper", "vocab_size": 51865, "d_model": 384, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 6, "decoder_attention_heads": 6, "encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536, "num_mel_bins": 80, "max_source_positions": 1500, "max_target_positions": 448}`, 37760640},
	{"whisper-small", `{"model_type": "whisper", "vocab_size": 51865, "d_model": 768, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "num_mel_bins": 80, "max_source_positions": 1500, "max_target_positions": 448}`, 241734912},
	{"bart-base", `{"model_type": "bart", "vocab_size": 50265, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "max_position_embeddings": 1024}`, 139420416},
}

func TestPublished(t *testing.T) {
	for _, p := range published {
		m, err := Read([]byte(p.config), 0)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		if m.Parameters != p.params {
			t.Errorf("%s: %d parameters, published %d (%+d)", p.name, m.Parameters, p.params, m.Parameters-p.params)
		}
		if m.Tree.Params != p.params {
			t.Errorf("%s: the tree has %d parameters", p.name, m.Tree.Params)
		}
	}
}

// TestForwards runs one small network of each family.
func TestForwards(t *testing.T) {
	for _, p := range published {
		var c map[string]any
		if err := json.Unmarshal([]byte(p.config), &c); err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]any{"vocab_size": 96, "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "num_decoder_layers": 2, "encoder_layers": 2, "decoder_layers": 2,
			"n_routed_experts": 8, "num_experts": 8, "first_k_dense_replace": 1} {
			if _, ok := c[k]; ok {
				c[k] = v
			}
		}
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Read(data, 0)
		if err == nil {
			err = forward(m)
		}
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

func TestKVCache(t *testing.T) {
	for _, c := range []struct {
		name string
		want int64
	}{
		{"llama-2-7b", 2 * 32 * 4096}, {"llama-2-70b", 2 * 80 * 8 * 128}, {"qwen2.5-0.5b", 2 * 24 * 2 * 64}, {"deepseek-v3", 61 * (512 + 64)}, {"gpt2", 2 * 12 * 768},
	} {
		for _, p := range published {
			if p.name != c.name {
				continue
			}
			m, err := Read([]byte(p.config), 0)
			if err != nil || m.KVElements != c.want {
				t.Errorf("%s: %d elements per token, want %d (%v)", c.name, m.KVElements, c.want, err)
			}
		}
	}
}

func TestBadConfigs(t *testing.T) {
	good := map[string]any{"model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32}
	for _, c := range []struct {
		field string
		value any
		code  string
	}{
		{"hidden_size", -1, "config-number"},
		{"hidden_size", 0, "config-number"},
		{"hidden_size", 1.5, "config-number"},
		{"hidden_size", json.Number("9223372036854775808"), "config-number"},
		{"hidden_size", "4096", "config-number"},
		{"hidden_size", map[string]any{"a": 1}, "config-number"},
		{"num_hidden_layers", 1000000, "config-number"},
		{"num_attention_heads", 33, "config-heads"},
		{"num_key_value_heads", 5, "config-heads"},
		{"vocab_size", nil, "config-missing"},
		{"mlp_bias", "yes", "config-flag"},
		{"attention_dropout", 2, "config-probability"},
		{"attention_dropout", "much", "config-decimal"},
		{"model_type", "unheard_of", "config-family"},
	} {
		m := map[string]any{}
		for k, v := range good {
			m[k] = v
		}
		m[c.field] = c.value
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Read(data, 0)
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.HasPrefix(e.At, Field+".") {
			t.Errorf("%s = %v: %v, want %s", c.field, c.value, err, c.code)
		}
		if c.code == "config-family" && !strings.HasSuffix(fmt.Sprint(e.Args["families"]), ", bart") {
			t.Errorf("the families that are understood are not all told: %v", e.Args["families"])
		}
		if _, object := c.value.(map[string]any); object && e.Args["value"] != `{"a":1}` { // as it was written
			t.Errorf("%s = %v: %v", c.field, c.value, e.Args["value"])
		}
	}
	for text, line := range map[string]int{"": 1, "{": 1, "{\n \"a\": NaN}": 2, "[1]": 1, "null": 1, "{\"a\": 1,\n\n}": 3} {
		_, err := Read([]byte(text), 0)
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != "config-json" || e.At != fmt.Sprintf("%s:%d", Field, line) {
			t.Errorf("%q: %v, want line %d", text, err, line)
		}
	}
}

// FuzzRead: no panic, whatever the text; errors carry a place; what is understood can be built.
func FuzzRead(f *testing.F) {
	for _, p := range published {
		if !strings.Contains(p.name, "deepseek-v3") {
			f.Add([]byte(p.config))
		}
	}
	f.Add([]byte(`{"vocab_size": 102400, "dim": 64, "inter_dim": 96, "moe_inter_dim": 32, "n_layers": 3, "n_dense_layers": 1, "n_heads": 4, "n_routed_experts": 8, "n_shared_experts": 2, "n_activated_experts": 2, "q_lora_rank": 0, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16}`))
	f.Add([]byte(`{"model_type": "qwen2_vl", "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vision_config": {"depth": 2, "embed_dim": 32, "num_heads": 2}}`))
	f.Add([]byte(`{"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		defer slow(t, time.Now())
		m, err := Read(data, 0)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || e.Code == "" || e.At == "" {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		if m.Tree == nil || m.Parameters <= 0 || m.Build == nil || len(m.Inputs) == 0 || m.KVElements < 0 {
			t.Fatalf("%+v", m)
		}
		if m.Parameters > 1<<26 {
			return
		}
		var e *fault.Error
		if err := forward(m); err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
}

// forward runs the network once.
func forward(m *read.Model) (err error) {
	defer fault.Catch(&err)
	g := torch.NewGraph(2, torch.Rules{})
	net := m.Build(&nn.Builder{G: g, Training: true})
	var x []torch.Tensor
	for _, in := range m.Inputs {
		d, shape := torch.Float32, slices.Clone(in.Shape)
		if in.Below > 0 {
			d = torch.Int64
			shape[0] = min(shape[0], 16)
		}
		x = append(x, g.Input(shape, d))
	}
	net.Forward(x...)
	return nil
}

// slow fails an input that holds a busy machine for longer than any text is worth.
func slow(t *testing.T, start time.Time) {
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took too long: %v", d)
	}
}
