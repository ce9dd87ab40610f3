//go:build !lean

package models

import (
	"math"
	"slices"
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// regnet are the arguments of BlockParams.from_init_params; y adds squeeze-and-excitation of ratio 0.25.
type regnet struct {
	depth      int
	w0         int64
	wa, wm     float64
	groupWidth int64
	y          bool
}

var regnets = map[string]regnet{
	"regnet_y_400mf": {16, 48, 27.89, 2.09, 8, true},
	"regnet_y_800mf": {14, 56, 38.84, 2.4, 16, true},
	"regnet_y_1_6gf": {27, 48, 20.71, 2.65, 24, true},
	"regnet_y_3_2gf": {21, 80, 42.63, 2.66, 24, true},
	"regnet_y_8gf":   {17, 192, 76.82, 2.19, 56, true},
	"regnet_y_16gf":  {18, 200, 106.23, 2.48, 112, true},
	"regnet_y_32gf":  {20, 232, 115.89, 2.53, 232, true},
	"regnet_y_128gf": {27, 456, 160.83, 2.52, 264, true},
	"regnet_x_400mf": {22, 24, 24.48, 2.54, 16, false},
	"regnet_x_800mf": {16, 56, 35.73, 2.28, 16, false},
	"regnet_x_1_6gf": {18, 80, 34.01, 2.25, 24, false},
	"regnet_x_3_2gf": {25, 88, 26.31, 2.25, 48, false},
	"regnet_x_8gf":   {23, 80, 49.56, 2.88, 120, false},
	"regnet_x_16gf":  {22, 216, 55.59, 2.1, 128, false},
	"regnet_x_32gf":  {23, 320, 69.86, 2.0, 168, false},
}

// stage is AnyStage: depth blocks of the same width.
type stage struct {
	width, group int64
	depth        int
}

// stages quantizes the linear widths w0 + wa*i to powers of wm and multiples of 8, then to multiples of the group width.
func (r regnet) stages() []stage {
	var out []stage
	for i := range r.depth {
		w := float64(r.w0)
		capacity := math.RoundToEven(math.Log((w+r.wa*float64(i))/w) / math.Log(r.wm))
		width := 8 * round(w*math.Pow(r.wm, capacity)/8)
		if n := len(out); n > 0 && out[n-1].width == width {
			out[n-1].depth++
		} else {
			out = append(out, stage{width, min(r.groupWidth, width), 1})
		}
	}
	for i, s := range out {
		out[i].width = divisible(float64(s.width), s.group)
	}
	return out
}

func (r regnet) build(b *nn.Builder, a *nn.Args) *Net {
	classes, norm, in := a.Positive("num_classes", 1000), normLayer(a), a.Positive("stem_width", 32)
	cna := func(in, out, kernel, stride, groups int64, act string) nn.ConvNormActivation {
		return nn.ConvNormActivation{In: in, Out: out, Kernel: nn.N(kernel), Stride: nn.N(stride), Groups: groups, Norm: norm, Activation: act}
	}
	root := b.Root("RegNet")
	stem := cna(3, in, 3, 2, 1, "ReLU")
	stem.Class = "SimpleStemIN"
	layers := []*nn.Layer{b.Add(root, "stem", stem)}
	trunk := nn.Ordered{}
	for i, s := range r.stages() {
		n := strconv.Itoa(i + 1)
		blocks := nn.Ordered{Class: "AnyStage"}
		for j := range s.depth {
			stride := int64(1)
			if j == 0 {
				stride = 2
			}
			f := nn.Ordered{Class: "BottleneckTransform", Children: []nn.Child{
				{Name: "a", Spec: cna(in, s.width, 1, 1, 1, "ReLU")},
				{Name: "b", Spec: cna(s.width, s.width, 3, stride, s.width/s.group, "ReLU")}}}
			if r.y {
				f.Children = append(f.Children, nn.Child{Name: "se", Spec: nn.SqueezeExcitation{C: s.width, Squeeze: round(0.25 * float64(in))}})
			}
			f.Children = append(f.Children, nn.Child{Name: "c", Spec: cna(s.width, s.width, 1, 1, 1, "")})
			var proj nn.Spec
			if in != s.width || stride != 1 {
				proj = cna(in, s.width, 1, stride, 1, "")
			}
			blocks.Children = append(blocks.Children, nn.Child{Name: "block" + n + "-" + strconv.Itoa(j), Spec: resBottleneck(proj, f)})
			in = s.width
		}
		trunk.Children = append(trunk.Children, nn.Child{Name: "block" + n, Spec: blocks})
	}
	layers = append(layers, b.Add(root, "trunk_output", trunk), b.Add(root, "avgpool", nn.AdaptivePool{Dim: 2, Out: nn.N(1)}))
	fc := b.Add(root, "fc", nn.Linear{In: in, Out: classes})
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		return fc.Call(b.G.Flatten(nn.Through(x[0], layers...), 1, -1))
	})
	return blocksOf(chain(root), slices.Clone(layers[1].Kids)...)
}

// resBottleneck is ResBottleneckBlock: activation(proj(x) + f(x)).
func resBottleneck(proj, f nn.Spec) nn.Spec {
	return nn.Block{Class: "ResBottleneckBlock", Build: func(b *nn.Builder, l *nn.Layer) {
		var p *nn.Layer
		if proj != nil {
			p = b.Add(l, "proj", proj)
		}
		t := b.Add(l, "f", f)
		relu := b.Add(l, "activation", nn.ReLU(true))
		l.Forward(nn.ResBottleneck(b.G, p, t, relu))
	}}
}

func init() {
	for name, r := range regnets {
		add(&Preset{Name: name, Family: "regnet", Inputs: image(224), Build: r.build})
	}
}
