package nn

import "vrametre/calc/torch"

// unaries are the elementwise activations: what each keeps for its backward, as measured layer by layer.
var unaries = map[string]*torch.Unary{
	"ReLU":        {Name: "relu", SavesOutput: true, Integers: true},
	"Sigmoid":     {Name: "sigmoid", SavesOutput: true, Integers: true},
	"Tanh":        {Name: "tanh", SavesOutput: true, Integers: true},
	"LeakyReLU":   {Name: "leaky_relu", SavesInput: true},
	"ELU":         {Name: "elu", SavesInput: true},
	"CELU":        {Name: "celu", SavesInput: true},
	"SELU":        {Name: "selu", SavesInput: true},
	"GELU":        {Name: "gelu", SavesInput: true},
	"Softplus":    {Name: "softplus", SavesInput: true, Float: true},
	"Softshrink":  {Name: "softshrink", SavesInput: true},
	"Hardshrink":  {Name: "hardshrink", SavesInput: true},
	"SiLU":        {Name: "silu", SavesInput: true, InPlaceClones: true},
	"Mish":        {Name: "mish", SavesInput: true, InPlaceClones: true},
	"Hardswish":   {Name: "hardswish", SavesInput: true, InPlaceClones: true},
	"Hardsigmoid": {Name: "hardsigmoid", SavesInput: true, InPlaceClones: true},
	"ReLU6":       {Name: "hardtanh", SavesInput: true, InPlaceClones: true, Integers: true},
	"Hardtanh":    {Name: "hardtanh", SavesInput: true, InPlaceClones: true, Integers: true},
	"Threshold":   {Name: "threshold", SavesInput: true, InPlaceClones: true, Integers: true},
	"LogSigmoid":  {Name: "log_sigmoid", SavesInput: true}, // its buffer is empty on CUDA
}

// Activation is one of the elementwise activations, by class name.
type Activation struct {
	Type    string
	InPlace bool
}

// ReLU is nn.ReLU(inplace).
func ReLU(inplace bool) Activation { return Activation{"ReLU", inplace} }

func (s Activation) class() string { return s.Type }
func (s Activation) build(b *Builder, l *Layer) {
	f := unaries[s.Type]
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.Unary(f, x[0], s.InPlace) })
}

// Apply runs an activation as a function (F.relu), without a module of its own.
func (s Activation) Apply(g *torch.Graph, x torch.Tensor) torch.Tensor {
	return g.Unary(unaries[s.Type], x, s.InPlace)
}

// PReLU is nn.PReLU: it keeps its input.
type PReLU struct{ Num int64 }

func (PReLU) class() string { return "PReLU" }
func (s PReLU) build(b *Builder, l *Layer) {
	w := b.Param(l, s.Num)
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.PReLU(x[0], w) })
}

// Softmax is nn.Softmax, Softmin, LogSoftmax or Softmax2d over one dimension, PyTorch's choice where Dim is nil.
type Softmax struct {
	Type string
	Dim  *int
}

func (s Softmax) class() string { return s.Type }
func (s Softmax) build(b *Builder, l *Layer) {
	g := b.G
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if s.Type == "Softmax2d" {
			g.Rank(x[0], 3, 4)
		}
		along(g, x[0], s.Dim)
		switch s.Type {
		case "LogSoftmax":
			return g.LogSoftmax(x[0])
		case "Softmin":
			return g.Softmax(g.Scale(x[0]))
		}
		return g.Softmax(x[0])
	})
}

// along refuses a dimension that x does not have; what is computed is as large over any.
func along(g *torch.Graph, x torch.Tensor, dim *int) {
	if dim != nil {
		g.Dim(x, *dim)
	}
}

// softmaxDim is the argument dim; nil where it is None.
func softmaxDim(a *Args) *int {
	if _, given := a.get("dim"); !given {
		return nil
	}
	d := a.Dim("dim", 0)
	return &d
}

// GLU is nn.GLU.
type GLU struct{ Dim int }

func (GLU) class() string { return "GLU" }
func (s GLU) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.GLU(x[0], s.Dim) })
}

// RReLU is nn.RReLU.
type RReLU struct{ InPlace bool }

func (RReLU) class() string { return "RReLU" }
func (s RReLU) build(b *Builder, l *Layer) {
	l.Forward(func(x ...torch.Tensor) torch.Tensor { return b.G.RReLU(x[0], s.InPlace) })
}

// Composed is an activation that F writes out in terms of others: Softsign or Tanhshrink.
type Composed struct{ Type string }

func (s Composed) class() string { return s.Type }
func (s Composed) build(b *Builder, l *Layer) {
	g := b.G
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		if s.Type == "Softsign" {
			return g.Div(x[0], g.AddScalar(g.Unary(maths["abs"], x[0], false)))
		}
		return g.Sub(x[0], Activation{Type: "Tanh"}.Apply(g, x[0]))
	})
}

func init() {
	register(func(a *Args) Spec { return GLU{a.Dim("dim", -1)} }, "GLU")
	register(func(a *Args) Spec {
		a.Ignore("lower", "upper")
		return RReLU{a.Bool("inplace", false)}
	}, "RReLU")
	for _, n := range []string{"Softsign", "Tanhshrink"} {
		register(func(*Args) Spec { return Composed{n} }, n)
	}
	for name := range unaries {
		register(func(a *Args) Spec {
			a.Ignore("negative_slope", "alpha", "approximate", "beta", "threshold", "lambd", "min_val", "max_val", "min_value", "max_value", "value")
			return Activation{name, a.Bool("inplace", false)}
		}, name)
	}
	register(func(a *Args) Spec { a.Ignore("init"); return PReLU{a.Positive("num_parameters", 1)} }, "PReLU")
	for _, n := range []string{"Softmax", "Softmin", "LogSoftmax"} {
		register(func(a *Args) Spec { return Softmax{n, softmaxDim(a)} }, n)
	}
	register(func(*Args) Spec { return Softmax{Type: "Softmax2d"} }, "Softmax2d")
}
