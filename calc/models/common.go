package models

import (
	"math"
	"strconv"

	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// blocksOf names the children of stages as what checkpointing every block recomputes.
func blocksOf(n *Net, stages ...*nn.Layer) *Net {
	for _, s := range stages {
		for _, k := range s.Kids {
			n.Blocks = append(n.Blocks, k.Path)
		}
	}
	return n
}

// classifier is the usual image classifier: features, pooling to side x side (a module if named, else a function),
// flatten, classifier.
func classifier(b *nn.Builder, class string, features nn.Spec, pool nn.AdaptivePool, asFunction bool, head nn.Spec) *Net {
	root := b.Root(class)
	f := b.Add(root, "features", features)
	var p *nn.Layer
	if !asFunction {
		p = b.Add(root, "avgpool", pool)
	}
	c := b.Add(root, "classifier", head)
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := f.Call(x[0])
		if p != nil {
			y = p.Call(y)
		} else {
			y = pool.Apply(b.G, y)
		}
		return c.Call(b.G.Flatten(y, 1, -1))
	})
	return blocksOf(chain(root), f)
}

// normLayer reads norm_layer (and num_groups where it is GroupNorm).
func normLayer(a *nn.Args) nn.Norm {
	groups := a.Positive("num_groups", 32)
	switch a.String("norm_layer", "BatchNorm2d", "BatchNorm2d", "GroupNorm", "InstanceNorm2d", "FrozenBatchNorm2d") {
	case "GroupNorm":
		return func(c int64) nn.Spec { return nn.GroupNorm{Groups: groups, C: c} }
	case "InstanceNorm2d":
		return func(c int64) nn.Spec { return nn.InstanceNorm{Dim: 2, C: c} }
	case "FrozenBatchNorm2d":
		return func(c int64) nn.Spec { return nn.FrozenBatchNorm2d{C: c} }
	}
	return nn.BatchNorm2d
}

// within refuses more tokens than a table of positions has rows for.
func within(table *nn.Layer, tokens, limit int64) {
	if tokens > limit {
		fault.Throw("tokens-positions", table.Path, "tokens", tokens, "limit", limit)
	}
}

// divisible is torchvision.models._utils._make_divisible.
func divisible(v float64, by int64) int64 {
	n := max(by, int64(v+float64(by)/2)/by*by)
	if float64(n) < 0.9*v {
		n += by
	}
	return n
}

// round is Python's round: halves to even.
func round(v float64) int64 { return int64(math.RoundToEven(v)) }

// Resize is F.interpolate(y, size of x, mode="bilinear").
func Resize(g *torch.Graph, y, x torch.Tensor) torch.Tensor {
	s := g.Shape(x)
	return nn.Upsample{Size: nn.Ints{s[2], s[3]}, Mode: "bilinear"}.Apply(g, y)
}

func indexed(specs ...nn.Spec) []nn.Child {
	out := make([]nn.Child, len(specs))
	for i, s := range specs {
		out[i] = nn.Child{Name: strconv.Itoa(i), Spec: s}
	}
	return out
}
