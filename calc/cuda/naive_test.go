package cuda

import (
	"math"
	"math/rand/v2"
	"testing"
)

// naive says the allocator's rules a second time, as flat lists searched from
// end to end, to be compared with Allocator. It shares no code with it.
type naive struct {
	c    Config
	segs []*naiveSeg
	top  int64

	roomIn *naiveSeg // where mapFor made room
	roomAt int
}

type naiveSeg struct {
	base   int64
	small  bool
	pieces []piece // in address order
}

type piece struct {
	size int64
	what int // pieceFree, pieceUnmapped, else a live id
}

const (
	pieceFree     = -1
	pieceUnmapped = -2
)

func (n *naive) reserved() (sum int64) {
	for _, s := range n.segs {
		for _, p := range s.pieces {
			if p.what != pieceUnmapped {
				sum += p.size
			}
		}
	}
	return
}

func (n *naive) allocated() (sum int64) {
	for _, s := range n.segs {
		for _, p := range s.pieces {
			if p.what >= 0 {
				sum += p.size
			}
		}
	}
	return
}

func (s *naiveSeg) tidy() {
	var out []piece
	for _, p := range s.pieces {
		if k := len(out); k > 0 && p.what < 0 && out[k-1].what == p.what {
			out[k-1].size += p.size
		} else if p.size > 0 {
			out = append(out, p)
		}
	}
	s.pieces = out
}

func ceil(n, to int64) int64 { return (n + to - 1) / to * to }

func (n *naive) fits(more int64) bool {
	return n.c.Capacity == 0 || n.reserved()+more <= n.c.Capacity
}

// best returns the segment and piece of the smallest free block of at least
// size, the lowest address among equals.
func (n *naive) best(small bool, size int64) (*naiveSeg, int) {
	var in *naiveSeg
	at, best := -1, int64(math.MaxInt64)
	for _, s := range n.segs { // segments are in address order
		if s.small != small {
			continue
		}
		for i, p := range s.pieces {
			if p.what == pieceFree && p.size >= size && p.size < best {
				in, at, best = s, i, p.size
			}
		}
	}
	return in, at
}

// bestExpandable starts at best and walks up the blocks in order of size and
// address while the next one could grow to less.
func (n *naive) bestExpandable(small bool, size int64) (*naiveSeg, int) {
	type cand struct {
		s        *naiveSeg
		i        int
		addr     int64
		size, to int64
	}
	var all []cand
	for _, s := range n.segs {
		if s.small != small {
			continue
		}
		addr := s.base
		for i, p := range s.pieces {
			if p.what == pieceFree && p.size >= size {
				to := p.size
				if i+1 < len(s.pieces) && s.pieces[i+1].what == pieceUnmapped {
					to += s.pieces[i+1].size
				}
				all = append(all, cand{s, i, addr, p.size, to})
			}
			addr += p.size
		}
	}
	if len(all) == 0 {
		return nil, -1
	}
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			if all[j].size < all[i].size || all[j].size == all[i].size && all[j].addr < all[i].addr {
				all[i], all[j] = all[j], all[i]
			}
		}
	}
	k := 0
	for k+1 < len(all) && all[k+1].to < all[k].to {
		k++
	}
	return all[k].s, all[k].i
}

func (n *naive) take(s *naiveSeg, i, id int, size int64) {
	limit := int64(math.MaxInt64)
	if n.c.MaxSplitSize > 0 {
		limit = n.c.MaxSplitSize
	}
	rest := s.pieces[i].size - size
	cut := rest > 1<<20 && size < limit
	if s.small || n.c.ExpandableSegments {
		cut = rest >= 512
	}
	if !cut {
		s.pieces[i].what = id
		return
	}
	tail := append([]piece{{size, id}, {rest, pieceFree}}, s.pieces[i+1:]...)
	s.pieces = append(s.pieces[:i:i], tail...)
}

