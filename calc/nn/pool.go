package nn

import (
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
	out := g.Window(x, k, stride, s.Padding.expand(s.Dim, 0), s.Dilation.expand(s.Dim, 1), s.Ceil)
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
	sh := g.Shape(x)
	if len(sh) < s.Dim+1 {
		g.Fail("shape-rank", "shape", torch.Shape(sh), "dim", s.Dim)
	}
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
	out := append(append([]int64{}, sh[:lead]...), o...)
	return g.Pool("adaptive_pool", x, out, true, s.Max)
}

func init() {
	for d := 1; d <= 3; d++ {
		for _, avg := range []bool{false, true} {
			register(func(a *Args) Spec {
				p := Pool{Dim: d, Avg: avg, Kernel: a.Required("kernel_size", 1), Stride: a.Ints("stride", 1), Padding: a.Ints("padding", 0), Ceil: a.Bool("ceil_mode", false)}
				if avg {
					a.Ignore("count_include_pad", "divisor_override")
				} else {
					p.Dilation = a.Ints("dilation", 1)
					a.Ignore("return_indices")
				}
				return p
			}, Pool{Dim: d, Avg: avg}.class())
			register(func(a *Args) Spec {
				a.Ignore("return_indices")
				if list, ok := a.m["output_size"].([]any); ok { // None stands for the input's size
					for i, v := range list {
						if v == nil {
							list[i] = int64(0)
						}
					}
				}
				return AdaptivePool{Dim: d, Max: !avg, Out: a.Required("output_size", 0)}
			}, AdaptivePool{Dim: d, Max: !avg}.class())
		}
	}
}
