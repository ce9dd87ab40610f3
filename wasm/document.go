//go:build js && wasm

package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall/js"
	"time"

	"vrametre/web/chart"
	"vrametre/web/ui"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// document is the page in the browser. It writes only what has changed: each
// crossing into JavaScript costs as much as the arithmetic behind many figures.
type document struct {
	window, root js.Value
	texts        []shownText
	lengths      []shownLength
	charts       []shownChart
	scrubs       []*scrub
	switches     []js.Value // links to the same page in another language
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

type shownChart struct {
	element js.Value
	options func(view.Figures) (chart.Options, error)
	shown   chart.Options
}

// chartsByName are the charts that data-chart names.
var chartsByName = map[string]func(view.Figures) (chart.Options, error){
	island.Where: chart.Where,
}

// unknown stands where a figure is not known while a slider moves.
const unknown = "…"

func newDocument() *document {
	window := js.Global()
	return &document{window: window, root: window.Get("document")}
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
	for _, element := range d.all("[data-scrub]") {
		if s, ok := view.ScrubNamed(attribute(element, "data-scrub")); ok {
			d.scrubs = append(d.scrubs, bindScrub(element, s, page))
		}
	}
	d.switches = d.all("[data-lang-switch]")
	for event, handle := range map[string]func(){
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
func (d *document) Show(f view.Figures) {
	if d.texts == nil {
		d.collect()
	}
	for i := range d.texts {
		t := &d.texts[i]
		text, ok := f.Text(t.ref)
		if !ok {
			text = unknown
		}
		if text != t.shown {
			t.node.Set("nodeValue", text)
			t.shown = text
		}
	}
	for i := range d.lengths {
		l := &d.lengths[i]
		share, _ := f.Share(l.ref)
		if share != l.shown {
			l.style.Call("setProperty", "--share", strconv.FormatFloat(share, 'f', 5, 64))
			l.shown = share
		}
	}
	for _, s := range d.scrubs {
		s.show(f)
	}
	for i := range d.charts {
		c := &d.charts[i]
		options, err := c.options(f)
		if err != nil {
			d.Failed(err)
			continue
		}
		if options != c.shown {
			d.window.Call("vrametreDraw", c.element, string(options))
			c.shown = options
		}
	}
}

// collect finds what shows figures. The islands must be in place.
func (d *document) collect() {
	for _, element := range d.all("[data-v]") {
		node := element.Get("firstChild")
		if !node.Truthy() {
			node = d.root.Call("createTextNode", "")
			element.Call("append", node)
		}
		d.texts = append(d.texts, shownText{node, attribute(element, "data-v"), node.Get("nodeValue").String()})
	}
	for _, element := range d.all("[data-share]") {
		d.lengths = append(d.lengths, shownLength{element.Get("style"), attribute(element, "data-share"), math.NaN()})
	}
	for _, element := range d.all("[data-chart]") {
		if options, ok := chartsByName[attribute(element, "data-chart")]; ok {
			d.charts = append(d.charts, shownChart{element: element, options: options})
		}
	}
}

// Fragment writes the address.
func (d *document) Fragment(state string) {
	for _, link := range d.switches {
		link.Set("hash", state)
	}
	location := d.window.Get("location")
	address := location.Get("pathname").String() + location.Get("search").String()
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
	text := address.Get("href")
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
	d.root.Get("body").Get("dataset").Set("ready", "")
	dispatch("ready", nil)
}

// Failed has the boot script tell the reader, and the console the rest.
func (d *document) Failed(err error) {
	d.window.Get("console").Call("error", err.Error())
	dispatch("panic", nil)
}
