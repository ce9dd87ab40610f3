//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// basicConv2d is torchvision's BasicConv2d: convolution, normalisation, F.relu in place.
func basicConv2d(in, out int64, kernel, stride, padding nn.Ints) nn.Spec {
	return nn.Block{Class: "BasicConv2d", Build: func(b *nn.Builder, l *nn.Layer) {
		conv := b.Add(l, "conv", nn.Conv{Dim: 2, In: in, Out: out, Kernel: kernel, Stride: stride, Padding: padding, NoBias: true})
		bn := b.Add(l, "bn", nn.BatchNorm2d(out))
		l.Forward(func(x ...torch.Tensor) torch.Tensor { return nn.ReLU(true).Apply(b.G, bn.Call(conv.Call(x[0]))) })
	}}
}

// inceptionConv is one convolution of a branch; Fork is a second one on the same input, concatenated with the first.
type inceptionConv struct {
	name            string
	out             int64
	kernel, padding nn.Ints
	stride          int64
	fork            *inceptionConv
}

// branch is a pooling function (none when nil) and the convolutions after it.
type branch struct {
	pool  *nn.Pool
	convs []inceptionConv
}

// branches is an Inception block: every branch on the same input, results concatenated.
func branches(class string, in int64, list ...branch) nn.Spec {
	return nn.Block{Class: class, Build: func(b *nn.Builder, l *nn.Layer) {
		type step struct{ conv, fork *nn.Layer }
		built := make([][]step, len(list))
		for i, br := range list {
			c := in
			for _, v := range br.convs {
				s := step{conv: b.Add(l, v.name, basicConv2d(c, v.out, v.kernel, nn.N(max(v.stride, 1)), v.padding))}
				if f := v.fork; f != nil {
					s.fork = b.Add(l, f.name, basicConv2d(c, f.out, f.kernel, nn.N(1), f.padding))
				}
				built[i] = append(built[i], s)
				c = v.out
			}
		}
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			out := make([]torch.Tensor, len(list))
			for i, br := range list {
				y := x[0]
				if br.pool != nil {
					y = br.pool.Apply(b.G, y)
				}
				for _, s := range built[i] {
					z := s.conv.Call(y)
					if s.fork != nil {
						z = b.G.Cat(1, z, s.fork.Call(y))
					}
					y = z
				}
				out[i] = y
			}
			return b.G.Cat(1, out...)
		})
	}}
}

// sq is a convolution with a square kernel.
func sq(name string, out, kernel, padding, stride int64) inceptionConv {
	return inceptionConv{name: name, out: out, kernel: nn.N(kernel), padding: nn.N(padding), stride: stride}
}

// row and column are 1 x k and k x 1 convolutions that keep the map's size.
func row(name string, out, k int64) inceptionConv {
	return inceptionConv{name: name, out: out, kernel: nn.Ints{1, k}, padding: nn.Ints{0, k / 2}}
}

func column(name string, out, k int64) inceptionConv {
	return inceptionConv{name: name, out: out, kernel: nn.Ints{k, 1}, padding: nn.Ints{k / 2, 0}}
}

// forked puts a column beside a row.
func forked(a, f inceptionConv) inceptionConv {
	a.fork = &f
	return a
}

func convs(c ...inceptionConv) branch             { return branch{convs: c} }
func pooled(p nn.Pool, c ...inceptionConv) branch { return branch{pool: &p, convs: c} }

var (
	avg3  = nn.Pool{Dim: 2, Avg: true, Kernel: nn.N(3), Stride: nn.N(1), Padding: nn.N(1)}
	max32 = nn.Pool{Dim: 2, Kernel: nn.N(3), Stride: nn.N(2)}
)

func inceptionA(in, pool int64) nn.Spec {
	return branches("InceptionA", in, convs(sq("branch1x1", 64, 1, 0, 1)),
		convs(sq("branch5x5_1", 48, 1, 0, 1), sq("branch5x5_2", 64, 5, 2, 1)),
		convs(sq("branch3x3dbl_1", 64, 1, 0, 1), sq("branch3x3dbl_2", 96, 3, 1, 1), sq("branch3x3dbl_3", 96, 3, 1, 1)),
		pooled(avg3, sq("branch_pool", pool, 1, 0, 1)))
}

