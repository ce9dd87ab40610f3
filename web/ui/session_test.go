package ui

import (
	"testing"
	"time"

	"vrametre/web/ui/island"
	"vrametre/web/view"
)

var noon = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

func batch(n int64) view.State { return view.Default().With(view.ScrubBatch, n) }

func TestOneGestureIsOneChange(t *testing.T) {
	s := NewSession(view.Default())
	for i := range int64(10) {
		s.Change(view.ScrubBatch, batch(40+i), noon.Add(time.Duration(i)*50*time.Millisecond))
	}
	if !s.Undo() || s.State() != view.Default() {
		t.Errorf("undo gives %+v, want the state before the gesture", s.State())
	}
	if s.CanUndo() || s.Undo() {
		t.Error("there is nothing more to undo")
	}
}

func TestChangesApart(t *testing.T) {
	s := NewSession(view.Default())
	s.Change(view.ScrubBatch, batch(64), noon)
	s.Change(view.ScrubBatch, batch(128), noon.Add(2*time.Second))                                      // after a pause
	s.Change(island.ControlOptimizer, batch(128).WithOptimizer("sgd"), noon.Add(2010*time.Millisecond)) // another control
	for _, want := range []view.State{batch(128), batch(64), view.Default()} {
		if s.Undo(); s.State() != want {
			t.Errorf("undo gives %+v, want %+v", s.State(), want)
		}
	}
}

func TestNoChangeIsNotRemembered(t *testing.T) {
	s := NewSession(view.Default())
	if s.Change(view.ScrubBatch, view.Default(), noon) || s.CanUndo() {
		t.Error("the same state is a change")
	}
}

func TestMoveAfterUndoIsAnotherChange(t *testing.T) {
	s := NewSession(view.Default())
	s.Change(view.ScrubBatch, batch(64), noon)
	s.Undo()
	s.Change(view.ScrubBatch, batch(65), noon.Add(time.Millisecond))
	if !s.CanUndo() {
		t.Error("a move right after an undo cannot be undone")
	}
}

func TestPastIsBounded(t *testing.T) {
	s := NewSession(view.Default())
	for i := range int64(2 * pastLength) {
		s.Change(view.ScrubBatch, batch(100+i), noon.Add(time.Duration(i)*time.Minute))
	}
	undone := 0
	for s.Undo() {
		undone++
	}
	if undone != pastLength || s.State() != batch(100+pastLength-1) {
		t.Errorf("%d undone down to batch %d, want %d down to %d", undone, s.State().Batch, pastLength, 100+pastLength-1)
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct {
		control, value string
		want           view.State
	}{
		{view.ScrubBatch, "64", batch(64)},
		{view.ScrubBatch, "64.4", batch(64)},
		{view.ScrubBatch, "1e3", batch(1000)},
		{view.ScrubBatch, "-5", batch(1)},
		{view.ScrubBatch, "99999999999999999999", view.Default()},
		{view.ScrubBatch, "", view.Default()},
		{view.ScrubBatch, "NaN", view.Default()},
		{view.ScrubSide, "130", view.Default()},
		{view.ScrubSide, "137", view.Default().With(view.ScrubSide, 144)},
		{view.ScrubValues, "2", view.Default().WithOptimizer("sgd")},
		{island.ControlOptimizer, "adamw", view.Default().WithOptimizer("adamw")},
		{island.ControlOptimizer, "other", view.Default()},
		{island.ControlGPU, "tesla-t4", view.Default().WithGPU("tesla-t4")},
		{"other", "1", view.Default()},
	} {
		got := Set(view.Default(), c.control, c.value)
		if got != c.want {
			t.Errorf("Set(%s, %q) = %+v, want %+v", c.control, c.value, got, c.want)
		}
		if c.control != "other" && Set(view.Default(), c.control, Value(got, c.control)) != got {
			t.Errorf("%s: its own value %q does not give the same state", c.control, Value(got, c.control))
		}
	}
}

// A gesture is one change however long it rests, and not part of the one before.
func TestGestureIsOneChange(t *testing.T) {
	s := NewSession(view.Default())
	at := time.Unix(0, 0)
	s.Change(view.ScrubBatch, s.State().With(view.ScrubBatch, 40), at)
	s.Hold(true)
	for _, n := range []int64{50, 60, 70} {
		s.Change(view.ScrubBatch, s.State().With(view.ScrubBatch, n), at)
		at = at.Add(10 * pause)
	}
	s.Hold(false)
	s.Undo()
	if got := s.State().Batch; got != 40 {
		t.Errorf("the gesture undone leaves %d", got)
	}
}
