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
func (scene Scene) Follow(s State) (Scene, error) {
	next, err := compute(s, calc.WantLayers, calc.WantTimeline)
	if err != nil {
		return Scene{}, err
	}
	if s.Side == scene.State.Side && s.Optimizer == scene.State.Optimizer && s.Device == scene.State.Device && s.Setup == scene.State.Setup {
		next.Now.MaxBatch = scene.Now.MaxBatch
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
	if s.Setup.Model != "" { // the workshop compares nothing
		scene.Now, err = calc.Estimate(now)
		return scene, err
	}
	times8 := s.Request(content.French)
	times8.Batch *= BatchFactor
	infer := s.Request(content.French)
	infer.Mode, infer.Want = "infer", []string{calc.WantTimeline}
	for _, ask := range []struct {
		request calc.Request
		answer  *calc.Result
	}{{now, &scene.Now}, {times8, &scene.Times8}, {infer, &scene.Infer}} {
		result, err := calc.Estimate(ask.request)
		if err != nil {
			return Scene{}, err
		}
		*ask.answer = result
	}
	return scene, nil
}
