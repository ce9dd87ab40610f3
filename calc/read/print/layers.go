package print

import (
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// call is a container being built: its layer, its printed module and its children by name.
type call struct {
	b    *nn.Builder
	g    *torch.Graph
	r    *reader
	l    *nn.Layer
	m    *module
	kids map[string]*nn.Layer
	list []*nn.Layer
	mods []*module // of list
	// noted are the assumptions that the recording has as warnings.
	noted map[string]bool
}

// kid is the child of that name, nil when it was not printed.
func (c *call) kid(name string) *nn.Layer { return c.kids[name] }

// has says whether all of the names were printed.
func (c *call) has(names ...string) bool {
	for _, n := range names {
		if c.kids[n] == nil {
			return false
		}
	}
	return true
}

// first is the child of the first name that was printed.
func (c *call) first(names ...string) *nn.Layer {
	for _, n := range names {
		if k := c.kids[n]; k != nil {
			return k
		}
	}
	return nil
}

// run calls the children of those names one after the other, without those that were not printed.
func (c *call) run(y torch.Tensor, names ...string) torch.Tensor {
	return nn.Through(y, c.all(names...)...)
}

// all are the children of those names that were printed.
func (c *call) all(names ...string) []*nn.Layer {
	var out []*nn.Layer
	for _, n := range names {
		if k := c.kids[n]; k != nil {
			out = append(out, k)
		}
	}
	return out
}

// args are the arguments of a printed layer; none of a missing one.
func (m *module) args() map[string]any {
	if m == nil {
		return nil
	}
	a, _ := arguments(alias(m.kind()), m.extra)
	return a
}

// size is an integer argument, 0 when it is none.
func (m *module) size(name string) int64 {
	if m == nil {
		return 0
	}
	n, _ := m.args()[name].(int64)
	return n
}

// strided says whether a convolution or pooling at or below m moves by more than one.
func (m *module) strided() bool {
	if m == nil {
		return false
	}
	if len(m.kids) == 0 {
		for _, v := range ints(m.args()["stride"]) {
			if v > 1 {
				return true
			}
		}
	}
	for _, k := range m.kids {
		if k.strided() {
			return true
		}
	}
	return false
}

func ints(v any) []int64 {
	switch v := v.(type) {
	case int64:
		return []int64{v}
	case []any:
		var out []int64
		for _, e := range v {
			if n, ok := e.(int64); ok {
				out = append(out, n)
			}
		}
		return out
	}
	return nil
}

// spec is the layer or container that m prints.
func (r *reader) spec(m *module) nn.Spec {
	if s, ok := r.specs[m]; ok {
		return s
	}
	s := r.make(m)
	r.specs[m] = s
	return s
}

func (r *reader) make(m *module) nn.Spec {
	kind := m.kind()
	for _, k := range m.kids { // every layer is read once, with its warnings
		if k.class != "None" && k.class != "Parameter" && kind != "MultiheadAttention" {
			r.spec(k)
		}
	}
	if v := classOf(m); v != nil {
		return nn.Block{Class: m.class, Build: func(b *nn.Builder, l *nn.Layer) { r.build(b, l, m, v) }}
	}
	if kind == "MultiheadAttention" {
		return r.attention(m)
	}
	if len(m.kids) > 0 {
		switch {
		case sequential(m):
		case kind == "ModuleList" || kind == "ModuleDict" || kind == "ParameterList" || kind == "ParameterDict":
		default:
			r.warn(m, "assumed-sequential")
		}
		return nn.Block{Class: m.class, Build: func(b *nn.Builder, l *nn.Layer) { r.build(b, l, m, nil) }}
	}
	return r.leaf(m)
}

// leaf is a layer without children.
func (r *reader) leaf(m *module) nn.Spec {
	kind := alias(m.kind())
	args, rest := arguments(kind, m.extra)
	switch {
	case kind == "StochasticDepth":
		if v, ok := args["drop_prob"]; ok {
			args = map[string]any{"p": v}
		} else if m.kind() == "DropPath" {
			args = map[string]any{"p": 0.1}
			if f, ok := parseValue(rest).(float64); ok {
				args["p"] = f
			}
		}
	case kind == "LayerNorm2d":
		if v := ints(args["normalized_shape"]); len(v) == 1 {
			args["normalized_shape"] = v[0]
		}
		delete(args, "elementwise_affine")
		delete(args, "bias")
	case strings.HasSuffix(kind, "RMSNorm") && kind != "RMSNorm" || kind == "T5LayerNorm":
		return r.rms(m, args, rest)
	case quantisedBits[m.kind()] > 0:
		return r.quantised(m, args)
	case strings.HasPrefix(m.kind(), "QuantizedConv"):
		delete(args, "scale")
		delete(args, "zero_point")
	case kind == "Identity":
		return nn.Identity{}
	case m.kind() == "Conv2dSame":
		args["padding"] = "same"
	case kind == "Permute" && args["dims"] == nil:
		return r.permute(m)
	case (kind == "Sequential" || kind == "ModuleList" || kind == "ModuleDict" || kind == "ParameterList" || kind == "ParameterDict") && m.extra == "":
		return nn.Seq{}
	}
	if aside(kind) {
		return nn.Identity{}
	}
	if _, ok := types[kind]; !ok && resembles(m.extra) != "" {
		kind = resembles(m.extra)
		args, _ = arguments(kind, m.extra)
		r.warn(m, "assumed-layer", "type", kind)
	}
	if _, ok := types[kind]; !ok {
		r.warn(m, "layer-unknown", "extra", short(m.extra))
		return nn.Block{Class: m.class, Build: func(_ *nn.Builder, l *nn.Layer) {
			l.Forward(func(x ...torch.Tensor) torch.Tensor { return x[0] })
		}}
	}
	s, err := nn.Parse(kind, at(m.line), args)
	for try := 0; err != nil && try < 16; try++ {
		e, ok := err.(*fault.Error)
		if !ok || e.Code != "argument-unknown" {
			break
		}
		name, _ := e.Args["argument"].(string)
		r.m.Warn("argument-ignored", at(m.line), "type", m.class, "argument", name)
		delete(args, name)
		s, err = nn.Parse(kind, at(m.line), args)
	}
	if err != nil {
		if e, ok := err.(*fault.Error); ok && e.Code == "argument-missing" && m.extra == "" { // it prints no arguments
			r.warn(m, "layer-unknown", "extra", "")
			return nn.Identity{}
		}
		panic(err)
	}
	return s
}

// aside says whether a module is kept beside the network and not called in its forward: a loss, a metric, a processor.
func aside(kind string) bool {
	for _, s := range []string{"Loss", "Accuracy", "Metric", "MetricCollection", "F1Score", "AUROC", "Precision", "Recall"} {
		if strings.HasSuffix(kind, s) {
			return true
		}
	}
	return false
}

// build adds m's children to l and gives l its forward: that of the class, or one after the other.
func (r *reader) build(b *nn.Builder, l *nn.Layer, m *module, v *variant) {
	c := &call{b: b, g: b.G, r: r, l: l, m: m, kids: map[string]*nn.Layer{}}
	line := m.line
	defer func() { // a size that cannot be built has no path yet
		if p := recover(); p != nil {
			if e, ok := p.(*fault.Error); ok && (e.At == "" || !strings.Contains(e.At, Field)) {
				e.At = at(line)
			}
			panic(p)
		}
	}()
	for _, k := range m.kids {
		line = k.line
		switch {
		case k.param != nil:
			b.Param(l, k.param...)
			continue
		case k.class == "None" || k.class == "Parameter":
			continue
		}
		s := r.spec(k)
		for i := range max(k.repeat, 1) {
			name := k.name
			if k.repeat > 1 {
				name = strconv.Itoa(k.first + i)
			}
			layer := b.Add(l, name, s)
			c.kids[name] = layer
			c.list = append(c.list, layer)
			c.mods = append(c.mods, k)
		}
	}
	line = m.line
	if v != nil {
		l.Forward(v.forward(c))
		return
	}
	if sequential(m) {
		l.Chain()
		return
	}
	l.Forward(c.assume())
}

// sequential says whether m is an nn.Sequential or a subclass of it: its children are numbered, or its class is known for it.
func sequential(m *module) bool {
	kind := m.kind()
	if kind == "ModuleList" || kind == "ModuleDict" || strings.HasPrefix(kind, "Parameter") {
		return false
	}
	if kind == "Sequential" || chains[kind] {
		return true
	}
	for i, k := range m.kids {
		if k.first1() != strconv.Itoa(i) && !(k.repeat > 1 && i == 0 && k.first == 0) {
			return false
		}
	}
	return len(m.kids) > 1
}

// chains are subclasses of nn.Sequential with named children, or modules whose forward is one.
var chains = map[string]bool{
	"SimpleStemIN": true, "BottleneckTransform": true, "AnyStage": true, "_Transition": true, "Transition": true, "MLPBlock": true,
	"ConvNormActivation": true, "Conv2dNormActivation": true, "Conv3dNormActivation": true, "ConvBNActivation": true, "ConvBNReLU": true,
	"DataParallel": true, "DistributedDataParallel": true, "FullyShardedDataParallel": true, "OptimizedModule": true, "Conv2dReLU": true, "SegmentationHead": true, "ClassificationHead": true, "FeedForward": true, "DoubleConv": true, "OutConv": true, "Down": true,
	"FCNHead": true, "DeepLabHead": true, "ConvBlock": true, "Activation": true,
}
