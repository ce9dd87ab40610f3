package ui

import (
	"testing"
	"time"

	"vrametre/web/view"
)

func scrubNamed(t *testing.T, name string) view.Scrub {
	t.Helper()
	s, ok := view.ScrubNamed(name)
	if !ok {
		t.Fatalf("no scrub %s", name)
	}
	return s
}

func TestDrag(t *testing.T) {
	for _, c := range []struct {
		scrub string
		from  int64
		dx    float64
		want  int64
	}{
		{view.ScrubBatch, 32, 0, 32},
		{view.ScrubBatch, 32, doubling, 64},
		{view.ScrubBatch, 32, 3 * doubling, 256},
		{view.ScrubBatch, 32, -5 * doubling, 1},
		{view.ScrubBatch, 32, 1e6, 1024},
		{view.ScrubBatch, 32, -1e6, 1},
		{view.ScrubSide, 128, 0, 128},
		{view.ScrubSide, 128, 8, 144},
		{view.ScrubSide, 128, -8, 112},
		{view.ScrubSide, 128, 1e6, 512},
		{view.ScrubValues, 4, -mostStep, 3},
		{view.ScrubValues, 4, -19, 4},
	} {
		if got := Drag(scrubNamed(t, c.scrub), c.from, c.dx); got != c.want {
			t.Errorf("Drag(%s, %d, %v) = %d, want %d", c.scrub, c.from, c.dx, got, c.want)
		}
	}
}

// Every value can be reached from any other by less than a screen's width.
func TestDragReachesBothEnds(t *testing.T) {
	for _, s := range view.Scrubs {
		for _, from := range []int64{s.Min, s.Clamp((s.Min + s.Max) / 2), s.Max} {
			if low, high := Drag(s, from, -800), Drag(s, from, 800); low != s.Min || high != s.Max {
				t.Errorf("%s from %d: 800 pixels reach %d and %d", s.Name, from, low, high)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		scrub string
		from  int64
		key   string
		want  int64
		ok    bool
	}{
		{view.ScrubBatch, 32, "ArrowRight", 33, true},
		{view.ScrubBatch, 32, "ArrowUp", 33, true},
		{view.ScrubBatch, 32, "ArrowLeft", 31, true},
		{view.ScrubBatch, 1, "ArrowDown", 1, true},
		{view.ScrubBatch, 32, "PageUp", 64, true},
		{view.ScrubBatch, 32, "PageDown", 1, true},
		{view.ScrubBatch, 32, "Home", 1, true},
		{view.ScrubBatch, 32, "End", 1024, true},
		{view.ScrubSide, 128, "ArrowRight", 144, true},
		{view.ScrubBatch, 32, "Tab", 32, false},
		{view.ScrubBatch, 32, "a", 32, false},
		{view.ScrubBatch, 32, "Backspace", 32, false},
	} {
		var typing Typing
		got, ok := typing.Key(scrubNamed(t, c.scrub), c.from, c.key, noon)
		if got != c.want || ok != c.ok {
			t.Errorf("%s on %s at %d: %d, %v, want %d, %v", c.key, c.scrub, c.from, got, ok, c.want, c.ok)
		}
	}
}

func TestTyping(t *testing.T) {
	s := scrubNamed(t, view.ScrubBatch)
	var typing Typing
	n, at := int64(32), noon
	press := func(key string, after time.Duration) {
		at = at.Add(after)
		n, _ = typing.Key(s, n, key, at)
	}
	for _, c := range []struct {
		key   string
		after time.Duration
		want  int64
	}{
		{"2", 0, 2},
		{"5", 300 * time.Millisecond, 25},
		{"6", 300 * time.Millisecond, 256},
		{"7", 300 * time.Millisecond, 1024}, // out of bounds
		{"Backspace", 300 * time.Millisecond, 256},
		{"8", 2 * time.Second, 8}, // a pause starts another number
		{"ArrowRight", 100 * time.Millisecond, 9},
		{"1", 100 * time.Millisecond, 1}, // so does another key
		{"Backspace", 100 * time.Millisecond, 1},
	} {
		if press(c.key, c.after); n != c.want {
			t.Fatalf("after %s: %d, want %d", c.key, n, c.want)
		}
	}
}
