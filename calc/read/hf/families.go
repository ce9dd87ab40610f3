package hf

import (
	"slices"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
)

// Families lists the values of model_type that are understood.
func Families() []string { return slices.Concat(decoderTypes, encoderTypes, otherTypes) }

// families are told whole in errors.
func families() fault.Ours { return fault.Ours(strings.Join(Families(), ", ")) }

var (
	decoderTypes = []string{"llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_vl", "qwen2_5_vl", "phi", "phi3", "gemma", "gemma2", "gemma3_text",
		"stablelm", "starcoder2", "granite", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "opt", "bloom", "falcon", "deepseek_v2", "deepseek_v3", "kimi_k2"}
	encoderTypes = []string{"bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert", "albert"}
	otherTypes   = []string{"t5", "mt5", "umt5", "vit", "deit", "whisper", "bart"}
)

// llamaNames are the module names that most recent decoders share.
func llamaNames(prefix string) *models.DecoderNames {
	return &models.DecoderNames{Prefix: prefix, Layer: "DecoderLayer", Model: "model", Embed: "embed_tokens", Layers: "layers", Final: "norm",
		Norm1: "input_layernorm", Attn: "self_attn", Norm2: "post_attention_layernorm", MLP: "mlp", Q: "q_proj", K: "k_proj", V: "v_proj", Out: "o_proj",
		Gate: "gate_proj", Up: "up_proj", Down: "down_proj", Head: "lm_head", QNorm: "q_norm", KNorm: "k_norm",
		Router: "gate", Experts: "experts", ExpertGate: "gate_proj", ExpertUp: "up_proj", ExpertDown: "down_proj"}
}

// kinds tells which family a config is of, from model_type, from the class, else from its fields.
func kind(c *config) string {
	if t := c.text("", "model_type"); t != "" {
		return t
	}
	class := strings.ToLower(c.class())
	best := ""
	for _, t := range Families() {
		if strings.HasPrefix(class, strings.NewReplacer("_", "", "-", "").Replace(t)) && len(t) > len(best) {
			best = t
		}
	}
	switch {
	case best != "":
		return best
	case c.has("dim") && c.has("n_layers") && c.has("kv_lora_rank"):
		return "deepseek"
	case c.has("d_kv") && c.has("d_ff"):
		return "t5"
	case c.has("num_mel_bins"):
		return "whisper"
	case c.has("type_vocab_size") && c.has("intermediate_size"):
		return "bert"
	case c.has("n_embd") && c.has("n_layer"):
		return "gpt2"
	case c.has("rms_norm_eps") && c.has("num_hidden_layers"):
		return "llama"
	case c.has("patch_size") && c.has("image_size") && c.has("hidden_size"):
		return "vit"
	}
	return ""
}

// architecture finds the family and reads its sizes.
func architecture(c *config, r *read.Model) *found {
	t := kind(c)
	switch {
	case t == "deepseek":
		return decoder(c, r, deepseekNative(c), t)
	case slices.Contains(encoderTypes, t):
		return encoder(c, t)
	case t == "t5" || t == "mt5" || t == "umt5":
		return t5(c, t)
	case t == "vit" || t == "deit":
		return vit(c, t)
	case t == "whisper" || t == "bart":
		return whisper(c, t)
	case slices.Contains(decoderTypes, t):
		return decoder(c, r, decoderOf(c, r, t), t)
	}
	if text := c.object("text_config"); text != nil {
		if t := kind(text); slices.Contains(decoderTypes, t) {
			r.Warn("config-text-only", Field, "type", c.text("", "model_type"))
			d := decoderOf(text, r, t)
			return decoder(text, r, d, t)
		}
	}
	// what every decoder of the Llama kind says
	if t != "" && c.has("rms_norm_eps") && c.has("hidden_size") && c.has("num_hidden_layers") && c.has("num_attention_heads") && c.has("intermediate_size") {
		r.Warn("assumed-llama", Field, "type", t)
		return decoder(c, r, decoderOf(c, r, "llama"), t)
	}
	if t == "" {
		fault.Throw("config-sizes", Field, "families", families())
	}
	fault.Throw("config-family", Field+".model_type", "type", t, "families", families())
	return nil
}

