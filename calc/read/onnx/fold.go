package onnx

import (
	"math"
	"slices"
	"strings"

	"vrametre/calc/read/checkpoint"
)

// fold computes a node whose inputs are constants: exporters write shapes as graphs of Shape, Gather, Concat and the
// like, and weights as views of initializers. false where it cannot; values of long constants are not followed.
func (g *graph) fold(n *node, in []*constant) (*constant, bool) {
	switch n.op {
	case "Constant":
		return constantNode(n), true
	case "ConstantOfShape":
		return ofShape(n, in)
	}
	if len(in) == 0 || in[0] == nil {
		return nil, false
	}
	x := in[0]
	switch n.op {
	case "Identity":
		return x, true
	case "Cast":
		c := *x
		c.kind = int32(n.int("to", int64(x.kind)))
		if c.floating() != x.floating() {
			c.of, c.weight = nil, false
			c.ints, c.floats = nil, nil
			for _, v := range x.ints {
				c.floats = append(c.floats, float64(v))
			}
			for _, v := range x.floats {
				c.ints = append(c.ints, int64(v))
			}
			c.keepOne()
		}
		return &c, true
	case "Shape":
		return vector(slice(x.dims, n.int("start", 0), n.int("end", math.MaxInt32))...), true
	case "Size":
		return scalar(x.numel()), true
	case "Transpose":
		return x.view(permuted(x.dims, n.attrOf("perm").ints)), true
	case "Reshape":
		if len(in) > 1 && in[1] != nil && known(in[1]) {
			if dims, ok := reshaped(x.dims, in[1].ints, n.int("allowzero", 0) == 1); ok {
				return x.view(dims), true
			}
		}
	case "Flatten":
		if a := axis(n.int("axis", 1), len(x.dims)+1); a >= 0 {
			return x.view([]int64{product(x.dims[:a]), product(x.dims[a:])}), true
		}
	case "Unsqueeze", "Squeeze":
		axes, ok := n.axes(in)
		if !ok {
			return nil, false
		}
		if dims, ok := squeezed(x.dims, axes, n.op == "Unsqueeze"); ok {
			return x.view(dims), true
		}
	case "Gather":
		if len(in) > 1 && in[1] != nil && known(x) && known(in[1]) && len(x.dims) == 1 {
			out := &constant{kind: typeInt64, dims: slices.Clone(in[1].dims)}
			for _, i := range in[1].ints {
				if i < 0 {
					i += x.dims[0]
				}
				if i < 0 || i >= int64(len(x.ints)) {
					return nil, false
				}
				out.ints = append(out.ints, x.ints[i])
			}
			return out, true
		}
	case "Concat":
		out := &constant{kind: x.kind, dims: []int64{0}}
		for _, c := range in {
			if c == nil || !known(c) || len(c.dims) != 1 || len(out.ints)+len(c.ints) > maxInts {
				return nil, false
			}
			out.ints = append(out.ints, c.ints...)
		}
		out.dims[0] = int64(len(out.ints))
		return out, true
	case "Slice":
		if known(x) && len(x.dims) == 1 {
			if s, ok := n.slices(in, x.dims); ok && len(s) == 1 && s[0].step > 0 {
				out := &constant{kind: x.kind}
				for i, k := s[0].start, int64(0); k < s[0].n; i, k = i+s[0].step, k+1 {
					out.ints = append(out.ints, x.ints[i])
				}
				out.dims = []int64{int64(len(out.ints))}
				return out, true
			}
		}
	case "Range":
		return ranged(in)
	case "Neg", "Abs", "Floor", "Ceil", "Sqrt":
		return unary(n.op, x)
	case "Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Pow":
		if len(in) == 2 && in[1] != nil {
			return arithmetic(n.op, x, in[1])
		}
	case "ReduceProd":
		if known(x) && len(x.dims) == 1 {
			p := int64(1)
			for _, v := range x.ints {
				if v != 0 && (p > math.MaxInt64/max(v, -v) || p < math.MinInt64/max(v, -v)) {
					return nil, false
				}
				p *= v
			}
			if n.int("keepdims", 1) == 1 {
				return vector(p), true
			}
			return scalar(p), true
		}
	}
	return nil, false
}

