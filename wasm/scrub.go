//go:build js && wasm

package main

import (
	"strconv"
	"syscall/js"
	"time"

	"vrametre/web/ui"
	"vrametre/web/view"
)

// scrub is a number in a sentence that the reader can drag, step or type.
type scrub struct {
	view.Scrub
	element, node js.Value
	page          *ui.Page
	shown         string
	labelled      bool
	typing        ui.Typing
	drag          struct {
		on   bool
		x    float64
		from int64
		move js.Func
	}
}

func bindScrub(element js.Value, s view.Scrub, page *ui.Page) *scrub {
	b := &scrub{Scrub: s, element: element, node: element.Get("firstChild"), page: page}
	b.shown = b.node.Get("nodeValue").String()
	for name, value := range map[string]any{
		"role": "slider", "tabindex": 0, "aria-valuemin": s.Min, "aria-valuemax": s.Max,
	} {
		element.Call("setAttribute", name, value)
	}
	b.drag.move = b.handler(b.dragged)
	element.Call("addEventListener", "pointerdown", b.handler(b.pressed))
	element.Call("addEventListener", "keydown", b.handler(b.key))
	for _, end := range []string{"pointerup", "pointercancel", "lostpointercapture"} {
		element.Call("addEventListener", end, b.handler(b.released))
	}
	return b
}

func (b *scrub) handler(f func(event js.Value)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		b.page.Guard(func() { f(args[0]) })
		return nil
	})
}

func (b *scrub) value() int64 { return b.page.State().Value(b.Name) }

func (b *scrub) set(n int64) { b.page.Set(b.Name, strconv.FormatInt(n, 10)) }

func (b *scrub) pressed(event js.Value) {
	if event.Get("button").Int() != 0 || b.drag.on {
		return
	}
	event.Call("preventDefault") // no selection of text
	b.element.Call("focus", map[string]any{"preventScroll": true})
	b.element.Call("setPointerCapture", event.Get("pointerId"))
	b.page.Hold(true)
	b.drag.on, b.drag.x, b.drag.from = true, event.Get("clientX").Float(), b.value()
	b.element.Call("addEventListener", "pointermove", b.drag.move)
}

func (b *scrub) dragged(event js.Value) {
	b.set(ui.Drag(b.Scrub, b.drag.from, event.Get("clientX").Float()-b.drag.x))
}

func (b *scrub) released(js.Value) {
	if b.drag.on {
		b.drag.on = false
		b.page.Hold(false)
		b.element.Call("removeEventListener", "pointermove", b.drag.move)
	}
}

func (b *scrub) key(event js.Value) {
	if event.Get("ctrlKey").Bool() || event.Get("metaKey").Bool() || event.Get("altKey").Bool() {
		return
	}
	n, ok := b.typing.Key(b.Scrub, b.value(), event.Get("key").String(), time.Now())
	if ok {
		event.Call("preventDefault")
		b.set(n)
	}
}

// show writes the number and what assistive technology reads of it.
func (b *scrub) show(f view.Figures) {
	if !b.labelled {
		b.element.Call("setAttribute", "aria-label", f.ScrubLabel(b.Name))
		b.labelled = true
	}
	text := f.ScrubText(b.Name)
	if now := f.Scene().State.Value(b.Name); text != b.shown || !b.element.Call("hasAttribute", "aria-valuenow").Bool() {
		b.node.Set("nodeValue", text)
		b.element.Call("setAttribute", "aria-valuenow", now)
		b.element.Call("setAttribute", "aria-valuetext", text)
		b.shown = text
	}
}
