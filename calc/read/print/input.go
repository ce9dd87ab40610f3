package print

import (
	"slices"
	"strconv"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

func itoa(n int) string { return strconv.Itoa(n) }

// sides are the images that known classifiers are made for.
var sides = map[string]int64{"ResNet": 224, "ResNeXt": 224, "WideResNet": 224, "VGG": 224, "AlexNet": 224, "MobileNetV2": 224, "MobileNetV3": 224,
	"EfficientNet": 224, "MNASNet": 224, "RegNet": 224, "ConvNeXt": 224, "DenseNet": 224, "SqueezeNet": 224, "ShuffleNetV2": 224, "VisionTransformer": 224,
	"SwinTransformer": 224, "GoogLeNet": 224, "MaxVit": 224, "Inception3": 299, "InceptionV3": 299, "InceptionV4": 299, "Xception": 299}

// input finds what the network takes where the text proves it: the known class's own size, the first layer's features,
// or the only image for which the first linear layer fits. Otherwise there is no input and the caller asks.
func (r *reader) input(root *module) {
	w := wants(root)
	r.m.IDs = w.ids
	if r.m.Build == nil || len(r.shape) > 0 {
		return
	}
	switch {
	case w.ids || w.n <= 0:
		return
	case w.dim == -1:
		r.m.Inputs = []models.Input{{Shape: []int64{w.n}}}
		if r.try(r.m.Inputs[0].Shape) != nil {
			r.m.Inputs = nil
		}
		return
	case w.rank == 0:
		return
	}
	if p := r.chain(root); p != nil {
		r.m.Inputs, r.m.Loss, r.m.Name = p.Inputs, p.Loss, p.Name
		return
	}
	shape := make([]int64, w.rank-1)
	shape[0] = w.n
	set := func(side int64) []int64 {
		for i := range shape[1:] {
			shape[i+1] = side
		}
		return shape
	}
	if known := inner(root); sides[known.kind()] > 0 && w.rank == 4 && (classOf(known) != nil || r.m.Name != "") {
		side := sides[known.kind()]
		if r.try(set(side)) == nil {
			r.m.Inputs = []models.Input{{Shape: slices.Clone(shape)}}
			return
		}
	}
	// the flattened features grow with the side: look for the one that the first linear layer takes
	lo, hi := int64(1), int64(2048)
	if w.rank == 3 {
		hi = 1 << 20
	}
	if w.rank == 5 {
		hi = 256
	}
	fit := int64(0)
	for lo <= hi {
		mid := (lo + hi) / 2
		e := r.try(set(mid))
		if e == nil {
			fit = mid
			break
		}
		if tooLarge(e) {
			hi = mid - 1
		} else {
			lo = mid + 1
		}
	}
	if fit == 0 {
		return
	}
	// the range of sides that fit; a network that takes any proves nothing
	low, high := fit, fit
	for ; low > 1 && fit-low < 64 && r.try(set(low-1)) == nil; low-- {
	}
	for ; high-fit < 64 && r.try(set(high+1)) == nil; high++ {
	}
	if high-low >= 64 {
		return
	}
	side := usual(low, high)
	r.m.Inputs = []models.Input{{Shape: slices.Clone(set(side))}}
	if low != high {
		r.m.Warn("input-inferred", "input", "low", low, "high", high, "used", side)
	}
}

// inner is the model that wrappers hold (DataParallel, a LightningModule): the only module with weights in each.
func inner(m *module) *module {
	for classOf(m) == nil && (!sequential(m) || len(m.kids) == 1) {
		var only *module
		for _, k := range m.kids {
			if wants(k) != (want{}) {
				if only != nil {
					return m
				}
				only = k
			}
		}
		if only == nil || len(only.kids) == 0 {
			return m
		}
		m = only
	}
	return m
}

// usual is the side that people use among those that fit.
func usual(low, high int64) int64 {
	for _, s := range []int64{224, 32, 28, 64, 128, 256, 299, 96, 48, 512, 227} {
		if s >= low && s <= high {
			return s
		}
	}
	for _, m := range []int64{64, 32, 16, 8, 4, 2} {
		if s := (high / m) * m; s >= low {
			return s
		}
	}
	return low
}

// tooLarge says whether e is a linear layer given more features than it takes.
func tooLarge(e error) bool {
	f, ok := e.(*fault.Error)
	if !ok || f.Code != "linear-features" {
		return false
	}
	s, _ := f.Args["shape"].(torch.Shape)
	n, _ := f.Args["in_features"].(int64)
	if len(s) == 0 {
		return false
	}
	all := int64(1)
	for _, d := range s[1:] {
		all *= d
	}
	return all > n
}

// try runs the forward alone on an input of that shape. What it may build in all is bounded: a size is worth a few tries.
func (r *reader) try(shape []int64) (err error) {
	defer fault.Catch(&err)
	if r.budget -= r.modules; r.budget < 0 {
		fault.Throw("input-missing", "input")
	}
	g := torch.NewGraph(2, torch.Rules{})
	net := r.m.Build(&nn.Builder{G: g, Training: true})
	net.Forward(g.Input(shape, torch.Float32))
	return nil
}

// chain is the preset that is the same chain of layers, if there is one.
func (r *reader) chain(root *module) *models.Preset {
	if root.kind() != "Sequential" || len(root.kids) > 64 {
		return nil
	}
	sig := func(b func(*nn.Builder) *models.Net) (out []string) {
		g := torch.NewGraph(2, torch.Rules{})
		m := b(&nn.Builder{G: g, Training: true}).Root.Module
		if m.Type != "Sequential" || len(m.Children) != len(root.kids) {
			return nil
		}
		for _, c := range m.Children {
			s := c.Type
			for _, p := range c.Params {
				s += torch.Shape(g.Shape(p)).String()
			}
			out = append(out, s)
		}
		return out
	}
	var mine []string
	for _, name := range models.Names() {
		p, _ := models.Find(name)
		if !chainFamilies[p.Family] {
			continue
		}
		if mine == nil {
			mine = sig(r.m.Build)
		}
		if slices.Equal(sig(func(b *nn.Builder) *models.Net { return p.Build(b, nn.NewArgs(name, Field, nil)) }), mine) {
			return p
		}
	}
	return nil
}

// chainFamilies are the families of presets that are an nn.Sequential.
var chainFamilies = map[string]bool{"lesson": true, "lenet": true, "autoencoder": true, "conv1d": true, "conv3d": true, "gan": true}
