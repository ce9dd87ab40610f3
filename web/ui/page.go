// Package ui is the live page: go-app islands in a static document, and the
// one state that they, the numbers in the sentences and the chart show.
package ui

import (
	"strings"
	"time"

	"github.com/maxence-charriere/go-app/v10/pkg/app"

	"vrametre/content"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// Document is the part of the browser that the page works on.
type Document interface {
	// Frame calls f before the next frame is painted.
	Frame(f func())
	// After calls f once, after a time.
	After(d time.Duration, f func())
	// Place puts a mounted island where its static form stands, and returns the
	// values that the reader has given to controls of that form meanwhile.
	Place(name string, mounted app.Value) map[string]string
	// Show writes figures into the texts, lengths, controls and charts of the
	// document. While they move, what is out of sight may be left as it was.
	Show(f view.Figures, moving bool)
	// Fragment writes the state into the address, without a new entry in the
	// history; "" is no state.
	Fragment(state string)
	// Copy copies the address with a state, and tells whether it could.
	Copy(fragment string, done func(bool))
	// Ready tells the document that all islands are in place.
	Ready()
	// Failed tells the document that a part of the program has panicked.
	Failed(error)
}

// How long the reader must pause before the costly answers follow, and before
// the address does; how often go-app compares the islands while they move: all
// that is seen of a move is written by Document.Show before the next frame, and
// go-app brings the rest, such as texts for assistive technology.
const (
	settleAfter  = 150 * time.Millisecond
	addressAfter = 400 * time.Millisecond
	renderEvery  = 100 * time.Millisecond
	saidFor      = 4 * time.Second
)

// Page holds the islands of one document together.
type Page struct {
	document Document
	lang     content.Lang
	session  *Session
	scene    view.Scene
	islands  []*component
	placed   int

	// said is what the toolbar shows until it is replaced or saidID is outdated.
	said   string
	saidID int

	framed  bool // a frame is asked for
	due     bool // a rendering is
	moved   int  // counts changes, to tell whether the reader has paused since
	written bool // the address holds a state
}

// NewPage prepares the islands of a document, with the state of its address,
// without the "#".
func NewPage(d Document, lang content.Lang, fragment string, islands []string) (*Page, error) {
	state := view.ParseFragment(fragment)
	scene, err := view.Compute(state)
	if err != nil {
		return nil, err
	}
	p := &Page{document: d, lang: lang, session: NewSession(state), scene: scene, written: isState(fragment)}
	for _, name := range islands {
		p.islands = append(p.islands, &component{page: p, name: name})
	}
	return p, nil
}

// Root is the component that go-app mounts.
func (p *Page) Root() app.Composer { return &root{page: p} }

// Figures reads the page's scene.
func (p *Page) Figures() view.Figures { return view.NewFigures(p.scene, p.lang) }

// Guard runs f and reports a panic instead of letting it end the program.
func (p *Page) Guard(f func()) {
	defer func() {
		if panicked := recover(); panicked != nil {
			p.document.Failed(failure(panicked))
		}
	}()
	f()
}

// Set gives a control a value on behalf of the reader.
func (p *Page) Set(control, value string) {
	p.change(control, Set(p.session.State(), control, value))
}

// State is what the reader has chosen, even if not shown yet.
func (p *Page) State() view.State { return p.session.State() }

// Navigate follows an address typed, pasted or gone back to. One without a
// state, such as a link to a section, changes nothing.
func (p *Page) Navigate(fragment string) {
	if isState(fragment) {
		p.written = true
		p.change("", view.ParseFragment(fragment))
	}
}

// isState tells a state from a link to a section.
func isState(fragment string) bool { return strings.HasPrefix(fragment, "v=") }

// Leave writes the address at once, because the page is about to be left.
func (p *Page) Leave() { p.writeAddress() }

func (p *Page) change(control string, state view.State) {
	if p.session.Change(control, state, time.Now()) {
		p.said = ""
		p.refresh()
	}
}

func (p *Page) undo() {
	if p.session.Undo() {
		p.say("toolbar.undone")
		p.refresh()
	}
}

func (p *Page) reset() {
	if p.session.Change("", view.Default(), time.Now()) {
		p.say("toolbar.restored")
		p.refresh()
	}
}

func (p *Page) copyLink() {
	p.document.Copy(p.session.State().Fragment(), func(copied bool) {
		p.Guard(func() {
			if copied {
				p.say("toolbar.copied")
			} else {
				p.say("toolbar.uncopied")
			}
			p.render()
		})
	})
}

// say shows what was just done, for a while.
func (p *Page) say(key string) {
	p.said = key
	p.saidID++
	id := p.saidID
	p.document.After(saidFor, func() {
		p.Guard(func() {
			if id == p.saidID && p.said != "" {
				p.said = ""
				p.render()
			}
		})
	})
}

// refresh asks for one recompute before the next frame, however many changes
// come before it.
func (p *Page) refresh() {
	p.moved++
	if p.framed {
		return
	}
	p.framed = true
	p.document.Frame(func() {
		p.framed = false
		p.Guard(p.follow)
	})
}

// follow shows the state while it may still be moving.
func (p *Page) follow() {
	scene, err := p.scene.Follow(p.session.State())
	if err != nil {
		p.document.Failed(err)
		return
	}
	p.scene = scene
	p.document.Show(p.Figures(), true)
	if !p.due {
		p.due = true
		p.document.After(renderEvery, func() {
			p.due = false
			p.Guard(p.render)
		})
	}
	moved := p.moved
	p.document.After(settleAfter, func() {
		if moved == p.moved {
			p.Guard(p.settle)
		}
	})
	p.document.After(addressAfter, func() {
		if moved == p.moved {
			p.Guard(p.writeAddress)
		}
	})
}

// settle adds what costs more than a move allows.
func (p *Page) settle() {
	scene, err := view.Compute(p.session.State())
	if err != nil {
		p.document.Failed(err)
		return
	}
	p.scene = scene
	p.document.Show(p.Figures(), false)
	p.render()
}

// render lets go-app compare every island with what it shows.
func (p *Page) render() {
	for _, c := range p.islands {
		if c.mounted {
			c.ctx.Update()
		}
	}
}

// writeAddress keeps the address of an untouched page as it came.
func (p *Page) writeAddress() {
	state := p.session.State()
	if state == view.Default() && !p.written {
		return
	}
	p.written = state != view.Default()
	if p.written {
		p.document.Fragment(state.Fragment())
	} else {
		p.document.Fragment("")
	}
}

// mounted takes an island into the document, the last one wakes the page.
func (p *Page) mounted(c *component) {
	touched := p.document.Place(c.name, c.JSValue())
	// Attributes are set in any order, and a value set before its bounds was clamped.
	controls := c.JSValue().Call("querySelectorAll", "[data-control]")
	for i := range controls.Length() {
		input := controls.Index(i)
		input.Set("value", Value(p.session.State(), control(input)))
	}
	for control, value := range touched {
		p.Set(control, value)
	}
	if p.placed++; p.placed == len(p.islands) {
		p.document.Show(p.Figures(), false)
		p.document.Ready()
	}
}

// root holds the islands, in a fixed order, out of sight: each is moved to its
// place once mounted.
type root struct {
	app.Compo
	page *Page
}

// Render gives the children once and for all: go-app tells them apart by their
// order alone.
func (r *root) Render() app.UI {
	islands := make([]app.UI, len(r.page.islands))
	for i, c := range r.page.islands {
		islands[i] = c
	}
	return app.Elem("div").Attr("id", "goapp-root").Attr("hidden", "true").Body(islands...)
}

// component is one island.
type component struct {
	app.Compo
	page    *Page
	name    string
	ctx     app.Context
	mounted bool
}

// Render describes the island with the page's figures.
func (c *component) Render() app.UI {
	p := c.page
	return mount(island.Tree(c.name, island.View{Figures: p.Figures(), CanUndo: p.session.CanUndo(), Said: p.said}), c.handlers())
}

// OnMount is called when the island's elements exist.
func (c *component) OnMount(ctx app.Context) {
	c.ctx, c.mounted = ctx, true
	c.page.Guard(func() { c.page.mounted(c) })
}

func (c *component) handlers() handlers {
	return handlers{
		"data-control": {"input": c.onInput, "change": c.onChange},
		"data-action":  {"click": c.onAction},
	}
}

// onInput follows a slider while it moves. A box is read when its number is
// complete: half of one would be brought into bounds and replaced under the
// reader's fingers.
func (c *component) onInput(ctx app.Context, _ app.Event) {
	ctx.PreventUpdate()
	c.page.Guard(func() {
		if source := ctx.JSSrc(); source.Get("type").String() != "number" {
			c.page.Set(control(source), source.Get("value").String())
		}
	})
}

// onChange takes the value of a box, and shows what it was brought to.
func (c *component) onChange(ctx app.Context, _ app.Event) {
	ctx.PreventUpdate()
	c.page.Guard(func() {
		source := ctx.JSSrc()
		c.page.Set(control(source), source.Get("value").String())
		source.Set("value", Value(c.page.State(), control(source)))
	})
}

func (c *component) onAction(ctx app.Context, _ app.Event) {
	ctx.PreventUpdate()
	c.page.Guard(func() {
		switch ctx.JSSrc().Call("getAttribute", "data-action").String() {
		case "undo":
			c.page.undo()
		case "reset":
			c.page.reset()
		case "copy":
			c.page.copyLink()
		}
	})
}

func control(element app.Value) string {
	return element.Call("getAttribute", "data-control").String()
}
