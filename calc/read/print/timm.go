package print

import (
	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// Classes of timm and segmentation_models_pytorch, and of networks that many tutorials share.
func init() {
	class(variant{forward: batchNormAct}, "BatchNormAct2d", "BatchNormAct")
	cba := func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			return c.run(x[0], "conv", "norm", "bn", "bn1", "drop", "act", "relu", "activation", "activate")
		}
	}
	class(variant{need: []string{"conv"}, forward: cba}, "ConvBnAct", "ConvNormAct", "ConvNorm", "ConvModule", "ConvBNAct", "Conv", "ConvBN", "BaseConv")
	class(variant{need: []string{"conv_reduce", "conv_expand"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.g.Mean(x[0], true, 2, 3)
			y = c.run(y, "conv_reduce", "act1", "bn", "act", "conv_expand", "gate")
			if !c.has("gate") {
				y = nn.Activation{Type: "Sigmoid"}.Apply(c.g, y)
			}
			return c.g.Mul(x[0], y)
		}
	}}, "SqueezeExcite", "SEModule", "SqueezeExcitation")
	// timm/models/_efficientnet_blocks.py
	class(variant{need: []string{"conv_dw", "conv_pw"}, lacks: []string{"conv_pwl"}, forward: inverted("conv_dw", "bn1", "aa", "se", "conv_pw", "bn2")}, "DepthwiseSeparableConv")
	class(variant{need: []string{"conv_pw", "conv_dw", "conv_pwl"}, forward: inverted("conv_pw", "bn1", "conv_dw", "bn2", "aa", "se", "conv_pwl", "bn3")}, "InvertedResidual")
	class(variant{need: []string{"conv_exp", "conv_pwl"}, forward: inverted("conv_exp", "bn1", "aa", "se", "conv_pwl", "bn2")}, "EdgeResidual")
	class(variant{need: []string{"conv", "bn1"}, forward: inverted("conv", "bn1", "act1")}, "ConvBnAct")
	class(variant{need: []string{"conv_stem", "blocks", "conv_head"}, forward: head([]string{"conv_stem", "bn1", "act1", "blocks", "conv_head", "norm_head", "bn2", "act2", "global_pool"}, []string{"drop", "classifier"})},
		"EfficientNet", "MobileNetV3")
	class(variant{need: []string{"blocks"}, lacks: []string{"patch_embed", "classifier"}, forward: efficientEncoder}, "EfficientNetEncoder")
	class(variant{forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			if p := c.first("pool", "avg_pool", "global_pool"); p != nil && len(p.Kids) == 0 && p.Type != "Identity" {
				y = p.Call(y)
			} else {
				y = c.g.Mean(y, true, 2, 3)
			}
			return c.run(c.g.Flatten(y, 1, -1), "flatten", "drop", "fc")
		}
	}}, "SelectAdaptivePool2d", "ClassifierHead")
	class(variant{need: []string{"patch_embed", "blocks"}, forward: visionTransformer}, "VisionTransformer")
	class(variant{need: []string{"proj"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			return c.run(c.g.Transpose(c.g.Flatten(c.kid("proj").Call(x[0]), 2, -1), 1, 2), "norm")
		}
	}}, "PatchEmbed", "PatchEmbedding")
	class(variant{need: []string{"norm1", "attn", "norm2", "mlp"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.g.Add(x[0], c.run(x[0], "norm1", "attn", "ls1", "drop_path1", "drop_path"))
			return c.g.Add(y, c.run(y, "norm2", "mlp", "ls2", "drop_path2"))
		}
	}}, "Block", "TransformerBlock", "EncoderBlock")
	class(variant{need: []string{"qkv", "proj"}, forward: packedAttention}, "Attention", "MultiHeadSelfAttention")
	class(variant{need: []string{"fc1", "fc2"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			return c.run(x[0], "fc1", "act", "drop1", "norm", "fc2", "drop2", "drop")
		}
	}}, "Mlp", "MLP")
	// torchvision's ViT with other sizes than the presets'
	class(variant{need: []string{"ln_1", "self_attention", "ln_2", "mlp"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.g.Add(c.run(x[0], "ln_1", "self_attention", "dropout"), x[0])
			return c.g.Add(y, c.run(y, "ln_2", "mlp"))
		}
	}}, "EncoderBlock")
	class(variant{need: []string{"conv_proj", "encoder", "heads"}, forward: func(c *call) forward {
		g := c.g
		width := c.m.kid("conv_proj").size("out_channels")
		token := c.b.Param(c.l, 1, 1, max(width, 0))
		return func(x ...torch.Tensor) torch.Tensor {
			y := g.Permute(g.Flatten(c.kid("conv_proj").Call(x[0]), 2, -1), 0, 2, 1)
			y = g.Cat(1, g.Expand(token, g.Dim(y, 0), -1, -1), y)
			return c.kid("heads").Call(g.Select(c.kid("encoder").Call(y), 1))
		}
	}}, "VisionTransformer")
	class(variant{need: []string{"layers", "ln"}, forward: func(c *call) forward {
		pos := torch.None
		if n, width := c.r.patches(); n > 0 {
			pos = c.b.Param(c.l, 1, n+1, width)
		}
		return func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			if pos != torch.None {
				y = c.g.Add(y, pos)
			}
			return c.run(y, "dropout", "layers", "ln")
		}
	}}, "Encoder")
	class(variant{need: []string{"conv_dw", "norm", "mlp"}, forward: func(c *call) forward {
		width := c.m.kid("conv_dw").size("out_channels")
		gamma := torch.None
		if width > 0 {
			gamma = c.g.Param(c.l.Module, c.b.DType, width)
		}
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.g.Permute(c.kid("conv_dw").Call(x[0]), 0, 2, 3, 1)
			y = c.g.Permute(c.run(y, "norm", "mlp"), 0, 3, 1, 2)
			if gamma != torch.None {
				y = c.g.Mul(y, c.g.View(gamma, 1, width, 1, 1))
			}
			return c.g.Add(c.run(y, "drop_path"), c.run(x[0], "shortcut"))
		}
	}}, "ConvNeXtBlock")
	smp()
	tutorials()
}

