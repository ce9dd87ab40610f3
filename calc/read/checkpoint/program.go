package checkpoint

import (
	"slices"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/read"
	"vrametre/calc/torch"
)

// Program is what is known of a step without the network: weights, buffers, and in training the gradients, which an
// optimizer's state follows. There are no activations in it. Weights in a type that cannot be trained take
// DType; others keep their own where own is set. Those of the modules at the paths in frozen are not trained.
func (f *File) Program(train, own bool, d torch.DType, frozen []string) (*torch.Program, error) {
	still := read.Listed(frozen)
	p := &torch.Program{Steps: []torch.Step{{Name: "weights", Call: -1}}, Events: []torch.Event{{Op: torch.EvStep}}}
	n := len(f.Tensors) // at most as many parameters: what is known to grow is made once
	p.Bytes, p.Params, p.Resident = make([]int64, 0, 2*n), make([]torch.Param, 0, n), make([]torch.Resident, 0, n)
	if train {
		p.Steps, p.Events = slices.Grow(p.Steps, n), slices.Grow(p.Events, 3*n)
	}
	total := int64(0)
	pack := f.packing()
	calls := map[string]int32{}
	slot := func(bytes int64) int32 {
		p.Bytes = append(p.Bytes, bytes)
		return int32(len(p.Bytes) - 1)
	}
	by := make([]int32, 0, n)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if t.Shared {
			continue
		}
		n, role := pack.weights(t)
		if role != parameter {
			if t.Bytes > maxTotal>>16 {
				return nil, fault.New("file-size", Short(t.Name), "elements", n)
			}
			p.Resident = append(p.Resident, torch.Resident{Slot: slot(t.Bytes), Kind: torch.KindBuffers})
			continue
		}
		path := t.Name[:max(strings.LastIndexByte(t.Name, '.'), 0)]
		c, ok := calls[path]
		if !ok && len(calls) >= read.MaxNodes { // more modules than are shown: the first one stands for the rest
			c, ok = 0, true
		}
		if !ok {
			c = int32(len(p.Calls))
			calls[path] = c
			p.Calls = append(p.Calls, torch.Call{Path: path, Type: classOf(t.Name[strings.LastIndexByte(t.Name, '.')+1:], t), Leaf: true, First: true})
		}
		p.Calls[c].Params = add(p.Calls[c].Params, n)
		learns := !still.Holds(t.Name) && train
		q := torch.Param{Shape: t.Shape, DType: d, Trainable: learns, Trained: learns}
		if n != t.Elements() {
			q.Shape = []int64{n}
		}
		if n > maxTotal/8 {
			return nil, fault.New("file-size", Short(t.Name), "elements", n)
		}
		bytes := n * d.Size()
		if k, known := torch.ParseDType(t.DType); own && (!train || (known && k.Floating())) {
			bytes = t.Bytes
			if known {
				q.DType = k
			}
		}
		if total = add(total, bytes); total > maxTotal {
			return nil, fault.New("file-size", Short(t.Name), "elements", n)
		}
		q.Slot = slot(bytes)
		p.Resident = append(p.Resident, torch.Resident{Slot: q.Slot, Kind: torch.KindWeights})
		p.Params = append(p.Params, q)
		by = append(by, c)
	}
	if err := still.Unknown("frozen"); err != nil {
		return nil, err
	}
	if train && len(p.Params) > 0 && !slices.ContainsFunc(p.Params, func(q torch.Param) bool { return q.Trainable }) {
		return nil, fault.New("nothing-trainable", "frozen")
	}
	for i := range p.Params {
		q := &p.Params[i]
		q.GradSlot = slot(p.Bytes[q.Slot])
	}
	p.OutputAt, p.LossAt, p.BackwardAt = len(p.Events), len(p.Events), len(p.Events)
	if train {
		for i, q := range slices.Backward(p.Params) {
			if !q.Trainable {
				continue
			}
			p.Steps = append(p.Steps, torch.Step{Name: "gradient", Call: by[i]})
			p.Events = append(p.Events, torch.Event{Op: torch.EvStep, Slot: int32(len(p.Steps) - 1)},
				torch.Event{Op: torch.EvAlloc, Kind: torch.KindGradients, Slot: q.GradSlot}, torch.Event{Op: torch.EvGrad, Slot: q.GradSlot, Param: int32(i)})
		}
	}
	return p, nil
}

// maxTotal bounds the bytes of all tensors, so that no sum of a step overflows.
const maxTotal = 1 << 56
