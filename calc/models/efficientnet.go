//go:build !lean

package models

import (
	"math"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// mbconv is MBConvConfig, or FusedMBConvConfig where fused.
type mbconv struct {
	fused                           bool
	expand, kernel, stride, in, out int64
	layers                          int
}

// efficientnet are the arguments of _efficientnet_conf and the dropout of each constructor.
type efficientnet struct {
	rows         []mbconv
	width, depth float64
	dropout      float64
	last         int64 // 0: four times the last stage
}

var efficientnetB = []mbconv{
	{false, 1, 3, 1, 32, 16, 1}, {false, 6, 3, 2, 16, 24, 2}, {false, 6, 5, 2, 24, 40, 2}, {false, 6, 3, 2, 40, 80, 3},
	{false, 6, 5, 1, 80, 112, 3}, {false, 6, 5, 2, 112, 192, 4}, {false, 6, 3, 1, 192, 320, 1},
}

var efficientnets = map[string]efficientnet{
	"efficientnet_b0": {efficientnetB, 1.0, 1.0, 0.2, 0},
	"efficientnet_b1": {efficientnetB, 1.0, 1.1, 0.2, 0},
	"efficientnet_b2": {efficientnetB, 1.1, 1.2, 0.3, 0},
	"efficientnet_b3": {efficientnetB, 1.2, 1.4, 0.3, 0},
	"efficientnet_b4": {efficientnetB, 1.4, 1.8, 0.4, 0},
	"efficientnet_b5": {efficientnetB, 1.6, 2.2, 0.4, 0},
	"efficientnet_b6": {efficientnetB, 1.8, 2.6, 0.5, 0},
	"efficientnet_b7": {efficientnetB, 2.0, 3.1, 0.5, 0},
	"efficientnet_v2_s": {[]mbconv{{true, 1, 3, 1, 24, 24, 2}, {true, 4, 3, 2, 24, 48, 4}, {true, 4, 3, 2, 48, 64, 4},
		{false, 4, 3, 2, 64, 128, 6}, {false, 6, 3, 1, 128, 160, 9}, {false, 6, 3, 2, 160, 256, 15}}, 1, 1, 0.2, 1280},
	"efficientnet_v2_m": {[]mbconv{{true, 1, 3, 1, 24, 24, 3}, {true, 4, 3, 2, 24, 48, 5}, {true, 4, 3, 2, 48, 80, 5},
		{false, 4, 3, 2, 80, 160, 7}, {false, 6, 3, 1, 160, 176, 14}, {false, 6, 3, 2, 176, 304, 18}, {false, 6, 3, 1, 304, 512, 5}}, 1, 1, 0.3, 1280},
	"efficientnet_v2_l": {[]mbconv{{true, 1, 3, 1, 32, 32, 4}, {true, 4, 3, 2, 32, 64, 7}, {true, 4, 3, 2, 64, 96, 7},
		{false, 4, 3, 2, 96, 192, 10}, {false, 6, 3, 1, 192, 224, 19}, {false, 6, 3, 2, 224, 384, 25}, {false, 6, 3, 1, 384, 640, 7}}, 1, 1, 0.4, 1280},
}

// path is the block's Sequential.
func (m mbconv) path(norm nn.Norm) nn.Seq {
	cna := func(in, out, kernel, stride, groups int64, act string) nn.Spec {
		return nn.ConvNormActivation{In: in, Out: out, Kernel: nn.N(kernel), Stride: nn.N(stride), Groups: groups, Norm: norm, Activation: act}
	}
	hidden := divisible(float64(m.in*m.expand), 8)
	switch {
	case m.fused && hidden == m.in:
		return nn.Seq{cna(m.in, m.out, m.kernel, m.stride, 1, "SiLU")}
	case m.fused:
		return nn.Seq{cna(m.in, hidden, m.kernel, m.stride, 1, "SiLU"), cna(hidden, m.out, 1, 1, 1, "")}
	}
	var s nn.Seq
	if hidden != m.in {
		s = append(s, cna(m.in, hidden, 1, 1, 1, "SiLU"))
	}
	return append(s, cna(hidden, hidden, m.kernel, m.stride, hidden, "SiLU"),
		nn.SqueezeExcitation{C: hidden, Squeeze: max(1, m.in/4), Activation: "SiLU", InPlace: true}, cna(hidden, m.out, 1, 1, 1, ""))
}

// block is MBConv or FusedMBConv.
func (m mbconv) block(p float64, norm nn.Norm) nn.Spec {
	class := "MBConv"
	if m.fused {
		class = "FusedMBConv"
	}
	return nn.Block{Class: class, Build: func(b *nn.Builder, l *nn.Layer) {
		path := b.Add(l, "block", m.path(norm))
		depth := b.Add(l, "stochastic_depth", nn.StochasticDepth{P: p})
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := path.Call(x[0])
			if m.stride == 1 && m.in == m.out {
				y = b.G.AddInPlace(depth.Call(y), x[0])
			}
			return y
		})
	}}
}

func (e efficientnet) build(b *nn.Builder, a *nn.Args) *Net {
	p, depth := a.Probability("dropout", e.dropout), a.Probability("stochastic_depth_prob", 0.2)
	classes, norm := a.Positive("num_classes", 1000), normLayer(a)
	rows := make([]mbconv, len(e.rows))
	total := 0
	for i, r := range e.rows {
		if e.last == 0 {
			r.in, r.out = divisible(float64(r.in)*e.width, 8), divisible(float64(r.out)*e.width, 8)
			r.layers = int(math.Ceil(float64(r.layers) * e.depth))
		}
		rows[i] = r
		total += r.layers
	}
	features := nn.Seq{nn.ConvNormActivation{In: 3, Out: rows[0].in, Stride: nn.N(2), Norm: norm, Activation: "SiLU"}}
	id := 0
	for _, r := range rows {
		var stage nn.Seq
		for range r.layers {
			stage = append(stage, r.block(depth*float64(id)/float64(total), norm))
			r.in, r.stride = r.out, 1
			id++
		}
		features = append(features, stage)
	}
	in := rows[len(rows)-1].out
	last := e.last
	if last == 0 {
		last = 4 * in
	}
	features = append(features, nn.ConvNormActivation{In: in, Out: last, Kernel: nn.N(1), Norm: norm, Activation: "SiLU"})
	n := classifier(b, "EfficientNet", features, nn.AdaptivePool{Dim: 2, Out: nn.N(1)}, false, nn.Seq{nn.Dropout{P: p, InPlace: true}, nn.Linear{In: last, Out: classes}})
	n.Blocks = nil
	stages := n.Root.Kids[0].Kids
	return blocksOf(n, stages[1:len(stages)-1]...)
}

func init() {
	for name, e := range efficientnets {
		add(&Preset{Name: name, Family: "efficientnet", Inputs: image(224), Build: e.build})
	}
}
