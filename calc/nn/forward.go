package nn

import "vrametre/calc/torch"

// The forwards of torchvision's blocks over children that are built already: those of a preset, or of a printed model.

// Forward is what a call of a module computes.
type Forward = func(x ...torch.Tensor) torch.Tensor

// Through calls layers one after the other.
func Through(y torch.Tensor, layers ...*Layer) torch.Tensor {
	for _, l := range layers {
		y = l.Call(y)
	}
	return y
}

// Shortcut adds a residual block's input, through down where there is one, to its result in place.
func Shortcut(g *torch.Graph, x, y torch.Tensor, down *Layer) torch.Tensor {
	if down != nil {
		x = down.Call(x)
	}
	g.Keep(x)
	return g.AddInPlace(y, x)
}

// A Sum adds the input x to the result y of a block's path.
type Sum func(g *torch.Graph, x, y torch.Tensor) torch.Tensor

// The sums of the three MobileNet families: x + conv(x), layers(x) + x, result += x.
func SumXY(g *torch.Graph, x, y torch.Tensor) torch.Tensor      { return g.Add(x, y) }
func SumYX(g *torch.Graph, x, y torch.Tensor) torch.Tensor      { return g.Add(y, x) }
func SumInPlace(g *torch.Graph, x, y torch.Tensor) torch.Tensor { return g.AddInPlace(y, x) }

// DenseBlock is densenet.py's _DenseBlock: each layer of l takes every map made so far.
func (l *Layer) DenseBlock() Forward {
	return func(x ...torch.Tensor) torch.Tensor {
		features := append(make([]torch.Tensor, 0, len(l.Kids)+1), x[0])
		for _, k := range l.Kids {
			features = append(features, k.Call(features...))
		}
		return l.g.Cat(1, features...)
	}
}

// DenseNet is densenet.py's DenseNet: ReLU and a global average as functions before the classifier.
func DenseNet(g *torch.Graph, features, classifier *Layer) Forward {
	return func(x ...torch.Tensor) torch.Tensor {
		y := ReLU(true).Apply(g, features.Call(x[0]))
		g.Keep(y)
		return classifier.Call(g.Flatten(AdaptivePool{Dim: 2, Out: N(1)}.Apply(g, y), 1, -1))
	}
}

// Fire is squeezenet.py's Fire.
func Fire(g *torch.Graph, squeeze, one, three []*Layer) Forward {
	return func(x ...torch.Tensor) torch.Tensor {
		y := Through(x[0], squeeze...)
		g.Keep(y)
		return g.Cat(1, Through(y, one...), Through(y, three...))
	}
}

// ShuffleUnit is shufflenetv2.py's InvertedResidual: two branches, or (left nil) half of the channels passed by, then channel_shuffle.
func ShuffleUnit(g *torch.Graph, left, right *Layer) Forward {
	return func(x ...torch.Tensor) torch.Tensor {
		var y torch.Tensor
		if left != nil {
			y = g.Cat(1, left.Call(x[0]), right.Call(x[0]))
		} else {
			parts := g.Chunk(x[0], 2, 1)
			g.Keep(parts...)
			y = g.Cat(1, parts[0], right.Call(parts[1]))
		}
		n, c, h, w := g.Dim(y, 0), g.Dim(y, 1), g.Dim(y, 2), g.Dim(y, 3)
		z := g.Contiguous(g.Transpose(g.View(y, n, 2, c/2, h, w), 1, 2))
		z = g.View(z, n, -1, h, w)
		g.Alive(y) // channel_shuffle's argument
		return z
	}
}

// CNBlock is convnext.py's CNBlock.
func CNBlock(g *torch.Graph, scale torch.Tensor, block, depth *Layer) Forward {
	return func(x ...torch.Tensor) torch.Tensor {
		return g.AddInPlace(depth.Call(g.Mul(scale, block.Call(x[0]))), x[0])
	}
}

// ResBottleneck is regnet.py's ResBottleneckBlock: act(proj(x) + f(x)); proj may be nil.
func ResBottleneck(g *torch.Graph, proj, f, act *Layer) Forward {
	return func(x ...torch.Tensor) torch.Tensor {
		y := x[0]
		if proj != nil {
			y = proj.Call(y)
		}
		return act.Call(g.Add(y, f.Call(x[0])))
	}
}
