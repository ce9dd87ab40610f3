//go:build !lean

package models

import "vrametre/calc/nn"

// One-idea networks: convolution, the layer in question, convolution, global average, linear.
func init() {
	act := func(name string, inplace bool) nn.Spec { return nn.Activation{Type: name, InPlace: inplace} }
	for _, p := range []struct {
		name, family string
		layer        nn.Spec
		c            int64
		dim          int
		side         int64
	}{
		{"act_relu", "activation", act("ReLU", false), 8, 2, 16},
		{"act_relu_inplace", "activation", act("ReLU", true), 8, 2, 16},
		{"act_leakyrelu", "activation", act("LeakyReLU", false), 8, 2, 16},
		{"act_gelu", "activation", act("GELU", false), 8, 2, 16},
		{"act_silu", "activation", act("SiLU", false), 8, 2, 16},
		{"act_silu_inplace", "activation", act("SiLU", true), 8, 2, 16},
		{"act_sigmoid", "activation", act("Sigmoid", false), 8, 2, 16},
		{"act_softmax", "activation", nn.Softmax{Type: "Softmax"}, 8, 2, 16},
		{"act_prelu", "activation", nn.PReLU{Num: 1}, 8, 2, 16},
		{"act_relu6_inplace", "activation", act("ReLU6", true), 8, 2, 16},
		{"act_hardswish", "activation", act("Hardswish", false), 8, 2, 16},
		{"norm_bn", "norm", nn.BatchNorm{Dim: 2, C: 8}, 8, 2, 16},
		{"norm_gn", "norm", nn.GroupNorm{Groups: 4, C: 8}, 8, 2, 16},
		{"norm_ln", "norm", nn.LayerNorm{Shape: []int64{8, 16, 16}}, 8, 2, 16},
		{"pool_max", "pool", nn.Pool{Dim: 2, Kernel: nn.N(2)}, 8, 2, 16},
		{"pool_avg", "pool", nn.Pool{Dim: 2, Avg: true, Kernel: nn.N(2)}, 8, 2, 16},
		{"pool_adaptiveavg7", "pool", nn.AdaptivePool{Dim: 2, Out: nn.N(7)}, 8, 2, 16},
		{"pool_adaptivemax", "pool", nn.AdaptivePool{Dim: 2, Max: true, Out: nn.N(4)}, 8, 2, 16},
		{"drop", "dropout", nn.Dropout{P: 0.3}, 8, 2, 16},
		{"drop2d", "dropout", nn.Dropout{P: 0.3, Channels: 2}, 8, 2, 16},
		{"up_nearest", "upsample", nn.Upsample{Scale: []float64{2}}, 8, 2, 16},
		{"up_bilinear", "upsample", nn.Upsample{Scale: []float64{2}, Mode: "bilinear"}, 8, 2, 16},
		{"act_elu", "activation", act("ELU", false), 12, 2, 20},
		{"act_tanh", "activation", act("Tanh", false), 12, 2, 20},
		{"act_mish", "activation", act("Mish", false), 12, 2, 20},
		{"act_leakyrelu_inplace", "activation", act("LeakyReLU", true), 12, 2, 20},
		{"act_hardsigmoid", "activation", act("Hardsigmoid", false), 12, 2, 20},
		{"norm_in", "norm", nn.InstanceNorm{Dim: 2, C: 12}, 12, 2, 20},
		{"norm_bn_noaffine", "norm", nn.BatchNorm{Dim: 2, C: 12, NoAffine: true}, 12, 2, 20},
		{"pool_max1d", "pool", nn.Pool{Dim: 1, Kernel: nn.N(2)}, 12, 1, 64},
		{"pool_avg3d", "pool", nn.Pool{Dim: 3, Avg: true, Kernel: nn.N(2)}, 12, 3, 8},
		{"pool_max321", "pool", nn.Pool{Dim: 2, Kernel: nn.N(3), Stride: nn.N(2), Padding: nn.N(1)}, 12, 2, 20},
		{"drop_inplace", "dropout", nn.Dropout{P: 0.3, InPlace: true}, 12, 2, 20},
		{"drop_p0", "dropout", nn.Dropout{P: 0}, 12, 2, 20},
		{"up_convtranspose", "upsample", nn.Conv{Dim: 2, In: 12, Out: 12, Kernel: nn.N(2), Stride: nn.N(2), Transposed: true}, 12, 2, 20},
		{"up_bicubic", "upsample", nn.Upsample{Scale: []float64{2}, Mode: "bicubic"}, 12, 2, 20},
		{"pad_zero", "pad", nn.Pad{Class: "ZeroPad2d", Dim: 2, Mode: "constant", Padding: nn.N(2)}, 12, 2, 20},
	} {
		shape := []int64{3, p.side, p.side, p.side}[:p.dim+1]
		add(&Preset{Name: p.name, Family: p.family, Inputs: []Input{{Shape: shape}}, Build: func(b *nn.Builder, a *nn.Args) *Net {
			return chain(rootOf(b, "Sequential",
				nn.Conv{Dim: p.dim, In: 3, Out: p.c, Kernel: nn.N(3), Padding: nn.N(1)}, p.layer,
				nn.Conv{Dim: p.dim, In: p.c, Out: 8, Kernel: nn.N(3), Padding: nn.N(1)},
				nn.AdaptivePool{Dim: p.dim, Out: nn.N(1)}, nn.Flatten{Start: 1, End: -1}, nn.Linear{In: 8, Out: a.Positive("num_classes", 10)}))
		}})
	}
}
