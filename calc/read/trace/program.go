package trace

import (
	"maps"
	"math/bits"
	"slices"
	"strconv"

	"vrametre/calc/fault"
	"vrametre/calc/torch"
)

// Options say which program to make of a trace.
type Options struct {
	// Batch is the number of samples. Sizes are exact from 2 on.
	Batch int64
	// Train is one training step; else the forward in eval mode without gradients.
	Train bool
	// DType replaces the traced type of parameters and activations where it differs from it.
	DType torch.DType
	// Autocast is autocast's type where the trace ran without it; Float32: off.
	Autocast torch.DType
	// DropMean: mean(dim) does not save its input (PyTorch 2.2 and later), though the trace says so.
	DropMean bool
}

// HasInference says whether the trace has a forward in eval mode.
func (t *Trace) HasInference() bool { return t.infer != nil }

// matmuls are the operations that cuBLAS runs.
var matmuls = []string{"addmm", "mm", "bmm", "baddbmm", "addbmm", "addmv", "mv", "addmm_", "baddbmm_", "linear", "matmul"}

// maxBytes bounds one storage, maxTotal all of them, so that no sum of them overflows.
const (
	maxBytes = 1 << 54
	maxTotal = 1 << 58
)

func (t *Trace) size(i int32, batch int64, at string) int64 {
	s := t.sizes[i]
	hi, lo := bits.Mul64(uint64(max(s.b, -s.b)), uint64(batch))
	n := int64(lo)
	if s.b < 0 {
		n = -n
	}
	if hi != 0 || lo > maxBytes || s.a+n < 0 || s.a+n > maxBytes {
		fault.Throw("trace-size", at, "a", s.a, "b", s.b, "batch", batch)
	}
	return s.a + n
}

// maker builds one Program.
type maker struct {
	t     *Trace
	s     *stream
	o     Options
	p     *torch.Program
	ratio [2]int64 // of sizes of floating storages in the traced type
	total int64
	kind  []torch.Kind
	dtype []torch.DType // UInt8 where the engine does not know it
	float []bool        // it has the trace's floating type
	amp   *autocast
	made  []int32 // the call that made a slot, -1 outside
	save  []bool
	drop  map[int32]bool
	// backward: what is saved from here on is a recomputation's.
	backward bool
}

// Program is the trace at one batch size.
func (t *Trace) Program(o Options) (p *torch.Program, err error) {
	defer fault.Catch(&err)
	s, name := t.train, "train"
	if !o.Train {
		if t.infer == nil {
			return nil, fault.New("trace-no-inference", "infer")
		}
		s, name = t.infer, "infer"
	}
	m := &maker{t: t, s: s, o: o, ratio: [2]int64{1, 1}, drop: map[int32]bool{},
		p: &torch.Program{OutputAt: -1, Events: make([]torch.Event, 0, len(s.events)/2)}}
	if d, ok := torch.ParseDType(t.DType); ok && d != o.DType {
		m.ratio = [2]int64{o.DType.Size(), d.Size()}
	}
	if o.DropMean && o.Train {
		for _, k := range t.meanSaved {
			m.drop[k] = true
		}
	}
	m.amp = newAutocast(m)
	m.outside(name)
	m.run(name)
	m.p.Calls = t.calls(s, m.p.Calls, o.Batch)
	return m.p, nil
}

// bytes of a storage in the type that was asked for.
func (m *maker) bytes(size, dtype int32, at string) int64 {
	n := m.t.size(size, m.o.Batch, at)
	if m.ratio[0] != m.ratio[1] && m.t.dtypes[dtype].name == m.t.DType {
		return n / m.ratio[1] * m.ratio[0]
	}
	return n
}

// typeOf is an element type as the program has it.
func (m *maker) typeOf(i int32) torch.DType {
	switch d := m.t.dtypes[i]; {
	case d.name == m.t.DType:
		return m.o.DType
	case d.known:
		return d.torch
	}
	return torch.UInt8
}

func (m *maker) slot(bytes int64, d int32, call int32, k torch.Kind) int32 {
	if m.total += bytes; m.total > maxTotal {
		fault.Throw("trace-total", "sizes", "batch", m.o.Batch)
	}
	m.p.Bytes = append(m.p.Bytes, bytes)
	m.kind = append(m.kind, k)
	m.dtype = append(m.dtype, m.typeOf(d))
	m.float = append(m.float, m.t.dtypes[d].name == m.t.DType)
	m.made = append(m.made, call)
	m.save = append(m.save, false)
	return int32(len(m.p.Bytes) - 1)
}

