package view

import (
	"sync"

	"vrametre/calc"
	"vrametre/content"
)

// Scene is everything one state makes the page say: three answers of calc.
// Whatever the page shows is a field of one of them, or a plain quotient or
// sum of such fields.
type Scene struct {
	State State
	// Now answers the state's own question.
	Now calc.Result
	// answered is the state that Now answers: another than State while that one has no answer.
	answered State
	// times8 and infer are computed when they are first asked for: most of what
	// is in sight while the reader moves a slider needs neither.
	times8, infer func() *calc.Result
}

// BatchFactor is the lesson's step from 32 to 256 images.
const BatchFactor = 8

// Times8 answers the state's question for a batch eight times as large; in the
// workshop, which compares nothing, it is zero.
func (s Scene) Times8() *calc.Result { return answer(s.times8) }

// Infer answers it for inference, with its timeline; in the workshop it is zero.
func (s Scene) Infer() *calc.Result { return answer(s.infer) }

func answer(of func() *calc.Result) *calc.Result {
	if of == nil {
		return &calc.Result{}
	}
	return of()
}

// later answers a question of the lesson's when it is first asked for. Every
// one has an answer: see Compute.
func later(r calc.Request) func() *calc.Result {
	return sync.OnceValue(func() *calc.Result {
		result, err := calc.Estimate(r)
		if err != nil {
			panic(err)
		}
		return &result
	})
}

// compare sets what the lesson compares the state's answer with.
func (s *Scene) compare() {
	times8, infer := s.State.Request(content.French), s.State.Request(content.French)
	times8.Batch *= BatchFactor
	infer.Mode, infer.Want = "infer", []string{calc.WantTimeline}
	s.times8, s.infer = later(times8), later(infer)
}
