package nn

import (
	"strconv"

	"vrametre/calc/torch"
)

// Block is a module whose children and forward are given by a function.
type Block struct {
	Class string
	Build func(b *Builder, l *Layer)
}

func (s Block) class() string              { return s.Class }
func (s Block) build(b *Builder, l *Layer) { s.Build(b, l) }

// Seq is nn.Sequential, its children named by index.
type Seq []Spec

func (Seq) class() string { return "Sequential" }
func (s Seq) build(b *Builder, l *Layer) {
	for i, k := range s {
		b.Add(l, strconv.Itoa(i), k)
	}
	l.Chain()
}

// Child is a module with its name in the parent.
type Child struct {
	Name string
	Spec Spec
}

// Ordered is a subclass of nn.Sequential with named children (OrderedDict).
type Ordered struct {
	Class    string
	Children []Child
}

func (s Ordered) class() string {
	if s.Class == "" {
		return "Sequential"
	}
	return s.Class
}
func (s Ordered) build(b *Builder, l *Layer) {
	for _, c := range s.Children {
		b.Add(l, c.Name, c.Spec)
	}
	l.Chain()
}

// Norm makes a normalisation layer for that many channels (norm_layer).
type Norm func(channels int64) Spec

// BatchNorm2d is the usual norm_layer.
func BatchNorm2d(c int64) Spec { return BatchNorm{Dim: 2, C: c} }

// ConvNormActivation is torchvision.ops.misc.Conv2dNormActivation (Conv3dNormActivation where Dim is 3):
// convolution, normalisation and activation in a row.
type ConvNormActivation struct {
	Class                    string
	Dim                      int // 2 when 0
	In, Out                  int64
	Kernel, Stride, Dilation Ints // kernel 3 when absent
	Padding                  Ints // (kernel - 1) / 2 * dilation when absent
	Groups                   int64
	Norm                     Norm // BatchNorm when nil
	Bias, NoNorm, NotInPlace bool
	Activation               string // none when empty
}

func (s ConvNormActivation) dim() int { return max(s.Dim, 2) }
func (s ConvNormActivation) class() string {
	if s.Class != "" {
		return s.Class
	}
	return "Conv" + strconv.Itoa(s.dim()) + "dNormActivation"
}

func (s ConvNormActivation) build(b *Builder, l *Layer) {
	if len(s.Kernel) == 0 {
		s.Kernel = N(3)
	}
	pad := s.Padding
	if pad == nil {
		k, d := s.Kernel.expand(s.dim(), 3), s.Dilation.expand(s.dim(), 1)
		pad = make(Ints, len(k))
		for i := range k {
			pad[i] = (k[i] - 1) / 2 * d[i]
		}
	}
	b.Add(l, "0", Conv{Dim: s.dim(), In: s.In, Out: s.Out, Kernel: s.Kernel, Stride: s.Stride, Padding: pad, Dilation: s.Dilation,
		Groups: s.Groups, NoBias: !s.Bias && !s.NoNorm})
	at := 1
	if !s.NoNorm {
		norm := s.Norm
		if norm == nil {
			norm = func(c int64) Spec { return BatchNorm{Dim: s.dim(), C: c} }
		}
		b.Add(l, "1", norm(s.Out))
		at++
	}
	if s.Activation != "" {
		b.Add(l, strconv.Itoa(at), Activation{s.Activation, !s.NotInPlace})
	}
	l.Chain()
}

// SqueezeExcitation is torchvision.ops.misc.SqueezeExcitation.
type SqueezeExcitation struct {
	C, Squeeze int64
	Activation string // ReLU when empty
	InPlace    bool   // of Activation
	Scale      string // Sigmoid when empty
}

