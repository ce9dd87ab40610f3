package island

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Workshop is what the islands of the workshop's page show beside the figures.
type Workshop struct {
	// Fault is what is wrong with the settings, FaultRow the layer it is told at, -1 elsewhere.
	Fault    string
	FaultRow int
	// Shapes are the outputs of the layers as far as they can be worked out, Params their parameters.
	Shapes, Params []string
	// Branches says that the layers' names and inputs are shown.
	Branches bool
	// Imports is what is known of the reader's own model, FaultNote where in it the fault is.
	Imports   Imports
	FaultNote view.Note
	// FaultInput says that the input's shape is what is wrong.
	FaultInput bool
}

// Prefixes of the workshop's fields: "setup.precision", "row.3.args".
const (
	FieldSetup    = "setup."
	FieldRow      = "row."
	FieldBranches = "branches"
)

// Parts of a layer's row.
const (
	RowType   = "type"
	RowArgs   = "args"
	RowName   = "name"
	RowInputs = "inputs"
)

// Actions of the workshop. Their values are numbers of rows.
const (
	ActionRowAdd    = "row-add"
	ActionRowRemove = "row-remove"
	ActionRowUp     = "row-up"
	ActionRowDown   = "row-down"
	ActionEdit      = "row-edit"
)

// families are the groups of the models' list, with the families of calc in each.
var families = []struct {
	key   string
	names []string
}{
	{"lesson", []string{"lesson"}},
	{"vision", []string{"lenet", "alexnet", "vgg", "resnet", "densenet", "inception", "squeezenet", "mobilenet", "mnasnet", "shufflenet", "efficientnet", "regnet", "convnext", "vit", "swin", "maxvit"}},
	{"pixels", []string{"unet", "segmentation", "mmseg", "autoencoder", "gan"}},
	{"text", []string{"gpt", "bert", "opt", "t5", "llama", "qwen", "transformer", "rnn", "embedding"}},
	{"other", nil},
}

// modelGroups lists the presets by group.
func modelGroups() [][]string {
	groups := make([][]string, len(families))
	for _, name := range calc.Presets() {
		p, _ := calc.PresetOf(name)
		at := len(families) - 1
		for i, f := range families {
			if slices.Contains(f.names, p.Family) {
				at = i
			}
		}
		if at == len(families)-1 && p.Input[0].Tokens > 0 {
			at-- // whatever reads tokens is text
		}
		groups[at] = append(groups[at], name)
	}
	return groups
}

