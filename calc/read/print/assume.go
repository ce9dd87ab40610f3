package print

import (
	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// assume is the forward of a container whose class is unknown: its children one after the other, in the order in
// which they were printed. Where the next one cannot take what the last one gave, the shapes say what is done instead:
// it reads the container's own input (a branch), a concatenation, or a flattened or pooled map. What is left over at the end
// is added or concatenated to the result. Each such step is a warning.
func (c *call) assume() forward {
	layers, mods := c.inline()
	return func(x ...torch.Tensor) torch.Tensor {
		g := c.g
		y := x[0]
		values := []torch.Tensor{x[0]}
		used := map[torch.Tensor]bool{}
		for i, l := range layers {
			w := wants(mods[i])
			in := y
			switch {
			case w.fits(g, y):
			case w.fits(g, x[0]):
				c.note("assumed-branch", l)
				in = x[0]
			default:
				in = c.join(values, used, w, l, y)
			}
			used[in] = true
			if in != y && in != x[0] {
				used[y] = true
			}
			z := l.Call(in)
			values = append(values, z)
			y = z
		}
		// results that nothing read
		for i := len(values) - 2; i > 0; i-- {
			v := values[i]
			if used[v] || v == y {
				continue
			}
			a, b := g.Shape(v), g.Shape(y)
			switch {
			case same(a, b):
				c.note("assumed-residual", c.l)
				y = g.Add(v, y)
			case len(a) == len(b) && len(a) > 2 && same(a[2:], b[2:]):
				c.note("assumed-concat", c.l)
				y = g.Cat(1, v, y)
			default:
				c.note("output-unused", c.l)
			}
		}
		return y
	}
}

// inline lists the children, with those of lists in their place.
func (c *call) inline() ([]*nn.Layer, []*module) {
	var layers []*nn.Layer
	var mods []*module
	var add func(l []*nn.Layer, m []*module)
	add = func(l []*nn.Layer, m []*module) {
		for i := range l {
			if k := m[i].kind(); (k == "ModuleList" || k == "ModuleDict") && len(m[i].kids) > 0 {
				add(l[i].Kids, expand(m[i]))
			} else if k != "ModuleList" && k != "ModuleDict" && k != "ParameterList" && k != "ParameterDict" {
				layers = append(layers, l[i])
				mods = append(mods, m[i])
			}
		}
	}
	add(c.list, c.mods)
	return layers, mods
}

// expand lists the modules below m, a repeated one as often as it stands for, as they are built.
func expand(m *module) []*module {
	var out []*module
	for _, k := range m.kids {
		if k.param != nil || k.class == "None" || k.class == "Parameter" {
			continue
		}
		for range max(k.repeat, 1) {
			out = append(out, k)
		}
	}
	return out
}

// want is what a layer demands of its input: n features at dimension dim from the left, or the last ones.
type want struct {
	dim  int // 1: channels of an image, signal or volume; -1: the last dimension; 0: anything
	rank int // of the input, with the batch; 0: any
	n    int64
	ids  bool // integer ids
}

// wants finds what the first layer with weights at or below m demands.
func wants(m *module) want {
	kind := alias(m.kind())
	if len(m.kids) == 0 {
		switch kind {
		case "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d":
			return want{dim: 1, rank: int(kind[len(kind)-2]-'0') + 2, n: m.size("in_channels")}
		case "BatchNorm2d", "BatchNorm3d", "InstanceNorm2d", "InstanceNorm3d":
			return want{dim: 1, rank: int(kind[len(kind)-2]-'0') + 2, n: m.size("num_features")}
		case "BatchNorm1d":
			return want{dim: 1, n: m.size("num_features")}
		case "GroupNorm":
			return want{dim: 1, n: m.size("num_channels")}
		case "Linear":
			return want{dim: -1, n: m.size("in_features")}
		case "LayerNorm", "RMSNorm":
			if s := ints(m.args()["normalized_shape"]); len(s) > 0 {
				return want{dim: -1, n: s[len(s)-1]}
			}
		case "LSTM", "GRU", "RNN":
			return want{dim: -1, rank: 3, n: m.size("input_size")}
		case "Embedding", "EmbeddingBag":
			return want{ids: true}
		}
		return want{}
	}
	if kind == "MultiheadAttention" {
		return want{dim: -1, n: m.kid("out_proj").size("in_features")}
	}
	for _, k := range m.kids {
		if w := wants(k); w != (want{}) {
			return w
		}
	}
	return want{}
}

func (w want) fits(g *torch.Graph, x torch.Tensor) bool {
	s := g.Shape(x)
	switch {
	case w.ids:
		return !g.DType(x).Floating()
	case w.dim == 0:
		return true
	case w.rank > 0 && len(s) != w.rank || len(s) < 2:
		return false
	case w.dim == -1:
		return s[len(s)-1] == w.n
	}
	return s[1] == w.n
}

// join makes an input that fits w from what was computed so far: an earlier result, a concatenation of two, or y
// flattened or pooled.
func (c *call) join(values []torch.Tensor, used map[torch.Tensor]bool, w want, l *nn.Layer, y torch.Tensor) torch.Tensor {
	g := c.g
	s := g.Shape(y)
	if w.dim == -1 && len(s) > 2 {
		n := int64(1)
		for _, d := range s[1:] {
			n *= d
		}
		switch {
		case n == w.n:
			c.note("assumed-flatten", l)
			return g.Flatten(y, 1, -1)
		case len(s) == 4 && s[1]*(s[2]/2)*(s[3]/2) == w.n && s[2] > 1 && s[3] > 1:
			c.note("assumed-pool2", l)
			return g.Flatten(nn.Pool{Dim: 2, Kernel: nn.N(2)}.Apply(g, y), 1, -1)
		case s[1] == w.n:
			c.note("assumed-pool", l)
			dims := make([]int, len(s)-2)
			for i := range dims {
				dims[i] = i + 2
			}
			return g.Mean(y, false, dims...)
		}
	}
	for i := len(values) - 1; i >= 0; i-- {
		if w.fits(g, values[i]) {
			c.note("assumed-branch", l)
			return values[i]
		}
	}
	if w.dim == 1 && len(s) > 2 {
		for i := len(values) - 1; i >= 0; i-- {
			a := g.Shape(values[i])
			if values[i] != y && len(a) == len(s) && same(a[2:], s[2:]) && a[1]+s[1] == w.n {
				c.note("assumed-concat", l)
				used[values[i]], used[y] = true, true
				return g.Cat(1, values[i], y)
			}
		}
		var open []torch.Tensor
		var n int64
		for _, v := range values {
			if a := g.Shape(v); !used[v] && len(a) == len(s) && same(a[2:], s[2:]) {
				open = append(open, v)
				n += a[1]
			}
		}
		if n == w.n && len(open) > 1 {
			c.note("assumed-concat", l)
			for _, v := range open {
				used[v] = true
			}
			return g.Cat(1, open...)
		}
	}
	return y // the layer itself says what is wrong
}

// note warns about the container once per recording.
func (c *call) note(code string, l *nn.Layer) {
	path := l.Path
	if path == "" {
		path = l.Type
	}
	for _, w := range c.g.Warnings {
		if w.Code == code && w.At == path {
			return
		}
	}
	c.g.Warnings = append(c.g.Warnings, fault.New(code, path, "class", c.m.class, "line", c.m.line))
}