// decoder finishes a decoder: head, input, KV cache.
func decoder(c *config, r *read.Model, d *models.Decoder, t string) *found {
	class := c.class()
	switch {
	case strings.HasSuffix(class, "Model") && !strings.HasSuffix(class, "LMHeadModel"):
		d.NoHead = true
	case strings.HasSuffix(class, "ForSequenceClassification"):
		d.Labels = c.labels()
	}
	if d.Heads%max(d.KVHeads, 1) != 0 || d.KVHeads < 1 {
		c.fail("config-heads", "num_key_value_heads", "heads", d.Heads, "kv_heads", d.KVHeads)
	}
	if d.HeadDim < 1 && d.MLA == nil {
		c.fail("config-heads", "num_attention_heads", "heads", d.Heads, "kv_heads", d.KVHeads)
	}
	d.NoCache = !c.flag(true, "use_cache")
	limit := c.size(2048, "max_position_embeddings", "n_positions", "seq_length", "n_ctx")
	inputs := func(tokens int64) []models.Input {
		if tokens == 0 {
			tokens = min(512, limit)
		}
		return []models.Input{{Shape: []int64{tokens}, Below: d.Vocab}}
	}
	f := &found{name: t, class: d.Names.Prefix, build: d.Build, inputs: inputs, flat: d.Labels == 0, assumed: true}
	if vision := c.object("vision_config"); vision != nil && (t == "qwen2_vl" || t == "qwen2_5_vl") {
		tower := qwenVision(vision, d.Hidden, t == "qwen2_5_vl")
		f.build = func(b *nn.Builder) *models.Net { return models.WithVision(b, d, tower) }
		r.Warn("vision-not-run", Field+".vision_config")
	}
	f.kv = d.Layers * d.KVPerLayer()
	if e := d.Experts; e != nil {
		if e.N < 1 || e.TopK < 1 || e.TopK > e.N || e.N*d.Layers > maxExperts {
			c.fail("config-experts", "num_experts", "experts", e.N, "top", e.TopK, "high", maxExperts/d.Layers)
		}
		f.experts = e
	}
	return f
}

