// Package island describes the parts of the page that the reader's changes
// rebuild. Each is a tree, the same for the generator and for the live page.
//
// Three kinds of attributes are read by the live page: data-v names the figure
// whose text an element shows, data-share the figure its length follows,
// data-control the setting that an input changes.
package island

import (
	"slices"
	"strconv"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Names of the islands, as in the page's data-island attributes.
const (
	Tank     = "tank"
	Settings = "settings"
	Where    = "where"
	Toolbar  = "toolbar"
	OOM      = "oom"
	MyCard   = "card"
	Remedies = "advice"
	Model    = "model"
	Training = "training"
)

// Names lists them.
var Names = []string{Tank, Toolbar, Settings, Where, OOM, MyCard, Remedies, Model, Training}

// View is all that an island shows.
type View struct {
	Figures view.Figures
	// CanUndo says whether there is a change to undo.
	CanUndo bool
	// Settings are the controls of the settings' island; nil: all of them.
	Settings []string
	// Said is the key of what the toolbar has just done, or "".
	Said string
	// Page is the page's name, Initial the state that it starts with.
	Page    string
	Initial view.State
	// Message is what the oom island explains, Card what the card's knows.
	Message Message
	Card    Card
	// Advice is what the engine has found so far; AdviceMissing that it goes on.
	Advice        []calc.Advice
	AdviceMissing bool
	// Workshop is what the workshop's islands know.
	Workshop Workshop
}

// Start is how a page begins: nothing asked, nothing pasted.
func Start(f view.Figures, page string) View {
	v := View{Figures: f, Page: page, Initial: view.Start(page)}
	if !calc.Whole {
		return v
	}
	v.Message = Explain(view.ExampleMessage, f)
	v.Message.Example = true
	v.Workshop.Look(f.Scene(), f.Lang())
	v.Card.Memory, v.Card.Cap = 8, view.DefaultMeasure>>30
	v.Card.Measurement.State = view.MeasureIdle
	return v
}

// Tree describes an island. Its elements are the same whatever the figures:
// only texts and attributes change.
func Tree(name string, v View) markup.Node {
	switch name {
	case Tank:
		return tank(v.Figures)
	case Settings:
		return settings(v)
	case Where:
		return where(v.Figures)
	case Toolbar:
		return toolbar(v)
	}
	if !calc.Whole {
		panic("a lean program has no island named " + name)
	}
	switch name {
	case OOM:
		return message(v)
	case MyCard:
		return card(v)
	case Remedies:
		return advice(v)
	case Model:
		return model(v)
	case Training:
		return training(v.Figures)
	}
	panic("no island is named " + name)
}

func text(f view.Figures, key string) string { return view.Text(f.Lang(), key, nil) }

// figure is an element that shows a figure's text.
func figure(f view.Figures, tag, class, ref string) markup.Node {
	s, _ := f.Text(ref)
	attrs := markup.A("data-v", ref)
	if class != "" {
		attrs = markup.A("class", class, "data-v", ref)
	}
	return markup.Elem(tag, attrs, markup.Text(s))
}

func tank(f view.Figures) markup.Node {
	levels := make([]markup.Node, 0, len(view.Kinds)+1)
	for _, kind := range view.Kinds {
		levels = append(levels, markup.Elem("i", markup.A("class", "k-"+kind, "data-share", "kind."+kind+"/tank.scale")))
	}
	levels = append(levels, markup.Elem("span", markup.A("class", "limit", "data-share", "card.limit/tank.scale"), markup.Elem("span", nil, markup.Text(text(f, "tank.limit")))))
	return markup.Elem("div", markup.A("class", "tank", "role", "group", "aria-label", text(f, "tank.label")),
		figure(f, "b", "", "tank.total"),
		figure(f, "small", "", "tank.of"),
		markup.Elem("div", markup.A("class", "vessel", "aria-hidden", "true"), levels...),
		markup.Elem("p", markup.A("class", "verdict", "role", "status", "aria-live", "polite", "data-tone", string(f.Tone())),
			figure(f, "span", "", "verdict")),
	)
}

func toolbar(v View) markup.Node {
	f := v.Figures
	button := func(action string, enabled bool) markup.Node {
		attrs := markup.A("type", "button", "class", "quiet", "data-action", action)
		if !enabled {
			attrs = append(attrs, markup.Attr{Name: "disabled"})
		}
		key := "toolbar." + action
		if action == "reset" && v.Page == view.PageOOM {
			key += ".oom"
		} else if action == "reset" && v.Page == view.PageWorkshop {
			key += ".atelier"
		}
		return markup.Elem("button", attrs, markup.Text(text(f, key)))
	}
	said := ""
	if v.Said != "" {
		said = text(f, v.Said)
	}
	return markup.Elem("div", markup.A("class", "toolbar", "role", "group", "aria-label", text(f, "toolbar.title")),
		button("undo", v.CanUndo),
		button("reset", f.Scene().State != v.Initial),
		button("copy", true),
		markup.Elem("span", markup.A("class", "said", "role", "status"), markup.Text(said)),
	)
}

// Controls that choose among names.
const (
	ControlOptimizer = "optimizer"
	ControlGPU       = "gpu"
)

func settings(v View) markup.Node {
	f := v.Figures
	state := f.Scene().State
	lessons := state.Setup.Model == "" // the workshop's network has its settings there
	var optimizers, cards []choice
	for _, o := range view.Optimizers {
		optimizers = append(optimizers, choice{o.ID, text(f, "optimizer."+o.ID)})
	}
	for _, card := range view.Cards {
		cards = append(cards, choice{card, view.Device{GPU: card}.Name(f.Lang())})
	}
	own := choice{view.ChoiceOwn, text(f, "settings.gpu.own")}
	if state.Device.Choice() == view.ChoiceOwn {
		own.label = state.Device.Name(f.Lang())
	}
	cards = append(cards, own)
	var rows []markup.Node
	for _, control := range []struct {
		name string
		row  markup.Node
	}{
		{view.ScrubBatch, slider(f, view.ScrubBatch)},
		{view.ScrubSide, when(lessons, slider(f, view.ScrubSide))},
		{ControlOptimizer, when(lessons, chooser(f, ControlOptimizer, optimizers, state.Optimizer))},
		{view.ScrubValues, when(lessons, slider(f, view.ScrubValues))},
		{view.ScrubBuffers, when(lessons, slider(f, view.ScrubBuffers))},
		{ControlGPU, chooser(f, ControlGPU, cards, state.Device.Choice())},
	} {
		if v.Settings == nil || slices.Contains(v.Settings, control.name) {
			rows = append(rows, control.row)
		}
	}
	rows = append(rows, unknown(f))
	return markup.Elem("div", markup.A("class", "settings", "role", "group", "aria-label", text(f, "settings.title")), rows...)
}

// slider is a row with a slider and a box for one and the same number.
func slider(f view.Figures, name string) markup.Node {
	scrub, _ := view.ScrubNamed(name)
	value := strconv.FormatInt(f.Scene().State.Value(name), 10)
	input := func(kind string, more ...string) markup.Node {
		return markup.Elem("input", append(markup.A(
			"type", kind, "data-control", name, "autocomplete", "off",
			"min", strconv.FormatInt(scrub.Min, 10), "max", strconv.FormatInt(scrub.Max, 10),
			"step", strconv.FormatInt(scrub.Step, 10), "value", value,
		), markup.A(more...)...))
	}
	label := text(f, "settings."+name)
	return markup.Elem("div", markup.A("class", "setting"),
		markup.Elem("label", markup.A("for", "set-"+name), markup.Text(label)),
		input("range", "id", "set-"+name, "aria-valuetext", f.ScrubText(name)),
		input("number", "aria-label", label),
	)
}

type choice struct{ value, label string }

func chooser(f view.Figures, control string, choices []choice, chosen string) markup.Node {
	options := make([]markup.Node, len(choices))
	for i, c := range choices {
		attrs := markup.A("value", c.value)
		if c.value == chosen {
			attrs = append(attrs, markup.Attr{Name: "selected"})
		}
		options[i] = markup.Elem("option", attrs, markup.Text(c.label))
	}
	return markup.Elem("div", markup.A("class", "setting"),
		markup.Elem("label", markup.A("for", "set-"+control), markup.Text(text(f, "settings."+control))),
		markup.Elem("select", markup.A("id", "set-"+control, "data-control", control, "autocomplete", "off"), options...),
	)
}

// where is the stacked bar and its twin, a table of the same numbers.
func where(f view.Figures) markup.Node {
	shown := map[string]bool{}
	for _, row := range f.Where() {
		shown[row.Kind] = true
	}
	head := func(key string) markup.Node {
		return markup.Elem("th", markup.A("scope", "col"), markup.Text(text(f, key)))
	}
	row := func(kind string, attrs []markup.Attr, name ...markup.Node) markup.Node {
		return markup.Elem("tr", attrs, markup.Elem("th", markup.A("scope", "row"), name...),
			markup.Elem("td", nil, figure(f, "span", "", "where."+kind+".rule")), markup.Elem("td", nil, figure(f, "span", "", "where."+kind+".simulated")))
	}
	body := make([]markup.Node, 0, len(view.Kinds)+1)
	for _, kind := range view.Kinds {
		attrs := markup.A("data-kind", kind)
		if !shown[kind] {
			attrs = append(attrs, markup.Attr{Name: "hidden"})
		}
		body = append(body, row(kind, attrs, markup.Elem("span", markup.A("class", "key k-"+kind)), markup.Text(text(f, "kind."+kind))))
	}
	body = append(body, row("total", markup.A("class", "total"), markup.Text(text(f, "where.total"))))
	return markup.Elem("div", markup.A("class", "where"),
		markup.Elem("div", markup.A("class", "chart", "data-chart", Where, "role", "img", "aria-label", whereLabel(f))),
		markup.Elem("table", nil,
			markup.Elem("caption", nil, markup.Text(text(f, "where.title"))),
			markup.Elem("thead", nil, markup.Elem("tr", nil, head("where.source"), head("where.rule"), head("where.simulated"))),
			markup.Elem("tbody", nil, body...),
		),
	)
}

// whereLabel says what the bars show; the table holds every number.
func whereLabel(f view.Figures) string {
	var largest view.WhereRow
	var rule, simulated int64
	for _, row := range f.Where() {
		rule, simulated = rule+row.Rule, simulated+row.Simulated
		if row.Simulated > largest.Simulated {
			largest = row
		}
	}
	key, args := "where.label", view.Args{"rule": rule, "simulated": simulated, "kind": largest.Label, "size": largest.SimulatedText}
	if card, ok := f.Number("card.total"); ok {
		key, args["card"], args["total"] = "where.label.card", f.Scene().State.Device.Name(f.Lang()), card
	}
	return view.Text(f.Lang(), key, args)
}

// HTML writes an island for the page as it stands before any script. Pictures
// are HTML by the name of their chart.
func HTML(name string, v View, pictures map[string]string) string {
	return withPictures(Tree(name, v), pictures).HTML()
}

func withPictures(n markup.Node, pictures map[string]string) markup.Node {
	if chart := n.Get("data-chart"); chart != "" {
		n.Drawn = pictures[chart]
	}
	kids := make([]markup.Node, len(n.Kids))
	for i, kid := range n.Kids {
		kids[i] = withPictures(kid, pictures)
	}
	n.Kids = kids
	return n
}
