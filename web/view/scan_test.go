package view

import (
	"strings"
	"testing"

	"vrametre/calc/oom"
)

func scan(text string) string {
	s := NewScan(text)
	for s.Step() {
	}
	return s.Text()
}

const filler = "2024-01-01 12:00:00 INFO step 123 loss=0.123 lr=1e-4 memory allocated capacity cudnn of which\n"

// A message anywhere in a long log is explained as it is alone.
func TestScanFindsTheMessage(t *testing.T) {
	for _, m := range messages(t) {
		want := oom.Explain(m.Text, oom.Hints{})
		for _, before := range []int{0, 500, 1500} {
			text := strings.Repeat(filler, before) + m.Text + "\n" + strings.Repeat(filler, 1500-before)
			got := oom.Explain(scan(text), oom.Hints{})
			if got.Kind != want.Kind || got.Framework != want.Framework || len(got.Message.Fields) != len(want.Message.Fields) {
				t.Errorf("%s after %d lines: %s %s with %d numbers, want %s %s with %d", m.ID, before, got.Framework, got.Kind, len(got.Message.Fields), want.Framework, want.Kind, len(want.Message.Fields))
			}
		}
	}
}

// Wherever the pieces are cut, a message is not lost.
func TestScanCutsNoMessage(t *testing.T) {
	for shift := range 60 {
		text := strings.Repeat("x", 40000+shift*997) + "\n" + ExampleMessage + "\n" + strings.Repeat(filler, 2000)
		if got := oom.Explain(scan(text), oom.Hints{}); got.Total == nil || got.Process == nil || got.Requested == nil || *got.Requested != 256<<20 {
			t.Errorf("shifted by %d: %+v", shift, got)
		}
	}
}

func TestScanKeepsTheRichest(t *testing.T) {
	poor := "RuntimeError: CUDA error: out of memory\n"
	text := strings.Repeat(filler, 700) + ExampleMessage + "\n"
	for range 40 {
		text += strings.Repeat(filler, 700) + poor
	}
	found := scan(text)
	if len(found) > scanKept*(scanBefore+scanAfter+1000) {
		t.Errorf("%d bytes are left to explain", len(found))
	}
	if got := oom.Explain(found, oom.Hints{}); got.Process == nil {
		t.Errorf("%+v", got)
	}
	if got := scan(strings.Repeat(filler, 5000)); got != "" {
		t.Errorf("found %q", got)
	}
	if got := scan(""); got != "" {
		t.Errorf("found %q", got)
	}
}
