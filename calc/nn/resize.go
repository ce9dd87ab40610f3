package nn

import (
	"slices"
	"strconv"

	"vrametre/calc/torch"
)

// pad is F.pad: pads are (left, right) from the first spatial dimension on. Constant padding keeps
// nothing, reflection and replication keep their input, circular copies slices.
func pad(g *torch.Graph, x torch.Tensor, pads []int64, mode string) torch.Tensor {
	sh := slices.Clone(g.Shape(x))
	n := len(pads) / 2
	g.RankFrom(x, n)
	if mode != "constant" {
		g.Rank(x, n+1, n+2)
	}
	for i := range n {
		d := len(sh) - n + i
		if mode == "reflect" && (pads[2*i] >= sh[d] || pads[2*i+1] >= sh[d]) {
			g.Fail("pad-reflect", "shape", torch.Shape(sh), "padding", torch.Shape(pads))
		}
		if mode == "circular" && (pads[2*i] > sh[d] || pads[2*i+1] > sh[d]) {
			g.Fail("pad-circular", "shape", torch.Shape(sh), "padding", torch.Shape(pads))
		}
		sh[d] += pads[2*i] + pads[2*i+1]
		if sh[d] <= 0 {
			g.Fail("shape-negative", "shape", torch.Shape(sh))
		}
	}
	return g.Resize("pad", x, sh, mode == "reflect" || mode == "replicate")
}

// Pad is nn.ZeroPad, ConstantPad, ReflectionPad and ReplicationPad in 1 to 3 dimensions; Padding as PyTorch
// takes it, (left, right, top, bottom, ...) from the last dimension on.
type Pad struct {
	Class   string
	Dim     int
	Mode    string
	Padding Ints
}

func (s Pad) class() string { return s.Class }
func (s Pad) build(b *Builder, l *Layer) {
	p := s.Padding
	if len(p) == 1 {
		p = p.expand(2*s.Dim, 0)
	}
	if len(p)%2 != 0 { // F.pad takes pairs, from the last dimension on
		fail(l, "pad-sizes", "padding", torch.Shape(p), "expected", 2*s.Dim)
	}
	first := make([]int64, len(p))
	for i := range len(p) / 2 {
		copy(first[2*i:], p[len(p)-2-2*i:len(p)-2*i])
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return pad(b.G, x[0], first, s.Mode) })
}

// upsamplings are the modes of one rank only: the input's, batch and channels included.
var upsamplings = map[string]int{"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}

// Upsample is nn.Upsample; its gradient needs only shapes.
type Upsample struct {
	Size  Ints
	Scale []float64
	Mode  string
	// List: the only size or scale is for the only dimension.
	List bool
}

func (Upsample) class() string { return "Upsample" }
func (s Upsample) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return s.Apply(b.G, x[0]) })
}

// Apply is F.interpolate.
func (s Upsample) Apply(g *torch.Graph, x torch.Tensor) torch.Tensor {
	ranks := []int{3, 4, 5}
	if r, ok := upsamplings[s.Mode]; ok {
		ranks = []int{r}
	}
	g.Rank(x, ranks...)
	sh := slices.Clone(g.Shape(x))
	n := len(sh) - 2
	if k := max(len(s.Size), len(s.Scale)); k != n && (k > 1 || s.List) {
		g.Fail("upsample-sizes", "shape", torch.Shape(sh), "expected", n, "given", k)
	}
	for i := range n {
		switch {
		case len(s.Size) > 0:
			sh[i+2] = s.Size.expand(n, 0)[i]
		case len(s.Scale) > 0:
			sh[i+2] = int64(float64(sh[i+2]) * s.Scale[min(i, len(s.Scale)-1)])
		}
		if sh[i+2] <= 0 {
			g.Fail("shape-negative", "shape", torch.Shape(sh))
		}
	}
	return g.Resize("upsample", x, sh, false)
}

// PixelShuffle moves channels into space (Factor > 0); Unshuffle the other way.
type PixelShuffle struct {
	Factor    int64
	Unshuffle bool
}

func (s PixelShuffle) class() string {
	if s.Unshuffle {
		return "PixelUnshuffle"
	}
	return "PixelShuffle"
}

func (s PixelShuffle) build(b *Builder, l *Layer) {
	g := b.G
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		g.RankFrom(x[0], 3)
		sh := slices.Clone(g.Shape(x[0]))
		n, r := len(sh), s.Factor
		c := &sh[n-3]
		if s.Unshuffle {
			if sh[n-1]%r != 0 || sh[n-2]%r != 0 {
				g.Fail("shuffle-factor", "shape", torch.Shape(sh), "factor", r)
			}
			*c, sh[n-2], sh[n-1] = *c*r*r, sh[n-2]/r, sh[n-1]/r
		} else {
			if *c%(r*r) != 0 {
				g.Fail("shuffle-factor", "shape", torch.Shape(sh), "factor", r)
			}
			*c, sh[n-2], sh[n-1] = *c/(r*r), sh[n-2]*r, sh[n-1]*r
		}
		return g.Resize("pixel_shuffle", x[0], sh, false)
	})
}

