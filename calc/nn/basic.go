package nn

import (
	"slices"
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
		case s.Channels == 1:
			b.G.Rank(x[0], 2, 3)
			fallthrough
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
		return Flatten{a.Dim("start_dim", 1), a.Dim("end_dim", -1)}
	}, "Flatten")
	for n := 0; n <= 3; n++ {
		register(func(a *Args) Spec {
			return Dropout{P: a.Probability("p", 0.5), InPlace: a.Bool("inplace", false), Channels: n}
		}, Dropout{Channels: n}.class())
	}
	register(func(a *Args) Spec {
		a.Ignore("max_norm", "norm_type", "scale_grad_by_freq", "sparse", "_weight", "_freeze")
		s := Embedding{a.Size("num_embeddings"), a.Size("embedding_dim")}
		if i := a.Int("padding_idx", 0); i < -s.Num || i >= s.Num {
			a.fail("argument-range", "padding_idx", i)
		}
		return s
	}, "Embedding")
}

// AlphaDropout is nn.AlphaDropout; Channels makes it FeatureAlphaDropout.
type AlphaDropout struct {
	P        float64
	Channels bool
}

func (s AlphaDropout) class() string {
	if s.Channels {
		return "FeatureAlphaDropout"
	}
	return "AlphaDropout"
}

func (s AlphaDropout) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if !b.Training {
			return x[0]
		}
		return b.G.AlphaDropout(x[0], s.P, s.Channels)
	})
}

// Bilinear is nn.Bilinear, on two inputs.
type Bilinear struct {
	In1, In2, Out int64
	NoBias        bool
}

func (Bilinear) class() string { return "Bilinear" }
func (s Bilinear) build(b *Builder, l *Layer) {
	w := b.Param(l, s.Out, s.In1, s.In2)
	bias := torch.None
	if !s.NoBias {
		bias = b.Param(l, s.Out)
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := b.G.Bilinear(x[0], w, x[1])
		if bias != torch.None {
			y = b.G.AddBias(y, bias)
		}
		return y
	})
}

// EmbeddingBag is nn.EmbeddingBag on a matrix of indices, one bag per row.
type EmbeddingBag struct {
	Num, Dim int64
	Mode     string
}

func (EmbeddingBag) class() string { return "EmbeddingBag" }
func (s EmbeddingBag) build(b *Builder, l *Layer) {
	w := b.Param(l, s.Num, s.Dim)
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.EmbeddingBag(x[0], w, s.Mode) })
}

// Unflatten is nn.Unflatten.
type Unflatten struct {
	Dim  int
	Size Ints
}

func (Unflatten) class() string { return "Unflatten" }
func (s Unflatten) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		sh, d := b.G.Shape(x[0]), s.Dim
		b.G.Dim(x[0], d)
		if d < 0 {
			d += len(sh)
		}
		return b.G.View(x[0], slices.Concat(sh[:d], s.Size, sh[d+1:])...)
	})
}

// CosineSimilarity is nn.CosineSimilarity, PairwiseDistance nn.PairwiseDistance, each on two inputs.
type Similarity struct {
	Dim      int
	Distance bool
}

func (s Similarity) class() string {
	if s.Distance {
		return "PairwiseDistance"
	}
	return "CosineSimilarity"
}

func (s Similarity) build(b *Builder, l *Layer) {
	g := b.G
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if s.Distance {
			return g.Squeeze(g.Norm(g.AddScalar(g.Sub(x[0], x[1])), -1), -1)
		}
		var unit [2]torch.Tensor
		var norm [2]torch.Tensor
		for i := range norm {
			norm[i] = g.Sum(g.Pow(x[i]), true, s.Dim)
		}
		for i := range norm {
			norm[i] = g.Unary(maths["sqrt"], norm[i], true)
		}
		for i := range unit {
			unit[i] = g.Div(x[i], norm[i])
		}
		return g.Sum(g.Mul(unit[0], unit[1]), false, s.Dim)
	})
}

func init() {
	for _, channels := range []bool{false, true} {
		register(func(a *Args) Spec {
			a.Ignore("inplace") // F.alpha_dropout is not told
			return AlphaDropout{a.Probability("p", 0.5), channels}
		}, AlphaDropout{Channels: channels}.class())
	}
	register(func(a *Args) Spec {
		return Bilinear{a.Size("in1_features"), a.Size("in2_features"), a.Size("out_features"), !a.Bool("bias", true)}
	}, "Bilinear")
	register(func(a *Args) Spec {
		a.Ignore("max_norm", "norm_type", "scale_grad_by_freq", "sparse", "padding_idx", "include_last_offset")
		return EmbeddingBag{a.Size("num_embeddings"), a.Size("embedding_dim"), a.String("mode", "mean", "sum", "mean", "max")}
	}, "EmbeddingBag")
	register(func(a *Args) Spec {
		size := a.Required("unflattened_size", -1)
		if _, list := a.m["unflattened_size"].([]any); !list && len(size) > 0 {
			a.fail("argument-list", "unflattened_size", size[0])
		}
		return Unflatten{a.Dim("dim", 1), size}
	}, "Unflatten")
	register(func(a *Args) Spec { a.Ignore("eps"); return Similarity{Dim: a.Dim("dim", 1)} }, "CosineSimilarity")
	register(func(a *Args) Spec { a.Ignore("p", "eps"); return Similarity{Distance: true} }, "PairwiseDistance")
}
