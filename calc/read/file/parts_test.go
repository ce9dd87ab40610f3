package file_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"vrametre/calc/fault"
	"vrametre/calc/read/file"
)

// sharded deals the tensors out to n safetensors files with Hugging Face's names, and gives their index.
func sharded(s tensors, n int) (parts []file.Part, index file.Part) {
	names := slices.Sorted(maps.Keys(s))
	where := map[string]string{}
	for i := range n {
		shard := tensors{}
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n)
		for j := i; j < len(names); j += n {
			shard[names[j]] = s[names[j]]
			where[names[j]] = name
		}
		parts = append(parts, part(name, shard.safetensors("BF16", 2)))
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": 1}, "weight_map": where})
	if err != nil {
		panic(err)
	}
	return parts, part("model.safetensors.index.json", data)
}

func part(name string, data []byte) file.Part {
	return file.Part{Name: name, Data: bytes.NewReader(data), Size: int64(len(data))}
}

const llamaConfig = `{"model_type": "llama", "vocab_size": 1000, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 3, "num_attention_heads": 4,
"num_key_value_heads": 2, "head_dim": 64, "tie_word_embeddings": %v}`

// TestParts reads a checkpoint in several files as the one it is, in any order, and says what is missing, there twice, or
// no part of it.
func TestParts(t *testing.T) {
	s := llama(3, false, false, true)
	one := open(t, "model.safetensors", s.safetensors("BF16", 2))
	parts, index := sharded(s, 3)
	config := part("config.json", fmt.Appendf(nil, llamaConfig, false))
	tied := part("config.json", fmt.Appendf(nil, llamaConfig, true))
	less := llama(2, false, false, true)
	twice := part("extra.safetensors", tensors{"model.norm.weight": {256}}.safetensors("F32", 4))
	lies := part("model.safetensors.index.json", []byte(`{"weight_map": {"absent.weight": "model-00001-of-00003.safetensors"}}`))
	odd := part("config.json", []byte(`{"model_type": "nothing-known"}`))
	tokenizer := part("tokenizer.json", []byte(`{"version": "1.0"}`))
	readme := part("README.md", []byte("# A model"))
	optimizer := part("optimizer.pt", []byte("PK\x03\x04 not read"))
	for name, c := range map[string]struct {
		parts []file.Part
		kind  string
		total int64
		built bool
		codes []string
	}{
		"all":                  {parts, "safetensors", one.Parameters, true, nil},
		"in another order":     {[]file.Part{parts[2], index, parts[0], parts[1]}, "safetensors", one.Parameters, true, nil},
		"with its config":      {append([]file.Part{config, index}, parts...), "checked", one.Parameters, true, nil},
		"with what else lies":  {append([]file.Part{tokenizer, readme, optimizer, config}, parts...), "checked", one.Parameters, true, []string{"files-unread"}},
		"one missing":          {parts[1:], "safetensors", 0, false, []string{"shards-missing"}},
		"one alone":            {parts[:1], "safetensors", 0, false, []string{"shards-missing"}},
		"missing by the index": {[]file.Part{index, parts[0], parts[1]}, "safetensors", 0, false, []string{"shards-missing"}},
		"missing, with config": {[]file.Part{config, parts[0]}, "safetensors", one.Parameters, true, []string{"shards-missing"}},
		"a head stored twice":  {append([]file.Part{tied}, parts...), "checked", one.Parameters - 256_000, true, nil},
		"another config":       {[]file.Part{config, part("model.safetensors", less.safetensors("BF16", 2))}, "safetensors", one.Parameters, true, []string{"config-differs"}},
		"a config of no use":   {append([]file.Part{odd}, parts...), "safetensors", one.Parameters, false, []string{"config-unread"}},
		"a tensor twice":       {append([]file.Part{twice}, parts...), "safetensors", one.Parameters, true, []string{"tensors-twice"}},
		"an index that lies":   {append([]file.Part{lies}, parts...), "safetensors", one.Parameters, true, []string{"index-tensors"}},
		"config and index":     {[]file.Part{config, index}, "config", one.Parameters, true, []string{"files-unread"}},
		"the index alone":      {[]file.Part{index}, "safetensors-index", 0, false, []string{"index-only"}},
	} {
		m, err := file.Read(c.parts, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said := codes(m)
		for _, code := range []string{"files-unread", "shards-missing", "config-differs", "config-unread", "tensors-twice", "index-tensors", "index-only"} {
			if said[code] != slices.Contains(c.codes, code) {
				t.Errorf("%s: %s is %v, want it %v", name, code, said[code], !said[code])
			}
		}
		if m.Kind != c.kind || c.total > 0 && m.Parameters != c.total || (m.Build != nil) != c.built {
			t.Errorf("%s: %s, %d parameters of %d, a network: %v; %v", name, m.Kind, m.Parameters, c.total, m.Build != nil, m.Warnings)
		}
		if name == "one missing" && (m.Parameters <= 0 || m.Parameters >= one.Parameters) {
			t.Errorf("%s: %d parameters", name, m.Parameters)
		}
	}
}

// TestSlices: Llama's authors give each card its rows or columns of every matrix; vectors are in all files.
func TestSlices(t *testing.T) {
	half := tensors{"tok_embeddings.weight": {1000, 128}, "layers.0.attention.wq.weight": {128, 256}, "norm.weight": {256}}
	var parts []file.Part
	for i := range 2 {
		parts = append(parts, part(fmt.Sprintf("consolidated.%02d.safetensors", i), half.safetensors("BF16", 2)))
	}
	m, err := file.Read(parts, 0)
	if err != nil || m.Parameters != 1000*256+256*256+256 {
		t.Errorf("%v, %v", m, err)
	}
}

// TestPartsRefused: what cannot be one model is an error that names the file.
func TestPartsRefused(t *testing.T) {
	parts, _ := sharded(llama(1, false, false, true), 2)
	onnx := part("a.onnx", []byte("\x08\x07\x12"))
	for name, c := range map[string]struct {
		parts    []file.Part
		code, at string
	}{
		"two models":   {[]file.Part{onnx, part("b.onnx", []byte("\x08\x07\x12"))}, "files-several", "model.file"},
		"a cut shard":  {[]file.Part{parts[0], part("model-00002-of-00002.safetensors", []byte("\x00\x01"))}, "file-short", "model.file.model-00002-of-00002.safetensors"},
		"no model":     {[]file.Part{part("a.png", []byte("\x89PNG")), part("b.png", []byte("\x89PNG"))}, "file-kind", "model.file"},
		"a bad header": {[]file.Part{parts[0], part("model-00002-of-00002.safetensors", []byte("\x02\x00\x00\x00\x00\x00\x00\x00{x}"))}, "json-syntax", "model.file.model-00002-of-00002.safetensors"},
		"too many":     {slices.Repeat(parts, 300), "files-many", "model.file"},
		"empty":        {[]file.Part{part("a.safetensors", nil)}, "file-empty", "model.file"},
	} {
		_, err := file.Read(c.parts, 0)
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.HasPrefix(e.At, c.at) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
