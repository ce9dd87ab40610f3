package summary

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/torch"
)

// understand fills m from the rows: totals, tree, and the best network that they prove.
func (t *table) understand(m *read.Model, shape []int64) {
	if t.kind == "keras" {
		t.channelsFirst()
	}
	t.nest()
	var sum, trainable int64
	for _, r := range t.rows {
		if r.again {
			continue
		}
		sum += r.params
		if !r.frozen {
			trainable += r.params
		}
		if sum > 1<<56 {
			fault.Throw("size-overflow", at(r.line), "shape", torch.Shape{r.params})
		}
		if r.shape != nil && len(r.kids) == 0 {
			t.stated.OutputBytes += 4 * max(volume(r.shape), 0)
		}
	}
	m.Parameters, m.Trainable = sum, trainable
	if t.totals {
		if t.stated.Total > 0 || sum == 0 {
			if sum != t.stated.Total {
				m.Warn("summary-total", Field, "rows", sum, "total", t.stated.Total)
			}
			m.Parameters = t.stated.Total
		}
		if t.stated.Trainable > 0 || t.stated.NonTrainable > 0 {
			m.Trainable = t.stated.Trainable
		}
	}
	t.batch = 1
	for _, r := range t.rows {
		if len(r.shape) > 0 && r.shape[0] > 0 {
			t.batch = r.shape[0]
			break
		}
	}
	t.stated.Batch = t.batch
	if p := t.stated.ParamsBytes; p > 0 && m.Parameters > 0 {
		switch ratio := float64(p) / float64(m.Parameters); {
		case ratio > 1.5 && ratio < 2.6:
			m.DType = "float16"
		case ratio > 7 && ratio < 9:
			m.DType = "float64"
		}
	}
	m.Tree = t.tree()
	if t.cut > 0 {
		m.Missing = fault.New("summary-cut", at(t.cut))
		return
	}
	if t.shared(m) {
		return
	}
	if !t.preset(m, shape) && !t.huggingFace(m, shape) && !t.chain(m, shape) {
		t.rough(m, shape)
	}
	m.Tree = t.tree() // with the network's paths
}

func volume(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			d = 1 // the batch, or a size that the table leaves open
		}
		if d > 0 && n > math.MaxInt64/64/d {
			return 0
		}
		n *= d
	}
	return n
}

// channelsFirst turns Keras's shapes into PyTorch's order.
func (t *table) channelsFirst() {
	for _, r := range t.rows {
		if n := len(r.shape); n > 2 && r.class != "Embedding" {
			c := r.shape[n-1]
			copy(r.shape[2:], r.shape[1:n-1])
			r.shape[1] = c
		}
	}
}

// nest gives each row its children.
func (t *table) nest() {
	var open []*row
	for _, r := range t.rows {
		for len(open) > 0 && open[len(open)-1].depth >= r.depth {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			p := open[len(open)-1]
			p.kids = append(p.kids, r)
		}
		open = append(open, r)
	}
}

// tree is what the page shows.
func (t *table) tree() *read.Node {
	root := &read.Node{Class: t.model, Understood: true}
	var show func(r *row, path string) *read.Node
	show = func(r *row, path string) *read.Node {
		n := &read.Node{Path: path, Class: r.class, Output: r.shape, Params: r.params, Line: r.line, Understood: true}
		if r.again {
			n.Params = 0
		}
		for i, k := range r.kids {
			c := show(k, k.at(path, i))
			n.Params += c.Params
			n.Children = append(n.Children, c)
		}
		return n
	}
	top := 0
	for _, r := range t.rows {
		if r.depth == 0 && root.Line == 0 {
			root = show(r, "")
			continue
		}
		if root.Line == 0 && r.depth <= 1 {
			c := show(r, r.at("", top))
			top++
			root.Params += c.Params
			root.Children = append(root.Children, c)
		}
	}
	if root.Class == "" {
		root.Class = "Module"
	}
	return root
}

