package figure

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// timeline: the live tensors of one training step, operation by operation. A
// slider, or the pointer on the drawing, walks through it.
var timeline = design{
	parts: []part{
		{name: "drawing", when: Always, draw: drawTimeline},
		{name: "cursor", when: Always | Looked, draw: drawCursor},
		{name: "slider", when: Always | Looked, attributes: sliderAttributes},
		{name: "live", when: Always | Looked, draw: drawLive},
		{name: "table", when: Late, draw: tableTimeline},
	},
	frame: func(s *Subject, parts map[string]markup.Node) []markup.Node {
		slider := markup.Elem("input", append(markup.A("type", "range", "class", "cursor-slider scripted", "data-part", "slider", "data-cursor", Timeline,
			"aria-label", s.text("figure.timeline.slider", nil), "autocomplete", "off"), sliderAttributes(s)...))
		return []markup.Node{
			markup.Elem("div", markup.A("class", "plot", "data-plot", Timeline), parts["drawing"], parts["cursor"]),
			slider, parts["live"],
		}
	},
	wide: true,
}

// AtPeak is the cursor that follows the peak.
const AtPeak = -1

// Columns of a timeline: longer ones have several operations in a column, of
// which the highest is shown.
const mostColumns = 400

// column is a run of operations of one phase, and the highest of them.
type column struct{ first, last, highest int }

// walkColumns cuts a timeline into columns. The step of the optimizer is one
// operation and would be a hair's breadth: it is drawn wider.
func walkColumns(points []calc.Point) ([]column, columns) {
	size := max(1, (len(points)+mostColumns-1)/mostColumns)
	var list []column
	for i := 0; i < len(points); {
		c := column{i, i, i}
		for c.last+1 < len(points) && c.last+1-i < size && points[c.last+1].Phase == points[i].Phase {
			c.last++
			if points[c.last].Live > points[c.highest].Live {
				c.highest = c.last
			}
		}
		list = append(list, c)
		i = c.last + 1
	}
	places := equal(len(list))
	for i, c := range list {
		if points[c.first].Phase == calc.PhaseStep {
			extra := len(list) / 24
			places.width[i] += extra
			places.total += extra
		}
	}
	return list, places
}

// Columns is how many places a cursor has in a timeline.
func Columns(r *calc.Result) int {
	list, _ := walkColumns(r.Timeline)
	return len(list)
}

// At is the column of a timeline at a place between 0 and 1 along it.
func At(r *calc.Result, place float64) int {
	list, places := walkColumns(r.Timeline)
	unit, sum := place*float64(places.total), 0
	for i, w := range places.width {
		if sum += w; unit < float64(sum) {
			return i
		}
	}
	return len(list) - 1
}

// peakColumn is where the highest operation is.
func peakColumn(points []calc.Point, list []column) int {
	best := 0
	for i, c := range list {
		if points[c.highest].Live > points[list[best].highest].Live {
			best = i
		}
	}
	return best
}

// cursorColumn is the column looked at.
func (s *Subject) cursorColumn(list []column) int {
	if s.Cursor < 0 || s.Cursor >= len(list) {
		return peakColumn(s.Now.Timeline, list)
	}
	return s.Cursor
}

// stack counts the live bytes of each kind in each column, the kinds that have
// any, as heights of a stack.
func stack(r *calc.Result, list []column) []layer {
	byKind, byPart := map[string][]int64{}, map[string][]int64{}
	// Differences at the operations where storages begin and end, summed up afterwards.
	for i := range r.Tensors {
		t := &r.Tensors[i]
		changes, ok := byPart[t.Kind]
		if !ok {
			kind := view.KindOf(t.Kind)
			if byKind[kind] == nil {
				byKind[kind] = make([]int64, len(r.Timeline)+1)
			}
			changes = byKind[kind]
			byPart[t.Kind] = changes
		}
		if t.Died < 0 || t.Born >= len(r.Timeline) {
			continue
		}
		changes[max(t.Born, 0)] += t.Bytes
		if t.Died+1 < len(r.Timeline) {
			changes[t.Died+1] -= t.Bytes
		}
	}
	below := make([]int64, len(list))
	var layers []layer
	for _, kind := range view.TensorKinds {
		bytes := byKind[kind]
		if bytes == nil {
			continue
		}
		for i := 1; i < len(bytes); i++ {
			bytes[i] += bytes[i-1]
		}
		l := layer{kind: kind, top: make([]int64, len(list))}
		for i, c := range list {
			below[i] += bytes[c.highest]
			l.top[i] = below[i]
		}
		layers = append(layers, l)
	}
	// Within one operation a storage may go before the next comes: the outline is
	// the engine's own count.
	for i, c := range list {
		live := r.Timeline[c.highest].Live
		for _, l := range layers {
			l.top[i] = min(l.top[i], live)
		}
		if n := len(layers); n > 0 {
			layers[n-1].top[i] = live
		}
	}
	return layers
}

