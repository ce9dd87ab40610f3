package view

import (
	"vrametre/calc"
	"vrametre/content"
)

// Compute asks calc the state's questions. It fails only where calc does: for
// the lesson's states it does not, and for the workshop's with a *calc.Error.
func Compute(s State) (Scene, error) { return Scene{}.Settle(s, nil) }

// Settle is Compute, with what s knows of it already. rest, if any, is called
// between pieces of the work, and stops it by being false, with calc.ErrStopped.
func (s Scene) Settle(to State, rest func() bool) (Scene, error) {
	want := []string{calc.WantLayers, calc.WantTimeline, calc.WantBlocks}
	best := s.maxBatch(to)
	if best == nil {
		want = append(want, calc.WantMaxBatch)
	}
	next, err := compute(to, rest, want)
	if err == nil && best != nil {
		next.Now.MaxBatch = best
	}
	return next, err
}

// Follow computes the scene of a state that the reader is still moving. The
// largest batch costs many walks: it is left out until Settle where s does not
// know it, and the allocator's map always is.
func (s Scene) Follow(to State) (Scene, error) {
	next, err := compute(to, nil, []string{calc.WantLayers, calc.WantTimeline})
	next.Now.MaxBatch = s.maxBatch(to)
	return next, err
}

// maxBatch is the largest batch of a state where s knows it: the one in hand
// changes nothing about it, nor does the reckoning by hand.
func (s Scene) maxBatch(of State) *int64 {
	of.Batch, of.BufferPercent = s.answered.Batch, s.answered.BufferPercent
	if of != s.answered {
		return nil
	}
	return s.Now.MaxBatch
}

func compute(s State, rest func() bool, want []string) (Scene, error) {
	scene := Scene{State: s, answered: s}
	now, err := s.Ask(content.French)
	if err != nil {
		return Scene{}, err
	}
	now.Want = want
	if scene.Now, err = calc.EstimateInPieces(now, rest); err != nil {
		return Scene{}, err
	}
	if s.Setup.Model == "" {
		scene.compare()
	}
	return scene, nil
}
