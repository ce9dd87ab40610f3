package figure

import (
	_ "embed"

	"vrametre/web/ui/markup"
)

// Patterns are the paints of the kinds of memory, once per page, before any figure.
func Patterns() string {
	pattern := func(id string, w, h int, transform string, kids ...markup.Node) markup.Node {
		attrs := markup.A("id", "f-"+id, "width", number(float64(w)), "height", number(float64(h)), "patternUnits", "userSpaceOnUse")
		if transform != "" {
			attrs = append(attrs, markup.Attr{Name: "patternTransform", Value: transform})
		}
		return markup.Elem("pattern", attrs, kids...)
	}
	ground := func(class string, w, h int) markup.Node {
		return elem("rect", "class", class, "width", number(float64(w)), "height", number(float64(h)))
	}
	bar := func(class string, x, y, w, h int) markup.Node {
		return elem("rect", "class", class, "x", number(float64(x)), "y", number(float64(y)), "width", number(float64(w)), "height", number(float64(h)))
	}
	defs := markup.Elem("defs", nil,
		pattern("weights", 8, 8, "", ground("p-weights", 8, 8)),
		pattern("gradients", 6, 6, "", ground("p-gradients", 6, 6), bar("p-gradients-2", 0, 4, 6, 2)),
		pattern("optimizer", 7, 7, "", ground("p-optimizer", 7, 7), elem("circle", "class", "p-optimizer-2", "cx", "3.5", "cy", "3.5", "r", "1.4")),
		pattern("batch", 6, 6, "", ground("p-batch", 6, 6), bar("p-batch-2", 4, 0, 2, 6)),
		pattern("activations", 12, 12, "rotate(45)", ground("p-activations", 12, 12), bar("p-activations-2", 11, 0, 1, 12)),
		pattern("temporaries", 8, 8, "rotate(45)", ground("p-temporaries", 8, 8), bar("p-temporaries-2", 4, 0, 4, 8)),
		pattern("runtime", 6, 6, "rotate(-45)", ground("p-paper", 6, 6), bar("p-runtime", 0, 0, 3, 6)),
		pattern("extra", 6, 6, "rotate(45)", ground("p-activations", 6, 6), bar("p-extra-2", 3, 0, 3, 6)),
		pattern("lost", 4, 4, "rotate(-45)", ground("p-paper", 4, 4), bar("p-lost", 0, 0, 2, 4)),
		pattern("beyond", 8, 8, "rotate(-45)", bar("p-beyond", 0, 0, 1, 8)),
	)
	return markup.Elem("svg", markup.A("class", "paints", "aria-hidden", "true", "width", "0", "height", "0"), defs).HTML()
}

// Style is the figures' part of the site's style sheet.
//
//go:embed figure.css
var Style []byte
