package summary

import (
	"math"
	"slices"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/torch"
)

// step is a row as a layer: its constructor, or a function of the forward that the table does not list.
type step struct {
	name string
	spec nn.Spec
	fn   func(g *torch.Graph, x torch.Tensor) torch.Tensor
}

// chain makes an nn.Sequential of the rows, their kernels and strides worked out from parameters and shapes; false where a
// row cannot follow the one before.
func (t *table) chain(m *read.Model, shape []int64) bool {
	rows := t.leaves()
	c := &chainer{t: t}
	in := shape
	for i, r := range rows {
		if r.class == "InputLayer" {
			if in == nil && known(r.shape) {
				in = slices.Clone(r.shape[1:])
			}
			continue
		}
		if len(r.inputs) > 1 {
			return false
		}
		if len(r.inputs) == 1 && i > 0 && r.inputs[0] != rows[i-1].name {
			return false
		}
	}
	if in == nil {
		if in = t.firstInput(rows); in == nil {
			return false
		}
		if len(in) > 1 && t.stated.InputBytes == 0 && rows[0].class != "InputLayer" {
			c.warn = append(c.warn, read.Warning("input-inferred", at(rows[0].line), "low", in[1], "high", 2*in[1], "used", in[1]))
		}
	}
	c.at = append([]int64{t.batch}, in...)
	for i, r := range rows {
		if r.class == "InputLayer" {
			continue
		}
		if !c.add(r, i == len(rows)-1) {
			return false
		}
	}
	ids := len(rows) > 0 && rows[0].class == "Embedding"
	steps := c.steps
	m.Build = func(b *nn.Builder) *models.Net {
		root := b.Root("Sequential")
		run := make([]func(torch.Tensor) torch.Tensor, len(steps))
		for i, s := range steps {
			if s.fn != nil {
				run[i] = func(x torch.Tensor) torch.Tensor {
					return b.G.Named(s.name, func() torch.Tensor { return s.fn(b.G, x) })
				}
				continue
			}
			l := b.Add(root, s.name, s.spec)
			run[i] = func(x torch.Tensor) torch.Tensor { return l.Call(x) }
		}
		root.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			for _, f := range run {
				y = f(y)
			}
			return y
		})
		return &models.Net{Root: root, Forward: func(x ...torch.Tensor) []torch.Tensor { return []torch.Tensor{root.Call(x...)} }}
	}
	input := models.Input{Shape: in}
	if ids {
		input.Below = 1
	}
	m.Inputs = []models.Input{input}
	if err := try(m); err != nil {
		m.Build, m.Inputs = nil, nil
		return false
	}
	m.Warnings = append(m.Warnings, c.warn...)
	i := 0
	for _, s := range steps {
		if s.spec != nil {
			c.named[i].path = s.name
			i++
		}
	}
	for _, r := range t.rows {
		if len(r.kids) > 0 && r.depth > 0 && r.class != "Sequential" && r.class != "ModuleList" && len(m.Warnings) < maxNotes {
			m.Warn("assumed-sequential", at(r.line), "class", r.class, "line", r.line)
		}
	}
	return true
}

// try runs the network once.
func try(m *read.Model) (err error) {
	defer fault.Catch(&err)
	g := torch.NewGraph(2, torch.Rules{})
	net := m.Build(&nn.Builder{G: g, Training: true})
	d := torch.Float32
	if m.Inputs[0].Below > 0 {
		d = torch.Int64
	}
	net.Forward(g.Input(m.Inputs[0].Shape, d))
	return nil
}

func known(shape []int64) bool { return len(shape) > 1 && !slices.Contains(shape[1:], -1) }

