//go:build !lean

package models

import (
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// invertedResidual wraps path under the given name, adding the input to its result where add is not nil.
func invertedResidual(class, name string, path nn.Spec, add nn.Sum) nn.Spec {
	return nn.Block{Class: class, Build: func(b *nn.Builder, l *nn.Layer) {
		p := b.Add(l, name, path)
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := p.Call(x[0])
			if add == nil {
				return y
			}
			return add(b.G, x[0], y)
		})
	}}
}

func mobilenetV2(b *nn.Builder, a *nn.Args) *Net {
	width, nearest := a.PositiveFloat("width_mult", 1), a.Positive("round_nearest", 8)
	p, classes, norm := a.Probability("dropout", 0.2), a.Positive("num_classes", 1000), normLayer(a)
	cna := func(in, out, kernel, stride, groups int64) nn.Spec {
		return nn.ConvNormActivation{In: in, Out: out, Kernel: nn.N(kernel), Stride: nn.N(stride), Groups: groups, Norm: norm, Activation: "ReLU6"}
	}
	in := divisible(32*width, nearest)
	last := divisible(1280*max(1, width), nearest)
	features := nn.Seq{cna(3, in, 3, 2, 1)}
	for _, s := range [...]struct {
		expand, c int64
		n         int
		stride    int64
	}{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}} {
		out := divisible(float64(s.c)*width, nearest)
		for i := range s.n {
			stride := int64(1)
			if i == 0 {
				stride = s.stride
			}
			hidden := in * s.expand
			var conv nn.Seq
			if s.expand != 1 {
				conv = append(conv, cna(in, hidden, 1, 1, 1))
			}
			conv = append(conv, cna(hidden, hidden, 3, stride, hidden), conv2d(hidden, out, 1, 1, 1, 1), norm(out))
			sum := nn.SumXY
			if stride != 1 || in != out {
				sum = nil
			}
			features = append(features, invertedResidual("InvertedResidual", "conv", conv, sum))
			in = out
		}
	}
	features = append(features, cna(in, last, 1, 1, 1))
	return classifier(b, "MobileNetV2", features, nn.AdaptivePool{Dim: 2, Out: nn.N(1)}, true, nn.Seq{nn.Dropout{P: p}, nn.Linear{In: last, Out: classes}})
}

// bneck is one row of the MobileNetV3 paper's tables 1 and 2 (InvertedResidualConfig).
type bneck struct {
	in, kernel, expanded, out int64
	se, hs                    bool
	stride                    int64
	tail                      bool // reduced by reduced_tail, dilated by dilated
}

type mobilenetV3 struct {
	rows []bneck
	last int64
}

var mobilenetV3s = map[string]mobilenetV3{
	"mobilenet_v3_large": {[]bneck{
		{16, 3, 16, 16, false, false, 1, false},
		{16, 3, 64, 24, false, false, 2, false},
		{24, 3, 72, 24, false, false, 1, false},
		{24, 5, 72, 40, true, false, 2, false},
		{40, 5, 120, 40, true, false, 1, false},
		{40, 5, 120, 40, true, false, 1, false},
		{40, 3, 240, 80, false, true, 2, false},
		{80, 3, 200, 80, false, true, 1, false},
		{80, 3, 184, 80, false, true, 1, false},
		{80, 3, 184, 80, false, true, 1, false},
		{80, 3, 480, 112, true, true, 1, false},
		{112, 3, 672, 112, true, true, 1, false},
		{112, 5, 672, 160, true, true, 2, true},
		{160, 5, 960, 160, true, true, 1, true},
		{160, 5, 960, 160, true, true, 1, true},
	}, 1280},
	"mobilenet_v3_small": {[]bneck{
		{16, 3, 16, 16, true, false, 2, false},
		{16, 3, 72, 24, false, false, 2, false},
		{24, 3, 88, 24, false, false, 1, false},
		{24, 5, 96, 40, true, true, 2, false},
		{40, 5, 240, 40, true, true, 1, false},
		{40, 5, 240, 40, true, true, 1, false},
		{40, 5, 120, 48, true, true, 1, false},
		{48, 5, 144, 48, true, true, 1, false},
		{48, 5, 288, 96, true, true, 2, true},
		{96, 5, 576, 96, true, true, 1, true},
		{96, 5, 576, 96, true, true, 1, true},
	}, 1024},
}

