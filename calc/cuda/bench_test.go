package cuda

import "testing"

// BenchmarkEvents replays the longest trace, a training of a network, and
// reports the cost of one allocation or free.
func BenchmarkEvents(b *testing.B) {
	var longest vector
	for _, v := range readVectors(b) {
		if len(v.Events) > len(longest.Events) {
			longest = v
		}
	}
	// Flat, so that reading the trace costs little beside the allocator.
	type event struct {
		id    int32
		bytes int64 // -1: free
	}
	var events []event
	for _, e := range longest.Events {
		if len(e) == 1 {
			events = append(events, event{int32(-e[0]), -1})
		} else {
			events = append(events, event{int32(e[0]), e[1]})
		}
	}
	for _, c := range []struct {
		name string
		conf Config
	}{{"default", Config{}}, {"expandable", Config{ExpandableSegments: true}}, {"capacity", longest.config()}} {
		b.Run(c.name, func(b *testing.B) {
			a := New(c.conf)
			b.ReportAllocs()
			for b.Loop() {
				a.Reset()
				for _, e := range events {
					if e.bytes < 0 {
						a.Free(e.id)
					} else {
						a.Alloc(e.id, e.bytes)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
		})
	}
}