func inceptionB(in int64) nn.Spec {
	return branches("InceptionB", in, convs(sq("branch3x3", 384, 3, 0, 2)),
		convs(sq("branch3x3dbl_1", 64, 1, 0, 1), sq("branch3x3dbl_2", 96, 3, 1, 1), sq("branch3x3dbl_3", 96, 3, 0, 2)), pooled(max32))
}

func inceptionC(in, c int64) nn.Spec {
	return branches("InceptionC", in, convs(sq("branch1x1", 192, 1, 0, 1)),
		convs(sq("branch7x7_1", c, 1, 0, 1), row("branch7x7_2", c, 7), column("branch7x7_3", 192, 7)),
		convs(sq("branch7x7dbl_1", c, 1, 0, 1), column("branch7x7dbl_2", c, 7), row("branch7x7dbl_3", c, 7), column("branch7x7dbl_4", c, 7), row("branch7x7dbl_5", 192, 7)),
		pooled(avg3, sq("branch_pool", 192, 1, 0, 1)))
}

func inceptionD(in int64) nn.Spec {
	return branches("InceptionD", in, convs(sq("branch3x3_1", 192, 1, 0, 1), sq("branch3x3_2", 320, 3, 0, 2)),
		convs(sq("branch7x7x3_1", 192, 1, 0, 1), row("branch7x7x3_2", 192, 7), column("branch7x7x3_3", 192, 7), sq("branch7x7x3_4", 192, 3, 0, 2)), pooled(max32))
}

func inceptionE(in int64) nn.Spec {
	return branches("InceptionE", in, convs(sq("branch1x1", 320, 1, 0, 1)),
		convs(sq("branch3x3_1", 384, 1, 0, 1), forked(row("branch3x3_2a", 384, 3), column("branch3x3_2b", 384, 3))),
		convs(sq("branch3x3dbl_1", 448, 1, 0, 1), sq("branch3x3dbl_2", 384, 3, 1, 1), forked(row("branch3x3dbl_3a", 384, 3), column("branch3x3dbl_3b", 384, 3))),
		pooled(avg3, sq("branch_pool", 192, 1, 0, 1)))
}

// transformInput is _transform_input: each channel scaled and shifted, then put together again.
func transformInput(g *torch.Graph, x torch.Tensor) torch.Tensor {
	var c [3]torch.Tensor
	for i := range c {
		c[i] = g.AddScalar(g.Scale(g.Unsqueeze(g.Select(x, 1), 1)))
	}
	y := g.Cat(1, c[:]...)
	g.Alive(c[:]...)
	return y
}

// withAux is a model whose forward also gives the auxiliary outputs it leaves in aux.
func withAux(root *nn.Layer, aux *[]torch.Tensor) *Net {
	return &Net{Root: root, Forward: func(x ...torch.Tensor) []torch.Tensor {
		*aux = nil
		y := root.Call(x[0])
		return append([]torch.Tensor{y}, *aux...)
	}}
}