// firstInput is what the first layer takes: its channels from the parameters, its size from the map and, where the tool
// printed it, the input's bytes.
func (t *table) firstInput(rows []*row) []int64 {
	if len(rows) == 0 || !known(rows[0].shape) {
		return nil
	}
	r := rows[0]
	out := r.shape[1]
	switch {
	case r.class == "Linear" || r.class == "Dense":
		n := r.shape[len(r.shape)-1]
		for _, bias := range []int64{n, 0} {
			if rest := r.params - bias; n > 0 && rest > 0 && rest%n == 0 {
				in := slices.Clone(r.shape[1:])
				in[len(in)-1] = rest / n
				return in
			}
		}
	case r.class == "Embedding" && len(r.shape) == 3:
		return []int64{r.shape[1]}
	case strings.HasPrefix(r.class, "Conv") && len(r.shape) > 2:
		dim := len(r.shape) - 2
		best, gap := []int64(nil), math.Inf(1)
		for _, ch := range []int64{3, 1, 4, 2, out} {
			for _, bias := range []int64{out, 0} {
				k, ok := root((r.params-bias)/max(out*ch, 1), dim)
				if !ok || (r.params-bias) != out*ch*pow(k, dim) || k > 63 {
					continue
				}
				for _, s := range []int64{1, 2, 4, 3, 8, 16} {
					for _, p := range []int64{(k - 1) / 2, 0} {
						in := []int64{ch}
						for _, h := range r.shape[2:] {
							v := (h-1)*s + k - 2*p
							if s > 1 && p > 0 {
								v = h * s
							}
							in = append(in, v)
						}
						g := 0.0
						if t.stated.InputBytes > 0 {
							bytes := float64(4 * t.batch * volume(in))
							g = math.Abs(math.Log(bytes / float64(t.stated.InputBytes)))
						}
						if g < gap-0.001 {
							best, gap = in, g
						}
					}
				}
			}
		}
		return best
	}
	return nil
}

func pow(k int64, n int) int64 {
	v := int64(1)
	for range n {
		v *= k
	}
	return v
}

// root is the whole n-th root of v.
func root(v int64, n int) (int64, bool) {
	k := int64(math.Round(math.Pow(float64(max(v, 0)), 1/float64(n))))
	return k, k > 0 && k < 1<<16 && pow(k, n) == v
}

// chainer follows the shape from row to row.
type chainer struct {
	t     *table
	at    []int64
	steps []step
	named []*row         // of the steps that are layers
	warn  []*fault.Error // of the layers so far; kept if the chain holds
}

func (c *chainer) layer(r *row, class string, args map[string]any) bool {
	s, err := nn.Parse(class, at(r.line), args)
	if err != nil {
		return false
	}
	name := r.name
	if c.t.kind != "keras" || name == "" || strings.Contains(name, ".") { // variables are only unique in their parent
		name = "line" + itoa(int64(r.line))
	}
	c.steps = append(c.steps, step{name: name, spec: s})
	c.named = append(c.named, r)
	c.at = r.shape
	return true
}

func itoa(n int64) string { return torch.Shape{n}.String()[1 : len(torch.Shape{n}.String())-1] }

// pooled puts F.max_pool2d(2) before the row, which the table does not list.
func (c *chainer) pooled(r *row) bool {
	if len(c.at) != 4 || c.at[2] < 2 || c.at[3] < 2 {
		return false
	}
	c.warn = append(c.warn, read.Warning("assumed-pool2", at(r.line)))
	c.steps = append(c.steps, step{name: "max_pool2d", fn: func(g *torch.Graph, x torch.Tensor) torch.Tensor {
		return nn.Pool{Dim: 2, Kernel: nn.N(2)}.Apply(g, x)
	}})
	c.at = []int64{c.at[0], c.at[1], c.at[2] / 2, c.at[3] / 2}
	return true
}

func (c *chainer) flattened() {
	if len(c.at) > 2 {
		c.steps = append(c.steps, step{name: "flatten", fn: func(g *torch.Graph, x torch.Tensor) torch.Tensor { return g.Flatten(x, 1, -1) }})
		c.at = []int64{c.at[0], volume(c.at[1:])}
	}
}

// kerasNames are Keras's layers under PyTorch's names.
var kerasNames = map[string]string{"Dense": "Linear", "MaxPooling1D": "MaxPool1d", "MaxPooling2D": "MaxPool2d", "MaxPooling3D": "MaxPool3d", "AveragePooling2D": "AvgPool2d",
	"BatchNormalization": "BatchNorm", "SpatialDropout2D": "Dropout2d", "GlobalAveragePooling2D": "GlobalPool", "GlobalMaxPooling2D": "GlobalMaxPool", "UpSampling2D": "Upsample",
	"Conv1D": "Conv1d", "Conv2D": "Conv2d", "Conv3D": "Conv3d", "Conv2DTranspose": "ConvTranspose2d", "LayerNormalization": "LayerNorm", "ZeroPadding2D": "ZeroPad2d",
	"DepthwiseConv2D": "Conv2d", "Activation": "ReLU", "Rescaling": "Identity", "InputLayer": "Identity", "Reshape": "Reshape"}

