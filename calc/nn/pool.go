package nn

import (
	"slices"
	"strconv"

	"vrametre/calc/torch"
)

// Pool is nn.MaxPool1d to 3d and nn.AvgPool1d to 3d.
type Pool struct {
	Dim                               int
	Avg                               bool
	Kernel, Stride, Padding, Dilation Ints
	Ceil                              bool
}

func (s Pool) class() string {
	if s.Avg {
		return "AvgPool" + strconv.Itoa(s.Dim) + "d"
	}
	return "MaxPool" + strconv.Itoa(s.Dim) + "d"
}

func (s Pool) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return s.Apply(b.G, x[0]) })
}

// Apply pools as a function (F.max_pool2d).
func (s Pool) Apply(g *torch.Graph, x torch.Tensor) torch.Tensor {
	k := s.Kernel.expand(s.Dim, 1)
	stride := k
	if len(s.Stride) > 0 {
		stride = s.Stride.expand(s.Dim, 1)
	}
	g.Rank(x, s.Dim+1, s.Dim+2)
	if s.Dim == 1 { // the 2-d kernels on one row
		g.Window(x, k, stride, s.Padding.expand(1, 0), s.Dilation.expand(1, 1), s.Ceil)
		two := Pool{Dim: 2, Avg: s.Avg, Kernel: Ints{1, k[0]}, Stride: Ints{1, stride[0]}, Padding: Ints{0, s.Padding.expand(1, 0)[0]},
			Dilation: Ints{1, s.Dilation.expand(1, 1)[0]}, Ceil: s.Ceil}
		return g.Squeeze(two.Apply(g, g.Unsqueeze(x, -2)), -2)
	}
	out := g.Window(x, k, stride, s.Padding.expand(s.Dim, 0), s.Dilation.expand(s.Dim, 1), s.Ceil)
	if sh := g.Shape(x); s.Avg && s.Dim == 3 { // avg_pool3d's own check of the input without its padding
		for i, n := range sh[len(sh)-3:] {
			if n < k[i] {
				g.Fail("pool-kernel", "shape", torch.Shape(sh), "kernel", torch.Shape(k))
			}
		}
	}
	name := "max_pool"
	if s.Avg {
		name = "avg_pool"
	}
	return g.Pool(name, x, out, true, !s.Avg)
}

// AdaptivePool is nn.AdaptiveAvgPool1d to 3d and nn.AdaptiveMaxPool1d to 3d. Out may hold 0 for "as the input".
type AdaptivePool struct {
	Dim int
	Max bool
	Out Ints
}

func (s AdaptivePool) class() string {
	if s.Max {
		return "AdaptiveMaxPool" + strconv.Itoa(s.Dim) + "d"
	}
	return "AdaptiveAvgPool" + strconv.Itoa(s.Dim) + "d"
}

func (s AdaptivePool) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return s.Apply(b.G, x[0]) })
}

// Apply pools as a function; averaging to one value is a mean.
func (s AdaptivePool) Apply(g *torch.Graph, x torch.Tensor) torch.Tensor {
	g.Rank(x, s.Dim+1, s.Dim+2)
	sh := g.Shape(x)
	lead := len(sh) - s.Dim
	o := s.Out.expand(s.Dim, 0)
	one := true
	for i := range o {
		if o[i] == 0 {
			o[i] = sh[lead+i]
		}
		one = one && o[i] == 1
	}
	if !s.Max && one {
		if s.Dim == 1 {
			return g.Squeeze(g.Mean(g.Unsqueeze(x, -2), true, -1, -2), -2)
		}
		dims := make([]int, s.Dim)
		for i := range dims {
			dims[i] = -1 - i
		}
		return g.Mean(x, true, dims...)
	}
	if s.Dim == 1 {
		return g.Squeeze(AdaptivePool{Dim: 2, Max: s.Max, Out: Ints{1, o[0]}}.Apply(g, g.Unsqueeze(x, -2)), -2)
	}
	out := append(append([]int64{}, sh[:lead]...), o...)
	return g.Pool("adaptive_pool", x, out, true, s.Max)
}

// LPPool is nn.LPPool1d or LPPool2d, as F.lp_pool2d writes it out.
type LPPool struct {
	Dim            int
	Kernel, Stride Ints
	Ceil           bool
}

func (s LPPool) class() string { return "LPPool" + strconv.Itoa(s.Dim) + "d" }
func (s LPPool) build(b *Builder, l *Layer) {
	g := b.G
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := Pool{Dim: s.Dim, Avg: true, Kernel: s.Kernel, Stride: s.Stride, Ceil: s.Ceil}.Apply(g, g.Pow(x[0]))
		g.Keep(y)
		sign := g.Unary(maths["sign"], y, false)
		z := g.Mul(sign, ReLU(false).Apply(g, g.Unary(maths["abs"], y, false)))
		return g.Pow(g.Scale(z))
	})
}

