package onnx

import (
	"math"
	"slices"
)

// Exporters write some of PyTorch's operations out. Put together again they keep what PyTorch's own kernel keeps for
// backward, not what the written-out nodes would.

type fuser struct {
	*plan
	by    map[string]*node   // the node that makes a value
	users map[string][]*node // the nodes that read one
	gone  map[*node]bool
}

func (p *plan) fuse(nodes []*node) []*node {
	f := &fuser{plan: p, by: map[string]*node{}, users: map[string][]*node{}, gone: map[*node]bool{}}
	for _, n := range nodes {
		for _, o := range n.out {
			f.by[o] = n
		}
		for _, i := range n.in {
			f.users[i] = append(f.users[i], n)
		}
	}
	for _, n := range nodes {
		if f.gone[n] {
			continue
		}
		switch n.op {
		case "MatMul":
			f.linear(n)
		case "Erf":
			f.gelu(n)
		case "Sigmoid":
			f.times(n, n, "SiLU")
		case "HardSigmoid":
			f.times(n, n, "HardSwish")
		case "Softplus":
			if t := f.only(n, "Tanh"); t != nil {
				f.times(n, t, "Mish")
			}
		case "ReduceMean":
			f.layerNorm(n)
		case "InstanceNormalization":
			f.groupNorm(n)
		}
	}
	out := slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return f.gone[n] })
	return f.head(out)
}

// only is the node of the given operator that is alone in reading n's result.
func (f *fuser) only(n *node, op string) *node {
	if len(n.out) == 0 {
		return nil
	}
	u := f.users[n.out[0]]
	if len(u) != 1 || u[0].op != op || f.gone[u[0]] || slices.Contains(f.outputs, n.out[0]) {
		return nil
	}
	return u[0]
}

// with gives the other input of a node of two inputs.
func with(n *node, name string) string {
	switch {
	case len(n.in) != 2:
		return ""
	case n.in[0] == name:
		return n.in[1]
	case n.in[1] == name:
		return n.in[0]
	}
	return ""
}

// number is the value of a constant of one element.
func (f *fuser) number(name string) (float64, bool) {
	c := f.known[name]
	if c == nil || c.numel() != 1 || len(c.floats) != 1 {
		return 0, false
	}
	return c.floats[0], true
}

func near(v, want float64) bool { return math.Abs(v-want) <= 1e-3*math.Abs(want) }

// become makes last the fused operation on the given inputs; the others go.
func (f *fuser) become(last *node, op string, in []string, others ...*node) {
	for _, o := range others {
		if o != last {
			f.gone[o] = true
		}
	}
	last.op, last.in, last.attr, last.domain = op, in, map[string]*attribute{}, ""
	for _, i := range in {
		f.users[i] = append(f.users[i], last)
	}
}

// linear is x @ W + b.
func (f *fuser) linear(n *node) {
	if len(n.in) != 2 {
		return
	}
	w := f.known[n.in[1]]
	if w == nil || len(w.dims) != 2 || !w.floating() {
		return
	}
	add := f.only(n, "Add")
	if add == nil {
		return
	}
	name := with(add, n.out[0])
	if b := f.known[name]; b != nil && b.floating() && len(b.dims) == 1 && b.dims[0] == w.dims[1] {
		f.become(add, "Linear", []string{n.in[0], n.in[1], name}, n)
	}
}

// gelu is x/2 * (1 + erf(x / sqrt 2)), in the orders that exporters write it.
func (f *fuser) gelu(erf *node) {
	if len(erf.in) != 1 {
		return
	}
	scale := f.by[erf.in[0]]
	if scale == nil || len(scale.in) != 2 || (scale.op != "Div" && scale.op != "Mul") {
		return
	}
	if f.only(scale, "Erf") != erf {
		return
	}
	x := scale.in[0]
	c, ok := f.number(scale.in[1])
	if want := map[string]float64{"Div": math.Sqrt2, "Mul": math.Sqrt2 / 2}[scale.op]; !ok || !near(c, want) {
		return
	}
	add := f.only(erf, "Add")
	if add == nil {
		return
	}
	if one, ok := f.number(with(add, erf.out[0])); !ok || !near(one, 1) {
		return
	}
	mul := f.only(add, "Mul")
	if mul == nil {
		return
	}
	other := with(mul, add.out[0])
	if other == x { // x * (1 + erf) * 0.5
		if half := f.only(mul, "Mul"); half != nil {
			if v, ok := f.number(with(half, mul.out[0])); ok && near(v, 0.5) {
				f.become(half, "Gelu", []string{x}, scale, erf, add, mul)
			}
		}
		return
	}
	if h := f.by[other]; h != nil && f.only(h, "Mul") == mul && h.op == "Mul" { // (x * 0.5) * (1 + erf)
		if v, ok := f.number(with(h, x)); ok && near(v, 0.5) {
			f.become(mul, "Gelu", []string{x}, scale, erf, add, h)
		}
		return
	}
	if v, ok := f.number(other); ok && near(v, 0.5) { // (0.5 * (1 + erf)) * x
		if last := f.only(mul, "Mul"); last != nil && with(last, mul.out[0]) == x {
			f.become(last, "Gelu", []string{x}, scale, erf, add, mul)
		}
	}
}