func (SqueezeExcitation) class() string { return "SqueezeExcitation" }
func (s SqueezeExcitation) build(b *Builder, l *Layer) {
	if s.Activation == "" {
		s.Activation = "ReLU"
	}
	if s.Scale == "" {
		s.Scale = "Sigmoid"
	}
	pool := b.Add(l, "avgpool", AdaptivePool{Dim: 2, Out: N(1)})
	fc1 := b.Add(l, "fc1", Conv{Dim: 2, In: s.C, Out: s.Squeeze, Kernel: N(1)})
	fc2 := b.Add(l, "fc2", Conv{Dim: 2, In: s.Squeeze, Out: s.C, Kernel: N(1)})
	act := b.Add(l, "activation", Activation{s.Activation, s.InPlace})
	scale := b.Add(l, "scale_activation", Activation{Type: s.Scale})
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		return b.G.Mul(scale.Call(fc2.Call(act.Call(fc1.Call(pool.Call(x[0]))))), x[0])
	})
}

// StochasticDepth is torchvision.ops.StochasticDepth: whole samples of the batch (mode "row") or the batch dropped at once.
type StochasticDepth struct {
	P     float64
	Batch bool
}

func (StochasticDepth) class() string { return "StochasticDepth" }
func (s StochasticDepth) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if !b.Training || s.P == 0 {
			return x[0]
		}
		return b.G.StochasticDepth(x[0], s.Batch)
	})
}

// Permute is torchvision.ops.Permute.
type Permute []int

func (Permute) class() string { return "Permute" }
func (s Permute) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.Permute(x[0], s...) })
}

// LayerNorm2d normalises the channels of an image at each pixel (torchvision.models.convnext).
type LayerNorm2d struct{ C int64 }

func (LayerNorm2d) class() string { return "LayerNorm2d" }
func (s LayerNorm2d) build(b *Builder, l *Layer) {
	w, bias := b.Param(l, s.C), b.Param(l, s.C)
	shape := []int64{s.C}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		b.G.Rank(x[0], 4)
		return b.G.Permute(b.G.LayerNorm(b.G.Permute(x[0], 0, 2, 3, 1), w, bias, shape), 0, 3, 1, 2)
	})
}

// FrozenBatchNorm2d is torchvision.ops.misc.FrozenBatchNorm2d: statistics and weights are buffers.
type FrozenBatchNorm2d struct{ C int64 }

func (FrozenBatchNorm2d) class() string { return "FrozenBatchNorm2d" }
func (s FrozenBatchNorm2d) build(b *Builder, l *Layer) {
	g := b.G
	var buffers [4]torch.Tensor // weight, bias, running_mean, running_var
	for i := range buffers {
		buffers[i] = g.Buffer(l.Module, b.DType, s.C)
	}
	rsqrt := &torch.Unary{Name: "rsqrt", SavesOutput: true}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		var v [4]torch.Tensor
		for i, t := range buffers {
			v[i] = g.View(t, 1, s.C, 1, 1)
		}
		scale := g.Mul(v[0], g.Unary(rsqrt, g.AddScalar(v[3]), false))
		bias := g.Add(v[1], g.Mul(v[2], scale))
		g.Keep(scale, bias)
		return g.Add(g.Mul(x[0], scale), bias)
	})
}

func init() {
	register(func(a *Args) Spec { a.Ignore("eps"); return FrozenBatchNorm2d{a.Size("num_features")} }, "FrozenBatchNorm2d")
	register(func(a *Args) Spec {
		return StochasticDepth{P: a.Probability("p", 0), Batch: a.String("mode", "row", "row", "batch") == "batch"}
	}, "StochasticDepth")
	register(func(a *Args) Spec { return Permute(indices(a, "dims")) }, "Permute")
	register(func(a *Args) Spec {
		a.Ignore("eps")
		return LayerNorm2d{a.There("normalized_shape", a.Each("normalized_shape", 1, 1))[0]}
	}, "LayerNorm2d")
	register(func(a *Args) Spec {
		return SqueezeExcitation{C: a.Size("input_channels"), Squeeze: a.Size("squeeze_channels")}
	}, "SqueezeExcitation")
}
