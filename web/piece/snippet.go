package piece

import (
	"strconv"
	"strings"

	"vrametre/content"
	"vrametre/web/ui/markup"
)

// Frame is a part as another page is to show it.
type Frame struct {
	Piece Piece
	// Root is the site's address; Lang and Title are the part's there.
	Root  string
	Lang  content.Lang
	Title string
	// State is a fragment, "" for the part as it comes.
	State string
	// Theme, Hide and Lock are parameters of the address, "" for none.
	Theme, Hide, Lock string
}

// Formats of pages that show parts.
const (
	FormatFrame   = "iframe"
	FormatElement = "element"
	FormatSphinx  = "rst"
	FormatMyST    = "myst"
	FormatMkDocs  = "mkdocs"
	FormatMoodle  = "moodle"
	FormatReveal  = "reveal"
	FormatLink    = "link"
)

// Formats lists them.
var Formats = []string{FormatFrame, FormatElement, FormatSphinx, FormatMyST, FormatMkDocs, FormatMoodle, FormatReveal, FormatLink}

// pairs are the parameters, by the name that they have everywhere.
func (f Frame) pairs() []struct{ name, value string } {
	state := strings.TrimPrefix(strings.TrimPrefix(f.State, version), "&")
	return []struct{ name, value string }{{"state", state}, {KeyTheme, f.Theme}, {KeyHide, f.Hide}, {KeyLock, f.Lock}}
}

// Address is the page of the part.
func (f Frame) Address() string {
	folder := ""
	if f.Lang != content.Langs[0] {
		folder = string(f.Lang) + "/"
	}
	fragment := version
	for _, p := range f.pairs() {
		switch {
		case p.value == "":
		case p.name == "state":
			fragment += "&" + p.value
		default:
			fragment += "&" + p.name + "=" + p.value
		}
	}
	return f.Root + folder + Folder + "/" + f.Piece.Name + "/#" + fragment
}

// element is the custom element of embed.js.
func (f Frame) element() string {
	attributes := markup.A("figure", f.Piece.Name, "lang", string(f.Lang))
	for _, p := range f.pairs() {
		if p.value != "" {
			attributes = append(attributes, markup.Attr{Name: p.name, Value: p.value})
		}
	}
	return markup.Elem("vrametre-figure", attributes).HTML()
}

// iframe is a plain frame, whose address is in an attribute.
func (f Frame) iframe(source string, more ...string) string {
	attributes := markup.A(source, f.Address(), "title", f.Title, "width", "100%", "height", strconv.Itoa(f.Piece.Height), "style", "border:0", "allow", "clipboard-write")
	return markup.Elem("iframe", append(attributes, markup.A(more...)...)).HTML()
}

// Snippet is what to put in a page of a format.
func (f Frame) Snippet(format string) string {
	switch format {
	case FormatFrame:
		return f.iframe("src", "loading", "lazy")
	case FormatElement:
		return markup.Elem("script", markup.A("src", f.Root+"embed.js", "async", "")).HTML() + "\n" + f.element()
	case FormatSphinx:
		directive := ".. vrametre:: " + f.Piece.Name + "\n   :lang: " + string(f.Lang)
		for _, p := range f.pairs() {
			if p.value != "" {
				directive += "\n   :" + p.name + ": " + p.value
			}
		}
		return directive
	case FormatMyST:
		return ":::{iframe} " + f.Address() + "\n:width: 100%\n" + f.Title + "\n:::"
	case FormatMkDocs:
		return "# mkdocs.yml\nextra_javascript:\n  - " + f.Root + "embed.js\n\n" + f.element()
	case FormatMoodle:
		link := markup.Elem("a", markup.A("href", f.Address(), "target", "_blank", "rel", "noopener"), markup.Text(f.Title))
		return "<p>" + f.iframe("src") + "</p>\n" + markup.Elem("p", nil, link).HTML()
	case FormatReveal:
		return "<section>\n  " + f.iframe("data-src") + "\n</section>"
	}
	return f.Address()
}
