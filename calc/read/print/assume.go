package print

import (
	"strings"

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
	shaped := false // what stands first changes the shape: a linear layer behind it demands nothing of the input
	for _, k := range m.kids {
		if w := wants(k); w != (want{}) {
			if shaped && w.dim == -1 {
				return want{}
			}
			return w
		}
		kind := alias(k.kind())
		shaped = shaped || strings.Contains(kind, "Pool") || kind == "Flatten" || kind == "Permute" || kind == "Unflatten"
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

// lookBack is how many results a branch or a concatenation may reach back.
const lookBack = 64

// join makes an input that fits w from what was computed so far: y flattened, pooled or transposed, an earlier result, or
// a concatenation, after the container's own upsampling where that is what makes the maps match.
func (c *call) join(values []torch.Tensor, used map[torch.Tensor]bool, w want, l *nn.Layer, y torch.Tensor) torch.Tensor {
	g := c.g
	s := g.Shape(y)
	values = append(values[:1:1], values[max(1, len(values)-lookBack):]...) // the input and what is recent
	if w.dim == -1 && len(s) > 2 {
		n := int64(1)
		for _, d := range s[1:] {
			n *= d
		}
		switch {
		case n == w.n:
			c.note("assumed-flatten", l)
			used[y] = true
			return g.Flatten(y, 1, -1)
		case len(s) == 4 && s[1]*(s[2]/2)*(s[3]/2) == w.n && s[2] > 1 && s[3] > 1:
			c.note("assumed-pool2", l)
			used[y] = true
			return g.Flatten(nn.Pool{Dim: 2, Kernel: nn.N(2)}.Apply(g, y), 1, -1)
		case s[1] == w.n:
			c.note("assumed-pool", l)
			used[y] = true
			return c.average(y)
		}
		if open := c.open(values, used); len(open) > 1 && channels(g, open) == w.n {
			c.note("assumed-concat", l)
			var parts []torch.Tensor
			for _, v := range open {
				used[v] = true
				parts = append(parts, c.average(v))
			}
			return g.Cat(1, parts...)
		}
		if parts := c.concat(values, y, w.n); parts != nil {
			c.note("assumed-concat", l)
			for _, v := range parts {
				used[v] = true
			}
			return c.average(g.Cat(1, parts...))
		}
	}
	for i := len(values) - 1; i >= 0; i-- {
		v := values[i]
		switch t := g.Shape(v); {
		case w.fits(g, v):
			c.note("assumed-branch", l)
			return v
		case w.dim == 1 && w.rank == 3 && len(t) == 3 && t[2] == w.n: // a sequence to a signal
			c.note("assumed-transpose", l)
			used[v] = true
			return g.Transpose(v, 1, 2)
		}
	}
	if w.dim != 1 || len(s) < 3 {
		return y // the layer itself says what is wrong
	}
	if parts := c.concat(values, y, w.n); parts != nil {
		c.note("assumed-concat", l)
		for _, v := range parts {
			used[v] = true
		}
		return g.Cat(1, parts...)
	}
	if open := c.open(values, used); len(open) > 1 && channels(g, open) == w.n && sameMaps(g, open) {
		c.note("assumed-concat", l)
		for _, v := range open {
			used[v] = true
		}
		return g.Cat(1, open...)
	}
	for _, up := range c.list { // an upsampling module printed once and called at each level
		if up.Type != "Upsample" && up.Type != "UpsamplingBilinear2d" && up.Type != "UpsamplingNearest2d" || len(s) != 4 {
			continue
		}
		for i := len(values) - 1; i >= 0; i-- {
			t := g.Shape(values[i])
			if len(t) == 4 && t[1]+s[1] == w.n && near(t[2], 2*s[2]) && near(t[3], 2*s[3]) {
				c.note("assumed-concat", l)
				z := up.Call(y)
				if b := g.Shape(z); b[2] != t[2] || b[3] != t[3] {
					z = g.Resize("pad", z, []int64{b[0], b[1], t[2], t[3]}, false)
				}
				used[values[i]], used[y] = true, true
				return g.Cat(1, values[i], z)
			}
		}
	}
	return y
}

func near(a, b int64) bool { return a >= b && a <= b+1 }

// average is the mean over space or time.
func (c *call) average(x torch.Tensor) torch.Tensor {
	n := len(c.g.Shape(x))
	if n < 3 {
		return x
	}
	dims := make([]int, n-2)
	for i := range dims {
		dims[i] = i + 2
	}
	return c.g.Mean(x, false, dims...)
}

// open are the results that nothing has read.
func (c *call) open(values []torch.Tensor, used map[torch.Tensor]bool) []torch.Tensor {
	var out []torch.Tensor
	for _, v := range values[1:] {
		if !used[v] && len(c.g.Shape(v)) > 1 {
			out = append(out, v)
		}
	}
	return out
}

func channels(g *torch.Graph, list []torch.Tensor) (n int64) {
	for _, v := range list {
		n += g.Shape(v)[1]
	}
	return n
}

func sameMaps(g *torch.Graph, list []torch.Tensor) bool {
	for _, v := range list[1:] {
		if a, b := g.Shape(list[0]), g.Shape(v); len(a) != len(b) || !same(a[2:], b[2:]) {
			return false
		}
	}
	return true
}

// concat finds results of y's size whose channels are n together with y's: one, or all of the last ones.
func (c *call) concat(values []torch.Tensor, y torch.Tensor, n int64) []torch.Tensor {
	g := c.g
	s := g.Shape(y)
	total := s[1]
	run := []torch.Tensor{y}
	for i := len(values) - 1; i >= 0; i-- {
		v := values[i]
		a := g.Shape(v)
		if v == y || len(a) != len(s) || !same(a[2:], s[2:]) {
			continue
		}
		if a[1]+s[1] == n {
			return []torch.Tensor{v, y}
		}
		run = append([]torch.Tensor{v}, run...)
		if total += a[1]; total == n {
			return run
		}
	}
	return nil
}

// note warns about the container once for each place of a recording.
func (c *call) note(code string, l *nn.Layer) {
	path := l.Path
	if path == "" {
		path = l.Type
	}
	if c.noted[code+path] || len(c.g.Warnings) > 2*maxNotes {
		return
	}
	if c.noted == nil {
		c.noted = map[string]bool{}
	}
	c.noted[code+path] = true
	c.g.Warnings = append(c.g.Warnings, fault.New(code, path, "class", c.m.class, "line", c.m.line))
}