// add appends the layer of one row.
func (c *chainer) add(r *row, last bool) bool {
	class := r.class
	if c.t.kind == "keras" {
		if k := kerasNames[class]; k != "" {
			class = k
		} else if strings.HasPrefix(class, "SpatialDropou") {
			class = "Dropout2d"
		}
	}
	if !known(r.shape) && len(r.shape) > 2 {
		return false // the size is open
	}
	in, out := c.at, r.shape
	switch {
	case class == "Linear" || class == "NonDynamicallyQuantizableLinear":
		return c.linear(r)
	case strings.HasPrefix(class, "ConvTranspose"):
		return c.conv(r, class, true)
	case strings.HasPrefix(class, "Conv") && layer(class):
		return c.conv(r, class, false)
	case strings.HasPrefix(class, "BatchNorm") || strings.HasPrefix(class, "InstanceNorm"):
		if class == "BatchNorm" {
			class = "BatchNorm" + itoa(int64(max(len(out)-2, 1))) + "d"
		}
		return sameShape(in, out) && len(in) > 1 && c.layer(r, class, map[string]any{"num_features": in[1], "affine": r.params > 0})
	case class == "LayerNorm":
		return sameShape(in, out) && c.layer(r, class, map[string]any{"normalized_shape": in[len(in)-1], "elementwise_affine": r.params > 0})
	case class == "GlobalPool":
		c.steps = append(c.steps, step{name: r.name, fn: func(g *torch.Graph, x torch.Tensor) torch.Tensor { return g.Mean(x, false, 2, 3) }})
		c.at = out
		return len(in) == 4
	case strings.HasPrefix(class, "AdaptiveAvgPool") || strings.HasPrefix(class, "AdaptiveMaxPool"):
		if len(out) != len(in) || len(out) < 3 {
			return false
		}
		return c.layer(r, class, map[string]any{"output_size": anys(out[2:])})
	case strings.Contains(class, "Pool") && layer(class):
		return c.pool(r, class)
	case class == "Flatten":
		if volume(in[1:]) != volume(out[1:]) {
			return false
		}
		return c.layer(r, class, nil)
	case class == "Reshape":
		to := slices.Clone(out[1:])
		if volume(in[1:]) != volume(to) {
			return false
		}
		c.steps = append(c.steps, step{name: r.name, fn: func(g *torch.Graph, x torch.Tensor) torch.Tensor {
			return g.Reshape(x, append([]int64{g.Dim(x, 0)}, to...)...)
		}})
		c.at = out
		return true
	case strings.HasPrefix(class, "Dropout"):
		return sameShape(in, out) && c.layer(r, class, nil)
	case class == "Upsample":
		return len(out) == len(in) && len(out) > 2 && c.layer(r, class, map[string]any{"size": anys(out[2:])})
	case class == "Embedding" && len(out) == 3 && out[2] > 0 && r.params%out[2] == 0:
		return c.layer(r, class, map[string]any{"num_embeddings": r.params / out[2], "embedding_dim": out[2]})
	case r.params == 0 && sameShape(in, out):
		if !layer(class) {
			if c.t.kind != "keras" {
				c.warn = append(c.warn, read.Warning("layer-unknown", at(r.line), "class", r.class, "line", r.line))
			}
			class = "Identity"
		}
		return c.layer(r, class, nil)
	}
	return false
}

func anys(v []int64) []any {
	out := make([]any, len(v))
	for i, n := range v {
		out[i] = n
	}
	return out
}

