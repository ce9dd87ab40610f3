package torch

import "slices"

// gt is a gradient during backward: a handle on a slot with its own layout.
type gt int32

const noGrad gt = -1

type gten struct {
	view
	dtype DType
	slot  int32
	uses  int32 // holders of this very tensor
}

// slotState is the reference count of a slot and what autograd does with it.
type slotState struct {
	refs, saves int32
	kind        Kind
	gradient    bool // one reference is a parameter's .grad
	fixed       bool // batch, parameters, buffers, outputs: saving does not change what they are for
}

type compiler struct {
	g      *Graph
	p      *Program
	slot   []int32 // of each storage, -1 before it exists
	s      []slotState
	dropAt []int32 // offsets into dropList by operation
	drop   []Tensor
	gts    []gten
	gbuf   []gt    // pending gradient of each tensor
	uses   []int32 // of each parameter by taped operations not yet run
	param  map[Tensor]int32
	held   []bool // tensors the caller keeps (outputs, loss)
	b      backward
	seg    int // next checkpointed segment, in forward order
	// inSegment is the segment being recomputed.
	inSegment *segment
	// unused says which operations are recorded but never run by backward; nil where there are none.
	unused []bool
	// unusedUntil lists them by the last operation in whose course what they saved is held, under the number of
	// operations where an output holds it.
	unusedUntil map[int][]int
}

// Compile runs the recorded forward and its backward once.
func (g *Graph) Compile() *Program {
	if g.imported != nil {
		return g.imported.Program
	}
	n := len(g.ops)
	c := &compiler{g: g, p: &Program{Calls: g.calls, Events: make([]Event, 0, 8*n), Bytes: make([]int64, 0, 3*n),
		Steps: make([]Step, 0, 2*n)},
		slot: make([]int32, len(g.st)), s: make([]slotState, 0, 3*n), gbuf: make([]gt, len(g.t)), gts: make([]gten, 0, 3*n),
		param: map[Tensor]int32{}, held: make([]bool, len(g.t))}
	c.b.c = c
	for i := range c.slot {
		c.slot[i] = -1
	}
	for i := range c.gbuf {
		c.gbuf[i] = noGrad
	}
	for _, t := range g.movedOrder() {
		k := g.st[g.t[t].store].kind
		c.p.Resident = append(c.p.Resident, Resident{c.persist(t, k), k})
	}
	for i, t := range g.Parameters() {
		c.param[t] = int32(i)
		x := &g.t[t]
		c.p.Params = append(c.p.Params, Param{Slot: c.slot[x.store], Shape: x.shape, DType: x.dtype, Trainable: x.needs,
			GradSlot: c.newSlot(g.st[x.store].bytes, KindGradients)})
	}
	for i := range g.t {
		x := &g.t[i]
		if g.st[x.store].kind == KindBatch && c.slot[x.store] < 0 {
			c.p.Batch = append(c.p.Batch, c.persist(Tensor(i), KindBatch))
		}
	}
	for _, t := range g.outputs {
		c.held[t] = true
	}
	if g.loss != None {
		c.held[g.loss] = true
	}
	for _, t := range g.bound {
		c.held[t] = true
	}
	c.planDrops()
	c.findUnused()
	c.p.OutputAt = -1
	for i := range g.ops {
		if i == g.lossOp {
			c.bindOutputs()
		}
		c.forward(i, c.segmentForward(i))
		c.dropUnused(i)
	}
	if g.lossOp == len(g.ops) {
		c.bindOutputs()
	}
	c.p.LossAt = len(c.p.Events)
	if g.loss != None {
		c.p.Loss = c.bind(g.loss, c.p.Loss)
		for _, t := range g.bound {
			c.p.Loss = c.bind(t, c.p.Loss)
		}
	}
	c.keepUnused()
	c.countSaved()
	c.p.BackwardAt = len(c.p.Events)
	if g.loss != None && g.t[g.loss].needs {
		c.backward()
	}
	return c.p
}

func (c *compiler) newSlot(bytes int64, k Kind) int32 {
	c.p.Bytes = append(c.p.Bytes, bytes)
	c.s = append(c.s, slotState{kind: k})
	return int32(len(c.s) - 1)
}

// persist gives a slot to what exists before the iteration begins.
func (c *compiler) persist(t Tensor, k Kind) int32 {
	st := c.g.t[t].store
	if c.slot[st] < 0 {
		c.slot[st] = c.newSlot(c.g.st[st].bytes, k)
		c.s[c.slot[st]].refs = 1
		c.s[c.slot[st]].fixed = true
	}
	return c.slot[st]
}

