package figure

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// number writes a coordinate: at most two decimals, none where it is whole.
func number(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func percent(part, whole float64) string {
	if whole == 0 {
		return "0%"
	}
	return number(100*part/whole) + "%"
}

func em(f float64) string { return number(f) + "em" }

func elem(tag string, pairs ...string) markup.Node { return markup.Elem(tag, markup.A(pairs...)) }

// fill is the paint of a kind of memory: its colour with its pattern.
func fill(kind string) string { return "url(#f-" + kind + ")" }

// label is a text of a drawing; anchor is start, middle or end.
func label(x, y, anchor, class, s string) markup.Node {
	attrs := markup.A("x", x, "y", y)
	if anchor != "start" {
		attrs = append(attrs, markup.Attr{Name: "text-anchor", Value: anchor})
	}
	if class != "" {
		attrs = append(attrs, markup.Attr{Name: "class", Value: class})
	}
	return markup.Elem("text", attrs, markup.Text(s))
}

// drawing is an SVG without a view box: it is as wide as its place, its height
// is the style sheet's, and patterns keep their grain at any width.
func drawing(class, words string, kids ...markup.Node) markup.Node {
	return markup.Elem("svg", markup.A("class", class, "role", "img", "aria-label", words, "width", "100%"), kids...)
}

// layer is one area of a stacked chart.
type layer struct {
	kind string
	// top is the height of the stack with this layer, column by column.
	top []int64
}

// columns are the places of an area chart along its axis.
type columns struct {
	// width of each column, in units; total is their sum.
	width []int
	total int
}

func equal(n int) columns {
	c := columns{width: make([]int, n), total: n}
	for i := range c.width {
		c.width[i] = 1
	}
	return c
}

// left is where a column begins, in units.
func (c columns) left(i int) int {
	sum := 0
	for _, w := range c.width[:i] {
		sum += w
	}
	return sum
}

// resolution of an area's height: a thousandth is less than a pixel.
const resolution = 1000

// areas draws stacked layers, highest first: each is a plain rectangle behind a
// clip of its outline, because a stretched path would stretch its pattern too.
// id must be unique on the page.
func areas(id string, c columns, layers []layer, max int64) markup.Node {
	var kids, clips []markup.Node
	for i := len(layers) - 1; i >= 0; i-- {
		clip := id + "-" + layers[i].kind
		var path strings.Builder
		path.WriteString("M0 " + strconv.Itoa(resolution))
		last := -1
		run := 0
		flush := func() {
			if run > 0 {
				path.WriteString("h" + strconv.Itoa(run))
				run = 0
			}
		}
		highest := 0
		for j, top := range layers[i].top {
			h := 0
			if max > 0 {
				h = int((float64(top)*resolution)/float64(max) + .5)
			}
			highest = maxOf(highest, h)
			if h != last {
				flush()
				path.WriteString("V" + strconv.Itoa(resolution-h))
				last = h
			}
			run += c.width[j]
		}
		flush()
		path.WriteString("V" + strconv.Itoa(resolution) + "Z")
		if highest == 0 {
			continue
		}
		clips = append(clips, markup.Elem("clipPath", markup.A("id", clip, "clipPathUnits", "objectBoundingBox"),
			elem("path", "transform", "scale("+strconv.FormatFloat(1/float64(c.total), 'g', 6, 64)+" .001)", "d", path.String())))
		kids = append(kids, elem("rect", "width", "100%", "height", "100%", "fill", fill(layers[i].kind), "clip-path", "url(#"+clip+")", "data-kind", layers[i].kind))
	}
	return markup.Elem("g", nil, append(clips, kids...)...)
}

func maxOf(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// gridMarks are the values of an axis of bytes, 0 left out: multiples of 1, 2
// or 5 times a power of ten, at most four of them.
func gridMarks(max int64) []int64 {
	for power := int64(1); power < 1<<58; power *= 10 {
		for _, step := range []int64{1, 2, 5} {
			if interval := step * power; max/interval <= 4 {
				var marks []int64
				for n := interval; n <= max; n += interval {
					marks = append(marks, n)
				}
				return marks
			}
		}
	}
	return nil
}

// grid draws an axis of bytes: a line for each mark, behind the areas, and its
// value, before them. Marks too close to one of those taken are left out.
func (s *Subject) grid(max int64, taken ...int64) (behind, before markup.Node) {
	var lines, values []markup.Node
	write := view.Bytes
	if max >= 10_000_000_000 {
		write = view.Gigabytes // from the first mark on: one axis, one unit
	}
	for _, n := range gridMarks(max) {
		if slices.ContainsFunc(taken, func(t int64) bool { return t != 0 && n > t-max/24 && n < t+max/24 }) {
			continue
		}
		y := percent(float64(max-n), float64(max))
		lines = append(lines, elem("line", "class", "grid", "x1", "0", "x2", "100%", "y1", y, "y2", y))
		values = append(values, markup.Elem("text", markup.A("class", "mark", "x", "0", "y", y, "dy", "-4"), markup.Text(write(s.Lang, n))))
	}
	return markup.Elem("g", nil, lines...), markup.Elem("g", nil, values...)
}

// legend names the kinds that a drawing shows.
func (s *Subject) legend(kinds []string) markup.Node {
	items := make([]markup.Node, len(kinds))
	for i, kind := range kinds {
		items[i] = markup.Elem("li", markup.A("data-kind", kind),
			elem("span", "class", "key k-"+kind), text(s.Lang, "kind."+kind))
	}
	return markup.Elem("ul", markup.A("class", "legend"), items...)
}