// model chooses the network: one known by name, or layers that the reader writes.
func model(v View) markup.Node {
	f, w := v.Figures, v.Workshop
	state := f.Scene().State
	imported := state.Setup.Model == view.ModelImport
	options := []markup.Node{option(view.ModelRows, text(f, "atelier.model.layers"), state.Setup.Model),
		when(imported || state.Setup.Import != nil, option(view.ModelImport, text(f, "atelier.model.import"), state.Setup.Model))}
	for i, names := range modelGroups() {
		var group []markup.Node
		for _, name := range names {
			group = append(group, option(name, name, state.Setup.Model))
		}
		options = append(options, markup.Elem("optgroup", markup.A("label", text(f, "atelier.family."+families[i].key)), group...))
	}
	own := state.Setup.Model == view.ModelRows
	var types []markup.Node
	for _, layer := range calc.LayerTypes() {
		types = append(types, markup.Elem("option", markup.A("value", layer)))
	}
	var rows []markup.Node
	written := state.Setup.List()
	if own {
		for i, row := range written {
			rows = append(rows, layerRow(v, i, row, len(written)))
		}
	}
	branches := w.Branches || slices.ContainsFunc(written, func(r view.Row) bool { return r.Name != "" || r.Inputs != "" })
	attrs := markup.A("class", "workshop", "data-branches", strconv.FormatBool(branches))
	if w.Fault != "" {
		attrs = append(attrs, markup.Attr{Name: "data-fault", Value: "true"})
	}
	general := ""
	if w.Fault != "" && (w.FaultRow < 0 || !own) && !imported {
		general = w.Fault
	}
	inputs := holding(state.Setup.Input, "id", "setup-input", "type", "text", "data-field", FieldSetup+view.SetupInput, "autocomplete", "off", "spellcheck", "false", "placeholder", orDash(state.OwnInput()))
	if state.Fixed() != "" {
		inputs = fixed(inputs)
	}
	if w.FaultInput {
		inputs = append(inputs, markup.A("aria-invalid", "true", "aria-describedby", "import-trouble")...)
	}
	check := markup.A("type", "checkbox", "id", "row-branches", "data-field", FieldBranches, "autocomplete", "off")
	if branches {
		check = append(check, markup.Attr{Name: "checked"})
	}
	return markup.Elem("div", attrs,
		markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "setup-model"), markup.Text(text(f, "atelier.model"))),
			markup.Elem("select", markup.A("id", "setup-model", "data-field", FieldSetup+view.SetupModel, "autocomplete", "off"), options...),
		),
		markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "setup-input"), markup.Text(text(f, "atelier.input"))),
			markup.Elem("input", inputs),
		),
		markup.Elem("p", markup.A("class", "fault", "role", "alert"), markup.Text(general)),
		when(w.Fault != "", markup.Elem("p", markup.A("class", "stale"), markup.Text(text(f, "atelier.stale")))),
		markup.Elem("p", markup.A("class", "actions scripted"), when(!imported, action(f, ActionImport, "atelier.import.open", "aria-expanded", strconv.FormatBool(w.Imports.Open))), when(!own && !imported, action(f, ActionEdit, "atelier.edit"))),
		imports(v),
		when(own, markup.Elem("div", markup.A("class", "editor scripted", "role", "group", "aria-label", text(f, "atelier.layers")),
			markup.Elem("datalist", markup.A("id", "layer-types"), types...),
			markup.Elem("label", markup.A("class", "check", "for", "row-branches"), markup.Elem("input", check), markup.Text(" "+text(f, "atelier.branches"))),
			list("ol", "layers", rows...),
			markup.Elem("p", markup.A("class", "actions"), action(f, ActionRowAdd, "atelier.add", "data-value", "end")),
		)),
	)
}

// fixed are the attributes of a control that the reader's own model does not follow; the model's place says why.
func fixed(attrs []markup.Attr) []markup.Attr {
	return append(attrs, markup.Attr{Name: "disabled"}, markup.Attr{Name: "aria-describedby", Value: "setup-fixed"})
}

// holding are the attributes of an input and its value, where it has one: go-app drops an empty one.
func holding(value string, pairs ...string) []markup.Attr {
	attrs := markup.A(pairs...)
	if value != "" {
		attrs = append(attrs, markup.Attr{Name: "value", Value: value})
	}
	return attrs
}

func option(value, label, chosen string) markup.Node {
	attrs := markup.A("value", value)
	if value == chosen {
		attrs = append(attrs, markup.Attr{Name: "selected"})
	}
	return markup.Elem("option", attrs, markup.Text(label))
}

