package ui

import (
	"strings"
	"time"

	"vrametre/calc"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// readAfter is how long a paste must rest before it is read.
const readAfter = 200 * time.Millisecond

// paste is the text that the reader has pasted.
type paste struct {
	text string
	id   int // counts pastes, to tell whether a reading is outdated
	// found is the part of the text that holds its messages.
	found string
}

// pasted takes a text that may still be typed.
func (p *Page) pasted(text string) {
	p.paste.id++
	p.paste.text = text
	id := p.paste.id
	p.later(readAfter, func() {
		if id == p.paste.id {
			p.read()
		}
	})
}

// Share takes a text that another application hands over: a message is
// explained here, a model is for the workshop.
func (p *Page) Share(text string) {
	c := p.island(island.OOM)
	if !calc.Whole || c == nil || strings.TrimSpace(text) == "" {
		return
	}
	if given := view.Shared(text); given != nil {
		state := p.session.State()
		state.Setup = state.Setup.WithImport(given)
		p.keep(given)
		p.document.Visit(view.PageWorkshop, state.Fragment())
		return
	}
	c.JSValue().Call("querySelector", `[data-field="`+island.FieldMessage+`"]`).Set("value", text)
	c.JSValue().Call("scrollIntoView")
	p.pasted(text)
}

// later calls f after a time, guarded.
func (p *Page) later(d time.Duration, f func()) { p.document.After(d, func() { p.Guard(f) }) }

// read looks for the message of the paste, a piece at a time where it is long.
func (p *Page) read() {
	if p.paste.text == "" {
		p.shown.Message.Example = true
		p.paste.found = ""
		p.explain()
		p.render()
		return
	}
	if view.Short(p.paste.text) {
		p.paste.found = p.paste.text
		p.told()
		return
	}
	id, scan := p.paste.id, view.NewScan(p.paste.text)
	p.shown.Message.Reading = true
	p.render()
	var step func()
	step = func() {
		switch {
		case id != p.paste.id: // another paste has come
		case scan.Step():
			p.later(0, step)
		default:
			p.paste.found = scan.Text()
			p.told()
		}
	}
	p.later(0, step)
}

// told shows the reader's own message.
func (p *Page) told() {
	p.shown.Message.Example = false
	p.explain()
	p.render()
}

// explain explains the message shown, with the network and the batch of the state.
func (p *Page) explain() {
	if !calc.Whole || p.island(island.OOM) == nil {
		return
	}
	text, example := p.paste.found, p.shown.Message.Example
	if example {
		text = view.ExampleMessage
	}
	p.shown.Message = island.Explain(text, p.Figures())
	p.shown.Message.Example = example
}

// example goes back to the message of the lesson.
func (p *Page) example() {
	if c := p.island(island.OOM); c != nil {
		c.JSValue().Call("querySelector", `[data-field="`+island.FieldMessage+`"]`).Set("value", "")
	}
	p.paste = paste{id: p.paste.id + 1}
	p.read()
}

// advise has the engine try every change, where the advice shown is another state's.
func (p *Page) advise() {
	if !calc.Whole {
		return
	}
	c := p.island(island.Remedies)
	state := p.scene.State
	if c == nil || p.shown.Workshop.Fault != "" || p.advised != nil && *p.advised == state {
		return
	}
	// What was found for another state stays until this one's is complete: rows that come and go say nothing.
	p.advised, p.shown.AdviceMissing = nil, c.inPlace
	var found []calc.Advice
	var err error
	p.take(func(rest func() bool) {
		for a, failed := range calc.Advise(state.AdviceRequest(), rest) {
			if err = failed; err == nil {
				found = append(found, a)
			}
		}
	}, func() {
		if err != nil && !IsFault(err) {
			p.document.Failed(err)
			return
		}
		p.advised = &state
		p.shown.Advice, p.shown.AdviceMissing = found, false
		p.render()
		if !c.inPlace {
			c.inPlace = true
			p.later(0, func() { p.place(c) })
		}
	})
}
