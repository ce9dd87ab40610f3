//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// MaxViT, as torchvision/models/maxvit.py builds it: convolutions, then attention in windows and on a grid.
func init() {
	add(&Preset{Name: "maxvit_t", Family: "maxvit", Inputs: image(224), Build: func(b *nn.Builder, a *nn.Args) *Net {
		g, root := b.G, b.Root("MaxVit")
		const stem, part, head = 64, 7, 32
		channels, layers := []int64{64, 128, 256, 512}, []int{2, 2, 5, 2}
		side := a.Positive("input_size", 224)
		if side <= 0 || side%(32*part) != 0 {
			g.Fail("maxvit-image", "input_size", side, "multiple", 32*part)
		}
		s := b.Sequential(root, "stem", nn.ConvNormActivation{In: 3, Out: stem, Stride: nn.N(2), Activation: "GELU", NotInPlace: true},
			nn.ConvNormActivation{In: stem, Out: stem, NoNorm: true})
		blocks := b.Container(root, "blocks", "ModuleList")
		sd := a.Probability("stochastic_depth_prob", 0.2)
		grid, in, id := side/2, int64(stem), 0
		var all []*nn.Layer
		for i, n := range layers {
			grid /= 2
			block := b.Container(blocks, strconv.Itoa(i), "MaxVitBlock")
			list := b.Container(block, "layers", "ModuleList")
			var run []*nn.Layer
			for j := range n {
				p := sd * float64(id) / 10
				id++
				l := b.Container(list, strconv.Itoa(j), "MaxVitLayer")
				seq := b.Container(l, "layers", "Sequential")
				maxvitConv(b, seq, in, channels[i], j == 0, p)
				partition(b, seq, "window_attention", channels[i], head, part, part, grid, false, p)
				partition(b, seq, "grid_attention", channels[i], head, part, grid/part, grid, true, p)
				seq.Chain()
				run = append(run, l.Chain())
				in = channels[i]
			}
			all = append(all, block.Forward(func(x ...torch.Tensor) torch.Tensor {
				y := x[0]
				for _, l := range run {
					y = l.Call(y)
				}
				return y
			}))
		}
		c := b.Sequential(root, "classifier", nn.AdaptivePool{Dim: 2, Out: nn.N(1)}, nn.Flatten{Start: 1, End: -1}, nn.LayerNorm{Shape: []int64{in}},
			nn.Linear{In: in, Out: in}, nn.Activation{Type: "Tanh"}, nn.Linear{In: in, Out: a.Positive("num_classes", 1000), NoBias: true})
		return chain(root.Forward(func(x ...torch.Tensor) torch.Tensor {
			if sh := g.Shape(x[0]); len(sh) != 4 || sh[2] != side || sh[3] != side {
				g.Fail("vit-image", "shape", torch.Shape(sh), "image_size", side)
			}
			y := s.Call(x[0])
			for _, k := range all {
				y = k.Call(y)
			}
			return c.Call(y)
		}))
	}})
}

func maxvitConv(b *nn.Builder, parent *nn.Layer, in, out int64, down bool, p float64) {
	l := b.Container(parent, "MBconv", "MBConv")
	var proj nn.Spec = nn.Identity{}
	conv := nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(1)}
	stride := nn.N(1)
	if down {
		stride = nn.N(2)
		proj = nn.Seq{nn.Pool{Dim: 2, Avg: true, Kernel: nn.N(3), Stride: stride, Padding: nn.N(1)}, conv}
	} else if in != out {
		proj = nn.Seq{conv}
	}
	res := b.Add(l, "proj", proj)
	var depth nn.Spec = nn.Identity{}
	if p > 0 {
		depth = nn.StochasticDepth{P: p}
	}
	drop := b.Add(l, "stochastic_depth", depth)
	mid := 4 * out
	layers := b.Add(l, "layers", nn.Ordered{Children: []nn.Child{
		{Name: "pre_norm", Spec: nn.BatchNorm2d(in)},
		{Name: "conv_a", Spec: nn.ConvNormActivation{In: in, Out: mid, Kernel: nn.N(1), Activation: "GELU", NotInPlace: true}},
		{Name: "conv_b", Spec: nn.ConvNormActivation{In: mid, Out: mid, Stride: stride, Groups: mid, Activation: "GELU", NotInPlace: true}},
		{Name: "squeeze_excitation", Spec: nn.SqueezeExcitation{C: mid, Squeeze: out / 4, Activation: "SiLU"}},
		{Name: "conv_c", Spec: nn.Conv{Dim: 2, In: mid, Out: out, Kernel: nn.N(1)}}}})
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.Add(res.Call(x[0]), drop.Call(layers.Call(x[0]))) })
}

