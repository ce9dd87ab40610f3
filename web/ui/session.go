package ui

import (
	"slices"
	"time"

	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// pause is how long a control must rest before its next move is a change of
// its own, to be undone apart.
const pause = 800 * time.Millisecond

// Bounds of the changes that can be undone: how many, and the bytes of the models' texts that they hold.
const (
	pastLength = 100
	pastBytes  = 32 << 20
)

// Session is what the reader has chosen, and how it came to be.
type Session struct {
	state view.State
	past  []view.State
	// last says which control moved last, and when, in milliseconds: a time.Time
	// within a component would keep all of time's parsing in the program.
	last   string
	lastAt int64
	// held: a gesture is going on, however long it rests.
	held bool
}

// NewSession starts from a state.
func NewSession(state view.State) *Session { return &Session{state: state} }

// State is what is chosen now.
func (s *Session) State() view.State { return s.state }

// CanUndo says whether there is a change to undo.
func (s *Session) CanUndo() bool { return len(s.past) > 0 }

// Change sets the state on behalf of a control. The moves of one gesture are
// one change. It reports whether anything is different.
func (s *Session) Change(control string, state view.State, at time.Time) bool {
	if state == s.state {
		return false
	}
	now := at.UnixMilli()
	if control != s.last || !s.held && now-s.lastAt > pause.Milliseconds() {
		s.past = append(s.past, s.state)
		for len(s.past) > pastLength || len(s.past) > 1 && textBytes(s.past) > pastBytes {
			s.past = slices.Delete(s.past, 0, 1)
		}
	}
	s.last, s.lastAt = control, now
	s.state = state
	return true
}

// textBytes are those of the models' texts that some states hold.
func textBytes(states []view.State) (bytes int) {
	var last *view.Import
	for _, s := range states {
		if given := s.Setup.Import; given != nil && given != last {
			bytes += len(given.Text)
			last = given
		}
	}
	return bytes
}

// Hold begins a gesture, all of whose moves are one change, or ends it.
func (s *Session) Hold(on bool) { s.held, s.last = on, "" }

// Undo goes back to the state before the last change.
func (s *Session) Undo() bool {
	if len(s.past) == 0 {
		return false
	}
	s.state = s.past[len(s.past)-1]
	s.past = s.past[:len(s.past)-1]
	s.last = ""
	return true
}

// Set sets a control to the value an input gives; what is no value of this
// control changes nothing.
func Set(state view.State, control, value string) view.State {
	switch control {
	case island.ControlOptimizer:
		return state.WithOptimizer(value)
	case island.ControlGPU:
		return state.WithGPU(value)
	}
	if n, ok := parseInt(value); ok {
		return state.With(control, n)
	}
	return state
}

// Value is a control's value as its input holds it.
func Value(state view.State, control string) string {
	switch control {
	case island.ControlOptimizer:
		return state.Optimizer
	case island.ControlGPU:
		return state.Device.Choice()
	}
	return formatInt(state.Value(control))
}
