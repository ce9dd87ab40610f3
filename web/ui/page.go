// Package ui is the live page: go-app islands in a static document, and the
// one state that they, the numbers in the sentences and the chart show.
package ui

import (
	"strings"
	"time"

	"github.com/maxence-charriere/go-app/v10/pkg/app"

	"vrametre/calc"
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
	// Visit leaves for another page of this language, with a state, in the place of this one.
	Visit(page, state string)
	// Copy copies the address with a state, and tells whether it could.
	Copy(fragment string, done func(bool))
	// WhenSeen calls f once, when the island of a name comes into view.
	WhenSeen(name string, f func())
	// Probe asks the browser about the graphics card.
	Probe(done func(view.Probe))
	// Measure asks the card for memory until the measurement is over. progress
	// is told each step, and stops it by being false.
	Measure(m view.Measurement, progress func(view.Measurement) bool)
	// Remembers says whether anything can be kept on this device; Remembered is what is, or "".
	Remembers() bool
	Remembered() string
	// Remember keeps a text on this device; "" forgets it.
	Remember(text string)
	// Keep keeps a text in this tab, until it is closed; "" forgets it. Kept is what is kept there.
	Keep(text string)
	Kept() string
	// Ready tells the document that all islands are in place.
	Ready()
	// Failed tells the document that a part of the program has panicked.
	Failed(error)
}

// How long the reader must pause before the costly answers follow, and before
// the address does. All that is seen and heard of a move is written by
// Document.Show before the next frame; go-app compares the islands, for the
// rest, once the reader pauses.
const (
	settleAfter  = 150 * time.Millisecond
	addressAfter = 400 * time.Millisecond
	saidFor      = 4 * time.Second
)

// Page holds the islands of one document together.
type Page struct {
	document Document
	name     string
	lang     content.Lang
	session  *Session
	scene    view.Scene
	islands  []*component
	placed   int
	// initial is what the page starts with, shown what its islands show beside the figures.
	initial view.State
	shown   island.View
	paste   paste
	pasting pasting
	inHand  *inHand
	// advised is the state that the advice shown is for, where it is shown.
	advised *view.State
	cancel  bool // the measurement is to stop

	// said is what the toolbar shows until it is replaced or saidID is outdated.
	said   string
	saidID int

	framed  bool // a frame is asked for
	edits   int  // counts edits of the workshop's layers
	written bool // the address holds a state
	// What is done once the reader pauses.
	settling, addressing stillness
}

// NewPage prepares the islands of a document of a name, with the state of its
// address, without the "#".
func NewPage(d Document, name string, lang content.Lang, fragment string, islands []string) (*Page, error) {
	state := view.Start(name)
	if isState(fragment) {
		state = view.ParseFragment(fragment).On(name)
	} else if kept := d.Remembered(); kept != "" {
		state.Device = view.ParseKept(state.Device, kept)
	}
	if calc.Whole {
		state = state.Found(d.Kept())
	}
	scene, err := view.Compute(state)
	if IsFault(err) && name == view.PageOOM { // it is mended in the workshop
		state.Setup = view.Setup{}
		scene, err = view.Compute(state)
	}
	fault := err
	if IsFault(err) { // the start's answer stands until the reader's question is one
		scene, err = view.Compute(view.Start(name))
		scene.State = state
	}
	if err != nil {
		return nil, err
	}
	p := &Page{document: d, name: name, lang: lang, session: NewSession(state), scene: scene, written: isState(fragment), initial: view.Start(name)}
	p.shown = island.Start(p.Figures(), name)
	if calc.Whole && fault != nil {
		p.shown.Workshop.Blame(state, fault, lang)
	}
	p.shown.Card.Remember, p.shown.Card.Forgetful = d.Remembered() != "", !d.Remembers()
	for _, name := range islands {
		p.islands = append(p.islands, &component{page: p, name: name})
	}
	return p, nil
}