func (n *naive) alloc(id int, bytes int64) bool {
	if bytes == 0 {
		return true
	}
	size := max(512, ceil(bytes, 512))
	small := size <= 1<<20
	var s *naiveSeg
	var i int
	if n.c.ExpandableSegments {
		s, i = n.bestExpandable(small, size)
	} else {
		s, i = n.best(small, size)
	}
	if m := n.c.MaxSplitSize; s != nil && m > 0 {
		have := s.pieces[i].size
		if size < m && have >= m || size >= m && have >= size+(20<<20) {
			s = nil
		}
	}
	if s == nil {
		ok := n.fresh(small, size)
		if !ok && n.releaseSome(small, size) {
			ok = n.fresh(small, size)
		}
		if !ok {
			n.flush()
			ok = n.fresh(small, size)
		}
		if !ok {
			return false
		}
		if n.c.ExpandableSegments {
			s, i = n.roomIn, n.roomAt
		} else {
			s, i = n.segs[len(n.segs)-1], 0
		}
	}
	n.take(s, i, id, size)
	return true
}

func (n *naive) fresh(small bool, size int64) bool {
	if n.c.ExpandableSegments {
		return n.mapFor(small, size)
	}
	z := int64(2 << 20)
	if !small {
		z = 20 << 20
		if size >= 10<<20 {
			z = ceil(size, 2<<20)
		}
	}
	if !n.fits(z) {
		return false
	}
	n.segs = append(n.segs, &naiveSeg{n.top, small, []piece{{z, pieceFree}}})
	n.top += z
	return true
}

// mapFor maps pages, lowest address first, so that size fits.
func (n *naive) mapFor(small bool, size int64) bool {
	page := int64(20 << 20)
	if small {
		page = 2 << 20
	}
	find := func() (*naiveSeg, int) {
		for _, s := range n.segs {
			if s.small != small {
				continue
			}
			for i := range s.pieces {
				if s.pieces[i].what != pieceUnmapped {
					continue
				}
				j := i
				if j > 0 && s.pieces[j-1].what == pieceFree {
					j--
				}
				var room int64
				for k := j; k < len(s.pieces) && s.pieces[k].what < 0; k++ {
					room += s.pieces[k].size
				}
				if room >= size {
					return s, j
				}
			}
		}
		return nil, 0
	}
	s, j := find()
	if s == nil {
		space := int64(1) << 56
		if n.c.DeviceTotal > 0 {
			space = n.c.DeviceTotal + n.c.DeviceTotal/8
		}
		space = ceil(space, page)
		base := ceil(n.top, 20<<20)
		s, j = &naiveSeg{base, small, []piece{{space, pieceUnmapped}}}, 0
		n.segs = append(n.segs, s)
		n.top = base + space
	}
	for {
		have := int64(0)
		k := j
		if s.pieces[j].what == pieceFree {
			have, k = s.pieces[j].size, j+1
		}
		if have >= size {
			n.roomIn, n.roomAt = s, j
			return true
		}
		more := ceil(min(size-have, s.pieces[k].size), page)
		if !n.fits(more) {
			return false
		}
		left := s.pieces[k].size - more
		s.pieces[k] = piece{more, pieceFree}
		if left > 0 {
			s.pieces = append(s.pieces[:k+1:k+1], append([]piece{{left, pieceUnmapped}}, s.pieces[k+1:]...)...)
		}
		s.tidy()
	}
}

func (n *naive) releaseSome(small bool, size int64) bool {
	m := n.c.MaxSplitSize
	if m == 0 || n.c.ExpandableSegments {
		return false
	}
	want := max(size, m)
	remove := func(s *naiveSeg) {
		for i := range n.segs {
			if n.segs[i] == s {
				n.segs = append(n.segs[:i:i], n.segs[i+1:]...)
				return
			}
		}
	}
	if s, _ := n.best(small, want); s != nil {
		remove(s)
		return true
	}
	var sum int64
	for sum < want {
		var top *naiveSeg
		for _, s := range n.segs {
			if s.small == small {
				for _, p := range s.pieces {
					if p.what == pieceFree && p.size >= m && (top == nil || p.size >= top.pieces[0].size) {
						top = s
					}
				}
			}
		}
		if top == nil {
			return false
		}
		sum += top.pieces[0].size
		remove(top)
	}
	return true
}

