//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// Networks of mmsegmentation (configs/_base_/models): an EncoderDecoder whose losses are computed inside on logits
// resized to the label, so that only the low-resolution logits are the model's results.

func syncBN(c int64) nn.Spec { return nn.BatchNorm{Dim: 2, C: c, Class: "SyncBatchNorm"} }

// convModule is mmcv's ConvModule: convolution, normalisation, ReLU in place.
func convModule(in, out, kernel int64) nn.Spec {
	return nn.Ordered{Class: "ConvModule", Children: []nn.Child{{Name: "conv", Spec: conv2d(in, out, kernel, 1, 1, 1)},
		{Name: "bn", Spec: syncBN(out)}, {Name: "activate", Spec: nn.ReLU(true)}}}
}

// decodeHead is BaseDecodeHead: its classifier and dropout come first in the tree and run last, after body.
func decodeHead(class string, channels, classes int64, body func(b *nn.Builder, l *nn.Layer) func(torch.Tensor) torch.Tensor) nn.Spec {
	return nn.Block{Class: class, Build: func(b *nn.Builder, l *nn.Layer) {
		seg := b.Add(l, "conv_seg", nn.Conv{Dim: 2, In: channels, Out: classes, Kernel: nn.N(1)})
		drop := b.Add(l, "dropout", nn.Dropout{P: 0.1, Channels: 2})
		f := body(b, l)
		l.Forward(func(x ...torch.Tensor) torch.Tensor { return seg.Call(drop.Call(f(x[0]))) })
	}}
}

// mmFCNHead is mmsegmentation's FCNHead; concat puts the input beside the result for one more convolution.
func mmFCNHead(in, channels, classes int64, convs int, concat bool) nn.Spec {
	return decodeHead("FCNHead", channels, classes, func(b *nn.Builder, l *nn.Layer) func(torch.Tensor) torch.Tensor {
		s := nn.Seq{convModule(in, channels, 3)}
		for range convs - 1 {
			s = append(s, convModule(channels, channels, 3))
		}
		path := b.Add(l, "convs", s)
		var cat *nn.Layer
		if concat {
			cat = b.Add(l, "conv_cat", convModule(in+channels, channels, 3))
		}
		return func(x torch.Tensor) torch.Tensor {
			y := path.Call(x)
			if cat != nil {
				z := cat.Call(b.G.Cat(1, x, y))
				b.G.Alive(y)
				y = z
			}
			return y
		}
	})
}

// pspHead is PSPHead: averages over 1, 2, 3 and 6 bins a side, projected and resized, beside the input.
func pspHead(in, channels, classes int64) nn.Spec {
	return decodeHead("PSPHead", channels, classes, func(b *nn.Builder, l *nn.Layer) func(torch.Tensor) torch.Tensor {
		psp := b.Container(l, "psp_modules", "PPM")
		scales := [...]int64{1, 2, 3, 6}
		for i, n := range scales {
			b.Add(psp, strconv.Itoa(i), nn.Seq{nn.AdaptivePool{Dim: 2, Out: nn.N(n)}, convModule(in, channels, 1)})
		}
		var outs []torch.Tensor
		psp.Forward(func(x ...torch.Tensor) torch.Tensor {
			outs = outs[:0]
			for _, k := range psp.Kids {
				y := k.Call(x[0])
				outs = append(outs, Resize(b.G, y, x[0]))
			}
			b.G.Keep(outs...)
			return outs[0]
		})
		bottleneck := b.Add(l, "bottleneck", convModule(in+int64(len(scales))*channels, channels, 3))
		return func(x torch.Tensor) torch.Tensor {
			psp.Call(x)
			all := b.G.Cat(1, append([]torch.Tensor{x}, outs...)...)
			b.G.Keep(all)
			return bottleneck.Call(all)
		}
	})
}

// encoderDecoder runs the heads on the backbone's tuple of results: heads[i] reads features()[at[i]].
// Where it does not train only the first head runs, and its result is resized to the image.
func encoderDecoder(b *nn.Builder, root *nn.Layer, features func(x torch.Tensor) []torch.Tensor, heads []*nn.Layer, at []int) *Net {
	var aux []torch.Tensor
	root.Forward(func(x ...torch.Tensor) torch.Tensor {
		f := features(x[0])
		b.G.Keep(f...)
		y := heads[0].Call(f[at[0]])
		if !b.Training {
			return Resize(b.G, y, x[0])
		}
		b.G.Keep(y)
		aux = append(aux, heads[1].Call(f[at[1]]))
		return y
	})
	return withAux(root, &aux)
}

