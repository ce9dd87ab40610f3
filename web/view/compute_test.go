package view

import (
	"reflect"
	"testing"

	"vrametre/calc"
)

// What is known of a state's neighbour is what would be computed, and nothing
// else is taken over from it.
func TestSettle(t *testing.T) {
	resnet := Start(PageWorkshop)
	resnet.Setup.Model = "resnet50"
	small := Default()
	small.Device = Device{GPU: "gtx-1650"}
	for _, to := range []State{
		Default().With(ScrubBatch, 7), Default().With(ScrubBuffers, 55), Default().With(ScrubSide, 64), Default().WithOptimizer("sgd"), small.With(ScrubBatch, 900), resnet.With(ScrubBatch, 3),
	} {
		want, err := Compute(to)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []State{Default(), small, resnet} {
			scene, err := Compute(from)
			if err != nil {
				t.Fatal(err)
			}
			moved, err := scene.Follow(to)
			if err != nil {
				t.Fatal(err)
			}
			if best := moved.Now.MaxBatch; best != nil && *best != *want.Now.MaxBatch {
				t.Errorf("%+v from %+v: %d fit while it moves, %d do", to, from, *best, *want.Now.MaxBatch)
			}
			for _, near := range []Scene{scene, moved} {
				settled, err := near.Settle(to, func() bool { return true })
				if err != nil || !reflect.DeepEqual(settled.Now, want.Now) {
					t.Errorf("%+v from %+v (%v): %+v, want %+v", to, from, err, settled.Now, want.Now)
				}
			}
		}
	}
	// A scene whose state has no answer shows the one before: its largest batch is that one's alone.
	scene, err := Compute(Default())
	if err != nil {
		t.Fatal(err)
	}
	scene.State = resnet
	moved, err := scene.Follow(resnet.With(ScrubBatch, 2))
	if err != nil || moved.Now.MaxBatch != nil {
		t.Errorf("%v fit, taken from another network (%v)", moved.Now.MaxBatch, err)
	}
	if _, err := scene.Settle(resnet, func() bool { return false }); err != calc.ErrStopped {
		t.Errorf("stopped: %v", err)
	}
}
