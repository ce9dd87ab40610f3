package nn

import (
	"slices"
	"strconv"

	"vrametre/calc/torch"
)

// Conv is nn.Conv1d to Conv3d and nn.ConvTranspose1d to ConvTranspose3d.
type Conv struct {
	Dim                                              int
	In, Out                                          int64
	Kernel, Stride, Padding, Dilation, OutputPadding Ints
	Groups                                           int64
	NoBias, Transposed, Same                         bool
	PaddingMode                                      string
	Class                                            string // overrides the printed class
}

func (c Conv) class() string {
	if c.Class != "" {
		return c.Class
	}
	if c.Transposed {
		return "ConvTranspose" + strconv.Itoa(c.Dim) + "d"
	}
	return "Conv" + strconv.Itoa(c.Dim) + "d"
}

func (c Conv) build(b *Builder, l *Layer) {
	g := b.G
	groups := max(c.Groups, 1)
	buf := make([]int64, 5*c.Dim) // one allocation for the five arguments
	part := func(v Ints, i int, def int64) []int64 {
		p := buf[i*c.Dim : (i+1)*c.Dim : (i+1)*c.Dim]
		v.fill(p, def)
		return p
	}
	k := part(c.Kernel, 0, 1)
	args := torch.ConvArgs{Stride: part(c.Stride, 1, 1), Padding: part(c.Padding, 2, 0), Dilation: part(c.Dilation, 3, 1),
		OutputPadding: part(c.OutputPadding, 4, 0), Groups: groups, Transposed: c.Transposed}
	if c.In%groups != 0 || c.Out%groups != 0 {
		fail(l, "conv-groups", "in_channels", c.In, "out_channels", c.Out, "groups", groups)
	}
	var dims [5]int64
	shape := append(append(dims[:0], c.Out, c.In/groups), k...)
	if c.Transposed {
		shape[0], shape[1] = c.In, c.Out/groups
	}
	w := b.Param(l, shape...)
	bias := torch.None
	if !c.NoBias {
		bias = b.Param(l, c.Out)
	}
	odd := make([]int64, c.Dim) // padding='same' with an even span pads one side more, with a copy
	uneven := false
	if c.Same {
		for i := range k {
			total := args.Dilation[i] * (k[i] - 1)
			args.Padding[i] = total / 2
			odd[i] = total % 2
			uneven = uneven || odd[i] == 1
		}
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := x[0]
		a := args
		if sh := g.Shape(y); len(sh) != c.Dim+2 {
			g.Fail("conv-rank", "shape", torch.Shape(sh), "expected", c.Dim+2)
		}
		switch {
		case c.PaddingMode != "" && c.PaddingMode != "zeros":
			pads := make([]int64, 0, 2*c.Dim)
			for _, p := range args.Padding {
				pads = append(pads, p, p)
			}
			y = pad(g, y, pads, c.PaddingMode)
			a.Padding = make([]int64, c.Dim)
		case uneven:
			pads := make([]int64, 0, 2*c.Dim)
			for _, o := range odd {
				pads = append(pads, 0, o)
			}
			y = pad(g, y, pads, "constant")
		}
		return g.Conv(y, w, bias, a)
	})
}

func init() {
	for dim := 1; dim <= 3; dim++ {
		for _, tr := range []bool{false, true} {
			register(func(a *Args) Spec {
				c := Conv{Dim: dim, Transposed: tr, In: a.Size("in_channels"), Out: a.Size("out_channels"), Kernel: a.There("kernel_size", a.Each("kernel_size", dim, 1)),
					Stride: a.Dims("stride", dim, 1), Dilation: a.Dims("dilation", dim, 1), Groups: a.Int("groups", 1), NoBias: !a.Bool("bias", true),
					PaddingMode: a.String("padding_mode", "zeros", "zeros", "reflect", "replicate", "circular")}
				if c.Groups < 1 {
					a.fail("argument-positive", "groups", c.Groups)
					c.Groups = 1
				}
				if tr && c.PaddingMode != "zeros" {
					a.fail("argument-choice", "padding_mode", c.PaddingMode)
				}
				if s, ok := a.m["padding"].(string); ok && !tr {
					a.Ignore("padding")
					switch s {
					case "same":
						c.Same = true
						if slices.ContainsFunc(c.Stride, func(n int64) bool { return n != 1 }) {
							a.fail("conv-same-stride", "padding", s)
						}
					case "valid":
					default:
						a.fail("argument-choice", "padding", s)
					}
				} else {
					c.Padding = a.Dims("padding", dim, 0)
				}
				if tr {
					c.OutputPadding = a.Dims("output_padding", dim, 0)
				}
				return c
			}, Conv{Dim: dim, Transposed: tr}.class())
		}
	}
}
