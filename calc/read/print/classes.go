package print

import (
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

type forward = nn.Forward

// variant is one known class: the children its forward calls and the forward, which also adds parameters that are not printed.
type variant struct {
	need []string
	// lacks are children that another class of the same name has.
	lacks   []string
	forward func(c *call) forward
}

// classOf is the known class of m, if its children are those the class has.
func classOf(m *module) *variant {
	list := classes[m.kind()]
next:
	for i := range list {
		v := &list[i]
		for _, n := range v.need {
			if m.kid(n) == nil {
				continue next
			}
		}
		for _, n := range v.lacks {
			if m.kid(n) != nil {
				continue next
			}
		}
		return v
	}
	return nil
}

var classes = map[string][]variant{}

func class(v variant, names ...string) {
	for _, n := range names {
		classes[n] = append(classes[n], v)
	}
}

func relu(g *torch.Graph, x torch.Tensor) torch.Tensor { return nn.ReLU(false).Apply(g, x) }

// then calls act, or F.relu where no activation was printed.
func (c *call) then(act *nn.Layer, y torch.Tensor) torch.Tensor {
	if act != nil {
		return act.Call(y)
	}
	return relu(c.g, y)
}

// head runs children, then flattens, then runs more.
func head(before, after []string) func(c *call) forward {
	return func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.run(x[0], before...)
			if len(c.g.Shape(y)) > 2 {
				y = c.g.Flatten(y, 1, -1)
			}
			return c.run(y, after...)
		}
	}
}

// residual is BasicBlock or Bottleneck: conv1, bn1, relu, ..., and the sum with the input, in place as torchvision writes it.
func residual(c *call) forward {
	n := "123456"
	act := c.first("relu", "act", "act1", "activation")
	down := c.first("downsample", "shortcut", "identity_downsample", "skip", "proj")
	if down != nil && len(down.Kids) == 0 && down.Type == "Sequential" {
		down = nil
	}
	last := c.first("act3", "relu3", "act2", "relu2", "relu", "act", "activation")
	if c.has("conv3") {
		last = c.first("act3", "relu3", "relu", "act", "activation")
	}
	return func(x ...torch.Tensor) torch.Tensor {
		y := x[0]
		for i := range n {
			k := n[i : i+1]
			if !c.has("conv" + k) {
				break
			}
			y = c.run(y, "conv"+k, "bn"+k)
			if c.has("conv" + n[i+1:i+2]) {
				y = c.run(y, "drop_block")
				if a := c.first("act"+k, "relu"+k); a != nil {
					y = a.Call(y)
				} else {
					y = c.then(act, y)
				}
				y = c.run(y, "aa")
			}
		}
		y = c.run(y, "se", "drop_path")
		return c.then(last, nn.Shortcut(c.g, x[0], y, down))
	}
}

// path is a block that adds its input to the result of its only path where neither size nor channels change.
func path(name string, sum nn.Sum) func(c *call) forward {
	return func(c *call) forward {
		strided := c.m.kid(name).strided()
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.kid(name).Call(x[0])
			if strided || !same(c.g.Shape(x[0]), c.g.Shape(y)) {
				return y
			}
			return sum(c.g, x[0], c.run(y, "stochastic_depth", "drop_path"))
		}
	}
}