// mobilenetArgs are the arguments of _mobilenet_v3_conf.
type mobilenetArgs struct {
	width             float64
	reduced, dilation bool
	norm              nn.Norm
}

// features gives the layers of MobileNetV3.features, the channels each ends with and the indices of the strided blocks
// (_is_cn, the segmentation heads' taps).
func (m mobilenetV3) features(v mobilenetArgs) (features nn.Seq, channels []int64, strided []int) {
	adjust := func(c int64) int64 { return divisible(float64(c)*v.width, 8) }
	push := func(s nn.Spec, c int64) { features, channels = append(features, s), append(channels, c) }
	for i, r := range m.rows {
		if v.reduced && r.tail {
			r.out /= 2
			if i > 0 && m.rows[i-1].tail {
				r.in /= 2
				r.expanded /= 2
			}
		}
		in, hidden, out := adjust(r.in), adjust(r.expanded), adjust(r.out)
		if i == 0 {
			push(nn.ConvNormActivation{In: 3, Out: in, Stride: nn.N(2), Norm: v.norm, Activation: "Hardswish"}, in)
		}
		act := "ReLU"
		if r.hs {
			act = "Hardswish"
		}
		var path nn.Seq
		if hidden != in {
			path = append(path, nn.ConvNormActivation{In: in, Out: hidden, Kernel: nn.N(1), Norm: v.norm, Activation: act})
		}
		stride, dilation := r.stride, int64(1)
		if v.dilation && r.tail {
			stride, dilation = 1, 2
		}
		path = append(path, nn.ConvNormActivation{In: hidden, Out: hidden, Kernel: nn.N(r.kernel), Stride: nn.N(stride), Dilation: nn.N(dilation),
			Groups: hidden, Norm: v.norm, Activation: act})
		if r.se {
			path = append(path, nn.SqueezeExcitation{C: hidden, Squeeze: divisible(float64(hidden/4), 8), Scale: "Hardsigmoid"})
		}
		path = append(path, nn.ConvNormActivation{In: hidden, Out: out, Kernel: nn.N(1), Norm: v.norm})
		sum := nn.SumInPlace
		if r.stride != 1 || in != out {
			sum = nil
		}
		if r.stride > 1 {
			strided = append(strided, len(features))
		}
		push(invertedResidual("InvertedResidual", "block", path, sum), out)
	}
	in := channels[len(channels)-1]
	push(nn.ConvNormActivation{In: in, Out: 6 * in, Kernel: nn.N(1), Norm: v.norm, Activation: "Hardswish"}, 6*in)
	return features, channels, strided
}

// conf reads the arguments of _mobilenet_v3_conf.
func conf(a *nn.Args) mobilenetArgs {
	v := mobilenetArgs{a.PositiveFloat("width_mult", 1), a.Bool("reduced_tail", false), a.Bool("dilated", false), normLayer(a)}
	if !(v.width > 0 && v.width <= 64) {
		a.Fail("argument-positive", "width_mult", v.width)
		v.width = 1
	}
	return v
}

func (m mobilenetV3) build(b *nn.Builder, a *nn.Args) *Net {
	v := conf(a)
	p, classes := a.Probability("dropout", 0.2), a.Positive("num_classes", 1000)
	features, channels, _ := m.features(v)
	last := m.last
	if v.reduced {
		last /= 2
	}
	last = divisible(float64(last)*v.width, 8)
	return classifier(b, "MobileNetV3", features, nn.AdaptivePool{Dim: 2, Out: nn.N(1)}, false, nn.Seq{
		nn.Linear{In: channels[len(channels)-1], Out: last}, nn.Activation{Type: "Hardswish", InPlace: true},
		nn.Dropout{P: p, InPlace: true}, nn.Linear{In: last, Out: classes}})
}