// batchNormAct is timm's BatchNormAct2d: a batch norm whose drop and act are its children.
func batchNormAct(c *call) forward {
	args, _ := arguments("BatchNorm2d", c.m.extra)
	a := nn.NewArgs(c.m.class, at(c.m.line), args)
	n := a.Size("num_features")
	a.Ignore("eps", "momentum", "affine", "track_running_stats")
	if err := a.Finish(); err != nil {
		panic(err)
	}
	g := c.g
	w, bias := c.b.Param(c.l, n), c.b.Param(c.l, n)
	running := []torch.Tensor{g.Buffer(c.l.Module, c.b.DType, n), g.Buffer(c.l.Module, c.b.DType, n)}
	g.Buffer(c.l.Module, torch.Int64)
	return func(x ...torch.Tensor) torch.Tensor {
		if s := g.Shape(x[0]); len(s) < 2 || s[1] != n {
			g.Fail("norm-channels", "shape", torch.Shape(s), "num_features", n)
		}
		return c.run(g.BatchNorm(x[0], w, bias, running, c.b.Training), "drop", "act")
	}
}

// inverted runs the children in that order and adds the input where the block keeps size and channels.
func inverted(names ...string) func(c *call) forward {
	return func(c *call) forward {
		strided := c.m.strided()
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.run(x[0], names...)
			if strided || !same(c.g.Shape(x[0]), c.g.Shape(y)) {
				return y
			}
			return c.g.Add(c.run(y, "drop_path"), x[0])
		}
	}
}

// patches are how many torchvision's ViT cuts an image into, and the width of each: the image is the given one or
// 224 x 224, which is not printed.
func (r *reader) patches() (n, width int64) {
	proj := r.root.kid("conv_proj")
	patch := ints(proj.args()["kernel_size"])
	if width = proj.size("out_channels"); width < 1 || len(patch) != 2 || patch[0] < 1 || patch[1] < 1 {
		return 0, 0
	}
	h, w := int64(224), int64(224)
	if s := r.shape; len(s) == 3 {
		h, w = s[1], s[2]
	}
	return (h / patch[0]) * (w / patch[1]), width
}

// visionTransformer is timm's: a class token and positions that are not printed.
func visionTransformer(c *call) forward {
	g := c.g
	proj := c.m.kid("patch_embed").kid("proj")
	width := proj.size("out_channels")
	patch := ints(proj.args()["kernel_size"])
	if width <= 0 || len(patch) != 2 || patch[0] < 1 || patch[1] < 1 {
		fault.Throw("layer-unknown", at(c.m.line), "type", c.m.class)
	}
	h, w := int64(224), int64(224)
	if s := c.r.shape; len(s) == 3 {
		h, w = s[1], s[2]
	}
	class := c.b.Param(c.l, 1, 1, width)
	pos := c.b.Param(c.l, 1, (h/patch[0])*(w/patch[1])+1, width)
	return func(x ...torch.Tensor) torch.Tensor {
		y := c.kid("patch_embed").Call(x[0])
		y = g.Cat(1, g.Expand(class, g.Dim(y, 0), -1, -1), y)
		y = c.run(g.Add(y, pos), "pos_drop", "patch_drop", "norm_pre", "blocks", "norm")
		return c.run(g.Select(y, 1), "fc_norm", "head_drop", "head")
	}
}