func (c *chainer) linear(r *row) bool {
	n := r.shape[len(r.shape)-1]
	if n <= 0 {
		return false
	}
	for _, bias := range []bool{true, false} {
		w := r.params
		if bias {
			w -= n
		}
		if w <= 0 || w%n != 0 {
			continue
		}
		in := w / n
		args := map[string]any{"in_features": in, "out_features": n, "bias": bias}
		switch {
		case c.at[len(c.at)-1] == in && len(c.at) == len(r.shape):
			return c.layer(r, "Linear", args)
		case volume(c.at[1:]) == in:
			c.flattened()
			return c.layer(r, "Linear", args)
		case len(c.at) == 4 && c.at[1]*(c.at[2]/2)*(c.at[3]/2) == in:
			if !c.pooled(r) {
				return false
			}
			c.flattened()
			return c.layer(r, "Linear", args)
		case len(c.at) == 4 && c.at[1] == in:
			c.warn = append(c.warn, read.Warning("assumed-pool", at(r.line)))
			c.steps = append(c.steps, step{name: "mean", fn: func(g *torch.Graph, x torch.Tensor) torch.Tensor { return g.Mean(x, false, 2, 3) }})
			return c.layer(r, "Linear", args)
		}
	}
	return false
}

// conv works kernel, groups and bias out of the parameters, stride and padding out of the maps.
func (c *chainer) conv(r *row, class string, transposed bool) bool {
	dim := len(r.shape) - 2
	if dim < 1 || dim > 3 || len(c.at) != len(r.shape) {
		return false
	}
	in, out := c.at[1], r.shape[1]
	if in < 1 || out < 1 {
		return false
	}
	for _, groups := range []int64{1, in} {
		if out%groups != 0 || in%groups != 0 {
			continue
		}
		for _, bias := range []bool{true, false} {
			w := r.params
			if bias {
				w -= out
			}
			each := out * in / groups
			if w <= 0 || w%each != 0 {
				continue
			}
			kernel := r.kernel
			if len(kernel) != dim || volume(kernel) != w/each {
				k, ok := root(w/each, dim)
				if !ok {
					continue
				}
				kernel = slices.Repeat([]int64{k}, dim)
			}
			args := map[string]any{"in_channels": in, "out_channels": out, "kernel_size": anys(kernel), "groups": groups, "bias": bias}
			if c.place(r, args, kernel, transposed) {
				return c.layer(r, class, args)
			}
			if !transposed && len(c.at) == 4 { // a pooling function stands before
				half := []int64{c.at[0], c.at[1], c.at[2] / 2, c.at[3] / 2}
				was := c.at
				c.at = half
				if c.place(r, args, kernel, false) {
					c.at = was
					return c.pooled(r) && c.layer(r, class, args)
				}
				c.at = was
			}
		}
	}
	return false
}

// place finds the usual stride and padding that lead from one map to the other.
func (c *chainer) place(r *row, args map[string]any, kernel []int64, transposed bool) bool {
	dim := len(kernel)
	for _, stride := range []int64{1, 2, 4, 3} {
		for _, same := range []bool{true, false} {
			pads := make([]int64, dim)
			extra := make([]int64, dim)
			ok := true
			for i, k := range kernel {
				if same {
					pads[i] = (k - 1) / 2
				}
				h, want := c.at[i+2], r.shape[i+2]
				if transposed {
					got := (h-1)*stride - 2*pads[i] + k
					extra[i] = want - got
					ok = ok && extra[i] >= 0 && extra[i] < stride
				} else {
					ok = ok && h+2*pads[i] >= k && (h+2*pads[i]-k)/stride+1 == want
				}
			}
			if ok {
				args["stride"], args["padding"] = stride, anys(pads)
				if transposed {
					args["output_padding"] = anys(extra)
				}
				return true
			}
			if stride == 2 && same && !transposed { // Keras pads one side alone: (H + 1) / 2 with any kernel
				ok = c.t.kind == "keras"
				for i := range kernel {
					ok = ok && (c.at[i+2]+1)/2 == r.shape[i+2]
					pads[i] = kernel[i] / 2
				}
				if ok {
					args["stride"], args["padding"] = stride, anys(pads)
					return true
				}
			}
		}
	}
	return false
}

