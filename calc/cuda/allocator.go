// Package cuda simulates what PyTorch adds between tensors and the card: the
// CUDA caching allocator, the cuBLAS workspace and the CUDA context. All sizes
// are int64 bytes. The package does no I/O and reads no clock.
package cuda

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Constants of PyTorch's c10/cuda/CUDACachingAllocator.cpp, by their names there.
const (
	MinBlockSize  = 512      // kMinBlockSize: every request is rounded up to a multiple of it
	SmallSize     = 1 << 20  // kSmallSize: largest request of the small pool
	SmallBuffer   = 2 << 20  // kSmallBuffer: segment of the small pool, page of its expandable segment
	LargeBuffer   = 20 << 20 // kLargeBuffer: segment of requests under MinLargeAlloc, page of the large expandable segment
	MinLargeAlloc = 10 << 20 // kMinLargeAlloc: from here on a segment is the request, rounded up
	RoundLarge    = 2 << 20  // kRoundLarge: to a multiple of this
)

// MinMaxSplitSize is the smallest max_split_size_mb that PyTorch accepts, in
// bytes (parseMaxSplitSize in c10/core/AllocatorConfig.cpp).
const MinMaxSplitSize = LargeBuffer

// Config is the part of PYTORCH_CUDA_ALLOC_CONF that changes sizes, and the card.
type Config struct {
	// Capacity is how many bytes cudaMalloc can hand out in total; 0: DeviceTotal.
	Capacity int64
	// ExpandableSegments maps 2 MiB or 20 MiB pages at the end of one segment
	// per pool, in place of one cudaMalloc per segment.
	ExpandableSegments bool
	// DeviceTotal is the card's totalGlobalMem. It bounds the address space of
	// an expandable segment, 9/8 of it (ExpandableSegment's constructor);
	// 0: unlimited.
	DeviceTotal int64
	// MaxSplitSize is max_split_size_mb in bytes, at least MinMaxSplitSize;
	// 0: every block may be split.
	MaxSplitSize int64
}

// Failure is a request that could not be served: what the out-of-memory message says.
type Failure struct {
	ID int32
	// Requested is the tensor's size and Segment what cudaMalloc was asked for,
	// the "Tried to allocate" of the message.
	Requested, Segment int64
	// Reserved and Allocated are the allocator's counters at that moment, after the flush.
	Reserved, Allocated int64
}

// RoundSize is the block size of a request: round_size, without
// roundup_power2_divisions, which is off by default.
func RoundSize(bytes int64) int64 {
	if bytes < MinBlockSize {
		return MinBlockSize
	}
	return (bytes + MinBlockSize - 1) / MinBlockSize * MinBlockSize
}

// SegmentSize is the cudaMalloc that a block size leads to when no cached
// block fits: get_allocation_size.
func SegmentSize(size int64) int64 {
	switch {
	case size <= SmallSize:
		return SmallBuffer
	case size < MinLargeAlloc:
		return LargeBuffer
	default:
		return (size + RoundLarge - 1) / RoundLarge * RoundLarge
	}
}

type state uint8

const (
	unused state = iota
	free
	live
	unmapped // address space of an expandable segment without memory behind it
)

// block is a piece of a segment. Blocks live in one slice and refer to each
// other by index; index 0 is "none".
type block struct {
	addr, size, requested int64
	prev, next            int32
	id                    int32
	pool                  uint8
	state                 state
}

const (
	small = 0
	large = 1
)

// pool holds its free blocks sorted by size, then address (BlockComparatorSize),
// and its unmapped ones by address.
type pool struct {
	free     []int32
	unmapped []int32
}

const (
	noBytes = -1 // blockOf of a live id that asked for 0 bytes

	// maxRequest keeps every sum of sizes far from overflow; no address space holds more.
	maxRequest = 1 << 48
)

// Allocator simulates the caching allocator of one device for one stream,
// native back end. The zero value is not ready: use New. It is not safe for
// concurrent use.
type Allocator struct {
	config   Config
	maxSplit int64

	blocks  []block
	spare   []int32 // unused indices of blocks
	blockOf []int32 // by id: 0 dead, noBytes, or the index of the block
	pools   [2]pool
	top     int64 // next segment's address: later segments lie higher, as with cudaMalloc

	reserved, allocated, requested             int64
	peakReserved, peakAllocated, peakRequested int64
	flushes, deviceAllocs, deviceFrees         int
	failure                                    Failure
	failed                                     bool
}

// New returns an empty allocator.
func New(c Config) *Allocator {
	a := &Allocator{}
	a.Configure(c)
	return a
}

