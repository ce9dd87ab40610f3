package nn

import "vrametre/calc/torch"

// maths are elementwise functions that are no modules, by torch's name; Temps are those of their backward formulas
// (tools/autograd/derivatives.yaml).
var maths = map[string]*torch.Unary{
	"exp":   {Name: "exp", SavesOutput: true},
	"sqrt":  {Name: "sqrt", SavesOutput: true, Temps: 1},  // grad / (2 * result)
	"rsqrt": {Name: "rsqrt", SavesOutput: true, Temps: 2}, // -0.5 * grad * result.pow(3)
	"abs":   {Name: "abs", SavesInput: true, Temps: 1},    // grad * self.sgn()
}

// Exp is x.exp().
func Exp(g *torch.Graph, x torch.Tensor) torch.Tensor { return g.Unary(maths["exp"], x, false) }