// planDrops sorts tensors by the operation after which Python lets go of them.
func (c *compiler) planDrops() {
	n := len(c.g.ops)
	c.dropAt = make([]int32, n+1)
	for i := range c.g.t {
		if c.transient(i) {
			c.dropAt[c.g.t[i].last+1]++
		}
	}
	for i := 1; i <= n; i++ {
		c.dropAt[i] += c.dropAt[i-1]
	}
	c.drop = make([]Tensor, c.dropAt[n])
	fill := slices.Clone(c.dropAt)
	for i := range c.g.t {
		if c.transient(i) {
			l := c.g.t[i].last
			c.drop[fill[l]] = Tensor(i)
			fill[l]++
		}
	}
}

func (c *compiler) transient(i int) bool {
	k := c.g.st[c.g.t[i].store].kind
	return k != KindWeights && k != KindBuffers && k != KindBatch && !c.held[i]
}

func (c *compiler) emit(op EventOp, k Kind, slot int32) {
	c.p.Events = append(c.p.Events, Event{Op: op, Kind: k, Slot: slot})
}

func (c *compiler) step(name string, call int32) {
	c.p.Steps = append(c.p.Steps, Step{name, call, name == "addmm" || name == "mm" || name == "bmm"})
	c.emit(EvStep, 0, int32(len(c.p.Steps)-1))
}

func (c *compiler) alloc(bytes int64, k Kind) int32 {
	s := c.newSlot(bytes, k)
	c.emit(EvAlloc, k, s)
	return s
}

func (c *compiler) unref(s int32) {
	st := &c.s[s]
	st.refs--
	switch {
	case st.refs == 0:
		c.emit(EvFree, st.kind, s)
	case st.refs == 1 && st.gradient:
		c.emit(EvGradRest, KindGradients, s)
	}
}

func (c *compiler) handle(t gten) gt {
	t.uses = 1
	c.gts = append(c.gts, t)
	return gt(len(c.gts) - 1)
}

// release drops one holder of v.
func (c *compiler) release(v gt) {
	c.gts[v].uses--
	c.unref(c.gts[v].slot)
}

func (c *compiler) setKind(s int32, k Kind) {
	if c.s[s].kind != k {
		c.s[s].kind = k
		c.emit(EvKind, k, s)
	}
}

func (c *compiler) save(s int32) {
	st := &c.s[s]
	st.refs++
	st.saves++
	if st.saves == 1 && !st.fixed && st.kind == KindTemporaries {
		c.setKind(s, KindActivations)
	}
}

func (c *compiler) unsave(s int32) {
	st := &c.s[s]
	st.saves--
	if st.saves == 0 && st.refs > 1 && st.kind == KindActivations {
		c.setKind(s, KindTemporaries)
	}
	c.unref(s)
}

// segmentForward opens and closes checkpointed segments; it says whether operation i is recorded for backward.
func (c *compiler) segmentForward(i int) bool {
	s := c.g.segments
	for c.seg < len(s) && i >= s[c.seg].to {
		c.seg++
	}
	if c.seg == len(s) || i < s[c.seg].from {
		return true
	}
	if i == s[c.seg].from {
		for _, t := range s[c.seg].in {
			c.saveTensor(t, s[c.seg].call, false)
		}
	}
	return false
}

// findUnused finds the recorded operations that the loss does not depend on: backward never runs them, so what they
// saved lives as long as their results, or the results of unused operations made from those, are held.
func (c *compiler) findUnused() {
	g := c.g
	if g.loss == None {
		return
	}
	used := make([]bool, len(g.t))
	used[g.loss] = true
	var until []int // of each tensor: how long it keeps the operation that made it
	for i := len(g.ops) - 1; i >= 0; i-- {
		o := &g.ops[i]
		if !o.tape {
			continue
		}
		if slices.Contains(used[o.out:o.out+Tensor(o.nOut)], true) {
			for _, t := range o.in {
				if t != None {
					used[t] = true
				}
			}
			continue
		}
		if until == nil {
			until = make([]int, len(g.t))
			c.unused, c.unusedUntil = make([]bool, len(g.ops)), map[int][]int{}
		}
		last := i
		for t := o.out; t < o.out+Tensor(o.nOut); t++ {
			last = max(last, int(g.t[t].last), until[t])
			if c.held[t] {
				last = len(g.ops)
			}
		}
		for _, t := range o.in {
			if t != None {
				until[t] = max(until[t], last)
			}
		}
		if !c.inAnySegment(i) {
			c.unused[i] = true
			c.unusedUntil[last] = append(c.unusedUntil[last], i)
		}
	}
}

func (c *compiler) inAnySegment(i int) bool {
	return slices.ContainsFunc(c.g.segments, func(s segment) bool { return s.from <= i && i < s.to })
}

