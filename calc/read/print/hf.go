package print

import (
	"encoding/json"
	"strings"

	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read/hf"
	"vrametre/calc/torch"
)

// families gives model_type by the prefix of the classes; the longest prefix wins.
var families = map[string]string{
	"Llama": "llama", "Mistral": "mistral", "Mixtral": "mixtral", "Qwen2": "qwen2", "Qwen2Moe": "qwen2_moe", "Qwen3": "qwen3", "Qwen3Moe": "qwen3_moe",
	"Phi": "phi", "Phi3": "phi3", "Gemma": "gemma", "Gemma2": "gemma2", "Gemma3": "gemma3_text", "StableLm": "stablelm", "Starcoder2": "starcoder2", "Granite": "granite",
	"GPT2": "gpt2", "GPTNeo": "gpt_neo", "GPTNeoX": "gpt_neox", "GPTJ": "gptj", "OPT": "opt", "Bloom": "bloom", "DeepseekV2": "deepseek_v2", "DeepseekV3": "deepseek_v3",
	"Bert": "bert", "Roberta": "roberta", "XLMRoberta": "xlm-roberta", "Camembert": "camembert", "DistilBert": "distilbert", "Electra": "electra",
	"T5": "t5", "MT5": "mt5", "ViT": "vit", "DeiT": "deit",
}

// heads are what follows the family in a class name.
var suffixes = []string{"ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForPreTraining", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering",
	"ForConditionalGeneration", "ForImageClassification", "EncoderModel", "Model"}

// family splits a class into its model_type and what follows.
func family(class string) (kind, prefix, suffix string) {
	for _, s := range suffixes {
		if p, ok := strings.CutSuffix(class, s); ok && families[p] != "" {
			return families[p], p, s
		}
	}
	return "", "", ""
}

// at is the module at a dotted path below m; a missing one is an empty module, whose sizes are 0.
func (m *module) at(path string) *module {
	for name := range strings.SplitSeq(path, ".") {
		var next *module
		if m != nil {
			if next = m.kid(name); next == nil {
				for _, k := range m.kids { // "(0-31): 32 x"
					if k.repeat > 1 && itoa(k.first) == name {
						next = k
					}
				}
			}
		}
		if m = next; m == nil {
			return nil
		}
	}
	return m
}

// base is the layer below PEFT's wrapper.
func (m *module) base() *module {
	if m == nil {
		return nil
	}
	if b := m.kid("base_layer"); b != nil {
		return b
	}
	return m
}

func (m *module) out(name string) int64 { return m.at(name).base().size("out_features") }
func (m *module) biased(name string) bool {
	b := m.at(name).base()
	return b != nil && b.args()["bias"] != false
}

// copies is how many modules a list holds.
func (m *module) copies() int64 {
	if m == nil {
		return 0
	}
	return int64(len(expand(m)))
}

// peft says whether m wraps a model in LoRA, and gives the model and its path.
func peft(m *module) (inner *module, path string, wrapped bool) {
	inner = m
	for strings.HasPrefix(inner.kind(), "PeftModel") || inner.kind() == "LoraModel" || inner.kind() == "OptimizedModule" || inner.kind() == "DataParallel" || inner.kind() == "DistributedDataParallel" {
		if len(inner.kids) != 1 || len(inner.kids[0].kids) == 0 {
			break
		}
		wrapped = wrapped || inner.kind() == "LoraModel"
		inner = inner.kids[0]
		path = join(path, inner.name)
	}
	return inner, path, wrapped
}

