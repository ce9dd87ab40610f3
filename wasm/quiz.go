//go:build js && wasm

package main

import (
	"slices"
	"syscall/js"

	"vrametre/calc"
	"vrametre/web/figure"
	"vrametre/web/piece"
	"vrametre/web/ui/markup"
)

// quiz is a question of the document, answered here and nowhere else: nothing
// is kept, nothing is sent.
type quiz struct {
	name, chosen string
	ask, reveal  js.Value
	buttons      []js.Value
	shown        string
}

// bindQuiz gives a question its voice.
func (f *figures) bindQuiz(element js.Value) {
	q := &quiz{name: attribute(element, "data-quiz"), ask: element.Call("querySelector", "[data-quiz-ask]"), reveal: element.Call("querySelector", ".reveal"), buttons: within(element, "[data-choice]")}
	for _, button := range q.buttons {
		button.Set("disabled", false)
		f.on(button, "click", func(js.Value) {
			q.chosen = attribute(button, "data-choice")
			for _, other := range q.buttons {
				other.Call("setAttribute", "aria-pressed", other.Equal(button))
			}
			q.show(f.subject)
			f.d.frame.answered(map[string]any{"question": q.name, "choice": q.chosen, "right": figure.Right(q.name, q.chosen, f.subject)})
		})
	}
	f.quizzes = append(f.quizzes, q)
	f.on(f.d.window, resetEvent, func(js.Value) {
		q.chosen, q.shown = "", ""
		q.reveal.Set("textContent", "")
		for _, button := range q.buttons {
			button.Call("setAttribute", "aria-pressed", false)
		}
	})
}

// resetEvent is sent by the script of a frame whose host wants it as it began.
const resetEvent = "vrametre:reset"

// show writes the question with the numbers of a subject, and its answer once the reader has chosen.
func (q *quiz) show(s *figure.Subject) {
	ask, choices := figure.Ask(q.name, s)
	set := func(element js.Value, words string) {
		if element.Get("textContent").String() != words {
			element.Set("textContent", words)
		}
	}
	set(q.ask, ask)
	for _, button := range q.buttons {
		if words, ok := choices[attribute(button, "data-choice")]; ok {
			set(button, words)
		}
	}
	if q.chosen == "" {
		return
	}
	if revealed := figure.Reveal(q.name, q.chosen, s); revealed != q.shown {
		q.reveal.Set("innerHTML", revealed)
		q.shown = revealed
	}
}

// bindPuzzle follows the puzzle's levers.
func (f *figures) bindPuzzle(element js.Value) {
	attempt := figure.Attempt{}
	var found []string
	outcome, link := element.Call("querySelector", ".outcome"), f.d.root.Call("querySelector", "[data-attempt]")
	try := func() calc.Result {
		nodes, answer, err := attempt.Outcome(f.subject, found)
		if solved, ok := attempt.Solved(answer); err == nil && ok && !slices.Contains(found, solved) {
			found = append(found, solved)
			nodes, _, err = attempt.Outcome(f.subject, found)
		}
		if err != nil {
			f.d.Failed(err)
			return answer
		}
		outcome.Set("innerHTML", markup.HTML(nodes))
		if link.Truthy() {
			link.Set("hash", attempt.State().Fragment())
		}
		return answer
	}
	radios := within(element, "[data-lever]")
	f.on(f.d.window, resetEvent, func(js.Value) {
		found = nil
		for _, radio := range radios {
			radio.Set("checked", radio.Get("defaultChecked"))
			if radio.Get("checked").Bool() {
				attempt[attribute(radio, "data-lever")] = attribute(radio, "value")
			}
		}
		try()
	})
	for _, radio := range radios {
		f.on(radio, "change", func(js.Value) {
			attempt[attribute(radio, "data-lever")] = attribute(radio, "value")
			answer := try()
			choices := map[string]any{}
			for lever, choice := range attempt {
				choices[lever] = choice
			}
			f.d.frame.answered(map[string]any{"question": piece.ThePuzzle, "choice": choices, "right": answer.Fits != nil && *answer.Fits})
		})
		if radio.Get("checked").Bool() {
			attempt[attribute(radio, "data-lever")] = attribute(radio, "value")
		}
	}
	if len(attempt.Changed()) > 0 { // touched before the page woke
		try()
	}
}
