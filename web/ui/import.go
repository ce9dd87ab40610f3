package ui

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// pasting is a model's text that has not been read yet, or a file that is being read.
type pasting struct {
	text    string
	pending bool
	// shown is what the field is known to hold: asking it costs as much as the text is long.
	shown string
	id    int // counts texts and files, to tell whether one is outdated
}

// typedModel takes a model's text that may still be typed.
func (p *Page) typedModel(text string) {
	p.pasting.shown = text
	if text == p.modelText() {
		return
	}
	p.pasting.id++
	p.pasting.text, p.pasting.pending = text, true
	id := p.pasting.id
	p.later(readAfter, func() {
		if id != p.pasting.id {
			return
		}
		p.shown.Workshop.Imports.Reading = true
		p.render()
		p.later(0, func() { // once that is painted: a long text takes its time
			if id == p.pasting.id {
				p.readModel(text)
			}
		})
	})
}

// readModel makes a text the model.
func (p *Page) readModel(text string) {
	p.pasting.pending = false
	var given *view.Import
	if strings.TrimSpace(text) != "" {
		given = view.Paste(text)
	}
	p.give(given)
}

// give makes what was pasted or dropped the model; nil takes it away.
func (p *Page) give(given *view.Import) {
	p.shown.Workshop.Imports.Reading, p.shown.Workshop.Imports.Refused, p.shown.Workshop.Imports.Open = false, "", true
	state := p.session.State()
	state.Setup = state.Setup.WithImport(given)
	p.edits++ // each is a change of its own
	p.change(island.FieldText+strconv.Itoa(p.edits), state)
	p.render()
}

// modelText is what the field of the model's text stands for.
func (p *Page) modelText() string {
	if p.pasting.pending {
		return p.pasting.text
	}
	if given := p.session.State().Setup.Import; given != nil {
		return given.Text
	}
	return ""
}

// keepModel keeps the text of a model that the address does not carry for the next page of this tab: in the other
// language, or the same one loaded again.
func (p *Page) keepModel() {
	if p.name != view.PageWorkshop {
		return
	}
	p.keep(p.session.State().Setup.Import)
}

// keep keeps a model's text in this tab where no address carries it.
func (p *Page) keep(given *view.Import) {
	if given != nil && !given.Carried() {
		p.document.Keep(given.Text)
	} else {
		p.document.Keep("")
	}
}

// Receive makes the model of a file that the reader has chosen the page's. read calls done once it is read; a file that is
// no model is an error of calc.
func (p *Page) Receive(read func(done func(*view.Import, error))) {
	p.pasting.id++
	p.pasting.pending = false
	id := p.pasting.id
	imports := &p.shown.Workshop.Imports
	imports.Open, imports.Reading, imports.Refused = true, true, ""
	p.render()
	read(func(given *view.Import, err error) {
		switch {
		case id != p.pasting.id: // something else has come
		case err != nil:
			imports.Reading, imports.Refused = false, view.FailureOf(err, p.lang).Message
			p.render()
		default:
			p.give(given)
		}
	})
}

// actImport does what a button of the reader's own model asks for; false for other buttons.
func (p *Page) actImport(action, value string) bool {
	imports := &p.shown.Workshop.Imports
	switch action {
	case island.ActionImport:
		imports.Open = !imports.Open
		p.render()
		if imports.Open {
			p.later(focusAfter, func() { p.focusText(0) })
		}
	case island.ActionRemove:
		p.give(nil)
	case island.ActionFold:
		id := strings.TrimPrefix(value, island.Root)
		folds := map[string]bool{}
		for k, v := range imports.Folds {
			folds[k] = v
		}
		folds[id] = !p.isOpen(value)
		imports.Folds = folds
		p.render()
	case island.ActionLine:
		if n, err := strconv.Atoi(value); err == nil {
			p.focusText(n)
		}
	default:
		return false
	}
	return true
}

// isOpen asks the button of a module whether the modules below are shown.
func (p *Page) isOpen(value string) bool {
	c := p.island(island.Model)
	if c == nil {
		return false
	}
	buttons := c.JSValue().Call("querySelectorAll", `[data-action="`+island.ActionFold+`"]`)
	for i := range buttons.Length() {
		if attributeOf(buttons.Index(i), "data-value") == value {
			return attributeOf(buttons.Index(i), "aria-expanded") == "true"
		}
	}
	return false
}

// focusText brings the keyboard to the model's text, and selects one of its lines.
func (p *Page) focusText(line int) {
	c := p.island(island.Model)
	if c == nil {
		return
	}
	field := c.JSValue().Call("querySelector", `[data-field="`+island.FieldText+`"]`)
	if !field.Truthy() {
		return
	}
	field.Call("focus")
	if line < 1 {
		return
	}
	from := 0
	lines := strings.Split(p.modelText(), "\n")
	for i, s := range lines {
		n := len(utf16.Encode([]rune(s)))
		if i == line-1 {
			field.Call("setSelectionRange", from, from+n)
			// the field scrolls to its selection in some browsers only
			field.Set("scrollTop", field.Get("scrollHeight").Float()*float64(max(i-2, 0))/float64(len(lines)))
			return
		}
		from += n + 1
	}
}

// importField gives one of the fields of the reader's own model a value; false for other fields.
func (p *Page) importField(name, value string) bool {
	state := p.session.State()
	if name == island.FieldText {
		p.typedModel(value)
		return true
	}
	on := value == checked(true)
	if id, ok := strings.CutPrefix(name, island.FieldFreeze); ok {
		state.Setup = state.Setup.With(view.SetupFrozen, view.List(state.Setup.Frozen, id, on))
	} else if id, ok := strings.CutPrefix(name, island.FieldBlock); ok {
		state.Setup = state.Setup.With(view.SetupBlocks, view.List(state.Setup.Blocks, id, on))
	} else {
		return false
	}
	p.change(name, state)
	return true
}

// importValue is what a field of the reader's own model shows.
func (p *Page) importValue(name string) (value string, ours bool) {
	setup := p.session.State().Setup
	if id, ok := strings.CutPrefix(name, island.FieldFreeze); ok {
		return checked(view.ListingOf(setup.Frozen, id) != view.Unlisted), true
	}
	if id, ok := strings.CutPrefix(name, island.FieldBlock); ok {
		return checked(view.ListingOf(setup.Blocks, id) != view.Unlisted), true
	}
	return "", false
}

// syncText has the field of the model's text hold it, where something else than typing has changed it.
func (p *Page) syncText(c *component) {
	if text := p.modelText(); text != p.pasting.shown {
		c.JSValue().Call("querySelector", `[data-field="`+island.FieldText+`"]`).Set("value", text)
		p.pasting.shown = text
	}
}
