package torch

// RNNArgs are the arguments of a recurrent network on cuDNN.
type RNNArgs struct {
	// Gates per cell: 1 (RNN), 3 (GRU) or 4 (LSTM, which has a cell state too).
	Gates                     int64
	Hidden, Proj              int64 // Proj: size of the projected output, 0 without
	Layers                    int64
	Bidirectional, BatchFirst bool
}

// ReserveBytes estimates the opaque reserve in which cuDNN keeps what its backward needs, size being an element's. Two
// published sizes, 736 000 000 and 864 000 000 bytes for four layers of 320 units (pytorch issue 2895, the sizes of
// its parameters give the network), are exactly 6 values per unit, step and sample for an LSTM (four gates, cell,
// output) and 7 for a GRU, less the last layer's output, at 25 000 steps times samples. A plain RNN is taken to keep 2.
func (a RNNArgs) ReserveBytes(steps, batch, size int64) int64 {
	each := map[int64]int64{1: 2, 3: 7, 4: 6}[a.Gates]
	return steps * batch * a.Hidden * a.directions() * (each*a.Layers - 1) * size
}

func (a RNNArgs) directions() int64 {
	if a.Bidirectional {
		return 2
	}
	return 1
}

// RNN is _cudnn_rnn (aten/src/ATen/native/cudnn/RNN.cpp): it keeps the input, the initial states, the output, the weights
// and the reserve. Its results are the output and the last states; the third is None but for an LSTM.
func (g *Graph) RNN(x Tensor, weights []Tensor, a RNNArgs) (y, h, c Tensor) {
	g.Rank(x, 3)
	g.floating(x)
	t := g.t[x]
	steps, batch := t.shape[0], t.shape[1]
	if a.BatchFirst {
		steps, batch = batch, steps
	}
	dirs, out := a.directions(), a.Hidden
	if a.Proj > 0 {
		out = a.Proj
	}
	hx := g.Constant("zeros", []int64{a.Layers * dirs, batch, out}, t.dtype)
	cx := None
	if a.Gates == 4 {
		cx = g.Constant("zeros", []int64{a.Layers * dirs, batch, a.Hidden}, t.dtype)
	}
	x, hx, cx = g.cast(x), g.cast(hx), g.cast(cx)
	w := make([]Tensor, len(weights))
	for i := range weights {
		w[i] = g.cast(weights[i])
	}
	g.alike(x, w[0])
	t = g.t[x]
	shape, stride := []int64{steps, batch, dirs * out}, []int64(nil)
	if a.BatchFirst {
		shape, stride = []int64{batch, steps, dirs * out}, []int64{dirs * out, batch * dirs * out, 1}
	}
	y = g.fresh(g.shapeOf(shape...), stride, t.dtype)
	h = g.fresh(g.shapeOf(a.Layers*dirs, batch, out), nil, t.dtype)
	c = None
	nOut := int8(3)
	saved := append([]Tensor{x, hx, y}, w...)
	if cx != None {
		c = g.fresh(g.shapeOf(a.Layers*dirs, batch, a.Hidden), nil, t.dtype)
		saved = append(saved, cx)
		nOut++
	}
	var reserve int64
	if g.wants(append(w, x)...) {
		reserve = a.ReserveBytes(steps, batch, t.dtype.Size())
		g.Warn("rnn-reserve", "bytes", reserve)
	}
	saved = append(saved, g.fresh(g.shapeOf(reserve), nil, UInt8))
	o := op{name: "_cudnn_rnn", in: g.list(append(append([]Tensor{x}, w...), hx, cx)...), out: y, nOut: nOut, saved: g.list(saved...), back: func(b *backward) {
		var copies []gt
		for _, v := range []view{b.in(0), b.layoutOf(0)} { // input and gradient in time-major order
			if !timeMajor(v, a.BatchFirst) {
				copies = append(copies, b.alloc(v.shape, nil, t.dtype))
			}
		}
		if b.need(0) {
			st := []int64(nil)
			if s := t.shape; a.BatchFirst {
				st = []int64{s[2], s[0] * s[2], 1}
			}
			b.set(0, b.alloc(t.shape, st, t.dtype))
		}
		var states []gt // gradients of the initial states
		for _, s := range []Tensor{hx, cx} {
			if s != None {
				states = append(states, b.alloc(b.c.g.t[s].shape, nil, t.dtype))
			}
		}
		b.step()
		for i := range w {
			if b.need(i + 1) {
				b.set(i+1, b.like2(i+1))
			}
		}
		for _, v := range append(copies, states...) {
			b.free(v)
		}
	}}
	if !timeMajor(t.view, a.BatchFirst) {
		o.tmp = g.bytes(t.shape, t.dtype)
	}
	g.record(o)
	return y, h, c
}

