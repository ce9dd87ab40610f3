package models

import "vrametre/calc/nn"

// The lesson's network: four convolutions with ReLU, pooled between, a global average, two linear layers.
// Its parameter count (538 981) and its maps are the lesson's; "pool", "inplace", "p" and "last" give its plausible variants.
func init() {
	add(&Preset{Name: "lesson", Family: "lesson", Inputs: image(128), Build: func(b *nn.Builder, a *nn.Args) *Net {
		classes := a.Positive("num_classes", 37)
		in := a.Bool("inplace", false)
		p := a.Probability("p", 0)
		avg := a.String("pool", "max", "max", "avg") == "avg"
		return chain(lesson(b, classes, avg, in, p))
	}})
	for name, args := range map[string]struct {
		inplace bool
		p       float64
	}{"lesson_inplace": {true, 0}, "lesson_dropout": {false, 0.5}} {
		add(&Preset{Name: name, Family: "lesson", Inputs: image(128), Build: func(b *nn.Builder, a *nn.Args) *Net {
			return chain(lesson(b, a.Positive("num_classes", 37), false, args.inplace, args.p))
		}})
	}
}

func lesson(b *nn.Builder, classes int64, avg, inplace bool, p float64) *nn.Layer {
	var s []nn.Spec
	in := int64(3)
	for i, out := range []int64{32, 64, 128, 256} {
		s = append(s, nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(3), Padding: nn.N(1)}, nn.ReLU(inplace))
		if i < 3 {
			s = append(s, nn.Pool{Dim: 2, Avg: avg, Kernel: nn.N(2)})
		}
		in = out
	}
	s = append(s, nn.AdaptivePool{Dim: 2, Out: nn.N(1)}, nn.Flatten{Start: 1, End: -1}, nn.Linear{In: 256, Out: 512}, nn.ReLU(inplace))
	if p > 0 {
		s = append(s, nn.Dropout{P: p})
	}
	return rootOf(b, "Sequential", append(s, nn.Linear{In: 512, Out: classes})...)
}