// Configure empties the allocator, keeping its storage, and changes its configuration.
func (a *Allocator) Configure(c Config) {
	if c.Capacity < 0 || c.DeviceTotal < 0 {
		panic("cuda: negative capacity")
	}
	if c.MaxSplitSize != 0 && c.MaxSplitSize < MinMaxSplitSize {
		panic(fmt.Sprintf("cuda: MaxSplitSize %d is under PyTorch's minimum %d", c.MaxSplitSize, int64(MinMaxSplitSize)))
	}
	a.config = c
	a.maxSplit = c.MaxSplitSize
	if a.maxSplit == 0 {
		a.maxSplit = math.MaxInt64
	}
	a.Reset()
}

// Reset empties the allocator, keeping its configuration and storage.
func (a *Allocator) Reset() {
	a.blocks = append(a.blocks[:0], block{})
	a.spare = a.spare[:0]
	clear(a.blockOf)
	for p := range a.pools {
		a.pools[p].free = a.pools[p].free[:0]
		a.pools[p].unmapped = a.pools[p].unmapped[:0]
	}
	a.top = 0
	a.reserved, a.allocated, a.requested = 0, 0, 0
	a.ResetPeaks()
	a.flushes, a.deviceAllocs, a.deviceFrees = 0, 0, 0
	a.failure, a.failed = Failure{}, false
}

// Reserved is torch.cuda.memory_reserved: the sum of segments.
func (a *Allocator) Reserved() int64 { return a.reserved }

// Allocated is torch.cuda.memory_allocated: the sum of live blocks.
func (a *Allocator) Allocated() int64 { return a.allocated }

// Requested is the sum of live requests before rounding (requested_bytes.all.current).
func (a *Allocator) Requested() int64 { return a.requested }

// PeakReserved is torch.cuda.max_memory_reserved.
func (a *Allocator) PeakReserved() int64 { return a.peakReserved }

// PeakAllocated is torch.cuda.max_memory_allocated.
func (a *Allocator) PeakAllocated() int64 { return a.peakAllocated }

// PeakRequested is requested_bytes.all.peak.
func (a *Allocator) PeakRequested() int64 { return a.peakRequested }

// ResetPeaks is torch.cuda.reset_peak_memory_stats.
func (a *Allocator) ResetPeaks() {
	a.peakReserved, a.peakAllocated, a.peakRequested = a.reserved, a.allocated, a.requested
}

// Flushes counts how often every unsplit cached block was given back after a
// failed cudaMalloc (num_alloc_retries).
func (a *Allocator) Flushes() int { return a.flushes }

// DeviceAllocs counts successful cudaMalloc or mapping calls (num_device_alloc).
func (a *Allocator) DeviceAllocs() int { return a.deviceAllocs }

// DeviceFrees counts cudaFree or unmapping calls (num_device_free).
func (a *Allocator) DeviceFrees() int { return a.deviceFrees }

// Failure is the last request that failed, and whether there was one.
func (a *Allocator) Failure() (Failure, bool) { return a.failure, a.failed }

// Alloc serves a request of id. It returns false when the card is full even
// after a flush; Failure then says what was asked, and the allocator stays
// usable. It panics on a negative size or an id that is already live: these
// are errors of the caller, not of the simulated program.
func (a *Allocator) Alloc(id int32, bytes int64) bool {
	if bytes < 0 {
		panic(fmt.Sprintf("cuda: id %d asks for %d bytes", id, bytes))
	}
	if int(id) >= len(a.blockOf) {
		a.blockOf = append(a.blockOf, make([]int32, int(id)+1-len(a.blockOf)+len(a.blockOf)/2)...)
	}
	if a.blockOf[id] != 0 {
		panic(fmt.Sprintf("cuda: id %d is already live", id))
	}
	if bytes == 0 { // DeviceCachingAllocator is not asked at all
		a.blockOf[id] = noBytes
		return true
	}
	if bytes > maxRequest {
		return a.fail(id, bytes, bytes)
	}
	size := RoundSize(bytes)
	p := uint8(large)
	if size <= SmallSize {
		p = small
	}
	b := a.takeFree(p, size)
	if b == 0 {
		if b = a.grow(p, size); b == 0 {
			return a.fail(id, bytes, SegmentSize(size))
		}
	}
	k := &a.blocks[b]
	k.state, k.id, k.requested = live, id, bytes
	a.blockOf[id] = b
	a.allocated += k.size
	a.requested += bytes
	a.peakAllocated = max(a.peakAllocated, a.allocated)
	a.peakRequested = max(a.peakRequested, a.requested)
	return true
}

func (a *Allocator) fail(id int32, bytes, segment int64) bool {
	a.failure, a.failed = Failure{id, bytes, segment, a.reserved, a.allocated}, true
	return false
}