func inceptionV3(b *nn.Builder, a *nn.Args) *Net {
	a.Ignore("init_weights")
	classes, p := a.Positive("num_classes", 1000), a.Probability("dropout", 0.5)
	withHead, transform := a.Bool("aux_logits", true), a.Bool("transform_input", false)
	g := b.G
	root := b.Root("Inception3")
	conv := func(name string, in, out, kernel, stride, padding int64) *nn.Layer {
		return b.Add(root, name, basicConv2d(in, out, nn.N(kernel), nn.N(stride), nn.N(padding)))
	}
	layers := []*nn.Layer{conv("Conv2d_1a_3x3", 3, 32, 3, 2, 0), conv("Conv2d_2a_3x3", 32, 32, 3, 1, 0), conv("Conv2d_2b_3x3", 32, 64, 3, 1, 1),
		b.Add(root, "maxpool1", max32), conv("Conv2d_3b_1x1", 64, 80, 1, 1, 0), conv("Conv2d_4a_3x3", 80, 192, 3, 1, 0), b.Add(root, "maxpool2", max32)}
	mixed := func(name string, s nn.Spec) { layers = append(layers, b.Add(root, name, s)) }
	mixed("Mixed_5b", inceptionA(192, 32))
	mixed("Mixed_5c", inceptionA(256, 64))
	mixed("Mixed_5d", inceptionA(288, 64))
	mixed("Mixed_6a", inceptionB(288))
	mixed("Mixed_6b", inceptionC(768, 128))
	mixed("Mixed_6c", inceptionC(768, 160))
	mixed("Mixed_6d", inceptionC(768, 160))
	mixed("Mixed_6e", inceptionC(768, 192))
	before := len(layers)
	var head *nn.Layer
	if withHead {
		head = b.Add(root, "AuxLogits", nn.Block{Class: "InceptionAux", Build: func(b *nn.Builder, l *nn.Layer) {
			conv0 := b.Add(l, "conv0", basicConv2d(768, 128, nn.N(1), nn.N(1), nn.N(0)))
			conv1 := b.Add(l, "conv1", basicConv2d(128, 768, nn.N(5), nn.N(1), nn.N(0)))
			fc := b.Add(l, "fc", nn.Linear{In: 768, Out: classes})
			l.Forward(func(x ...torch.Tensor) torch.Tensor {
				y := nn.Pool{Dim: 2, Avg: true, Kernel: nn.N(5), Stride: nn.N(3)}.Apply(g, x[0])
				y = nn.AdaptivePool{Dim: 2, Out: nn.N(1)}.Apply(g, conv1.Call(conv0.Call(y)))
				return fc.Call(g.Flatten(y, 1, -1))
			})
		}})
	}
	mixed("Mixed_7a", inceptionD(768))
	mixed("Mixed_7b", inceptionE(1280))
	mixed("Mixed_7c", inceptionE(2048))
	last := len(layers)
	mixed("avgpool", nn.AdaptivePool{Dim: 2, Out: nn.N(1)})
	mixed("dropout", nn.Dropout{P: p})
	fc := b.Add(root, "fc", nn.Linear{In: 2048, Out: classes})
	var aux []torch.Tensor
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := x[0]
		if transform {
			y = transformInput(g, y)
			g.Keep(y)
		}
		y = nn.Through(y, layers[:before]...)
		if head != nil && b.Training {
			aux = append(aux, head.Call(y))
			g.Keep(aux...)
		}
		return fc.Call(g.Flatten(nn.Through(y, layers[before:]...), 1, -1))
	})
	n := withAux(root, &aux)
	for _, l := range layers[7:last] {
		n.Blocks = append(n.Blocks, l.Path)
	}
	return n
}

