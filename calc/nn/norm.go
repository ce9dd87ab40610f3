package nn

import (
	"strconv"

	"vrametre/calc/torch"
)

// BatchNorm is nn.BatchNorm1d to BatchNorm3d.
type BatchNorm struct {
	Dim               int
	C                 int64
	NoAffine, NoStats bool
	Class             string
}

func (s BatchNorm) class() string {
	if s.Class != "" {
		return s.Class
	}
	return "BatchNorm" + strconv.Itoa(s.Dim) + "d"
}

func (s BatchNorm) build(b *Builder, l *Layer) {
	g := b.G
	w, bias := torch.None, torch.None
	if !s.NoAffine {
		w, bias = b.Param(l, s.C), b.Param(l, s.C)
	}
	var running []torch.Tensor
	if !s.NoStats { // running_mean, running_var, num_batches_tracked
		running = []torch.Tensor{g.Buffer(l.Module, b.DType, s.C), g.Buffer(l.Module, b.DType, s.C)}
		g.Buffer(l.Module, torch.Int64)
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if s.Dim == 1 {
			g.Rank(x[0], 2, 3)
		} else {
			g.Rank(x[0], s.Dim+2)
		}
		channels(g, x[0], s.C)
		return g.BatchNorm(x[0], w, bias, running, b.Training || s.NoStats)
	})
}

// channels refuses an input whose second dimension is not c.
func channels(g *torch.Graph, x torch.Tensor, c int64) {
	if sh := g.Shape(x); g.Dim(x, 1) != c {
		g.Fail("norm-channels", "shape", torch.Shape(sh), "num_features", c)
	}
}

// LayerNorm is nn.LayerNorm.
type LayerNorm struct {
	Shape    []int64
	NoAffine bool
	NoBias   bool
}

func (LayerNorm) class() string { return "LayerNorm" }
func (s LayerNorm) build(b *Builder, l *Layer) {
	w, bias := torch.None, torch.None
	if !s.NoAffine {
		w = b.Param(l, s.Shape...)
		if !s.NoBias {
			bias = b.Param(l, s.Shape...)
		}
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.LayerNorm(x[0], w, bias, s.Shape) })
}

// GroupNorm is nn.GroupNorm.
type GroupNorm struct {
	Groups, C int64
	NoAffine  bool
}

func (GroupNorm) class() string { return "GroupNorm" }
func (s GroupNorm) build(b *Builder, l *Layer) {
	w, bias := torch.None, torch.None
	if !s.NoAffine {
		w, bias = b.Param(l, s.C), b.Param(l, s.C)
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if !s.NoAffine {
			channels(b.G, x[0], s.C)
		}
		return b.G.GroupNorm(x[0], w, bias, s.Groups)
	})
}

// InstanceNorm is nn.InstanceNorm1d to 3d: a batch norm over N x C groups (aten/src/ATen/native/Normalization.cpp).
type InstanceNorm struct {
	Dim           int
	C             int64
	Affine, Stats bool
}

func (s InstanceNorm) class() string { return "InstanceNorm" + strconv.Itoa(s.Dim) + "d" }
func (s InstanceNorm) build(b *Builder, l *Layer) {
	g := b.G
	w, bias := torch.None, torch.None
	if s.Affine {
		w, bias = b.Param(l, s.C), b.Param(l, s.C)
	}
	var running []torch.Tensor
	if s.Stats {
		running = []torch.Tensor{g.Buffer(l.Module, b.DType, s.C), g.Buffer(l.Module, b.DType, s.C)}
		g.Buffer(l.Module, torch.Int64)
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		g.Rank(x[0], s.Dim+2)
		if s.Affine || s.Stats {
			channels(g, x[0], s.C)
		}
		return g.InstanceNorm(x[0], w, bias, running, b.Training || !s.Stats)
	})
}

func init() {
	for d := 1; d <= 3; d++ {
		register(func(a *Args) Spec {
			a.Ignore("eps", "momentum")
			return BatchNorm{Dim: d, C: a.Size("num_features"), NoAffine: !a.Bool("affine", true), NoStats: !a.Bool("track_running_stats", true)}
		}, BatchNorm{Dim: d}.class())
		register(func(a *Args) Spec {
			a.Ignore("eps", "momentum")
			return InstanceNorm{Dim: d, C: a.Size("num_features"), Affine: a.Bool("affine", false), Stats: a.Bool("track_running_stats", false)}
		}, InstanceNorm{Dim: d}.class())
	}
	register(func(a *Args) Spec {
		a.Ignore("eps")
		return LayerNorm{Shape: a.Required("normalized_shape", 1), NoAffine: !a.Bool("elementwise_affine", true), NoBias: !a.Bool("bias", true)}
	}, "LayerNorm")
	register(func(a *Args) Spec {
		a.Ignore("eps")
		s := GroupNorm{Groups: a.Size("num_groups"), C: a.Size("num_channels"), NoAffine: !a.Bool("affine", true)}
		if s.C%s.Groups != 0 {
			a.fail("argument-divides", "num_groups", s.Groups, "of", s.C)
		}
		return s
	}, "GroupNorm")
}

// RMSNorm is nn.RMSNorm.
type RMSNorm struct {
	Shape    []int64
	NoAffine bool
}

func (RMSNorm) class() string { return "RMSNorm" }
func (s RMSNorm) build(b *Builder, l *Layer) {
	w := torch.None
	if !s.NoAffine {
		w = b.Param(l, s.Shape...)
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.RMSNorm(x[0], w, s.Shape) })
}

// LocalResponseNorm is nn.LocalResponseNorm.
type LocalResponseNorm struct{ Size int64 }

func (LocalResponseNorm) class() string { return "LocalResponseNorm" }
func (s LocalResponseNorm) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.LocalResponseNorm(x[0], s.Size) })
}

func init() {
	register(func(a *Args) Spec {
		a.Ignore("eps")
		return RMSNorm{a.Required("normalized_shape", 1), !a.Bool("elementwise_affine", true)}
	}, "RMSNorm")
	register(func(a *Args) Spec {
		a.Ignore("alpha", "beta", "k")
		return LocalResponseNorm{a.Size("size")}
	}, "LocalResponseNorm")
}
