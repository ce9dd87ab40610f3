package nn

import "vrametre/calc/torch"

// maths are elementwise functions that are no modules, by torch's name; Temps are those of their backward formulas
// (tools/autograd/derivatives.yaml).
var maths = map[string]*torch.Unary{
	"exp":   {Name: "exp", SavesOutput: true, Float: true, Integers: true},
	"sqrt":  {Name: "sqrt", SavesOutput: true, Temps: 1, Integers: true},               // grad / (2 * result)
	"rsqrt": {Name: "rsqrt", SavesOutput: true, Float: true, Temps: 2, Integers: true}, // -0.5 * grad * result.pow(3)
	"sign":  {Name: "sign", Integers: true},
	"abs":   {Name: "abs", SavesInput: true, Temps: 1, Integers: true}, // grad * self.sgn()
}

// Exp is x.exp().
func Exp(g *torch.Graph, x torch.Tensor) torch.Tensor { return g.Unary(maths["exp"], x, false) }

func init() {
	for name, f := range maths {
		function(name, 1, unary(func(g *torch.Graph, x torch.Tensor) torch.Tensor { return g.Unary(f, x, false) }))
	}
	function("add_scalar", 1, unary((*torch.Graph).AddScalar))
	function("clamp", 1, func(a *Args) Function {
		a.Ignore("min", "max")
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Clamp(x[0]) }
	})
	alongDim := func(def int64, f func(g *torch.Graph, x torch.Tensor, d int) torch.Tensor) func(*Args) Function {
		return func(a *Args) Function {
			d := a.Dim("dim", def)
			a.Ignore("p", "eps", "keepdim")
			return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return f(g, x[0], d) }
		}
	}
	function("normalize", 1, alongDim(1, (*torch.Graph).Normalize))
	function("norm", 1, alongDim(-1, (*torch.Graph).Norm))
	function("glu", 1, alongDim(-1, (*torch.Graph).GLU))
	function("max", 1, func(a *Args) Function {
		d, keep := a.Dim("dim", -1), a.Bool("keepdim", false)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Max(x[0], d, keep) }
	})
	function("where", 3, func(*Args) Function {
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Where(x[0], x[1], x[2]) }
	})
	function("index", 2, binary((*torch.Graph).Index))
	function("masked_fill", 2, binary((*torch.Graph).MaskedFill))
	function("chunk", 1, func(a *Args) Function { // one part of x.chunk(chunks, dim)
		n, d, i := a.Size("chunks"), a.Dim("dim", 0), a.Int("index", 0)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
			parts := g.Chunk(x[0], n, d)
			if i < 0 || i >= int64(len(parts)) {
				g.Fail("chunk-index", "index", i, "chunks", len(parts))
			}
			return parts[i]
		}
	})
}
