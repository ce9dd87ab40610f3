//go:build !lean

package models

import (
	"vrametre/calc/nn"
)

// The small classics of a first course.
func init() {
	add(&Preset{Name: "lenet5", Family: "lenet", Inputs: []Input{{Shape: []int64{1, 32, 32}}}, Build: func(b *nn.Builder, a *nn.Args) *Net {
		tanh := nn.Activation{Type: "Tanh"}
		pool := nn.Pool{Dim: 2, Avg: true, Kernel: nn.N(2)}
		return chain(rootOf(b, "Sequential",
			nn.Conv{Dim: 2, In: 1, Out: 6, Kernel: nn.N(5)}, tanh, pool,
			nn.Conv{Dim: 2, In: 6, Out: 16, Kernel: nn.N(5)}, tanh, pool,
			nn.Conv{Dim: 2, In: 16, Out: 120, Kernel: nn.N(5)}, tanh, nn.Flatten{Start: 1, End: -1},
			nn.Linear{In: 120, Out: 84}, tanh, nn.Linear{In: 84, Out: a.Positive("num_classes", 10)}))
	}})
	for _, m := range []struct {
		name, family string
		widths       []int64
		act, loss    string
	}{
		{"mlp", "mlp", []int64{784, 512, 256, 10}, "ReLU", "cross_entropy"},
		{"mlp_mse", "mlp", []int64{16, 64, 64, 1}, "Tanh", "mse"},
		{"mlp_f64", "dtype", []int64{784, 512, 256, 10}, "ReLU", "cross_entropy"},
		{"mlp_frozen_middle", "frozen", []int64{784, 512, 256, 10}, "ReLU", "cross_entropy"},
	} {
		add(&Preset{Name: m.name, Family: m.family, Inputs: []Input{{Shape: m.widths[:1]}}, Loss: m.loss, Build: func(b *nn.Builder, a *nn.Args) *Net {
			w := a.Ints("widths", 1)
			if len(w) < 2 {
				w = m.widths
			}
			last := a.Positive("num_classes", w[len(w)-1])
			p := a.Probability("p", 0)
			act := nn.Activation{Type: a.String("act", m.act, "ReLU", "Tanh", "Sigmoid", "GELU", "SiLU")}
			var s []nn.Spec
			for i := 0; i+2 < len(w); i++ {
				s = append(s, nn.Linear{In: w[i], Out: w[i+1]}, act)
				if p > 0 {
					s = append(s, nn.Dropout{P: p})
				}
			}
			return chain(rootOf(b, "Sequential", append(s, nn.Linear{In: w[len(w)-2], Out: last})...))
		}})
	}
	presets["mlp_f64"].DType = "float64"
	presets["mlp_frozen_middle"].Frozen = []string{"2"}
	add(&Preset{Name: "autoencoder", Family: "autoencoder", Inputs: []Input{{Shape: []int64{1, 28, 28}}}, Loss: "mse", Build: func(b *nn.Builder, a *nn.Args) *Net {
		down := func(in, out int64) nn.Spec {
			return nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(3), Stride: nn.N(2), Padding: nn.N(1)}
		}
		up := func(in, out int64) nn.Spec {
			return nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(3), Stride: nn.N(2), Padding: nn.N(1), OutputPadding: nn.N(1), Transposed: true}
		}
		relu := nn.ReLU(false)
		return chain(rootOf(b, "Sequential", down(1, 16), relu, down(16, 32), relu, up(32, 16), relu, up(16, 1), nn.Activation{Type: "Sigmoid"}))
	}})
	add(&Preset{Name: "conv1d_m5", Family: "conv1d", Inputs: []Input{{Shape: []int64{1, 8000}}}, Build: func(b *nn.Builder, a *nn.Args) *Net {
		var s []nn.Spec
		in := int64(1)
		for _, c := range []struct{ out, kernel, stride int64 }{{32, 80, 16}, {32, 3, 1}, {64, 3, 1}, {64, 3, 1}} {
			s = append(s, nn.Conv{Dim: 1, In: in, Out: c.out, Kernel: nn.N(c.kernel), Stride: nn.N(c.stride)}, nn.BatchNorm{Dim: 1, C: c.out}, nn.ReLU(false), nn.Pool{Dim: 1, Kernel: nn.N(4)})
			in = c.out
		}
		return chain(rootOf(b, "Sequential", append(s, nn.AdaptivePool{Dim: 1, Out: nn.N(1)}, nn.Flatten{Start: 1, End: -1}, nn.Linear{In: in, Out: a.Positive("num_classes", 35)})...))
	}})
	add(&Preset{Name: "conv3d_c3d", Family: "conv3d", Inputs: []Input{{Shape: []int64{3, 8, 32, 32}}}, Build: func(b *nn.Builder, a *nn.Args) *Net {
		return chain(rootOf(b, "Sequential",
			nn.Conv{Dim: 3, In: 3, Out: 16, Kernel: nn.N(3), Padding: nn.N(1)}, nn.ReLU(false), nn.Pool{Dim: 3, Kernel: nn.Ints{1, 2, 2}},
			nn.Conv{Dim: 3, In: 16, Out: 32, Kernel: nn.N(3), Padding: nn.N(1)}, nn.BatchNorm{Dim: 3, C: 32}, nn.ReLU(true), nn.Pool{Dim: 3, Kernel: nn.N(2)},
			nn.AdaptivePool{Dim: 3, Out: nn.N(1)}, nn.Flatten{Start: 1, End: -1}, nn.Linear{In: 32, Out: a.Positive("num_classes", 10)}))
	}})
}