// dropUnused lets go of what unused operations saved after operation i, the last to hold it.
func (c *compiler) dropUnused(i int) {
	for _, j := range c.unusedUntil[i] {
		for _, t := range c.g.ops[j].saved {
			c.unsave(c.slot[c.g.t[t].store])
		}
	}
}

// keepUnused gives what unused operations still hold to the outputs: it goes when those are reassigned.
func (c *compiler) keepUnused() {
	for _, j := range c.unusedUntil[len(c.g.ops)] {
		for _, t := range c.g.ops[j].saved {
			if s := c.slot[c.g.t[t].store]; !c.s[s].fixed && !slices.Contains(c.p.Outputs, s) {
				c.p.Outputs = append(c.p.Outputs, s)
			}
		}
	}
}

// saveTensor saves t for a call's backward; own: it is the operation's own result.
func (c *compiler) saveTensor(t Tensor, call int32, own bool) {
	v := &c.g.t[t]
	s := c.slot[v.store]
	if st := &c.s[s]; st.saves == 0 && call >= 0 && st.kind != KindBatch && st.kind != KindWeights && st.kind != KindBuffers {
		c.p.Calls[call].Saved += c.p.Bytes[s]
		c.p.Kept = append(c.p.Kept, Kept{By: call, Own: own, Shape: v.shape, DType: v.dtype, Bytes: c.p.Bytes[s]})
	}
	c.save(s)
}

// recompute runs a segment's forward again, this time for backward.
func (c *compiler) recompute(s *segment) {
	g := c.g
	for i := s.from; i < s.to; i++ {
		o := &g.ops[i]
		for t := o.out; t < o.out+Tensor(o.nOut); t++ {
			if g.made(t) {
				c.slot[g.t[t].store] = -1
			}
		}
	}
	c.inSegment = s
	for i := s.from; i < s.to; i++ {
		c.forward(i, true)
	}
	c.inSegment = nil
	// the recomputed result dies as the recomputation returns (use_reentrant=False, torch/utils/checkpoint.py)
	for t := s.tFrom; t < s.tTo; t++ {
		if x := &c.g.t[t]; (int(x.last) >= s.to || c.held[t]) && x.last >= 0 && x.leaf < 0 {
			c.unref(c.slot[x.store])
		}
	}
}

// endSegment lets go of the segment's inputs.
func (c *compiler) endSegment(s *segment) {
	for _, t := range s.in {
		c.unsave(c.slot[c.g.t[t].store])
	}
}

func (c *compiler) forward(i int, tape bool) {
	g := c.g
	o := &g.ops[i]
	c.step(o.name, o.call)
	for t := o.out; t < o.out+Tensor(o.nOut); t++ {
		st := g.t[t].store
		if c.slot[st] < 0 {
			c.slot[st] = c.alloc(g.st[st].bytes, g.st[st].kind)
		}
		c.s[c.slot[st]].refs++
	}
	if o.tmp > 0 {
		s := c.alloc(o.tmp, KindTemporaries)
		c.emit(EvFree, KindTemporaries, s)
	}
	if o.tape && tape {
		call := o.call
		if c.inSegment != nil { // not kept at the end of forward
			call = -1
		}
		for _, t := range o.saved {
			c.saveTensor(t, call, t >= o.out && t < o.out+Tensor(o.nOut))
		}
		for _, t := range o.in {
			if t != None && g.t[t].leaf >= 0 && g.t[t].needs && (c.unused == nil || !c.unused[i]) {
				if c.uses == nil {
					c.uses = make([]int32, len(g.t))
				}
				c.uses[t]++
			}
		}
	}
	for _, t := range c.drop[c.dropAt[i]:c.dropAt[i+1]] {
		if s := c.inSegment; s == nil || (t >= s.tFrom && t < s.tTo) {
			c.unref(c.slot[g.t[t].store])
		}
	}
}

func (c *compiler) bind(t Tensor, to []int32) []int32 {
	s := c.slot[c.g.t[t].store]
	if st := &c.s[s]; !st.fixed {
		st.fixed = true
		c.setKind(s, KindOutputs)
		c.p.OutputBytes += c.p.Bytes[s]
		return append(to, s)
	}
	return to
}

func (c *compiler) bindOutputs() {
	c.p.OutputAt = len(c.p.Events)
	for _, t := range c.g.outputs {
		c.p.Outputs = c.bind(t, c.p.Outputs)
	}
}