// layerRow is one layer: what it is, what comes out of it, and its mistake.
func layerRow(v View, i int, row view.Row, n int) markup.Node {
	f, w := v.Figures, v.Workshop
	number := strconv.Itoa(i)
	at := func(list []string) string {
		if i < len(list) {
			return list[i]
		}
		return ""
	}
	fault := ""
	if w.Fault != "" && w.FaultRow == i {
		fault = w.Fault
	}
	field := func(name, value, hint string, more ...string) markup.Node {
		id := "row-" + number + "-" + name
		attrs := append(holding(value, "id", id, "type", "text", "data-field", FieldRow+number+"."+name, "autocomplete", "off", "spellcheck", "false", "autocapitalize", "off",
			"aria-label", view.Text(f.Lang(), "atelier.row."+name, view.Args{"n": i}), "placeholder", orDash(hint)), markup.A(more...)...)
		if fault != "" {
			attrs = append(attrs, markup.A("aria-invalid", "true", "aria-describedby", "row-"+number+"-fault")...)
		}
		return markup.Elem("input", attrs)
	}
	button := func(name, key string, enabled bool) markup.Node {
		attrs := markup.A("type", "button", "class", "quiet", "data-action", name, "data-value", number, "aria-label", view.Text(f.Lang(), "atelier.row."+key, view.Args{"n": i, "type": row.Type}))
		if !enabled {
			attrs = append(attrs, markup.Attr{Name: "disabled"})
		}
		return markup.Elem("button", attrs, markup.Text(text(f, "atelier.sign."+key)))
	}
	attrs := markup.A("class", "layer")
	if fault != "" {
		attrs = append(attrs, markup.Attr{Name: "data-fault", Value: "true"})
	}
	return markup.Elem("li", attrs,
		markup.Elem("span", markup.A("class", "number", "aria-hidden", "true"), markup.Text(number)),
		field(RowType, row.Type, "Linear", "list", "layer-types"),
		field(RowArgs, row.Args, view.Hint(row.Type)),
		markup.Elem("span", markup.A("class", "out"), markup.Text(at(w.Shapes))),
		markup.Elem("span", markup.A("class", "weights"), markup.Text(at(w.Params))),
		markup.Elem("span", markup.A("class", "tools"),
			button(ActionRowUp, "up", i > 0), button(ActionRowDown, "down", i < n-1), button(ActionRowAdd, "insert", true), button(ActionRowRemove, "remove", n > 1)),
		field(RowName, row.Name, number),
		field(RowInputs, row.Inputs, text(f, "atelier.before")),
		markup.Elem("p", markup.A("class", "fault", "id", "row-"+number+"-fault", "role", "alert"), markup.Text(fault)),
	)
}

// training is how the network is trained.
func training(f view.Figures) markup.Node {
	state := f.Scene().State
	var optimizers []choice
	for _, o := range view.SetupOptimizers {
		optimizers = append(optimizers, choice{o, text(f, "optimizer."+o)})
	}
	named := func(values []string, key string) []choice {
		var list []choice
		for _, value := range values {
			name := value
			if name == "" {
				name = "default"
			}
			list = append(list, choice{orDefault(value), text(f, "atelier."+key+"."+name)})
		}
		return list
	}
	plain := func(values []string, first string) []choice {
		list := []choice{{orDefault(""), text(f, first)}}
		for _, value := range values[1:] {
			list = append(list, choice{value, value})
		}
		return list
	}
	number := func(name string, most string) markup.Node {
		return markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "setup-"+name), markup.Text(text(f, "atelier."+name))),
			markup.Elem("input", markup.A("id", "setup-"+name, "type", "number", "data-field", FieldSetup+name, "autocomplete", "off", "min", "1", "max", most, "step", "1", "value", state.Setting(name))))
	}
	left := map[string][]string{"trace": {view.SetupRecompute, view.SetupLoss}, "weights": {view.SetupRecompute, view.SetupLoss, view.SetupAttention}}[state.Fixed()]
	check := func(name string) markup.Node {
		attrs := markup.A("type", "checkbox", "id", "setup-"+name, "data-field", FieldSetup+name, "autocomplete", "off")
		if slices.Contains(left, name) {
			attrs = fixed(attrs)
		}
		if state.Setting(name) != "" {
			attrs = append(attrs, markup.Attr{Name: "checked"})
		}
		return markup.Elem("label", markup.A("class", "check", "for", "setup-"+name), markup.Elem("input", attrs), markup.Text(" "+text(f, "atelier."+name)))
	}
	pick := func(name string, choices []choice) markup.Node {
		var options []markup.Node
		for _, c := range choices {
			options = append(options, option(c.value, c.label, orDefault(state.Setting(name))))
		}
		attrs := markup.A("id", "setup-"+name, "data-field", FieldSetup+name, "autocomplete", "off")
		if slices.Contains(left, name) {
			attrs = fixed(attrs)
		}
		return markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "setup-"+name), markup.Text(text(f, "atelier."+name))),
			markup.Elem("select", attrs, options...))
	}
	var stages []choice
	for _, stage := range view.SetupZero {
		n := strconv.FormatInt(stage, 10)
		stages = append(stages, choice{n, text(f, "atelier.zero."+n)})
	}
	return markup.Elem("div", markup.A("class", "settings", "role", "group", "aria-label", text(f, "settings.title")),
		slider(f, view.ScrubBatch),
		pick(view.SetupMode, named(view.SetupModes, "mode")),
		pick(view.SetupPrecision, named(view.SetupPrecisions, "precision")),
		pick(view.SetupOptimizer, optimizers),
		kernels(f),
		check(view.SetupRecompute),
		number(view.SetupAccumulation, "1024"),
		pick(view.SetupLoss, plain(view.SetupLosses, "atelier.loss.default")),
		pick(view.SetupAttention, plain(view.SetupAttentions, "atelier.attention.default")),
		pick(view.SetupVersion, plain(view.SetupPyTorch, "atelier.pytorch.default")),
		number(view.SetupCards, "1024"),
		pick(view.SetupStage, stages),
	)
}