// known says whether every integer of c is.
func known(c *constant) bool { return !c.floating() && int64(len(c.ints)) == c.numel() }

// keepOne drops values that do not belong to the type.
func (c *constant) keepOne() {
	if c.floating() {
		c.ints = nil
	} else {
		c.floats = nil
	}
}

func vector(v ...int64) *constant {
	return &constant{kind: typeInt64, dims: []int64{int64(len(v))}, ints: slices.Clone(v)}
}

func scalar(v int64) *constant { return &constant{kind: typeInt64, ints: []int64{v}} }

// view is c under another shape: the same weight.
func (c *constant) view(dims []int64) *constant {
	if dims == nil && len(c.dims) > 0 && c.numel() != 1 {
		return c
	}
	v := *c
	v.dims = dims
	if v.of == nil {
		v.of = c
	}
	if c.numel() > 1 && len(dims) > 1 {
		v.ints, v.floats = nil, nil
	}
	return &v
}

func constantNode(n *node) *constant {
	switch {
	case n.attrOf("value").t != nil:
		c := *n.attrOf("value").t
		if c.name == "" && len(n.out) > 0 {
			c.name = n.out[0]
		}
		return &c
	case n.attrOf("value_int").set:
		return scalar(n.attrOf("value_int").i)
	case n.attrOf("value_ints").set:
		return vector(n.attrOf("value_ints").ints...)
	case n.attrOf("value_float").set:
		return &constant{kind: typeFloat, floats: []float64{n.attrOf("value_float").f}}
	}
	f := n.attrOf("value_floats").floats
	return &constant{kind: typeFloat, dims: []int64{int64(len(f))}, floats: f}
}

func ofShape(n *node, in []*constant) (*constant, bool) {
	if len(in) != 1 || in[0] == nil || !known(in[0]) {
		return nil, false
	}
	c := &constant{kind: typeFloat, dims: slices.Clone(in[0].ints), weight: true}
	if len(c.dims) > checkpoint.MaxRank {
		return nil, false
	}
	if len(n.out) > 0 {
		c.name = n.out[0]
	}
	checkpoint.Numel(c.name, c.dims)
	if t := n.attrOf("value").t; t != nil {
		c.kind = t.kind
		if c.numel() <= maxInts {
			for range c.numel() {
				c.ints, c.floats = append(c.ints, t.ints...), append(c.floats, t.floats...)
			}
		}
	}
	return c, true
}

func ranged(in []*constant) (*constant, bool) {
	if len(in) != 3 {
		return nil, false
	}
	for _, c := range in {
		if c == nil || !known(c) || len(c.ints) != 1 {
			return nil, false
		}
	}
	from, to, step := in[0].ints[0], in[1].ints[0], in[2].ints[0]
	if step == 0 || to-from > 1<<40 || from-to > 1<<40 {
		return nil, false
	}
	n := max((to-from+step-sign(step))/step, 0)
	c := &constant{kind: typeInt64, dims: []int64{n}}
	if n <= maxInts {
		for i := range n {
			c.ints = append(c.ints, from+i*step)
		}
	}
	return c, true
}

func sign(v int64) int64 {
	if v < 0 {
		return -1
	}
	return 1
}

func unary(op string, x *constant) (*constant, bool) {
	c := *x
	c.of, c.weight = nil, false
	c.ints, c.floats = slices.Clone(x.ints), slices.Clone(x.floats)
	for i, v := range c.ints {
		switch op {
		case "Neg":
			c.ints[i] = -v
		case "Abs":
			c.ints[i] = max(v, -v)
		case "Sqrt":
			return nil, false
		}
	}
	for i, v := range c.floats {
		c.floats[i] = map[string]func(float64) float64{"Neg": func(v float64) float64 { return -v }, "Abs": math.Abs, "Floor": math.Floor, "Ceil": math.Ceil, "Sqrt": math.Sqrt}[op](v)
	}
	return &c, int64(len(c.ints)+len(c.floats)) == c.numel()
}