// at is the row's path: the network's, else its name or number below its parent.
func (r *row) at(parent string, i int) string {
	switch {
	case r.path != "":
		return r.path
	case r.name != "":
		return join(parent, r.name)
	}
	return join(parent, strconv.Itoa(i))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// leaves are the rows without rows below them, which a forward ran.
func (t *table) leaves() []*row {
	var out []*row
	for _, r := range t.rows {
		if len(r.kids) == 0 && r.shape != nil && r.depth > 0 {
			out = append(out, r)
		}
	}
	return out
}

// shared finds a torchsummary of a model with several inputs whose branches are the same modules: each call is a row
// there and counts again. The table shows it where the same layers, with the same parameters, start over on a map that the
// layer before cannot have given.
func (t *table) shared(m *read.Model) bool {
	if t.kind != "torchsummary" {
		return false
	}
	rows := t.leaves()
	for n := 1; n <= len(rows)/2; n++ {
		if len(rows)%n != 0 {
			continue
		}
		equal := true
		for i := n; i < len(rows) && equal; i++ {
			equal = rows[i].class == rows[i%n].class && rows[i].params == rows[i%n].params && len(rows[i].shape) == len(rows[i%n].shape)
		}
		if !equal || !t.restarts(rows, n) {
			continue
		}
		var once int64
		for _, r := range rows[:n] {
			once += r.params
		}
		m.Warn("summary-shared", at(rows[n].line), "rows", m.Parameters, "once", once, "times", len(rows)/n)
		m.Parameters, m.Trainable = once, once
		for i, c := range m.Tree.Children {
			if i >= n {
				c.Params = 0
			}
		}
		m.Tree.Params = once
		m.Missing = fault.New("summary-inputs", at(rows[n].line))
		return true
	}
	return false
}

// restarts says whether every n-th row has a larger map than the one before it, which no convolution gives.
func (t *table) restarts(rows []*row, n int) bool {
	for i := n; i < len(rows); i += n {
		a, b := rows[i-1].shape, rows[i].shape
		if len(a) != len(b) || len(a) < 3 || !strings.HasPrefix(rows[i].class, "Conv") || strings.HasPrefix(rows[i].class, "ConvTranspose") || b[2] <= a[2] {
			return false
		}
	}
	return true
}

// families of presets by the class of the model or, where the table does not name it, of its blocks.
var families = map[string][]string{
	"ResNet": {"resnet"}, "Bottleneck": {"resnet"}, "BasicBlock": {"resnet"}, "VGG": {"vgg"}, "AlexNet": {"alexnet"}, "MobileNetV2": {"mobilenet"}, "MobileNetV3": {"mobilenet"},
	"InvertedResidual": {"mobilenet", "shufflenet"}, "MNASNet": {"mnasnet"}, "_InvertedResidual": {"mnasnet"}, "RegNet": {"regnet"}, "ResBottleneckBlock": {"regnet"},
	"ConvNeXt": {"convnext"}, "CNBlock": {"convnext"}, "DenseNet": {"densenet"}, "_DenseLayer": {"densenet"}, "EfficientNet": {"efficientnet"}, "MBConv": {"efficientnet"},
	"SqueezeNet": {"squeezenet"}, "Fire": {"squeezenet"}, "ShuffleNetV2": {"shufflenet"}, "GoogLeNet": {"inception"}, "Inception3": {"inception"}, "Inception": {"inception"},
	"VisionTransformer": {"vit"}, "EncoderBlock": {"vit"}, "SwinTransformer": {"swin"}, "FCN": {"segmentation"}, "DeepLabV3": {"segmentation"}, "LRASPP": {"segmentation"},
	"VideoResNet": {"video"}, "S3D": {"video"}, "MaxVit": {"maxvit"},
}

// preset looks for the preset that calls the same layers with the same shapes.
func (t *table) preset(m *read.Model, shape []int64) bool {
	wanted := families[t.model]
	if wanted == nil {
		for _, r := range t.rows {
			if f := families[r.class]; f != nil {
				wanted = f
				break
			}
		}
	}
	rows := t.leaves()
	if wanted == nil || len(rows) == 0 {
		return false
	}
	classes := int64(0)
	for _, r := range rows {
		if r.class == "Linear" && len(r.shape) == 2 {
			classes = r.shape[1]
		}
	}
	if last := rows[len(rows)-1]; classes == 0 && len(last.shape) > 1 {
		classes = last.shape[1]
	}
	for _, name := range models.Names() {
		p, _ := models.Find(name)
		if !slices.Contains(wanted, p.Family) || classes < 1 {
			continue
		}
		for _, args := range []map[string]any{{"num_classes": classes}, {"num_classes": classes, "aux_logits": true}, {"num_classes": classes, "aux_loss": true}} {
			build := func(b *nn.Builder) *models.Net { return p.Build(b, nn.NewArgs(name, Field, args)) }
			c := *m
			c.Build, c.Tree = build, &read.Node{}
			if c.Measure() != nil || c.Parameters != m.Parameters {
				continue
			}
			for _, in := range t.inputs(rows[0], p, shape) {
				frozen, ok := t.same(build, in)
				if !ok {
					continue
				}
				m.Name, m.Loss, m.Flat = name, p.Loss, p.Flat
				m.Build = func(b *nn.Builder) *models.Net {
					net := build(b)
					freeze(b.G, net.Root.Module, frozen)
					return net
				}
				m.Inputs = []models.Input{{Shape: in}}
				return true
			}
		}
	}
	return false
}

// inputs are the images to try: the given one, the preset's own, and those whose first map can be the table's.
func (t *table) inputs(first *row, p *models.Preset, given []int64) [][]int64 {
	if len(p.Inputs) != 1 {
		return nil
	}
	own := p.Inputs[0].Shape
	var out [][]int64
	if len(given) > 0 {
		out = append(out, given)
	}
	out = append(out, own)
	if len(own) == 3 && len(first.shape) == 4 {
		for _, k := range []int64{2, 1, 4} {
			for _, odd := range []int64{0, 1, -1, 2} {
				if s := first.shape[2]*k + odd; s > 0 && s != own[1] {
					out = append(out, []int64{own[0], s, first.shape[3]*k + odd})
				}
			}
		}
	}
	return out
}

// freeze takes the gradients of the modules at those paths away.
func freeze(g *torch.Graph, m *torch.Module, paths map[string]bool) {
	if paths[m.Path] {
		g.Freeze(m)
		return
	}
	for _, c := range m.Children {
		freeze(g, c, paths)
	}
}

// same runs the preset's forward and compares each layer's class and shape with the table. frozen are the paths of the
// layers whose parameters the table shows as not trainable.
func (t *table) same(build func(*nn.Builder) *models.Net, in []int64) (frozen map[string]bool, ok bool) {
	var err error
	defer func() {
		if err != nil {
			ok = false
		}
	}()
	defer fault.Catch(&err)
	frozen = map[string]bool{}
	paths := map[*row]string{}
	batch := max(t.batch, 1)
	g := torch.NewGraph(batch, torch.Rules{})
	g.NoGrad()
	net := build(&nn.Builder{G: g, Training: true})
	out := net.Forward(g.Input(in, torch.Float32))
	g.BeginLoss(out...)
	g.EndLoss(torch.None)
	deepest := 0
	for _, r := range t.rows {
		deepest = max(deepest, r.depth)
	}
	var calls []torch.Call
	all := g.Compile().Calls
	for i, c := range all {
		depth := 0
		if c.Path != "" {
			depth = strings.Count(c.Path, ".") + 1
		}
		if c.Type == "function" || c.Type == "loss" {
			continue
		}
		// a module whose own modules are not called has one row
		c.Leaf = c.Leaf || i+1 == len(all) || !strings.HasPrefix(all[i+1].Path, c.Path+".") && c.Path != ""
		if t.kind == "torchsummary" {
			if c.Leaf {
				calls = append(calls, c)
			}
		} else if depth > 0 && (c.Leaf && depth <= deepest || depth == deepest) {
			calls = append(calls, c)
		}
	}
	i := 0
	for _, r := range t.leaves() {
		if t.kind == "torchsummary" && !layer(r.class) {
			continue // a container, listed behind its layers
		}
		if i >= len(calls) {
			return nil, false
		}
		c := calls[i]
		i++
		if c.Leaf && c.Type != r.class || !sameShape(c.Out, r.shape) {
			return nil, false
		}
		paths[r] = c.Path
		if r.frozen {
			frozen[c.Path] = true
		}
	}
	if i != len(calls) {
		return nil, false
	}
	for r, p := range paths {
		r.path = p
	}
	t.parents()
	return frozen, true
}

// parents gives containers the path that their first row shows.
func (t *table) parents() {
	for i := len(t.rows) - 1; i >= 0; i-- {
		r := t.rows[i]
		for _, k := range r.kids {
			if j := strings.LastIndexByte(k.path, '.'); j > 0 && r.depth > 0 {
				r.path = k.path[:j]
				break
			}
		}
	}
}

// layer says whether a class is a layer of PyTorch's without layers in it.
func layer(class string) bool {
	return slices.Contains(nn.Types(), class) && class != "SqueezeExcitation" && class != "MultiheadAttention" && !strings.HasPrefix(class, "Transformer")
}

func sameShape(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if b[i] >= 0 && i > 0 && a[i] != b[i] {
			return false
		}
	}
	return true
}
