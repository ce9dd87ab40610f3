package still

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// space is the viewport that percentages are of; scale stretches paths, which
// are in units of a view box of their own.
type space struct {
	w, h           float64
	scaleX, scaleY float64
}

// svg draws a drawing of the page in its place and returns its height.
func (p *picture) svg(n *html.Node, x, y, w float64) float64 {
	style := p.of(n)
	if wide := attribute(n, "width"); wide != "" {
		w = length(wide, w)
	}
	h := length(style["height"], 0)
	if tall := attribute(n, "height"); tall != "" {
		h = length(tall, h)
	}
	inner, place := space{w: w, h: h}, "translate("+number(x)+" "+number(y)+")"
	if box := strings.Fields(attribute(n, "viewbox") + attribute(n, "viewBox")); len(box) == 4 {
		left, top, bw, bh := length(box[0], 0), length(box[1], 0), length(box[2], 0), length(box[3], 0)
		inner = space{w: bw, h: bh}
		h = w * bh / bw
		place += " scale(" + strconv.FormatFloat(w/bw, 'g', 6, 64) + ") translate(" + number(-left) + " " + number(-top) + ")"
	}
	p.write(`<g transform="%s">`, place)
	p.drawAll(n, inner)
	p.out.WriteString("</g>")
	return h
}

func (p *picture) drawAll(n *html.Node, in space) {
	for kid := range n.ChildNodes() {
		p.draw(kid, in)
	}
}

// Attributes that are lengths, by the side of the viewport that a percentage is of.
var (
	across = []string{"x", "x1", "x2", "cx", "dx", "width"}
	down   = []string{"y", "y1", "y2", "cy", "dy", "height"}
)

// properties of the style sheet that SVG has as attributes too.
var properties = []string{"fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linejoin", "paint-order", "font-weight"}

// camel are names that HTML's parser writes in small letters outside of <svg>.
var camel = map[string]string{"viewbox": "viewBox", "patternunits": "patternUnits", "patterntransform": "patternTransform", "clippathunits": "clipPathUnits", "preserveaspectratio": "preserveAspectRatio"}

func (p *picture) draw(n *html.Node, in space) {
	switch {
	case n.Type == html.TextNode:
		p.out.WriteString(html.EscapeString(plain(n.Data)))
		return
	case n.Type != html.ElementNode:
		return
	}
	style := p.of(n)
	if style["display"] == "none" {
		return
	}
	if n.Data == "svg" { // a view box stretched over the whole viewport
		box := strings.Fields(attribute(n, "viewBox"))
		if len(box) != 4 || attribute(n, "preserveAspectRatio") != "none" {
			p.err = fmt.Errorf("a drawing in a drawing must be a stretched view box")
			return
		}
		p.drawAll(n, space{in.w, in.h, length(attribute(n, "width"), in.w) / length(box[2], 0), length(attribute(n, "height"), in.h) / length(box[3], 0)})
		return
	}
	p.out.WriteString("<" + n.Data)
	written := map[string]string{}
	var order []string
	set := func(name, value string) {
		if _, ok := written[name]; !ok {
			order = append(order, name)
		}
		written[name] = value
	}
	for _, a := range n.Attr {
		switch name, value := a.Key, a.Val; {
		case name == "class" || name == "role" || name == "vector-effect" || strings.HasPrefix(name, "data-") || strings.HasPrefix(name, "aria-"):
		case slices.Contains(across, name) && strings.HasSuffix(value, "%"):
			set(name, number(length(value, in.w)))
		case slices.Contains(down, name) && strings.HasSuffix(value, "%"):
			set(name, number(length(value, in.h)))
		case name == "d" && in.scaleX != 0:
			set(name, stretched(value, in.scaleX, in.scaleY))
		default:
			if right := camel[name]; right != "" {
				name = right
			}
			set(name, p.resolve(value))
		}
	}
	for _, name := range properties {
		if value, ok := style[name]; ok {
			set(name, strings.TrimSuffix(value, "px"))
		}
	}
	if font := strings.Fields(style["font"]); n.Data == "text" && len(font) > 1 { // weight size/leading family
		set("font-size", strings.TrimSuffix(font[1], "px"))
	}
	for _, name := range order {
		p.write(` %s="%s"`, name, html.EscapeString(written[name]))
	}
	p.out.WriteString(">")
	p.drawAll(n, in)
	p.out.WriteString("</" + n.Data + ">")
}

// stretched scales a path that begins at its view box's corner.
func stretched(d string, x, y float64) string {
	var out strings.Builder
	command, at := byte(0), 0
	for i := 0; i < len(d); {
		c := d[i]
		switch {
		case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
			command, at = c, 0
			out.WriteByte(c)
			i++
		case c == ' ' || c == ',':
			i++
		default:
			j := i + 1
			for j < len(d) && (d[j] >= '0' && d[j] <= '9' || d[j] == '.') {
				j++
			}
			n, _ := strconv.ParseFloat(d[i:j], 64)
			vertical := command == 'V' || command == 'v' || command != 'H' && command != 'h' && at%2 == 1
			if at > 0 {
				out.WriteByte(' ')
			}
			if vertical {
				out.WriteString(number(n * y))
			} else {
				out.WriteString(number(n * x))
			}
			at++
			i = j
		}
	}
	return out.String()
}
