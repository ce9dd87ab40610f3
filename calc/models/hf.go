//go:build !lean

package models

import (
	"strconv"
	"strings"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// Hugging Face's transformers, by what their config.json says: the modules of each family under its own names, and
// the forward of its modeling file. Sources: transformers, src/transformers/models/*/modeling_*.py.

// Decoder is a decoder-only language model.
type Decoder struct {
	Names                                              *DecoderNames
	Vocab, Hidden, Layers, Heads, KVHeads, HeadDim, FF int64
	// Positions is the number of learned positions, 0 where positions are rotary or linear biases.
	Positions int64
	// EmbedDim, where it differs from Hidden, is projected in and out (OPT-350m).
	EmbedDim int64
	Rotary   bool
	// RotaryDim is how many of a head's features are turned; 0: all.
	RotaryDim                           int64
	RMS                                 bool
	Gated                               bool
	Act                                 string
	QKVBias, OutBias, MLPBias, HeadBias bool
	// QKNorm normalises each head's query and key (RMS, of this size); 0: none.
	QKNorm int64
	// Sandwich adds norms after attention and MLP (Gemma 2).
	Sandwich bool
	// Parallel: x + attention(n(x)) + mlp(n(x)); OneNorm shares the norm.
	Parallel, OneNorm bool
	// PostNorm: the norm follows the sum (OPT-350m).
	PostNorm, NoFinalNorm bool
	EmbedNorm             bool // after the embedding (BLOOM)
	PEmbed, PAttn, PResid float64
	Tied                  bool
	// Labels > 0 puts a classifier in the head's place; NoHead leaves it out.
	Labels  int64
	NoHead  bool
	Experts *Experts
	MLA     *MLA
	// Eager is how attention is written out where scaled_dot_product_attention is not used: "gpt2" divides the scores and
	// chooses them by a mask, "gpt_neo" does not scale and computes in float32, else the scores are scaled, a mask is
	// added and the softmax is taken in float32. OnlyEager: the family has no other.
	Eager     string
	OnlyEager bool
	// CausalBuffer is the side of the causal bool mask that each layer keeps in a buffer, 0 where it keeps none.
	CausalBuffer int64
	// BatchPositions: positions are counted from the attention mask, sample by sample (OPT).
	BatchPositions bool
	// ScaledQuery: the query is scaled before attention (OPT).
	ScaledQuery bool
	// NoCache: config.use_cache is false. Else the output holds every layer's keys and values, in training too.
	NoCache bool
}

// Experts replaces the MLP of the layers from First on by routed experts.
type Experts struct {
	N, TopK, FF, First int64
	// Every is the stride of sparse layers, 1 where all are.
	Every int64
	// Shared is the width of the expert that every token passes; SharedGate weighs it.
	Shared     int64
	SharedGate bool
	RouterBias bool
}

// sparse says whether layer i has experts.
func (e *Experts) sparse(i int64) bool {
	return e != nil && e.N > 0 && i >= e.First && (e.Every <= 1 || (i+1)%e.Every == 0)
}

// MLA is multi-head latent attention (DeepSeek-V2 and V3): keys and values are rebuilt from a low-rank state.
type MLA struct {
	QRank, KVRank, NopeDim, RopeDim, VDim int64
}

// DecoderNames are a family's module names. A dotted name is a module within a module.
type DecoderNames struct {
	Prefix, Layer                                     string // of classes: LlamaForCausalLM, LlamaDecoderLayer
	Model                                             string
	Embed, Pos, EmbedNorm, Drop, Layers, Final        string
	Norm1, Attn, Norm2, MLP                           string
	Q, K, V, Out, QKV                                 string
	Gate, Up, Down, GateUp                            string
	Head                                              string
	QNorm, KNorm                                      string
	ExpertGate, ExpertUp, ExpertDown, Router, Experts string
	Linear                                            string // class of the projections where it is not Linear
}

// hf makes modules with dotted names.
type hf struct {
	b *nn.Builder
	g *torch.Graph
	p string // class prefix
	// mask is the padding mask of the forward that runs, where attention is written out.
	mask *torch.Tensor
}

// parent is the module that holds the last part of a dotted name, made where it is missing.
func (h hf) parent(l *nn.Layer, name, class string) (*nn.Layer, string) {
	for {
		head, rest, ok := strings.Cut(name, ".")
		if !ok {
			return l, name
		}
		var next *nn.Layer
		for _, k := range l.Kids {
			if k.Path == head || strings.HasSuffix(k.Path, "."+head) {
				next = k
			}
		}
		if next == nil {
			next = h.b.Container(l, head, class)
		}
		l, name = next, rest
	}
}

func (h hf) linear(l *nn.Layer, name string, in, out int64, bias bool, class string) *nn.Layer {
	l, name = h.parent(l, name, h.p+"SelfAttention")
	return h.b.Add(l, name, nn.Linear{In: in, Out: out, NoBias: !bias, Class: class})
}

func (h hf) norm(l *nn.Layer, name string, width int64, rms bool) *nn.Layer {
	if rms {
		return h.b.Add(l, name, nn.LlamaRMSNorm{Width: width, Class: h.p + "RMSNorm"})
	}
	return h.b.Add(l, name, nn.LayerNorm{Shape: []int64{width}})
}

// act is an activation of ACT2FN.
func act(name string) func(g *torch.Graph, x torch.Tensor) torch.Tensor {
	switch name {
	case "gelu_new", "gelu_fast": // NewGELUActivation, written out
		return func(g *torch.Graph, x torch.Tensor) torch.Tensor {
			half := g.Scale(x)
			t := g.Scale(g.Add(x, g.Scale(g.Pow(x))))
			t = g.AddScalar(nn.Activation{Type: "Tanh"}.Apply(g, t))
			return g.Mul(half, t)
		}
	case "quick_gelu":
		return func(g *torch.Graph, x torch.Tensor) torch.Tensor {
			return g.Mul(x, nn.Activation{Type: "Sigmoid"}.Apply(g, g.Scale(x)))
		}
	}
	class := map[string]string{"silu": "SiLU", "swish": "SiLU", "relu": "ReLU", "tanh": "Tanh", "mish": "Mish"}[name]
	if class == "" {
		class = "GELU"
	}
	return nn.Activation{Type: class}.Apply
}

// splitHeads is x.view(B, L, n, d).transpose(1, 2).
func splitHeads(g *torch.Graph, x torch.Tensor, n, d int64) torch.Tensor {
	return g.Transpose(g.View(x, g.Dim(x, 0), g.Dim(x, 1), n, d), 1, 2)
}

// mergeHeads is x.transpose(1, 2).contiguous().view(B, L, n * d).
func mergeHeads(g *torch.Graph, x torch.Tensor) torch.Tensor {
	y := g.Contiguous(g.Transpose(x, 1, 2))
	return g.View(y, g.Dim(y, 0), g.Dim(y, 1), -1)
}

// rotary is q * cos + rotate_half(q) * sin on the first d features.
func rotary(g *torch.Graph, x, cos, sin torch.Tensor, d int64) torch.Tensor {
	whole := g.Dim(x, -1)
	rest := torch.None
	if d < whole {
		p := g.Split(x, 3, d, whole-d)
		x, rest = p[0], p[1]
	}
	half := g.Split(x, 3, d/2, d-d/2)
	turned := g.Cat(3, g.Scale(half[1]), half[0])
	y := g.Add(g.Mul(x, cos), g.Mul(turned, sin))
	if rest != torch.None {
		y = g.Cat(3, y, rest)
	}
	return y
}

// repeatKV is repeat_kv: keys and values copied for each group's queries.
func repeatKV(g *torch.Graph, x torch.Tensor, n int64) torch.Tensor {
	if n == 1 {
		return x
	}
	s := g.Shape(x)
	return g.Reshape(g.Expand(g.Unsqueeze(x, 2), s[0], s[1], n, s[2], s[3]), s[0], s[1]*n, s[2], s[3])
}

// shared is what a forward makes once for every layer: cos and sin of the rotary embedding, and the causal mask that
// attention adds where it is written out.
type shared struct{ cos, sin, mask torch.Tensor }

func (d *Decoder) shared(g *torch.Graph, n int64, t torch.DType) shared {
	s := shared{torch.None, torch.None, torch.None}
	if d.Rotary {
		r := d.rotaryDim()
		s.cos, s.sin = g.Constant("cos", []int64{1, 1, n, r}, t), g.Constant("sin", []int64{1, 1, n, r}, t)
	}
	if d.eager(g) && d.Eager == "" {
		s.mask = g.Constant("triu", []int64{1, 1, n, n}, t)
	}
	g.Keep(s.cos, s.sin, s.mask)
	return s
}

// eager says whether attention is written out: attn_implementation="eager".
func (d *Decoder) eager(g *torch.Graph) bool { return d.OnlyEager || g.Rules.Attention == "math" }

func (d *Decoder) rotaryDim() int64 {
	switch {
	case d.MLA != nil:
		return d.MLA.RopeDim
	case d.RotaryDim > 0:
		return d.RotaryDim
	}
	return d.HeadDim
}

type attend func(x torch.Tensor, s shared) torch.Tensor

// attention adds the projections to l and gives the module's forward.
func (d *Decoder) attention(h hf, l *nn.Layer) attend {
	g, n := h.g, d.Names
	if d.MLA != nil {
		return d.latent(h, l)
	}
	q, kv := d.Heads*d.HeadDim, d.KVHeads*d.HeadDim
	buffer := torch.None
	if d.CausalBuffer > 0 {
		buffer = g.Buffer(l.Module, torch.Bool, 1, 1, d.CausalBuffer, d.CausalBuffer)
		g.Buffer(l.Module, torch.Float32) // masked_bias
	}
	var pq, pk, pv, packed *nn.Layer
	if n.QKV != "" {
		packed = h.linear(l, n.QKV, d.Hidden, q+2*kv, d.QKVBias, n.Linear)
	} else {
		pq = h.linear(l, n.Q, d.Hidden, q, d.QKVBias, n.Linear)
		pk = h.linear(l, n.K, d.Hidden, kv, d.QKVBias, n.Linear)
		pv = h.linear(l, n.V, d.Hidden, kv, d.QKVBias, n.Linear)
	}
	out := h.linear(l, n.Out, q, d.Hidden, d.OutBias, n.Linear)
	var qn, kn *nn.Layer
	if d.QKNorm > 0 {
		qn, kn = h.norm(l, n.QNorm, d.QKNorm, true), h.norm(l, n.KNorm, d.QKNorm, true)
	}
	run := func(x torch.Tensor, a shared) torch.Tensor {
		var y [3]torch.Tensor
		if packed != nil {
			copy(y[:], g.Split(packed.Call(x), 2, q, kv, kv))
		} else {
			y = [3]torch.Tensor{pq.Call(x), pk.Call(x), pv.Call(x)}
		}
		if d.ScaledQuery {
			y[0] = g.Scale(y[0])
		}
		heads := [...]int64{d.Heads, d.KVHeads, d.KVHeads}
		for i, norm := range [...]*nn.Layer{qn, kn, nil} {
			v := g.View(y[i], g.Dim(y[i], 0), g.Dim(y[i], 1), heads[i], d.HeadDim)
			if norm != nil {
				v = norm.Call(v)
			}
			y[i] = g.Transpose(v, 1, 2)
			if d.Rotary && i < 2 {
				y[i] = rotary(g, y[i], a.cos, a.sin, d.rotaryDim())
			}
		}
		g.Keep(y[:]...)
		d.cache(h, y[1], y[2])
		for i := 1; i < 3; i++ {
			y[i] = repeatKV(g, y[i], d.Heads/d.KVHeads)
		}
		var z torch.Tensor
		if d.eager(g) {
			z = g.Local(func() torch.Tensor { return d.written(h, y[0], y[1], y[2], a.mask, buffer) })
		} else {
			z = g.SDPA(y[0], y[1], y[2], torch.SDPAArgs{Mask: torch.None, P: h.p2(d.PAttn), Causal: true})
		}
		return g.Dropout(out.Call(mergeHeads(g, z)), h.p2(d.PResid), false)
	}
	return func(x torch.Tensor, a shared) torch.Tensor {
		g.Enter(l.Module, x)
		y := run(x, a)
		g.Exit(y)
		return y
	}
}

// cache gives keys and values to the caller in the output's past_key_values: they live as long as the output does.
func (d *Decoder) cache(h hf, kv ...torch.Tensor) {
	if !d.NoCache && h.b.Training {
		h.g.Return(kv...)
	}
}

// written is eager_attention_forward.
func (d *Decoder) written(h hf, q, k, v, mask, buffer torch.Tensor) torch.Tensor {
	g := h.g
	t := g.DType(v)
	if d.Eager == "gpt_neo" {
		q, k = g.To(q, torch.Float32), g.To(k, torch.Float32)
	}
	w := g.Matmul(q, g.Transpose(k, -2, -1))
	switch d.Eager {
	case "gpt2": // by a 0-d tensor
		w = g.Div(w, g.Constant("full", nil, g.DType(w)))
	case "":
		w = g.Scale(w)
	}
	switch {
	case buffer != torch.None:
		n := g.Dim(w, -1)
		w = g.Where(g.Narrow(g.Narrow(buffer, 2, n), 3, n), w, g.Constant("full", nil, g.DType(w)))
	case mask != torch.None:
		w = g.Add(w, mask)
	}
	if d.Eager == "" {
		w = g.SoftmaxFloat(w)
	} else {
		w = g.Softmax(w)
	}
	w = g.Dropout(g.To(w, t), h.p2(d.PAttn), false)
	g.Keep(w)
	return g.Matmul(w, v)
}

// p2 is a dropout probability that holds in training alone.
func (h hf) p2(p float64) float64 {
	if h.b.Training {
		return p
	}
	return 0
}

// latent is DeepseekV3Attention.
func (d *Decoder) latent(h hf, l *nn.Layer) attend {
	g, m := h.g, d.MLA
	qd := m.NopeDim + m.RopeDim
	var q, qa, qn *nn.Layer
	if m.QRank > 0 {
		qa = h.linear(l, "q_a_proj", d.Hidden, m.QRank, d.QKVBias, "")
		qn = h.norm(l, "q_a_layernorm", m.QRank, true)
		q = h.linear(l, "q_b_proj", m.QRank, d.Heads*qd, false, "")
	} else {
		q = h.linear(l, "q_proj", d.Hidden, d.Heads*qd, false, "")
	}
	kva := h.linear(l, "kv_a_proj_with_mqa", d.Hidden, m.KVRank+m.RopeDim, d.QKVBias, "")
	kvn := h.norm(l, "kv_a_layernorm", m.KVRank, true)
	kvb := h.linear(l, "kv_b_proj", m.KVRank, d.Heads*(m.NopeDim+m.VDim), false, "")
	out := h.linear(l, "o_proj", d.Heads*m.VDim, d.Hidden, d.OutBias, "")
	return func(x torch.Tensor, a shared) torch.Tensor {
		g.Enter(l.Module, x)
		y := x
		if qa != nil {
			y = qn.Call(qa.Call(y))
		}
		qs := g.Split(splitHeads(g, q.Call(y), d.Heads, qd), 3, m.NopeDim, m.RopeDim)
		c := g.Split(kva.Call(x), 2, m.KVRank, m.RopeDim)
		kv := g.Split(splitHeads(g, kvb.Call(kvn.Call(c[0])), d.Heads, m.NopeDim+m.VDim), 3, m.NopeDim, m.VDim)
		rope := rotary(g, splitHeads(g, c[1], 1, m.RopeDim), a.cos, a.sin, m.RopeDim)
		query := g.Cat(3, qs[0], rotary(g, qs[1], a.cos, a.sin, m.RopeDim))
		key := g.Cat(3, kv[0], g.Expand(rope, g.Dim(x, 0), d.Heads, g.Dim(x, 1), m.RopeDim))
		value := kv[1]
		if m.VDim < qd {
			value = g.PadLast(value, 0, qd-m.VDim) // the kernels want equal widths
		}
		g.Keep(query, key, value)
		d.cache(h, key, value)
		z := g.SDPA(query, key, value, torch.SDPAArgs{Mask: torch.None, P: h.p2(d.PAttn), Causal: true})
		z = g.Narrow(z, 3, m.VDim)
		r := out.Call(mergeHeads(g, z))
		g.Exit(r)
		return r
	}
}

// mlp is down(act(up(x))), or with a gate down(act(gate(x)) * up(x)).
func (d *Decoder) mlp(h hf, l *nn.Layer, ff int64, gate, up, down, gateUp string) {
	g, f, n := h.g, act(d.Act), d.Names
	var pg, pu, packed *nn.Layer
	switch {
	case gateUp != "":
		packed = h.linear(l, gateUp, d.Hidden, 2*ff, d.MLPBias, n.Linear)
	default:
		if d.Gated {
			pg = h.linear(l, gate, d.Hidden, ff, d.MLPBias, n.Linear)
		}
		pu = h.linear(l, up, d.Hidden, ff, d.MLPBias, n.Linear)
	}
	pd := h.linear(l, down, ff, d.Hidden, d.MLPBias, n.Linear)
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		var y torch.Tensor
		switch {
		case packed != nil:
			p := g.Chunk(packed.Call(x[0]), 2, -1)
			y = g.Mul(p[1], f(g, p[0]))
		case pg != nil:
			y = f(g, pg.Call(x[0]))
			y = g.Mul(y, pu.Call(x[0]))
		default:
			y = f(g, pu.Call(x[0]))
		}
		return g.Dropout(pd.Call(y), h.p2(d.PResid), false)
	})
}