// Free ends the life of id. It panics if id is not live.
func (a *Allocator) Free(id int32) {
	if int(id) >= len(a.blockOf) || a.blockOf[id] == 0 {
		panic(fmt.Sprintf("cuda: id %d is not live", id))
	}
	b := a.blockOf[id]
	a.blockOf[id] = 0
	if b == noBytes {
		return
	}
	k := &a.blocks[b]
	a.allocated -= k.size
	a.requested -= k.requested
	k.state, k.requested, k.id = free, 0, 0
	l := &a.pools[k.pool].free
	// The neighbours' places in the list are reused: merging moves one entry
	// up instead of removing and inserting.
	switch p, q := k.prev, k.next; {
	case p != 0 && a.blocks[p].state == free:
		i := a.find(*l, p)
		if q != 0 && a.blocks[q].state == free {
			j := a.find(*l, q)
			*l = slices.Delete(*l, j, j+1)
			if j < i {
				i--
			}
			a.absorb(b, q)
		}
		a.absorb(p, b)
		a.rise(*l, i, p)
	case q != 0 && a.blocks[q].state == free:
		i := a.find(*l, q)
		a.absorb(b, q)
		a.rise(*l, i, b)
	default:
		a.insert(l, b)
	}
}

// EmptyCache is torch.cuda.empty_cache: it gives back every segment that is
// one free block (release_cached_blocks), and the free pages of expandable segments.
func (a *Allocator) EmptyCache() {
	if a.config.ExpandableSegments {
		a.unmapFree()
		return
	}
	for p := range a.pools {
		kept := a.pools[p].free[:0]
		for _, b := range a.pools[p].free {
			if a.blocks[b].prev != 0 || a.blocks[b].next != 0 {
				kept = append(kept, b)
				continue
			}
			a.release(b)
		}
		a.pools[p].free = kept
	}
}

// release gives an unsplit block, no longer listed, back to the device.
func (a *Allocator) release(b int32) {
	a.reserved -= a.blocks[b].size
	a.deviceFrees++
	a.drop(b)
}

// takeFree finds the best fitting free block (get_free_block), splits it if
// the rule allows (should_split) and removes it from the list; 0: none.
func (a *Allocator) takeFree(p uint8, size int64) int32 {
	l := a.pools[p].free
	i := a.lowerBound(l, size, 0)
	if i == len(l) {
		return 0
	}
	if a.config.ExpandableSegments {
		// A block that can grow counts with what it can grow to.
		for i+1 < len(l) && a.growable(l[i+1]) < a.growable(l[i]) {
			i++
		}
	}
	found := a.blocks[l[i]].size
	if size < a.maxSplit && found >= a.maxSplit {
		return 0
	}
	if size >= a.maxSplit && found >= size+LargeBuffer {
		return 0
	}
	return a.carve(p, i, size)
}

// carve takes the i-th free block of the pool, cut to size if should_split says so.
func (a *Allocator) carve(p uint8, i int, size int64) int32 {
	l := &a.pools[p].free
	b := (*l)[i]
	rest := a.blocks[b].size - size
	if !a.splits(p, size, rest) {
		*l = append((*l)[:i], (*l)[i+1:]...)
		return b
	}
	r := a.split(b, size)
	// The remainder is smaller than the block was: it sinks from place i.
	j := a.lowerBound((*l)[:i], rest, a.blocks[r].addr)
	copy((*l)[j+1:i+1], (*l)[j:i])
	(*l)[j] = r
	return b
}

// splits is should_split.
func (a *Allocator) splits(p uint8, size, rest int64) bool {
	if p == small || a.config.ExpandableSegments {
		return rest >= MinBlockSize
	}
	return size < a.maxSplit && rest > SmallSize
}

// grow obtains a block of at least size from the device, flushing the caches
// if it must (the alloc_block sequence of DeviceCachingAllocator::malloc); 0: out of memory.
func (a *Allocator) grow(p uint8, size int64) int32 {
	if b := a.deviceAlloc(p, size); b != 0 {
		return b
	}
	if a.releaseOversize(p, size) {
		if b := a.deviceAlloc(p, size); b != 0 {
			return b
		}
	}
	a.flushes++
	a.EmptyCache()
	return a.deviceAlloc(p, size)
}

func (a *Allocator) deviceAlloc(p uint8, size int64) int32 {
	if a.config.ExpandableSegments {
		return a.expand(p, size)
	}
	segment := SegmentSize(size)
	if !a.reserve(segment) {
		return 0
	}
	b := a.newBlock(block{addr: a.top, size: segment, pool: p, state: free})
	a.top += segment
	if rest := segment - size; a.splits(p, size, rest) {
		a.insert(&a.pools[p].free, a.split(b, size))
	}
	return b
}

// reserve counts one cudaMalloc or mapping, if the device has that much left.
func (a *Allocator) reserve(bytes int64) bool {
	limit := a.config.Capacity
	if limit == 0 {
		limit = a.config.DeviceTotal
	}
	if limit == 0 {
		limit = math.MaxInt64
	}
	if bytes > limit-a.reserved {
		return false
	}
	a.reserved += bytes
	a.deviceAllocs++
	a.peakReserved = max(a.peakReserved, a.reserved)
	return true
}

