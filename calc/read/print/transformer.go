package print

import (
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// PyTorch's own transformer modules, which print their layers but neither heads nor norm_first nor batch_first.
func init() {
	for _, name := range []string{"TransformerEncoderLayer", "TransformerDecoderLayer"} {
		class(variant{need: []string{"self_attn", "linear1", "linear2", "norm1", "norm2"}, forward: transformerLayer}, name)
	}
	class(variant{need: []string{"layers"}, forward: func(c *call) forward {
		list := c.kid("layers")
		return func(x ...torch.Tensor) torch.Tensor {
			y := x[0]
			for _, k := range list.Kids {
				y = k.Call(append([]torch.Tensor{y}, x[1:]...)...)
			}
			return c.run(y, "norm")
		}
	}}, "TransformerEncoder", "TransformerDecoder")
	class(variant{need: []string{"encoder", "decoder"}, forward: func(c *call) forward {
		return func(x ...torch.Tensor) torch.Tensor {
			memory := c.kid("encoder").Call(x[0])
			c.g.Keep(memory)
			return c.kid("decoder").Call(x[len(x)-1], memory)
		}
	}}, "Transformer")
}

// transformerLayer is a post-norm layer with ReLU, PyTorch's defaults; a decoder's layer attends to x[1], or to x[0] alone.
func transformerLayer(c *call) forward {
	g := c.g
	drop := func(i string) *nn.Layer { return c.kid("dropout" + i) }
	sum := func(x, y torch.Tensor, i string) torch.Tensor {
		if d := drop(i); d != nil {
			y = d.Call(y)
		}
		return c.kid("norm" + i).Call(g.Add(x, y))
	}
	ff := func(y torch.Tensor) torch.Tensor {
		y = c.then(c.kid("activation"), c.kid("linear1").Call(y))
		return c.kid("linear2").Call(c.run(y, "dropout"))
	}
	return func(x ...torch.Tensor) torch.Tensor {
		y := sum(x[0], c.kid("self_attn").Call(x[0]), "1")
		if cross := c.kid("multihead_attn"); cross != nil && c.has("norm3") {
			memory := x[len(x)-1]
			y = sum(y, cross.Call(y, memory, memory), "2")
			return sum(y, ff(y), "3")
		}
		return sum(y, ff(y), "2")
	}
}
