package trace

import (
	"strconv"

	"vrametre/calc/fault"
)

// state of a slot while the events are checked.
type state uint8

const (
	absent state = iota
	outside
	live
	gradient
	gone
)

// check walks the events once, so that making a Program of them cannot fail except on a size.
func (t *Trace) check() error {
	if t.train == nil {
		return fault.New("trace-key", "train", "key", "train")
	}
	for _, in := range t.Inputs {
		if int(in.dtype) >= len(t.dtypes) {
			return fault.New("json-range", "inputs", "value", in.dtype, "low", 0, "high", len(t.dtypes)-1)
		}
	}
	for i, p := range t.params {
		if int(p.dtype) >= len(t.dtypes) || !t.holds(t.train, &p) || (t.infer != nil && !t.holds(t.infer, &p)) {
			return fault.New("trace-parameter", at("parameters", i))
		}
	}
	for _, s := range []struct {
		name  string
		s     *stream
		train bool
	}{{"train", t.train, true}, {"infer", t.infer, false}} {
		if s.s != nil {
			if err := t.checkStream(s.name, s.s, s.train); err != nil {
				return err
			}
		}
	}
	return nil
}

// holds says whether the storage a parameter names is there, whatever the batch, and large enough for it.
func (t *Trace) holds(s *stream, p *param) bool {
	if int(p.slot) >= len(s.resident) || !s.resident[p.slot].flag {
		return false
	}
	k := s.resident[p.slot].size
	if int(k) >= len(t.sizes) || t.sizes[k].b != 0 {
		return false
	}
	n := int64(1)
	if d := t.dtypes[p.dtype]; d.known {
		n = d.torch.Size()
	}
	for _, d := range p.shape {
		if d > 0 && n > t.sizes[k].a/d {
			return false
		}
		n *= d
	}
	return n <= t.sizes[k].a
}

func at(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

// operands is how many numbers follow each kind of event; a step has as many more as it reads.
var operands = [...]int{evStep: 3, evAlloc: 2, evFree: 1, evSave: 2, evGrad: 2, evCopy: 3, evOutput: 0, evLoss: 0, evBackward: 0}

// next gives the operands of the event at i and the index of the one after it; nil when it is cut short or of an unknown kind.
func (s *stream) next(i int) ([]int32, int) {
	kind := s.events[i]
	if kind < 0 || int(kind) >= len(operands) {
		return nil, 0
	}
	n := operands[kind]
	if i+1+n > len(s.events) {
		return nil, 0
	}
	if kind == evStep {
		n += int(s.events[i+3])
		if n > len(s.events)-i-1 {
			return nil, 0
		}
	}
	return s.events[i+1 : i+1+n], i + 1 + n
}

func (t *Trace) checkStream(name string, s *stream, train bool) error {
	bad := func(i int, code string) error { return fault.New(code, at(name+".events", i)) }
	for _, c := range s.calls {
		if int(c.module) >= len(t.modules) {
			return fault.New("json-range", name+".calls", "value", c.module, "low", 0, "high", len(t.modules)-1)
		}
	}
	slots := make([]state, 0, len(s.resident)+len(s.batch)+len(s.events)/4)
	for k, list := range [][]block{s.resident, s.batch} {
		for i, b := range list {
			if int(b.size) >= len(t.sizes) || int(b.dtype) >= len(t.dtypes) {
				return fault.New("json-range", at(name+[...]string{".resident", ".batch"}[k], i), "value", b.size, "low", 0, "high", len(t.sizes)-1)
			}
			slots = append(slots, outside)
		}
	}
	marks := [3]int{} // how often model, loss and backward are marked
	trained := make([]bool, len(t.params))
	for i := 0; i < len(s.events); {
		v, after := s.next(i)
		if v == nil && after == 0 {
			return bad(i, "trace-event")
		}
		ok := true
		exists := func(k int32) bool { return int(k) < len(slots) }
		switch kind := s.events[i]; kind {
		case evStep:
			ok = int(v[0]) < len(t.ops) && int(v[1]) < len(s.calls)
			for _, r := range v[3:] {
				ok = ok && exists(r)
			}
		case evAlloc:
			ok = int(v[0]) < len(t.sizes) && int(v[1]) < len(t.dtypes)
			slots = append(slots, live)
		case evFree:
			if ok = exists(v[0]) && slots[v[0]] == live; ok {
				slots[v[0]] = gone
			}
		case evSave:
			ok = exists(v[0]) && slots[v[0]] != gone && int(v[1]) < len(s.calls)
		case evGrad:
			if ok = int(v[0]) < len(trained) && !trained[v[0]] && exists(v[1]) && slots[v[1]] == live && marks[2] > 0; ok {
				slots[v[1]], trained[v[0]] = gradient, true
			}
		case evCopy:
			if ok = int(v[0]) < len(trained) && !trained[v[0]] && int(v[1]) < len(t.sizes) && int(v[2]) < len(t.dtypes) && marks[2] > 0; ok {
				slots, trained[v[0]] = append(slots, gradient), true
			}
		default:
			m := kind - evOutput
			marks[m]++
			ok = marks[m] == 1 && (m == 0 || marks[m-1] == 1)
		}
		if !ok {
			return bad(i, "trace-event")
		}
		i = after
	}
	if want := map[bool][3]int{true: {1, 1, 1}, false: {1, 0, 0}}[train]; marks != want {
		return fault.New("trace-marks", name+".events")
	}
	for key, list := range map[string][]int32{".outputs": s.outputs, ".loss": s.loss} {
		for i, k := range list {
			if int(k) >= len(slots) || slots[k] == gone || slots[k] == gradient {
				return fault.New("trace-output", at(name+key, i))
			}
		}
	}
	return nil
}
