package view

import (
	"vrametre/calc"
	"vrametre/content"
)

// Compute asks calc the state's questions. It fails only where calc does: for
// the lesson's states it does not, and for the workshop's with a *calc.Error.
func Compute(s State) (Scene, error) {
	return compute(s, calc.WantMaxBatch, calc.WantLayers, calc.WantTimeline, calc.WantBlocks)
}

// Follow computes the scene of a state that the reader is still moving. The
// largest batch costs many walks: it stays known where it cannot have changed,
// and is left out until Compute otherwise, as the allocator's map is.
func (s Scene) Follow(to State) (Scene, error) {
	next, err := compute(to, calc.WantLayers, calc.WantTimeline)
	if err != nil {
		return Scene{}, err
	}
	if to.Side == s.State.Side && to.Optimizer == s.State.Optimizer && to.Device == s.State.Device && to.Setup == s.State.Setup {
		next.Now.MaxBatch = s.Now.MaxBatch
	}
	return next, nil
}

func compute(s State, want ...string) (Scene, error) {
	scene := Scene{State: s}
	now, err := s.Ask(content.French)
	if err != nil {
		return Scene{}, err
	}
	now.Want = want
	if scene.Now, err = calc.Estimate(now); err != nil {
		return Scene{}, err
	}
	if s.Setup.Model == "" {
		scene.compare()
	}
	return scene, nil
}
