package trace

import (
	"bytes"
	"strings"

	"vrametre/calc/read"
)

// Is says whether a JSON text says that it is a trace.
func Is(data []byte) bool {
	return bytes.Contains(data[:min(len(data), 256)], []byte(`"vrametre-trace"`))
}

// Model is what a trace shows before it is asked anything: the modules that were called, and the parameters.
func (t *Trace) Model() *read.Model {
	m := &read.Model{Kind: "trace", DType: t.DType, Tree: &read.Node{Understood: true}}
	nodes := map[string]*read.Node{"": m.Tree}
	var at func(path string) *read.Node
	at = func(path string) *read.Node {
		if n := nodes[path]; n != nil {
			return n
		}
		if len(nodes) >= read.MaxNodes || strings.Count(path, ".") > read.MaxDepth {
			return m.Tree
		}
		parent := at(path[:max(strings.LastIndexByte(path, '.'), 0)])
		n := &read.Node{Path: path, Understood: true}
		nodes[path] = n
		parent.Children = append(parent.Children, n)
		return n
	}
	for _, v := range t.modules {
		if v.path == "<loss>" {
			continue
		}
		n := at(v.path)
		n.Class = v.class
		n.Params = v.own
	}
	sum(m.Tree)
	for _, p := range t.params {
		n := int64(1)
		for _, d := range p.shape {
			n *= d
		}
		m.Parameters += n
		if p.trainable {
			m.Trainable += n
		}
	}
	return m
}

func sum(n *read.Node) int64 {
	for _, c := range n.Children {
		n.Params += sum(c)
	}
	return n.Params
}