// InFrame makes the page one that shows a part of the document alone, with the
// settings that move it.
func (p *Page) InFrame(settings []string) { p.shown.Settings = settings }

// island finds one of the document's islands, nil if it has none of that name.
func (p *Page) island(name string) *component {
	for _, c := range p.islands {
		if c.name == name {
			return c
		}
	}
	return nil
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

// Hold says that the reader takes hold of a control, or lets go of it.
func (p *Page) Hold(on bool) { p.session.Hold(on) }

// State is what the reader has chosen, even if not shown yet.
func (p *Page) State() view.State { return p.session.State() }

// Untouched says that the page is as it came.
func (p *Page) Untouched() bool { return p.session.State() == p.initial }

// Navigate follows an address typed, pasted or gone back to. One without a
// state, such as a link to a section, changes nothing.
func (p *Page) Navigate(fragment string) {
	if isState(fragment) {
		p.written = true
		p.change("", view.ParseFragment(fragment).On(p.name))
	}
}

// isState tells a state from a link to a section.
func isState(fragment string) bool { return strings.HasPrefix(fragment, "v=") }

// Leave writes the address at once, because the page is about to be left.
func (p *Page) Leave() {
	p.writeAddress()
	if calc.Whole {
		p.keepModel()
	}
}

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
	if p.session.Change("", p.initial, time.Now()) {
		p.say("toolbar.restored")
		p.refresh()
	}
}