// packedAttention is timm's Attention; the heads are not printed: 64 features each.
func packedAttention(c *call) forward {
	g := c.g
	heads := headsOf(c.m.kid("proj").size("in_features"))
	c.r.warn(c.m, "assumed-heads", "embed_dim", c.m.kid("proj").size("in_features"), "num_heads", heads)
	return func(x ...torch.Tensor) torch.Tensor {
		g.Rank(x[0], 3)
		b, n, e := g.Dim(x[0], 0), g.Dim(x[0], 1), g.Dim(x[0], 2)
		q := g.Unbind(g.Permute(g.View(c.kid("qkv").Call(x[0]), b, n, 3, heads, e/heads), 2, 0, 3, 1, 4), 0)
		g.Keep(q...)
		y := g.SDPA(q[0], q[1], q[2], torch.SDPAArgs{Mask: torch.None})
		y = g.Reshape(g.Transpose(y, 1, 2), b, n, e)
		return c.run(y, "proj", "proj_drop")
	}
}

// efficientEncoder is segmentation_models_pytorch's encoder on timm's EfficientNet: it keeps the map before each reduction.
func efficientEncoder(c *call) forward {
	return func(x ...torch.Tensor) torch.Tensor { return c.run(x[0], "conv_stem", "bn1", "act1", "blocks") }
}

// features runs an encoder and gives the last map of each size, the input first.
func features(c *call, enc *nn.Layer, x torch.Tensor) []torch.Tensor {
	g := c.g
	maps := []torch.Tensor{x}
	g.Enter(enc.Module, x)
	y := x
	visit := func(l *nn.Layer) {
		z := l.Call(y)
		a, b := g.Shape(y), g.Shape(z)
		g.Rank(z, 4)
		if len(a) == 4 && (a[2] != b[2] || a[3] != b[3]) {
			maps = append(maps, z)
		} else {
			maps[len(maps)-1] = z
		}
		y = z
	}
	for _, k := range enc.Kids {
		switch {
		case k.Type == "Identity" || k.Type == "Linear" || k.Type == "AdaptiveAvgPool2d" || k.Type == "SelectAdaptivePool2d":
		case k.Type == "Sequential" || k.Type == "ModuleList":
			for _, s := range k.Kids {
				visit(s)
			}
		default:
			visit(k)
		}
	}
	if len(maps) > 1 { // the input itself is a feature of its own
		maps[0] = x
	}
	g.Keep(maps...)
	g.Exit(y)
	return maps
}

// smp are segmentation_models_pytorch's decoders.
func smp() {
	class(variant{need: []string{"encoder", "decoder", "segmentation_head"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			maps := features(c, c.kid("encoder"), x[0])
			y := c.kid("decoder").Call(maps...)
			return c.kid("segmentation_head").Call(y)
		}
	}}, "Unet", "UnetPlusPlus", "FPN", "Linknet")
	class(variant{need: []string{"blocks"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.run(x[len(x)-1], "center")
			skips := x[1:max(len(x)-1, 1)]
			for i, k := range c.kid("blocks").Kids {
				if j := len(skips) - 1 - i; j >= 0 {
					y = k.Call(y, skips[j])
				} else {
					y = k.Call(y)
				}
			}
			return y
		}
	}}, "UnetDecoder")
	class(variant{need: []string{"conv1", "conv2"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := nn.Upsample{Scale: []float64{2}}.Apply(c.g, x[0])
			if len(x) > 1 {
				y = c.run(c.g.Cat(1, y, x[1]), "attention1")
			}
			return c.run(y, "conv1", "conv2", "attention2")
		}
	}}, "DecoderBlock", "UnetDecoderBlock")
	class(variant{need: []string{"attention"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor { return c.kid("attention").Call(x[0]) }
	}}, "Attention")
	class(variant{need: []string{"cSE", "sSE"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			a := c.g.Mul(x[0], c.kid("cSE").Call(x[0]))
			return c.g.Add(a, c.g.Mul(x[0], c.kid("sSE").Call(x[0])))
		}
	}}, "SCSEModule")
}

// tutorials are classes that many repositories copied from one another.
func tutorials() {
	// milesial/Pytorch-UNet and its relatives
	class(variant{need: []string{"inc", "down1", "up1", "outc"}, forward: func(c *call) forward {
		names := []string{"down1", "down2", "down3", "down4", "down5"}
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.kid("inc").Call(x[0])
			maps := []torch.Tensor{y}
			for _, n := range names {
				if k := c.kid(n); k != nil {
					y = k.Call(y)
					maps = append(maps, y)
				}
			}
			c.g.Keep(maps...)
			for i := 1; ; i++ {
				k := c.kid("up" + itoa(i))
				if k == nil || len(maps)-1-i < 0 {
					break
				}
				y = k.Call(y, maps[len(maps)-1-i])
			}
			return c.kid("outc").Call(y)
		}
	}}, "UNet", "Unet")
	class(variant{need: []string{"up", "conv"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			y := c.kid("up").Call(x[0])
			if len(x) > 1 {
				a, b := c.g.Shape(y), c.g.Shape(x[1])
				if len(a) == 4 && len(b) == 4 { // F.pad to the skipped map's size
					y = c.g.Resize("pad", y, []int64{a[0], a[1], b[2], b[3]}, false)
					c.g.Keep(y)
				}
				y = c.g.Cat(1, x[1], y)
			}
			return c.kid("conv").Call(y)
		}
	}}, "Up", "UpBlock")
}
