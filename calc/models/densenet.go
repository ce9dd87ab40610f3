//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// densenet are growth_rate, block_config and num_init_features of torchvision.models.densenet.
type densenet struct {
	growth int64
	blocks [4]int
	init   int64
}

var densenets = map[string]densenet{
	"densenet121": {32, [4]int{6, 12, 24, 16}, 64},
	"densenet161": {48, [4]int{6, 12, 36, 24}, 96},
	"densenet169": {32, [4]int{6, 12, 32, 32}, 64},
	"densenet201": {32, [4]int{6, 12, 48, 32}, 64},
}

// denseLayer is _DenseLayer: it takes every feature map made so far in its block. efficient recomputes its first half
// in backward (memory_efficient).
func denseLayer(in, growth, bottleneck int64, p float64, efficient bool) nn.Spec {
	return nn.Block{Class: "_DenseLayer", Build: func(b *nn.Builder, l *nn.Layer) {
		first := []*nn.Layer{b.Add(l, "norm1", nn.BatchNorm2d(in)), b.Add(l, "relu1", nn.ReLU(true)), b.Add(l, "conv1", conv2d(in, bottleneck, 1, 1, 1, 1))}
		second := []*nn.Layer{b.Add(l, "norm2", nn.BatchNorm2d(bottleneck)), b.Add(l, "relu2", nn.ReLU(true)), b.Add(l, "conv2", conv2d(bottleneck, growth, 3, 1, 1, 1))}
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			bn := func() torch.Tensor {
				all := b.G.Cat(1, x...)
				b.G.Keep(all)
				return nn.Through(all, first...)
			}
			var y torch.Tensor
			if efficient {
				y = b.G.Recomputed(bn, x...)
			} else {
				y = b.G.Local(bn)
			}
			b.G.Keep(y)
			y = nn.Through(y, second...)
			if b.Training {
				y = b.G.Dropout(y, p, false)
			}
			return y
		})
	}}
}

func (d densenet) build(b *nn.Builder, a *nn.Args) *Net {
	classes, p, bottleneck := a.Positive("num_classes", 1000), a.Probability("drop_rate", 0), a.Positive("bn_size", 4)*d.growth
	efficient := a.Bool("memory_efficient", false)
	root := b.Root("DenseNet")
	f := b.Container(root, "features", "Sequential")
	b.Add(f, "conv0", conv2d(3, d.init, 7, 2, 1, 1))
	b.Add(f, "norm0", nn.BatchNorm2d(d.init))
	b.Add(f, "relu0", nn.ReLU(true))
	b.Add(f, "pool0", nn.Pool{Dim: 2, Kernel: nn.N(3), Stride: nn.N(2), Padding: nn.N(1)})
	c := d.init
	var blocks []*nn.Layer
	for i, n := range d.blocks {
		block := b.Container(f, "denseblock"+strconv.Itoa(i+1), "_DenseBlock")
		for j := range n {
			b.Add(block, "denselayer"+strconv.Itoa(j+1), denseLayer(c, d.growth, bottleneck, p, efficient))
			c += d.growth
		}
		block.Forward(block.DenseBlock())
		blocks = append(blocks, block)
		if i < 3 {
			b.Add(f, "transition"+strconv.Itoa(i+1), nn.Ordered{Class: "_Transition", Children: []nn.Child{{Name: "norm", Spec: nn.BatchNorm2d(c)},
				{Name: "relu", Spec: nn.ReLU(true)}, {Name: "conv", Spec: conv2d(c, c/2, 1, 1, 1, 1)},
				{Name: "pool", Spec: nn.Pool{Dim: 2, Avg: true, Kernel: nn.N(2), Stride: nn.N(2)}}}})
			c /= 2
		}
	}
	b.Add(f, "norm5", nn.BatchNorm2d(c))
	f.Chain()
	head := b.Add(root, "classifier", nn.Linear{In: c, Out: classes})
	root.Forward(nn.DenseNet(b.G, f, head))
	return blocksOf(chain(root), blocks...)
}

func init() {
	for name, d := range densenets {
		add(&Preset{Name: name, Family: "densenet", Inputs: image(224), Build: d.build})
	}
}
