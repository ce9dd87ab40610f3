package piece

import (
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Choices of the dialog that makes a snippet, by the name of their control.
const (
	ChoosePiece  = "piece"
	ChooseFormat = "format"
	ChooseTheme  = "theme"
	HideSettings = "settings"
	HideResult   = "result"
	LockAll      = "all"
)

// Dialog is the content of the dialog that makes a snippet for a part of a page.
func Dialog(f view.Figures, chosen Piece) []markup.Node {
	words := func(key string) markup.Node { return markup.Text(view.Text(f.Lang(), key, nil)) }
	field := func(name, label string, control markup.Node) markup.Node {
		return markup.Elem("div", markup.A("class", "setting"), markup.Elem("label", markup.A("for", "integrate-"+name), words(label)), control.With("id", "integrate-"+name).With("data-choose", name))
	}
	option := func(value string, label markup.Node, selected bool) markup.Node {
		o := markup.Elem("option", markup.A("value", value), label)
		if selected {
			o = o.With("selected", "")
		}
		return o
	}
	var pieces, formats, themes, checks []markup.Node
	for _, p := range All {
		if p.Page == chosen.Page {
			pieces = append(pieces, option(p.Name, markup.Text(p.Title(f)), p.Name == chosen.Name))
		}
	}
	for _, format := range Formats {
		formats = append(formats, option(format, words("integrate.format."+format), false))
	}
	for _, theme := range []string{"", "light", "dark"} {
		key := "integrate.theme.auto"
		if theme != "" {
			key = "integrate.theme." + theme
		}
		themes = append(themes, option(theme, words(key), false))
	}
	for _, c := range []struct{ name, label string }{{HideSettings, "integrate.hide.settings"}, {HideResult, "integrate.hide.result"}, {LockAll, "integrate.lock"}} {
		checks = append(checks, markup.Elem("label", markup.A("class", "check"), markup.Elem("input", markup.A("type", "checkbox", "data-choose", c.name)), words(c.label)))
	}
	button := func(action string) markup.Node {
		return markup.Elem("button", markup.A("type", "button", "data-integration", action), words("integrate."+action))
	}
	return []markup.Node{
		markup.Elem("h2", markup.A("id", "integrate"), words("integrate.title")),
		field(ChoosePiece, "integrate.piece", markup.Elem("select", nil, pieces...)),
		field(ChooseFormat, "integrate.format", markup.Elem("select", nil, formats...)),
		field(ChooseTheme, "integrate.theme", markup.Elem("select", nil, themes...)),
		markup.Elem("div", markup.A("class", "checks"), checks...),
		markup.Elem("label", markup.A("for", "integrate-code"), words("integrate.code")),
		markup.Elem("textarea", markup.A("id", "integrate-code", "readonly", "", "spellcheck", "false", "rows", "6", "aria-describedby", "integrate-note", "translate", "no")),
		markup.Elem("p", markup.A("id", "integrate-note", "class", "note-of", "aria-live", "polite")),
		markup.Elem("div", markup.A("class", "actions"), button("copy"), button("close"), markup.Elem("span", markup.A("class", "said", "role", "status"))),
	}
}

// Note is what to know about a format.
func Note(f view.Figures, format string, online bool) string {
	note := view.Text(f.Lang(), "integrate.note."+format, nil)
	if !online {
		note += " " + view.Text(f.Lang(), "integrate.local", nil)
	}
	return note
}

// What copying comes to.
const (
	Copied  = "integrate.copied"
	Refused = "integrate.refused"
)

// Said says it.
func Said(f view.Figures, key string) string { return view.Text(f.Lang(), key, nil) }

// Button opens the dialog for a part; nothing where the part does not stand alone.
func Button(f view.Figures, name string) markup.Node {
	p, ok := Named(name)
	if !ok {
		return markup.Text("")
	}
	return markup.Elem("button", markup.A("type", "button", "class", "quiet integrate scripted", "data-integrate", name, "aria-haspopup", "dialog"),
		markup.Text(view.Text(f.Lang(), "integrate.button", nil)),
		markup.Elem("span", markup.A("class", "unseen"), markup.Text(view.Text(f.Lang(), "integrate.button.of", view.Args{"figure": p.Title(f)}))))
}
