//go:build js && wasm

package main

import (
	"slices"
	"strconv"
	"syscall/js"
	"time"

	"vrametre/web/figure"
	"vrametre/web/ui"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// figures are the drawings of the document. One outside the window does no
// work: it is drawn when it comes near, and before the page is printed. One that
// is near follows once the reader pauses, one in sight at every move.
type figures struct {
	d    *document
	page *ui.Page
	all  []*shownFigure

	quizzes []*quiz
	linked  *linked

	subject *figure.Subject
	// paused says that the subject is whole: the reader is not moving anything.
	paused bool
	// curve is the memory by batch size for the settings that key names, plan
	// the one being computed, tracing says that it goes on.
	curve   *figure.Curve
	plan    *figure.Plan
	tracing bool
	key     view.State
}

type shownFigure struct {
	name    string
	element js.Value
	parts   map[string]*shownPart
	// near: in the window or about to be; inSight: a part of it can be seen.
	near, inSight bool
	// behind are the parts that no longer show the subject.
	behind figure.When
}

type shownPart struct {
	element js.Value
	// nodes are what has been drawn into it, tree their elements; no tree:
	// nothing has, and the element is as the document came with it.
	nodes []markup.Node
	tree  *drawnNode
	// closed: in a <details> that is not open.
	closed     bool
	attributes map[string]string
}

// slice is how long a curve may be computed between two frames.
const slice = 6 * time.Millisecond

func newFigures(d *document, page *ui.Page) *figures {
	f := &figures{d: d, page: page}
	f.subject = figure.Of(page.Figures())
	for _, element := range d.all("[data-puzzle]") {
		f.bindPuzzle(element)
	}
	for _, element := range d.all("[data-figure]") {
		f.bind(element)
	}
	for _, element := range d.all("[data-quiz]") {
		f.bindQuiz(element)
	}
	f.observe("25%", func(shown *shownFigure, in bool) { shown.near = in })
	f.observe("0px", func(shown *shownFigure, in bool) { shown.inSight = in })
	return f
}

// observe tells which figures are in the window with a margin around it, and draws those that come.
func (f *figures) observe(margin string, tell func(*shownFigure, bool)) {
	observer := f.d.window.Get("IntersectionObserver").New(f.handler(func(args []js.Value) {
		entries := args[0]
		for i := range entries.Length() {
			entry := entries.Index(i)
			for _, shown := range f.all {
				if shown.element.Equal(entry.Get("target")) {
					in := entry.Get("isIntersecting").Bool()
					if tell(shown, in); in {
						f.draw(shown, shown.behind)
						f.trace()
					}
				}
			}
		}
	}), map[string]any{"rootMargin": margin})
	for _, shown := range f.all {
		observer.Call("observe", shown.element)
	}
}

func (f *figures) handler(handle func(args []js.Value)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		f.page.Guard(func() { handle(args) })
		return nil
	})
}

func (f *figures) on(element js.Value, event string, handle func(event js.Value)) {
	element.Call("addEventListener", event, f.handler(func(args []js.Value) { handle(args[0]) }))
}

// bind finds the parts of a figure and listens to its controls.
func (f *figures) bind(element js.Value) {
	shown := &shownFigure{name: attribute(element, "data-figure"), element: element, parts: map[string]*shownPart{}}
	for _, part := range within(element, "[data-part]") {
		shown.parts[attribute(part, "data-part")] = &shownPart{element: part}
	}
	for _, twin := range within(element, "details") {
		for _, part := range shown.parts {
			if twin.Call("contains", part.element).Bool() {
				part.closed = !twin.Get("open").Bool()
				f.on(twin, "toggle", func(js.Value) {
					part.closed = !twin.Get("open").Bool()
					f.draw(shown, shown.behind)
				})
			}
		}
	}
	for _, slider := range within(element, "[data-cursor]") {
		f.on(slider, "input", func(js.Value) {
			if i, err := strconv.Atoi(slider.Get("value").String()); err == nil {
				f.look(i)
			}
		})
	}
	for _, button := range within(element, "[data-copy]") {
		f.on(button, "click", func(js.Value) {
			f.d.tellCopy(js.ValueOf(figure.LayersText(f.subject, attribute(button, "data-copy"))), element.Call("querySelector", ".said"))
		})
	}
	f.on(element, "click", func(event js.Value) {
		if button := event.Get("target").Call("closest", "[data-sort]"); button.Truthy() {
			column := attribute(button, "data-sort")
			f.subject.Sort = f.subject.Sort.By(column)
			f.draw(shown, figure.Sorted)
			element.Call("querySelector", `[data-sort="`+column+`"]`).Call("focus")
		}
	})
	for _, plot := range within(element, "[data-plot]") {
		f.bindPlot(plot)
	}
	for _, browsed := range within(element, "[data-browse]") {
		f.bindBrowser(browsed, element.Call("querySelector", ".readout"))
	}
	f.all = append(f.all, shown)
}

func within(element js.Value, selector string) []js.Value {
	list := element.Call("querySelectorAll", selector)
	found := make([]js.Value, list.Length())
	for i := range found {
		found[i] = list.Index(i)
	}
	return found
}

// bindPlot lets the pointer walk along a timeline.
func (f *figures) bindPlot(plot js.Value) {
	walk := func(event js.Value) {
		box := plot.Call("getBoundingClientRect")
		place := (event.Get("clientX").Float() - box.Get("left").Float()) / box.Get("width").Float()
		f.look(figure.At(&f.subject.Now, min(1, max(0, place))))
	}
	f.on(plot, "pointerdown", func(event js.Value) {
		if event.Get("button").Int() == 0 {
			plot.Call("setPointerCapture", event.Get("pointerId"))
			walk(event)
		}
	})
	f.on(plot, "pointermove", func(event js.Value) {
		if event.Get("buttons").Int() == 1 {
			walk(event)
		}
	})
}

// look moves the timeline's cursor.
func (f *figures) look(column int) {
	if f.subject.Cursor == column {
		return
	}
	f.subject.Cursor = column
	f.d.Frame(func() {
		f.page.Guard(func() {
			for _, shown := range f.all {
				if shown.near {
					f.draw(shown, figure.Looked)
				}
			}
		})
	})
}

// bindBrowser lets the pointer and the arrow keys ask the pieces of a drawing
// what they are.
func (f *figures) bindBrowser(browsed, readout js.Value) {
	hint := readout.Get("textContent").String()
	var lit js.Value
	at := -1
	tell := func(piece js.Value) {
		if lit.Truthy() {
			lit.Get("classList").Call("remove", "lit")
		}
		lit = piece
		words := hint
		if piece.Truthy() {
			piece.Get("classList").Call("add", "lit")
			words = attribute(piece, "data-tip")
		}
		readout.Get("classList").Call("toggle", "told", piece.Truthy())
		if readout.Get("textContent").String() != words {
			readout.Set("textContent", words)
		}
	}
	browsed.Set("tabIndex", 0)
	f.on(browsed, "pointerover", func(event js.Value) {
		if piece := event.Get("target").Call("closest", "[data-tip]"); piece.Truthy() {
			tell(piece)
		}
	})
	f.on(browsed, "pointerleave", func(js.Value) { tell(js.Null()) })
	f.on(browsed, "blur", func(js.Value) { tell(js.Null()) })
	f.on(browsed, "keydown", func(event js.Value) {
		pieces := within(browsed, "[data-tip]")
		last := len(pieces) - 1
		switch event.Get("key").String() {
		case "ArrowRight", "ArrowDown":
			at++
		case "ArrowLeft", "ArrowUp":
			at--
		case "Home":
			at = 0
		case "End":
			at = last
		case "Escape":
			tell(js.Null())
			return
		default:
			return
		}
		event.Call("preventDefault")
		if at = min(last, max(0, at)); at >= 0 {
			tell(pieces[at])
			f.linked.look(pieces[at])
		}
	})
}

// show takes a new subject. fresh says that the document already shows it, as
// it came; key names the settings that a curve depends on.
func (f *figures) show(s *figure.Subject, key view.State, paused, fresh bool) {
	s.Cursor, s.Sort = f.subject.Cursor, f.subject.Sort
	if figure.Columns(&s.Now) != figure.Columns(&f.subject.Now) {
		s.Cursor = figure.AtPeak
	}
	if key != f.key {
		f.curve, f.plan, f.key = nil, nil, key
	}
	s.Curve = f.curve
	f.subject, f.paused = s, paused
	changed := figure.Always | figure.Looked
	if paused {
		changed |= figure.Late
	}
	for _, shown := range f.all {
		if fresh {
			continue
		}
		shown.behind |= changed
		if shown.near && (paused || shown.inSight) {
			f.draw(shown, changed)
		}
	}
	if paused {
		if !fresh {
			for _, q := range f.quizzes {
				q.show(s)
			}
		}
		f.trace()
	}
}

// draw brings a figure's parts to the subject.
func (f *figures) draw(shown *shownFigure, when figure.When) {
	if when == 0 {
		return
	}
	if !f.paused {
		when &^= figure.Late
	}
	shown.behind &^= when
	for _, drawn := range figure.Parts(shown.name, f.subject, when) {
		part := shown.parts[drawn.Name]
		if part.closed {
			shown.behind |= figure.Late
			continue
		}
		part.draw(drawn.Nodes)
		part.set(drawn.Attributes)
	}
}

// drawnNode is an element or a text of a drawing, found again when it changes.
type drawnNode struct {
	js.Value
	kids []*drawnNode
}

func (n *drawnNode) kid(i int) *drawnNode {
	for len(n.kids) <= i {
		n.kids = append(n.kids, nil)
	}
	if n.kids[i] == nil {
		n.kids[i] = &drawnNode{Value: n.Get("childNodes").Index(i)}
	}
	return n.kids[i]
}

// draw shows nodes, keeping the elements that are there already.
func (p *shownPart) draw(nodes []markup.Node) {
	if p.tree == nil {
		p.tree = &drawnNode{Value: p.element}
		refill(p.element, markup.HTML(nodes))
	} else {
		markup.Diff(p.nodes, nodes, p.change)
	}
	p.nodes = nodes
}

func (p *shownPart) change(c markup.Change) {
	n := p.tree
	for _, i := range c.Path {
		n = n.kid(i)
	}
	switch c.Kind {
	case markup.SetAttribute:
		n.Call("setAttribute", c.Name, c.Value)
	case markup.RemoveAttribute:
		n.Call("removeAttribute", c.Name)
	case markup.SetText:
		n.Set("nodeValue", c.Value)
	case markup.SetInside:
		refill(n.Value, c.Value)
		n.kids = nil
	}
}

// refill writes an element anew. The focus in it goes to what stands in the same
// place: a figure may be drawn just because the Tab key brought it into sight.
func refill(element js.Value, html string) {
	active := js.Global().Get("document").Get("activeElement")
	if !element.Call("contains", active).Bool() {
		element.Set("innerHTML", html)
		return
	}
	const controls = "a[href], button, input, select, summary, [tabindex]"
	at := slices.IndexFunc(within(element, controls), active.Equal)
	element.Set("innerHTML", html)
	if now := within(element, controls); at >= 0 && at < len(now) {
		now[at].Call("focus", map[string]any{"preventScroll": true})
	}
}

func (p *shownPart) set(attributes []markup.Attr) {
	for _, a := range attributes {
		if p.attributes[a.Name] == a.Value {
			continue
		}
		if p.attributes == nil {
			p.attributes = map[string]string{}
		}
		p.attributes[a.Name] = a.Value
		p.element.Call("setAttribute", a.Name, a.Value)
		if a.Name == "value" {
			p.element.Set("value", a.Value)
		}
	}
}

func (f *figures) drawAll() {
	for _, shown := range f.all {
		f.draw(shown, shown.behind)
	}
}

// trace computes the memory by batch size for the figure that shows it, a few
// milliseconds at a time, while the reader pauses and looks at it.
func (f *figures) trace() {
	s := f.subject
	at := slices.IndexFunc(f.all, func(shown *shownFigure) bool { return shown.name == figure.Memory })
	if at < 0 || !f.all[at].near || !f.paused || f.tracing || s.Now.MaxBatch == nil {
		return
	}
	if f.plan == nil {
		if f.curve != nil && s.Request.Batch <= f.curve.Top {
			return
		}
		f.plan = figure.NewPlan(s.Request, *s.Now.MaxBatch)
	}
	f.tracing = true
	f.d.After(0, func() { f.page.Guard(func() { f.traceOn(f.all[at]) }) })
}

func (f *figures) traceOn(shown *shownFigure) {
	plan := f.plan
	if f.tracing = plan != nil && f.paused; !f.tracing { // the reader moves something
		return
	}
	for began := time.Now(); time.Since(began) < slice; {
		done, err := plan.Step()
		if err != nil {
			f.tracing = false
			if !ui.IsFault(err) { // a model that has no answer at some batch has no curve
				f.d.Failed(err)
			}
			return
		}
		if done {
			f.curve, f.plan, f.tracing = plan.Curve(), nil, false
			f.subject.Curve = f.curve
			f.draw(shown, figure.Always|figure.Late)
			return
		}
	}
	f.d.After(0, func() { f.page.Guard(func() { f.traceOn(shown) }) })
}