func same(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func mean(c *call, x torch.Tensor) torch.Tensor { return c.g.Mean(x, false, 2, 3) }

// torchvision's classes (torchvision/models, version 0.14 to the newest).
func init() {
	trunk := []string{"conv1", "bn1", "relu", "act1", "maxpool", "layer1", "layer2", "layer3", "layer4"}
	class(variant{need: []string{"conv1", "layer1", "fc"}, forward: head(append(trunk, "avgpool", "global_pool"), []string{"fc"})}, "ResNet", "ResNeXt", "WideResNet")
	class(variant{need: []string{"conv1", "conv2"}, lacks: []string{"block"}, forward: residual}, "BasicBlock", "Bottleneck", "ResidualBlock", "ResBlock", "BottleneckBlock", "BasicResidualBlock", "ResnetBasicBlock")
	class(variant{need: []string{"features", "classifier"}, forward: head([]string{"features", "avgpool"}, []string{"classifier"})}, "VGG", "AlexNet", "MobileNetV3", "EfficientNet")
	class(variant{need: []string{"features", "classifier"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.kid("features").Call(x[0])
			y = nn.AdaptivePool{Dim: 2, Out: nn.N(1)}.Apply(c.g, y)
			return c.kid("classifier").Call(c.g.Flatten(y, 1, -1))
		}
	}}, "MobileNetV2")
	class(variant{need: []string{"conv"}, lacks: []string{"conv_pw", "conv_dw"}, forward: path("conv", nn.SumXY)}, "InvertedResidual")
	class(variant{need: []string{"block"}, forward: path("block", nn.SumInPlace)}, "InvertedResidual", "MBConv", "FusedMBConv")
	class(variant{need: []string{"layers"}, forward: path("layers", nn.SumYX)}, "_InvertedResidual")
	class(variant{need: []string{"layers", "classifier"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			return c.kid("classifier").Call(mean(c, c.kid("layers").Call(x[0])))
		}
	}}, "MNASNet")
	class(variant{need: []string{"fc1", "fc2"}, lacks: []string{"attn"}, forward: func(c *call) forward {
		scale := c.first("scale_activation", "gate", "sigmoid")
		return func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			if p := c.first("avgpool", "avg_pool", "pool"); p != nil {
				y = p.Call(y)
			} else {
				y = c.g.Mean(y, true, 2, 3)
			}
			y = c.kid("fc1").Call(y)
			y = c.kid("fc2").Call(c.then(c.first("activation", "relu", "act"), y))
			if scale == nil {
				y = nn.Activation{Type: "Sigmoid"}.Apply(c.g, y)
			} else {
				y = scale.Call(y)
			}
			return c.g.Mul(y, x[0])
		}
	}}, "SqueezeExcitation", "SEModule", "SELayer", "SEBlock")
	class(variant{need: []string{"stem", "trunk_output", "fc"}, forward: head([]string{"stem", "trunk_output", "avgpool"}, []string{"fc"})}, "RegNet")
	class(variant{need: []string{"f", "activation"}, forward: func(c *call) forward {
		return nn.ResBottleneck(c.g, c.kid("proj"), c.kid("f"), c.kid("activation"))
	}}, "ResBottleneckBlock")
	class(variant{need: []string{"features", "avgpool", "classifier"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor { return c.run(x[0], "features", "avgpool", "classifier") }
	}}, "ConvNeXt")
	class(variant{need: []string{"block", "stochastic_depth"}, forward: func(c *call) forward {
		width := c.m.kid("block").kid("0").size("out_channels")
		scale := c.g.Param(c.l.Module, c.b.DType, width, 1, 1) // layer_scale
		return nn.CNBlock(c.g, scale, c.kid("block"), c.kid("stochastic_depth"))
	}}, "CNBlock")
	class(variant{need: []string{"features", "classifier"}, forward: func(c *call) forward {
		return nn.DenseNet(c.g, c.kid("features"), c.kid("classifier"))
	}}, "DenseNet")
	class(variant{need: []string{"norm1", "conv1", "norm2", "conv2"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			all := c.g.Cat(1, x...)
			y := c.run(all, "norm1", "relu1", "conv1")
			c.g.Alive(all) // a local of bn_function
			c.g.Keep(y)
			return c.run(y, "norm2", "relu2", "conv2", "dropout")
		}
	}}, "_DenseLayer")
	class(variant{need: []string{"denselayer1"}, forward: func(c *call) forward {
		return c.l.DenseBlock()
	}}, "_DenseBlock")
	class(variant{need: []string{"features", "classifier"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor { return c.g.Flatten(c.run(x[0], "features", "classifier"), 1, -1) }
	}}, "SqueezeNet")
	class(variant{need: []string{"squeeze", "expand1x1", "expand3x3"}, forward: func(c *call) forward {
		return nn.Fire(c.g, c.all("squeeze", "squeeze_activation"), c.all("expand1x1", "expand1x1_activation"), c.all("expand3x3", "expand3x3_activation"))
	}}, "Fire")
	class(variant{need: []string{"conv1", "stage2", "conv5", "fc"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			return c.kid("fc").Call(mean(c, c.run(x[0], "conv1", "maxpool", "stage2", "stage3", "stage4", "conv5")))
		}
	}}, "ShuffleNetV2")
	class(variant{need: []string{"branch1", "branch2"}, lacks: []string{"branch3"}, forward: func(c *call) forward {
		left := c.kid("branch1")
		if len(c.m.kid("branch1").kids) == 0 {
			left = nil
		}
		return nn.ShuffleUnit(c.g, left, c.kid("branch2"))
	}}, "InvertedResidual")
	class(variant{need: []string{"conv", "bn"}, lacks: []string{"act"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor { return nn.ReLU(true).Apply(c.g, c.run(x[0], "conv", "bn")) }
	}}, "BasicConv2d")
}