func init() {
	for d := 1; d <= 3; d++ {
		for name, mode := range map[string]string{"ZeroPad": "constant", "ConstantPad": "constant", "ReflectionPad": "reflect", "ReplicationPad": "replicate", "CircularPad": "circular"} {
			class := name + strconv.Itoa(d) + "d"
			register(func(a *Args) Spec {
				a.Ignore("value")
				p := Pad{class, d, mode, a.Required("padding", -1<<20)}
				if _, list := a.m["padding"].([]any); list && len(p.Padding)%2 != 0 {
					a.fail("argument-length", "padding", torch.Shape(p.Padding), "expected", 2*d)
				}
				return p
			}, class)
		}
	}
	upsample := func(a *Args) Spec {
		a.Ignore("align_corners", "recompute_scale_factor", "antialias")
		mode := "nearest"
		if a.typ == "UpsamplingBilinear2d" {
			mode = "bilinear"
		}
		s := Upsample{Size: a.Ints("size", 1), Mode: a.String("mode", mode, "nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic", "trilinear"), Scale: a.Floats("scale_factor")}
		for name, given := range map[string]int{"size": len(s.Size), "scale_factor": len(s.Scale)} { // a list of one is for one dimension
			if _, list := a.m[name].([]any); list && given == 1 {
				s.List = true
			}
		}
		if len(s.Size) > 0 && len(s.Scale) > 0 {
			a.fail("argument-both", "size", torch.Shape(s.Size), "other", "scale_factor")
		}
		if len(s.Size) == 0 && len(s.Scale) == 0 {
			a.fail("argument-missing", "scale_factor", nil)
		}
		return s
	}
	register(upsample, "Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d")
	register(func(a *Args) Spec { return PixelShuffle{Factor: a.Size("upscale_factor")} }, "PixelShuffle")
	register(func(a *Args) Spec { return PixelShuffle{Factor: a.Size("downscale_factor"), Unshuffle: true} }, "PixelUnshuffle")
}

// Unfold is nn.Unfold (im2col), Fold nn.Fold: nothing is kept, but the input of Unfold in 1.13.
type Unfold struct {
	// Out is the map that Fold gives; nil for Unfold.
	Out                               Ints
	Kernel, Stride, Padding, Dilation Ints
}

func (s Unfold) class() string {
	if s.Out != nil {
		return "Fold"
	}
	return "Unfold"
}

func (s Unfold) build(b *Builder, l *Layer) {
	g := b.G
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if s.Out == nil {
			g.Rank(x[0], 4)
		}
		sh := g.Shape(x[0])
		k := s.Kernel.expand(2, 1)
		blocks := func(m []int64) int64 {
			n := int64(1)
			for i, stride := range s.Stride.expand(2, 1) {
				span := m[i] + 2*s.Padding.expand(2, 0)[i] - s.Dilation.expand(2, 1)[i]*(k[i]-1) - 1
				if span < 0 {
					g.Fail("pool-kernel", "shape", torch.Shape(sh), "kernel", torch.Shape(k))
				}
				n *= span/stride + 1
			}
			return n
		}
		if s.Out == nil {
			return g.Resize("im2col", x[0], []int64{sh[0], sh[1] * k[0] * k[1], blocks(sh[2:])}, g.Rules.Im2ColSavesInput)
		}
		out := s.Out.expand(2, 1)
		if len(sh) != 3 || sh[1]%(k[0]*k[1]) != 0 || sh[2] != blocks(out) {
			g.Fail("fold-shape", "shape", torch.Shape(sh), "output_size", torch.Shape(out), "kernel", torch.Shape(k))
		}
		return g.Resize("col2im", x[0], []int64{sh[0], sh[1] / (k[0] * k[1]), out[0], out[1]}, false)
	})
}

// ChannelShuffle is nn.ChannelShuffle: one copy.
type ChannelShuffle struct{ Groups int64 }

func (ChannelShuffle) class() string { return "ChannelShuffle" }
func (s ChannelShuffle) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		sh := b.G.Shape(x[0])
		if len(sh) < 3 || sh[1]%s.Groups != 0 {
			b.G.Fail("shuffle-factor", "shape", torch.Shape(sh), "factor", s.Groups)
		}
		return b.G.Resize("channel_shuffle", x[0], sh, false)
	})
}

func init() {
	unfold := func(a *Args) Unfold {
		return Unfold{Kernel: a.There("kernel_size", a.Each("kernel_size", 2, 1)), Stride: a.Each("stride", 2, 1), Padding: a.Each("padding", 2, 0), Dilation: a.Each("dilation", 2, 1)}
	}
	register(func(a *Args) Spec { return unfold(a) }, "Unfold")
	register(func(a *Args) Spec {
		s := unfold(a)
		s.Out = a.There("output_size", a.Each("output_size", 2, 1))
		return s
	}, "Fold")
	register(func(a *Args) Spec { return ChannelShuffle{a.Size("groups")} }, "ChannelShuffle")
}
