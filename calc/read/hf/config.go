// Package hf reads a Hugging Face config.json: the sizes of a transformer, from which its modules, its parameters
// and its forward follow. It also reads DeepSeek's own configuration files.
package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/torch"
)

// Field is the request's field that the config comes from.
const Field = "model.hf"

// MaxBytes bounds a config.json.
const MaxBytes = 1 << 20

// Limits of the sizes in a config.
const (
	maxLayers = 4096
	maxSize   = 1 << 32
	// maxExperts bounds experts times layers.
	maxExperts = 1 << 17
)

// config is the JSON object with what was wrong in it.
type config struct {
	m  map[string]any
	at string // of the object: Field or Field.text_config
}

func (c *config) fail(code, name string, args ...any) { fault.Throw(code, c.at+"."+name, args...) }

// has says whether a field is there and not null.
func (c *config) has(name string) bool { return c.m[name] != nil }

// size is a positive integer under the first of the names that is there; def 0 makes it required.
func (c *config) size(def int64, names ...string) int64 {
	for _, n := range names {
		v := c.m[n]
		if v == nil {
			continue
		}
		if list, ok := v.([]any); ok && len(list) > 0 { // image_size: [224, 224]
			v = list[0]
		}
		num, ok := v.(json.Number)
		i, err := num.Int64()
		limit := int64(maxSize)
		if strings.Contains(n, "layers") || n == "depth" || n == "n_layer" {
			limit = maxLayers
		}
		if !ok || err != nil || i < 0 || i > limit || i == 0 && def >= 0 && !zeroable[n] {
			c.fail("config-number", n, "field", n, "value", short(v), "high", limit)
		}
		return i
	}
	if def == 0 {
		c.fail("config-missing", names[0], "field", names[0])
	}
	return max(def, 0)
}

// zeroable fields mean "none" by 0.
var zeroable = map[string]bool{"q_lora_rank": true, "n_shared_experts": true, "first_k_dense_replace": true, "n_dense_layers": true,
	"type_vocab_size": true, "n_routed_experts": true, "num_experts": true, "shared_expert_intermediate_size": true}

func short(v any) string {
	s := fmt.Sprint(v)
	switch v.(type) {
	case map[string]any, []any:
		b, _ := json.Marshal(v) // read from JSON
		s = string(b)
	}
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// optional is size where 0 or nothing means none.
func (c *config) optional(names ...string) int64 { return c.size(-1, names...) }

func (c *config) flag(def bool, name string) bool {
	switch v := c.m[name].(type) {
	case nil:
		return def
	case bool:
		return v
	}
	c.fail("config-flag", name, "field", name, "value", short(c.m[name]))
	return def
}

func (c *config) text(def string, names ...string) string {
	for _, n := range names {
		if s, ok := c.m[n].(string); ok {
			return s
		}
	}
	return def
}

func (c *config) float(def float64, names ...string) float64 {
	for _, n := range names {
		if c.m[n] == nil {
			continue
		}
		v, ok := c.m[n].(json.Number)
		f, err := v.Float64()
		if !ok || err != nil {
			c.fail("config-decimal", n, "field", n, "value", short(c.m[n]))
		}
		return f
	}
	return def
}

func (c *config) chance(def float64, names ...string) float64 {
	p := c.float(def, names...)
	if !(p >= 0 && p <= 1) {
		c.fail("config-probability", names[0], "field", names[0], "value", short(p))
	}
	return p
}

// object is a nested configuration.
func (c *config) object(name string) *config {
	m, ok := c.m[name].(map[string]any)
	if !ok {
		return nil
	}
	return &config{m, c.at + "." + name}
}

// class is the first of "architectures".
func (c *config) class() string {
	list, _ := c.m["architectures"].([]any)
	if len(list) == 0 {
		return ""
	}
	s, _ := list[0].(string)
	return s
}

// labels is the number of classes of a classification head.
func (c *config) labels() int64 {
	if m, ok := c.m["id2label"].(map[string]any); ok && len(m) > 0 {
		return int64(len(m))
	}
	return c.size(2, "num_labels")
}

// Read understands a config.json. tokens is the sequence length where the caller gave one, 0 otherwise.
func Read(data []byte, tokens int64) (m *read.Model, err error) {
	defer fault.Catch(&err)
	if len(data) > MaxBytes {
		return nil, fault.New("text-large", Field, "bytes", len(data), "limit", MaxBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	c := &config{at: Field}
	if err := dec.Decode(&c.m); err != nil {
		line, syntax := 1, (*json.SyntaxError)(nil)
		if errors.As(err, &syntax) {
			line += bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte{'\n'})
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			line += bytes.Count(data, []byte{'\n'})
		}
		return nil, fault.New("config-json", read.At(Field, line), "line", line)
	}
	if c.m == nil {
		return nil, fault.New("config-json", read.At(Field, 1), "line", 1)
	}
	r := &read.Model{Kind: "config", Loss: "cross_entropy", DType: c.text("", "torch_dtype", "dtype")}
	a := architecture(c, r)
	r.Build = a.build
	r.Tree = &read.Node{Class: a.class, Understood: true}
	r.KVElements = a.kv
	r.Flat = a.flat
	r.Name = a.name
	r.Inputs = a.inputs(tokens)
	if a.assumed && tokens == 0 {
		r.Warn("input-assumed", "input", "tokens", r.Inputs[0].Shape[0])
	}
	if a.experts != nil {
		err = manyExperts(r, a.experts)
	} else if err = r.Measure(); err == nil {
		r.Tree = read.Modules(r)
	}
	var e *fault.Error
	if errors.As(err, &e) && e.At == "" { // a size that no tensor can have, found before the module had a path
		e.At = Field
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// manyExperts measures a network of many experts from the same one with one and with two: every number of parameters is
// linear in the number of experts.
func manyExperts(m *read.Model, e *models.Experts) error {
	n := e.N
	defer func() { e.N = n }()
	var tree [2]*read.Node
	var total, trainable [2]int64
	for i := range tree {
		e.N = int64(i) + 1
		m.Tree = &read.Node{}
		if err := m.Measure(); err != nil {
			return err
		}
		total[i], trainable[i], tree[i] = m.Parameters, m.Trainable, read.Modules(m)
	}
	at := func(v [2]int64) int64 { return v[0] + (n-1)*(v[1]-v[0]) }
	if each := total[1] - total[0]; each > 0 && n > (1<<62)/each {
		return fault.New("size-overflow", Field, "shape", torch.Shape{n, each})
	}
	var scale func(a, b *read.Node)
	scale = func(a, b *read.Node) {
		a.Params = at([2]int64{a.Params, b.Params})
		for i := range a.Children {
			if b.Children[i].Repeat == 2 && a.Children[i].Repeat == 0 {
				a.Children[i].Repeat = int(n)
			}
			scale(a.Children[i], b.Children[i])
		}
	}
	if len(tree[0].Children) == len(tree[1].Children) {
		scale(tree[0], tree[1])
	}
	m.Parameters, m.Trainable, m.Tree = at(total), at(trainable), tree[0]
	return nil
}

// found is an architecture with its sizes.
type found struct {
	name, class string
	build       func(*nn.Builder) *models.Net
	inputs      func(tokens int64) []models.Input
	kv          int64
	flat        bool
	assumed     bool            // the length of the sequence is ours
	experts     *models.Experts // where there are many
}