// outside are the storages that exist before the step.
func (m *maker) outside(name string) {
	for i, b := range m.s.resident {
		k := torch.KindBuffers
		if b.flag {
			k = torch.KindWeights
		}
		m.p.Resident = append(m.p.Resident, torch.Resident{Slot: m.slot(m.bytes(b.size, b.dtype, at(name+".resident", i)), b.dtype, -1, k), Kind: k})
	}
	for i, b := range m.s.batch {
		m.p.Batch = append(m.p.Batch, m.slot(m.bytes(b.size, b.dtype, at(name+".batch", i)), b.dtype, -1, torch.KindBatch))
	}
	for _, p := range m.t.params {
		m.p.Params = append(m.p.Params, torch.Param{Slot: p.slot, Shape: p.shape, DType: m.typeOf(p.dtype), Trainable: p.trainable, GradSlot: -1})
	}
}

func (m *maker) emit(op torch.EventOp, k torch.Kind, slot, param int32) {
	m.p.Events = append(m.p.Events, torch.Event{Op: op, Kind: k, Slot: slot, Param: param})
}

// transient says whether the step made the slot.
func (m *maker) transient(k int32) bool { return int(k) >= len(m.s.resident)+len(m.s.batch) }

func (m *maker) mark(k int32, kind torch.Kind) {
	if m.kind[k] != kind {
		m.kind[k] = kind
		m.emit(torch.EvKind, kind, k, 0)
	}
}

// bind makes slots the caller's; what it holds already (a parameter, an input, the output again) stays what it is.
func (m *maker) bind(list, to []int32) []int32 {
	for _, k := range list {
		if m.transient(k) && m.kind[k] != torch.KindOutputs {
			m.mark(k, torch.KindOutputs)
			m.p.OutputBytes += m.p.Bytes[k]
			to = append(to, k)
		}
	}
	return to
}

func (m *maker) run(name string) {
	p, s := m.p, m.s
	m.p.Calls = make([]torch.Call, len(s.calls))
	alive := map[int32]bool{}
	lastUse := m.lastUses()
	now := int32(-1)
	for i := 0; i < len(s.events); {
		v, after := s.next(i)
		if m.amp != nil && s.events[i] != evAlloc {
			m.amp.settle()
		}
		switch kind := s.events[i]; kind {
		case evStep:
			op := m.t.ops[v[0]]
			if m.amp != nil {
				m.amp.begin(op, v[3:], v[1])
			}
			p.Steps = append(p.Steps, torch.Step{Name: op, Call: v[1], Matmul: slices.Contains(matmuls, op)})
			m.emit(torch.EvStep, 0, int32(len(p.Steps)-1), 0)
			now = v[1]
		case evAlloc:
			k := m.slot(m.bytes(v[0], v[1], at(name+".events", i)), v[1], now, torch.KindTemporaries)
			if m.amp != nil {
				m.amp.result(k)
			}
			m.emit(torch.EvAlloc, torch.KindTemporaries, k, 0)
			alive[k] = true
		case evFree:
			if alive[v[0]] {
				m.emit(torch.EvFree, m.kind[v[0]], v[0], 0)
				delete(alive, v[0])
			}
			if m.amp != nil {
				m.amp.released(v[0])
			}
		case evSave:
			if m.amp == nil || !m.amp.replaced(v[0]) {
				m.saved(v[0], v[1])
			}
		case evGrad:
			p.Params[v[0]].Trained = true
			if alive[v[1]] {
				delete(alive, v[1])
				k := v[1]
				if m.amp != nil {
					k = m.amp.gradient(k, now)
				}
				m.emit(torch.EvGrad, 0, k, v[0])
			}
			if m.amp != nil {
				m.amp.weightDone(p.Params[v[0]].Slot)
			}
		case evCopy:
			k := m.slot(m.bytes(v[1], v[2], at(name+".events", i)), v[2], now, torch.KindGradients)
			p.Params[v[0]].Trained, p.Params[v[0]].GradSlot = true, k
			m.emit(torch.EvGradCopy, 0, k, v[0])
		case evOutput:
			p.OutputAt = len(p.Events)
			p.Outputs = m.bind(s.outputs, p.Outputs)
		case evLoss:
			p.LossAt = len(p.Events)
			p.Loss = m.bind(s.loss, p.Loss)
		case evBackward:
			m.keep(alive)
			if m.amp != nil {
				m.amp.leave()
			}
			p.BackwardAt = len(p.Events)
			m.backward = true
		}
		i = after
		last := lastUse[i] // only mean(dim) still held it
		if m.amp != nil {
			last = slices.Concat(last, m.amp.last[i])
		}
		for _, k := range last {
			if alive[k] && (m.drop[k] || m.amp.gone[k]) {
				m.emit(torch.EvFree, m.kind[k], k, 0)
				delete(alive, k)
			}
		}
	}
	if m.amp != nil {
		m.amp.end()
	}
	if !m.o.Train {
		m.keep(alive)
		p.LossAt, p.BackwardAt = len(p.Events), len(p.Events)
		return
	}
	for _, k := range slices.Concat(p.Outputs, p.Loss) {
		delete(alive, k)
	}
	for _, k := range slices.Sorted(maps.Keys(alive)) { // held by something outside the step, such as a cache: gone when it is made anew
		m.emit(torch.EvFree, m.kind[k], k, 0)
	}
	for i := range p.Params {
		if q := &p.Params[i]; q.GradSlot < 0 {
			q.GradSlot = m.slot(p.Bytes[q.Slot], m.t.params[i].dtype, -1, torch.KindGradients)
		}
	}
}

