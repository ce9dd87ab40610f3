package figure

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// maps: the network as what autograd keeps of one sample, in the order of the
// forward pass. Areas are bytes; a map is cut into its channels, each in the
// proportions of its own height and width.
var maps = design{
	parts: []part{
		{name: "drawing", when: Always, draw: drawMaps},
		{name: "table", when: Late, draw: tableMaps},
	},
	frame: browsed(Maps),
	wide:  true,
}

// kept is a storage that autograd keeps, for one sample.
type kept struct {
	calc.Saved
	// ordinal of the layer among those of its type, from 1.
	ordinal int
	// sample says whether it has a batch dimension, left out of shape.
	sample bool
	shape  []int64
	bytes  int64
}

// keptMaps reads what is kept, one sample's share where there is one per sample.
func (s *Subject) keptMaps() []kept {
	ordinals, seen := map[string]int{}, map[string]int{}
	for _, row := range s.Now.Layers {
		if _, again := ordinals[row.Path]; !again {
			seen[row.Type]++
			ordinals[row.Path] = seen[row.Type]
		}
	}
	list := make([]kept, len(s.Now.Saved))
	for i, saved := range s.Now.Saved {
		k := kept{Saved: saved, ordinal: ordinals[saved.By], shape: saved.Shape, bytes: saved.Bytes}
		if n := s.Request.Batch; len(k.shape) > 1 && k.shape[0] == n && k.bytes%n == 0 {
			k.sample, k.shape, k.bytes = true, k.shape[1:], k.bytes/n
		}
		list[i] = k
	}
	return list
}

// role says what is kept: the layer's result, its input, or something it made on the way.
func (k kept) role() string {
	switch {
	case !k.Own:
		return "input"
	case k.DType == "int64":
		return "indices"
	case k.DType == "bool":
		return "mask"
	case !k.sample:
		return "statistics"
	}
	return "output"
}

// reasons are the layers whose reason to keep is told in their own words.
var reasons = map[string]string{
	"Conv1d": "convolution", "Conv2d": "convolution", "Conv3d": "convolution", "ConvTranspose2d": "convolution",
	"Linear": "linear", "ReLU": "relu", "MaxPool2d": "indices", "Dropout": "mask", "loss": "loss",
	"BatchNorm2d": "normalisation", "LayerNorm": "normalisation", "GroupNorm": "normalisation",
}

// why says in words what backward wants it for.
func (s *Subject) why(k kept) string {
	reason, known := reasons[k.Type]
	if !known {
		reason = k.role()
	}
	return s.text("figure.why."+reason, nil)
}

// layerName is a layer as the drawing calls it: its type and its rank among its likes.
func (s *Subject) layerName(k kept) string {
	if k.ordinal == 0 || k.Type == "loss" {
		return s.text("figure.maps.loss", nil)
	}
	return strings.TrimSuffix(k.Type, "2d") + "\u00a0" + s.count(int64(k.ordinal))
}

// account is shape × type = bytes, and the reason.
func (s *Subject) account(k kept) string {
	size := k.bytes
	for _, n := range k.shape {
		size /= max(n, 1)
	}
	shape := view.Shape(k.shape)
	if len(k.shape) == 0 {
		shape = s.count(1)
	}
	return s.text("figure.maps.account", view.Args{
		"layer": s.layerName(k), "role": s.text("figure.role."+k.role(), nil), "shape": shape, "dtype": k.DType, "size": size, "bytes": k.bytes, "why": s.why(k),
	})
}

const (
	// The widest map of the drawing, in ems, as wide as the narrowest screen allows.
	widestMap = 17.
	// Maps smaller than this are counted together.
	smallestMap = .4
	// Channels smaller than this are not told apart.
	smallestCell = .22
	// Maps are about this much wider than high.
	mapRatio = 1.6
)

// plate is a map as it is drawn: channels in rows, sizes in units where a byte
// has the area of one.
type plate struct{ columns, rows, width, height float64 }

