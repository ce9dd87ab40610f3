package trace

import (
	"slices"

	"vrametre/calc/fault"
	"vrametre/calc/read"
)

// products save each factor for the gradient of the other; the first operand of those in sums is added, and not saved.
var (
	products = []string{"mm", "bmm", "mv", "mul", "matmul", "linear", "addmm", "baddbmm", "addbmm", "addmv"}
	sums     = []string{"addmm", "baddbmm", "addbmm", "addmv"}
)

// Freeze is the trace as it would be with the parameters of the modules at paths frozen (requires_grad=False). Which
// operations still need a gradient follows from what each reads; what only others saved is not kept, and of the backward
// only what leads to a gradient that remains is run. Operations in place leave no mark in a trace, so what they alone
// hold or need is not seen: measured, a frozen beginning is exact, and elsewhere peaks come within some hundredths.
func (t *Trace) Freeze(paths []string) (*Trace, error) {
	still := read.Listed(paths)
	out := *t
	out.params = slices.Clone(t.params)
	left := false
	for i := range out.params {
		if p := &out.params[i]; still.Holds(p.name) {
			p.trainable = false
		}
		left = left || out.params[i].trainable
	}
	for _, m := range t.modules {
		still.Holds(m.path)
	}
	if err := still.Unknown("frozen"); err != nil {
		return nil, err
	}
	if !left {
		return nil, fault.New("nothing-trainable", "frozen")
	}
	f := &freezer{t: &out, old: t.train}
	f.forward()
	f.backward()
	out.train = f.rewrite()
	out.meanSaved = nil
	for _, k := range t.meanSaved {
		if int(k) < len(f.moved) && f.moved[k] >= 0 && f.kept[k] {
			out.meanSaved = append(out.meanSaved, f.moved[k])
		}
	}
	return &out, nil
}

// freezer rewrites the events of a training step.
type freezer struct {
	t   *Trace
	old *stream
	// Of each slot: a gradient flows to it; autograd keeps it after all; it is there at all; its new number, -1 without.
	needs, kept, made []bool
	moved             []int32
	// Of each event: it is left out. Of an event: slots that go before it.
	skip  []bool
	frees map[int][]int32
	// Of each module call: it has operations in the forward, and one that needs a gradient.
	ran, live []bool
	from      int // the index of the event evBackward
}

// step is an operation of the old events with the slots it makes.
type step struct {
	at    int
	call  int32
	reads []int32
	makes []int32
}

// forward works out what needs a gradient and what is kept for it.
func (f *freezer) forward() {
	s := f.old
	f.skip = make([]bool, len(s.events))
	f.ran, f.live = make([]bool, len(s.calls)), make([]bool, len(s.calls))
	f.frees = map[int][]int32{}
	outside := len(s.resident) + len(s.batch)
	f.needs = make([]bool, outside, outside+len(s.events)/3)
	for _, p := range f.t.params {
		f.needs[p.slot] = f.needs[p.slot] || p.trainable
	}
	type save struct {
		slot int32
		at   int
	}
	var waiting []save
	op, reads, grad, first := "", []int32(nil), false, int32(outside)
	saved := map[int32]bool{}
	keep := map[int32]bool{}
	decide := func(w save, op string, reads []int32, grad, own bool) {
		saved[w.slot] = true
		if grad && (own || f.keeps(op, reads, w.slot)) {
			keep[w.slot] = true
		} else {
			f.skip[w.at] = true
		}
	}
	last := map[int32]int{} // the last operation that reads or makes a slot
	ends := map[int32]int{} // where a slot goes
	for i := 0; i < len(s.events); {
		v, after := s.next(i)
		switch kind := s.events[i]; {
		case kind == evFree:
			ends[v[0]] = i
		case kind == evAlloc:
			f.needs = append(f.needs, f.from == 0 && grad)
			if f.from == 0 {
				last[int32(len(f.needs)-1)] = i
			}
		case kind == evCopy:
			f.needs = append(f.needs, false)
		case f.from > 0:
		case kind == evSave:
			waiting = append(waiting, save{v[0], i})
		case kind == evStep || kind == evBackward:
			var now []int32
			if kind == evStep {
				now = v[3:]
			}
			for _, w := range waiting {
				if w.slot >= first && (slices.Contains(ownResults, op) || !slices.Contains(now, w.slot)) {
					decide(w, op, reads, grad, true)
				} else {
					decide(w, f.nameOf(kind, v), now, f.any(now), false)
				}
			}
			waiting = waiting[:0]
			if kind == evBackward {
				f.from = i
				break
			}
			op, reads, grad, first = f.t.ops[v[0]], now, f.any(now), int32(len(f.needs))
			f.ran[v[1]] = true
			f.live[v[1]] = f.live[v[1]] || grad
			for _, k := range now {
				last[k] = i
			}
		}
		i = after
	}
	f.kept = make([]bool, len(f.needs))
	for k := range keep {
		f.kept[k] = true
	}
	// what is not kept after all goes when its last use in the forward is over
	held := map[int32]bool{}
	for _, k := range slices.Concat(s.outputs, s.loss) {
		held[k] = true
	}
	for k := range saved {
		end, goes := ends[k]
		if keep[k] || held[k] || int(k) < outside || !goes || end < f.from {
			continue
		}
		f.skip[end] = true
		at := last[k]
		for { // past what that operation makes
			_, at = s.next(at)
			if kind := s.events[at]; kind != evAlloc && kind != evSave {
				break
			}
		}
		f.frees[at] = append(f.frees[at], k)
	}
	for _, list := range f.frees {
		slices.Sort(list)
	}
}

