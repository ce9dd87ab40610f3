package island

import (
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/calc/read"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Imports is what the workshop knows of the reader's own model beside the state.
type Imports struct {
	// Open says that the place to paste into is shown.
	Open bool
	// Reading says that a text or a file is being read.
	Reading bool
	// Refused is what is wrong with a dropped file that could not be read at all.
	Refused string
	// Folds are the modules that the reader has folded or unfolded, by their ID.
	Folds map[string]bool
}

// Fields and actions of the reader's own model. Modules follow their prefix.
const (
	FieldText   = "import.text"
	FieldFreeze = "freeze."
	FieldBlock  = "block."

	ActionImport = "import-open"
	ActionRemove = "import-remove"
	ActionFold   = "import-fold"
	ActionLine   = "import-line"

	// Root begins the modules' IDs in ActionFold's values: that of the whole network is empty, and go-app drops what is.
	Root = "/"

	// Drop marks where files can be dropped, Pick the control that chooses one.
	Drop = "data-drop"
	Pick = "data-pick"
)

// Bounds of the tree that is shown: all its rows, those below one module, and those that stand open at first.
const (
	maxTreeRows  = 400
	maxBelow     = 120
	openTreeRows = 24
)

// imports is the place for the reader's own model: its text or file, what was understood, its tree.
func imports(v View) markup.Node {
	f, w := v.Figures, v.Workshop
	state := f.Scene().State
	lang := f.Lang()
	own := state.Setup.Model == view.ModelImport
	given := state.Setup.Import
	var m *read.Model
	if own {
		m, _ = state.Imported()
	}
	var notes []markup.Node
	if own && given != nil {
		var answer *calc.Result
		if now := f.Scene().Now; w.Fault == "" {
			answer = &now
		}
		for _, n := range state.Notes(answer, lang) {
			notes = append(notes, note(v, n))
		}
	}
	reason := state.Fixed()
	if reason != "" {
		reason = text(f, "atelier.fixed."+reason)
	}
	uncarried := own && given != nil && !given.Carried()
	trouble := w.Imports.Refused
	var fault view.Note
	if trouble == "" && own {
		fault, trouble = w.FaultNote, w.FaultNote.Message
	}
	return when(own || w.Imports.Open, markup.Elem("div", markup.A("class", "import scripted", Drop, "true"),
		markup.Elem("label", markup.A("for", "import-text"), markup.Text(text(f, "atelier.import.paste"))),
		markup.Elem("textarea", markup.A("id", "import-text", "data-field", FieldText, "rows", "8", "wrap", "off", "spellcheck", "false", "autocomplete", "off", "autocapitalize", "off", "lang", "en", "translate", "no",
			"aria-describedby", "import-trouble", "placeholder", "Sequential(\n  (0): Linear(in_features=784, out_features=10, bias=True)\n)")),
		markup.Elem("p", markup.A("class", "drop"),
			markup.Elem("label", markup.A("for", "import-file"), markup.Text(text(f, "atelier.import.drop"))), markup.Text(" "),
			markup.Elem("input", markup.A("id", "import-file", "type", "file", "multiple", "", Pick, "true", "autocomplete", "off")),
		),
		when(own && given != nil && given.Text == "", markup.Elem("p", markup.A("class", "actions"),
			markup.Elem("b", markup.A("translate", "no"), markup.Text(fileName(given))), action(f, ActionRemove, "atelier.import.remove"))),
		markup.Elem("p", markup.A("class", "understood", "role", "status"), markup.Text(understood(v, m))),
		markup.Elem("div", markup.A("class", "trouble", "id", "import-trouble", "role", "alert"), when(trouble != "", noteOf(v, "p", "wrong", view.Note{Line: fault.Line, Quote: fault.Quote, Place: fault.Place, Message: trouble}))),
		list("ul", "remarks", notes...),
		stated(v),
		when(reason != "", markup.Elem("p", markup.A("class", "reason", "id", "setup-fixed"), markup.Text(reason))),
		when(uncarried, markup.Elem("p", markup.A("class", "hint"), markup.Text(text(f, "atelier.import.uncarried")))),
		modelTree(v, m),
	))
}

func fileName(i *view.Import) string {
	switch {
	case i == nil || len(i.Names) == 0:
		return ""
	case len(i.Names) > 1:
		return i.Names[0] + " + " + strconv.Itoa(len(i.Names)-1)
	}
	return i.Names[0]
}

// understood says what the model was taken for.
func understood(v View, m *read.Model) string {
	f := v.Figures
	lang := f.Lang()
	switch {
	case v.Workshop.Imports.Reading:
		return text(f, "atelier.import.reading")
	case m == nil:
		return ""
	}
	said := []string{view.Text(lang, "atelier.import.kind."+m.Kind, nil)}
	if m.Name != "" {
		said = append(said, view.Text(lang, "atelier.import.known", view.Args{"name": m.Name}))
	} else if m.Tree.Class != "" {
		said = append(said, m.Tree.Class)
	}
	if m.Parameters > 0 {
		said = append(said, view.Text(lang, "atelier.import.parameters", view.Args{"n": m.Parameters}))
	}
	return strings.Join(said, " · ")
}

// stated is what a summary says of its sizes, beside the peak, and why the two differ.
func stated(v View) markup.Node {
	f := v.Figures
	scene := f.Scene()
	caption, lines := scene.State.Stated(&scene.Now, f.Lang())
	var rows []markup.Node
	for _, l := range lines {
		rows = append(rows, markup.Elem("tr", nil,
			markup.Elem("th", markup.A("scope", "row"), markup.Text(l.Name)),
			markup.Elem("td", nil, markup.Text(l.Tool)),
			markup.Elem("td", nil, markup.Text(l.Here)),
		))
	}
	head := func(key string) markup.Node {
		return markup.Elem("th", markup.A("scope", "col"), markup.Text(text(f, key)))
	}
	return when(len(lines) > 0 && v.Workshop.Fault == "", markup.Elem("div", markup.A("class", "advice stated"),
		markup.Elem("div", markup.A("class", "scroll", "tabindex", "0", "role", "region", "aria-label", orDash(caption)),
			markup.Elem("table", nil,
				markup.Elem("caption", nil, markup.Text(caption)),
				markup.Elem("thead", nil, markup.Elem("tr", nil, markup.Elem("td", nil), head("atelier.stated.tool"), head("atelier.stated.here"))),
				list("tbody", "rows", rows...),
			),
		),
		markup.Elem("p", nil, markup.Text(text(f, "atelier.stated.why"))),
	))
}

// note is a warning of the model's text.
func note(v View, n view.Note) markup.Node { return noteOf(v, "li", "remark", n) }

// noteOf tells something at its place: the line, as a button that leads there, what stands on it, and what is to be said.
func noteOf(v View, tag, class string, n view.Note) markup.Node {
	f := v.Figures
	line := strconv.Itoa(n.Line)
	return markup.Elem(tag, markup.A("class", class),
		when(n.Line > 0, markup.Elem("button", markup.A("type", "button", "class", "quiet", "data-action", ActionLine, "data-value", line), markup.Text(view.Text(f.Lang(), "atelier.import.line", view.Args{"line": n.Line})))),
		when(n.Quote != "", markup.Elem("code", markup.A("translate", "no"), markup.Text(n.Quote))),
		when(n.Place != "" && n.Quote == "", markup.Elem("code", markup.A("translate", "no"), markup.Text(n.Place))),
		markup.Elem("span", nil, markup.Text(" "+n.Message)),
	)
}

// modelTree shows the modules, and what of them can be changed.
func modelTree(v View, m *read.Model) markup.Node {
	f := v.Figures
	state := f.Scene().State
	var rows []markup.Node
	classes := ""
	heads := ""
	if m != nil && m.Tree != nil {
		t := tree{v: v, m: m, open: openAtFirst(m.Tree), left: maxTreeRows, freezes: m.Build != nil || m.Fixed() != "", recomputes: m.Build != nil}
		rows = t.below([]*read.Node{m.Tree}, "")
		if m.Classes > 0 {
			classes = strconv.FormatInt(m.Classes, 10)
			heads = strings.Join(m.Heads, ", ")
		}
	}
	shown := ""
	if state.Setup.Classes > 0 {
		shown = strconv.FormatInt(state.Setup.Classes, 10)
	}
	return when(len(rows) > 0, markup.Elem("div", markup.A("class", "tree"),
		when(classes != "", markup.Elem("div", markup.A("class", "setting"),
			markup.Elem("label", markup.A("for", "setup-classes"), markup.Text(text(f, "atelier.classes"))),
			markup.Elem("input", holding(shown, "id", "setup-classes", "type", "number", "data-field", FieldSetup+view.SetupClasses, "autocomplete", "off", "min", "1", "max", "16777216", "step", "1", "placeholder", orDash(classes), "aria-describedby", "setup-classes-at")),
			markup.Elem("small", markup.A("id", "setup-classes-at", "translate", "no"), markup.Text(heads)),
		)),
		markup.Elem("p", markup.A("class", "caption", "id", "import-tree"), markup.Text(text(f, "atelier.tree"))),
		list("ul", "modules", rows...).With("aria-labelledby", "import-tree"),
	))
}

// tree draws the rows of a model, as many as are open.
type tree struct {
	v    View
	m    *read.Model
	open map[string]bool
	left int
	// freezes: modules can be frozen; recomputes: their activations can be computed again.
	freezes, recomputes bool
}

// openAtFirst are the modules whose children are shown before the reader has folded any: level by level, as long as few
// rows come of it.
func openAtFirst(root *read.Node) map[string]bool {
	type at struct {
		n  *read.Node
		id string
	}
	ids := map[*read.Node]string{}
	view.Modules(root, func(m view.Module) { ids[m.Node] = m.ID })
	open := map[string]bool{}
	rows := 1
	for level := []*read.Node{root}; len(level) > 0; {
		var next []*read.Node
		for _, n := range level {
			if more := len(n.Children); more > 0 && (rows+more <= openTreeRows || n == root) {
				open[ids[n]] = true
				rows += more
				next = append(next, n.Children...)
			}
		}
		level = next
	}
	return open
}

func (t *tree) below(nodes []*read.Node, above string) []markup.Node {
	var rows []markup.Node
	for i, n := range nodes {
		if i == maxBelow || t.left == 0 {
			rows = append(rows, markup.Elem("li", markup.A("class", "more"), markup.Text(view.Text(t.v.Figures.Lang(), "atelier.tree.more", view.Args{"n": len(nodes) - i}))))
			break
		}
		t.left--
		rows = append(rows, t.row(n, above))
	}
	return rows
}

func (t *tree) row(n *read.Node, above string) markup.Node {
	v := t.v
	f, state := v.Figures, v.Figures.Scene().State
	lang := f.Lang()
	m := view.ModuleOf(n, above)
	name := m.Name
	if name == "" {
		name = n.Class
	}
	open := len(n.Children) > 0 && t.isOpen(m.ID)
	fold := "fold"
	if open {
		fold = "unfold"
	}
	params := ""
	if n.Params > 0 {
		if params = view.Count(lang, n.Params); n.Repeat > 1 {
			params = strconv.Itoa(n.Repeat) + " × " + params
		}
	}
	attrs := markup.A("class", "module")
	if !n.Understood {
		attrs = append(attrs, markup.Attr{Name: "data-unknown", Value: "true"})
	}
	var kids []markup.Node
	if open {
		kids = t.below(n.Children, m.ID)
	}
	words := view.Args{"name": name, "class": n.Class}
	// The whole network is no part of itself: it can be neither frozen nor recomputed here.
	part := m.ID != ""
	return markup.Elem("li", attrs,
		markup.Elem("div", markup.A("class", "entry"),
			markup.Elem("button", foldAttributes(m.ID, open, len(n.Children) > 0, view.Text(lang, "atelier.tree."+fold, words)), markup.Text(text(f, "atelier.tree.sign."+fold))),
			markup.Elem("span", markup.A("class", "what", "translate", "no"),
				markup.Elem("span", markup.A("class", "name"), markup.Text(m.Name)), markup.Elem("span", markup.A("class", "class"), markup.Text(n.Class)), markup.Elem("code", markup.A("class", "args"), markup.Text(argsOf(n)))),
			markup.Elem("span", markup.A("class", "weights"), markup.Text(params)),
			when(part && t.freezes && n.Params > 0, check(f, FieldFreeze+m.ID, "atelier.tree.freeze", words, view.ListingOf(state.Setup.Frozen, m.ID), false)),
			when(part && t.recomputes && len(n.Children) > 0, check(f, FieldBlock+m.ID, "atelier.tree.block", words, view.ListingOf(state.Setup.Blocks, m.ID), state.Setup.Recompute)),
		),
		list("ul", "modules", kids...),
	)
}

func (t *tree) isOpen(id string) bool {
	if open, ok := t.v.Workshop.Imports.Folds[id]; ok {
		return open
	}
	return t.open[id]
}

func foldAttributes(id string, open, any bool, label string) []markup.Attr {
	attrs := markup.A("type", "button", "class", "fold", "data-action", ActionFold, "data-value", Root+id, "aria-expanded", strconv.FormatBool(open), "aria-label", label)
	if !any {
		attrs = append(attrs, markup.Attr{Name: "hidden"})
	}
	return attrs
}

// argsOf is what stood between a module's parentheses, or the shape that a table gives.
func argsOf(n *read.Node) string {
	if n.Args != "" {
		return n.Args
	}
	if len(n.Output) > 1 {
		parts := make([]string, len(n.Output)-1)
		for i, d := range n.Output[1:] {
			if parts[i] = strconv.FormatInt(d, 10); d < 0 {
				parts[i] = "?"
			}
		}
		return "→ " + strings.Join(parts, " × ")
	}
	return ""
}

// check is a box of a module. One that a module above has ticked cannot be changed.
func check(f view.Figures, field, key string, words view.Args, listing view.Listing, all bool) markup.Node {
	attrs := markup.A("type", "checkbox", "data-field", field, "autocomplete", "off", "aria-label", view.Text(f.Lang(), key+".of", words))
	if listing != view.Unlisted {
		attrs = append(attrs, markup.Attr{Name: "checked"})
	}
	if listing == view.ListedAbove || all {
		attrs = append(attrs, markup.Attr{Name: "disabled"})
	}
	return markup.Elem("label", markup.A("class", "check"), markup.Elem("input", attrs), markup.Text(" "+text(f, key)))
}