// mmResNet is ResNetV1c (three 3x3 convolutions in the stem) or ResNet with dilations 1, 1, 2, 4 (D8) under an FCN or
// PSP head and the auxiliary FCN head on layer3.
func mmResNet(r resnet, deepStem, psp bool) func(*nn.Builder, *nn.Args) *Net {
	return func(b *nn.Builder, a *nn.Args) *Net {
		classes := a.Positive("num_classes", 19)
		root := b.Root("EncoderDecoder")
		var stages []*nn.Layer
		dilate := [3]bool{false, true, true}
		if deepStem {
			back := b.Container(root, "backbone", "ResNetV1c")
			stem := nn.Seq{}
			for i, c := range [...][2]int64{{3, 32}, {32, 32}, {32, 64}} {
				stem = append(stem, conv2d(c[0], c[1], 3, max(1, 2-int64(i)), 1, 1), syncBN(c[1]), nn.ReLU(true))
			}
			stages = append(stages, b.Add(back, "stem", stem), b.Add(back, "maxpool", nn.Pool{Dim: 2, Kernel: nn.N(3), Stride: nn.N(2), Padding: nn.N(1)}))
			stages = append(stages, r.stages(b, back, "ResLayer", syncBN, dilate)...)
		} else {
			stages = r.trunk(b, b.Container(root, "backbone", "ResNet"), "ResLayer", syncBN, dilate)
		}
		back := root.Kids[0]
		first := len(stages) - 4
		var outs []torch.Tensor
		back.Forward(func(x ...torch.Tensor) torch.Tensor {
			outs = outs[:0]
			y := nn.Through(x[0], stages[:first]...)
			for _, s := range stages[first:] {
				y = s.Call(y)
				outs = append(outs, y)
			}
			b.G.Keep(outs...)
			return y
		})
		c := 512 * r.expansion()
		var head nn.Spec
		if psp {
			head = pspHead(c, c/4, classes)
		} else {
			head = mmFCNHead(c, c/4, classes, 2, true)
		}
		heads := []*nn.Layer{b.Add(root, "decode_head", head), b.Add(root, "auxiliary_head", mmFCNHead(c/2, c/8, classes, 1, false))}
		n := encoderDecoder(b, root, func(x torch.Tensor) []torch.Tensor { back.Call(x); return outs }, heads, []int{3, 2})
		return blocksOf(n, stages[first:]...)
	}
}

// mmUNet is UNet-S5-D16: five levels of two convolutions, upsampled by interpolation and a 1x1 convolution.
func mmUNet(psp bool) func(*nn.Builder, *nn.Args) *Net {
	return func(b *nn.Builder, a *nn.Args) *Net {
		classes, base := a.Positive("num_classes", 2), a.Positive("base_channels", 64)
		if base < 1 {
			a.Fail("argument-positive", "base_channels", base)
			base = 64
		}
		block := func(in, out int64) nn.Spec {
			return nn.Ordered{Class: "BasicConvBlock", Children: []nn.Child{{Name: "convs", Spec: nn.Seq{convModule(in, out, 3), convModule(out, out, 3)}}}}
		}
		root := b.Root("EncoderDecoder")
		back := b.Container(root, "backbone", "UNet")
		encoder, decoder := b.Container(back, "encoder", "ModuleList"), b.Container(back, "decoder", "ModuleList")
		in := int64(3)
		for i := range 5 {
			c := base << i
			var enc nn.Seq
			if i > 0 {
				enc = append(enc, nn.Pool{Dim: 2, Kernel: nn.N(2)})
				b.Add(decoder, strconv.Itoa(i-1), upConvBlock(block(c, c/2), c, c/2))
			}
			b.Add(encoder, strconv.Itoa(i), append(enc, block(in, c)))
			in = c
		}
		var outs []torch.Tensor
		back.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			var skips []torch.Tensor
			for _, k := range encoder.Kids {
				y = k.Call(y)
				skips = append(skips, y)
			}
			outs = append(outs[:0], y)
			for i := len(decoder.Kids) - 1; i >= 0; i-- {
				y = decoder.Kids[i].Call(skips[i], y)
				outs = append(outs, y)
			}
			b.G.Keep(skips...)
			b.G.Keep(outs...)
			return y
		})
		head := mmFCNHead(base, 64, classes, 1, false)
		if psp {
			head = pspHead(base, 16, classes)
		}
		heads := []*nn.Layer{b.Add(root, "decode_head", head), b.Add(root, "auxiliary_head", mmFCNHead(2*base, 64, classes, 1, false))}
		n := encoderDecoder(b, root, func(x torch.Tensor) []torch.Tensor { back.Call(x); return outs }, heads, []int{4, 3})
		return blocksOf(n, encoder, decoder)
	}
}

// upConvBlock is UpConvBlock with InterpConv: the lower map upsampled twice and projected, beside the skip, then block.
func upConvBlock(block nn.Spec, in, skip int64) nn.Spec {
	return nn.Block{Class: "UpConvBlock", Build: func(b *nn.Builder, l *nn.Layer) {
		conv := b.Add(l, "conv_block", block)
		up := b.Add(l, "upsample", nn.Ordered{Class: "InterpConv", Children: []nn.Child{{Name: "interp_upsample",
			Spec: nn.Seq{nn.Upsample{Scale: []float64{2}, Mode: "bilinear"}, convModule(in, skip, 1)}}}})
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := up.Call(x[1])
			b.G.Keep(y)
			return conv.Call(b.G.Cat(1, x[0], y))
		})
	}}
}

func init() {
	push := func(name string, side int64, build func(*nn.Builder, *nn.Args) *Net) {
		add(&Preset{Name: name, Family: "mmseg", Inputs: image(side), Resize: true, Build: build})
	}
	for _, depth := range [...]string{"18", "50", "101"} {
		r := resnets["resnet"+depth]
		for suffix, deepStem := range map[string]bool{"": true, "b": false} {
			for method, psp := range map[string]bool{"fcn": false, "pspnet": true} {
				push(method+"_r"+depth+suffix+"-d8", 512, mmResNet(r, deepStem, psp))
			}
		}
	}
	push("fcn_unet_s5-d16", 256, mmUNet(false))
	push("pspnet_unet_s5-d16", 256, mmUNet(true))
}
