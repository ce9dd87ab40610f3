package calc

import (
	"slices"

	"vrametre/calc/cuda"
	"vrametre/calc/torch"
	"vrametre/calc/walk"
)

// search finds the largest batch that fits. Sizes are affine in the batch once the order of
// events no longer depends on it, so two compiled batches give every other one; what is found is then
// checked by compiling it and the next.
type search struct {
	q *query
	n *network
	// base and step are the programs at batches b and 2b that the others are scaled from.
	base, step *torch.Program
	b          int64
	alloc      *cuda.Allocator
	cfg        walk.Config
	compiled   int
}

// maxBatch is the largest batch for which the allocator simulation succeeds within the card's capacity; 0: none.
func (q *query) maxBatch(n *network) (int64, error) {
	if q.budget.Usable <= 0 {
		return 0, nil
	}
	s, err := q.search(n)
	if err != nil {
		return 0, err
	}
	return s.run()
}

func (q *query) search(n *network) (*search, error) {
	s := &search{q: q, n: n, b: min(max(q.Batch, 2), MaxBatch/2), cfg: q.walkConfig(), alloc: cuda.New(q.allocator(q.budget.Usable))}
	s.cfg.Timeline = false
	var err error
	if s.base, err = s.program(s.b); err != nil {
		return nil, err
	}
	s.step, err = s.program(2 * s.b)
	return s, err
}

func (s *search) run() (int64, error) { return s.settle(s.solve()) }

func (s *search) program(batch int64) (*torch.Program, error) {
	s.compiled++
	r, err := s.q.compile(s.n, batch)
	if err != nil {
		return nil, err
	}
	return r.p, nil
}

// at is the program at another batch, scaled; false when the two programs differ in more than sizes.
func (s *search) at(batch int64) (*torch.Program, bool) {
	if len(s.base.Bytes) != len(s.step.Bytes) || !slices.Equal(s.base.Events, s.step.Events) {
		return nil, false
	}
	p := *s.base
	p.Bytes = make([]int64, len(s.base.Bytes))
	for i, v := range s.base.Bytes {
		d := s.step.Bytes[i] - v // what b more samples add
		p.Bytes[i] = v + d/s.b*(batch-s.b) + d%s.b*(batch-s.b)/s.b
	}
	return &p, true
}

func (s *search) fits(p *torch.Program, batch int64) bool {
	s.alloc.Reset()
	s.cfg.Extra = s.q.beside(p, batch)
	return !walk.Run(p, s.cfg, s.alloc).OutOfMemory
}

// bound is a batch that cannot fit: live bytes are convex in the batch, so the line through two of them is below.
func (s *search) bound() int64 {
	none := s.cfg
	none.Iterations = 2
	none.Extra = s.q.beside(s.base, s.b)
	l1 := walk.Run(s.base, none, nil).Peak
	none.Extra = s.q.beside(s.step, 2*s.b)
	l2 := walk.Run(s.step, none, nil).Peak
	slope := l2 - l1
	if slope <= 0 {
		return MaxBatch + 1
	}
	room := s.q.budget.Usable - l1
	more := room / slope * s.b
	if r := room % slope; r > 0 {
		more += int64(float64(r) / float64(slope) * float64(s.b))
	}
	if room < 0 { // below b the line may be above: start from there
		return s.b
	}
	return min(s.b+more, MaxBatch) + 1
}

// solve searches among scaled programs.
func (s *search) solve() int64 {
	lo, hi := int64(0), s.bound()
	probe := hi - 1 - hi/32
	for hi-lo > 1 {
		probe = min(max(probe, lo+1), hi-1)
		p, ok := s.at(probe)
		if !ok {
			var err error
			if p, err = s.program(probe); err != nil {
				hi = probe
				continue
			}
		}
		if s.fits(p, probe) {
			lo = probe
		} else {
			hi = probe
		}
		if lo == 0 {
			probe = hi - hi/8 - 1
		} else {
			probe = lo + (hi-lo)/2
		}
	}
	return lo
}

// settle compiles the answer and its neighbour: batch 1 and kernels that change with the size are not affine.
func (s *search) settle(best int64) (int64, error) {
	ok := func(b int64) (bool, error) {
		p, err := s.program(b)
		if err != nil {
			return false, err
		}
		return s.fits(p, b), nil
	}
	for best > 0 {
		if fits, err := ok(best); err != nil || fits {
			if err != nil {
				return 0, err
			}
			break
		}
		best--
	}
	for best < MaxBatch {
		fits, err := ok(best + 1)
		if err != nil || !fits {
			break
		}
		best++
	}
	return best, nil
}
