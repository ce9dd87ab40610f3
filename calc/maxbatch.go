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
	// base and step are the programs at batches b and 2b that the others are scaled from; nil where even two samples are too many.
	base, step *torch.Program
	b          int64
	alloc      *cuda.Allocator
	cfg        walk.Config
	compiled   int
}

// maxBatch is the largest batch for which the allocator simulation succeeds within the card's capacity; 0: none.
func (q *query) maxBatch(n *network) int64 {
	if q.budget.Usable <= 0 {
		return 0
	}
	return q.search(n).run()
}

// searchBatch is where the search compiles, whatever batch the request has: the answer must not depend on it. Inputs so
// large that two such batches cannot be counted are searched from a smaller one.
const searchBatch = 8

func (q *query) search(n *network) *search {
	s := &search{q: q, n: n, cfg: q.walkConfig(), alloc: cuda.New(q.allocator(q.budget.Usable))}
	s.cfg.Timeline = false
	for s.b = searchBatch; s.b > 0; s.b /= 2 {
		base, err := s.program(s.b)
		if err != nil {
			continue
		}
		if step, err := s.program(2 * s.b); err == nil {
			s.base, s.step = base, step
			break
		}
	}
	return s
}

func (s *search) run() int64 { return s.settle(s.solve()) }

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
	if s.base == nil || len(s.base.Bytes) != len(s.step.Bytes) || !slices.Equal(s.base.Events, s.step.Events) {
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
	if !s.q.work.goesOn() {
		return false
	}
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
		if !s.q.work.goesOn() {
			return false
		}
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

// settle compiles the answer and its neighbour: batch 1 and kernels that change with the size are not affine. A batch that
// the network refuses, as a batch norm may refuse one sample, does not fit.
func (s *search) settle(best int64) int64 {
	ok := func(b int64) bool {
		p, err := s.program(b)
		return err == nil && s.fits(p, b)
	}
	for best > 0 && !ok(best) {
		best--
	}
	for best < MaxBatch && ok(best+1) {
		best++
	}
	return best
}
