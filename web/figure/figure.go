// Package figure draws the document's figures from answers of calc: SVG and
// HTML as data, the same at build time and in the live page. Each figure has a
// drawing, a table with the same numbers, and words for who does not see it.
//
// Drawings are fluid: positions are percentages or ems, never pixels of a given
// window, and nothing has a style attribute, so that a strict content security
// policy holds. A figure is made of parts, so that the live page redraws what
// moved and leaves controls and focus alone.
package figure

import (
	"slices"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Subject is what a figure draws: a question and its answers.
type Subject struct {
	Lang content.Lang
	// Request is the question; its batch, input and optimizer are explicit.
	Request calc.Request
	// Now answers it, with layers and timeline, and with blocks once the reader pauses.
	Now calc.Result
	// scene is where the answers to compare it with come from, once a figure asks for them.
	scene view.Scene
	// Curve is the memory by batch size; nil: not computed yet.
	Curve *Curve
	// Sort orders the table of the layers.
	Sort Sort
	// Cursor is the column of the timeline that the reader looks at; negative: the peak.
	Cursor int
}

// Of is the subject of the lesson's page.
func Of(f view.Figures) *Subject {
	scene := f.Scene()
	return &Subject{Lang: f.Lang(), Request: scene.State.Request(f.Lang()), Now: scene.Now, scene: scene, Cursor: AtPeak}
}

// Infer answers the question for inference, with its timeline.
func (s *Subject) Infer() *calc.Result { return s.scene.Infer() }

// Times8 answers it for a batch eight times as large.
func (s *Subject) Times8() *calc.Result { return s.scene.Times8() }

// Names of the figures.
const (
	Slots    = "slots"
	Images   = "images"
	Maps     = "maps"
	Timeline = "timeline"
	Memory   = "memory"
	Blocks   = "blocks"
	Infer    = "infer"
	Layers   = "layers"
)

// Names lists them in the order of the lesson.
var Names = []string{Slots, Images, Maps, Timeline, Memory, Blocks, Infer, Layers}

// When says what changes make a part worth redrawing.
type When uint8

const (
	// Always: as soon as the subject changes.
	Always When = 1 << iota
	// Late: when the reader pauses.
	Late
	// Looked: also when the cursor moves.
	Looked
	// Sorted: also when the table is sorted.
	Sorted
)

// part is a piece of a figure that is redrawn as a whole.
type part struct {
	name string
	when When
	draw func(*Subject) []markup.Node
	// attributes of the part's element that follow the subject too.
	attributes func(*Subject) []markup.Attr
}

// design is how a figure is made.
type design struct {
	parts []part
	// frame puts the parts in place, around what never changes.
	frame func(s *Subject, parts map[string]markup.Node) []markup.Node
	// wide figures reach into the margin.
	wide bool
}

var designs = map[string]design{
	Slots:    slots,
	Images:   images,
	Maps:     maps,
	Timeline: timeline,
	Memory:   memory,
	Blocks:   blocks,
	Infer:    infer,
	Layers:   layers,
}

// Part is one part of a figure, drawn.
type Part struct {
	Name string
	// Nodes are the part's content, Attributes those of its element that change.
	Nodes      []markup.Node
	Attributes []markup.Attr
}

// HTML is the part's content.
func (p Part) HTML() string { return markup.HTML(p.Nodes) }

// Parts draws the parts of a figure that change when something does.
func Parts(name string, s *Subject, when When) []Part {
	var drawn []Part
	for _, p := range designs[name].parts {
		if p.when&when == 0 {
			continue
		}
		d := Part{Name: p.name, Nodes: p.content(s)}
		if p.attributes != nil {
			d.Attributes = p.attributes(s)
		}
		drawn = append(drawn, d)
	}
	return drawn
}

func (p part) content(s *Subject) []markup.Node {
	if p.draw == nil {
		return nil
	}
	return p.draw(s)
}

// HTML writes a whole figure as it stands before any script; caption is HTML.
func HTML(name string, s *Subject, caption string) string {
	d := designs[name]
	parts := map[string]markup.Node{}
	for _, p := range d.parts {
		var attrs []markup.Attr
		if p.attributes != nil {
			attrs = p.attributes(s)
		}
		parts[p.name] = markup.Elem("div", append(markup.A("data-part", p.name), attrs...), p.content(s)...)
	}
	class := "fig fig-" + name
	if d.wide {
		class += " wide"
	}
	kids := d.frame(s, parts)
	kids = append(kids, markup.Node{Tag: "figcaption", Drawn: caption})
	if table, ok := parts["table"]; ok && name != Layers {
		kids = append(kids, markup.Elem("details", markup.A("class", "twin"),
			markup.Elem("summary", nil, text(s.Lang, "figure.numbers")), table))
	}
	return markup.Elem("figure", markup.A("class", class, "data-figure", name, "aria-label", view.Text(s.Lang, "figure."+name, nil)), kids...).HTML()
}

// Known reports whether a figure has this name.
func Known(name string) bool { return slices.Contains(Names, name) }

func text(lang content.Lang, key string) markup.Node { return markup.Text(view.Text(lang, key, nil)) }

// only is the frame of a figure that is nothing but its drawing.
func only(_ *Subject, parts map[string]markup.Node) []markup.Node {
	return []markup.Node{parts["drawing"]}
}

// browsed is the frame of a figure whose pieces tell about themselves: under
// the pointer, or with the arrow keys. What they tell stands in one place, kept
// free for it, so that nothing moves and nothing is covered.
func browsed(name string) func(*Subject, map[string]markup.Node) []markup.Node {
	return func(s *Subject, parts map[string]markup.Node) []markup.Node {
		return []markup.Node{browser(s.Lang, name, parts["drawing"]), readout(s.Lang, name)}
	}
}

func browser(lang content.Lang, name string, drawing markup.Node) markup.Node {
	return markup.Elem("div", markup.A("class", "browsed", "role", "group", "data-browse", name, "aria-label", view.Text(lang, "figure."+name+".browse", nil)), drawing)
}

func readout(lang content.Lang, name string) markup.Node {
	return markup.Elem("p", markup.A("class", "readout scripted", "role", "status"), text(lang, "figure."+name+".hint"))
}
