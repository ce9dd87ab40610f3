package trace

import (
	"maps"
	"slices"

	"vrametre/calc/torch"
)

// autocast turns a float32 trace into what it would be under torch.autocast, by CUDA's lists of operations
// (aten/src/ATen/autocast_mode.h): matrix products and convolutions read and write the half type, normalisations, softmax
// and losses float32, the others what they are given. Weights are cast once and kept; what an operation casts for
// itself it keeps in place of the original. The trace does not say which gradients PyTorch casts back, so peaks are near
// what a trace under autocast would give, not equal.
type autocast struct {
	m    *maker
	half []bool // of each slot of the trace
	// saver is the operation that first saves a slot it reads; last the event after the slot's last use in forward.
	saver map[int32]string
	last  map[int][]int32
	// base is the number of slots of the trace; bytes those of the copies, numbered from there.
	base  int32
	bytes []int64
	kinds []torch.Kind

	needs   []bool            // of each slot of the trace: it requires a gradient
	weights map[int32]int32   // the copy of each weight
	cached  []int32           // weights whose copy autograd does not keep
	held    map[int32][]int32 // copies that live as long as autograd keeps the original
	after   []int32           // copies that one operation needs
	gone    map[int32]bool    // slots that are not saved after all

	vector map[int32]bool // weights of one dimension: biases and the like

	// The operation running: its name and that of the one before it, what it reads, how many results it has had, whether one
	// that takes the type of its operands is half, and whether its results require a gradient.
	op, before   string
	reads        []int32
	nth          int
	widest, grad bool
}

// halfOps run in the half type, floatOps in float32 on a copy; floatResults are those that read half types as they are.
var (
	halfOps = []string{"convolution", "convolution_backward", "addmm", "mm", "bmm", "baddbmm", "linear", "matmul", "mv", "addmv", "scaled_dot_product_attention", "_thnn_fused_lstm_cell", "prelu"}

	floatOps = []string{"native_layer_norm", "native_group_norm", "pow", "exp", "log", "log1p", "rsqrt", "softplus", "mse_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits", "nll_loss_forward",
		"nll_loss2d_forward", "cumsum", "cumprod", "prod", "norm", "linalg_vector_norm", "acos", "asin", "cosh", "sinh", "tan", "erfinv", "expm1", "reciprocal"}

	floatResults = []string{"_softmax", "_log_softmax", "sum"}

	// ownResults keep what they give, so that what comes next saves nothing new.
	ownResults = []string{"_softmax", "_log_softmax", "relu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt"}
)

// newAutocast scans the events once; nil where autocast changes nothing.
func newAutocast(m *maker) *autocast {
	if m.o.Autocast == torch.Float32 || m.t.Autocast != "" || m.t.DType != "float32" {
		return nil
	}
	a := &autocast{m: m, saver: map[int32]string{}, last: map[int][]int32{}, weights: map[int32]int32{}, held: map[int32][]int32{}, gone: map[int32]bool{}, vector: map[int32]bool{}}
	s := m.s
	a.base = int32(len(s.resident) + len(s.batch))
	last := map[int32]int{}
	backward := false
	waiting, outputs := map[int32]bool{}, map[int32]bool{}
	for _, k := range s.outputs {
		outputs[k] = true
	}
	op, made := "", int32(0) // the last operation, and the first slot it made
	for i := 0; i < len(s.events); {
		v, after := s.next(i)
		switch s.events[i] {
		case evAlloc, evCopy:
			a.base++
		case evSave:
			if v[0] >= made && slices.Contains(ownResults, op) {
				a.saver[v[0]] = op
			} else {
				waiting[v[0]] = true
			}
		case evBackward:
			backward = true
		case evStep:
			op, made = m.t.ops[v[0]], a.base
			for _, k := range v[3:] {
				if waiting[k] {
					a.saver[k] = op
				}
				if !backward {
					last[k] = after
				}
			}
			clear(waiting)
		}
		i = after
	}
	for _, k := range slices.Sorted(maps.Keys(a.saver)) {
		if at, ok := last[k]; ok && !outputs[k] {
			a.last[at] = append(a.last[at], k)
		}
	}
	a.half, a.needs = make([]bool, a.base), make([]bool, a.base)
	for _, p := range m.t.params {
		a.vector[p.slot] = len(p.shape) < 2
		a.needs[p.slot] = p.trainable
	}
	return a
}

// float says whether a slot holds the traced floating type.
func (a *autocast) float(k int32) bool { return a.m.float[k] }

// scalar is a single value, which does not widen a result.
func (a *autocast) scalar(k int32) bool { return a.m.p.Bytes[k] <= 8 }

func (a *autocast) copyOf(bytes int64, k torch.Kind) int32 {
	a.bytes = append(a.bytes, bytes)
	a.kinds = append(a.kinds, k)
	id := a.base + int32(len(a.bytes)) - 1
	a.m.emit(torch.EvAlloc, k, id, 0)
	return id
}

func (a *autocast) free(id int32) { a.m.emit(torch.EvFree, a.kinds[id-a.base], id, 0) }

func (a *autocast) kept(id, call int32) {
	m := a.m
	n := a.bytes[id-a.base]
	m.p.Saved += n
	m.p.Calls[call].Saved += n
	m.p.Kept = append(m.p.Kept, torch.Kept{By: call, Shape: []int64{n / m.o.Autocast.Size()}, DType: m.o.Autocast, Bytes: n})
}

// settle frees what the operation before cast for itself.
func (a *autocast) settle() {
	for _, id := range a.after {
		a.free(id)
	}
	a.after = a.after[:0]
}

