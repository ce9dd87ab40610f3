//go:build !lean

package models

import (
	"slices"
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// getter is torchvision's IntermediateLayerGetter under the name backbone: children called in a row, the results at
// the given places kept in the dictionary it returns.
type getter struct {
	*nn.Layer
	taken []torch.Tensor
}

func newGetter(b *nn.Builder, root *nn.Layer, add func(*nn.Layer), at ...int) *getter {
	v := &getter{Layer: b.Container(root, "backbone", "IntermediateLayerGetter")}
	add(v.Layer)
	v.Layer.Kids = v.Layer.Kids[:slices.Max(at)+1]
	v.Forward(func(x ...torch.Tensor) torch.Tensor {
		v.taken = make([]torch.Tensor, len(at))
		y := x[0]
		for i, k := range v.Kids {
			y = k.Call(y)
			if j := slices.Index(at, i); j >= 0 {
				v.taken[j] = y
				b.G.Keep(y)
			}
		}
		return y
	})
	return v
}

// features runs the backbone; its dictionary lives until the caller returns.
func (v *getter) features(g *torch.Graph, x torch.Tensor) []torch.Tensor {
	v.Call(x)
	g.Keep(v.taken...)
	return v.taken
}

// fcnHead is FCNHead.
func fcnHead(in, classes int64) nn.Spec {
	return nn.Ordered{Class: "FCNHead", Children: indexed(conv2d(in, in/4, 3, 1, 1, 1), nn.BatchNorm2d(in/4), nn.ReLU(false), nn.Dropout{P: 0.1},
		nn.Conv{Dim: 2, In: in / 4, Out: classes, Kernel: nn.N(1)})}
}

// deepLabHead is DeepLabHead: atrous convolutions at three rates, a 1x1 one and the image's average, concatenated.
func deepLabHead(in, classes int64) nn.Spec {
	const c = 256
	cbr := func(from, kernel, dilation int64) []nn.Spec {
		return []nn.Spec{conv2d(from, c, kernel, 1, 1, dilation), nn.BatchNorm2d(c), nn.ReLU(false)}
	}
	aspp := nn.Block{Class: "ASPP", Build: func(b *nn.Builder, l *nn.Layer) {
		convs := b.Container(l, "convs", "ModuleList")
		b.Add(convs, "0", nn.Seq(cbr(in, 1, 1)))
		for i, rate := range [...]int64{12, 24, 36} {
			b.Add(convs, strconv.Itoa(i+1), nn.Ordered{Class: "ASPPConv", Children: indexed(cbr(in, 3, rate)...)})
		}
		pool := b.Container(convs, "4", "ASPPPooling")
		for _, k := range indexed(append([]nn.Spec{nn.AdaptivePool{Dim: 2, Out: nn.N(1)}}, cbr(in, 1, 1)...)...) {
			b.Add(pool, k.Name, k.Spec)
		}
		pool.Forward(func(x ...torch.Tensor) torch.Tensor { return Resize(b.G, nn.Through(x[0], pool.Kids...), x[0]) })
		project := b.Add(l, "project", append(nn.Seq(cbr(5*c, 1, 1)), nn.Dropout{P: 0.5}))
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			out := make([]torch.Tensor, len(convs.Kids))
			for i, k := range convs.Kids {
				out[i] = k.Call(x[0])
			}
			b.G.Keep(out...)
			return project.Call(b.G.Cat(1, out...))
		})
	}}
	return nn.Ordered{Class: "DeepLabHead", Children: indexed(aspp, conv2d(c, c, 3, 1, 1, 1), nn.BatchNorm2d(c), nn.ReLU(false),
		nn.Conv{Dim: 2, In: c, Out: classes, Kernel: nn.N(1)})}
}

// segmenter is _SimpleSegmentationModel: head on the last feature map, auxiliary head where aux_loss asks for it;
// both results at the input's size.
func segmenter(class string, head func(in, classes int64) nn.Spec, add func(*nn.Builder, *nn.Layer), out, aux, outChannels, auxChannels int) func(*nn.Builder, *nn.Args) *Net {
	return func(b *nn.Builder, a *nn.Args) *Net {
		a.Ignore("weights_backbone")
		classes, withHead := a.Positive("num_classes", 21), a.Bool("aux_loss", false)
		root := b.Root(class)
		at := []int{out}
		if withHead {
			at = append(at, aux)
		}
		back := newGetter(b, root, func(l *nn.Layer) { add(b, l) }, at...)
		heads := []*nn.Layer{b.Add(root, "classifier", head(int64(outChannels), classes))}
		if withHead {
			heads = append(heads, b.Add(root, "aux_classifier", fcnHead(int64(auxChannels), classes)))
		}
		var extra []torch.Tensor
		root.Forward(func(x ...torch.Tensor) torch.Tensor {
			var result []torch.Tensor
			for i, f := range back.features(b.G, x[0]) {
				result = append(result, Resize(b.G, heads[i].Call(f), x[0]))
			}
			b.G.Keep(result...)
			extra = result[1:]
			return result[0]
		})
		return blocksOf(withAux(root, &extra), residualStages(back.Layer)...)
	}
}