// experts is the sparse MLP: each token goes to the TopK experts that the router prefers; the load is taken as even.
func (d *Decoder) experts(h hf, l *nn.Layer) {
	g, e, n := h.g, d.Experts, d.Names
	router := h.b.Add(l, n.Router, nn.Linear{In: d.Hidden, Out: e.N, NoBias: !e.RouterBias})
	list := h.b.Container(l, n.Experts, "ModuleList")
	for i := range e.N {
		k := h.b.Container(list, strconv.FormatInt(i, 10), d.Names.Prefix+"MLP")
		d.mlp(h, k, e.FF, n.ExpertGate, n.ExpertUp, n.ExpertDown, "")
	}
	var shared, weight *nn.Layer
	if e.Shared > 0 {
		name := "shared_experts"
		if e.SharedGate {
			name = "shared_expert"
		}
		shared = h.b.Container(l, name, d.Names.Prefix+"MLP")
		d.mlp(h, shared, e.Shared, n.ExpertGate, n.ExpertUp, n.ExpertDown, "")
		if e.SharedGate {
			weight = h.b.Add(l, "shared_expert_gate", nn.Linear{In: d.Hidden, Out: 1, NoBias: true})
		}
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		tokens := g.Dim(x[0], 0) * g.Dim(x[0], 1)
		flat := g.View(x[0], tokens, d.Hidden)
		weights := g.Softmax(g.To(router.Call(flat), torch.Float32))
		routed := tokens * e.TopK
		var parts []torch.Tensor
		for i, k := range list.Kids {
			share := routed / e.N
			if int64(i) < routed%e.N {
				share++
			}
			if share == 0 {
				break
			}
			y := k.Call(g.Clone(g.Narrow(flat, 0, share))) // the rows of its tokens, gathered
			parts = append(parts, g.Mul(y, g.To(g.Narrow(g.Narrow(weights, 1, 1), 0, share), g.DType(y))))
		}
		sum := g.Sum(g.View(g.Cat(0, parts...), tokens, e.TopK, d.Hidden), false, 1)
		if shared != nil {
			s := shared.Call(flat)
			if weight != nil {
				s = g.Mul(nn.Activation{Type: "Sigmoid"}.Apply(g, weight.Call(flat)), s)
			}
			sum = g.Add(sum, s)
		}
		return g.View(sum, g.Shape(x[0])...)
	})
}