// arithmetic of integers or floats, one of them possibly a scalar.
func arithmetic(op string, a, b *constant) (*constant, bool) {
	if a.floating() != b.floating() || int64(len(a.ints)+len(a.floats)) != a.numel() || int64(len(b.ints)+len(b.floats)) != b.numel() {
		return nil, false
	}
	long, n := a, max(a.numel(), b.numel())
	if len(b.dims) > len(a.dims) || b.numel() > a.numel() {
		long = b
	}
	if a.numel() == 0 || b.numel() == 0 || (a.numel() != n && a.numel() != 1) || (b.numel() != n && b.numel() != 1) {
		return nil, false
	}
	out := &constant{kind: a.kind, dims: slices.Clone(long.dims)}
	for i := range n {
		if a.floating() {
			out.floats = append(out.floats, floatOp(op, a.floats[i%a.numel()], b.floats[i%b.numel()]))
			continue
		}
		v, ok := intOp(op, a.ints[i%a.numel()], b.ints[i%b.numel()])
		if !ok {
			return nil, false
		}
		out.ints = append(out.ints, v)
	}
	return out, true
}

func floatOp(op string, x, y float64) float64 {
	switch op {
	case "Add":
		return x + y
	case "Sub":
		return x - y
	case "Mul":
		return x * y
	case "Div":
		return x / y
	case "Pow":
		return math.Pow(x, y)
	case "Max":
		return math.Max(x, y)
	case "Min":
		return math.Min(x, y)
	}
	return math.Mod(x, y)
}

