package island

import (
	"strconv"

	"vrametre/calc/gpu"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Card is what is known of the reader's card, and how.
type Card struct {
	Probe  view.Probe
	Asking bool
	// Query is what the reader is looking for in the catalogue.
	Query string
	// Sizeless is a card of the catalogue that has no memory of its own: how much it gets is asked for.
	Sizeless string
	// Remember says that the choice is kept on this device; Forgetful that the browser keeps nothing.
	Remember, Forgetful bool
	// Memory and Cap are what the reader has typed, in GB.
	Memory, Cap int64
	Measurement view.Measurement
}

// Fields of the card's island.
const (
	FieldOption        = "option"
	FieldQuery         = "query"
	FieldMemory        = "memory"
	FieldSystem        = "system"
	FieldDesktop       = "desktop"
	FieldECC           = "ecc"
	FieldBox           = "box"
	FieldTotal         = "total"
	FieldDriver        = "driver"
	FieldContext       = "context"
	FieldUse           = "use"
	FieldLibraries     = "libraries"
	FieldFragmentation = "fragmentation"
	FieldRemember      = "remember"
	FieldCap           = "cap"
)

// Actions of the card's island.
const (
	ActionProbe   = "probe"
	ActionPick    = "pick"
	ActionRestore = "restore"
	ActionMeasure = "measure"
	ActionCancel  = "cancel"
)

// hits are shown of a search at most.
const hits = 8

func card(v View) markup.Node {
	f := v.Figures
	return markup.Elem("div", markup.A("class", "card"),
		asked(v),
		picker(v),
		markup.Elem("h3", markup.A("class", "chosen"), markup.Text(f.Scene().State.Device.Name(f.Lang()))),
		uses(f),
		budget(v),
		remember(v),
		limits(v),
		measure(v),
	)
}

// asked is what the browser answers, and the one question that it leaves.
func asked(v View) markup.Node {
	f, c := v.Figures, v.Card
	state := f.Scene().State
	reading := c.Probe.Read(state.Device, f.Lang())
	sentences := reading.Sentences
	if c.Asking {
		sentences = []string{text(f, "probe.asking")}
	}
	var said []markup.Node
	for _, s := range sentences {
		said = append(said, markup.Elem("li", nil, markup.Text(s)))
	}
	options := []markup.Node{markup.Elem("option", markup.A("value", "none"), markup.Text(text(f, "gpu.choose")))}
	for _, o := range reading.Options {
		attrs := markup.A("value", o.Key())
		if o.Device == state.Device {
			attrs = append(attrs, markup.Attr{Name: "selected"})
		}
		options = append(options, markup.Elem("option", attrs, markup.Text(o.Label)))
	}
	single := ""
	if reading.Conclusion == view.ConclusionFound {
		single = reading.Options[0].Key()
	}
	key := "probe.ask"
	if c.Probe.Asked {
		key = "probe.again"
	}
	return markup.Elem("div", markup.A("class", "asked", "data-state", reading.State),
		markup.Elem("div", markup.A("role", "status", "aria-live", "polite"), list("ul", "heard", said...)),
		markup.Elem("p", markup.A("class", "question"), markup.Text(reading.Question)),
		when(len(reading.Options) > 1, markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "card-option"), markup.Text(text(f, "gpu.mine"))),
			list("select", "options", options...).With("id", "card-option").With("data-field", FieldOption).With("autocomplete", "off"),
		)),
		markup.Elem("p", markup.A("class", "actions scripted"),
			when(single != "", action(f, ActionPick, "gpu.take", "data-value", orDash(single))),
			action(f, ActionProbe, key),
		),
	)
}