// layer is one block.
func (d *Decoder) layer(h hf, parent *nn.Layer, name string, i int64) attend {
	g, n := h.g, d.Names
	l := h.b.Container(parent, name, n.Prefix+n.Layer)
	att := h.b.Container(l, n.Attn, n.Prefix+"Attention")
	run := d.attention(h, att)
	mlp := l
	if n.MLP != "" {
		mlp = h.b.Container(l, n.MLP, n.Prefix+"MLP")
	}
	var ff func(torch.Tensor) torch.Tensor
	switch {
	case d.Experts.sparse(i):
		d.experts(h, mlp)
		ff = func(x torch.Tensor) torch.Tensor { return mlp.Call(x) }
	case n.MLP != "":
		d.mlp(h, mlp, d.FF, n.Gate, n.Up, n.Down, n.GateUp)
		ff = func(x torch.Tensor) torch.Tensor { return mlp.Call(x) }
	default: // OPT's fc1 and fc2 are the layer's own
		up, down := h.linear(l, n.Up, d.Hidden, d.FF, d.MLPBias, ""), h.linear(l, n.Down, d.FF, d.Hidden, d.MLPBias, "")
		f := act(d.Act)
		ff = func(x torch.Tensor) torch.Tensor {
			y := down.Call(f(g, up.Call(x)))
			return g.Dropout(y, h.p2(d.PResid), false)
		}
	}
	norm1 := h.norm(l, n.Norm1, d.Hidden, d.RMS)
	norm2 := norm1
	if !d.OneNorm {
		norm2 = h.norm(l, n.Norm2, d.Hidden, d.RMS)
	}
	var post1, post2 *nn.Layer
	if d.Sandwich {
		post1, norm2 = norm2, h.norm(l, "pre_feedforward_layernorm", d.Hidden, d.RMS)
		post2 = h.norm(l, "post_feedforward_layernorm", d.Hidden, d.RMS)
	}
	after := func(k *nn.Layer, y torch.Tensor) torch.Tensor {
		if k != nil {
			y = k.Call(y)
		}
		return y
	}
	return func(x torch.Tensor, a shared) torch.Tensor {
		g.Enter(l.Module, x)
		var y torch.Tensor
		switch {
		case d.Parallel:
			z := norm1.Call(x)
			y = run(z, a)
			if !d.OneNorm {
				z = norm2.Call(x)
			}
			y = g.Add(g.Add(y, ff(z)), x)
		case d.PostNorm:
			y = norm1.Call(g.Add(x, run(x, a)))
			y = norm2.Call(g.Add(y, ff(y)))
		default:
			y = g.Add(x, after(post1, run(norm1.Call(x), a)))
			y = g.Add(y, after(post2, ff(norm2.Call(y))))
		}
		g.Exit(y)
		return y
	}
}

