package calc

import (
	"vrametre/calc/cuda"
	"vrametre/calc/torch"
	"vrametre/calc/walk"
)

func (q *query) timeline(res *Result, w *walk.Walk, p *torch.Program) {
	res.Timeline, res.Tensors = make([]Point, 0, len(w.Timeline)), make([]Tensor, 0, len(w.Lives))
	for _, pt := range w.Timeline {
		v := Point{At: "<optimizer>", Phase: PhaseStep, Live: pt.Live, Alloc: pt.Alloc, Free: pt.Free}
		if pt.Step >= 0 {
			v.At = p.At(pt.Step)
			v.Phase = [...]string{PhaseForward, PhaseBackward}[pt.Phase]
		}
		res.Timeline = append(res.Timeline, v)
	}
	for _, l := range w.Lives {
		res.Tensors = append(res.Tensors, Tensor{At: owner(p, l.Owner), Kind: kindParts[l.Kind].kind, Bytes: l.Bytes, Born: int(l.Born), Died: int(l.Died)})
	}
}

// owner is the module path of the operation that made a storage.
func owner(p *torch.Program, o walk.Owner) string {
	if o.Step < 0 {
		return "<optimizer>"
	}
	return p.At(o.Step)
}

// blocks is the allocator's map at the peak: the walk again, up to there.
func (q *query) blocks(res *Result, w *walk.Walk, p *torch.Program) {
	cfg := q.walkConfig()
	cfg.Extra, cfg.Timeline, cfg.StopAfter = q.beside(p, q.Batch), false, w.PeakAllocs
	a := cuda.New(q.allocator(0))
	at := q.walk(p, cfg, a)
	for _, s := range a.Segments() {
		seg := Segment{Bytes: s.Size, Small: s.Small}
		for _, b := range s.Blocks {
			v := Block{Bytes: b.Size}
			if b.Live {
				o := at.Owners[b.ID]
				v.Requested, v.Kind, v.At = b.Requested, kindParts[o.Kind].kind, owner(p, o)
			}
			seg.Blocks = append(seg.Blocks, v)
		}
		res.Segments = append(res.Segments, seg)
	}
}