// orDash keeps an attribute from being empty.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// picker searches the catalogue, always.
func picker(v View) markup.Node {
	f, c := v.Figures, v.Card
	found := gpu.Search(c.Query)
	var items []markup.Node
	for _, card := range found[:min(len(found), hits)] {
		if c.Query == "" {
			break // the whole catalogue is no answer
		}
		items = append(items, hit(f, card))
	}
	asks := ""
	if card, ok := gpu.ByID(c.Sizeless); ok {
		asks = view.Text(f.Lang(), "gpu.sizeless", view.Args{"name": card.Name})
	}
	device := f.Scene().State.Device
	var close []markup.Node
	for _, id := range gpu.Nearest(device.Unknown) {
		near, _ := gpu.ByID(id)
		close = append(close, hit(f, near))
	}
	return markup.Elem("div", markup.A("class", "picker scripted", "role", "group", "aria-label", text(f, "gpu.picker")),
		unknown(f),
		when(len(close) > 0, markup.Elem("p", markup.A("class", "question"), markup.Text(text(f, "gpu.unknown.close")))),
		list("ul", "hits close", close...),
		markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "card-query"), markup.Text(text(f, "gpu.search"))),
			markup.Elem("input", markup.A("id", "card-query", "type", "search", "data-field", FieldQuery, "autocomplete", "off", "placeholder", text(f, "gpu.search.example"))),
		),
		markup.Elem("p", markup.A("class", "count", "role", "status"), markup.Text(view.Text(f.Lang(), "gpu.count", view.Args{"n": len(found)}))),
		list("ul", "hits", items...),
		markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "card-memory"), markup.Text(text(f, "gpu.memory"))),
			markup.Elem("input", markup.A("id", "card-memory", "type", "number", "data-field", FieldMemory, "autocomplete", "off", "min", "1", "max", "4096", "step", "1", "value", strconv.FormatInt(c.Memory, 10))),
			action(f, ActionPick, "gpu.memory.take", "data-value", "memory"),
		),
		when(asks != "", markup.Elem("p", markup.A("class", "question", "role", "status"), markup.Text(asks))),
	)
}

// hit is a card of the catalogue, to take.
func hit(f view.Figures, card gpu.Card) markup.Node {
	return markup.Elem("li", nil,
		markup.Elem("button", markup.A("type", "button", "class", "quiet", "data-action", ActionPick, "data-value", card.ID),
			markup.Text(card.Name), markup.Elem("small", nil, markup.Text(sizes(f, card)))))
}

// unknown says that the address names a card that there is not.
func unknown(f view.Figures) markup.Node {
	said := f.Scene().State.Device.UnknownText(f.Lang())
	return when(said != "", markup.Elem("p", markup.A("class", "fault", "role", "status"), markup.Text(said)))
}

// sizes lists a card's memories, after its name.
func sizes(f view.Figures, card gpu.Card) string {
	out := ""
	for i, n := range card.VRAMGiB {
		if i > 0 {
			out += ", "
		}
		out += strconv.FormatInt(n, 10)
	}
	if out == "" {
		return text(f, "gpu.unified")
	}
	return view.Text(f.Lang(), "gpu.sizes", view.Args{"list": out})
}

// uses is how the card is used.
func uses(f view.Figures) markup.Node {
	d := f.Scene().State.Device
	card := d.Card()
	var systems []choice
	for _, os := range view.Systems {
		systems = append(systems, choice{os, text(f, "gpu.os."+os)})
	}
	os := d.OS
	if os == "" {
		os = view.Systems[0]
	}
	check := func(field, key string, on bool) markup.Node {
		attrs := markup.A("type", "checkbox", "id", "card-"+field, "data-field", field, "autocomplete", "off")
		if on {
			attrs = append(attrs, markup.Attr{Name: "checked"})
		}
		return markup.Elem("label", markup.A("class", "check", "for", "card-"+field), markup.Elem("input", attrs), markup.Text(" "+text(f, key)))
	}
	return markup.Elem("div", markup.A("class", "uses scripted"),
		when(card.Vendor != "apple", field(f, "gpu.os", FieldSystem, systems, os)),
		check(FieldDesktop, "gpu.desktop", d.Desktop),
		when(card.HasECC(), check(FieldECC, "gpu.ecc", ECCOn(d))),
	)
}

// ECCOn says whether the figures contain error correction.
func ECCOn(d view.Device) bool {
	b := d.Budget()
	_, on := b.Line(gpu.LineECC)
	return on
}

// field is a list of choices that is no setting of the lesson.
func field(f view.Figures, key, name string, choices []choice, chosen string) markup.Node {
	n := chooser(f, name, choices, chosen)
	n.Kids[0] = markup.Elem("label", markup.A("for", "card-"+name), markup.Text(text(f, key)))
	n.Kids[1].Attrs = markup.A("id", "card-"+name, "data-field", name, "autocomplete", "off")
	return n
}