func (p *Page) copyLink() {
	p.document.Copy(p.session.State().Fragment(), func(copied bool) {
		p.Guard(func() {
			given := p.session.State().Setup
			if copied && given.Model == view.ModelImport && (given.Import == nil || !given.Import.Carried()) {
				p.say("toolbar.copied.without")
			} else if copied {
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
	p.drop()
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
	began := time.Now()
	scene, err := p.scene.Follow(p.session.State())
	switch {
	case IsFault(err):
		p.scene.State = p.session.State() // its answer stays, and is marked as such
	case err != nil:
		p.document.Failed(err)
		return
	default:
		p.scene = scene
		p.document.Show(p.Figures(), true)
	}
	// Moves come no closer than the machine lets them: what it has computed it still has to paint.
	p.settling.wait(p, settleAfter+2*time.Since(began), p.settle)
	p.addressing.wait(p, addressAfter, p.writeAddress)
}

// stillness waits for the reader to keep still. One timer runs at a time, however
// many moves there are.
type stillness struct {
	until   time.Time
	waiting bool
}

// wait calls f when a time has gone by without another call.
func (w *stillness) wait(p *Page, after time.Duration, f func()) {
	w.until = time.Now().Add(after)
	if w.waiting {
		return
	}
	w.waiting = true
	var look func()
	look = func() {
		if rest := time.Until(w.until); rest > 0 {
			p.document.After(rest, look)
			return
		}
		w.waiting = false
		p.Guard(f)
	}
	p.document.After(after, look)
}

// settle adds what costs more than a move allows.
func (p *Page) settle() {
	state := p.session.State()
	var scene view.Scene
	var err error
	p.take(func(rest func() bool) { scene, err = p.scene.Settle(state, rest) }, func() { p.settled(state, scene, err) })
}

func (p *Page) settled(state view.State, scene view.Scene, err error) {
	if calc.Whole && IsFault(err) {
		p.scene.State = state
		p.shown.Workshop.Blame(state, err, p.lang)
		p.render()
		return
	}
	if err != nil {
		p.document.Failed(err)
		return
	}
	p.scene = scene
	if calc.Whole {
		p.shown.Workshop.Look(scene, p.lang)
	}
	p.document.Show(p.Figures(), false)
	p.explain()
	p.advise()
	p.render()
}

// render lets go-app compare every island with what it shows.
func (p *Page) render() {
	for _, c := range p.islands {
		if c.mounted {
			c.ctx.Update()
		}
	}
	p.syncFields()
}

// writeAddress keeps the address of an untouched page as it came.
func (p *Page) writeAddress() {
	state := p.session.State()
	if state == p.initial && !p.written {
		return
	}
	p.written = state != p.initial
	p.document.Fragment(p.Address())
}

// Address is the fragment that stands for the page, "" for the page as it comes.
func (p *Page) Address() string {
	if !p.written {
		return ""
	}
	return p.session.State().Fragment()
}

// mounted takes an island into the document, the last one wakes the page.
func (p *Page) mounted(c *component) {
	if p.placed++; c.name == island.Remedies {
		// Its static form stays until the engine has tried every change.
	} else {
		p.place(c)
	}
	if p.placed == len(p.islands) {
		p.wake()
	}
}

// wake shows the state once everything is in place.
func (p *Page) wake() {
	if p.shown.Workshop.Fault == "" {
		p.document.Show(p.Figures(), false)
	}
	p.document.Ready()
	p.advise()
	if calc.Whole && p.island(island.MyCard) != nil {
		p.document.WhenSeen(island.MyCard, func() { p.Guard(p.probe) })
	}
}

func (p *Page) place(c *component) {
	touched := p.document.Place(c.name, c.JSValue())
	// Attributes are set in any order, and a value set before its bounds was clamped.
	controls := c.JSValue().Call("querySelectorAll", "[data-control]")
	for i := range controls.Length() {
		input := controls.Index(i)
		input.Set("value", Value(p.session.State(), control(input)))
	}
	if calc.Whole && c.name == island.Model {
		p.syncText(c)
	}
	for control, value := range touched {
		if !p.field(control, value, false) {
			p.Set(control, value)
		}
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

// OnMount wakes a document without islands, which has nothing to wait for.
func (r *root) OnMount(app.Context) {
	if len(r.page.islands) == 0 {
		r.page.Guard(r.page.wake)
	}
}

// component is one island.
type component struct {
	app.Compo
	page    *Page
	name    string
	ctx     app.Context
	mounted bool
	// inPlace says that an island whose static form stays for a while has replaced it.
	inPlace bool
}

// Render describes the island with the page's figures.
func (c *component) Render() app.UI {
	p := c.page
	v := p.shown
	v.Figures, v.CanUndo, v.Said = p.Figures(), p.session.CanUndo(), p.said
	return mount(island.Tree(c.name, v), c.handlers())
}

// OnMount is called when the island's elements exist.
func (c *component) OnMount(ctx app.Context) {
	c.ctx, c.mounted = ctx, true
	c.page.Guard(func() { c.page.mounted(c) })
}

func (c *component) handlers() handlers {
	return handlers{
		"data-control": {"input": c.onInput, "change": c.onChange},
		"data-field":   {"input": c.onTyped, "change": c.onGiven},
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
		default:
			c.page.act(attributeOf(ctx.JSSrc(), "data-action"), attributeOf(ctx.JSSrc(), "data-value"))
		}
	})
}

// onTyped follows a field while the reader types into it.
func (c *component) onTyped(ctx app.Context, _ app.Event) { c.onField(ctx, true) }

// onGiven takes what a field is left with.
func (c *component) onGiven(ctx app.Context, _ app.Event) { c.onField(ctx, false) }

func (c *component) onField(ctx app.Context, typing bool) {
	ctx.PreventUpdate()
	c.page.Guard(func() {
		source := ctx.JSSrc()
		value := source.Get("value").String()
		if source.Get("type").String() == "checkbox" {
			value = checked(source.Get("checked").Bool())
		}
		c.page.field(attributeOf(source, "data-field"), value, typing)
	})
}

func control(element app.Value) string { return attributeOf(element, "data-control") }

// attributeOf is an attribute of an element, or "".
func attributeOf(element app.Value, name string) string {
	if value := element.Call("getAttribute", name); value.Truthy() {
		return value.String()
	}
	return ""
}
