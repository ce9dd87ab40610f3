//go:build !lean

package models

import "vrametre/calc/nn"

// vggs are torchvision's configurations A, B, D, E: channels of each 3x3 convolution, 0 for a max pooling.
var vggs = map[string][]int64{
	"vgg11": {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0},
	"vgg13": {64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0},
	"vgg16": {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0},
	"vgg19": {64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512, 512, 512, 512, 0},
}

func init() {
	for name, channels := range vggs {
		for suffix, norm := range map[string]bool{"": false, "_bn": true} {
			add(&Preset{Name: name + suffix, Family: "vgg", Inputs: image(224), Build: func(b *nn.Builder, a *nn.Args) *Net {
				a.Ignore("init_weights")
				p := a.Probability("dropout", 0.5)
				var features nn.Seq
				in := int64(3)
				for _, c := range channels {
					if c == 0 {
						features = append(features, nn.Pool{Dim: 2, Kernel: nn.N(2), Stride: nn.N(2)})
						continue
					}
					features = append(features, nn.Conv{Dim: 2, In: in, Out: c, Kernel: nn.N(3), Padding: nn.N(1)})
					if norm {
						features = append(features, nn.BatchNorm2d(c))
					}
					features = append(features, nn.ReLU(true))
					in = c
				}
				return classifier(b, "VGG", features, nn.AdaptivePool{Dim: 2, Out: nn.N(7)}, false, nn.Seq{
					nn.Linear{In: 512 * 7 * 7, Out: 4096}, nn.ReLU(true), nn.Dropout{P: p},
					nn.Linear{In: 4096, Out: 4096}, nn.ReLU(true), nn.Dropout{P: p},
					nn.Linear{In: 4096, Out: a.Positive("num_classes", 1000)}})
			}})
		}
	}
	add(&Preset{Name: "alexnet", Family: "alexnet", Inputs: image(224), Build: func(b *nn.Builder, a *nn.Args) *Net {
		p := a.Probability("dropout", 0.5)
		conv := func(in, out, kernel, stride, padding int64) nn.Spec {
			return nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(kernel), Stride: nn.N(stride), Padding: nn.N(padding)}
		}
		relu, pool := nn.ReLU(true), nn.Pool{Dim: 2, Kernel: nn.N(3), Stride: nn.N(2)}
		return classifier(b, "AlexNet", nn.Seq{conv(3, 64, 11, 4, 2), relu, pool, conv(64, 192, 5, 1, 2), relu, pool,
			conv(192, 384, 3, 1, 1), relu, conv(384, 256, 3, 1, 1), relu, conv(256, 256, 3, 1, 1), relu, pool},
			nn.AdaptivePool{Dim: 2, Out: nn.N(6)}, false, nn.Seq{nn.Dropout{P: p}, nn.Linear{In: 256 * 6 * 6, Out: 4096}, relu,
				nn.Dropout{P: p}, nn.Linear{In: 4096, Out: 4096}, relu, nn.Linear{In: 4096, Out: a.Positive("num_classes", 1000)}})
	}})
}