// budget is what the card offers, line by line. The rows never change: lines
// that do not apply are hidden.
func budget(v View) markup.Node {
	f := v.Figures
	lang := f.Lang()
	d := f.Scene().State.Device
	b := d.Budget()
	number := func(field, unit string, n int64) markup.Node {
		return markup.Elem("td", markup.A("class", "scripted"),
			markup.Elem("input", markup.A("type", "number", "data-field", field, "autocomplete", "off", "min", "0", "step", "1", "value", strconv.FormatInt(n, 10), "aria-label", text(f, "gpu.field."+field))),
			markup.Text(" "+text(f, unit)))
	}
	empty := markup.Elem("td", markup.A("class", "scripted"))
	row := func(class, head, source string, n int64, shown bool, input markup.Node) markup.Node {
		attrs := markup.A("class", class)
		if !shown {
			attrs = append(attrs, markup.Attr{Name: "hidden"})
		}
		return markup.Elem("tr", attrs,
			markup.Elem("th", markup.A("scope", "row"), markup.Text(head), markup.Elem("small", nil, markup.Text(source))),
			markup.Elem("td", markup.A("class", "both"), markup.Elem("span", nil, markup.Text(view.Binary(lang, n))), markup.Text(" "), markup.Elem("span", nil, markup.Text(view.Gigabytes(lang, n)))),
			input)
	}
	line := func(id string, input markup.Node) markup.Node {
		l, shown := b.Line(id)
		source := text(f, "ledger.absent")
		if shown {
			source = text(f, "source."+l.Source)
		}
		class := "line"
		if l.DisplayOnly {
			class = "line display"
		}
		return row(class, text(f, "budget."+id), source, l.Bytes, shown, input)
	}
	head := func(key string) markup.Node {
		return markup.Elem("th", markup.A("scope", "col"), markup.Text(text(f, key)))
	}
	totals := text(f, "gpu.total.source")
	if b.TotalLow != b.TotalHigh {
		totals = view.Text(lang, "gpu.total.range", view.Args{"low": b.TotalLow, "high": b.TotalHigh})
	}
	var notes []markup.Node
	for _, note := range b.Notes {
		notes = append(notes, markup.Elem("li", nil, markup.Text(text(f, "gpu.note."+note)+" "), belief(v, view.NoteBelief(note))))
	}
	return markup.Elem("div", markup.A("class", "budget"),
		markup.Elem("div", markup.A("class", "scroll", "tabindex", "0", "role", "region", "aria-label", text(f, "ledger.card")),
			markup.Elem("table", nil,
				markup.Elem("caption", nil, markup.Text(text(f, "ledger.card"))),
				markup.Elem("thead", nil, markup.Elem("tr", nil, head("gpu.line"), head("gpu.both"),
					markup.Elem("th", markup.A("scope", "col", "class", "scripted"), markup.Text(text(f, "gpu.change"))))),
				markup.Elem("tbody", nil,
					line(gpu.LineBox, number(FieldBox, "unit.GiB", d.Size())),
					line(gpu.LineGiven, empty),
					line(gpu.LineECC, empty),
					line(gpu.LineDriver, number(FieldDriver, "unit.MiB", mebibytes(Kept(b)))),
					line(gpu.LineSystem, number(FieldDriver, "unit.MiB", mebibytes(Kept(b)))),
					row("sub", text(f, "gpu.total"), totals, b.Total, true, number(FieldTotal, "unit.MiB", mebibytes(b.Total))),
					line(gpu.LineContext, number(FieldContext, "unit.MiB", mebibytes(b.Context))),
					row("line", text(f, "budget."+gpu.LineDesktop), desktopSource(f, b), -b.Desktop, true, number(FieldUse, "unit.MiB", mebibytes(b.Desktop))),
					row("total", text(f, "ledger.usable"), text(f, "gpu.usable.source"), b.Usable, true, empty),
					line(gpu.LineLibraries, number(FieldLibraries, "unit.MiB", mebibytes(b.Libraries))),
					line(gpu.LineFragmentation, number(FieldFragmentation, "unit.MiB", mebibytes(b.Fragmentation))),
					row("line display left", text(f, "gpu.left"), text(f, "gpu.left.source"), b.Left(), true, empty),
				),
			),
		),
		list("ul", "notes", notes...),
		when(d != d.Restored(), markup.Elem("p", markup.A("class", "actions scripted"), action(f, ActionRestore, "gpu.restore"))),
	)
}