// decoderOf reads the sizes of a decoder family.
func decoderOf(c *config, r *read.Model, t string) *models.Decoder {
	if t == "deepseek_v2" || t == "deepseek_v3" || t == "kimi_k2" {
		return deepseek(c, t)
	}
	hidden := c.size(0, "hidden_size", "n_embd")
	d := &models.Decoder{Vocab: c.size(0, "vocab_size"), Hidden: hidden, Layers: c.size(0, "num_hidden_layers", "n_layer", "num_layers"),
		Heads: c.size(0, "num_attention_heads", "n_head", "num_heads")}
	d.KVHeads = c.size(d.Heads, "num_key_value_heads")
	d.HeadDim = c.size(max(hidden/d.Heads, 1), "head_dim")
	if !c.has("head_dim") && hidden%d.Heads != 0 {
		c.fail("config-heads", "num_attention_heads", "heads", d.Heads, "kv_heads", d.KVHeads)
	}
	d.FF = c.size(4*hidden, "intermediate_size", "n_inner", "ffn_dim")
	d.Act = c.text("silu", "hidden_activation", "hidden_act", "activation_function")
	d.Tied = c.flag(false, "tie_word_embeddings")
	d.PAttn = c.chance(0, "attention_dropout", "attn_pdrop")
	d.PResid = c.chance(0, "resid_pdrop", "dropout")
	d.PEmbed = c.chance(0, "embd_pdrop", "embedding_dropout")
	modern := func(prefix string) {
		d.Names = llamaNames(prefix)
		d.Rotary, d.RMS, d.Gated = true, true, true
	}
	switch t {
	case "llama", "granite":
		modern("Llama")
		if t == "granite" {
			d.Names.Prefix = "Granite"
		}
		b := c.flag(false, "attention_bias")
		d.QKVBias, d.OutBias, d.MLPBias = b, b, c.flag(false, "mlp_bias")
	case "mistral":
		modern("Mistral")
	case "mixtral":
		modern("Mixtral")
		d.Experts = &models.Experts{N: c.size(8, "num_local_experts"), TopK: c.size(2, "num_experts_per_tok"), FF: d.FF}
		n := d.Names
		n.MLP, n.ExpertGate, n.ExpertUp, n.ExpertDown = "block_sparse_moe", "w1", "w3", "w2"
	case "qwen2", "qwen2_vl", "qwen2_5_vl":
		modern("Qwen2")
		d.QKVBias = true
	case "qwen2_moe":
		modern("Qwen2Moe")
		d.QKVBias = c.flag(true, "qkv_bias")
		d.Experts = &models.Experts{N: c.size(60, "num_experts"), TopK: c.size(4, "num_experts_per_tok"), FF: c.size(0, "moe_intermediate_size"),
			Shared: c.size(0, "shared_expert_intermediate_size"), SharedGate: true, Every: c.size(1, "decoder_sparse_step")}
	case "qwen3", "qwen3_moe":
		modern("Qwen3")
		if !c.has("head_dim") {
			d.HeadDim = 128
		}
		b := c.flag(false, "attention_bias")
		d.QKVBias, d.OutBias, d.QKNorm = b, b, d.HeadDim
		if t == "qwen3_moe" {
			d.Names.Prefix = "Qwen3Moe"
			d.Experts = &models.Experts{N: c.size(128, "num_experts"), TopK: c.size(8, "num_experts_per_tok"), FF: c.size(0, "moe_intermediate_size"), Every: c.size(1, "decoder_sparse_step")}
		}
	case "phi3":
		modern("Phi3")
		d.Names.QKV, d.Names.GateUp = "qkv_proj", "gate_up_proj"
		d.RotaryDim = even(float64(d.HeadDim) * c.float(1, "partial_rotary_factor"))
	case "phi":
		modern("Phi")
		d.RMS, d.Gated, d.Parallel, d.OneNorm = false, false, true, true
		d.QKVBias, d.OutBias, d.MLPBias, d.HeadBias = true, true, true, true
		d.Act = c.text("gelu_new", "hidden_act")
		d.RotaryDim = even(float64(d.HeadDim) * c.float(0.5, "partial_rotary_factor"))
		n := d.Names
		n.Out, n.Up, n.Down, n.Final = "dense", "fc1", "fc2", "final_layernorm"
	case "gemma", "gemma2", "gemma3_text":
		modern(map[string]string{"gemma": "Gemma", "gemma2": "Gemma2", "gemma3_text": "Gemma3"}[t])
		d.Act = c.text("gelu_pytorch_tanh", "hidden_activation")
		d.Tied = c.flag(true, "tie_word_embeddings")
		if !c.has("head_dim") {
			d.HeadDim = 256
		}
		d.Sandwich = t != "gemma"
		if t == "gemma3_text" {
			d.QKNorm = d.HeadDim
		}
	case "stablelm":
		modern("StableLm")
		d.RMS, d.QKVBias = false, c.flag(false, "use_qkv_bias")
		d.Parallel = c.flag(false, "use_parallel_residual")
		d.OneNorm = d.Parallel
		d.RotaryDim = even(float64(d.HeadDim) * c.float(0.25, "partial_rotary_factor"))
	case "starcoder2":
		modern("Starcoder2")
		d.RMS, d.Gated = false, false
		b := c.flag(true, "use_bias")
		d.QKVBias, d.OutBias, d.MLPBias, d.Tied = b, b, b, c.flag(true, "tie_word_embeddings")
		d.Act = c.text("gelu_pytorch_tanh", "hidden_act")
		d.Names.Up, d.Names.Down = "c_fc", "c_proj"
	case "gpt2", "gpt_bigcode":
		d.Names = &models.DecoderNames{Prefix: "GPT2", Layer: "Block", Model: "transformer", Embed: "wte", Pos: "wpe", Layers: "h", Final: "ln_f",
			Norm1: "ln_1", Attn: "attn", Norm2: "ln_2", MLP: "mlp", QKV: "c_attn", Out: "c_proj", Up: "c_fc", Down: "c_proj", Head: "lm_head", Linear: "Conv1D"}
		d.Positions = c.size(1024, "n_positions", "n_ctx")
		d.Act = c.text("gelu_new", "activation_function")
		learned(c, d)
		if t == "gpt2" {
			d.Eager, d.CausalBuffer = "gpt2", d.Positions
		}
		if t == "gpt_bigcode" {
			d.Names.Prefix, d.Names.Linear = "GPTBigCode", ""
			if c.flag(true, "multi_query") {
				d.KVHeads = 1
			}
		}
	case "gpt_neo":
		d.Names = &models.DecoderNames{Prefix: "GPTNeo", Layer: "Block", Model: "transformer", Embed: "wte", Pos: "wpe", Layers: "h", Final: "ln_f",
			Norm1: "ln_1", Attn: "attn", Norm2: "ln_2", MLP: "mlp", Q: "attention.q_proj", K: "attention.k_proj", V: "attention.v_proj", Out: "attention.out_proj",
			Up: "c_fc", Down: "c_proj", Head: "lm_head"}
		d.Positions = c.size(2048, "max_position_embeddings")
		d.Act = c.text("gelu_new", "activation_function")
		learned(c, d)
		d.QKVBias = false
		d.Eager, d.OnlyEager, d.CausalBuffer = "gpt_neo", true, d.Positions
		d.PAttn, d.PResid, d.PEmbed = c.chance(0, "attention_dropout"), c.chance(0, "resid_dropout"), c.chance(0, "embed_dropout")
	case "gptj":
		d.Names = &models.DecoderNames{Prefix: "GPTJ", Layer: "Block", Model: "transformer", Embed: "wte", Layers: "h", Final: "ln_f",
			Norm1: "ln_1", Attn: "attn", MLP: "mlp", Q: "q_proj", K: "k_proj", V: "v_proj", Out: "out_proj", Up: "fc_in", Down: "fc_out", Head: "lm_head"}
		d.Act = c.text("gelu_new", "activation_function")
		d.Rotary, d.RotaryDim, d.Parallel, d.OneNorm, d.MLPBias, d.HeadBias = true, c.size(64, "rotary_dim"), true, true, true, true
	case "gpt_neox":
		d.Names = &models.DecoderNames{Prefix: "GPTNeoX", Layer: "Layer", Model: "gpt_neox", Embed: "embed_in", Layers: "layers", Final: "final_layer_norm",
			Norm1: "input_layernorm", Attn: "attention", Norm2: "post_attention_layernorm", MLP: "mlp", QKV: "query_key_value", Out: "dense",
			Up: "dense_h_to_4h", Down: "dense_4h_to_h", Head: "embed_out"}
		b := c.flag(true, "attention_bias")
		d.QKVBias, d.OutBias, d.MLPBias = b, b, true
		d.Act = c.text("gelu", "hidden_act")
		d.Rotary, d.RotaryDim = true, even(float64(d.HeadDim)*c.float(0.25, "rotary_pct", "partial_rotary_factor"))
		d.Parallel = c.flag(true, "use_parallel_residual")
		d.PResid = c.chance(0, "hidden_dropout")
	case "opt":
		d.Names = &models.DecoderNames{Prefix: "OPT", Layer: "DecoderLayer", Model: "model.decoder", Embed: "embed_tokens", Pos: "embed_positions", Layers: "layers",
			Final: "final_layer_norm", Norm1: "self_attn_layer_norm", Attn: "self_attn", Norm2: "final_layer_norm", Q: "q_proj", K: "k_proj", V: "v_proj", Out: "out_proj",
			Up: "fc1", Down: "fc2", Head: "lm_head"}
		d.Positions = c.size(2048, "max_position_embeddings") + 2
		d.Act = c.text("relu", "activation_function")
		learned(c, d)
		b := c.flag(true, "enable_bias")
		d.QKVBias, d.OutBias, d.MLPBias = b, b, b
		if e := c.size(hidden, "word_embed_proj_dim"); e != hidden {
			d.EmbedDim = e
		}
		d.PostNorm = !c.flag(true, "do_layer_norm_before")
		d.NoFinalNorm = d.PostNorm || c.flag(false, "_remove_final_layer_norm")
		d.PEmbed = 0
		d.PAttn, d.PResid = c.chance(0, "attention_dropout"), c.chance(0.1, "dropout")
		d.BatchPositions, d.ScaledQuery = true, true
	case "bloom":
		d.Names = &models.DecoderNames{Prefix: "Bloom", Layer: "Block", Model: "transformer", Embed: "word_embeddings", EmbedNorm: "word_embeddings_layernorm", Layers: "h",
			Final: "ln_f", Norm1: "input_layernorm", Attn: "self_attention", Norm2: "post_attention_layernorm", MLP: "mlp", QKV: "query_key_value", Out: "dense",
			Up: "dense_h_to_4h", Down: "dense_4h_to_h", Head: "lm_head"}
		d.FF, d.Act, d.EmbedNorm = 4*hidden, "gelu", true
		learned(c, d)
		d.Positions, d.PEmbed = 0, 0
		d.PResid = c.chance(0, "hidden_dropout")
	case "falcon":
		falcon(c, d)
	}
	return d
}