// layoutOf is the layout of output i's incoming gradient, of the output itself where none came.
func (b *backward) layoutOf(i int) view {
	if v := b.gout(i); v != noGrad {
		return b.layout(v)
	}
	return b.c.g.t[b.o.out+Tensor(i)].view
}

// timeMajor says whether cuDNN can read v as [steps, batch, features] without a copy.
func timeMajor(v view, batchFirst bool) bool {
	if batchFirst {
		v = view{[]int64{v.shape[1], v.shape[0], v.shape[2]}, []int64{v.stride[1], v.stride[0], v.stride[2]}}
	}
	return isContiguous(v.shape, v.stride)
}

// LSTMCell is _thnn_fused_lstm_cell, which CUDA runs (aten/src/ATen/native/cuda/RNN.cu): it keeps the old and the new cell
// state and a workspace of the four gates.
func (g *Graph) LSTMCell(igates, hgates, cx, bih, bhh Tensor) (h, c Tensor) {
	t := g.t[igates]
	n, hid := t.shape[0], t.shape[1]/4
	h, c = g.fresh(g.shapeOf(n, hid), nil, t.dtype), g.fresh(g.shapeOf(n, hid), nil, t.dtype)
	ws := g.fresh(g.shapeOf(n, 4*hid), nil, t.dtype)
	g.record(op{name: "_thnn_fused_lstm_cell", in: g.list(igates, hgates, cx, bih, bhh), out: h, nOut: 3, saved: g.list(cx, c, ws), back: func(b *backward) { b.cell(4*hid, 2) }})
	return h, c
}

// GRUCell is _thnn_fused_gru_cell: it keeps a workspace of five values per unit.
func (g *Graph) GRUCell(igates, hgates, hx, bih, bhh Tensor) Tensor {
	t := g.t[igates]
	n, hid := t.shape[0], t.shape[1]/3
	h := g.fresh(g.shapeOf(n, hid), nil, t.dtype)
	ws := g.fresh(g.shapeOf(n, 5*hid), nil, t.dtype)
	return g.record(op{name: "_thnn_fused_gru_cell", in: g.list(igates, hgates, hx, bih, bhh), out: h, nOut: 2, saved: g.list(ws), back: func(b *backward) { b.cell(3*hid, 1) }})
}

// cell is the backward of a fused cell: gradients of the gates (one tensor, or one for each of input and hidden), of the
// state and of the biases.
func (b *backward) cell(width int64, shared int) {
	n := b.in(0).shape[0]
	d := b.c.g.t[b.o.in[0]].dtype
	gates := b.alloc([]int64{n, width}, nil, d)
	for i := range 2 {
		if b.need(i) {
			v := gates
			if i == 1 && shared == 1 {
				v = b.alloc([]int64{n, width}, nil, d)
				b.set(i, v)
				continue
			}
			l := b.layout(v)
			b.set(i, b.alias(v, l.shape, l.stride))
		}
	}
	if b.need(2) {
		b.set(2, b.like2(2))
	}
	for i := 3; i < 5; i++ {
		if b.need(i) {
			b.step()
			b.set(i, b.like2(i))
		}
	}
	b.free(gates)
}
