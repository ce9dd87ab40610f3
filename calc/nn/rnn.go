package nn

import (
	"vrametre/calc/torch"
)

// RNN is nn.RNN, nn.LSTM or nn.GRU, by Class. On the CPU PyTorch runs it step by step; what is modelled is cuDNN.
type RNN struct {
	Class                             string
	In, Hidden, Layers, Proj          int64
	NoBias, BatchFirst, Bidirectional bool
}

var gates = map[string]int64{"RNN": 1, "GRU": 3, "LSTM": 4}

func (s RNN) class() string { return s.Class }

func (s RNN) build(b *Builder, l *Layer) {
	f := s.recurrent(b, l)
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		y, _, _ := f(x[0])
		return y
	})
}

// AddRNN builds s as the child name of parent; the result gives the output and the last states.
func (b *Builder) AddRNN(parent *Layer, name string, s RNN) func(torch.Tensor) (y, h, c torch.Tensor) {
	l := b.Container(parent, name, s.class())
	f := s.recurrent(b, l)
	return func(x torch.Tensor) (y, h, c torch.Tensor) {
		b.G.Enter(l.Module, x)
		y, h, c = f(x)
		b.G.Exit(y)
		return y, h, c
	}
}

func (s RNN) recurrent(b *Builder, l *Layer) func(torch.Tensor) (y, h, c torch.Tensor) {
	k := gates[s.Class]
	if s.Proj >= s.Hidden || (s.Proj > 0 && k != 4) {
		fail(l, "rnn-proj", "proj_size", s.Proj, "hidden_size", s.Hidden)
	}
	dirs, out := int64(1), s.Hidden
	if s.Bidirectional {
		dirs = 2
	}
	if s.Proj > 0 {
		out = s.Proj
	}
	layers := max(s.Layers, 1)
	var w []torch.Tensor
	for i := range layers {
		in := s.In
		if i > 0 {
			in = out * dirs
		}
		for range dirs {
			w = append(w, b.Param(l, k*s.Hidden, in), b.Param(l, k*s.Hidden, out))
			if !s.NoBias {
				w = append(w, b.Param(l, k*s.Hidden), b.Param(l, k*s.Hidden))
			}
			if s.Proj > 0 {
				w = append(w, b.Param(l, s.Proj, s.Hidden))
			}
		}
	}
	a := torch.RNNArgs{Gates: k, Hidden: s.Hidden, Proj: s.Proj, Layers: layers, Bidirectional: s.Bidirectional, BatchFirst: s.BatchFirst}
	return func(x torch.Tensor) (y, h, c torch.Tensor) {
		b.G.Rank(x, 3)
		if sh := b.G.Shape(x); sh[2] != s.In {
			b.G.Fail("linear-features", "shape", torch.Shape(sh), "in_features", s.In, "found", sh[2])
		}
		return b.G.RNN(x, w, a)
	}
}

// RNNCell is nn.RNNCell, nn.LSTMCell or nn.GRUCell, by Class: one step. Inputs are x, then the states where given.
type RNNCell struct {
	Class      string
	In, Hidden int64
	NoBias     bool
}

func (s RNNCell) class() string { return s.Class + "Cell" }

func (s RNNCell) build(b *Builder, l *Layer) {
	g := b.G
	k := gates[s.Class]
	wih, whh := b.Param(l, k*s.Hidden, s.In), b.Param(l, k*s.Hidden, s.Hidden)
	bih, bhh := torch.None, torch.None
	if !s.NoBias {
		bih, bhh = b.Param(l, k*s.Hidden), b.Param(l, k*s.Hidden)
	}
	l.Forward(func(x ...torch.Tensor) torch.Tensor {
		for i, t := range x {
			g.Rank(t, 2)
			if sh := g.Shape(t); i > 0 && (sh[1] != s.Hidden || sh[0] != g.Dim(x[0], 0)) {
				g.Fail("rnn-state", "shape", torch.Shape(sh), "batch", g.Dim(x[0], 0), "hidden_size", s.Hidden)
			}
		}
		n := g.Dim(x[0], 0)
		state := func(i int) torch.Tensor {
			if i < len(x) {
				return x[i]
			}
			return g.Constant("zeros", []int64{n, s.Hidden}, g.DType(x[0]))
		}
		hx := state(1)
		switch s.Class {
		case "LSTM":
			cx := state(2)
			h, _ := g.LSTMCell(g.Linear(x[0], wih, torch.None), g.Linear(hx, whh, torch.None), cx, bih, bhh)
			return h
		case "GRU":
			return g.GRUCell(g.Linear(x[0], wih, torch.None), g.Linear(hx, whh, torch.None), hx, bih, bhh)
		}
		ih := g.Linear(x[0], wih, bih)
		return Activation{Type: "Tanh"}.Apply(g, g.Add(ih, g.Linear(hx, whh, bhh)))
	})
}

func init() {
	for class := range gates {
		register(func(a *Args) Spec {
			a.Probability("dropout", 0) // between layers: part of cuDNN's reserve
			proj := int64(0)
			switch class {
			case "RNN":
				a.String("nonlinearity", "tanh", "tanh", "relu")
			case "LSTM":
				if proj = a.Int("proj_size", 0); proj < 0 {
					a.fail("argument-range", "proj_size", proj)
				}
			}
			return RNN{Class: class, In: a.Size("input_size"), Hidden: a.Size("hidden_size"), Layers: a.Count("num_layers", 1), Proj: proj,
				NoBias: !a.Bool("bias", true), BatchFirst: a.Bool("batch_first", false), Bidirectional: a.Bool("bidirectional", false)}
		}, class)
		register(func(a *Args) Spec {
			if class == "RNN" {
				a.String("nonlinearity", "tanh", "tanh", "relu")
			}
			return RNNCell{Class: class, In: a.Size("input_size"), Hidden: a.Size("hidden_size"), NoBias: !a.Bool("bias", true)}
		}, RNNCell{Class: class}.class())
	}
}