// Build makes the modules.
func (d *Decoder) Build(b *nn.Builder) *Net {
	g, n := b.G, d.Names
	h := hf{b, g, n.Prefix, nil}
	kind := "ForCausalLM"
	if d.NoHead {
		kind = "Model"
	} else if d.Labels > 0 {
		kind = "ForSequenceClassification"
	}
	root := b.Root(n.Prefix + kind)
	model := root
	if !d.NoHead {
		for _, part := range strings.Split(n.Model, ".") {
			model = b.Container(model, part, n.Prefix+"Model")
		}
	}
	width := d.Hidden
	if d.EmbedDim > 0 {
		width = d.EmbedDim
	}
	embed := b.Add(model, n.Embed, nn.Embedding{Num: d.Vocab, Dim: width})
	var pos, in, out, embedNorm *nn.Layer
	if d.Positions > 0 {
		pos = b.Add(model, n.Pos, nn.Embedding{Num: d.Positions, Dim: d.Hidden})
	}
	if width != d.Hidden {
		out = b.Add(model, "project_out", nn.Linear{In: d.Hidden, Out: width, NoBias: true})
		in = b.Add(model, "project_in", nn.Linear{In: width, Out: d.Hidden, NoBias: true})
	}
	if d.EmbedNorm {
		embedNorm = h.norm(model, n.EmbedNorm, d.Hidden, false)
	}
	list := b.Container(model, n.Layers, "ModuleList")
	layers := make([]attend, d.Layers)
	for i := range layers {
		layers[i] = d.layer(h, list, strconv.Itoa(i), int64(i))
	}
	var final *nn.Layer
	if !d.NoFinalNorm {
		final = h.norm(model, n.Final, d.Hidden, d.RMS)
	}
	var head *nn.Layer
	switch {
	case d.NoHead:
	case d.Labels > 0:
		head = b.Add(root, "score", nn.Linear{In: width, Out: d.Labels, NoBias: true})
	default:
		l := nn.Linear{In: width, Out: d.Vocab, NoBias: !d.HeadBias}
		if d.Tied {
			l.Tied = embed
		}
		head = b.Add(root, n.Head, l)
	}
	limit := d.Positions
	if d.BatchPositions && pos != nil {
		limit -= 2 // OPTLearnedPositionalEmbedding's offset
	}
	body := func(x torch.Tensor) torch.Tensor {
		length := g.Dim(x, 1)
		y := embed.Call(x)
		g.Keep(y)
		if in != nil {
			y = in.Call(y)
		}
		if pos != nil {
			rows := int64(1)
			if d.BatchPositions {
				rows = g.Dim(x, 0)
			}
			within(pos, length, limit)
			p := pos.Call(g.Constant("arange", []int64{rows, length}, torch.Int64))
			g.Keep(p)
			y = g.Add(y, p)
		}
		if embedNorm != nil {
			y = embedNorm.Call(y)
		}
		y = g.Dropout(y, h.p2(d.PEmbed), false)
		a := d.shared(g, length, g.DType(y))
		for _, f := range layers {
			y = f(y, a)
		}
		if final != nil {
			y = final.Call(y)
		}
		if out != nil {
			y = out.Call(y)
		}
		return y
	}
	if model == root {
		root.Forward(func(x ...torch.Tensor) torch.Tensor { return body(x[0]) })
	} else {
		model.Forward(func(x ...torch.Tensor) torch.Tensor { return body(x[0]) })
		root.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := model.Call(x[0])
			if d.Labels > 0 {
				return g.Select(head.Call(y), 1) // the last token's
			}
			return head.Call(y)
		})
	}
	net := chain(root)
	for _, k := range list.Kids {
		net.Blocks = append(net.Blocks, k.Path)
	}
	net.KVElements, net.Positions = d.Layers*d.KVPerLayer(), limit
	return net
}

// KVPerLayer is what one layer caches per token: keys and values of each head, or with MLA the latent state.
func (d *Decoder) KVPerLayer() int64 {
	if m := d.MLA; m != nil {
		return m.KVRank + m.RopeDim
	}
	return 2 * d.KVHeads * d.HeadDim
}