func (f *freezer) nameOf(kind int32, v []int32) string {
	if kind != evStep {
		return ""
	}
	return f.t.ops[v[0]]
}

func (f *freezer) any(slots []int32) bool {
	return slices.ContainsFunc(slots, func(k int32) bool { return f.needs[k] })
}

// keeps says whether an operation whose result needs a gradient keeps slot k, which it reads.
func (f *freezer) keeps(op string, reads []int32, k int32) bool {
	if !slices.Contains(products, op) {
		return true
	}
	factors := reads
	if slices.Contains(sums, op) && len(factors) > 2 {
		factors = factors[1:]
	}
	others, own := false, 0
	for _, r := range factors[:min(len(factors), 2)] {
		if r == k {
			own++
		} else {
			others = others || f.needs[r]
		}
	}
	return others || own > 1 && f.needs[k] || own == 0
}

// backward leaves out what leads to no gradient that remains.
func (f *freezer) backward() {
	s := f.old
	var steps []step
	f.made = make([]bool, len(f.needs))
	wanted := make([]bool, len(f.needs)) // of each slot: something that is run reads it, or it is a gradient
	read := make([]bool, len(f.needs))
	slot := int32(len(s.resident) + len(s.batch))
	gradients := make([]bool, len(f.needs))
	for i := 0; i < len(s.events); {
		v, after := s.next(i)
		behind := f.from < i
		switch s.events[i] {
		case evStep:
			if behind {
				steps = append(steps, step{at: i, call: v[1], reads: v[3:]})
				for _, k := range v[3:] {
					read[k] = true
				}
			}
		case evAlloc:
			if behind && len(steps) > 0 {
				st := &steps[len(steps)-1]
				st.makes = append(st.makes, slot)
			} else {
				f.made[slot] = true
			}
			slot++
		case evCopy:
			f.made[slot] = f.t.params[v[0]].trainable
			f.skip[i] = !f.made[slot]
			slot++
		case evGrad:
			gradients[v[1]] = true
			if f.skip[i] = !f.t.params[v[0]].trainable; !f.skip[i] {
				wanted[v[1]] = true
			}
		}
		i = after
	}
	for _, st := range slices.Backward(steps) {
		dead := f.ran[st.call] && !f.live[st.call] && f.t.modules[s.calls[st.call].module].leaf
		run := len(st.makes) == 0
		for _, k := range st.makes {
			if !read[k] && !gradients[k] { // an operation in place, which leaves no mark, has used it
				wanted[k] = true
			}
			run = run || wanted[k]
		}
		if dead || !run {
			f.skip[st.at] = true
			continue
		}
		for _, k := range st.reads {
			wanted[k] = true
		}
		for _, k := range st.makes {
			f.made[k] = wanted[k]
		}
	}
}

// rewrite writes the events that are left, with the slots numbered anew.
func (f *freezer) rewrite() *stream {
	s := f.old
	out := *s
	out.events = make([]int32, 0, len(s.events))
	f.moved = make([]int32, len(f.needs))
	outside := int32(len(s.resident) + len(s.batch))
	for k := range f.moved {
		f.moved[k] = -1
		if int32(k) < outside {
			f.moved[k] = int32(k)
		}
	}
	slot, next := outside, outside
	for i := 0; i < len(s.events); {
		v, after := s.next(i)
		for _, k := range f.frees[i] {
			out.events = append(out.events, evFree, f.moved[k])
		}
		kind := s.events[i]
		switch kind {
		case evStep:
			if f.skip[i] {
				break
			}
			out.events = append(out.events, evStep, v[0], v[1], 0)
			n := len(out.events)
			for _, k := range v[3:] {
				if f.moved[k] >= 0 {
					out.events = append(out.events, f.moved[k])
				}
			}
			out.events[n-1] = int32(len(out.events) - n)
		case evAlloc, evCopy:
			if f.made[slot] {
				out.events = append(out.events, kind)
				out.events = append(out.events, v...)
				f.moved[slot] = next
				next++
			}
			slot++
		case evFree, evSave:
			if !f.skip[i] && f.moved[v[0]] >= 0 {
				out.events = append(out.events, kind, f.moved[v[0]])
				out.events = append(out.events, v[1:]...)
			}
		case evGrad:
			switch k := f.moved[v[1]]; {
			case k < 0:
			case f.skip[i]: // something else has read it
				out.events = append(out.events, evFree, k)
			default:
				out.events = append(out.events, evGrad, v[0], k)
			}
		default:
			out.events = append(out.events, kind)
		}
		i = after
	}
	move := func(list []int32) (to []int32) {
		for _, k := range list {
			if f.moved[k] >= 0 {
				to = append(to, f.moved[k])
			}
		}
		return to
	}
	out.outputs, out.loss = move(s.outputs), move(s.loss)
	return &out
}