// saved notes that autograd keeps a slot.
func (m *maker) saved(k, call int32) {
	if m.save[k] || m.drop[k] || m.backward {
		return
	}
	m.save[k] = true
	switch n := int(k) - len(m.s.resident); {
	case m.transient(k):
		m.p.Saved += m.p.Bytes[k]
		m.p.Calls[call].Saved += m.p.Bytes[k]
		m.keptBy(k, call)
		if m.kind[k] == torch.KindTemporaries {
			m.mark(k, torch.KindActivations)
		}
	case n >= 0:
		m.p.InputSaved = m.p.InputSaved || m.s.batch[n].flag
	}
}

// keptBy lists a storage among those kept, as a vector of its elements: the trace knows storages, not shapes.
func (m *maker) keptBy(k, call int32) {
	d := m.dtype[k]
	m.p.Kept = append(m.p.Kept, torch.Kept{By: call, Shape: []int64{m.p.Bytes[k] / d.Size()}, DType: d, Bytes: m.p.Bytes[k]})
}

// keep sorts what is alive at the end of the forward without being an output or saved by autograd: held
// until the backward frees it (a checkpoint's inputs) it is kept for backward, else it stays as outputs do.
func (m *maker) keep(alive map[int32]bool) {
	leaves := map[int32]bool{}
	for i := 0; i < len(m.s.events); {
		v, after := m.s.next(i)
		switch m.s.events[i] {
		case evFree:
			leaves[v[0]] = true
		case evGrad:
			leaves[v[1]] = true
		}
		i = after
	}
	for _, k := range slices.Sorted(maps.Keys(alive)) {
		switch {
		case m.kind[k] == torch.KindOutputs:
		case !leaves[k]:
			m.p.Outputs = m.bind([]int32{k}, m.p.Outputs)
		case !m.save[k] && !m.drop[k] && (m.amp == nil || !m.amp.gone[k]):
			m.save[k] = true
			m.p.Saved += m.p.Bytes[k]
			if made := m.made[k]; made >= 0 {
				m.p.Calls[made].Saved += m.p.Bytes[k]
				m.keptBy(k, made)
			}
			m.mark(k, torch.KindActivations)
		}
	}
}

// lastUses gives, for the slots that need not be saved after all, the event after which nothing reads them.
func (m *maker) lastUses() map[int][]int32 {
	if len(m.drop) == 0 {
		return nil
	}
	outputs := map[int32]bool{}
	for _, k := range m.s.outputs {
		outputs[k] = true
	}
	last := map[int32]int{}
	for i := 0; i < len(m.s.events) && m.s.events[i] != evBackward; {
		v, after := m.s.next(i)
		if m.s.events[i] == evStep {
			for _, k := range v[3:] {
				if m.drop[k] && !outputs[k] {
					last[k] = after
				}
			}
		}
		i = after
	}
	at := map[int][]int32{}
	for _, k := range slices.Sorted(maps.Keys(last)) {
		at[last[k]] = append(at[last[k]], k)
	}
	return at
}

