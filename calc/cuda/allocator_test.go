package cuda

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"vrametre/calc/validate/exacttest"
)

const mib = 1 << 20

// vectors.json: traces with the counters that a reference implementation of
// the allocator's rules reached: hand cases, fuzz, and four networks of
// torchvision. An event is [id, bytes] or [-id].
type vector struct {
	Name     string    `json:"name"`
	Capacity *int64    `json:"capacity"`
	Events   [][]int64 `json:"events"`
	Expect   struct {
		PeakReserved  int64               `json:"peak_reserved"`
		PeakAllocated int64               `json:"peak_allocated"`
		PeakRequested int64               `json:"peak_requested"`
		Reserved      int64               `json:"reserved"`
		Allocated     int64               `json:"allocated"`
		Segments      int                 `json:"segments"`
		SegmentsMade  int                 `json:"segments_made"`
		Flushes       int                 `json:"flushes"`
		OOMAtEvent    *int                `json:"oom_at_event"`
		Every         int                 `json:"every"`
		Checkpoints   [][2]int64          `json:"checkpoints"`
		Layout        [][]json.RawMessage `json:"layout"`
	} `json:"expect"`
}

func readVectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 26 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	return file.Vectors
}

func (v vector) config() Config {
	if v.Capacity == nil {
		return Config{}
	}
	return Config{Capacity: *v.Capacity}
}

// play runs one event; false: out of memory.
func play(a *Allocator, e []int64) bool {
	if len(e) == 1 {
		a.Free(int32(-e[0]))
		return true
	}
	return a.Alloc(int32(e[0]), e[1])
}

func TestVectors(t *testing.T) {
	var checkpoints exacttest.Count
	a := New(Config{})
	for _, v := range readVectors(t) {
		a.Configure(v.config())
		x := v.Expect
		oom := -1
		for i, e := range v.Events {
			if !play(a, e) {
				oom = i
				break
			}
			if (i+1)%x.Every == 0 {
				got, want := [2]int64{a.Reserved(), a.Allocated()}, x.Checkpoints[(i+1)/x.Every-1]
				checkpoints.Add(got == want)
				if got != want {
					t.Fatalf("%s: after event %d reserved and allocated are %v, want %v", v.Name, i, got, want)
				}
			}
			check(t, a)
		}
		if want := x.OOMAtEvent; want == nil && oom >= 0 || want != nil && *want != oom {
			t.Errorf("%s: out of memory at %d, want %v", v.Name, oom, want)
		}
		got := []int64{a.PeakReserved(), a.PeakAllocated(), a.PeakRequested(), a.Reserved(), a.Allocated(), int64(len(a.Segments())), int64(a.DeviceAllocs()), int64(a.Flushes())}
		want := []int64{x.PeakReserved, x.PeakAllocated, x.PeakRequested, x.Reserved, x.Allocated, int64(x.Segments), int64(x.SegmentsMade), int64(x.Flushes)}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: peaks reserved, allocated, requested; reserved, allocated, segments, made, flushes\n got %v\nwant %v", v.Name, got, want)
		}
		if a.DeviceAllocs()-a.DeviceFrees() != x.Segments {
			t.Errorf("%s: %d cudaMalloc, %d cudaFree, %d segments", v.Name, a.DeviceAllocs(), a.DeviceFrees(), x.Segments)
		}
		if x.Layout != nil {
			if got, want := layout(a), wantLayout(t, x.Layout); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: layout\n got %v\nwant %v", v.Name, got, want)
			}
		}
	}
	exacttest.Hold(t, "../validate/data/exact/cuda.json", map[string]exacttest.Count{"allocator": checkpoints})
	if checkpoints.Compared < 150 {
		t.Errorf("only %d checkpoints compared", checkpoints.Compared)
	}
}

func layout(a *Allocator) []string {
	out := []string{}
	for _, s := range a.Segments() {
		name := "large"
		if s.Small {
			name = "small"
		}
		text := fmt.Sprint(name, " ", s.Size)
		for _, b := range s.Blocks {
			text += fmt.Sprint(" ", b.Size, " ", map[bool]string{true: "live", false: "free"}[b.Live])
		}
		out = append(out, text)
	}
	return out
}

