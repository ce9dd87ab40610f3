package figure

import (
	"slices"
	"strings"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// memory: what the card must give, by batch size, up to where it cannot.
var memory = design{
	parts: []part{
		{name: "drawing", when: Always, draw: drawMemory},
		{name: "table", when: Late, draw: tableMemory},
	},
	frame: only,
	wide:  true,
}

// Curve is the memory of one training by batch size: Request.Batch aside, every
// point answers the same request.
type Curve struct {
	// Top is the largest batch of the axis.
	Top    int64
	Points []CurvePoint
}

// CurvePoint is one batch size, computed like any other: Least is what its
// tensors and the CUDA context take, Device what the program would hold on a
// card without end, the allocator's reserve included.
type CurvePoint struct {
	Batch, Least, Device int64
	Fits                 bool
}

func pointOf(batch int64, r calc.Result) CurvePoint {
	return CurvePoint{batch, r.Peak.Allocated + r.Peak.Device - r.Peak.Reserved, r.Peak.Device, r.Fits != nil && *r.Fits}
}

// lessonPreset reads images.
const lessonPreset = "lesson"

// samples of a curve, besides the largest batch that fits and the first that does not.
const samples = 20

// axisTop is a round number of images beyond the largest batch that fits and the reader's own.
func axisTop(batch, maxBatch int64) int64 {
	want := max(batch, maxBatch+maxBatch/4, 8)
	for power := int64(1); ; power *= 10 {
		for _, step := range []int64{8, 10, 12, 16, 20, 25, 32, 40, 50, 64} {
			if top := step * power; top >= want {
				return top
			}
		}
	}
}

// Plan starts the curve of a request whose answer has the largest batch. Step
// computes its points one by one, so that the page stays awake meanwhile.
type Plan struct {
	curve   Curve
	request calc.Request
	batches []int64
}

// NewPlan plans the points of a curve.
func NewPlan(r calc.Request, maxBatch int64) *Plan {
	p := &Plan{request: r, curve: Curve{Top: axisTop(r.Batch, maxBatch)}}
	p.request.Want = nil
	for i := range int64(samples + 1) {
		at := max(1, p.curve.Top*i/samples)
		for _, edge := range []int64{maxBatch, maxBatch + 1} {
			if edge > 0 && edge < at && (len(p.batches) == 0 || edge > p.batches[len(p.batches)-1]) {
				p.batches = append(p.batches, edge)
			}
		}
		if len(p.batches) == 0 || at > p.batches[len(p.batches)-1] {
			p.batches = append(p.batches, at)
		}
	}
	return p
}

// Step computes the next point; done says that the curve is whole.
func (p *Plan) Step() (done bool, err error) {
	if len(p.batches) == 0 {
		return true, nil
	}
	r := p.request
	r.Batch = p.batches[0]
	result, err := calc.Estimate(r)
	if err != nil {
		return false, err
	}
	p.curve.Points = append(p.curve.Points, pointOf(r.Batch, result))
	p.batches = p.batches[1:]
	return len(p.batches) == 0, nil
}

// Curve is what is computed so far.
func (p *Plan) Curve() *Curve { return &p.curve }

// Trace computes a whole curve.
func Trace(r calc.Request, maxBatch int64) (*Curve, error) {
	p := NewPlan(r, maxBatch)
	for {
		done, err := p.Step()
		if err != nil {
			return nil, err
		}
		if done {
			return p.Curve(), nil
		}
	}
}

// slope is what one more sample takes, and what is left without any: the line
// through the curve's ends.
func (c Curve) slope() (each, fixed int64) {
	first, last := c.Points[0], c.Points[len(c.Points)-1]
	if last.Batch == first.Batch {
		return 0, first.Least
	}
	each = (last.Least - first.Least) / (last.Batch - first.Batch)
	return each, first.Least - each*first.Batch
}

func drawMemory(s *Subject) []markup.Node {
	budget := s.Now.Budget
	top := axisTop(s.Request.Batch, 0)
	if s.Curve != nil {
		top = max(s.Curve.Top, s.Request.Batch)
	}
	high := s.Now.Peak.Device
	if budget != nil {
		high = max(high, budget.Total)
	}
	if s.Curve != nil {
		for _, p := range s.Curve.Points {
			high = max(high, p.Device)
		}
	}
	high += high / 8
	x := func(batch int64) string { return percent(float64(batch), float64(top)) }
	y := func(bytes int64) string { return percent(float64(high-bytes), float64(high)) }
	limit := int64(0)
	if budget != nil {
		limit = budget.Total
	}
	lines, values := s.grid(high, limit)
	kids := []markup.Node{lines}
	if budget != nil {
		kids = append(kids, elem("rect", "class", "beyond", "width", "100%", "height", y(budget.Total), "fill", "url(#f-beyond)"))
	}
	if c := s.Curve; c != nil && len(c.Points) > 0 {
		// Up along what is needed, back along what would be held: the band between is the reserve.
		var need, band strings.Builder
		at := func(p CurvePoint, bytes int64) string {
			return number(resolution*float64(p.Batch)/float64(top)) + " " + number(resolution*(1-float64(bytes)/float64(high)))
		}
		for i, p := range c.Points {
			need.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + at(p, p.Least))
		}
		band.WriteString(need.String())
		for _, p := range slices.Backward(c.Points) {
			band.WriteString("L" + at(p, p.Device))
		}
		kids = append(kids, markup.Elem("svg", markup.A("width", "100%", "height", "100%", "viewBox", "0 0 1000 1000", "preserveAspectRatio", "none"),
			elem("path", "class", "reserve", "d", band.String()+"Z"),
			elem("path", "class", "curve", "d", need.String(), "vector-effect", "non-scaling-stroke")))
	}
	kids = append(kids, values)
	args := view.Args{"n": s.Request.Batch, "peak": s.Now.Peak.Device}
	words := s.text("figure.memory.label.alone", args)
	if budget != nil {
		at := y(budget.Total)
		kids = append(kids, elem("line", "class", "limit", "x1", "0", "x2", "100%", "y1", at, "y2", at),
			markup.Elem("text", markup.A("class", "alarm", "x", "14%", "y", at, "dy", "-6"),
				markup.Text(s.text("figure.memory.limit", view.Args{"total": budget.Total}))))
		args["total"] = budget.Total
		words = s.text("figure.memory.label.card", args)
		if best := s.Now.MaxBatch; best != nil {
			args["max"] = *best
			words = s.text("figure.memory.label", args)
			if s.Curve != nil && *best > 0 && *best <= top {
				anchor := "end"
				if *best*3 < top {
					anchor = "start"
				}
				kids = append(kids, elem("line", "class", "edge", "x1", x(*best), "x2", x(*best), "y1", at, "y2", "100%"),
					markup.Elem("text", markup.A("class", "strong", "x", x(*best), "y", "100%", "dx", map[string]string{"end": "-6", "start": "6"}[anchor], "dy", "-8", "text-anchor", anchor),
						markup.Text(s.text("figure.memory.max", view.Args{"n": *best}))))
			}
		}
	}
	here, at, above, side, dx := x(s.Request.Batch), y(s.Now.Peak.Device), s.Now.Peak.Device, "end", "-9"
	if s.Request.Batch < top*7/20 {
		side, dx, above = "start", "9", s.clear(top)
		kids = append(kids, elem("line", "class", "edge", "x1", here, "x2", here, "y1", at, "y2", y(above)))
	}
	kids = append(kids, elem("circle", "class", "peak", "cx", here, "cy", at, "r", "5"),
		markup.Elem("text", markup.A("class", "strong", "x", here, "y", y(above), "dx", dx, "dy", "-9", "text-anchor", side),
			markup.Text(s.text("figure.memory.here", args))))
	sentence := s.text("figure.memory.wait", nil)
	if s.Curve != nil && len(s.Curve.Points) > 1 {
		each, fixed := s.Curve.slope()
		key := "figure.memory.slope.sample"
		if s.Request.Model.Preset == lessonPreset {
			key = "figure.memory.slope"
		}
		sentence = s.text(key, view.Args{"each": each, "fixed": fixed})
	}
	axis := []markup.Node{label("0", "13", "start", "", s.count(0)), label("50%", "13", "middle", "", s.text("figure.memory.axis", nil)), label("100%", "13", "end", "", s.count(top))}
	legend := markup.Elem("ul", markup.A("class", "legend"),
		markup.Elem("li", nil, elem("span", "class", "key line"), text(s.Lang, "figure.memory.least")),
		markup.Elem("li", nil, elem("span", "class", "key band"), text(s.Lang, "figure.memory.reserve")))
	return []markup.Node{legend, drawing("area", words, kids...),
		markup.Elem("svg", markup.A("class", "axis", "aria-hidden", "true", "width", "100%"), axis...),
		markup.Elem("p", markup.A("class", "scale"), markup.Text(sentence))}
}

// clear is how high the words right of the reader's point must stand for the
// curve to pass below them, and they below the card's limit where the point is.
func (s *Subject) clear(top int64) int64 {
	high := s.Now.Peak.Device
	if s.Curve == nil {
		return high
	}
	for _, p := range s.Curve.Points {
		if p.Batch < s.Request.Batch+top*9/50 {
			high = max(high, p.Device)
		}
	}
	if b := s.Now.Budget; b != nil && s.Now.Peak.Device <= b.Total {
		high = max(s.Now.Peak.Device, min(high, b.Total*4/5))
	}
	return high
}

func tableMemory(s *Subject) []markup.Node {
	if s.Curve == nil {
		return nil
	}
	var rows []cells
	for _, p := range s.Curve.Points {
		fits := "figure.memory.no"
		if p.Fits {
			fits = "figure.memory.yes"
		}
		rows = append(rows, words(s.count(p.Batch), s.count(p.Least), s.count(p.Device), s.text(fits, nil)))
	}
	return []markup.Node{s.table(s.text("figure.memory.table", nil), []string{"settings.batch", "figure.memory.least", "figure.memory.device", "figure.memory.fits"}, rows, false)}
}