// learned is what GPT-2's generation has in common: biases everywhere, tied embeddings, plain MLP.
func learned(c *config, d *models.Decoder) {
	d.QKVBias, d.OutBias, d.MLPBias, d.Tied = true, true, true, c.flag(true, "tie_word_embeddings")
	d.PAttn, d.PResid, d.PEmbed = c.chance(0.1, "attn_pdrop", "attention_dropout"), c.chance(0.1, "resid_pdrop"), c.chance(0.1, "embd_pdrop")
}

// even is a whole even number of features.
func even(v float64) int64 { return max(int64(v)/2*2, 2) }

func falcon(c *config, d *models.Decoder) {
	d.Names = &models.DecoderNames{Prefix: "Falcon", Layer: "DecoderLayer", Model: "transformer", Embed: "word_embeddings", Layers: "h", Final: "ln_f",
		Norm1: "input_layernorm", Attn: "self_attention", Norm2: "post_attention_layernorm", MLP: "mlp", QKV: "query_key_value", Out: "dense",
		Up: "dense_h_to_4h", Down: "dense_4h_to_h", Head: "lm_head"}
	d.FF = c.size(4*d.Hidden, "ffn_hidden_size")
	d.Act, d.Tied = c.text("gelu", "activation"), c.flag(true, "tie_word_embeddings")
	b := c.flag(false, "bias")
	d.QKVBias, d.OutBias, d.MLPBias = b, b, b
	d.Rotary = !c.flag(false, "alibi")
	d.PResid = c.chance(0, "hidden_dropout")
	switch {
	case c.flag(false, "new_decoder_architecture"):
		d.KVHeads = c.size(d.Heads, "num_kv_heads")
		d.Parallel = true
		d.Names.Norm1, d.Names.Norm2 = "ln_attn", "ln_mlp"
		d.OneNorm = c.optional("num_ln_in_parallel_attn") == 1
	default:
		if c.flag(true, "multi_query") {
			d.KVHeads = 1
		}
		d.Parallel = c.flag(true, "parallel_attn")
		d.OneNorm = d.Parallel
	}
}