// begin casts what the next operation reads.
func (a *autocast) begin(op string, reads []int32, call int32) {
	a.before, a.op, a.reads, a.nth = a.op, op, reads, 0
	m := a.m
	a.widest = a.allHalf()
	a.grad = slices.ContainsFunc(reads, func(r int32) bool { return a.needs[r] })
	through := slices.ContainsFunc(reads, func(r int32) bool { return m.kind[r] != torch.KindWeights && a.needs[r] })
	if m.backward {
		return
	}
	lower, upper := slices.Contains(halfOps, op), slices.Contains(floatOps, op)
	for _, k := range reads {
		if !a.float(k) || a.scalar(k) || (!lower && !upper) || a.half[k] == lower {
			continue
		}
		if m.kind[k] == torch.KindWeights {
			if _, ok := a.weights[k]; ok || upper {
				continue
			}
			a.step(call)
			a.weights[k] = a.copyOf(m.p.Bytes[k]/2, torch.KindCast)
			switch {
			case m.o.Train && !a.vector[k] && (through || op == "convolution" && a.needs[k]):
				a.kept(a.weights[k], call)
			case a.needs[k]:
				a.cached = append(a.cached, k)
			default: // a frozen weight is not cached
				a.after = append(a.after, a.weights[k])
				delete(a.weights, k)
			}
			continue
		}
		bytes := m.p.Bytes[k] / 2
		if upper {
			bytes = m.p.Bytes[k] * 2
		}
		a.step(call)
		if m.o.Train && a.saver[k] != "" {
			id := a.copyOf(bytes, torch.KindActivations)
			a.held[k] = append(a.held[k], id)
			a.kept(id, call)
		} else {
			a.after = append(a.after, a.copyOf(bytes, torch.KindTemporaries))
		}
	}
}

func (a *autocast) step(call int32) {
	p := a.m.p
	p.Steps = append(p.Steps, torch.Step{Name: "_to_copy", Call: call})
	a.m.emit(torch.EvStep, 0, int32(len(p.Steps)-1), 0)
}

// result says whether the operation's next result k has the half type, and sizes it.
func (a *autocast) result(k int32) {
	a.half[k] = a.float(k) && a.isHalf()
	a.needs[k] = a.grad
	if a.half[k] {
		a.m.p.Bytes[k] /= 2
		a.m.dtype[k] = a.m.o.Autocast
	}
	a.nth++
}

func (a *autocast) isHalf() bool {
	first := len(a.reads) > 0 && a.half[a.reads[0]]
	switch op := a.op; {
	case op == "scaled_dot_product_attention":
		return a.nth == 0 || (a.m.backward && a.nth < 3)
	case slices.Contains(halfOps, op):
		return true
	case op == "native_batch_norm", op == "cudnn_batch_norm", op == "native_batch_norm_backward", op == "cudnn_batch_norm_backward":
		return a.nth == 0 && first
	case op == "native_layer_norm_backward", op == "native_group_norm_backward":
		return a.nth == 0 && len(a.reads) > 1 && a.half[a.reads[1]]
	case op == "_softmax_backward_data", op == "_log_softmax_backward_data":
		return true
	case slices.Contains(floatOps, op), slices.Contains(floatResults, op) && !(op == "sum" && a.m.backward):
		return false
	}
	return a.widest
}

// allHalf says whether the floating operands all have the half type.
func (a *autocast) allHalf() bool {
	any := false
	for _, k := range a.reads {
		switch {
		case !a.float(k) || a.scalar(k):
		case a.op == "add" && a.vector[k] && slices.Contains(halfOps, a.before): // a linear layer's bias, cast with it
		case !a.half[k]:
			return false
		default:
			any = true
		}
	}
	return any
}

// replaced says whether autograd keeps a copy of k instead of k itself.
func (a *autocast) replaced(k int32) bool {
	s := a.saver[k]
	if s == "" || !a.float(k) || a.scalar(k) || a.m.kind[k] == torch.KindWeights {
		return false
	}
	if slices.Contains(halfOps, s) && !a.half[k] || slices.Contains(floatOps, s) && a.half[k] {
		a.gone[k] = true
	}
	return a.gone[k]
}

// gradient gives the slot that becomes a parameter's gradient: a half one is cast first.
func (a *autocast) gradient(k int32, call int32) int32 {
	if !a.half[k] {
		return k
	}
	a.step(call)
	id := a.copyOf(a.m.p.Bytes[k]*2, torch.KindGradients)
	a.m.emit(torch.EvFree, a.m.kind[k], k, 0)
	return id
}

// released frees the copies that lived with k.
func (a *autocast) released(k int32) {
	for _, id := range a.held[k] {
		a.free(id)
	}
	delete(a.held, k)
}

// weightDone frees a weight's copy: its gradient is there.
func (a *autocast) weightDone(k int32) {
	if id, ok := a.weights[k]; ok {
		a.free(id)
		delete(a.weights, k)
	}
}

// leave empties autocast's cache, which its context does at its end.
func (a *autocast) leave() {
	for _, k := range a.cached {
		a.weightDone(k)
	}
}

// end frees what is left and adds the copies' bytes behind the trace's.
func (a *autocast) end() {
	a.settle()
	for _, k := range slices.Sorted(maps.Keys(a.held)) {
		a.released(k)
	}
	for _, k := range slices.Sorted(maps.Keys(a.weights)) {
		a.weightDone(k)
	}
	for i, n := range a.bytes {
		a.m.p.Bytes = append(a.m.p.Bytes, n)
		a.m.kind = append(a.m.kind, a.kinds[i])
	}
}