// huggingFace recognises a model of transformers: its sizes are read off the print, its forward is that of the family.
// What the text leaves out behind the first layer follows from what it shows. nil where it is none.
func (r *reader) huggingFace(root *module) func(*nn.Builder) *models.Net {
	m, path, wrapped := peft(root)
	kind, prefix, suffix := family(m.kind())
	if kind == "" {
		return nil
	}
	sizes := map[string]any{"model_type": kind, "architectures": []string{prefix + suffix}}
	var ok bool
	switch kind {
	case "bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra":
		ok = encoderSizes(m, kind, suffix, sizes)
	case "t5", "mt5":
		ok = t5Sizes(m, sizes)
	case "vit", "deit":
		ok = vitSizes(m, suffix, sizes)
	default:
		ok = decoderSizes(m, kind, suffix, sizes)
	}
	if !ok {
		return nil
	}
	data, err := json.Marshal(sizes)
	if err != nil {
		return nil
	}
	var tokens int64
	if len(r.shape) == 1 {
		tokens = r.shape[0]
	}
	model, err := hf.Read(data, tokens)
	if err != nil {
		return nil
	}
	// the printed layers stand in the family's forward, under the names that the family has
	printed := map[string]*module{}
	for _, p := range r.place(m, "", nil) {
		printed[p.path] = p.module
	}
	found := 0
	replace := func(path, class string) nn.Spec {
		k := printed[path]
		if k == nil {
			return nil
		}
		found++
		if k.kid("base_layer") != nil || len(k.kids) == 0 && quantisedBits[k.kind()] > 0 {
			return r.spec(k)
		}
		return nil
	}
	build := func(b *nn.Builder) *models.Net {
		b.Replace = replace
		net := model.Build(b)
		b.Replace = nil
		if wrapped {
			freeze(b.G, net.Root.Module)
		}
		return net
	}
	// the weights that the print shows must be the network's
	shown := r.weights(m)
	built, names := weightsOf(build)
	if len(shown) == 0 || built == nil {
		return nil
	}
	missing := 0
	for p, n := range shown {
		if got, ok := built[p]; !ok || got != n {
			missing++
		}
	}
	cut := r.cut(root) != nil
	if missing > 0 || !cut && len(shown) < names {
		return nil
	}
	r.m.Name, r.m.Flat, r.m.Loss, r.m.Inputs, r.m.KVElements = kind, model.Flat, model.Loss, model.Inputs, model.KVElements
	r.m.Prefix = path
	if cut {
		r.m.Warn("print-completed", at(m.line), "class", m.class)
	}
	for _, w := range model.Warnings {
		if w.Code != "input-assumed" || len(r.shape) == 0 {
			r.m.Warnings = append(r.m.Warnings, w)
		}
	}
	if sizes["tie_word_embeddings"] == true && kind != "gpt2" {
		r.m.Warn("assumed-tied", at(m.line), "class", m.class)
	}
	return build
}

// freeze leaves only LoRA's matrices trainable.
func freeze(g *torch.Graph, m *torch.Module) {
	var walk func(m *torch.Module, own bool)
	walk = func(m *torch.Module, own bool) {
		own = own || strings.Contains(m.Path, "lora_")
		if !own && len(m.Params) > 0 {
			g.Freeze(&torch.Module{Params: m.Params})
		}
		for _, c := range m.Children {
			walk(c, own)
		}
	}
	walk(m, false)
}

// weights are the sizes of the printed linear and embedding layers, by path.
func (r *reader) weights(m *module) map[string]int64 {
	out := map[string]int64{}
	for _, p := range r.place(m, "", nil) {
		if strings.Contains(p.path, "lora_") {
			continue
		}
		path := strings.TrimSuffix(p.path, ".base_layer")
		switch alias(p.kind()) {
		case "Linear":
			if p.kid("base_layer") == nil {
				out[path] = p.size("in_features") * p.size("out_features")
			}
		case "Embedding":
			out[path] = p.size("num_embeddings") * p.size("embedding_dim")
		}
	}
	return out
}

// weightsOf are the sizes of the built modules' first parameters, and how many linear and embedding layers there are.
func weightsOf(build func(*nn.Builder) *models.Net) (out map[string]int64, layers int) {
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	g := torch.NewGraph(2, torch.Rules{})
	root := build(&nn.Builder{G: g, Training: true}).Root.Module
	out = map[string]int64{}
	var walk func(*torch.Module)
	walk = func(m *torch.Module) {
		if strings.Contains(m.Path, "lora_") {
			return
		}
		if len(m.Params) > 0 {
			n := int64(1)
			s := g.Shape(m.Params[0])
			for _, d := range s {
				n *= d
			}
			out[strings.TrimSuffix(m.Path, ".base_layer")] = n
			if len(s) == 2 && m.Type != "Conv1D" {
				layers++
			}
		}
		for _, c := range m.Children {
			walk(c)
		}
	}
	walk(root)
	return out, layers
}

