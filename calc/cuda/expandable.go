package cuda

import "slices"

// Expandable segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True), by
// the rules of c10/cuda/CUDACachingAllocator.cpp: one reserved range of
// addresses per pool, to which pages of memory are mapped where needed. A page
// is SmallBuffer in the small pool and LargeBuffer in the large one.

func page(p uint8) int64 {
	if p == small {
		return SmallBuffer
	}
	return LargeBuffer
}

// growable is what get_free_block compares in an expandable segment: a block
// with the unmapped space after it.
func (a *Allocator) growable(b int32) int64 {
	k := &a.blocks[b]
	if k.next != 0 && a.blocks[k.next].state == unmapped {
		return k.size + a.blocks[k.next].size
	}
	return k.size
}

// expand is try_allocate_expandable_block, then the split of
// alloc_found_block; 0: out of memory. Pages mapped before a failure stay.
func (a *Allocator) expand(p uint8, size int64) int32 {
	b := a.findExpandable(p, size)
	if a.blocks[b].state == unmapped && !a.mapPages(b, min(a.blocks[b].size, size)) {
		return 0
	}
	for a.blocks[b].size < size {
		next := a.blocks[b].next
		if next == 0 {
			return 0 // the address space itself is smaller than the request
		}
		// mapPages joins b, which is free, into next.
		if !a.mapPages(next, min(size-a.blocks[b].size, a.blocks[next].size)) {
			return 0
		}
		b = next
	}
	return a.carve(p, a.find(a.pools[p].free, b), size)
}

// findExpandable is find_expandable_block: the lowest run of free and unmapped
// blocks with room for size, else a new segment.
func (a *Allocator) findExpandable(p uint8, size int64) int32 {
	for _, c := range a.pools[p].unmapped {
		if q := a.blocks[c].prev; q != 0 && a.blocks[q].state == free {
			c = q
		}
		var room int64
		for b := c; b != 0 && room < size && a.blocks[b].state != live; b = a.blocks[b].next {
			room += a.blocks[b].size
		}
		if room >= size {
			return c
		}
	}
	space := int64(1) << 56 // far beyond maxRequest, far below overflow
	if t := a.config.DeviceTotal; t > 0 {
		space = t + t/8
	}
	space = (space + page(p) - 1) / page(p) * page(p)
	base := (a.top + LargeBuffer - 1) / LargeBuffer * LargeBuffer // a multiple of both pages
	a.top = base + space
	b := a.newBlock(block{addr: base, size: space, pool: p, state: unmapped})
	a.insertUnmapped(b)
	return b
}

// mapPages is map_block: memory for the first bytes of an unmapped block,
// rounded up to whole pages; the block becomes free, joined with its free neighbours.
func (a *Allocator) mapPages(b int32, bytes int64) bool {
	p := a.blocks[b].pool
	mapped := (bytes + page(p) - 1) / page(p) * page(p)
	if !a.reserve(mapped) {
		return false
	}
	a.removeUnmapped(b)
	if mapped < a.blocks[b].size {
		a.insertUnmapped(a.split(b, mapped))
	}
	a.blocks[b].state = free
	l := &a.pools[p].free
	if q := a.blocks[b].prev; q != 0 && a.blocks[q].state == free {
		i := a.find(*l, q)
		*l = slices.Delete(*l, i, i+1)
		a.absorbLeft(b)
	}
	if q := a.blocks[b].next; q != 0 && a.blocks[q].state == free {
		i := a.find(*l, q)
		*l = slices.Delete(*l, i, i+1)
		a.absorb(b, q)
	}
	a.insert(l, b)
	return true
}

// unmapFree is release_blocks for expandable segments: every whole page inside
// a free block goes back to the device; large pool first.
func (a *Allocator) unmapFree() {
	for _, p := range []uint8{large, small} {
		for _, b := range slices.Clone(a.pools[p].free) {
			a.unmapBlock(b)
		}
	}
}

// unmapBlock is unmap_block. A segment without any mapped page is dropped.
func (a *Allocator) unmapBlock(b int32) {
	k := a.blocks[b]
	size := page(k.pool)
	begin := (k.addr + size - 1) / size * size
	end := (k.addr + k.size) / size * size
	if begin >= end {
		return
	}
	l := &a.pools[k.pool].free
	i := a.find(*l, b)
	*l = slices.Delete(*l, i, i+1)
	if end < k.addr+k.size {
		a.insert(l, a.split(b, end-k.addr))
	}
	if begin > k.addr {
		rest := a.split(b, begin-k.addr)
		a.insert(l, b)
		b = rest
	}
	a.blocks[b].state = unmapped
	if q := a.blocks[b].prev; q != 0 && a.blocks[q].state == unmapped {
		a.removeUnmapped(q)
		a.absorbLeft(b)
	}
	if q := a.blocks[b].next; q != 0 && a.blocks[q].state == unmapped {
		a.removeUnmapped(q)
		a.absorb(b, q)
	}
	a.reserved -= end - begin
	a.deviceFrees++
	if a.blocks[b].prev == 0 && a.blocks[b].next == 0 {
		a.drop(b)
		return
	}
	a.insertUnmapped(b)
}

// absorbLeft joins b's left neighbour into b, which keeps its index.
func (a *Allocator) absorbLeft(b int32) {
	q := a.blocks[b].prev
	k := &a.blocks[b]
	k.addr = a.blocks[q].addr
	k.size += a.blocks[q].size
	k.prev = a.blocks[q].prev
	if k.prev != 0 {
		a.blocks[k.prev].next = b
	}
	a.drop(q)
}

func (a *Allocator) unmappedPlace(b int32) int {
	l := a.pools[a.blocks[b].pool].unmapped
	lo, hi := 0, len(l)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if a.blocks[l[m]].addr < a.blocks[b].addr {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

func (a *Allocator) insertUnmapped(b int32) {
	l := &a.pools[a.blocks[b].pool].unmapped
	*l = slices.Insert(*l, a.unmappedPlace(b), b)
}

func (a *Allocator) removeUnmapped(b int32) {
	l := &a.pools[a.blocks[b].pool].unmapped
	i := a.unmappedPlace(b)
	*l = slices.Delete(*l, i, i+1)
}
