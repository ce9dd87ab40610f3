package nn

import "vrametre/calc/torch"

// LlamaRMSNorm is the RMSNorm that transformers' models write out (LlamaRMSNorm, T5LayerNorm and the like, as Class):
// x * rsqrt(mean(x^2) + eps) in float32, back to x's type, times a weight.
type LlamaRMSNorm struct {
	Width int64
	Class string
}

func (s LlamaRMSNorm) class() string { return s.Class }

func (s LlamaRMSNorm) build(b *Builder, l *Layer) {
	g := b.G
	w := b.Param(l, s.Width)
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if sh := g.Shape(x[0]); len(sh) == 0 || sh[len(sh)-1] != s.Width {
			g.Fail("layernorm-shape", "shape", torch.Shape(sh), "normalized_shape", torch.Shape{s.Width})
		}
		d := g.DType(x[0])
		y := x[0]
		if d.Half() {
			y = g.To(y, torch.Float32)
		}
		v := g.Mean(g.Pow(y), true, -1)
		g.Keep(v)
		y = g.Mul(y, g.Unary(maths["rsqrt"], g.AddScalar(v), false))
		return g.Mul(w, g.To(y, d))
	})
}