// decoderSizes reads a decoder's sizes; false where too little is printed.
func decoderSizes(m *module, kind, suffix string, c map[string]any) bool {
	inner, embed, layers := m, "embed_tokens", "layers"
	switch kind {
	case "gpt2", "gpt_neo", "gptj":
		embed, layers = "wte", "h"
		if suffix != "Model" {
			inner = m.at("transformer")
		}
	case "bloom":
		embed, layers = "word_embeddings", "h"
		if suffix != "Model" {
			inner = m.at("transformer")
		}
	case "gpt_neox":
		embed = "embed_in"
		if suffix != "Model" {
			inner = m.at("gpt_neox")
		}
	case "opt":
		if inner = m.at("model.decoder"); inner == nil {
			inner = m.at("decoder")
		}
	default:
		if suffix != "Model" {
			inner = m.at("model")
		}
	}
	if inner == nil || inner.kid(embed) == nil || inner.kid(layers) == nil || len(inner.kid(layers).kids) == 0 {
		return false
	}
	vocab, hidden := inner.kid(embed).base().size("num_embeddings"), inner.kid(embed).base().size("embedding_dim")
	list := inner.kid(layers)
	layer := list.kids[0]
	if layer.open || hidden <= 0 {
		return false
	}
	c["vocab_size"], c["hidden_size"], c["num_hidden_layers"] = vocab, hidden, list.copies()
	if suffix == "ForSequenceClassification" {
		c["num_labels"] = m.out("score")
	}
	dim := int64(64)
	if hidden >= 2560 {
		dim = 128
	}
	heads := func(q, kv int64) {
		for dim > 1 && (q%dim != 0 || kv%dim != 0) {
			dim /= 2
		}
		c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"] = q/dim, kv/dim, dim
	}
	switch kind {
	case "gpt2":
		c["n_positions"] = inner.kid("wpe").size("num_embeddings")
		c["num_attention_heads"] = max(hidden/64, 1)
		return hidden%64 == 0
	case "gpt_neo", "gptj", "bloom", "gpt_neox":
		c["max_position_embeddings"] = max(inner.kid("wpe").size("num_embeddings"), 2048)
		c["num_attention_heads"] = max(hidden/64, 1)
		if kind == "gptj" {
			c["num_attention_heads"] = max(hidden/256, 1)
		}
		if n := max(layer.out("mlp.c_fc"), layer.out("mlp.fc_in"), layer.out("mlp.dense_h_to_4h")); n > 0 {
			c["intermediate_size"] = n
		}
		c["tie_word_embeddings"] = kind == "gpt_neo" || kind == "bloom"
		return hidden%64 == 0
	case "opt":
		c["word_embed_proj_dim"] = hidden
		if p := inner.kid("project_in"); p != nil {
			hidden = p.size("out_features")
			c["hidden_size"] = hidden
		}
		c["max_position_embeddings"] = inner.kid("embed_positions").size("num_embeddings") - 2
		c["ffn_dim"], c["num_attention_heads"] = layer.out("fc1"), max(hidden/64, 1)
		c["do_layer_norm_before"] = inner.kid("final_layer_norm") != nil
		return hidden%64 == 0
	}
	if kind == "deepseek_v2" || kind == "deepseek_v3" {
		return false // the split of the latent heads is not printed
	}
	att := layer.kid("self_attn")
	if att == nil {
		return false
	}
	q, kv := layer.out("self_attn.q_proj"), layer.out("self_attn.k_proj")
	if n := ints(att.at("q_norm").args()["normalized_shape"]); len(n) == 1 {
		dim = n[0]
	} else if kind == "qwen3" || kind == "qwen3_moe" || kind == "gemma3_text" {
		dim = 128
		if kind == "gemma3_text" {
			dim = 256
		}
	}
	if kind == "gemma" || kind == "gemma2" {
		dim = 256
	}
	if p := layer.out("self_attn.qkv_proj"); p > 0 { // packed: queries are as wide as the output projection takes
		q = att.at("o_proj").base().size("in_features")
		kv = (p - q) / 2
	}
	if q <= 0 || kv <= 0 || dim <= 0 {
		return false
	}
	heads(q, kv)
	ff := layer.out("mlp.gate_proj")
	switch {
	case layer.out("mlp.gate_up_proj") > 0:
		ff = layer.out("mlp.gate_up_proj") / 2
	case layer.out("mlp.fc1") > 0:
		ff = layer.out("mlp.fc1")
	case layer.out("mlp.c_fc") > 0:
		ff = layer.out("mlp.c_fc")
	}
	for _, e := range []struct{ list, up string }{{"block_sparse_moe.experts", "w1"}, {"mlp.experts", "gate_proj"}} {
		if n := layer.at(e.list).copies(); n > 0 {
			width := layer.at(e.list).kids[0].out(e.up)
			c["num_local_experts"], c["num_experts"], c["moe_intermediate_size"] = n, n, width
			if ff == 0 {
				ff = width
			}
			if s := layer.out("mlp.shared_expert.gate_proj"); s > 0 {
				c["shared_expert_intermediate_size"] = s
			}
		}
	}
	if ff <= 0 {
		return false
	}
	c["intermediate_size"] = ff
	c["attention_bias"], c["mlp_bias"] = layer.biased("self_attn.q_proj") && layer.at("self_attn.q_proj") != nil, layer.biased("mlp.up_proj") && layer.at("mlp.up_proj") != nil
	c["use_qkv_bias"], c["use_bias"], c["qkv_bias"] = c["attention_bias"], c["attention_bias"], c["attention_bias"]
	c["tie_word_embeddings"] = tied(kind, vocab, hidden)
	return true
}