// releaseOversize is release_available_cached_blocks, which acts only under
// max_split_size_mb: it gives back one cached block of at least that size that
// is large enough, else the largest ones until their sum is. Blocks of
// expandable segments are skipped.
func (a *Allocator) releaseOversize(p uint8, size int64) bool {
	if a.config.MaxSplitSize == 0 || a.config.ExpandableSegments {
		return false
	}
	l := &a.pools[p].free
	want := max(size, a.maxSplit)
	if i := a.lowerBound(*l, want, 0); i < len(*l) {
		a.release((*l)[i])
		*l = slices.Delete(*l, i, i+1)
		return true
	}
	var sum int64
	for n := len(*l); n > 0 && sum < want && a.blocks[(*l)[n-1]].size >= a.maxSplit; n = len(*l) {
		sum += a.blocks[(*l)[n-1]].size
		a.release((*l)[n-1])
		*l = (*l)[:n-1]
	}
	return sum >= want
}

// ---- blocks

func (a *Allocator) newBlock(b block) int32 {
	if n := len(a.spare); n > 0 {
		i := a.spare[n-1]
		a.spare = a.spare[:n-1]
		a.blocks[i] = b
		return i
	}
	a.blocks = append(a.blocks, b)
	return int32(len(a.blocks) - 1)
}

func (a *Allocator) drop(b int32) {
	a.blocks[b].state = unused
	a.spare = append(a.spare, b)
}

// split cuts b to size and returns the rest, which keeps b's state.
func (a *Allocator) split(b int32, size int64) int32 {
	k := a.blocks[b]
	r := a.newBlock(block{addr: k.addr + size, size: k.size - size, prev: b, next: k.next, pool: k.pool, state: k.state})
	if k.next != 0 {
		a.blocks[k.next].prev = r
	}
	a.blocks[b].size, a.blocks[b].next = size, r
	return r
}

// absorb joins b's right neighbour q into b.
func (a *Allocator) absorb(b, q int32) {
	k := &a.blocks[b]
	k.size += a.blocks[q].size
	k.next = a.blocks[q].next
	if k.next != 0 {
		a.blocks[k.next].prev = b
	}
	a.drop(q)
}

// ---- free lists

// lowerBound is the first place in l whose block is not before (size, addr).
func (a *Allocator) lowerBound(l []int32, size, addr int64) int {
	lo, hi := 0, len(l)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		k := &a.blocks[l[m]]
		if k.size < size || k.size == size && k.addr < addr {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// find is the place of a listed block.
func (a *Allocator) find(l []int32, b int32) int {
	return a.lowerBound(l, a.blocks[b].size, a.blocks[b].addr)
}

func (a *Allocator) insert(l *[]int32, b int32) {
	*l = slices.Insert(*l, a.find(*l, b), b)
}

// rise puts b, grown, where place i has become free.
func (a *Allocator) rise(l []int32, i int, b int32) {
	j := i + a.lowerBound(l[i+1:], a.blocks[b].size, a.blocks[b].addr)
	copy(l[i:j], l[i+1:j+1])
	l[j] = b
}

// ---- drawing

// Segment is one cudaMalloc, or one run of mapped pages of an expandable segment.
type Segment struct {
	// Base is the address, counted from the first segment's.
	Base, Size int64
	// Small says which pool it serves.
	Small      bool
	Expandable bool
	Blocks     []Block
}

// Block is a piece of a segment, in address order.
type Block struct {
	Size int64
	Live bool
	// ID and Requested are those of the live request; 0 in a free block.
	ID        int32
	Requested int64
}

// Segments is the block map, in address order.
func (a *Allocator) Segments() []Segment {
	var firsts []int32
	for i := range a.blocks {
		k := &a.blocks[i]
		if k.state == free || k.state == live {
			if k.prev == 0 || a.blocks[k.prev].state == unmapped {
				firsts = append(firsts, int32(i))
			}
		}
	}
	slices.SortFunc(firsts, func(x, y int32) int { return cmp.Compare(a.blocks[x].addr, a.blocks[y].addr) })
	out := make([]Segment, 0, len(firsts))
	for _, b := range firsts {
		s := Segment{Base: a.blocks[b].addr, Small: a.blocks[b].pool == small, Expandable: a.config.ExpandableSegments}
		for ; b != 0 && a.blocks[b].state != unmapped; b = a.blocks[b].next {
			k := &a.blocks[b]
			s.Size += k.size
			s.Blocks = append(s.Blocks, Block{Size: k.size, Live: k.state == live, ID: k.id, Requested: k.requested})
		}
		out = append(out, s)
	}
	return out
}