// deepseek is DeepSeek-V2 and V3, from Hugging Face's names.
func deepseek(c *config, t string) *models.Decoder {
	d := &models.Decoder{Names: llamaNames("DeepseekV3"), Vocab: c.size(0, "vocab_size"), Hidden: c.size(0, "hidden_size"), Layers: c.size(0, "num_hidden_layers"),
		Heads: c.size(0, "num_attention_heads"), FF: c.size(0, "intermediate_size"), Act: c.text("silu", "hidden_act"), Rotary: true, RMS: true, Gated: true,
		Tied: c.flag(false, "tie_word_embeddings"), PAttn: c.chance(0, "attention_dropout")}
	if t == "deepseek_v2" {
		d.Names.Prefix = "DeepseekV2"
	}
	b := c.flag(false, "attention_bias")
	d.QKVBias, d.OutBias = b, b
	d.KVHeads = d.Heads
	d.MLA = &models.MLA{QRank: c.optional("q_lora_rank"), KVRank: c.size(0, "kv_lora_rank"), NopeDim: c.size(0, "qk_nope_head_dim"),
		RopeDim: c.size(0, "qk_rope_head_dim"), VDim: c.size(0, "v_head_dim")}
	if n := c.optional("n_routed_experts"); n > 0 {
		ff := c.size(0, "moe_intermediate_size")
		d.Experts = &models.Experts{N: n, TopK: c.size(8, "num_experts_per_tok"), FF: ff, First: c.optional("first_k_dense_replace"),
			Shared: ff * c.optional("n_shared_experts"), RouterBias: t != "deepseek_v2"}
	}
	return d
}

// deepseekNative is DeepSeek's own inference configuration.
func deepseekNative(c *config) *models.Decoder {
	d := &models.Decoder{Names: llamaNames("Transformer"), Vocab: c.size(0, "vocab_size"), Hidden: c.size(0, "dim"), Layers: c.size(0, "n_layers"),
		Heads: c.size(0, "n_heads"), FF: c.size(0, "inter_dim"), Act: "silu", Rotary: true, RMS: true, Gated: true}
	n := d.Names
	n.Model, n.Embed, n.Head, n.MLP, n.Attn, n.Norm1, n.Norm2 = "model", "embed", "head", "ffn", "attn", "attn_norm", "ffn_norm"
	n.Gate, n.Up, n.Down = "w1", "w3", "w2"
	n.ExpertGate, n.ExpertUp, n.ExpertDown = "w1", "w3", "w2"
	d.KVHeads = d.Heads
	d.MLA = &models.MLA{QRank: c.optional("q_lora_rank"), KVRank: c.size(0, "kv_lora_rank"), NopeDim: c.size(0, "qk_nope_head_dim"),
		RopeDim: c.size(0, "qk_rope_head_dim"), VDim: c.size(0, "v_head_dim")}
	ff := c.size(0, "moe_inter_dim")
	d.Experts = &models.Experts{N: c.size(0, "n_routed_experts"), TopK: c.size(0, "n_activated_experts"), FF: ff, First: c.optional("n_dense_layers"),
		Shared: ff * c.optional("n_shared_experts"), RouterBias: c.text("", "score_func") == "sigmoid"}
	return d
}

