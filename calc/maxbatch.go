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

// searchBatch is where the search compiles, whatever batch the request has: the answer must not depend on it.
const searchBatch = 8

func (q *query) search(n *network) (*search, error) {
	s := &search{q: q, n: n, b: searchBatch, cfg: q.walkConfig(), alloc: cuda.New(q.allocator(q.budget.Usable))}
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

// at is the program at another batch: scaled, or compiled where the two programs differ in more than sizes.
func (s *search) at(batch int64) (*torch.Program, error) {
	if len(s.base.Bytes) != len(s.step.Bytes) || !slices.Equal(s.base.Events, s.step.Events) {
		return s.program(batch)
	}
	p := *s.base
	p.Bytes = make([]int64, len(s.base.Bytes))
	for i, v := range s.base.Bytes {
		d := s.step.Bytes[i] - v // what b more samples add
		p.Bytes[i] = v + d/s.b*(batch-s.b) + d%s.b*(batch-s.b)/s.b
	}
	return &p, countable(&p, batch)
}

func (s *search) fits(p *torch.Program, batch int64) bool {
	s.alloc.Reset()
	s.cfg.Extra = s.q.beside(p, batch)
	return !s.q.walk(p, s.cfg, s.alloc).OutOfMemory
}

// bisect is the last of lo..hi-1 for which ok holds, given that it holds for lo (or lo is 0) and not for hi.
func (s *search) bisect(lo, hi int64, ok func(*torch.Program, int64) bool) int64 {
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if p, err := s.at(mid); err == nil && ok(p, mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// solve searches among scaled programs. Live bytes alone give the batch above which nothing can fit; from there it goes
// down by parts of it, since larger batches sometimes fit where a smaller one leaves worse gaps, and then halves.
func (s *search) solve() int64 {
	cfg := s.cfg
	cfg.Iterations = min(cfg.Iterations, 2)
	live := func(p *torch.Program, batch int64) bool {
		cfg.Extra = s.q.beside(p, batch)
		return s.q.walk(p, cfg, nil).Peak <= s.q.budget.Usable
	}
	hi := int64(1)
	for hi <= MaxBatch {
		if p, err := s.at(hi); err != nil || !live(p, hi) {
			break
		}
		hi *= 2
	}
	top := s.bisect(hi/2, min(hi, MaxBatch+1), live)
	part := top/32 + 1
	hi = top + 1
	for probe := top; probe > 0; probe = min(probe, hi-1) - part {
		if p, err := s.at(probe); err == nil && s.fits(p, probe) {
			return s.bisect(probe, hi, s.fits)
		}
		hi = probe
	}
	return s.bisect(0, hi, s.fits)
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