// times is x * gate(x), gate being the nodes from first to last.
func (f *fuser) times(first, last *node, op string) {
	mul := f.only(last, "Mul")
	if mul == nil || len(first.in) == 0 || with(mul, last.out[0]) != first.in[0] {
		return
	}
	f.become(mul, op, []string{first.in[0]}, first, last)
}

// layerNorm is (x - mean) / sqrt(mean((x - mean)^2) + eps) * w + b over the last dimensions.
func (f *fuser) layerNorm(mean *node) {
	if len(mean.in) == 0 {
		return
	}
	x := mean.in[0]
	sub := f.only(mean, "Sub")
	if sub == nil || sub.in[0] != x || len(sub.out) == 0 {
		return
	}
	var pow, div *node
	for _, u := range f.users[sub.out[0]] {
		switch u.op {
		case "Pow", "Mul":
			pow = u
		case "Div":
			div = u
		}
	}
	if pow == nil || div == nil || len(f.users[sub.out[0]]) > 3 || div.in[0] != sub.out[0] {
		return
	}
	variance := f.only(pow, "ReduceMean")
	if variance == nil {
		return
	}
	eps := f.only(variance, "Add")
	if eps == nil {
		return
	}
	root := f.only(eps, "Sqrt")
	if root == nil || len(root.out) == 0 || len(div.in) != 2 || div.in[1] != root.out[0] {
		return
	}
	mul := f.only(div, "Mul")
	if mul == nil {
		return
	}
	w := with(mul, div.out[0])
	add := f.only(mul, "Add")
	if f.known[w] == nil || !f.known[w].floating() {
		return
	}
	in := []string{x, w}
	last := mul
	if add != nil {
		if b := with(add, mul.out[0]); f.known[b] != nil && f.known[b].floating() {
			in, last = append(in, b), add
		}
	}
	f.become(last, "LayerNormalization", in, mean, sub, pow, variance, eps, root, div, mul)
	last.attr["axis"] = &attribute{i: -int64(max(len(f.known[w].dims), 1)), set: true}
}

// groupNorm is an instance norm of the groups as channels, without weights, then a weight and a bias per channel.
func (f *fuser) groupNorm(norm *node) {
	if len(norm.in) < 2 {
		return
	}
	apart, groups := f.by[norm.in[0]], f.known[norm.in[1]]
	back := f.only(norm, "Reshape")
	if apart == nil || apart.op != "Reshape" || f.only(apart, "InstanceNormalization") != norm || groups == nil || back == nil {
		return
	}
	mul := f.only(back, "Mul")
	if mul == nil {
		return
	}
	w := f.known[with(mul, back.out[0])]
	add := f.only(mul, "Add")
	if w == nil || !w.weight || add == nil {
		return
	}
	if b := f.known[with(add, mul.out[0])]; b == nil || !b.weight || b.numel() != w.numel() {
		return
	}
	n := groups.numel()
	f.become(add, "GroupNormalization", []string{apart.in[0], with(mul, back.out[0]), with(add, mul.out[0])}, apart, norm, back, mul)
	add.attr["num_groups"] = &attribute{i: n, set: true}
}

// head finds a last Softmax: PyTorch's cross entropy takes the logits.
func (f *fuser) head(nodes []*node) []*node {
	if len(f.outputs) > 0 {
		if n := f.by[f.outputs[0]]; n != nil && n.op == "Softmax" && len(n.in) == 1 && len(f.users[n.out[0]]) == 0 {
			f.last = n
		}
	}
	return nodes
}
