package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// resnet are the arguments of torchvision.models.resnet.ResNet that differ between its constructors.
type resnet struct {
	layers        [4]int
	bottleneck    bool
	groups, width int64 // groups, width_per_group
}

var resnets = map[string]resnet{
	"resnet18":         {[4]int{2, 2, 2, 2}, false, 1, 64},
	"resnet34":         {[4]int{3, 4, 6, 3}, false, 1, 64},
	"resnet50":         {[4]int{3, 4, 6, 3}, true, 1, 64},
	"resnet101":        {[4]int{3, 4, 23, 3}, true, 1, 64},
	"resnet152":        {[4]int{3, 8, 36, 3}, true, 1, 64},
	"resnext50_32x4d":  {[4]int{3, 4, 6, 3}, true, 32, 4},
	"resnext101_32x8d": {[4]int{3, 4, 23, 3}, true, 32, 8},
	"resnext101_64x4d": {[4]int{3, 4, 23, 3}, true, 64, 4},
	"wide_resnet50_2":  {[4]int{3, 4, 6, 3}, true, 1, 128},
	"wide_resnet101_2": {[4]int{3, 4, 23, 3}, true, 1, 128},
}

// residual is torchvision's BasicBlock or Bottleneck: convolutions with their normalisations, one ReLU module
// called after each, and the sum with the input (through downsample where shapes differ).
func residual(class string, convs []nn.Conv, norm nn.Norm, downsample nn.Spec) nn.Spec {
	return nn.Block{Class: class, Build: func(b *nn.Builder, l *nn.Layer) {
		path := make([]*nn.Layer, 0, 2*len(convs))
		var relu *nn.Layer
		for i, c := range convs {
			n := strconv.Itoa(i + 1)
			path = append(path, b.Add(l, "conv"+n, c), b.Add(l, "bn"+n, norm(c.Out)))
			if class == "BasicBlock" && i == 0 {
				relu = b.Add(l, "relu", nn.ReLU(true))
			}
		}
		if relu == nil {
			relu = b.Add(l, "relu", nn.ReLU(true))
		}
		var down *nn.Layer
		if downsample != nil {
			down = b.Add(l, "downsample", downsample)
		}
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			for i := 0; i < len(path); i += 2 {
				if i > 0 {
					y = relu.Call(y)
				}
				y = path[i+1].Call(path[i].Call(y))
			}
			return relu.Call(nn.Shortcut(b.G, x[0], y, down))
		})
	}}
}

func conv2d(in, out, kernel, stride, groups, dilation int64) nn.Conv {
	return nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(kernel), Stride: nn.N(stride), Padding: nn.N(kernel / 2 * dilation),
		Dilation: nn.N(dilation), Groups: groups, NoBias: true}
}

// trunk adds conv1 to layer4 to l and gives them in order; class is that of a layer, dilate replaces the stride of layer2 to layer4.
func (r resnet) trunk(b *nn.Builder, l *nn.Layer, class string, norm nn.Norm, dilate [3]bool) []*nn.Layer {
	stages := []*nn.Layer{b.Add(l, "conv1", conv2d(3, 64, 7, 2, 1, 1)), b.Add(l, "bn1", norm(64)), b.Add(l, "relu", nn.ReLU(true)),
		b.Add(l, "maxpool", nn.Pool{Dim: 2, Kernel: nn.N(3), Stride: nn.N(2), Padding: nn.N(1)})}
	return append(stages, r.stages(b, l, class, norm, dilate)...)
}

// stages adds layer1 to layer4 for 64 channels.
func (r resnet) stages(b *nn.Builder, l *nn.Layer, class string, norm nn.Norm, dilate [3]bool) []*nn.Layer {
	var out []*nn.Layer
	in, dilation := int64(64), int64(1)
	for i, n := range r.layers {
		planes, stride, first := int64(64)<<i, int64(1), dilation
		if i > 0 {
			stride = 2
			if dilate[i-1] {
				dilation *= 2
				stride = 1
			}
		}
		to := planes * r.expansion()
		var blocks []nn.Spec
		for j := range n {
			d, s := dilation, int64(1)
			var down nn.Spec
			if j == 0 {
				d, s = first, stride
				if stride != 1 || in != to {
					down = nn.Seq{conv2d(in, to, 1, stride, 1, 1), norm(to)}
				}
			}
			if r.bottleneck {
				w := planes * r.width / 64 * r.groups
				blocks = append(blocks, residual("Bottleneck", []nn.Conv{conv2d(in, w, 1, 1, 1, 1), conv2d(w, w, 3, s, r.groups, d), conv2d(w, to, 1, 1, 1, 1)}, norm, down))
			} else {
				blocks = append(blocks, residual("BasicBlock", []nn.Conv{conv2d(in, planes, 3, s, 1, d), conv2d(planes, planes, 3, 1, 1, 1)}, norm, down))
			}
			in = to
		}
		out = append(out, b.Add(l, "layer"+strconv.Itoa(i+1), nn.Ordered{Class: class, Children: indexed(blocks...)}))
	}
	return out
}

func (r resnet) expansion() int64 {
	if r.bottleneck {
		return 4
	}
	return 1
}

func (r resnet) build(b *nn.Builder, a *nn.Args) *Net {
	a.Ignore("zero_init_residual")
	classes, norm := a.Positive("num_classes", 1000), normLayer(a)
	var dilate [3]bool
	copy(dilate[:], a.Bools("replace_stride_with_dilation", 3))
	if !r.bottleneck && dilate != [3]bool{} {
		a.Fail("argument-choice", "replace_stride_with_dilation", dilate)
		dilate = [3]bool{}
	}
	root := b.Root("ResNet")
	stages := r.trunk(b, root, "Sequential", norm, dilate)
	pool := b.Add(root, "avgpool", nn.AdaptivePool{Dim: 2, Out: nn.N(1)})
	fc := b.Add(root, "fc", nn.Linear{In: 512 * r.expansion(), Out: classes})
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		return fc.Call(b.G.Flatten(pool.Call(nn.Through(x[0], stages...)), 1, -1))
	})
	return blocksOf(chain(root), stages[4:]...)
}

func init() {
	for name, r := range resnets {
		add(&Preset{Name: name, Family: "resnet", Inputs: image(224), Build: r.build})
	}
	trunk := []string{"conv1", "bn1", "layer1", "layer2", "layer3"}
	add(&Preset{Name: "resnet18_fc_only", Family: "frozen", Inputs: image(224), Frozen: append(trunk, "layer4"), Build: resnets["resnet18"].build})
	add(&Preset{Name: "resnet18_layer4_fc", Family: "frozen", Inputs: image(224), Frozen: trunk, Build: resnets["resnet18"].build})
}