// partition is PartitionAttentionLayer: the map cut into windows of p x p, swapped for the grid.
func partition(b *nn.Builder, parent *nn.Layer, name string, dim, head, part, p, grid int64, swap bool, sd float64) {
	g := b.G
	l := b.Container(parent, name, "PartitionAttentionLayer")
	n := grid / p
	cut := b.Container(l, "partition_op", "WindowPartition").Forward(func(x ...torch.Tensor) torch.Tensor {
		sh := g.Shape(x[0])
		y := g.Reshape(x[0], sh[0], sh[1], sh[2]/p, p, sh[3]/p, p)
		return g.Reshape(g.Permute(y, 0, 2, 4, 3, 5, 1), sh[0], (sh[2]/p)*(sh[3]/p), p*p, sh[1])
	})
	join := b.Container(l, "departition_op", "WindowDepartition").Forward(func(x ...torch.Tensor) torch.Tensor {
		sh := g.Shape(x[0])
		y := g.Reshape(x[0], sh[0], n, n, p, p, sh[3])
		return g.Reshape(g.Permute(y, 0, 5, 1, 3, 2, 4), sh[0], sh[3], n*p, n*p)
	})
	swapped := func(name string) *nn.Layer {
		if !swap {
			return b.Add(l, name, nn.Identity{})
		}
		return b.Container(l, name, "SwapAxes").Forward(func(x ...torch.Tensor) torch.Tensor { return g.Transpose(x[0], -2, -3) })
	}
	before, after := swapped("partition_swap"), swapped("departition_swap")
	attn := b.Sequential(l, "attn_layer", nn.LayerNorm{Shape: []int64{dim}},
		nn.Block{Class: "RelativePositionalMultiHeadAttention", Build: func(b *nn.Builder, l *nn.Layer) { gridAttention(b, l, dim, head, part) }}, nn.Dropout{})
	mlp := b.Sequential(l, "mlp_layer", nn.LayerNorm{Shape: []int64{dim}}, nn.Linear{In: dim, Out: 4 * dim}, nn.Activation{Type: "GELU"}, nn.Linear{In: 4 * dim, Out: dim}, nn.Dropout{})
	depth := b.Add(l, "stochastic_dropout", nn.StochasticDepth{P: sd})
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := before.Call(cut.Call(x[0]))
		y = g.Add(y, depth.Call(attn.Call(y)))
		y = g.Add(y, depth.Call(mlp.Call(y)))
		return join.Call(after.Call(y))
	})
}

func gridAttention(b *nn.Builder, l *nn.Layer, dim, head, part int64) {
	g := b.G
	n, h := part*part, dim/head
	table := b.Param(l, (2*part-1)*(2*part-1), h)
	index := g.Buffer(l.Module, torch.Int64, n, n)
	qkv := b.Add(l, "to_qkv", nn.Linear{In: dim, Out: 3 * dim})
	merge := b.Add(l, "merge", nn.Linear{In: dim, Out: dim})
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		sh := g.Shape(x[0])
		p := g.Chunk(qkv.Call(x[0]), 3, -1)
		for i := range p {
			p[i] = g.Permute(g.Reshape(p[i], sh[0], sh[1], sh[2], h, head), 0, 1, 3, 2, 4)
		}
		g.Keep(p...)
		k := g.Scale(p[1])
		dots := g.Matmul(p[0], g.Transpose(k, -2, -1))
		bias := relativeBias(g, table, g.View(index, -1), n)
		g.Keep(k, bias)
		att := g.Softmax(g.Add(dots, bias))
		g.Alive(dots)
		g.Keep(att)
		y := g.Reshape(g.Permute(g.Matmul(att, p[2]), 0, 1, 3, 2, 4), sh...)
		return merge.Call(y)
	})
}
