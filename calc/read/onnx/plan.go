package onnx

import (
	"slices"
	"strconv"
	"strings"
)

// step is a node to run, with what the file alone says of it.
type step struct {
	*node
	// path and class of the module it stands for; class "": a function.
	path, class string
	// weights are the names of inputs that are parameters, buffers those of running statistics.
	weights map[int]*constant
	buffers map[int]*constant
}

// plan is the network's nodes in order, fused where several are one operation of PyTorch.
type plan struct {
	*graph
	steps []*step
	// consts are the tensors known when the file is read.
	known map[string]*constant
	// prefixes are the module paths in the weights' names.
	prefixes map[string]bool
	// batch is the batch size the file was exported with, 0 where it is free.
	batch int64
	in    []input
	// unsupported lists operators that are not understood, with the first node of each.
	unsupported []*step
	// last is a Softmax that ends the network, nil where none does.
	last *node
}

// numbers are the operators whose constants are sizes and bounds, never weights.
var numbers = []string{"Resize", "Upsample", "Clip", "Pad", "Dropout", "Pow"}

// running are the inputs that hold running statistics.
var running = map[string][]int{"BatchNormalization": {3, 4}}

// weighted are the operators whose inputs from the second on are weights, even of one element.
var weighted = map[string]bool{"Conv": true, "ConvTranspose": true, "Gemm": true, "BatchNormalization": true, "InstanceNormalization": true, "LayerNormalization": true,
	"GroupNormalization": true, "PRelu": true, "LSTM": true, "GRU": true, "RNN": true}

// classes of modules, by operator.
var classes = map[string]string{"Gemm": "Linear", "Linear": "Linear", "LayerNormalization": "LayerNorm", "GroupNormalization": "GroupNorm", "PRelu": "PReLU", "Relu": "ReLU",
	"LeakyRelu": "LeakyReLU", "Elu": "ELU", "Selu": "SELU", "Celu": "CELU", "Sigmoid": "Sigmoid", "HardSigmoid": "Hardsigmoid", "HardSwish": "Hardswish", "Tanh": "Tanh",
	"Softplus": "Softplus", "Softsign": "Softsign", "Gelu": "GELU", "Mish": "Mish", "SiLU": "SiLU", "Softmax": "Softmax", "LogSoftmax": "LogSoftmax", "Dropout": "Dropout",
	"LRN": "LocalResponseNorm", "LSTM": "LSTM", "GRU": "GRU", "RNN": "RNN", "Upsample": "Upsample", "Resize": "Upsample", "RMSNormalization": "RMSNorm"}

// spatial classes have their dimension at the end.
var spatial = map[string]string{"Conv": "Conv%dd", "ConvTranspose": "ConvTranspose%dd", "MaxPool": "MaxPool%dd", "AveragePool": "AvgPool%dd", "InstanceNormalization": "InstanceNorm%dd",
	"GlobalAveragePool": "AdaptiveAvgPool2d", "GlobalMaxPool": "AdaptiveMaxPool2d", "BatchNormalization": "BatchNorm%dd"}

func (g *graph) plan() *plan {
	p := &plan{graph: g, known: map[string]*constant{}, prefixes: prefixes(g.consts)}
	for name, c := range g.consts {
		p.known[name] = c
	}
	for _, in := range g.inputs {
		if g.consts[in.name] == nil {
			p.in = append(p.in, in)
		}
	}
	if len(p.in) > 0 && len(p.in[0].dims) > 0 && p.in[0].dims[0] > 0 {
		p.batch = p.in[0].dims[0]
	}
	var live []*node
	for _, n := range g.nodes {
		if !p.constant(n) {
			live = append(live, n)
		}
	}
	live = p.fuse(live)
	live = p.reached(live)
	paths := map[string]int{}
	for i, n := range live {
		s := &step{node: n, weights: map[int]*constant{}, buffers: map[int]*constant{}}
		for k, name := range n.in {
			c := p.known[name]
			switch {
			case c == nil || !c.weight || !c.floating():
			case slices.Contains(running[n.op], k):
				s.buffers[k] = c
			case c.numel() > 1 && !slices.Contains(numbers, n.op) || weighted[n.op] && k > 0:
				s.weights[k] = c
			}
		}
		s.class = classOf(n, s)
		if s.class == "" && len(s.weights) > 0 {
			s.class = n.op
		}
		s.path = unique(paths, p.pathOf(n, s, i))
		if _, ok := operators[n.op]; !ok || (n.domain != "" && n.domain != "ai.onnx" && n.domain != "com.microsoft") {
			if !slices.ContainsFunc(p.unsupported, func(u *step) bool { return u.op == n.op }) {
				p.unsupported = append(p.unsupported, s)
			}
		}
		p.steps = append(p.steps, s)
	}
	return p
}