func encoder(c *config, t string) *found {
	e := &models.Encoder{Prefix: "Bert", Model: "bert", Vocab: c.size(0, "vocab_size"), Hidden: c.size(0, "hidden_size", "dim"), Layers: c.size(0, "num_hidden_layers", "n_layers"),
		Heads: c.size(0, "num_attention_heads", "n_heads"), FF: c.size(0, "intermediate_size", "hidden_dim"), Positions: c.size(512, "max_position_embeddings"),
		Types: c.optional("type_vocab_size"), Act: c.text("gelu", "hidden_act", "activation"), P: c.chance(0.1, "hidden_dropout_prob", "dropout"),
		PAttn: c.chance(0.1, "attention_probs_dropout_prob", "attention_dropout"), Tied: c.flag(true, "tie_word_embeddings")}
	class := c.class()
	switch {
	case strings.HasSuffix(class, "ForMaskedLM"), strings.HasSuffix(class, "LMHeadModel"):
		e.Head = "mlm"
	case strings.HasSuffix(class, "ForPreTraining"):
		e.Head = "pretraining"
	case strings.HasSuffix(class, "ForSequenceClassification"):
		e.Head = "class"
	case strings.HasSuffix(class, "ForTokenClassification"):
		e.Head = "token"
	case strings.HasSuffix(class, "ForQuestionAnswering"):
		e.Head = "qa"
	}
	e.Pooler = e.Head == "" || e.Head == "pretraining" || e.Head == "class"
	switch t {
	case "roberta", "xlm-roberta", "camembert":
		e.Prefix, e.Model = map[string]string{"roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}[t], "roberta"
		e.Pooler = e.Head == ""
	case "electra":
		e.Prefix, e.Model, e.Pooler = "Electra", "electra", false
		e.EmbedDim = c.size(e.Hidden, "embedding_size")
	case "distilbert":
		e.Prefix, e.Model, e.Pooler, e.Distil = "DistilBert", "distilbert", false, true
	case "albert":
		e.Prefix, e.Model, e.SharedLayers = "Albert", "albert", true
		e.EmbedDim = c.size(128, "embedding_size")
	}
	if e.Head == "class" || e.Head == "token" {
		e.Labels = c.labels()
	}
	if e.Hidden%e.Heads != 0 {
		c.fail("config-heads", "num_attention_heads", "heads", e.Heads, "kv_heads", e.Heads)
	}
	return &found{name: t, class: e.Prefix, build: e.Build, assumed: true, flat: e.Head == "mlm" || e.Head == "pretraining" || e.Head == "token",
		inputs: func(tokens int64) []models.Input {
			if tokens == 0 {
				tokens = min(128, e.Positions)
			}
			return []models.Input{{Shape: []int64{tokens}, Below: e.Vocab}}
		}}
}

func t5(c *config, t string) *found {
	ff := c.text("relu", "feed_forward_proj")
	act, gated := strings.CutPrefix(ff, "gated-")
	if gated && act == "gelu" {
		act = "gelu_new"
	}
	m := &models.T5{Vocab: c.size(0, "vocab_size"), Hidden: c.size(0, "d_model"), FF: c.size(0, "d_ff"), Heads: c.size(0, "num_heads"), HeadDim: c.size(64, "d_kv"),
		Encoders: c.size(0, "num_layers"), Buckets: c.size(32, "relative_attention_num_buckets"), Gated: gated, Act: act, P: c.chance(0.1, "dropout_rate"),
		Tied: c.flag(t == "t5", "tie_word_embeddings"), EncoderOnly: strings.HasSuffix(c.class(), "EncoderModel"), EveryBias: t == "umt5"}
	m.Decoders = c.size(m.Encoders, "num_decoder_layers")
	return &found{name: t, class: "T5", build: m.Build, assumed: true, flat: true, kv: 2 * m.Decoders * m.Heads * m.HeadDim, inputs: func(tokens int64) []models.Input {
		if tokens == 0 {
			tokens = 128
		}
		in := models.Input{Shape: []int64{tokens}, Below: m.Vocab}
		if m.EncoderOnly {
			return []models.Input{in}
		}
		return []models.Input{in, in}
	}}
}

func vit(c *config, t string) *found {
	v := &models.ViT{Prefix: "ViT", Model: "vit", Hidden: c.size(0, "hidden_size"), Layers: c.size(0, "num_hidden_layers"), Heads: c.size(0, "num_attention_heads"),
		FF: c.size(0, "intermediate_size"), Image: c.size(224, "image_size"), Patch: c.size(16, "patch_size"), Channels: c.size(3, "num_channels"),
		Act: c.text("gelu", "hidden_act"), P: c.chance(0, "hidden_dropout_prob"), PAttn: c.chance(0, "attention_probs_dropout_prob"),
		NoQKVBias: !c.flag(true, "qkv_bias"), Distilled: t == "deit"}
	if t == "deit" {
		v.Prefix, v.Model = "DeiT", "deit"
	}
	if strings.HasSuffix(c.class(), "ForImageClassification") {
		v.Labels = c.labels()
	} else {
		v.Pooler = true
	}
	if v.Hidden%v.Heads != 0 || v.Image < v.Patch {
		c.fail("config-heads", "num_attention_heads", "heads", v.Heads, "kv_heads", v.Heads)
	}
	return &found{name: t, class: v.Prefix, build: v.Build, inputs: func(int64) []models.Input {
		return []models.Input{{Shape: []int64{v.Channels, v.Image, v.Image}}}
	}}
}

func whisper(c *config, t string) *found {
	w := &models.Whisper{Prefix: "Whisper", Vocab: c.size(0, "vocab_size"), Hidden: c.size(0, "d_model"), Heads: c.size(0, "encoder_attention_heads"),
		Encoders: c.size(0, "encoder_layers"), Decoders: c.size(0, "decoder_layers"), EncoderFF: c.size(0, "encoder_ffn_dim"), DecoderFF: c.size(0, "decoder_ffn_dim"),
		Act: c.text("gelu", "activation_function"), P: c.chance(0, "dropout"), PAttn: c.chance(0, "attention_dropout")}
	if t == "whisper" {
		w.Mels, w.Source, w.Target = c.size(80, "num_mel_bins"), c.size(1500, "max_source_positions"), c.size(448, "max_target_positions")
	} else {
		w.Prefix, w.Bart = "Bart", true
		w.Source = c.size(1024, "max_position_embeddings")
		w.Target = w.Source
	}
	if w.Hidden%w.Heads != 0 {
		c.fail("config-heads", "encoder_attention_heads", "heads", w.Heads, "kv_heads", w.Heads)
	}
	return &found{name: t, class: w.Prefix, build: w.Build, flat: true, kv: 2 * w.Decoders * w.Hidden, inputs: func(tokens int64) []models.Input {
		target := models.Input{Shape: []int64{min(128, w.Target)}, Below: w.Vocab}
		if w.Bart {
			return []models.Input{target, target}
		}
		return []models.Input{{Shape: []int64{w.Mels, 2 * w.Source}}, {Shape: []int64{w.Target}, Below: w.Vocab}}
	}}
}

// qwenVision is the vision tower of Qwen2-VL and Qwen2.5-VL.
func qwenVision(c *config, hidden int64, gated bool) *models.QwenVision {
	v := &models.QwenVision{Width: c.size(1280, "embed_dim"), Depth: c.size(32, "depth"), Heads: c.size(16, "num_heads"), Channels: c.size(3, "in_chans", "in_channels"),
		Patch: c.size(14, "patch_size"), Frames: c.size(2, "temporal_patch_size"), Merge: c.size(2, "spatial_merge_size"), Out: hidden, Gated: gated}
	if gated {
		v.Width = c.size(0, "hidden_size")
		v.FF = c.size(0, "intermediate_size")
		v.Out = c.size(hidden, "out_hidden_size")
	} else {
		v.FF = int64(float64(v.Width) * c.float(4, "mlp_ratio"))
	}
	return v
}
