//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// fire is SqueezeNet's Fire: squeeze to s channels, then 1x1 and 3x3 convolutions of e channels each, concatenated.
func fire(in, s, e int64) nn.Spec {
	return nn.Block{Class: "Fire", Build: func(b *nn.Builder, l *nn.Layer) {
		conv := func(name string, in, out, kernel int64) [2]*nn.Layer {
			return [2]*nn.Layer{b.Add(l, name, nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(kernel), Padding: nn.N(kernel / 2)}),
				b.Add(l, name+"_activation", nn.ReLU(true))}
		}
		squeeze, one, three := conv("squeeze", in, s, 1), conv("expand1x1", s, e, 1), conv("expand3x3", s, e, 3)
		l.Forward(nn.Fire(b.G, squeeze[:], one[:], three[:]))
	}}
}

// squeezenets give the first convolution and then fires [squeeze, expand], {} for a max pooling.
var squeezenets = map[string]struct {
	first nn.Conv
	fires [][2]int64
}{
	"squeezenet1_0": {nn.Conv{Dim: 2, In: 3, Out: 96, Kernel: nn.N(7), Stride: nn.N(2)},
		[][2]int64{{}, {16, 64}, {16, 64}, {32, 128}, {}, {32, 128}, {48, 192}, {48, 192}, {64, 256}, {}, {64, 256}}},
	"squeezenet1_1": {nn.Conv{Dim: 2, In: 3, Out: 64, Kernel: nn.N(3), Stride: nn.N(2)},
		[][2]int64{{}, {16, 64}, {16, 64}, {}, {32, 128}, {32, 128}, {}, {48, 192}, {48, 192}, {64, 256}, {64, 256}}},
}

// shufflenets are stages_out_channels of torchvision.models.shufflenetv2, without the first (24).
var shufflenets = map[string][4]int64{
	"shufflenet_v2_x0_5": {48, 96, 192, 1024},
	"shufflenet_v2_x1_0": {116, 232, 464, 1024},
	"shufflenet_v2_x1_5": {176, 352, 704, 1024},
	"shufflenet_v2_x2_0": {244, 488, 976, 2048},
}

// shuffleUnit is ShuffleNetV2's InvertedResidual: half of the channels (or all, when stride is 2) through a branch,
// concatenated and shuffled in two groups.
func shuffleUnit(in, out, stride int64) nn.Spec {
	return nn.Block{Class: "InvertedResidual", Build: func(b *nn.Builder, l *nn.Layer) {
		half := out / 2
		var one nn.Seq
		from := half
		if stride > 1 {
			from = in
			one = nn.Seq{conv2d(in, in, 3, stride, in, 1), nn.BatchNorm2d(in), conv2d(in, half, 1, 1, 1, 1), nn.BatchNorm2d(half), nn.ReLU(true)}
		}
		left := b.Add(l, "branch1", one)
		right := b.Add(l, "branch2", nn.Seq{conv2d(from, half, 1, 1, 1, 1), nn.BatchNorm2d(half), nn.ReLU(true),
			conv2d(half, half, 3, stride, half, 1), nn.BatchNorm2d(half), conv2d(half, half, 1, 1, 1, 1), nn.BatchNorm2d(half), nn.ReLU(true)})
		if stride == 1 {
			left = nil
		}
		l.Forward(nn.ShuffleUnit(b.G, left, right))
	}}
}

func init() {
	for name, v := range squeezenets {
		add(&Preset{Name: name, Family: "squeezenet", Inputs: image(224), Build: func(b *nn.Builder, a *nn.Args) *Net {
			p, classes := a.Probability("dropout", 0.5), a.Positive("num_classes", 1000)
			features := nn.Seq{v.first, nn.ReLU(true)}
			in := v.first.Out
			for _, f := range v.fires {
				if f[0] == 0 {
					features = append(features, nn.Pool{Dim: 2, Kernel: nn.N(3), Stride: nn.N(2), Ceil: true})
					continue
				}
				features = append(features, fire(in, f[0], f[1]))
				in = 2 * f[1]
			}
			root := b.Root("SqueezeNet")
			layers := []*nn.Layer{b.Add(root, "features", features), b.Add(root, "classifier", nn.Seq{nn.Dropout{P: p},
				nn.Conv{Dim: 2, In: 512, Out: classes, Kernel: nn.N(1)}, nn.ReLU(true), nn.AdaptivePool{Dim: 2, Out: nn.N(1)}})}
			root.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.Flatten(nn.Through(x[0], layers...), 1, -1) })
			return blocksOf(chain(root), layers[0])
		}})
	}
	for name, channels := range shufflenets {
		add(&Preset{Name: name, Family: "shufflenet", Inputs: image(224), Build: func(b *nn.Builder, a *nn.Args) *Net {
			classes := a.Positive("num_classes", 1000)
			root := b.Root("ShuffleNetV2")
			cbr := func(in, out, kernel, stride int64) nn.Seq {
				return nn.Seq{conv2d(in, out, kernel, stride, 1, 1), nn.BatchNorm2d(out), nn.ReLU(true)}
			}
			in := int64(24)
			layers := []*nn.Layer{b.Add(root, "conv1", cbr(3, in, 3, 2)), b.Add(root, "maxpool", nn.Pool{Dim: 2, Kernel: nn.N(3), Stride: nn.N(2), Padding: nn.N(1)})}
			for i, n := range [...]int{4, 8, 4} {
				var stage nn.Seq
				for j := range n {
					stride := int64(1)
					if j == 0 {
						stride = 2
					}
					stage = append(stage, shuffleUnit(in, channels[i], stride))
					in = channels[i]
				}
				layers = append(layers, b.Add(root, "stage"+strconv.Itoa(i+2), stage))
			}
			layers = append(layers, b.Add(root, "conv5", cbr(in, channels[3], 1, 1)))
			fc := b.Add(root, "fc", nn.Linear{In: channels[3], Out: classes})
			root.Forward(func(x ...torch.Tensor) torch.Tensor {
				return fc.Call(b.G.Mean(nn.Through(x[0], layers...), false, 2, 3))
			})
			return blocksOf(chain(root), layers[2:5]...)
		}})
	}
}
