package ui

import (
	"strconv"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// checked is how a box's tick is given as a value.
func checked(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// act does what a button of the islands asks for.
func (p *Page) act(action, value string) {
	if !calc.Whole {
		return
	}
	switch action {
	case "example":
		p.example()
	case island.ActionProbe:
		p.probe()
	case island.ActionPick:
		p.pick(value)
	case island.ActionRestore:
		p.device(action, p.State().Device.Restored())
	case island.ActionMeasure:
		p.measure()
	case island.ActionCancel:
		p.cancel = true
	default:
		p.editRows(action, value)
	}
}

// probe asks the browser, once at a time.
func (p *Page) probe() {
	if p.shown.Card.Asking {
		return
	}
	p.shown.Card.Asking = true
	p.render()
	p.document.Probe(func(answer view.Probe) {
		p.Guard(func() {
			answer.Lost = p.shown.Card.Probe.Lost
			p.shown.Card.Probe, p.shown.Card.Asking = answer, false
			p.render()
		})
	})
}

// pick takes a card of the catalogue, one of its sizes, or a memory.
func (p *Page) pick(value string) {
	c := &p.shown.Card
	d := p.State().Device
	switch card, ok := gpu.ByID(value); {
	case value == island.FieldMemory:
		d = d.WithMemory(c.Sizeless, c.Memory*1_000_000_000)
		c.Sizeless = ""
	case ok && len(card.VRAMGiB) == 0:
		c.Sizeless = value
		p.render()
		return
	case ok:
		d, c.Sizeless = d.WithGPU(value), ""
	default:
		d, c.Sizeless = view.ParseOption(d, value), ""
	}
	p.device(island.ActionPick, d)
	p.render()
}

// device changes the card of the state, and keeps it on this device if the reader has said so.
func (p *Page) device(control string, d view.Device) {
	state := p.State()
	state.Device = d
	p.change(control, state)
	p.keepCard()
}

// keepCard writes the card on this device, if the reader has said so. A name that a
// link gives and the catalogue does not know is no choice of the reader's.
func (p *Page) keepCard() {
	if d := p.State().Device; p.shown.Card.Remember && d.Unknown == "" {
		p.document.Remember(d.Kept())
	}
}

// field takes the value of one of the islands' own fields; typing says that it
// may not be complete. It is false for what is no such field.
func (p *Page) field(name, value string, typing bool) bool {
	if !calc.Whole {
		return false
	}
	if name == island.FieldMessage {
		if value != p.paste.text {
			p.pasted(value)
		}
		return true
	}
	if name == island.FieldQuery {
		if value != p.shown.Card.Query {
			p.shown.Card.Query = value
			p.render()
		}
		return true
	}
	if p.workshopField(name, value, typing) {
		return true
	}
	apply, ok := fields[name]
	if ok && !typing {
		apply(p, name, value)
		p.syncFields()
	}
	return ok
}

// fields are those that are read when they are left.
var fields map[string]func(p *Page, name, value string)

func init() {
	if !calc.Whole {
		return
	}
	// Here, because the functions reach the map through the page's other methods.
	given := func(target string, unit int64) func(*Page, string, string) {
		return func(p *Page, name, value string) {
			if n, ok := parseInt(value); ok && value != p.fieldValue(name) {
				p.device(name, p.State().Device.WithGiven(target, view.Give(n*unit)))
			}
		}
	}
	fields = map[string]func(p *Page, name, value string){
		island.FieldOption: func(p *Page, name, value string) {
			p.device(name, view.ParseOption(p.State().Device, value))
		},
		island.FieldSystem: func(p *Page, name, value string) { p.device(name, p.State().Device.WithSystem(value)) },
		island.FieldDesktop: func(p *Page, name, value string) {
			p.device(name, p.State().Device.WithDesktop(value == checked(true)))
		},
		island.FieldECC: func(p *Page, name, value string) {
			ecc := view.ECCOff
			if value == checked(true) {
				ecc = view.ECCOn
			}
			p.device(name, p.State().Device.WithECC(ecc))
		},
		island.FieldBox: func(p *Page, name, value string) {
			n, ok := parseInt(value)
			if d := p.State().Device; ok && value != p.fieldValue(name) {
				if sized := d.WithSize(n); sized != d || n == d.Size() {
					p.device(name, sized)
				} else {
					p.device(name, d.WithMemory(d.GPU, n<<30))
				}
			}
		},
		island.FieldTotal:         given(view.GivenTotal, 1<<20),
		island.FieldDriver:        given(view.GivenDriver, 1<<20),
		island.FieldContext:       given(view.GivenContext, 1<<20),
		island.FieldUse:           given(view.GivenDesktop, 1<<20),
		island.FieldLibraries:     given(view.GivenLibraries, 1<<20),
		island.FieldFragmentation: given(view.GivenFragmentation, 1<<20),
		island.FieldMemory: func(p *Page, _, value string) {
			if n, ok := parseInt(value); ok {
				p.shown.Card.Memory = min(max(n, 1), 4096)
			}
		},
		island.FieldCap: func(p *Page, _, value string) {
			if n, ok := parseInt(value); ok {
				p.shown.Card.Cap = min(max(n, view.MinMeasure>>30), view.MaxMeasure>>30)
			}
		},
		island.FieldRemember: func(p *Page, _, value string) {
			p.shown.Card.Remember = value == checked(true)
			if !p.shown.Card.Remember {
				p.document.Remember("")
			}
			p.keepCard()
		},
	}
}

// fieldValue is what a field holds when it is not being typed into; "" for the
// fields that are the reader's alone.
func (p *Page) fieldValue(name string) string {
	d := p.State().Device
	b := d.Budget()
	mebibytes := func(n int64) string { return formatInt((n + 1<<19) >> 20) }
	switch name {
	case island.FieldSystem:
		if d.OS == "" {
			return view.Systems[0]
		}
		return d.OS
	case island.FieldDesktop:
		return checked(d.Desktop)
	case island.FieldECC:
		return checked(island.ECCOn(d))
	case island.FieldRemember:
		return checked(p.shown.Card.Remember)
	case island.FieldBox:
		return formatInt(d.Size())
	case island.FieldTotal:
		return mebibytes(b.Total)
	case island.FieldContext:
		return mebibytes(b.Context)
	case island.FieldUse:
		return mebibytes(b.Desktop)
	case island.FieldDriver:
		return mebibytes(island.Kept(b))
	case island.FieldLibraries:
		return mebibytes(b.Libraries)
	case island.FieldFragmentation:
		return mebibytes(b.Fragmentation)
	case island.FieldMemory:
		return strconv.FormatInt(p.shown.Card.Memory, 10)
	case island.FieldCap:
		return strconv.FormatInt(p.shown.Card.Cap, 10)
	}
	return ""
}

// syncFields has every field show what it stands for: a box that was typed
// into no longer follows its attributes.
func (p *Page) syncFields() {
	if !calc.Whole {
		return
	}
	for _, name := range []string{island.MyCard, island.Model, island.Training} {
		c := p.island(name)
		if c == nil || !c.mounted {
			continue
		}
		inputs := c.JSValue().Call("querySelectorAll", "[data-field]")
		for i := range inputs.Length() {
			input := inputs.Index(i)
			field := attributeOf(input, "data-field")
			if field == island.FieldText {
				p.syncText(c)
				continue
			}
			value, ours := p.workshopValue(field)
			if !ours {
				value = p.fieldValue(field)
			}
			switch {
			case value == "" && !ours:
			case ours && input.Get("type").String() == "text" && input.Call("matches", ":focus").Bool(): // being typed into
			case input.Get("type").String() == "checkbox":
				input.Set("checked", value == checked(true))
			case input.Get("value").String() != value:
				input.Set("value", value)
			}
		}
	}
}

// measure asks the card for memory, up to the reader's limit.
func (p *Page) measure() {
	card := &p.shown.Card
	if card.Measurement.State == view.MeasureRunning {
		return
	}
	card.Measurement = view.Measure(card.Cap << 30)
	p.cancel = false
	p.render()
	p.document.Measure(card.Measurement, func(m view.Measurement) (goOn bool) {
		p.Guard(func() {
			card.Measurement = m
			card.Probe.Lost = card.Probe.Lost || m.State == view.MeasureLost
			p.render()
			goOn = !p.cancel
		})
		return goOn
	})
}