func (c *chainer) pool(r *row, class string) bool {
	dim := len(r.shape) - 2
	if dim < 1 || len(c.at) != len(r.shape) || c.at[1] != r.shape[1] {
		return false
	}
	whole := make([]int64, dim) // windows side by side
	for i := range whole {
		if r.shape[i+2] > 0 && c.at[i+2]%r.shape[i+2] == 0 {
			whole[i] = c.at[i+2] / r.shape[i+2]
		}
	}
	for _, p := range [...][3]int64{{2, 2, 0}, {3, 2, 1}, {3, 2, 0}, {3, 1, 1}, {2, 1, 0}, {3, 3, 0}, {4, 4, 0}, {7, 1, 0}, {7, 7, 0}, {8, 8, 0}} {
		for _, ceil := range []bool{false, true} {
			ok := true
			for i := range dim {
				n := c.at[i+2] + 2*p[2] - p[0]
				got := n/p[1] + 1
				if ceil {
					got = (n+p[1]-1)/p[1] + 1
				}
				ok = ok && n >= 0 && got == r.shape[i+2]
			}
			if ok {
				args := map[string]any{"kernel_size": p[0], "stride": p[1], "padding": p[2], "ceil_mode": ceil}
				return c.layer(r, class, args)
			}
		}
	}
	return !slices.Contains(whole, 0) && c.layer(r, class, map[string]any{"kernel_size": anys(whole)})
}

// rough is a network of the rows alone, where no forward is proved: each makes its output and keeps what its class keeps.
func (t *table) rough(m *read.Model, shape []int64) {
	rows := t.leaves()
	for _, r := range rows {
		if len(r.shape) < 2 {
			continue
		}
		if !known(r.shape) {
			m.Missing = fault.New("summary-open", at(r.line))
			return
		}
	}
	in := shape
	if in == nil {
		in = t.firstInput(rows)
	}
	if in == nil && len(rows) > 0 {
		in = slices.Clone(rows[0].shape[1:])
	}
	if len(in) == 0 {
		m.Missing = fault.New("summary-open", at(rows0(rows)))
		return
	}
	// parameters that no leaf row shows belong to the containers listed above them
	seen := map[*row]bool{}
	for _, r := range rows {
		seen[r] = true
	}
	var rest int64
	for _, r := range t.rows {
		if !seen[r] && !r.again {
			rest += r.params
		}
	}
	rest += m.Parameters - sumOf(t.rows)
	m.Rough = true
	for i, r := range rows {
		r.path = itoa(int64(i))
	}
	m.Warn("summary-rough", Field)
	m.Inputs = []models.Input{{Shape: in}}
	m.Build = func(b *nn.Builder) *models.Net {
		root := b.Root("Module")
		if rest > 0 {
			b.Param(root, rest)
		}
		var layers []*nn.Layer
		for _, r := range rows {
			if len(r.shape) < 2 {
				continue
			}
			layers = append(layers, b.Add(root, r.path, r.spec()))
		}
		root.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			for _, l := range layers {
				y = l.Call(y)
			}
			return y
		})
		return &models.Net{Root: root, Forward: func(x ...torch.Tensor) []torch.Tensor { return []torch.Tensor{root.Call(x...)} }}
	}
	if err := try(m); err != nil {
		m.Build, m.Missing = nil, fault.New("summary-open", at(rows0(rows)))
	}
}

func rows0(rows []*row) int {
	if len(rows) > 0 {
		return rows[0].line
	}
	return 1
}

func sumOf(rows []*row) (n int64) {
	for _, r := range rows {
		if !r.again {
			n += r.params
		}
	}
	return n
}

// spec is one row of a rough network.
func (r *row) spec() nn.Spec {
	return nn.Block{Class: r.class, Build: func(b *nn.Builder, l *nn.Layer) {
		g := b.G
		if r.params > 0 && !r.again {
			b.Param(l, r.params)
		}
		if r.frozen {
			g.Freeze(l.Module)
		}
		spec, _ := nn.Parse(r.class, "", nil)
		act, isActivation := spec.(nn.Activation)
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			to := append([]int64{g.Dim(y, 0)}, r.shape[1:]...)
			switch {
			case isActivation && sameShape(g.Shape(y), to):
				return act.Apply(g, y)
			case strings.HasPrefix(r.class, "Dropout") && sameShape(g.Shape(y), to):
				if b.Training {
					return g.Dropout(y, 0.5, false)
				}
				return y
			case r.params == 0 && sameShape(g.Shape(y), to):
				return y
			}
			y = g.Resize(r.class, y, to, true)
			if len(l.Params) > 0 { // the parameter takes part, so that it gets a gradient
				y = g.AddInPlace(y, g.Sum(l.Params[0], false))
			}
			return y
		})
	}}
}
