//go:build js && wasm

package main

import (
	"strings"
	"syscall/js"

	"vrametre/web/ui"
	"vrametre/web/view"
)

// linked lights up all that shows one kind of memory, in sentences, tank, bars,
// figures and tables, while the reader points at one of them or focuses it. The
// body names the kind; the style sheet does the rest.
type linked struct {
	body js.Value
	// pinned stays lit when the reader goes on; it is a word's, pressed.
	pointed, focused, pinned string
	words                    []js.Value
	shown                    string
}

// kinded are the elements that name their kind, by attribute or by class. What
// the reader moves is none of them: all else would fade while it moves.
const kinded = "[data-kind],.num,.word,.vessel i,.box i,.bar i"

func bindKinds(d *document, page *ui.Page) *linked {
	l := &linked{body: d.root.Get("body"), words: d.all(".kind[data-kind]")}
	on := func(element js.Value, event string, handle func(event js.Value)) {
		d.figures.on(element, event, handle)
	}
	hint := view.Text(page.Figures().Lang(), "linked.show", nil)
	for _, word := range l.words {
		for name, value := range map[string]any{"role": "button", "tabindex": 0, "aria-pressed": false, "title": hint} {
			word.Call("setAttribute", name, value)
		}
		on(word, "click", func(js.Value) { l.pin(attribute(word, "data-kind")) })
		on(word, "keydown", func(event js.Value) {
			switch event.Get("key").String() {
			case "Enter", " ":
				event.Call("preventDefault")
				l.pin(attribute(word, "data-kind"))
			case "Escape":
				l.pin("")
			}
		})
	}
	on(d.root, "pointerover", func(event js.Value) { l.pointed = kindOf(event.Get("target")); l.show() })
	on(d.root.Get("documentElement"), "pointerleave", func(js.Value) { l.pointed = ""; l.show() })
	on(d.root, "focusin", func(event js.Value) {
		// A pointer leaves the focus behind where it clicked, and has gone on.
		if target := event.Get("target"); target.Call("matches", ":focus-visible").Bool() {
			l.focused = kindOf(target)
			l.show()
		}
	})
	on(d.root, "focusout", func(js.Value) { l.focused = ""; l.show() })
	return l
}

// pin keeps a kind lit; the kind that is already, or none, lets go of it.
func (l *linked) pin(kind string) {
	if l.pinned == kind {
		kind = ""
	}
	l.pinned = kind
	for _, word := range l.words {
		word.Call("setAttribute", "aria-pressed", kind != "" && attribute(word, "data-kind") == kind)
	}
	l.show()
}

func (l *linked) show() {
	kind := l.pointed
	if kind == "" {
		kind = l.focused
	}
	if kind == "" {
		kind = l.pinned
	}
	if kind == l.shown {
		return
	}
	l.shown = kind
	if kind == "" {
		l.body.Call("removeAttribute", "data-lit")
	} else {
		l.body.Call("setAttribute", "data-lit", kind)
	}
}

// kindOf is the kind of memory that an element belongs to, or "".
func kindOf(target js.Value) string {
	if target.Get("closest").IsUndefined() { // the document itself
		return ""
	}
	element := target.Call("closest", kinded)
	if element.IsNull() {
		return ""
	}
	if kind := attribute(element, "data-kind"); kind != "" {
		return kind
	}
	for class := range strings.FieldsSeq(attribute(element, "class")) {
		for _, kind := range view.Kinds {
			if class == "k-"+kind || class == kind[:1] {
				return kind
			}
		}
	}
	return ""
}

// look lights up what the arrow keys have come to inside a drawing.
func (l *linked) look(piece js.Value) {
	l.focused = kindOf(piece)
	l.show()
}
