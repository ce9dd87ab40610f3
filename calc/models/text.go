//go:build !lean

package models

import (
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// tokens is an input of n token ids below vocab.
func tokens(n, vocab int64) Input { return Input{Shape: []int64{n}, Below: vocab} }

// Text classifiers and one-idea networks on sequences.
func init() {
	add(&Preset{Name: "bow_embedding", Family: "embedding", Inputs: []Input{tokens(30, 2000)}, Build: func(b *nn.Builder, a *nn.Args) *Net {
		g, root := b.G, b.Root("BowEmb")
		d := a.Positive("d", 64)
		e := b.Add(root, "e", nn.Embedding{Num: a.Positive("vocab", 2000), Dim: d})
		fc1 := b.Add(root, "fc1", nn.Linear{In: d, Out: 32})
		fc2 := b.Add(root, "fc2", nn.Linear{In: 32, Out: a.Positive("num_classes", 4)})
		return chain(root.Forward(func(x ...torch.Tensor) torch.Tensor {
			return fc2.Call(nn.ReLU(false).Apply(g, fc1.Call(g.Mean(e.Call(x[0]), false, 1))))
		}))
	}})
	add(&Preset{Name: "mha", Family: "attention", Inputs: []Input{{Shape: []int64{32, 64}}}, Build: func(b *nn.Builder, a *nn.Args) *Net {
		g, root := b.G, b.Root("MHA")
		d := a.Positive("d", 64)
		att := b.Add(root, "a", nn.MultiheadAttention{Embed: d, Heads: a.Positive("h", 4), P: a.Probability("p", 0), BatchFirst: true, NoWeights: !a.Bool("need", true)})
		fc := b.Add(root, "fc", nn.Linear{In: d, Out: a.Positive("num_classes", 5)})
		return chain(root.Forward(func(x ...torch.Tensor) torch.Tensor { return fc.Call(g.Mean(att.Call(x[0]), false, 1)) }))
	}})
	add(&Preset{Name: "transformer_encoder", Family: "transformer", Inputs: []Input{tokens(64, 1000)}, Build: func(b *nn.Builder, a *nn.Args) *Net {
		g, root := b.G, b.Root("EncText")
		d := a.Positive("d", 128)
		pos := b.Param(root, 1, a.Positive("T", 64), d)
		e := b.Add(root, "emb", nn.Embedding{Num: a.Positive("vocab", 1000), Dim: d})
		enc := b.Add(root, "enc", nn.TransformerStack{Layers: a.Count("layers", 3), Layer: nn.TransformerLayer{Embed: d, Heads: a.Positive("heads", 4), FF: a.Positive("ff", 512),
			P: a.Probability("p", 0.1), BatchFirst: true, NormFirst: a.Bool("norm_first", false), Act: activation(a)}})
		fc := b.Add(root, "fc", nn.Linear{In: d, Out: a.Positive("num_classes", 4)})
		return chain(root.Forward(func(x ...torch.Tensor) torch.Tensor {
			return fc.Call(g.Mean(enc.Call(g.Add(e.Call(x[0]), g.Narrow(pos, 1, g.Dim(x[0], 1)))), false, 1))
		}))
	}})
	for name, class := range map[string]string{"lstm_text": "LSTM", "gru_text": "GRU"} {
		add(&Preset{Name: name, Family: "rnn", Inputs: []Input{tokens(20, 5000)}, Build: func(b *nn.Builder, a *nn.Args) *Net {
			g, root := b.G, b.Root(class+"Text")
			d, h, both := a.Positive("d", 100), a.Positive("h", 128), a.Bool("bidirectional", false)
			e := b.Add(root, "emb", nn.Embedding{Num: a.Positive("vocab", 5000), Dim: d})
			rnn := b.AddRNN(root, "rnn", nn.RNN{Class: class, In: d, Hidden: h, Layers: a.Count("layers", 1), BatchFirst: true, Bidirectional: both})
			fc := b.Add(root, "fc", nn.Linear{In: h, Out: a.Positive("num_classes", 4)})
			return chain(root.Forward(func(x ...torch.Tensor) torch.Tensor {
				y, last, c := rnn(e.Call(x[0]))
				g.Keep(y, last, c)
				return fc.Call(g.Select(last, 0))
			}))
		}})
	}
	add(&Preset{Name: "rnn_tanh", Family: "rnn", Inputs: []Input{{Shape: []int64{25, 12}}}, Loss: "mse", Build: func(b *nn.Builder, a *nn.Args) *Net {
		g, root := b.G, b.Root("RNNTanh")
		rnn := b.AddRNN(root, "rnn", nn.RNN{Class: "RNN", In: 12, Hidden: 32, Layers: 2})
		fc := b.Add(root, "fc", nn.Linear{In: 32, Out: 1})
		return chain(root.Forward(func(x ...torch.Tensor) torch.Tensor {
			y, _, _ := rnn(g.Transpose(x[0], 0, 1))
			return fc.Call(g.Select(y, 0))
		}))
	}})
}

// activation is the class of the argument "activation" of nn.TransformerEncoderLayer.
func activation(a *nn.Args) string {
	return map[string]string{"relu": "ReLU", "gelu": "GELU"}[a.String("activation", "relu", "relu", "gelu")]
}
