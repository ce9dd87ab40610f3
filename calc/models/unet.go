//go:build !lean

package models

import (
	"slices"
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// doubleConv is two 3x3 convolutions, each with normalisation and ReLU in place.
func doubleConv(in, out int64) nn.Spec {
	var s []nn.Spec
	for _, c := range [...]int64{in, out} {
		s = append(s, conv2d(c, out, 3, 1, 1, 1), nn.BatchNorm2d(out), nn.ReLU(true))
	}
	return nn.Ordered{Class: "DoubleConv", Children: indexed(s...)}
}

// unet is a U-Net with transposed convolutions: ch are the channels of its levels.
func unet(b *nn.Builder, a *nn.Args) *Net {
	cin, classes, ch := a.Positive("cin", 3), a.Positive("classes", a.Positive("num_classes", 2)), a.Ints("ch", 1)
	if len(ch) < 2 {
		ch = nn.Ints{32, 64, 128, 256}
	}
	root := b.Root("UNet")
	down := b.Container(root, "down", "ModuleList")
	c := cin
	for i, o := range ch {
		b.Add(down, strconv.Itoa(i), doubleConv(c, o))
		c = o
	}
	pool := b.Add(root, "pool", nn.Pool{Dim: 2, Kernel: nn.N(2)})
	up, dec := b.Container(root, "up", "ModuleList"), b.Container(root, "dec", "ModuleList")
	levels := slices.Clone(ch[:len(ch)-1])
	slices.Reverse(levels)
	for i, o := range levels {
		b.Add(up, strconv.Itoa(i), nn.Conv{Dim: 2, In: c, Out: o, Kernel: nn.N(2), Stride: nn.N(2), Transposed: true})
		b.Add(dec, strconv.Itoa(i), doubleConv(2*o, o))
		c = o
	}
	head := b.Add(root, "head", nn.Conv{Dim: 2, In: c, Out: classes, Kernel: nn.N(1)})
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		y := x[0]
		var skips []torch.Tensor
		for i, d := range down.Kids {
			y = d.Call(y)
			if i+1 < len(down.Kids) {
				skips = append(skips, y)
				y = pool.Call(y)
			}
		}
		for i, u := range up.Kids {
			z := dec.Kids[i].Call(b.G.Cat(1, skips[len(skips)-1-i], u.Call(y)))
			b.G.Alive(y)
			y = z
		}
		return head.Call(y)
	})
	return blocksOf(chain(root), down, dec)
}

// dcganGenerator and dcganDiscriminator are the networks of the DCGAN tutorial: nz noise channels, f feature maps, nc channels.
func dcganGenerator(b *nn.Builder, a *nn.Args) *Net {
	nz, f, nc := a.Positive("nz", 100), a.Positive("ngf", 64), a.Positive("nc", 3)
	up := func(in, out, stride, padding int64) nn.Spec {
		return nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(4), Stride: nn.N(stride), Padding: nn.N(padding), Transposed: true, NoBias: true}
	}
	var s []nn.Spec
	in := nz
	for i, m := range [...]int64{8, 4, 2, 1} {
		stride, padding := int64(2), int64(1)
		if i == 0 {
			stride, padding = 1, 0
		}
		s = append(s, up(in, m*f, stride, padding), nn.BatchNorm2d(m*f), nn.ReLU(true))
		in = m * f
	}
	return chain(rootOf(b, "Sequential", append(s, up(in, nc, 2, 1), nn.Activation{Type: "Tanh"})...))
}

func dcganDiscriminator(b *nn.Builder, a *nn.Args) *Net {
	f, nc, head := a.Positive("ndf", 64), a.Positive("nc", 3), a.Bool("sigmoid", true)
	down := func(in, out, stride, padding int64) nn.Spec {
		return nn.Conv{Dim: 2, In: in, Out: out, Kernel: nn.N(4), Stride: nn.N(stride), Padding: nn.N(padding), NoBias: true}
	}
	leaky := nn.Activation{Type: "LeakyReLU", InPlace: true}
	s := []nn.Spec{down(nc, f, 2, 1), leaky}
	for _, m := range [...]int64{1, 2, 4} {
		s = append(s, down(m*f, 2*m*f, 2, 1), nn.BatchNorm2d(2*m*f), leaky)
	}
	s = append(s, down(8*f, 1, 1, 0))
	if head {
		s = append(s, nn.Activation{Type: "Sigmoid"})
	}
	return chain(rootOf(b, "Sequential", append(s, nn.Flatten{Start: 1, End: -1})...))
}

func init() {
	add(&Preset{Name: "unet", Family: "unet", Inputs: image(128), Build: unet})
	add(&Preset{Name: "dcgan_generator", Family: "gan", Inputs: []Input{{Shape: []int64{100, 1, 1}}}, Loss: "mse", Build: dcganGenerator})
	add(&Preset{Name: "dcgan_discriminator", Family: "gan", Inputs: image(64), Loss: "bce", Build: dcganDiscriminator})
}