func plateOf(k kept) plate {
	channels, high, wide := 1., 1., 1.
	switch shape := k.shape; len(shape) {
	case 0:
	case 1:
		wide = math.Sqrt(float64(shape[0]))
		high = wide
	case 2:
		high, wide = float64(shape[0]), float64(shape[1])
	default:
		high, wide = float64(shape[len(shape)-2]), float64(shape[len(shape)-1])
		for _, n := range shape[:len(shape)-2] {
			channels *= float64(n)
		}
	}
	// A very long row would be a line: let it be a square of the same area.
	if high > 0 && (wide/high > 8 || high/wide > 8) {
		high = math.Sqrt(high * wide)
		wide = high
	}
	values := channels * high * wide
	if values == 0 || k.bytes == 0 {
		return plate{}
	}
	scale := math.Sqrt(float64(k.bytes) / values)
	best, error := 1., math.Inf(1)
	for columns := 1.; columns <= channels; columns++ {
		rows := math.Ceil(channels / columns)
		// Full rows, then the wanted proportions.
		e := math.Abs(math.Log(columns*wide/(rows*high)/mapRatio)) + 4*(rows*columns-channels)/channels
		if e < error {
			best, error = columns, e
		}
		if columns > 4*math.Sqrt(channels)*math.Sqrt(high/wide)+8 {
			break
		}
	}
	rows := math.Ceil(channels / best)
	return plate{best, rows, best * wide * scale, rows * high * scale}
}

func drawMaps(s *Subject) []markup.Node {
	list := s.keptMaps()
	plates := make([]plate, len(list))
	widest := 0.
	for i, k := range list {
		plates[i] = plateOf(k)
		widest = max(widest, plates[i].width)
	}
	if widest == 0 {
		return nil
	}
	scale := widestMap / widest
	var items []markup.Node
	var rest int64
	others := 0
	for i, k := range list {
		p := plates[i]
		w, h := p.width*scale, p.height*scale
		if w < smallestMap && h < smallestMap {
			rest += k.bytes
			others++
			continue
		}
		paint := fill(view.KindActivations)
		if k.role() != "output" && k.role() != "input" {
			paint = fill("extra")
		}
		shapes := []markup.Node{elem("rect", "width", "100%", "height", "100%", "fill", paint, "data-kind", view.KindActivations)}
		if w/p.columns >= smallestCell && h/p.rows >= smallestCell && p.columns*p.rows > 1 {
			var lines strings.Builder
			for c := 1; c < int(p.columns); c++ {
				lines.WriteString("M" + strconv.Itoa(c) + " 0V" + number(p.rows))
			}
			for r := 1; r < int(p.rows); r++ {
				lines.WriteString("M0 " + strconv.Itoa(r) + "H" + number(p.columns))
			}
			shapes = append(shapes, markup.Elem("svg", markup.A("width", "100%", "height", "100%", "viewBox", "0 0 "+number(p.columns)+" "+number(p.rows), "preserveAspectRatio", "none"),
				elem("path", "class", "cells", "d", lines.String(), "vector-effect", "non-scaling-stroke")))
		}
		items = append(items, markup.Elem("li", markup.A("class", "map", "data-kind", view.KindActivations, "data-tip", s.account(k)),
			markup.Elem("svg", markup.A("aria-hidden", "true", "width", em(w), "height", em(h)), shapes...),
			markup.Elem("b", nil, markup.Text(s.layerName(k))),
			markup.Elem("span", nil, text(s.Lang, "figure.role."+k.role())),
			s.size(k.bytes)))
	}
	if others > 0 {
		items = append(items, markup.Elem("li", markup.A("class", "map rest"), markup.Elem("b", nil, text(s.Lang, "figure.maps.rest")),
			markup.Elem("span", nil, markup.Text(s.text("figure.maps.others", view.Args{"n": others}))),
			s.size(rest)))
	}
	return []markup.Node{markup.Elem("ul", markup.A("class", "map-row"), items...)}
}

func tableMaps(s *Subject) []markup.Node {
	var rows []cells
	var sample, once int64
	for _, k := range s.keptMaps() {
		shape := view.Shape(k.shape)
		if len(k.shape) == 0 {
			shape = s.count(1)
		}
		rows = append(rows, words(s.layerName(k), s.text("figure.role."+k.role(), nil), shape, k.DType, s.count(k.bytes), s.why(k)))
		if k.sample {
			sample += k.bytes
		} else {
			once += k.bytes
		}
	}
	rows = append(rows, words(s.text("where.total", nil), "", "", "", s.count(sample+once), ""))
	return []markup.Node{s.table(s.text("figure.maps.table", view.Args{"n": s.Request.Batch, "saved": s.Now.SavedForBackward}),
		[]string{"figure.maps.layer", "figure.maps.what", "figure.maps.shape", "figure.images.type", "figure.octets", "figure.maps.why"}, rows, true)}
}

// shows reports whether a kind has any of a timeline's tensors.
func (s *Subject) shows(r *calc.Result, kind string) bool {
	return slices.ContainsFunc(r.Tensors, func(t calc.Tensor) bool { return view.KindOf(t.Kind) == kind })
}
