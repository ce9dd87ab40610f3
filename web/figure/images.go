package figure

import (
	"math"

	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// images: the batch as images, each as large as its bytes, in a frame that
// stands for a round size; then the same batch in other types.
var images = design{
	parts: []part{
		{name: "drawing", when: Always, draw: drawImages},
		{name: "table", when: Late, draw: tableImages},
	},
	frame: only,
}

// pixelTypes are the types an image passes through, and the bytes of one value.
// The last is what the network reads.
var pixelTypes = []struct {
	name string
	size int64
}{{"uint8", 1}, {"float16", 2}, {"float32", 4}}

// The frame's sides, in the units of its drawing.
const frameWide, frameHigh = 660, 200

// frameOf is the round size that the frame stands for: a step of four, so that
// dragging shows growth, and now and then a step back.
func frameOf(bytes int64) int64 {
	frame := int64(1_000_000)
	for frame < bytes {
		frame *= 4
	}
	return frame
}

// imageValues is how many values one image of the batch has.
func (s *Subject) imageValues() int64 {
	values := int64(1)
	for _, n := range s.Request.Input[0].Shape {
		values *= n
	}
	return values
}

func drawImages(s *Subject) []markup.Node {
	n, values := s.Request.Batch, s.imageValues()
	size := pixelTypes[len(pixelTypes)-1].size
	total := n * values * size
	frame := frameOf(total)
	// Rows of whole images, as large as their share of the frame, or a little smaller where they would not fit in whole rows.
	side := math.Sqrt(float64(values*size) / float64(frame) * frameWide * frameHigh)
	side = math.Min(side, frameHigh)
	for math.Floor(frameWide/side)*math.Floor(frameHigh/side) < float64(n) {
		side *= .99
	}
	perRow := int64(frameWide / side)
	whole, rest := n/perRow, n%perRow
	gap := math.Min(3, side/8)
	tile := markup.Elem("pattern", markup.A("id", "images-tile", "width", number(side), "height", number(side), "patternUnits", "userSpaceOnUse"),
		elem("rect", "width", number(side-gap), "height", number(side-gap), "fill", fill(view.KindBatch)))
	kids := []markup.Node{
		markup.Elem("defs", nil, tile),
		elem("rect", "class", "frame", "width", number(frameWide), "height", number(frameHigh)),
	}
	row := func(y, count, rows int64) {
		if count > 0 && rows > 0 {
			kids = append(kids, elem("rect", "y", number(float64(y)*side), "width", number(float64(count)*side-gap), "height", number(float64(rows)*side-gap), "fill", "url(#images-tile)", "data-kind", view.KindBatch))
		}
	}
	row(0, perRow, whole)
	row(whole, rest, 1)
	args := view.Args{"n": n, "each": values * size, "total": total, "frame": frame, "side": s.side()}
	picture := markup.Elem("svg", markup.A("class", "image-frame", "role", "img", "aria-label", s.text("figure.images.label", args),
		"viewBox", "-1 -1 662 202", "width", "100%"), kids...)
	bars := make([]markup.Node, len(pixelTypes))
	for i, t := range pixelTypes {
		bars[i] = markup.Elem("li", nil,
			markup.Elem("span", nil, markup.Elem("code", nil, markup.Text(t.name)), markup.Text(" "), s.size(n*values*t.size)),
			markup.Elem("svg", markup.A("class", "type-bar", "aria-hidden", "true", "width", "100%"),
				elem("rect", "width", percent(float64(t.size), float64(size)), "height", "100%", "fill", fill(view.KindBatch), "data-kind", view.KindBatch)))
	}
	return []markup.Node{picture,
		markup.Elem("p", markup.A("class", "scale"), markup.Text(s.text("figure.images.scale", args))),
		markup.Elem("ul", markup.A("class", "type-bars"), bars...)}
}

// side is the images' width in pixels.
func (s *Subject) side() int64 {
	shape := s.Request.Input[0].Shape
	return shape[len(shape)-1]
}

func tableImages(s *Subject) []markup.Node {
	n, values := s.Request.Batch, s.imageValues()
	var rows []cells
	for _, t := range pixelTypes {
		rows = append(rows, cells{markup.Elem("code", nil, markup.Text(t.name)),
			markup.Text(s.count(t.size)), markup.Text(s.exact(values * t.size)), markup.Text(s.exact(n * values * t.size))})
	}
	return []markup.Node{s.table(s.text("figure.images.table", view.Args{"n": n, "shape": view.Shape(s.Request.Input[0].Shape)}),
		[]string{"figure.images.type", "figure.images.size", "figure.images.one", "figure.images.all"}, rows, false)}
}
