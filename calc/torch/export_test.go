package torch

// SavedTensor is a tensor that autograd keeps, for tests.
type SavedTensor struct {
	Op    string
	Role  string // weights, buffers, input or extra; input=output, output
	DType DType
	Shape []int64
	Bytes int64
}

// SavedTensors lists what every recorded operation keeps; inputs and outputs are the storages of these tensors.
func (g *Graph) SavedTensors(inputs, outputs []Tensor) []SavedTensor {
	var out []SavedTensor
	for i := range g.ops {
		o := &g.ops[i]
		if !o.tape {
			continue
		}
		for _, t := range o.saved {
			x := &g.t[t]
			s := SavedTensor{Op: o.name, Role: "extra", DType: x.dtype, Shape: x.shape, Bytes: g.st[x.store].bytes}
			in, res := g.shares(t, inputs), g.shares(t, outputs)
			switch {
			case g.st[x.store].kind == KindWeights:
				s.Role = "param"
			case g.st[x.store].kind == KindBuffers:
				s.Role = "buffer"
			case in && res:
				s.Role = "input=output"
			case in:
				s.Role = "input"
			case res:
				s.Role = "output"
			}
			out = append(out, s)
		}
	}
	return out
}

func (g *Graph) shares(t Tensor, with []Tensor) bool {
	for _, w := range with {
		if g.t[w].store == g.t[t].store {
			return true
		}
	}
	return false
}

// RequireGrad makes x an input whose gradient is wanted.
func (g *Graph) RequireGrad(x Tensor) { g.t[x].needs = true }
