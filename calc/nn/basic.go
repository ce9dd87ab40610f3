package nn

import (
	"strconv"

	"vrametre/calc/fault"
	"vrametre/calc/torch"
)

func fail(l *Layer, code string, args ...any) { fault.Throw(code, l.Path, args...) }

// Linear is nn.Linear.
type Linear struct {
	In, Out int64
	NoBias  bool
	// Class overrides the printed class (NonDynamicallyQuantizableLinear).
	Class string
	// Tied is a module whose first parameter serves as the weight.
	Tied *Layer
}

func (s Linear) class() string {
	if s.Class != "" {
		return s.Class
	}
	return "Linear"
}

func (s Linear) build(b *Builder, l *Layer) {
	var w torch.Tensor
	if s.Tied != nil {
		w = s.Tied.Params[0]
		b.G.Share(l.Module, w)
	} else {
		w = b.Param(l, s.Out, s.In)
	}
	bias := torch.None
	if !s.NoBias {
		bias = b.Param(l, s.Out)
	}
	f := b.linear(l, w, bias, s.In, s.Out)
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return f(x[0]) })
}

// Identity returns its input.
type Identity struct{}

func (Identity) class() string { return "Identity" }
func (Identity) build(_ *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return x[0] })
}

// Flatten is nn.Flatten.
type Flatten struct{ Start, End int }

func (Flatten) class() string { return "Flatten" }
func (s Flatten) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.Flatten(x[0], s.Start, s.End) })
}

// Dropout is nn.Dropout; Channels makes it Dropout1d to Dropout3d.
type Dropout struct {
	P        float64
	InPlace  bool
	Channels int
}

func (s Dropout) class() string {
	if s.Channels > 0 {
		return "Dropout" + strconv.Itoa(s.Channels) + "d"
	}
	return "Dropout"
}

func (s Dropout) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		switch {
		case !b.Training:
			return x[0]
		case s.Channels > 0:
			return b.G.FeatureDropout(x[0], s.P, s.InPlace)
		}
		return b.G.Dropout(x[0], s.P, s.InPlace)
	})
}

// Embedding is nn.Embedding.
type Embedding struct{ Num, Dim int64 }

func (Embedding) class() string { return "Embedding" }
func (s Embedding) build(b *Builder, l *Layer) {
	w := b.Param(l, s.Num, s.Dim)
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.Embedding(x[0], w) })
}

func init() {
	register(func(a *Args) Spec {
		return Linear{In: a.Size("in_features"), Out: a.Size("out_features"), NoBias: !a.Bool("bias", true)}
	}, "Linear", "NonDynamicallyQuantizableLinear")
	register(func(a *Args) Spec { a.Ignore("p"); return Identity{} }, "Identity")
	register(func(a *Args) Spec {
		return Flatten{int(a.Int("start_dim", 1)), int(a.Int("end_dim", -1))}
	}, "Flatten")
	for n := 0; n <= 3; n++ {
		register(func(a *Args) Spec {
			return Dropout{P: a.Probability("p", 0.5), InPlace: a.Bool("inplace", false), Channels: n}
		}, Dropout{Channels: n}.class())
	}
	register(func(a *Args) Spec {
		a.Ignore("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse", "_weight", "_freeze")
		return Embedding{a.Size("num_embeddings"), a.Size("embedding_dim")}
	}, "Embedding")
}
