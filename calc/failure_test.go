package calc

import "testing"

// A run stops where, and only where, an estimate says that it does not fit.
func TestOutOfMemory(t *testing.T) {
	for _, batch := range []int64{1, 32, 400, 512, 1024} {
		r := Request{Batch: batch, Device: Device{GPU: "gtx-1650"}}
		result, err := Estimate(r)
		if err != nil {
			t.Fatal(err)
		}
		f, stops, err := OutOfMemory(r)
		if err != nil {
			t.Fatal(err)
		}
		if stops == *result.Fits {
			t.Errorf("batch %d: stops %v, fits %v", batch, stops, *result.Fits)
		}
		if !stops {
			continue
		}
		if f.Segment <= f.Free || f.Requested > f.Segment {
			t.Errorf("batch %d: %d of %d asked for, %d free", batch, f.Requested, f.Segment, f.Free)
		}
		if f.Allocated > f.Reserved || f.Total != f.Process+f.Free {
			t.Errorf("batch %d: %+v does not add up", batch, f)
		}
	}
	if _, _, err := OutOfMemory(Request{Device: Device{GPU: "none"}}); err == nil {
		t.Error("an unknown card is accepted")
	}
}