// mebibytes rounds to the unit that nvidia-smi shows.
func mebibytes(n int64) int64 { return (n + 1<<19) >> 20 }

// Kept is what the driver, or the system, keeps between the box and the total.
func Kept(b gpu.Budget) int64 {
	l, ok := b.Line(gpu.LineDriver)
	if !ok {
		l, _ = b.Line(gpu.LineSystem)
	}
	return -l.Bytes
}

func desktopSource(f view.Figures, b gpu.Budget) string {
	if l, ok := b.Line(gpu.LineDesktop); ok {
		return text(f, "source."+l.Source)
	}
	return text(f, "gpu.desktop.none")
}

// remember keeps the choice on this device, if the reader says so.
func remember(v View) markup.Node {
	f := v.Figures
	attrs := markup.A("type", "checkbox", "id", "card-remember", "data-field", FieldRemember, "autocomplete", "off")
	key := "gpu.remember"
	if v.Card.Remember {
		attrs = append(attrs, markup.Attr{Name: "checked"})
	}
	if v.Card.Forgetful {
		attrs = append(attrs, markup.Attr{Name: "disabled"})
		key = "gpu.forgetful"
	}
	return markup.Elem("p", markup.A("class", "scripted"),
		markup.Elem("label", markup.A("class", "check", "for", "card-remember"), markup.Elem("input", attrs), markup.Text(" "+text(f, key))))
}

// limits are WebGPU's, with what they mean for the loaded network.
func limits(v View) markup.Node {
	f := v.Figures
	var rows []markup.Node
	for _, l := range v.Card.Probe.Limits(f.Scene().Now, f.Lang()) {
		rows = append(rows, markup.Elem("tr", nil,
			markup.Elem("th", markup.A("scope", "row"), markup.Elem("code", nil, markup.Text(l.Name))),
			markup.Elem("td", nil, markup.Text(l.Value)),
			markup.Elem("td", nil, markup.Text(l.Meaning)),
		))
	}
	return when(len(rows) > 0, markup.Elem("details", markup.A("class", "limits"),
		markup.Elem("summary", nil, markup.Text(text(f, "probe.limits"))),
		markup.Elem("p", nil, markup.Text(text(f, "probe.limits.why"))),
		markup.Elem("div", markup.A("class", "scroll", "tabindex", "0", "role", "region", "aria-label", text(f, "probe.limits")),
			markup.Elem("table", nil, list("tbody", "rows", rows...))),
	))
}

// measure is what the browser can get by asking, if the reader wants to know.
func measure(v View) markup.Node {
	f, m := v.Figures, v.Card.Measurement
	lang := f.Lang()
	running := m.State == view.MeasureRunning
	beside := ""
	if m.Done() {
		beside = view.Text(lang, "measure.beside", view.Args{"total": f.Scene().State.Device.Budget().Total, "card": f.Scene().State.Device.Name(lang)})
	}
	limit := max(m.Cap, 1)
	return markup.Elem("details", markup.A("class", "measure scripted"),
		markup.Elem("summary", nil, markup.Text(text(f, "measure.title"))),
		markup.Elem("p", nil, markup.Text(text(f, "measure.why"))),
		markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "card-cap"), markup.Text(text(f, "measure.cap"))),
			markup.Elem("input", markup.A("id", "card-cap", "type", "number", "data-field", FieldCap, "autocomplete", "off",
				"min", strconv.FormatInt(view.MinMeasure>>30, 10), "max", strconv.FormatInt(view.MaxMeasure>>30, 10), "step", "1", "value", strconv.FormatInt(v.Card.Cap, 10))),
		),
		markup.Elem("p", markup.A("class", "actions"),
			when(!running, action(f, ActionMeasure, "measure.start")),
			when(running, action(f, ActionCancel, "measure.cancel")),
		),
		when(running, markup.Elem("progress", markup.A("max", strconv.FormatInt(limit>>20+1, 10), "value", strconv.FormatInt(m.Got>>20, 10), "aria-label", text(f, "measure.title")))),
		markup.Elem("p", markup.A("class", "result", "role", "status", "data-state", m.State), markup.Text(m.Text(lang))),
		when(beside != "", markup.Elem("p", nil, markup.Text(beside))),
	)
}