func wantLayout(t *testing.T, raw [][]json.RawMessage) []string {
	t.Helper()
	out := []string{}
	for _, r := range raw {
		var pool string
		var size int64
		var blocks [][2]any
		for i, p := range []any{&pool, &size, &blocks} {
			if err := json.Unmarshal(r[i], p); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprint(pool, " ", size)
		for _, b := range blocks {
			text += fmt.Sprint(" ", int64(b[0].(float64)), " ", b[1])
		}
		out = append(out, text)
	}
	return out
}

// check verifies what must hold after every event.
func check(t testing.TB, a *Allocator) {
	t.Helper()
	var reserved, allocated, requested int64
	var end int64
	for _, s := range a.Segments() {
		if s.Base < end {
			t.Fatalf("segments overlap at %d", s.Base)
		}
		end = s.Base + s.Size
		reserved += s.Size
		wasFree := false
		for _, b := range s.Blocks {
			if b.Size <= 0 || b.Size%MinBlockSize != 0 {
				t.Fatalf("block of %d bytes", b.Size)
			}
			if b.Live {
				allocated += b.Size
				requested += b.Requested
				if b.Requested > b.Size || b.Requested == 0 {
					t.Fatalf("block of %d bytes holds %d", b.Size, b.Requested)
				}
			} else if wasFree {
				t.Fatal("two free neighbours")
			}
			wasFree = !b.Live
		}
	}
	if reserved != a.Reserved() || allocated != a.Allocated() || requested != a.Requested() {
		t.Fatalf("counters %d %d %d, blocks say %d %d %d", a.Reserved(), a.Allocated(), a.Requested(), reserved, allocated, requested)
	}
	if c := a.config.Capacity; c > 0 && reserved > c {
		t.Fatalf("reserved %d over capacity %d", reserved, c)
	}
	if a.PeakReserved() < reserved || a.PeakAllocated() < allocated || a.PeakRequested() < requested {
		t.Fatal("a peak is under its current value")
	}
	for p := range a.pools {
		l := a.pools[p].free
		for i, b := range l {
			if a.blocks[b].state != free || i > 0 && a.find(l, b) != i {
				t.Fatalf("free list out of order at %d", i)
			}
		}
	}
}

func TestRounding(t *testing.T) {
	for _, c := range []struct{ bytes, block, segment int64 }{
		{1, 512, 2 * mib},
		{511, 512, 2 * mib},
		{512, 512, 2 * mib},
		{513, 1024, 2 * mib},
		{mib - 1, mib, 2 * mib},
		{mib, mib, 2 * mib},
		{mib + 1, mib + 512, 20 * mib},
		{10*mib - 512, 10*mib - 512, 20 * mib},
		{10*mib - 511, 10 * mib, 10 * mib},
		{10 * mib, 10 * mib, 10 * mib},
		{10*mib + 1, 10*mib + 512, 12 * mib},
		{12 * mib, 12 * mib, 12 * mib},
		{33 * mib, 33 * mib, 34 * mib},
	} {
		if b := RoundSize(c.bytes); b != c.block || SegmentSize(b) != c.segment {
			t.Errorf("%d bytes: block %d, segment %d, want %d, %d", c.bytes, b, SegmentSize(b), c.block, c.segment)
		}
	}
}

// script is a trace: {id, bytes}, or {-id} to free.
type script [][]int64

func run(c Config, s script) (*Allocator, int) {
	a := New(c)
	for i, e := range s {
		if !play(a, e) {
			return a, i
		}
	}
	return a, -1
}

func TestEdges(t *testing.T) {
	for _, c := range []struct {
		name string
		conf Config
		s    script
		want []string
		oom  int
	}{
		{"1 MiB twice fills a small segment", Config{}, script{{1, mib}, {2, mib}, {3, 1}},
			[]string{"small 2097152 1048576 live 1048576 live", "small 2097152 512 live 2096640 free"}, -1},
		{"one byte over 1 MiB goes to the large pool", Config{}, script{{1, mib + 1}},
			[]string{"large 20971520 1049088 live 19922432 free"}, -1},
		{"512 B rest is split in the small pool", Config{}, script{{1, mib - 512}, {2, mib}, {3, 512}},
			[]string{"small 2097152 1048064 live 1048576 live 512 live"}, -1},
		{"10 MiB is its own segment", Config{}, script{{1, 10 * mib}},
			[]string{"large 10485760 10485760 live"}, -1},
		{"10 MiB less 512 B shares 20 MiB", Config{}, script{{1, 10*mib - 512}, {2, 10*mib - 512}},
			[]string{"large 20971520 10485248 live 10486272 live"}, -1},
		{"1 MiB rest is not split in the large pool", Config{}, script{{1, 11 * mib}},
			[]string{"large 12582912 12582912 live"}, -1},
		{"1 MiB + 512 B rest is", Config{}, script{{1, 11*mib - 512}},
			[]string{"large 12582912 11533824 live 1049088 free"}, -1},
		{"best fit takes the smallest, then the lowest", Config{}, script{{1, 30 * mib}, {2, 20 * mib}, {3, 20 * mib}, {-1}, {-3}, {-2}, {4, 19 * mib}},
			[]string{"large 31457280 31457280 free", "large 20971520 20971520 live", "large 20971520 20971520 free"}, -1},
		{"pools do not mix", Config{}, script{{1, 50 * mib}, {-1}, {2, 1000}},
			[]string{"large 52428800 52428800 free", "small 2097152 1024 live 2096128 free"}, -1},
		{"neighbours merge on both sides", Config{}, script{{1, 5 * mib}, {2, 5 * mib}, {3, 5 * mib}, {-1}, {-3}, {-2}},
			[]string{"large 20971520 20971520 free"}, -1},
		{"a failed cudaMalloc flushes both pools", Config{Capacity: 100 * mib}, script{{1, 4}, {2, 40 * mib}, {-1}, {-2}, {3, 99 * mib}},
			[]string{"large 104857600 104857600 live"}, -1},
		{"a split segment survives the flush", Config{Capacity: 100 * mib}, script{{1, 60 * mib}, {-1}, {2, 2 * mib}, {3, 70 * mib}},
			[]string{"large 62914560 2097152 live 60817408 free"}, 3},
		{"capacity is exact", Config{Capacity: 20 * mib}, script{{1, 20 * mib}, {2, 1}},
			[]string{"large 20971520 20971520 live"}, 1},
		{"no bytes, no block", Config{}, script{{1, 0}, {-1}, {1, 0}}, []string{}, -1},

		{"max_split_size: a smaller request leaves an oversize block alone", Config{MaxSplitSize: 25 * mib}, script{{1, 30 * mib}, {-1}, {2, 20 * mib}},
			[]string{"large 31457280 31457280 free", "large 20971520 20971520 live"}, -1},
		{"max_split_size: an oversize request takes up to 20 MiB more, whole", Config{MaxSplitSize: 25 * mib}, script{{1, 46 * mib}, {-1}, {2, 28 * mib}},
			[]string{"large 48234496 48234496 live"}, -1},
		{"max_split_size: and no more", Config{MaxSplitSize: 25 * mib}, script{{1, 46 * mib}, {-1}, {2, 26 * mib}},
			[]string{"large 48234496 48234496 free", "large 27262976 27262976 live"}, -1},
		{"max_split_size: smaller blocks are split as ever", Config{MaxSplitSize: 25 * mib}, script{{1, 24 * mib}, {-1}, {2, 20 * mib}},
			[]string{"large 25165824 20971520 live 4194304 free"}, -1},
		{"max_split_size: one oversize block makes room, the rest stays cached", Config{MaxSplitSize: 25 * mib, Capacity: 100 * mib}, script{{1, 40 * mib}, {2, 30 * mib}, {-1}, {-2}, {3, 62 * mib}},
			[]string{"large 65011712 65011712 live"}, -1},
		{"max_split_size: the smallest that is large enough goes first", Config{MaxSplitSize: 25 * mib, Capacity: 120 * mib}, script{{1, 60 * mib}, {2, 40 * mib}, {-1}, {-2}, {3, 24 * mib}},
			[]string{"large 62914560 62914560 free", "large 25165824 25165824 live"}, -1},

		{"expandable: one segment grows by pages", Config{ExpandableSegments: true}, script{{1, 1}, {2, mib}, {3, mib}, {4, 30 * mib}, {5, 30 * mib}},
			[]string{"small 4194304 512 live 1048576 live 1048576 live 2096640 free", "large 62914560 31457280 live 31457280 live"}, -1},
		{"expandable: a free tail is extended, not left", Config{ExpandableSegments: true}, script{{1, 30 * mib}, {-1}, {2, 50 * mib}},
			[]string{"large 62914560 52428800 live 10485760 free"}, -1},
		{"expandable: every rest of 512 B is split", Config{ExpandableSegments: true}, script{{1, 20*mib - 512}},
			[]string{"large 20971520 20971008 live 512 free"}, -1},
		{"expandable: a flush unmaps whole free pages inside a segment", Config{ExpandableSegments: true, Capacity: 100 * mib},
			script{{1, 30 * mib}, {2, 30 * mib}, {3, 10 * mib}, {-1}, {4, 70 * mib}},
			[]string{}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, oom := run(c.conf, c.s)
			check(t, a)
			if oom != c.oom {
				t.Errorf("out of memory at %d, want %d", oom, c.oom)
			}
			if c.name == "expandable: a flush unmaps whole free pages inside a segment" {
				// 80 MiB mapped: 30 free, of which the first page goes back: 60 MiB stay.
				if a.Reserved() != 60*mib || a.Flushes() != 1 {
					t.Errorf("reserved %d after %d flushes", a.Reserved(), a.Flushes())
				}
				return
			}
			if got := layout(a); !reflect.DeepEqual(got, c.want) {
				t.Errorf("layout\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestFailureNamesTheSegment(t *testing.T) {
	a, _ := run(Config{Capacity: 30 * mib}, script{{1, 20 * mib}, {7, 3 * mib}})
	got, ok := a.Failure()
	want := Failure{ID: 7, Requested: 3 * mib, Segment: 20 * mib, Reserved: 20 * mib, Allocated: 20 * mib}
	if !ok || got != want {
		t.Errorf("got %+v %v, want %+v", got, ok, want)
	}
	if !a.Alloc(7, 10*mib) {
		t.Error("unusable after a failure")
	}
	a.Reset()
	if _, ok := a.Failure(); ok {
		t.Error("Reset keeps the failure")
	}
	if a.Alloc(1, 1<<62) {
		t.Error("4 EiB served")
	}
}

func TestMisuse(t *testing.T) {
	for name, f := range map[string]func(){
		"twice live":     func() { a := New(Config{}); a.Alloc(1, 1); a.Alloc(1, 1) },
		"freed twice":    func() { a := New(Config{}); a.Alloc(1, 1); a.Free(1); a.Free(1) },
		"never live":     func() { New(Config{}).Free(3) },
		"negative bytes": func() { New(Config{}).Alloc(1, -1) },
		"split size":     func() { New(Config{MaxSplitSize: mib}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			f()
		}()
	}
}

func TestResetIsFresh(t *testing.T) {
	vs := readVectors(t)
	a := New(Config{})
	for _, v := range vs {
		a.Reset()
		b := New(Config{})
		for _, e := range v.Events {
			play(a, e)
			play(b, e)
		}
		if !reflect.DeepEqual(layout(a), layout(b)) || a.PeakReserved() != b.PeakReserved() {
			t.Errorf("%s: a reused allocator differs from a new one", v.Name)
		}
	}
	last := vs[len(vs)-1]
	if n := testing.AllocsPerRun(10, func() {
		a.Reset()
		for _, e := range last.Events {
			play(a, e)
		}
	}); n > 0 {
		t.Errorf("%v allocations per reused run", n)
	}
}

func TestEmptyCacheGivesAllBack(t *testing.T) {
	for _, expandable := range []bool{false, true} {
		a := New(Config{ExpandableSegments: expandable})
		r := rand.New(rand.NewPCG(1, 2))
		for i := range int32(3000) {
			a.Alloc(i, r.Int64N(1<<uint(1+r.IntN(27))))
		}
		for i := range int32(3000) {
			a.Free(i)
		}
		a.EmptyCache()
		check(t, a)
		if a.Reserved() != 0 || len(a.Segments()) != 0 {
			t.Errorf("expandable %v: %d bytes left in %d segments", expandable, a.Reserved(), len(a.Segments()))
		}
	}
}
