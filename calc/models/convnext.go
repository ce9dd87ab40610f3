//go:build !lean

package models

import (
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// convnext are the stages of torchvision.models.convnext (channels double, depth blocks each) and the default of
// stochastic_depth_prob.
type convnext struct {
	c     int64
	depth [4]int
	p     float64
}

var convnexts = map[string]convnext{
	"convnext_tiny":  {96, [4]int{3, 3, 9, 3}, 0.1},
	"convnext_small": {96, [4]int{3, 3, 27, 3}, 0.4},
	"convnext_base":  {128, [4]int{3, 3, 27, 3}, 0.5},
	"convnext_large": {192, [4]int{3, 3, 27, 3}, 0.5},
}

// cnBlock is CNBlock of width c.
func cnBlock(c int64, p float64) nn.Spec {
	return nn.Block{Class: "CNBlock", Build: func(b *nn.Builder, l *nn.Layer) {
		scale := b.G.Param(l.Module, b.DType, c, 1, 1)
		block := b.Add(l, "block", nn.Seq{
			nn.Conv{Dim: 2, In: c, Out: c, Kernel: nn.N(7), Padding: nn.N(3), Groups: c}, nn.Permute{0, 2, 3, 1}, nn.LayerNorm{Shape: []int64{c}},
			nn.Linear{In: c, Out: 4 * c}, nn.Activation{Type: "GELU"}, nn.Linear{In: 4 * c, Out: c}, nn.Permute{0, 3, 1, 2}})
		depth := b.Add(l, "stochastic_depth", nn.StochasticDepth{P: p})
		l.Forward(nn.CNBlock(b.G, scale, block, depth))
	}}
}

func (v convnext) build(b *nn.Builder, a *nn.Args) *Net {
	a.Ignore("layer_scale")
	classes, p := a.Positive("num_classes", 1000), a.Probability("stochastic_depth_prob", v.p)
	norm := func(c int64) nn.Spec { return nn.LayerNorm2d{C: c} }
	total := -1
	for _, n := range v.depth {
		total += n
	}
	features := nn.Seq{nn.ConvNormActivation{In: 3, Out: v.c, Kernel: nn.N(4), Stride: nn.N(4), Padding: nn.N(0), Norm: norm, Bias: true}}
	id, c := 0, v.c
	for i, n := range v.depth {
		var stage nn.Seq
		for range n {
			stage = append(stage, cnBlock(c, p*float64(id)/float64(total)))
			id++
		}
		features = append(features, stage)
		if i < 3 {
			features = append(features, nn.Seq{norm(c), nn.Conv{Dim: 2, In: c, Out: 2 * c, Kernel: nn.N(2), Stride: nn.N(2)}})
			c *= 2
		}
	}
	root := b.Root("ConvNeXt")
	layers := []*nn.Layer{b.Add(root, "features", features), b.Add(root, "avgpool", nn.AdaptivePool{Dim: 2, Out: nn.N(1)}),
		b.Add(root, "classifier", nn.Seq{norm(c), nn.Flatten{Start: 1, End: -1}, nn.Linear{In: c, Out: classes}})}
	root.Forward(func(x ...torch.Tensor) torch.Tensor { return nn.Through(x[0], layers...) })
	f := layers[0].Kids
	return blocksOf(chain(root), f[1], f[3], f[5], f[7])
}

func init() {
	for name, v := range convnexts {
		add(&Preset{Name: name, Family: "convnext", Inputs: image(224), Build: v.build})
	}
}