// mnasnet is torchvision.models.MNASNet with its channels scaled by alpha.
func mnasnet(alpha float64) func(*nn.Builder, *nn.Args) *Net {
	return func(b *nn.Builder, a *nn.Args) *Net {
		scale := a.PositiveFloat("alpha", alpha)
		if !(scale > 0 && scale <= 64) {
			a.Fail("argument-positive", "alpha", scale)
			scale = alpha
		}
		p, classes := a.Probability("dropout", 0.2), a.Positive("num_classes", 1000)
		var depth [8]int64
		for i, d := range [...]int64{32, 16, 24, 40, 80, 96, 192, 320} {
			depth[i] = divisible(float64(d)*scale, 8)
		}
		relu := nn.ReLU(true)
		layers := nn.Seq{conv2d(3, depth[0], 3, 2, 1, 1), nn.BatchNorm2d(depth[0]), relu,
			conv2d(depth[0], depth[0], 3, 1, depth[0], 1), nn.BatchNorm2d(depth[0]), relu,
			conv2d(depth[0], depth[1], 1, 1, 1, 1), nn.BatchNorm2d(depth[1])}
		var stacks []int
		for i, s := range [...]struct {
			kernel, stride, expand int64
			n                      int
		}{{3, 2, 3, 3}, {5, 2, 3, 3}, {5, 2, 6, 3}, {3, 1, 6, 2}, {5, 2, 6, 4}, {3, 1, 6, 1}} {
			var stack nn.Seq
			in, out, stride := depth[i+1], depth[i+2], s.stride
			for range s.n {
				mid := in * s.expand
				sum := nn.SumYX
				if in != out || stride != 1 {
					sum = nil
				}
				stack = append(stack, invertedResidual("_InvertedResidual", "layers", nn.Seq{
					conv2d(in, mid, 1, 1, 1, 1), nn.BatchNorm2d(mid), relu,
					conv2d(mid, mid, s.kernel, stride, mid, 1), nn.BatchNorm2d(mid), relu,
					conv2d(mid, out, 1, 1, 1, 1), nn.BatchNorm2d(out)}, sum))
				in, stride = out, 1
			}
			stacks = append(stacks, len(layers))
			layers = append(layers, stack)
		}
		layers = append(layers, conv2d(depth[7], 1280, 1, 1, 1, 1), nn.BatchNorm2d(1280), relu)
		root := b.Root("MNASNet")
		l := b.Add(root, "layers", layers)
		head := b.Add(root, "classifier", nn.Seq{nn.Dropout{P: p, InPlace: true}, nn.Linear{In: 1280, Out: classes}})
		root.Forward(func(x ...torch.Tensor) torch.Tensor { return head.Call(b.G.Mean(l.Call(x[0]), false, 2, 3)) })
		n := chain(root)
		for _, s := range stacks {
			n = blocksOf(n, l.Kids[s])
		}
		return n
	}
}

func init() {
	add(&Preset{Name: "mobilenet_v2", Family: "mobilenet", Inputs: image(224), Build: mobilenetV2})
	for name, m := range mobilenetV3s {
		add(&Preset{Name: name, Family: "mobilenet", Inputs: image(224), Build: m.build})
	}
	for name, alpha := range map[string]float64{"mnasnet0_5": 0.5, "mnasnet0_75": 0.75, "mnasnet1_0": 1, "mnasnet1_3": 1.3} {
		add(&Preset{Name: name, Family: "mnasnet", Inputs: image(224), Build: mnasnet(alpha)})
	}
}