// place names the layer of an operation in words.
func (s *Subject) place(at string) string {
	switch at {
	case "<loss>":
		return s.text("place.loss", nil)
	case "<optimizer>":
		return s.text("place.optimizer", nil)
	}
	for _, row := range s.Now.Layers {
		if row.Path == at {
			return s.text("place.layer", view.Args{"type": row.Type, "path": row.Path})
		}
	}
	return at
}

// spot is the layer's short name, for a list.
func (s *Subject) spot(at string) string {
	for _, row := range s.Now.Layers {
		if row.Path != at || at == "<loss>" {
			continue
		}
		if strings.Trim(at, "0123456789.") != "" { // a name says enough
			return s.text("figure.spot.named", view.Args{"path": row.Path})
		}
		return s.text("figure.spot", view.Args{"type": row.Type, "path": row.Path})
	}
	return s.place(at)
}

// moment names an operation: its phase and its place.
func (s *Subject) moment(p calc.Point) string {
	switch {
	case p.Phase == calc.PhaseStep:
		return s.text("figure.moment.step", nil)
	case p.Phase == calc.PhaseBackward:
		return s.text("figure.moment.backward", view.Args{"place": s.place(p.At)})
	}
	return s.text("figure.moment.forward", view.Args{"place": s.place(p.At)})
}

// phaseSpans are the first and last columns of each phase.
func phaseSpans(points []calc.Point, list []column) (spans [3][2]int) {
	for i := range spans {
		spans[i] = [2]int{-1, -1}
	}
	for i, c := range list {
		phase := slices.Index(phaseNames, points[c.first].Phase)
		if spans[phase][0] < 0 {
			spans[phase][0] = i
		}
		spans[phase][1] = i
	}
	return spans
}

var phaseNames = []string{calc.PhaseForward, calc.PhaseBackward, calc.PhaseStep}

// headroom above the highest point, for its label.
const labelRoom = 1.18

func drawTimeline(s *Subject) []markup.Node {
	points := s.Now.Timeline
	if len(points) == 0 {
		return nil
	}
	list, places := walkColumns(points)
	layers := stack(&s.Now, list)
	peak := peakColumn(points, list)
	highest := points[list[peak].highest]
	scale := int64(float64(highest.Live) * labelRoom)
	x := percent(float64(places.left(peak))+float64(places.width[peak])/2, float64(places.total))
	y := percent(float64(scale-highest.Live), float64(scale))
	anchor, dx := "start", "8"
	if 2*places.left(peak) > places.total {
		anchor, dx = "end", "-8"
	}
	words := s.text("figure.timeline.label", view.Args{
		"n": len(points), "peak": highest.Live, "moment": s.moment(highest), "forward": s.Now.Phases.Forward, "backward": s.Now.Phases.Backward, "step": s.Now.Phases.Step,
	})
	lines, values := s.grid(scale)
	kids := []markup.Node{
		lines,
		areas("timeline", places, layers, scale),
		values,
		elem("line", "class", "peak", "x1", x, "x2", x, "y1", "0", "y2", y),
		elem("circle", "class", "peak", "cx", x, "cy", y, "r", "4.5"),
		markup.Elem("text", markup.A("class", "strong long", "x", x, "y", "13", "dx", dx, "text-anchor", anchor),
			markup.Text(s.text("figure.timeline.peak", view.Args{"peak": highest.Live, "moment": s.moment(highest)}))),
		markup.Elem("text", markup.A("class", "strong short", "x", x, "y", "13", "dx", dx, "text-anchor", anchor),
			markup.Text(s.text("figure.timeline.peak.short", view.Args{"peak": highest.Live}))),
	}
	phases := make([]markup.Node, 0, len(phaseNames))
	for i, span := range phaseSpans(points, list) {
		if span[0] < 0 {
			continue
		}
		left, right := places.left(span[0]), places.left(span[1])+places.width[span[1]]
		if i > 0 {
			at := percent(float64(left), float64(places.total))
			kids = append(kids, elem("line", "class", "phase", "x1", at, "x2", at, "y1", "0", "y2", "100%"))
		}
		middle, side := percent(float64(left+right)/2, float64(places.total)), "middle"
		if phaseNames[i] == calc.PhaseStep {
			middle, side = "100%", "end"
		}
		phases = append(phases, label(middle, "13", side, "", s.text("figure.phase."+phaseNames[i], nil)))
	}
	var kinds []string
	for _, l := range layers {
		kinds = append(kinds, l.kind)
	}
	return []markup.Node{
		s.legend(kinds),
		drawing("area", words, kids...),
		markup.Elem("svg", markup.A("class", "axis", "aria-hidden", "true", "width", "100%"), phases...),
	}
}

// drawCursor is the line where the reader looks, over the drawing.
func drawCursor(s *Subject) []markup.Node {
	list, places := walkColumns(s.Now.Timeline)
	if len(list) == 0 || s.Cursor < 0 {
		return nil
	}
	i := s.cursorColumn(list)
	x := percent(float64(places.left(i))+float64(places.width[i])/2, float64(places.total))
	return []markup.Node{markup.Elem("svg", markup.A("class", "cursor-line", "aria-hidden", "true", "width", "100%"),
		elem("line", "x1", x, "x2", x, "y1", "0", "y2", "100%"))}
}

