package piece

import (
	"strconv"

	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Formats of pages that show parts; each has a snippet in web/static/integrate.js.
var Formats = []string{"iframe", "element", "rst", "jupyter", "myst", "mkdocs", "moodle", "reveal", "link"}

// Dialog makes the snippets of the parts of a page; folder is where their pages
// are, from the site's root. It is empty where a page has none.
func Dialog(f view.Figures, page, folder string) markup.Node {
	text := func(key string) string { return view.Text(f.Lang(), key, nil) }
	words := func(key string) markup.Node { return markup.Text(text(key)) }
	field := func(name, label string, control markup.Node) markup.Node {
		return markup.Elem("div", markup.A("class", "setting"), markup.Elem("label", markup.A("for", "integrate-"+name), words(label)), control.With("id", "integrate-"+name).With("data-choose", name))
	}
	option := func(value string, label markup.Node) markup.Node {
		return markup.Elem("option", markup.A("value", value), label)
	}
	var pieces, formats, themes, checks []markup.Node
	for _, p := range All {
		if p.Page == page {
			pieces = append(pieces, option(p.Name, markup.Text(p.Title(f))).With("data-height", strconv.Itoa(p.Height)))
		}
	}
	if len(pieces) == 0 {
		return markup.Text("")
	}
	for _, format := range Formats {
		formats = append(formats, option(format, words("integrate.format."+format)).With("data-note", text("integrate.note."+format)))
	}
	for _, theme := range []string{"", "light", "dark"} {
		key := "integrate.theme.auto"
		if theme != "" {
			key = "integrate.theme." + theme
		}
		themes = append(themes, option(theme, words(key)))
	}
	for _, c := range []struct{ name, label string }{{"settings", "integrate.hide.settings"}, {"result", "integrate.hide.result"}, {"all", "integrate.lock"}} {
		checks = append(checks, markup.Elem("label", markup.A("class", "check"), markup.Elem("input", markup.A("type", "checkbox", "data-choose", c.name)), words(c.label)))
	}
	button := func(action string) markup.Node {
		return markup.Elem("button", markup.A("type", "button", "data-integration", action), words("integrate."+action))
	}
	attributes := markup.A("class", "integration", "aria-labelledby", "integrate", "data-folder", folder, "data-copied", text("integrate.copied"), "data-refused", text("integrate.refused"), "data-local", text("integrate.local"))
	return markup.Elem("dialog", attributes, markup.Elem("div", nil,
		markup.Elem("p", markup.A("class", "title", "id", "integrate"), words("integrate.title")),
		field("piece", "integrate.piece", markup.Elem("select", nil, pieces...)),
		field("format", "integrate.format", markup.Elem("select", nil, formats...)),
		field("theme", "integrate.theme", markup.Elem("select", nil, themes...)),
		markup.Elem("div", markup.A("class", "checks"), checks...),
		markup.Elem("label", markup.A("for", "integrate-code"), words("integrate.code")),
		markup.Elem("textarea", markup.A("id", "integrate-code", "readonly", "", "spellcheck", "false", "rows", "6", "aria-describedby", "integrate-note", "translate", "no")),
		markup.Elem("p", markup.A("id", "integrate-note", "class", "note-of", "aria-live", "polite")),
		markup.Elem("div", markup.A("class", "actions"), button("copy"), button("close"), markup.Elem("span", markup.A("class", "said", "role", "status"))),
	))
}

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
