package ui

import (
	"slices"
	"testing"
	"time"
)

// lateDocument keeps what is to be done at once for later.
type lateDocument struct {
	quietDocument
	later []func()
}

func (d *lateDocument) After(wait time.Duration, f func()) {
	if wait == 0 {
		d.later = append(d.later, f)
	}
}

// run does what is left, and what comes of it.
func (d *lateDocument) run() {
	for len(d.later) > 0 {
		f := d.later[0]
		d.later = d.later[1:]
		f()
	}
}

// Work yields after its slice, goes on where it was, and is left for another or for what the reader moves.
func TestPieces(t *testing.T) {
	d := &lateDocument{}
	p := &Page{document: d}
	var said []string
	long := func(name string) func(func() bool) {
		return func(rest func() bool) {
			for range 3 {
				time.Sleep(slice)
				if !rest() {
					said = append(said, name+" stopped")
					return
				}
			}
		}
	}
	done := func(name string) func() { return func() { said = append(said, name) } }
	p.take(long("a"), done("a"))
	if len(d.later) != 1 {
		t.Fatalf("%d things to do after the first slice", len(d.later))
	}
	p.take(long("b"), done("b"))
	d.run()
	p.take(long("c"), done("c"))
	p.drop()
	d.run()
	if want := []string{"a stopped", "b", "c stopped"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}