// kernels are the ways of running the optimizer's step. Those that it does not have are there, with the reason.
func kernels(f view.Figures) markup.Node {
	const id = "setup-" + view.SetupKernel
	state := f.Scene().State
	var options, why []markup.Node
	for _, k := range state.Kernels(f.Lang()) {
		o := option(orDefault(k.Value), k.Label, orDefault(state.Setup.Kernel))
		if k.Why != "" {
			o.Attrs = append(o.Attrs, markup.Attr{Name: "disabled"})
			why = append(why, markup.Elem("small", nil, markup.Text(k.Why+" ")))
		}
		options = append(options, o)
	}
	return markup.Elem("div", markup.A("class", "setting"),
		markup.Elem("label", markup.A("for", id), markup.Text(text(f, "atelier."+view.SetupKernel))),
		markup.Elem("select", markup.A("id", id, "data-field", FieldSetup+view.SetupKernel, "autocomplete", "off", "aria-describedby", id+"-why"), options...),
		list("p", "reason", why...).With("id", id+"-why"),
	)
}

// orDefault writes the default's value, which must not be empty: go-app would drop it.
func orDefault(value string) string {
	if value == "" {
		return Default
	}
	return value
}

// Default is the value of a control that stands for calc's own choice.
const Default = "default"

// Look reads the layers' outputs of a scene that has no fault.
func (w *Workshop) Look(scene view.Scene, lang content.Lang) {
	w.Fault, w.FaultRow, w.FaultNote, w.FaultInput = "", -1, view.Note{}, false
	w.Shapes, w.Params = view.Outputs(scene.State.Setup.List(), scene.Now.Layers, lang)
}

// Blame tells what is wrong with a state, and keeps the outputs of the layers before it.
func (w *Workshop) Blame(s view.State, err error, lang content.Lang) {
	failure := view.FailureOf(err, lang)
	rows := s.Setup.List()
	w.Fault, w.FaultRow, w.FaultNote = failure.Message, -1, view.Note{}
	w.FaultInput = failure.At == "input" || strings.HasPrefix(failure.At, "input.")
	if s.Setup.Model == view.ModelImport {
		w.FaultNote = s.FaultNote(err, lang)
	}
	if s.Setup.Model == view.ModelRows {
		w.FaultRow = view.RowOf(rows, failure.At)
	}
	w.Shapes, w.Params = view.Outputs(rows, s.LayersBefore(w.FaultRow), lang)
}
