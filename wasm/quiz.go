//go:build js && wasm

package main

import (
	"slices"
	"syscall/js"

	"vrametre/web/figure"
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
		})
	}
	f.quizzes = append(f.quizzes, q)
}

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
	outcome := element.Call("querySelector", ".outcome")
	try := func() {
		nodes, answer, err := attempt.Outcome(f.subject, found)
		if solved, ok := attempt.Solved(answer); err == nil && ok && !slices.Contains(found, solved) {
			found = append(found, solved)
			nodes, _, err = attempt.Outcome(f.subject, found)
		}
		if err != nil {
			f.d.Failed(err)
			return
		}
		outcome.Set("innerHTML", markup.HTML(nodes))
	}
	for _, radio := range within(element, "[data-lever]") {
		f.on(radio, "change", func(js.Value) {
			attempt[attribute(radio, "data-lever")] = attribute(radio, "value")
			try()
		})
		if radio.Get("checked").Bool() {
			attempt[attribute(radio, "data-lever")] = attribute(radio, "value")
		}
	}
	if len(attempt.Changed()) > 0 { // touched before the page woke
		try()
	}
}
