package torch

import "slices"

// Losses, reduced to a scalar. Measured: what each keeps, and the storage of the 0-d result.

// TargetOnce is the loss's target: made once, whatever the number of losses that read it.
func (g *Graph) TargetOnce(shape []int64, d DType) Tensor {
	if g.target != None && slices.Equal(g.t[g.target].shape, shape) {
		return g.target
	}
	g.target = g.fresh(g.shapeOf(shape...), nil, d)
	g.st[g.t[g.target].store].kind = KindBatch
	return g.target
}

// ReshapeTarget is y.view(shape).
func (g *Graph) ReshapeTarget(y Tensor, shape ...int64) Tensor { return g.View(y, shape...) }

// ClassLoss is nll_loss on log-probabilities, or cross_entropy: log_softmax first.
func (g *Graph) ClassLoss(x, y Tensor, logged bool) Tensor {
	if !logged {
		x = g.LogSoftmax(x)
	}
	return g.NLL(x, y)
}

// NLL is nll_loss: it keeps its input, the target and a 0-d total weight.
func (g *Graph) NLL(x, y Tensor) Tensor {
	l := g.fresh(nil, nil, g.t[x].dtype)
	tw := g.fresh(nil, nil, g.t[x].dtype)
	return g.record(op{name: "nll_loss", in: g.list(x, y), out: l, nOut: 2, saved: g.list(x, y, tw), back: func(b *backward) {
		b.set(0, b.like2(0))
	}})
}

// PairLoss is a loss with a floating target of the prediction's shape. mse_loss, smooth_l1_loss and binary_cross_entropy
// return a 0-d tensor on a storage as large as the prediction; l1_loss is the mean of an absolute difference.
func (g *Graph) PairLoss(name string, x, y Tensor) Tensor {
	if name == "bce" && g.amp != Float32 { // autocast refuses it: a sigmoid's output has too few bits
		g.Fail("bce-autocast")
	}
	x, y = g.float(x), g.float(y)
	t := g.t[x]
	if name == "l1" {
		d := g.Add(x, y)
		return g.Mean(g.Unary(&Unary{Name: "abs", SavesInput: true, Temps: 1}, d, false), false)
	}
	bytes := t.dtype.Size()
	if name != "bce_with_logits" {
		bytes *= numel(t.shape)
	}
	l := g.add(tensor{dtype: t.dtype, leaf: -1, owner: true, store: g.newStorage(bytes, KindTemporaries)})
	return g.record(op{name: name, in: g.list(x, y), out: l, saved: g.list(x, y), back: func(b *backward) {
		b.set(0, b.like2(0))
	}})
}