func (n *naive) flush() {
	var kept []*naiveSeg
	for _, s := range n.segs {
		if n.c.ExpandableSegments {
			page := int64(20 << 20)
			if s.small {
				page = 2 << 20
			}
			addr := s.base
			var out []piece
			for _, p := range s.pieces {
				from, to := ceil(addr, page), (addr+p.size)/page*page
				if p.what == pieceFree && to > from {
					out = append(out, piece{from - addr, pieceFree}, piece{to - from, pieceUnmapped}, piece{addr + p.size - to, pieceFree})
				} else {
					out = append(out, p)
				}
				addr += p.size
			}
			s.pieces = out
			s.tidy()
			if len(s.pieces) == 1 && s.pieces[0].what == pieceUnmapped {
				continue
			}
		} else if len(s.pieces) == 1 && s.pieces[0].what == pieceFree {
			continue
		}
		kept = append(kept, s)
	}
	n.segs = kept
}

func (n *naive) free(id int) {
	for _, s := range n.segs {
		for i := range s.pieces {
			if s.pieces[i].what == id {
				s.pieces[i].what = pieceFree
				s.tidy()
				return
			}
		}
	}
}

// compare runs random requests through both and reports how many events agreed.
func compare(t testing.TB, c Config, seed uint64, events int) int {
	r := rand.New(rand.NewPCG(seed, 7))
	a, n := New(c), &naive{c: c}
	hi := []int{14, 21, 24, 27, 29}[r.IntN(5)]
	var alive []int32
	for i := range int32(events) {
		if len(alive) > 0 && r.Float64() < 0.47 {
			k := r.IntN(len(alive))
			a.Free(alive[k])
			n.free(int(alive[k]))
			alive = append(alive[:k], alive[k+1:]...)
		} else {
			bytes := int64(math.Exp2(r.Float64() * float64(hi)))
			switch r.IntN(6) {
			case 0:
				bytes = ceil(bytes, 1<<20) // edges: whole MiB
			case 1:
				bytes = ceil(bytes, 1<<20) + []int64{-512, -1, 1, 512}[r.IntN(4)]
			}
			got, want := a.Alloc(i, bytes), n.alloc(int(i), bytes)
			if got != want {
				t.Fatalf("%+v seed %d event %d: alloc %d gives %v, want %v", c, seed, i, bytes, got, want)
			}
			if got {
				alive = append(alive, i)
			} else if r.IntN(3) == 0 {
				return int(i)
			}
		}
		if a.Reserved() != n.reserved() || a.Allocated() != n.allocated() {
			t.Fatalf("%+v seed %d event %d: reserved %d allocated %d, want %d %d", c, seed, i, a.Reserved(), a.Allocated(), n.reserved(), n.allocated())
		}
	}
	check(t, a)
	return events
}

func TestAgainstNaive(t *testing.T) {
	total := 0
	for seed := range uint64(24) {
		for _, c := range []Config{
			{}, {Capacity: 300 * mib}, {Capacity: 900 * mib},
			{MaxSplitSize: 25 * mib}, {MaxSplitSize: 21 * mib, Capacity: 300 * mib}, {MaxSplitSize: 128 * mib, Capacity: 900 * mib},
			{ExpandableSegments: true}, {ExpandableSegments: true, Capacity: 300 * mib, DeviceTotal: 320 * mib},
			{ExpandableSegments: true, Capacity: 900 * mib, MaxSplitSize: 64 * mib, DeviceTotal: 900 * mib},
		} {
			total += compare(t, c, seed, 400)
		}
	}
	if total < 40000 {
		t.Errorf("only %d events compared", total)
	}
}

func FuzzAgainstNaive(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint16(300), uint16(0))
	f.Add(uint64(2), uint8(1), uint16(300), uint16(0))
	f.Add(uint64(3), uint8(1), uint16(60), uint16(25))
	f.Add(uint64(4), uint8(0), uint16(100), uint16(40))
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8, capacityMiB, splitMiB uint16) {
		c := Config{ExpandableSegments: kind&1 == 1, Capacity: int64(capacityMiB) * mib}
		if splitMiB >= 20 {
			c.MaxSplitSize = int64(splitMiB) * mib
		}
		if kind&2 != 0 {
			c.DeviceTotal = c.Capacity
		}
		compare(t, c, seed, 250)
	})
}