// constant folds a node whose inputs are all known.
func (p *plan) constant(n *node) bool {
	if len(n.out) == 0 {
		return true
	}
	var in []*constant
	for _, name := range n.in {
		c := p.known[name]
		if c == nil && name != "" {
			return false
		}
		in = append(in, c)
	}
	c, ok := p.fold(n, in)
	if ok {
		p.known[n.out[0]] = c
	}
	return ok
}

// reached leaves out what no output depends on.
func (p *plan) reached(nodes []*node) []*node {
	want := map[string]bool{}
	for _, o := range p.outputs {
		want[o] = true
	}
	var kept []*node
	for _, n := range slices.Backward(nodes) {
		if len(p.outputs) > 0 && !slices.ContainsFunc(n.out, func(o string) bool { return want[o] }) {
			continue
		}
		for _, in := range n.in {
			want[in] = true
		}
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	return kept
}

func classOf(n *node, s *step) string {
	if c := spatial[n.op]; c != "" {
		d := 2
		if w := s.weights[1]; w != nil && len(w.dims) >= 3 {
			d = len(w.dims) - 2
		} else if k := n.attrOf("kernel_shape").ints; len(k) > 0 {
			d = len(k)
		}
		return strings.Replace(c, "%d", strconv.Itoa(d), 1)
	}
	switch {
	case n.op == "Gather" && s.weights[0] != nil:
		return "Embedding"
	case n.op == "MatMul" && s.weights[1] != nil && len(s.weights[1].dims) == 2:
		return "Linear"
	case n.op == "Clip":
		if lo, hi, ok := bounds(n, nil); ok && lo == 0 && hi == 6 {
			return "ReLU6"
		}
		return "Hardtanh"
	}
	return classes[n.op]
}

// scope is the module path in a node's name. A part such as "layers.0" below "layers" is either that module's child 0, or
// the child 0 of its list "layers": the weights' names tell.
func (p *plan) scope(name string) string {
	path := ""
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for _, part := range parts[:len(parts)-1] {
		if path == "" {
			path = part
			continue
		}
		below := path + "." + part
		if rest, ok := strings.CutPrefix(part, path[strings.LastIndexByte(path, '.')+1:]+"."); ok && (p.prefixes[path+"."+rest] || !p.prefixes[below]) {
			below = path + "." + rest
		}
		path = below
	}
	return path
}

// prefixes are the module paths in the weights' names.
func prefixes(consts map[string]*constant) map[string]bool {
	m := map[string]bool{}
	for name := range consts {
		if strings.Count(name, ".") > 32 {
			continue
		}
		for i := range name {
			if name[i] == '.' {
				m[name[:i]] = true
			}
		}
	}
	return m
}

// pathOf is the module path that the weights' names or the node's spell.
func (p *plan) pathOf(n *node, s *step, i int) string {
	for _, k := range []int{1, 0, 2} {
		c := s.weights[k]
		if c == nil {
			continue
		}
		for c.of != nil {
			c = c.of
		}
		if j := strings.LastIndexByte(c.name, '.'); j > 0 {
			switch c.name[j+1:] {
			case "weight", "bias", "weight_g", "weight_v", "in_proj_weight":
				return clean(c.name[:j])
			}
		}
	}
	if strings.HasPrefix(n.name, "/") { // "/layer1/layer1.0/conv1/Conv"
		if path := p.scope(n.name); path != "" {
			return clean(path)
		}
	}
	for _, k := range []int{1, 0} {
		if c := s.weights[k]; c != nil && c.name != "" {
			return clean(strings.ReplaceAll(c.name, ".", "_"))
		}
	}
	if n.name != "" {
		return clean(strings.ReplaceAll(n.name, ".", "_"))
	}
	return lower(n.op) + "_" + strconv.Itoa(i)
}

// clean makes a path of at most 32 parts out of what a file says.
func clean(s string) string {
	parts := strings.Split(strings.Trim(s, "./"), ".")
	if len(parts) > 32 || slices.Contains(parts, "") {
		return strings.ReplaceAll(strings.Trim(s, "./"), ".", "_")
	}
	return s
}

func unique(seen map[string]int, path string) string {
	seen[path]++
	if n := seen[path]; n > 1 {
		return path + "_" + strconv.Itoa(n)
	}
	return path
}

// bounds of a Clip: attributes, or inputs in later opsets.
func bounds(n *node, in []*constant) (lo, hi float64, ok bool) {
	lo, hi = -3.4e38, 3.4e38
	if n.attr["min"] != nil || n.attr["max"] != nil {
		if a := n.attr["min"]; a != nil {
			lo = a.f
		}
		if a := n.attr["max"]; a != nil {
			hi = a.f
		}
		return lo, hi, true
	}
	for i, to := range []*float64{nil, &lo, &hi} {
		if to == nil || i >= len(in) || in[i] == nil || len(in[i].floats) != 1 {
			continue
		}
		*to = in[i].floats[0]
	}
	return lo, hi, true
}