// googlenet has its auxiliary heads only where aux_logits asks for them, as the measured network
// (torchvision builds them by default).
func googlenet(b *nn.Builder, a *nn.Args) *Net {
	a.Ignore("init_weights")
	classes, p, pAux := a.Positive("num_classes", 1000), a.Probability("dropout", 0.2), a.Probability("dropout_aux", 0.7)
	withHeads, transform := a.Bool("aux_logits", false), a.Bool("transform_input", false)
	g := b.G
	root := b.Root("GoogLeNet")
	var layers []*nn.Layer
	push := func(name string, s nn.Spec) { layers = append(layers, b.Add(root, name, s)) }
	conv := func(in, out, kernel, stride, padding int64) nn.Spec {
		return basicConv2d(in, out, nn.N(kernel), nn.N(stride), nn.N(padding))
	}
	pool := func(kernel, stride, padding int64) nn.Spec {
		return nn.Pool{Dim: 2, Kernel: nn.N(kernel), Stride: nn.N(stride), Padding: nn.N(padding), Ceil: true}
	}
	push("conv1", conv(3, 64, 7, 2, 3))
	push("maxpool1", pool(3, 2, 0))
	push("conv2", conv(64, 64, 1, 1, 0))
	push("conv3", conv(64, 192, 3, 1, 1))
	push("maxpool2", pool(3, 2, 0))
	type tap struct {
		layers int // the head reads the result of that many
		in     int64
	}
	var taps []tap
	in := int64(192)
	var blocks []string
	for _, r := range []struct {
		name                              string
		c1, c3red, c3, c5red, c5, project int64 // ch1x1... pool_proj; only a name: a max pooling
	}{
		{"inception3a", 64, 96, 128, 16, 32, 32}, {"inception3b", 128, 128, 192, 32, 96, 64}, {name: "maxpool3"},
		{"inception4a", 192, 96, 208, 16, 48, 64}, {"inception4b", 160, 112, 224, 24, 64, 64}, {"inception4c", 128, 128, 256, 24, 64, 64},
		{"inception4d", 112, 144, 288, 32, 64, 64}, {"inception4e", 256, 160, 320, 32, 128, 128}, {name: "maxpool4"},
		{"inception5a", 256, 160, 320, 32, 128, 128}, {"inception5b", 384, 192, 384, 48, 128, 128},
	} {
		switch {
		case r.name == "maxpool4":
			push(r.name, pool(2, 2, 0))
			continue
		case r.c1 == 0:
			push(r.name, pool(3, 2, 0))
			continue
		}
		push(r.name, parallel("Inception", 1, conv(in, r.c1, 1, 1, 0), nn.Seq{conv(in, r.c3red, 1, 1, 0), conv(r.c3red, r.c3, 3, 1, 1)},
			nn.Seq{conv(in, r.c5red, 1, 1, 0), conv(r.c5red, r.c5, 3, 1, 1)}, nn.Seq{pool(3, 1, 1), conv(in, r.project, 1, 1, 0)}))
		blocks = append(blocks, r.name)
		in = r.c1 + r.c3 + r.c5 + r.project
		if r.name == "inception4a" || r.name == "inception4d" {
			taps = append(taps, tap{len(layers), in})
		}
	}
	heads := map[int]*nn.Layer{}
	for i, at := range taps {
		if !withHeads {
			break
		}
		heads[at.layers] = b.Add(root, "aux"+strconv.Itoa(i+1), nn.Block{Class: "InceptionAux", Build: func(b *nn.Builder, l *nn.Layer) {
			c := b.Add(l, "conv", conv(at.in, 128, 1, 1, 0))
			fc1, fc2 := b.Add(l, "fc1", nn.Linear{In: 2048, Out: 1024}), b.Add(l, "fc2", nn.Linear{In: 1024, Out: classes})
			drop := b.Add(l, "dropout", nn.Dropout{P: pAux})
			l.Forward(func(x ...torch.Tensor) torch.Tensor {
				y := g.Flatten(c.Call(nn.AdaptivePool{Dim: 2, Out: nn.N(4)}.Apply(g, x[0])), 1, -1)
				return fc2.Call(drop.Call(nn.ReLU(true).Apply(g, fc1.Call(y))))
			})
		}})
	}
	push("avgpool", nn.AdaptivePool{Dim: 2, Out: nn.N(1)})
	drop, fc := b.Add(root, "dropout", nn.Dropout{P: p}), b.Add(root, "fc", nn.Linear{In: 1024, Out: classes})
	var aux []torch.Tensor
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := x[0]
		if transform {
			y = transformInput(g, y)
			g.Keep(y)
		}
		for i, l := range layers {
			y = l.Call(y)
			if h := heads[i+1]; h != nil && b.Training {
				z := h.Call(y)
				g.Keep(z)
				aux = append([]torch.Tensor{z}, aux...) // aux_logits1 is the later head's
			}
		}
		return fc.Call(drop.Call(g.Flatten(y, 1, -1)))
	})
	n := withAux(root, &aux)
	n.Blocks = blocks
	return n
}

// parallel is a block of branches that are modules of their own (branch1, branch2... from first on), concatenated.
func parallel(class string, first int, list ...nn.Spec) nn.Spec {
	return nn.Block{Class: class, Build: func(b *nn.Builder, l *nn.Layer) {
		for i, s := range list {
			b.Add(l, "branch"+strconv.Itoa(first+i), s)
		}
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			out := make([]torch.Tensor, len(l.Kids))
			for i, k := range l.Kids {
				out[i] = k.Call(x[0])
			}
			return b.G.Cat(1, out...)
		})
	}}
}

func init() {
	add(&Preset{Name: "googlenet", Family: "inception", Inputs: image(224), Build: googlenet})
	add(&Preset{Name: "inception_v3", Family: "inception", Inputs: image(299), Build: inceptionV3})
}