// calls fills in the rows of the per-layer table; those of a recomputation in backward are no rows of their own.
func (t *Trace) calls(s *stream, rows []torch.Call, batch int64) []torch.Call {
	seen := make([]bool, len(t.modules))
	loss := len(s.calls)
	for i, c := range s.calls {
		m := &t.modules[c.module]
		r := &rows[i]
		r.Path, r.Type = m.path, m.class
		if m.path == "<loss>" {
			loss = min(loss, i)
		} else if i > loss {
			continue
		}
		r.Params, r.Leaf, r.First = m.own, m.leaf, !seen[c.module]
		seen[c.module] = true
		for _, d := range s.dims[c.from:c.to] {
			r.Out = append(r.Out, d.a+d.b*batch)
		}
	}
	return rows
}

// Family is "transformer", "cnn" or "other", as torch.Graph.Family says.
func (t *Trace) Family() string {
	family := "other"
	for _, op := range t.ops {
		switch op {
		case "bmm", "baddbmm", "scaled_dot_product_attention":
			return "transformer"
		case "convolution":
			family = "cnn"
		}
	}
	return family
}

// InputBytes are the bytes of the batch's inputs in p, without the target.
func (t *Trace) InputBytes(p *torch.Program) int64 {
	var n int64
	for i, b := range t.train.batch {
		if b.flag {
			n += p.Bytes[p.Batch[i]]
		}
	}
	return n
}

// ConvOutputs are the bytes of each convolution's output in the training program p, one that feeds a global
// pooling counted pooled, as torch.Graph.ConvOutputs.
func (t *Trace) ConvOutputs(p *torch.Program) []int64 {
	var steps []forwardStep
	s := t.train
	next := int32(len(s.resident) + len(s.batch))
	for i := 0; i < len(s.events) && s.events[i] != evOutput; {
		v, after := s.next(i)
		switch s.events[i] {
		case evStep:
			st := forwardStep{op: t.ops[v[0]], reads: -1, out: -1, single: len(v) == 4}
			if len(v) > 3 {
				st.reads = v[3]
			}
			steps = append(steps, st)
		case evAlloc:
			if n := len(steps); n > 0 && steps[n-1].out < 0 {
				steps[n-1].out = next
			}
			next++
		}
		i = after
	}
	readers := map[int32][]int{}
	for i, st := range steps {
		readers[st.reads] = append(readers[st.reads], i)
	}
	var out []int64
	for i, st := range steps {
		if st.op != "convolution" || st.out < 0 {
			continue
		}
		out = append(out, pooled(steps, readers, i, p.Bytes))
	}
	return out
}

// pooled is the size of a convolution's result, or of the mean that elementwise operations lead to.
func pooled(steps []forwardStep, readers map[int32][]int, at int, bytes []int64) int64 {
	y := steps[at].out
	n := bytes[y]
	for range 16 { // no network has more between a convolution and its pooling
		next := -1
		for _, j := range readers[y] {
			if j > at && steps[j].out >= 0 {
				next = j
				break
			}
		}
		if next < 0 {
			break
		}
		u := steps[next]
		if u.op == "mean" {
			n = bytes[u.out]
		}
		if !u.single || bytes[u.out] != bytes[y] {
			break
		}
		y, at = u.out, next
	}
	return n
}

// forwardStep is an operation of the forward: the first slot it reads and the first it makes, -1 without.
type forwardStep struct {
	op         string
	reads, out int32
	single     bool // it reads one slot
}

// Made says whether the trace ran in that version of PyTorch.
func (t *Trace) Made(major, minor int) bool {
	return t.Torch == strconv.Itoa(major)+"."+strconv.Itoa(minor)
}

// Recurrent is the first recurrent layer, which CUDA runs as one cuDNN kernel with a reserve of its own.
func (t *Trace) Recurrent() (path, class string) {
	for _, m := range t.modules {
		switch m.class {
		case "LSTM", "GRU", "RNN":
			return m.path, m.class
		}
	}
	return "", ""
}
