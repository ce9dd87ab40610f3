//go:build !lean

package models

import (
	"strconv"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// conv3d is a convolution over time, height and width.
func conv3d(in, out int64, kernel, stride, padding nn.Ints) nn.Conv {
	return nn.Conv{Dim: 3, In: in, Out: out, Kernel: kernel, Stride: stride, Padding: padding, NoBias: true}
}

func batchNorm3d(c int64) nn.Spec { return nn.BatchNorm{Dim: 3, C: c} }

// convMaker is one of Conv3DSimple, Conv3DNoTemporal and Conv2Plus1D, with the stride of its downsampling.
type convMaker struct {
	conv func(in, out, mid, stride int64) nn.Spec
	down func(stride int64) nn.Ints
}

var (
	everyStride   = func(s int64) nn.Ints { return nn.N(s) }
	spatialStride = func(s int64) nn.Ints { return nn.Ints{1, s, s} }
	conv3dSimple  = convMaker{func(in, out, _, s int64) nn.Spec {
		return named("Conv3DSimple", conv3d(in, out, nn.N(3), nn.N(s), nn.N(1)))
	}, everyStride}
	conv3dNoTemporal = convMaker{func(in, out, _, s int64) nn.Spec {
		return named("Conv3DNoTemporal", conv3d(in, out, nn.Ints{1, 3, 3}, nn.Ints{1, s, s}, nn.Ints{0, 1, 1}))
	}, spatialStride}
	conv2Plus1d = convMaker{func(in, out, mid, s int64) nn.Spec {
		return nn.Ordered{Class: "Conv2Plus1D", Children: indexed(conv3d(in, mid, nn.Ints{1, 3, 3}, nn.Ints{1, s, s}, nn.Ints{0, 1, 1}), batchNorm3d(mid),
			nn.ReLU(true), conv3d(mid, out, nn.Ints{3, 1, 1}, nn.Ints{s, 1, 1}, nn.Ints{1, 0, 0}))}
	}, everyStride}
)

func named(class string, c nn.Conv) nn.Spec {
	c.Class = class
	return c
}

// videoBlock is the BasicBlock of torchvision.models.video.resnet.
func videoBlock(in, planes, stride int64, m convMaker) nn.Spec {
	mid := in * planes * 27 / (in*9 + 3*planes)
	return nn.Block{Class: "BasicBlock", Build: func(b *nn.Builder, l *nn.Layer) {
		conv1 := b.Add(l, "conv1", nn.Seq{m.conv(in, planes, mid, stride), batchNorm3d(planes), nn.ReLU(true)})
		conv2 := b.Add(l, "conv2", nn.Seq{m.conv(planes, planes, mid, 1), batchNorm3d(planes)})
		relu := b.Add(l, "relu", nn.ReLU(true))
		var down *nn.Layer
		if stride != 1 || in != planes {
			down = b.Add(l, "downsample", nn.Seq{conv3d(in, planes, nn.N(1), m.down(stride), nil), batchNorm3d(planes)})
		}
		l.Forward(func(x ...torch.Tensor) torch.Tensor {
			y := conv2.Call(conv1.Call(x[0]))
			residual := x[0]
			if down != nil {
				residual = down.Call(residual)
			}
			b.G.Keep(residual)
			return relu.Call(b.G.AddInPlace(y, residual))
		})
	}}
}

// videoResnet is VideoResNet with two blocks in each layer.
func videoResnet(stem string, makers [4]convMaker) func(*nn.Builder, *nn.Args) *Net {
	return func(b *nn.Builder, a *nn.Args) *Net {
		a.Ignore("zero_init_residual")
		classes := a.Positive("num_classes", 400)
		root := b.Root("VideoResNet")
		first := []nn.Spec{conv3d(3, 64, nn.Ints{3, 7, 7}, nn.Ints{1, 2, 2}, nn.Ints{1, 3, 3}), batchNorm3d(64), nn.ReLU(true)}
		if stem == "R2Plus1dStem" {
			first = []nn.Spec{conv3d(3, 45, nn.Ints{1, 7, 7}, nn.Ints{1, 2, 2}, nn.Ints{0, 3, 3}), batchNorm3d(45), nn.ReLU(true),
				conv3d(45, 64, nn.Ints{3, 1, 1}, nn.N(1), nn.Ints{1, 0, 0}), batchNorm3d(64), nn.ReLU(true)}
		}
		layers := []*nn.Layer{b.Add(root, "stem", nn.Ordered{Class: stem, Children: indexed(first...)})}
		in := int64(64)
		for i, m := range makers {
			planes, stride := int64(64)<<i, int64(1)
			if i > 0 {
				stride = 2
			}
			layers = append(layers, b.Add(root, "layer"+strconv.Itoa(i+1), nn.Seq{videoBlock(in, planes, stride, m), videoBlock(planes, planes, 1, m)}))
			in = planes
		}
		layers = append(layers, b.Add(root, "avgpool", nn.AdaptivePool{Dim: 3, Out: nn.N(1)}))
		fc := b.Add(root, "fc", nn.Linear{In: 512, Out: classes})
		root.Forward(func(x ...torch.Tensor) torch.Tensor {
			return fc.Call(b.G.Flatten(nn.Through(x[0], layers...), 1, -1))
		})
		return blocksOf(chain(root), layers[1:5]...)
	}
}

// s3d is torchvision.models.video.S3D: Inception blocks whose convolutions are separated in space and time.
func s3d(b *nn.Builder, a *nn.Args) *Net {
	classes, p := a.Positive("num_classes", 400), a.Probability("dropout", 0.2)
	cna := func(in, out int64, kernel, stride, padding nn.Ints) nn.Spec {
		return nn.ConvNormActivation{Dim: 3, In: in, Out: out, Kernel: kernel, Stride: stride, Padding: padding, Activation: "ReLU"}
	}
	separable := func(in, out, k, s int64) nn.Spec {
		return nn.Ordered{Class: "TemporalSeparableConv", Children: indexed(cna(in, out, nn.Ints{1, k, k}, nn.Ints{1, s, s}, nn.Ints{0, k / 2, k / 2}),
			cna(out, out, nn.Ints{k, 1, 1}, nn.Ints{s, 1, 1}, nn.Ints{k / 2, 0, 0}))}
	}
	point := func(in, out int64) nn.Spec { return cna(in, out, nn.N(1), nn.N(1), nn.N(0)) }
	pool := func(kernel, stride, padding nn.Ints) nn.Spec {
		return nn.Pool{Dim: 3, Kernel: kernel, Stride: stride, Padding: padding}
	}
	spatial := pool(nn.Ints{1, 3, 3}, nn.Ints{1, 2, 2}, nn.Ints{0, 1, 1})
	in := int64(192)
	mixed := func(b0, m1, b1, m2, b2, b3 int64) nn.Spec {
		s := parallel("SepInceptionBlock3D", 0, point(in, b0), nn.Seq{point(in, m1), separable(m1, b1, 3, 1)}, nn.Seq{point(in, m2), separable(m2, b2, 3, 1)},
			nn.Seq{pool(nn.N(3), nn.N(1), nn.N(1)), point(in, b3)})
		in = b0 + b1 + b2 + b3
		return s
	}
	root := b.Root("S3D")
	layers := []*nn.Layer{b.Add(root, "features", nn.Seq{separable(3, 64, 7, 2), spatial, point(64, 64), separable(64, 192, 3, 1), spatial,
		mixed(64, 96, 128, 16, 32, 32), mixed(128, 128, 192, 32, 96, 64), pool(nn.N(3), nn.N(2), nn.N(1)),
		mixed(192, 96, 208, 16, 48, 64), mixed(160, 112, 224, 24, 64, 64), mixed(128, 128, 256, 24, 64, 64), mixed(112, 144, 288, 32, 64, 64),
		mixed(256, 160, 320, 32, 128, 128), pool(nn.N(2), nn.N(2), nn.N(0)), mixed(256, 160, 320, 32, 128, 128), mixed(384, 192, 384, 48, 128, 128)}),
		b.Add(root, "avgpool", nn.Pool{Dim: 3, Avg: true, Kernel: nn.Ints{2, 7, 7}, Stride: nn.N(1)}),
		b.Add(root, "classifier", nn.Seq{nn.Dropout{P: p}, nn.Conv{Dim: 3, In: 1024, Out: classes, Kernel: nn.N(1)}})}
	root.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.Mean(nn.Through(x[0], layers...), false, 2, 3, 4) })
	return blocksOf(chain(root), layers[0])
}

func init() {
	clip := func(frames, side int64) []Input { return []Input{{Shape: []int64{3, frames, side, side}}} }
	for name, v := range map[string]struct {
		stem   string
		makers [4]convMaker
	}{
		"r3d_18":      {"BasicStem", [4]convMaker{conv3dSimple, conv3dSimple, conv3dSimple, conv3dSimple}},
		"mc3_18":      {"BasicStem", [4]convMaker{conv3dSimple, conv3dNoTemporal, conv3dNoTemporal, conv3dNoTemporal}},
		"r2plus1d_18": {"R2Plus1dStem", [4]convMaker{conv2Plus1d, conv2Plus1d, conv2Plus1d, conv2Plus1d}},
	} {
		add(&Preset{Name: name, Family: "video", Inputs: clip(8, 112), Build: videoResnet(v.stem, v.makers)})
	}
	add(&Preset{Name: "s3d", Family: "video", Inputs: clip(16, 224), Build: s3d})
}