// residualStages are the children of a backbone that have blocks in them; the backbone itself where its children are the blocks.
func residualStages(l *nn.Layer) []*nn.Layer {
	var out []*nn.Layer
	for _, k := range l.Kids {
		if k.Type == "Sequential" {
			out = append(out, k)
		}
	}
	if out == nil {
		return []*nn.Layer{l}
	}
	return out
}

// dilatedMobileNet adds the children of a dilated MobileNetV3-large's features.
func dilatedMobileNet(b *nn.Builder, l *nn.Layer, features nn.Seq) {
	for i, s := range features {
		b.Add(l, strconv.Itoa(i), s)
	}
}

func init() {
	for suffix, r := range map[string]resnet{"resnet50": resnets["resnet50"], "resnet101": resnets["resnet101"]} {
		trunk := func(b *nn.Builder, l *nn.Layer) {
			r.trunk(b, l, "Sequential", nn.BatchNorm2d, [3]bool{false, true, true})
		}
		add(&Preset{Name: "fcn_" + suffix, Family: "segmentation", Inputs: image(224), Build: segmenter("FCN", fcnHead, trunk, 7, 6, 2048, 1024)})
		add(&Preset{Name: "deeplabv3_" + suffix, Family: "segmentation", Inputs: image(224), Build: segmenter("DeepLabV3", deepLabHead, trunk, 7, 6, 2048, 1024)})
	}
	features, channels, strided := mobilenetV3s["mobilenet_v3_large"].features(mobilenetArgs{width: 1, dilation: true, norm: nn.BatchNorm2d})
	// the places of the strided blocks, with the first and the last layer: the last is C5, the fourth from the end C2
	last := len(features) - 1
	stages := append(append([]int{0}, strided...), last)
	low := stages[len(stages)-4]
	mobile := func(b *nn.Builder, l *nn.Layer) { dilatedMobileNet(b, l, features) }
	add(&Preset{Name: "deeplabv3_mobilenet_v3_large", Family: "segmentation", Inputs: image(224),
		Build: segmenter("DeepLabV3", deepLabHead, mobile, last, low, int(channels[last]), int(channels[low]))})
	add(&Preset{Name: "lraspp_mobilenet_v3_large", Family: "segmentation", Inputs: image(224), Build: func(b *nn.Builder, a *nn.Args) *Net {
		a.Ignore("weights_backbone")
		classes := a.Positive("num_classes", 21)
		const inter = 128
		g := b.G
		root := b.Root("LRASPP")
		back := newGetter(b, root, func(l *nn.Layer) { mobile(b, l) }, low, last)
		head := b.Container(root, "classifier", "LRASPPHead")
		high := channels[last]
		cbr := b.Add(head, "cbr", nn.Seq{conv2d(high, inter, 1, 1, 1, 1), nn.BatchNorm2d(inter), nn.ReLU(true)})
		scale := b.Add(head, "scale", nn.Seq{nn.AdaptivePool{Dim: 2, Out: nn.N(1)}, conv2d(high, inter, 1, 1, 1, 1), nn.Activation{Type: "Sigmoid"}})
		lowClassifier := b.Add(head, "low_classifier", nn.Conv{Dim: 2, In: channels[low], Out: classes, Kernel: nn.N(1)})
		highClassifier := b.Add(head, "high_classifier", nn.Conv{Dim: 2, In: inter, Out: classes, Kernel: nn.N(1)})
		head.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := cbr.Call(x[1])
			s := scale.Call(x[1])
			g.Keep(s)
			y = Resize(g, g.Mul(y, s), x[0])
			g.Keep(y)
			return g.Add(lowClassifier.Call(x[0]), highClassifier.Call(y))
		})
		root.Forward(func(x ...torch.Tensor) torch.Tensor {
			return Resize(g, head.Call(back.features(g, x[0])...), x[0])
		})
		return blocksOf(chain(root), back.Layer)
	}})
}