// FractionalMaxPool2d is nn.FractionalMaxPool2d: like MaxPool2d, with a random sample of two numbers per map.
type FractionalMaxPool2d struct {
	Kernel, Out Ints
	Ratio       []float64
}

func (FractionalMaxPool2d) class() string { return "FractionalMaxPool2d" }
func (s FractionalMaxPool2d) build(b *Builder, l *Layer) {
	g := b.G
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		g.Rank(x[0], 4)
		sh := g.Shape(x[0])
		out := []int64{sh[0], sh[1], sh[2], sh[3]}
		for i := range 2 {
			if len(s.Out) > 0 {
				out[i+2] = s.Out.expand(2, 1)[i]
			} else {
				out[i+2] = int64(float64(sh[i+2]) * s.Ratio[min(i, len(s.Ratio)-1)])
			}
			if k := s.Kernel.expand(2, 1); out[i+2] < 1 || out[i+2]+k[i]-1 >= sh[i+2] { // aten/src/ATen/native/FractionalMaxPool2d.cpp
				g.Fail("pool-fractional", "shape", torch.Shape(sh), "kernel", torch.Shape(k), "output", out[i+2])
			}
		}
		g.Keep(g.Constant("rand", []int64{sh[0], sh[1], 2}, g.DType(x[0])))
		return g.Pool("fractional_max_pool", x[0], out, true, true)
	})
}

func init() {
	for d := 1; d <= 2; d++ {
		register(func(a *Args) Spec {
			a.Ignore("norm_type")
			k := a.There("kernel_size", a.Each("kernel_size", d, 1))
			if _, list := a.m["kernel_size"].([]any); list && d == 1 { // F.lp_pool1d multiplies by it
				a.fail("argument-integer", "kernel_size", a.m["kernel_size"])
			}
			return LPPool{d, k, a.Dims("stride", d, 1), a.Bool("ceil_mode", false)}
		}, LPPool{Dim: d}.class())
	}
	register(func(a *Args) Spec {
		a.Ignore("return_indices", "_random_samples")
		s := FractionalMaxPool2d{Kernel: a.There("kernel_size", a.Each("kernel_size", 2, 1)), Out: a.Each("output_size", 2, 1), Ratio: a.Floats("output_ratio")}
		if _, list := a.m["output_ratio"].([]any); list && len(s.Ratio) != 2 {
			a.fail("argument-length", "output_ratio", a.m["output_ratio"], "expected", 2)
		}
		if slices.ContainsFunc(s.Ratio, func(r float64) bool { return r >= 1 }) {
			a.fail("argument-range", "output_ratio", a.m["output_ratio"])
		}
		if len(s.Out) == 0 && len(s.Ratio) == 0 {
			a.fail("argument-missing", "output_size", nil)
		}
		if len(s.Out) > 0 && len(s.Ratio) > 0 {
			a.fail("argument-both", "output_size", a.m["output_size"], "other", "output_ratio")
		}
		return s
	}, "FractionalMaxPool2d")
	for d := 1; d <= 3; d++ {
		for _, avg := range []bool{false, true} {
			register(func(a *Args) Spec {
				p := Pool{Dim: d, Avg: avg, Kernel: a.There("kernel_size", a.Dims("kernel_size", d, 1)), Stride: a.Dims("stride", d, 1), Padding: a.Dims("padding", d, 0), Ceil: a.Bool("ceil_mode", false)}
				if avg {
					a.Ignore("count_include_pad", "divisor_override")
				} else {
					p.Dilation = a.Dims("dilation", d, 1)
					a.Ignore("return_indices")
				}
				return p
			}, Pool{Dim: d, Avg: avg}.class())
			register(func(a *Args) Spec {
				a.Ignore("return_indices")
				s := AdaptivePool{Dim: d, Max: !avg}
				if list, ok := a.m["output_size"].([]any); ok && slices.Contains(list, nil) { // None stands for the input's size
					a.Ignore("output_size")
					if len(list) != d || d == 1 {
						a.fail("argument-length", "output_size", list, "expected", d)
					}
					for i, v := range list {
						s.Out = append(s.Out, 0)
						if v != nil {
							s.Out[i] = a.positive("output_size", v)
						}
					}
					return s
				}
				s.Out = a.There("output_size", a.Each("output_size", d, 1))
				return s
			}, AdaptivePool{Dim: d, Max: !avg}.class())
		}
	}
}
