package calc

import (
	"errors"
	"reflect"
	"testing"
)

// Work in pieces gives the same answer, and ends wherever it is stopped.
func TestPieces(t *testing.T) {
	r := Request{Batch: 48, Want: []string{WantMaxBatch, WantTimeline, WantBlocks, WantAdvice}}
	whole := estimate(t, r)
	pieces := 0
	got, err := EstimateInPieces(r, func() bool { pieces++; return true })
	if err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("in %d pieces (%v): %+v, want %+v", pieces, err, got, whole)
	}
	if pieces < 100 {
		t.Errorf("%d pieces", pieces)
	}
	for _, most := range []int{1, 2, 3, 5, 10, pieces / 2, pieces} {
		n := 0
		if _, err := EstimateInPieces(r, func() bool { n++; return n < most }); !errors.Is(err, ErrStopped) || n != most {
			t.Errorf("stopped at piece %d: %v at piece %d", most, err, n)
		}
	}
	n, given := 0, 0
	for range Advise(r, func() bool { n++; return n < pieces/2 }) {
		given++
	}
	if n != pieces/2 || given == 0 || given >= len(whole.Advice) {
		t.Errorf("%d of %d pieces of advice, stopped after %d of %d pieces of work", given, len(whole.Advice), n, pieces)
	}
}
