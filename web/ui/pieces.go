package ui

import (
	"iter"
	"time"
)

// slice is how long the page computes before it looks again at what the reader
// does, give or take the last piece.
const slice = 6 * time.Millisecond

// inHand is the one work that goes on while the reader keeps still.
type inHand struct {
	next func() (struct{}, bool)
	stop func()
	done func()
}

// take does a work in pieces, between which it calls rest, and then calls done.
// What was in hand is dropped, as this is by whatever the reader moves.
func (p *Page) take(work func(rest func() bool), done func()) {
	p.drop()
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		work(func() bool { return yield(struct{}{}) })
	})
	p.inHand = &inHand{next, stop, done}
	p.goOn(p.inHand)
}

func (p *Page) goOn(w *inHand) {
	if p.inHand != w { // dropped meanwhile
		return
	}
	for began := time.Now(); time.Since(began) < slice; {
		if _, more := w.next(); !more {
			p.inHand = nil
			w.done()
			return
		}
	}
	p.later(0, func() { p.goOn(w) })
}

// drop leaves the work in hand undone.
func (p *Page) drop() {
	if p.inHand != nil {
		p.inHand.stop()
		p.inHand = nil
	}
}