func (c *compiler) countSaved() {
	for s := range c.s {
		st := &c.s[s]
		if st.saves == 0 {
			continue
		}
		switch st.kind {
		case KindBatch:
			c.p.InputSaved = c.p.InputSaved || slices.Contains(c.p.Batch, int32(s))
		case KindWeights, KindBuffers:
		default:
			c.p.Saved += c.p.Bytes[s]
		}
	}
}

// backward walks the tape from the loss down, as the engine does by sequence number.
func (c *compiler) backward() {
	g := c.g
	c.step("ones_like", int32(len(g.calls)-1))
	// the caller of backward() holds the seed until the end
	seed := c.b.alloc(g.t[g.loss].shape, nil, g.t[g.loss].dtype)
	c.gbuf[g.loss] = c.b.alias(seed, nil, nil)
	defer c.b.free(seed)
	n := len(g.segments)
	for i := len(g.ops) - 1; i >= 0; i-- {
		if n > 0 && i == g.segments[n-1].to-1 {
			c.recompute(&g.segments[n-1])
		}
		if o := &g.ops[i]; o.tape && (c.unused == nil || !c.unused[i]) {
			c.node(o)
		}
		if n > 0 && i == g.segments[n-1].from {
			c.endSegment(&g.segments[n-1])
			n--
		}
	}
}

// node runs one operation's backward: incoming gradients go, then what it saved, then the
// results reach the next nodes, as evaluate_function of torch/csrc/autograd/engine.cpp does.
func (c *compiler) node(o *op) {
	g := c.g
	b := &c.b
	live := false
	for t := o.out; t < o.out+Tensor(o.nOut); t++ {
		live = live || c.gbuf[t] != noGrad
	}
	if live {
		b.o = o
		b.res = b.res[:0]
		for range o.in {
			b.res = append(b.res, noGrad)
		}
		c.step(o.name, o.call)
		o.back(b)
		b.validate()
		for t := o.out; t < o.out+Tensor(o.nOut); t++ {
			if c.gbuf[t] != noGrad {
				c.release(c.gbuf[t])
				c.gbuf[t] = noGrad
			}
		}
	}
	for _, t := range o.saved {
		c.unsave(c.slot[g.t[t].store])
	}
	for j, t := range o.in {
		if t == None || !g.t[t].needs {
			continue
		}
		if live && b.res[j] != noGrad {
			c.send(t, b.res[j])
		}
	}
	for _, t := range o.in { // leaves run at once: AccumulateGrad has the highest priority
		if t == None || !g.t[t].needs || g.t[t].leaf < 0 {
			continue
		}
		c.uses[t]--
		if c.uses[t] == 0 && c.gbuf[t] != noGrad {
			c.accumulate(t)
		}
	}
}

// send adds a gradient to the buffer of the node that made t (InputBuffer::add).
func (c *compiler) send(t Tensor, v gt) {
	old := c.gbuf[t]
	if old == noGrad {
		c.gbuf[t] = v
		return
	}
	a, n := c.gts[old], c.gts[v]
	if c.g.Rules.AccumulateInPlace {
		if c.s[a.slot].refs == 1 && denseNonOverlapping(a.shape, a.stride) {
			c.release(v)
			return
		}
		if c.s[n.slot].refs == 1 && denseNonOverlapping(n.shape, n.stride) {
			c.release(old)
			c.gbuf[t] = v
			return
		}
	}
	c.gbuf[t] = c.b.alloc(a.shape, c.g.likeStrides(a.shape, a.view, n.view), a.dtype)
	c.release(old)
	c.release(v)
}

// accumulate is AccumulateGrad: the gradient is stolen when nobody else holds the tensor and
// its layout is the parameter's, else copied (torch/csrc/autograd/functions/accumulate_grad.h).
func (c *compiler) accumulate(t Tensor) {
	x := &c.g.t[t]
	h := c.gbuf[t]
	v := c.gts[h]
	c.gbuf[t] = noGrad
	p := c.param[t]
	c.p.Params[p].Trained = true
	gs := c.p.Params[p].GradSlot
	steal := v.uses == 1
	for i := range x.shape {
		if x.shape[i] != 1 && v.stride[i] != x.stride[i] {
			steal = false
		}
	}
	switch st := &c.s[v.slot]; {
	case !steal:
		c.p.Events = append(c.p.Events, Event{Op: EvGradCopy, Slot: gs, Param: p})
		c.release(h)
	case st.refs == 1:
		st.refs = 0
		c.p.Events = append(c.p.Events, Event{Op: EvGrad, Slot: v.slot, Param: p})
	default: // a view of a storage that others still read; the gradient keeps all of it
		st.gradient = true
		c.p.Events = append(c.p.Events, Event{Op: EvGradShared, Slot: v.slot, Param: p})
	}
}