func sliderAttributes(s *Subject) []markup.Attr {
	list, _ := walkColumns(s.Now.Timeline)
	i := s.cursorColumn(list)
	spoken := ""
	if len(list) > 0 {
		p := s.Now.Timeline[list[i].highest]
		spoken = s.text("figure.timeline.spoken", view.Args{"n": list[i].highest + 1, "of": len(s.Now.Timeline), "moment": s.moment(p), "live": p.Live})
	}
	return markup.A("min", "0", "max", strconv.Itoa(max(0, len(list)-1)), "value", strconv.Itoa(i), "aria-valuetext", spoken)
}

// listed is how many live tensors are shown one by one.
const listed = 8

// drawLive lists what is alive where the reader looks, largest first.
func drawLive(s *Subject) []markup.Node {
	list, _ := walkColumns(s.Now.Timeline)
	if len(list) == 0 {
		return nil
	}
	i := list[s.cursorColumn(list)].highest
	p := s.Now.Timeline[i]
	live := s.liveAt(i)
	var rows []markup.Node
	var rest int64
	others := 0
	largest := int64(1)
	if len(live) > 0 {
		largest = live[0].bytes
	}
	for j, l := range live {
		if j >= listed {
			rest += l.bytes
			others += l.n
			continue
		}
		rows = append(rows, markup.Elem("li", markup.A("data-kind", l.kind),
			markup.Elem("span", markup.A("class", "what"), elem("span", "class", "key k-"+l.kind), markup.Text(s.liveName(l))),
			markup.Elem("svg", markup.A("class", "live-bar", "aria-hidden", "true", "width", "100%"),
				elem("rect", "width", percent(float64(l.bytes), float64(largest)), "height", "100%", "fill", fill(l.kind), "data-kind", l.kind)),
			s.size(l.bytes)))
	}
	// Always as many rows, so that nothing moves while the reader drags.
	for j := len(live); j < listed; j++ {
		rows = append(rows, markup.Elem("li", markup.A("class", "none"), markup.Text("\u00a0")))
	}
	last := "\u00a0"
	if others > 0 {
		last = s.text("figure.timeline.others", view.Args{"n": others, "size": rest})
	}
	return []markup.Node{
		markup.Elem("p", markup.A("class", "moment"), markup.Elem("b", nil, markup.Text(s.text("figure.timeline.at", view.Args{"n": i + 1, "of": len(s.Now.Timeline), "moment": s.moment(p)}))),
			markup.Text(" "+s.text("figure.timeline.change", view.Args{"live": p.Live, "alloc": p.Alloc, "free": p.Free}))),
		markup.Elem("ul", markup.A("class", "live-list"), rows...),
		markup.Elem("p", markup.A("class", "others"), markup.Text(last)),
	}
}

// alive is a tensor that is alive, or all of a kind that are not worth telling apart.
type alive struct {
	kind, part, at string
	bytes          int64
	n              int
}

// together are the kinds that live as one block through the step.
var together = map[string]bool{view.KindWeights: true, view.KindGradients: true, view.KindOptimizer: true}

func (s *Subject) liveAt(point int) []alive {
	var list []alive
	index := map[string]int{}
	for i := range s.Now.Tensors {
		t := &s.Now.Tensors[i]
		if t.Born > point || t.Died < point {
			continue
		}
		kind := view.KindOf(t.Kind)
		if together[kind] {
			if i, ok := index[kind]; ok {
				list[i].bytes += t.Bytes
				list[i].n++
				continue
			}
			index[kind] = len(list)
			list = append(list, alive{kind, kind, "", t.Bytes, 1})
			continue
		}
		list = append(list, alive{kind, t.Kind, t.At, t.Bytes, 1})
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	// Whoever came first stands first among equals. What is moved about is small.
	slices.SortFunc(order, func(a, b int) int {
		if list[a].bytes != list[b].bytes {
			return cmp.Compare(list[b].bytes, list[a].bytes)
		}
		return cmp.Compare(a, b)
	})
	sorted := make([]alive, len(list))
	for i, j := range order {
		sorted[i] = list[j]
	}
	return sorted
}

func (s *Subject) liveName(l alive) string {
	switch {
	case together[l.kind], l.kind == view.KindBatch:
		return s.text("kind."+l.kind, nil)
	case l.part == calc.PartOutputs:
		return s.text("part."+l.part, nil)
	}
	return s.text("figure.timeline.tensor", view.Args{"kind": s.text("kind."+l.kind, nil), "place": s.spot(l.at)})
}

func tableTimeline(s *Subject) []markup.Node {
	rows := make([]cells, len(s.Now.Timeline))
	for i, p := range s.Now.Timeline {
		rows[i] = words(s.count(int64(i+1)), s.moment(p), s.bytes(p.Live), s.bytes(p.Alloc), s.bytes(p.Free))
	}
	return []markup.Node{s.table(s.text("figure.timeline.table", view.Args{"n": len(rows)}),
		[]string{"figure.timeline.operation", "figure.timeline.moment", "figure.timeline.live", "figure.timeline.alloc", "figure.timeline.free"}, rows, false)}
}