// tied says whether the published models of that size share the embedding with the head, which is not printed.
func tied(kind string, vocab, hidden int64) bool {
	switch kind {
	case "gemma", "gemma2", "gemma3_text", "starcoder2":
		return true
	case "qwen2":
		return vocab == 151936 && hidden <= 2048
	case "qwen3":
		return hidden <= 2560
	case "llama":
		return vocab == 128256 && hidden <= 3072
	}
	return false
}

func encoderSizes(m *module, kind, suffix string, c map[string]any) bool {
	inner := m
	if suffix != "Model" {
		for _, k := range m.kids {
			if strings.HasSuffix(k.kind(), "Model") {
				inner = k
			}
		}
	}
	emb := inner.kid("embeddings")
	list := inner.at("encoder.layer")
	names := [...]string{"attention.self.query", "intermediate.dense"}
	if kind == "distilbert" {
		list, names = inner.at("transformer.layer"), [...]string{"attention.q_lin", "ffn.lin1"}
	}
	if emb == nil || list == nil || len(list.kids) == 0 || list.kids[0].open {
		return false
	}
	hidden := list.kids[0].out(names[0])
	c["vocab_size"], c["hidden_size"] = emb.kid("word_embeddings").size("num_embeddings"), hidden
	c["embedding_size"] = emb.kid("word_embeddings").size("embedding_dim")
	c["num_hidden_layers"], c["intermediate_size"] = list.copies(), list.kids[0].out(names[1])
	c["max_position_embeddings"], c["type_vocab_size"] = emb.kid("position_embeddings").size("num_embeddings"), emb.kid("token_type_embeddings").size("num_embeddings")
	c["num_attention_heads"] = max(hidden/64, 1)
	if kind == "distilbert" {
		delete(c, "type_vocab_size")
	}
	for _, n := range []string{"classifier", "classifier.out_proj"} {
		if v := m.out(n); v > 0 {
			c["num_labels"] = v
		}
	}
	return hidden > 0 && hidden%64 == 0
}

func t5Sizes(m *module, c map[string]any) bool {
	block := m.at("encoder.block.0")
	if block == nil || block.open {
		return false
	}
	att, ff := block.at("layer.0.SelfAttention"), block.at("layer.1.DenseReluDense")
	heads := att.at("relative_attention_bias").size("embedding_dim")
	inner := att.out("q")
	if heads < 1 || inner < 1 || inner%heads != 0 || ff == nil {
		return false
	}
	c["vocab_size"], c["d_model"], c["num_heads"], c["d_kv"] = m.kid("shared").size("num_embeddings"), m.kid("shared").size("embedding_dim"), heads, inner/heads
	c["relative_attention_num_buckets"] = att.at("relative_attention_bias").size("num_embeddings")
	c["num_layers"] = m.at("encoder.block").copies()
	if d := m.at("decoder.block"); d != nil {
		c["num_decoder_layers"] = d.copies()
	}
	c["d_ff"], c["feed_forward_proj"] = ff.out("wi"), "relu"
	if n := ff.out("wi_0"); n > 0 {
		c["d_ff"], c["feed_forward_proj"] = n, "gated-gelu"
	}
	c["tie_word_embeddings"] = c["feed_forward_proj"] == "relu"
	return true
}

func vitSizes(m *module, suffix string, c map[string]any) bool {
	inner := m
	if suffix != "Model" && len(m.kids) > 0 {
		inner = m.kids[0]
	}
	conv, list := inner.at("embeddings.patch_embeddings.projection"), inner.at("encoder.layer")
	if conv == nil || list == nil || len(list.kids) == 0 || list.kids[0].open {
		return false
	}
	patch := ints(conv.args()["kernel_size"])
	hidden := conv.size("out_channels")
	if len(patch) == 0 || hidden < 64 {
		return false
	}
	c["hidden_size"], c["num_channels"], c["patch_size"], c["image_size"] = hidden, conv.size("in_channels"), patch[0], 224
	c["num_hidden_layers"], c["intermediate_size"], c["num_attention_heads"] = list.copies(), list.kids[0].out("intermediate.dense"), hidden/64
	c["num_labels"] = max(m.out("classifier"), 1)
	return true
}
