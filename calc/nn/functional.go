package nn

import (
	"maps"
	"slices"

	"vrametre/calc/torch"
)

// Function is a functional operation with its arguments bound.
type Function func(g *torch.Graph, x ...torch.Tensor) torch.Tensor

// FunctionSpec reads a functional operation's arguments.
type FunctionSpec struct {
	name string
	// inputs is how many tensors it takes; 0: at least one.
	inputs int
	bind   func(*Args) Function
}

// Parse binds the arguments; at is the place named in errors.
func (f FunctionSpec) Parse(at string, args map[string]any) (Function, error) {
	a := NewArgs(f.name, at, args)
	fn := f.bind(a)
	if err := a.Finish(); err != nil {
		return nil, err
	}
	return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
		if (f.inputs > 0 && len(x) != f.inputs) || len(x) == 0 {
			g.Fail("function-inputs", "type", f.name, "expected", max(f.inputs, 1), "given", len(x))
		}
		return fn(g, x...)
	}, nil
}

func unary(f func(*torch.Graph, torch.Tensor) torch.Tensor) func(*Args) Function {
	return func(*Args) Function {
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return f(g, x[0]) }
	}
}

func binary(f func(*torch.Graph, torch.Tensor, torch.Tensor) torch.Tensor) func(*Args) Function {
	return func(*Args) Function {
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return f(g, x[0], x[1]) }
	}
}

func reduction(f func(*torch.Graph, torch.Tensor, bool, ...int) torch.Tensor) func(*Args) Function {
	return func(a *Args) Function {
		var d []int
		for _, v := range a.Ints("dim", -64) {
			d = append(d, int(v))
		}
		keep := a.Bool("keepdim", false)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return f(g, x[0], keep, d...) }
	}
}

var functions = map[string]FunctionSpec{}

func function(name string, inputs int, bind func(*Args) Function) {
	functions[name] = FunctionSpec{name, inputs, bind}
}

func init() {
	function("add", 2, binary((*torch.Graph).Add))
	function("add_", 2, binary((*torch.Graph).AddInPlace))
	function("sub", 2, binary((*torch.Graph).Sub))
	function("mul", 2, binary((*torch.Graph).Mul))
	function("div", 2, binary((*torch.Graph).Div))
	function("matmul", 2, binary((*torch.Graph).Matmul))
	function("scale", 1, unary((*torch.Graph).Scale))
	function("pow", 1, func(a *Args) Function {
		a.Ignore("exponent")
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Pow(x[0]) }
	})
	function("contiguous", 1, unary((*torch.Graph).Contiguous))
	function("softmax", 1, func(a *Args) Function {
		d := softmaxDim(a)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
			along(g, x[0], d)
			return g.Softmax(x[0])
		}
	})
	function("log_softmax", 1, func(a *Args) Function {
		d := softmaxDim(a)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
			along(g, x[0], d)
			return g.LogSoftmax(x[0])
		}
	})
	function("mean", 1, reduction((*torch.Graph).Mean))
	function("sum", 1, reduction((*torch.Graph).Sum))
	function("cat", 0, func(a *Args) Function {
		d := a.Dim("dim", 1)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Cat(d, x...) }
	})
	function("view", 1, shaped((*torch.Graph).View))
	function("reshape", 1, shaped((*torch.Graph).Reshape))
	function("flatten", 1, func(a *Args) Function {
		s, e := a.Dim("start_dim", 0), a.Dim("end_dim", -1)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Flatten(x[0], s, e) }
	})
	function("permute", 1, func(a *Args) Function {
		d := indices(a, "dims")
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Permute(x[0], d...) }
	})
	function("transpose", 1, func(a *Args) Function {
		d0, d1 := a.Dim("dim0", 0), a.Dim("dim1", 1)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Transpose(x[0], d0, d1) }
	})
	function("unsqueeze", 1, func(a *Args) Function {
		d := a.Dim("dim", 0)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Unsqueeze(x[0], d) }
	})
	function("squeeze", 1, func(a *Args) Function {
		d := a.Dim("dim", 0)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Squeeze(x[0], d) }
	})
	function("select", 1, func(a *Args) Function {
		d := a.Dim("dim", 0)
		i := a.Int("index", 0)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.SelectAt(x[0], d, i) }
	})
	function("narrow", 1, func(a *Args) Function {
		d, n := a.Dim("dim", 0), a.Size("length")
		start := a.Int("start", 0)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.NarrowFrom(x[0], d, start, n) }
	})
	function("scaled_dot_product_attention", 3, func(a *Args) Function {
		p, causal := a.Probability("dropout_p", 0), a.Bool("is_causal", false)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
			return g.SDPA(x[0], x[1], x[2], torch.SDPAArgs{Mask: torch.None, P: p, Causal: causal})
		}
	})
	function("interpolate", 1, func(a *Args) Function {
		s, _ := registry["Upsample"](a).(Upsample)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return s.Apply(g, x[0]) }
	})
	function("dropout", 1, func(a *Args) Function {
		p, in := a.Probability("p", 0.5), a.Bool("inplace", false)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Dropout(x[0], p, in) }
	})
	for class, u := range unaries {
		if class == "ReLU6" {
			continue
		}
		function(u.Name, 1, func(a *Args) Function {
			a.Ignore("negative_slope", "alpha", "approximate", "beta", "threshold", "lambd", "min_val", "max_val", "value")
			in := a.Bool("inplace", false)
			return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Unary(u, x[0], in) }
		})
	}
}

func shaped(f func(*torch.Graph, torch.Tensor, ...int64) torch.Tensor) func(*Args) Function {
	return func(a *Args) Function {
		s := a.Required("shape", -1)
		return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return f(g, x[0], s...) }
	}
}

func indices(a *Args, name string) []int {
	var d []int
	for _, v := range a.Required(name, -64) {
		d = append(d, int(v))
	}
	return d
}

// FunctionOf finds a functional operation by name.
func FunctionOf(name string) (FunctionSpec, bool) {
	f, ok := functions[name]
	return f, ok
}

// Functions lists the functional operations, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }
