//go:build js && wasm

package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall/js"
	"time"

	"vrametre/calc"
	"vrametre/web/chart"
	"vrametre/web/figure"
	"vrametre/web/ui"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// document is the page in the browser. It writes only what has changed: each
// crossing into JavaScript costs as much as the arithmetic behind many figures.
type document struct {
	window, root js.Value
	places       []*place
	controls     []shownControl
	scrubs       []*scrub
	switches     []js.Value // links to other pages that take the state along
	figures      *figures
	choices      []js.Value // radio buttons outside the islands
	fresh        bool       // nothing has been shown but what the document came with
	frame        *frame     // nil: not a page for frames of other sites
	untouched    func() bool
	explain      func() // makes buttons of the numbers, once the islands are in place
	shared       func() // takes what another application shares; nil where nothing is taken
	last         view.Figures
	guard        func(func())
}

func newDocument() *document {
	window := js.Global()
	d := &document{window: window, root: window.Get("document"), fresh: true}
	d.frame = newFrame(d)
	return d
}

func (d *document) all(selector string) []js.Value {
	list := d.root.Call("querySelectorAll", selector)
	elements := make([]js.Value, list.Length())
	for i := range elements {
		elements[i] = list.Index(i)
	}
	return elements
}

func attribute(element js.Value, name string) string {
	value := element.Call("getAttribute", name)
	if value.IsNull() {
		return ""
	}
	return value.String()
}

// fragment is the address's, without its "#".
func (d *document) fragment() string {
	return strings.TrimPrefix(d.window.Get("location").Get("hash").String(), "#")
}

// islandNames lists the islands that this document has.
func (d *document) islandNames() []string {
	var names []string
	for _, slot := range d.all("[data-island]") {
		if name := attribute(slot, "data-island"); slices.Contains(island.Names, name) {
			names = append(names, name)
		}
	}
	return names
}

// listen follows the address and everything else that is no island's.
func (d *document) listen(page *ui.Page) {
	d.guard = page.Guard
	for _, element := range d.all("[data-scrub]") {
		if s, ok := view.ScrubNamed(attribute(element, "data-scrub")); ok {
			d.scrubs = append(d.scrubs, bindScrub(element, s, page))
		}
	}
	d.switches = d.all("[data-lang-switch], [data-state-link]")
	d.carry(page.Address())
	d.figures = newFigures(d, page)
	d.figures.linked = bindKinds(d, page)
	if calc.Whole && slices.Contains(d.islandNames(), island.Model) {
		bindFiles(d, page)
	}
	if calc.Whole && slices.Contains(d.islandNames(), island.OOM) && d.frame == nil {
		d.shared = func() { bindShared(d, page) }
	}
	for _, button := range d.all("[data-copies]") {
		d.figures.on(button, "click", func(js.Value) {
			copied := d.root.Call("getElementById", attribute(button, "data-copies"))
			d.tellCopy(copied.Get("textContent"), button.Get("parentElement").Call("querySelector", ".said"))
		})
	}
	d.explain = func() { bindNumbers(d, page) }
	d.untouched = page.Untouched
	d.choices = d.all("[data-set]")
	for _, choice := range d.choices {
		d.figures.on(choice, "change", func(js.Value) { page.Set(attribute(choice, "data-set"), attribute(choice, "value")) })
	}
	printed := d.root.Call("querySelector", ".printed")
	for event, handle := range map[string]func(){
		"beforeprint": func() {
			page.Leave()
			d.figures.drawAll()
			if printed.IsNull() { // a piece of the page, in another site's
				return
			}
			date := js.Global().Get("Date").New().Call("toLocaleDateString", d.root.Get("documentElement").Get("lang"), map[string]any{"dateStyle": "long"})
			printed.Set("textContent", view.Text(page.Figures().Lang(), "page.printed", view.Args{"date": date.String(), "address": d.window.Get("location").Get("href").String()}))
		},
		"hashchange":     func() { page.Navigate(d.fragment()) },
		"pagehide":       page.Leave,
		"vrametre:leave": page.Leave,
	} {
		d.window.Call("addEventListener", event, js.FuncOf(func(js.Value, []js.Value) any {
			page.Guard(handle)
			return nil
		}))
	}
}

// Frame calls f before the next frame.
func (d *document) Frame(f func()) { d.once("requestAnimationFrame", f) }

// After calls f after a time.
func (d *document) After(t time.Duration, f func()) { d.once("setTimeout", f, t.Milliseconds()) }

func (d *document) once(function string, f func(), args ...any) {
	var callback js.Func
	callback = js.FuncOf(func(js.Value, []js.Value) any {
		callback.Release()
		f()
		return nil
	})
	d.window.Call(function, append([]any{callback}, args...)...)
}

// Show writes the figures into whatever shows them.
func (d *document) Show(f view.Figures, moving bool) {
	if d.places == nil {
		d.collect()
	}
	d.last = f
	for _, p := range d.places {
		if moving && !p.seen {
			p.late = true
			continue
		}
		p.show(d, f, moving)
	}
	state := f.Scene().State
	for i := range d.controls {
		c := &d.controls[i]
		if value := ui.Value(state, c.name); value != c.shown {
			c.element.Set("value", value)
			if c.slider {
				c.element.Call("setAttribute", "aria-valuetext", f.ScrubText(c.name))
			}
			c.shown = value
		}
	}
	for _, choice := range d.choices {
		if checked := ui.Value(state, attribute(choice, "data-set")) == attribute(choice, "value"); checked != choice.Get("checked").Bool() {
			choice.Set("checked", checked)
		}
	}
	for _, s := range d.scrubs {
		s.show(f)
	}
	if d.frame != nil && !moving {
		d.frame.tell(f)
	}
	d.figures.show(figure.Of(f), state.With(view.ScrubBatch, 1), !moving, d.fresh && d.untouched())
	d.fresh = false
}

// place is a part of the page that is seen or not as a whole.
type place struct {
	seen bool
	// late says that something in it has not been written while it was out of sight.
	late    bool
	texts   []shownText
	lengths []shownLength
	tones   []shownTone
	charts  []shownChart
}

type shownText struct {
	node       js.Value
	ref, shown string
}

type shownLength struct {
	style js.Value
	ref   string
	shown float64
}

type shownTone struct {
	element js.Value
	shown   string
}

type shownChart struct {
	element js.Value
	drawing
	shape string
	shown chart.Options
	// moving says that it was shown so.
	moving bool
}

type shownControl struct {
	element     js.Value
	name, shown string
	slider      bool
}

// drawing makes the options of a chart.
type drawing struct {
	whole, moved func(view.Figures) (chart.Options, error)
	shape        func(view.Figures) string
}

// drawings are the charts that data-chart names.
var drawings = map[string]drawing{
	island.Where: {chart.Where, chart.WhereMoved, chart.WhereShape},
}

// unknown stands where a figure is not known while a slider moves.
const unknown = "…"

func (p *place) show(d *document, f view.Figures, moving bool) {
	p.late = false
	for i := range p.texts {
		t := &p.texts[i]
		text, ok := f.Text(t.ref)
		if !ok {
			text = unknown
		}
		if text != t.shown {
			t.node.Set("nodeValue", text)
			t.shown = text
		}
	}
	for i := range p.lengths {
		l := &p.lengths[i]
		share, _ := f.Share(l.ref)
		if share != l.shown {
			l.style.Call("setProperty", "--share", strconv.FormatFloat(share, 'f', 5, 64))
			l.shown = share
		}
	}
	for i := range p.tones {
		t := &p.tones[i]
		if tone := string(f.Tone()); tone != t.shown {
			t.element.Call("setAttribute", "data-tone", tone)
			t.shown = tone
		}
	}
	for i := range p.charts {
		p.charts[i].show(d, f, moving)
	}
}

func (c *shownChart) show(d *document, f view.Figures, moving bool) {
	shape := c.drawing.shape(f)
	part := c.shown != "" && shape == c.shape
	options := c.whole
	if part {
		options = c.moved
	}
	text, err := options(f)
	if err != nil {
		d.Failed(err)
		return
	}
	if text != c.shown || c.moving && !moving {
		d.window.Call("vrametreDraw", c.element, string(text), part, moving)
		c.shown, c.shape, c.moving = text, shape, moving
	}
}

// collect finds what shows figures. The islands must be in place.
func (d *document) collect() {
	byElement := map[int]*place{}
	observe := d.observer(byElement)
	var everywhere *place
	at := func(element js.Value) *place {
		section := element.Call("closest", "section")
		if section.IsNull() { // beside the sections: always in sight
			if everywhere == nil {
				everywhere = &place{seen: true}
				d.places = append(d.places, everywhere)
			}
			return everywhere
		}
		if id := section.Get("vrametrePlace"); !id.IsUndefined() {
			return byElement[id.Int()]
		}
		p := &place{}
		id := len(byElement)
		section.Set("vrametrePlace", id)
		byElement[id] = p
		d.places = append(d.places, p)
		observe(section)
		return p
	}
	for _, element := range d.all("[data-v]") {
		node := element.Get("firstChild")
		if !node.Truthy() {
			node = d.root.Call("createTextNode", "")
			element.Call("append", node)
		}
		p := at(element)
		p.texts = append(p.texts, shownText{node, attribute(element, "data-v"), node.Get("nodeValue").String()})
	}
	for _, element := range d.all("[data-share]") {
		p := at(element)
		p.lengths = append(p.lengths, shownLength{element.Get("style"), attribute(element, "data-share"), math.NaN()})
	}
	for _, element := range d.all("[data-tone]") {
		p := at(element)
		p.tones = append(p.tones, shownTone{element, attribute(element, "data-tone")})
	}
	for _, element := range d.all("[data-chart]") {
		if drawing, ok := drawings[attribute(element, "data-chart")]; ok {
			p := at(element)
			p.charts = append(p.charts, shownChart{element: element, drawing: drawing})
		}
	}
	for _, element := range d.all("[data-control]") {
		d.controls = append(d.controls, shownControl{element: element, name: attribute(element, "data-control"), slider: attribute(element, "type") == "range"})
	}
}

// observer watches which places are in sight, or about to be.
func (d *document) observer(places map[int]*place) (observe func(js.Value)) {
	observer := d.window.Get("IntersectionObserver").New(js.FuncOf(func(_ js.Value, args []js.Value) any {
		for i := range args[0].Length() {
			entry := args[0].Index(i)
			p := places[entry.Get("target").Get("vrametrePlace").Int()]
			p.seen = entry.Get("isIntersecting").Bool()
			if p.seen && p.late {
				d.guard(func() { p.show(d, d.last, false) })
			}
		}
		return nil
	}), map[string]any{"rootMargin": "25%"})
	return func(element js.Value) { observer.Call("observe", element) }
}

// carry has the links to other pages take a state along.
func (d *document) carry(state string) {
	for _, link := range d.switches {
		link.Set("hash", state)
	}
}

// Visit leaves for another page of this language, in the place of this one: the
// two lie in folders side by side.
func (d *document) Visit(page, state string) {
	d.window.Get("location").Call("replace", "../"+page+"/#"+state)
}

// Fragment writes the address.
func (d *document) Fragment(state string) {
	d.carry(state)
	location := d.window.Get("location")
	address := location.Get("pathname").String() + location.Get("search").String()
	if d.frame != nil {
		state = d.frame.address(state)
	}
	if state != "" {
		address += "#" + state
	}
	defer func() {
		// Refused in some frames, and by browsers when it is written too often: the state stays on the page.
		if refused := recover(); refused != nil {
			d.window.Get("console").Call("warn", "the address cannot be written")
		}
	}()
	d.window.Get("history").Call("replaceState", d.window.Get("history").Get("state"), "", address)
}

// Copy copies the address with a state.
func (d *document) Copy(fragment string, done func(bool)) {
	address := d.window.Get("URL").New(d.window.Get("location").Get("href"))
	address.Set("hash", fragment)
	d.copyText(address.Get("href"), done)
}

// copyText copies a text, and tells whether it could.
func (d *document) copyText(text js.Value, done func(bool)) {
	clipboard := d.window.Get("navigator").Get("clipboard")
	if !clipboard.Truthy() { // not on http://
		done(d.copySelection(text))
		return
	}
	var copied, refused js.Func
	release := func() { copied.Release(); refused.Release() }
	copied = js.FuncOf(func(js.Value, []js.Value) any { release(); done(true); return nil })
	refused = js.FuncOf(func(js.Value, []js.Value) any { release(); done(d.copySelection(text)); return nil })
	clipboard.Call("writeText", text).Call("then", copied, refused)
}

// tellCopy copies a text, and says beside it whether it could.
func (d *document) tellCopy(text, said js.Value) {
	d.copyText(text, func(copied bool) {
		words := attribute(said, "data-refused")
		if copied {
			words = attribute(said, "data-said")
		}
		said.Set("textContent", words)
	})
}

// copySelection copies through a selected field, the way before clipboards.
func (d *document) copySelection(text js.Value) bool {
	focused := d.root.Get("activeElement")
	field := d.root.Call("createElement", "textarea")
	field.Set("value", text)
	field.Get("style").Set("cssText", "position:fixed;opacity:0")
	d.root.Get("body").Call("append", field)
	field.Call("select")
	copied := d.root.Call("execCommand", "copy").Bool()
	field.Call("remove")
	if focused.Truthy() {
		focused.Call("focus", map[string]any{"preventScroll": true})
	}
	return copied
}

// Ready tells the scripts and the style sheet that the page is awake.
func (d *document) Ready() {
	d.explain()
	d.root.Get("body").Get("dataset").Set("ready", "")
	dispatch("ready", nil)
	if d.shared != nil {
		d.shared()
	}
}

// Failed has the boot script tell the reader, and the console the rest.
func (d *document) Failed(err error) {
	d.window.Get("console").Call("error", err.Error())
	dispatch("panic", nil)
}