func intOp(op string, x, y int64) (int64, bool) {
	const limit = 1 << 52
	if max(x, -x) > limit || max(y, -y) > limit || x == math.MinInt64 || y == math.MinInt64 {
		return 0, false
	}
	switch op {
	case "Add":
		return x + y, true
	case "Sub":
		return x - y, true
	case "Mul":
		if y != 0 && max(x, -x) > limit/max(y, -y) {
			return 0, false
		}
		return x * y, true
	case "Div":
		if y == 0 {
			return 0, false
		}
		return x / y, true
	case "Mod":
		if y == 0 {
			return 0, false
		}
		return ((x % y) + y) % y, true
	case "Max":
		return max(x, y), true
	case "Min":
		return min(x, y), true
	}
	return 0, false
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// axis makes a negative axis positive; -1 where there is none.
func axis(a int64, rank int) int {
	if a < 0 {
		a += int64(rank)
	}
	if a < 0 || a >= int64(rank) {
		return -1
	}
	return int(a)
}

func slice(v []int64, from, to int64) []int64 {
	n := int64(len(v))
	clamp := func(i int64) int64 {
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	if from, to = clamp(from), clamp(to); from >= to {
		return nil
	}
	return v[from:to]
}

// permuted gives nil where perm is no permutation.
func permuted(dims, perm []int64) []int64 {
	out := make([]int64, len(dims))
	if len(perm) == 0 {
		for i, d := range dims {
			out[len(dims)-1-i] = d
		}
		return out
	}
	if len(perm) != len(dims) {
		return nil
	}
	for i, p := range perm {
		if p < 0 || p >= int64(len(dims)) {
			return nil
		}
		out[i] = dims[p]
	}
	return out
}

// reshaped resolves 0 (as the input's) and -1 (what is left).
func reshaped(dims, to []int64, allowZero bool) ([]int64, bool) {
	if len(to) > checkpoint.MaxRank {
		return nil, false
	}
	out := slices.Clone(to)
	rest, n := -1, int64(1)
	for i, d := range out {
		switch {
		case d == 0 && !allowZero:
			if i >= len(dims) {
				return nil, false
			}
			out[i] = dims[i]
			n *= dims[i]
		case d == -1:
			if rest >= 0 {
				return nil, false
			}
			rest = i
		case d < 0 || d > 1<<40:
			return nil, false
		default:
			if d > 0 && n > math.MaxInt64/4/d {
				return nil, false
			}
			n *= d
		}
	}
	total := product(dims)
	if rest >= 0 {
		if n == 0 || total%n != 0 {
			return out, false
		}
		out[rest] = total / n
		n *= out[rest]
	}
	return out, n == total
}

func squeezed(dims, axes []int64, insert bool) ([]int64, bool) {
	if insert {
		rank := len(dims) + len(axes)
		if rank > checkpoint.MaxRank {
			return nil, false
		}
		out := make([]int64, rank)
		for _, a := range axes {
			i := axis(a, rank)
			if i < 0 || out[i] != 0 {
				return nil, false
			}
			out[i] = -1
		}
		k := 0
		for i := range out {
			if out[i] == -1 {
				out[i] = 1
				continue
			}
			out[i] = dims[k]
			k++
		}
		return out, true
	}
	drop := make([]bool, len(dims))
	for i, d := range dims {
		drop[i] = len(axes) == 0 && d == 1
	}
	for _, a := range axes {
		i := axis(a, len(dims))
		if i < 0 || dims[i] != 1 {
			return nil, false
		}
		drop[i] = true
	}
	out := []int64{}
	for i, d := range dims {
		if !drop[i] {
			out = append(out, d)
		}
	}
	return out, true
}

var none = &attribute{}

// attrOf is an attribute, an empty one where it is absent.
func (n *node) attrOf(name string) *attribute {
	if a := n.attr[name]; a != nil {
		return a
	}
	return none
}

func (n *node) int(name string, def int64) int64 {
	if a := n.attr[name]; a != nil {
		return a.i
	}
	return def
}

// axes are an attribute or, in later opsets, the second input; false where they are not known.
func (n *node) axes(in []*constant) ([]int64, bool) {
	if a := n.attr["axes"]; a != nil {
		return a.ints, true
	}
	if len(n.in) > 1 && n.in[1] != "" {
		if len(in) < 2 || in[1] == nil || !known(in[1]) {
			return nil, false
		}
		return in[1].ints, true
	}
	return nil, true
}

// cut is a slice of one axis.
type cut struct {
	axis           int
	start, n, step int64
}

// slices are the cuts of a Slice node on a shape.
func (n *node) slices(in []*constant, dims []int64) ([]cut, bool) {
	starts, ends := n.attrOf("starts").ints, n.attrOf("ends").ints
	axes, steps := n.attrOf("axes").ints, []int64(nil)
	if len(n.in) > 1 {
		get := func(i int) ([]int64, bool) {
			if i >= len(n.in) || n.in[i] == "" {
				return nil, true
			}
			if i >= len(in) || in[i] == nil || !known(in[i]) {
				return nil, false
			}
			return in[i].ints, true
		}
		var ok [4]bool
		starts, ok[0] = get(1)
		ends, ok[1] = get(2)
		axes, ok[2] = get(3)
		steps, ok[3] = get(4)
		if ok != [4]bool{true, true, true, true} {
			return nil, false
		}
	}
	if len(starts) != len(ends) || (len(axes) > 0 && len(axes) != len(starts)) || (len(steps) > 0 && len(steps) != len(starts)) {
		return nil, false
	}
	var out []cut
	for i := range starts {
		c := cut{axis: i, step: 1}
		if len(axes) > 0 {
			c.axis = axis(axes[i], len(dims))
		}
		if c.axis < 0 || c.axis >= len(dims) {
			return nil, false
		}
		if len(steps) > 0 {
			c.step = steps[i]
		}
		d := dims[c.axis]
		place := func(v int64) int64 {
			if v < 0 {
				v += d
			}
			return min(max(v, 0), d)
		}
		switch {
		case c.step > 0:
			c.start = place(starts[i])
			c.n = max((place(ends[i])-c.start+c.step-1)/c.step, 0)
		case c.step == math.MinInt64 || c.step == 0:
			return nil, false
		default: // backwards: as many elements, from the other end
			last := min(place(starts[i]), d-1)
			first := int64(-1)
			if ends[i] >= -d {
				first = place(ends[i])
			}
			c.start, c.n = last, max((last-first-c.step-1)/-c.step, 0)
		}
		out = append(out, c)
	}
	return out, true
}

// lower is an operator's name without its case, for the tree.
func lower(op string) string { return strings.ToLower(op) }
