package figure

import (
	"slices"
	"strconv"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// The puzzle: a training that does not fit on a card of 8 GB. The reader may
// change how it is done, not what it learns from: 128 images per step of the
// optimizer, 224 pixels wide.
const (
	puzzleModel  = "resnet50"
	puzzleBatch  = 128
	puzzleCard   = "rtx-4060"
	puzzleWanted = 3 // single changes that suffice
)

// lever is one thing that the puzzle lets the reader change. The first choice
// is how the training is done at the start.
type lever struct {
	name    string
	choices []string
	apply   func(r *calc.Request, choice string)
	// cost is the code of what any other choice costs.
	cost string
}

var levers = []lever{
	{"batch", []string{"128", "64", "32"}, func(r *calc.Request, choice string) {
		n, _ := strconv.ParseInt(choice, 10, 64)
		r.Batch, r.Accumulation = n, int(puzzleBatch/n)
	}, "accumulation"},
	{"precision", []string{"fp32", "amp-fp16"}, func(r *calc.Request, choice string) { r.Precision = choice }, "mixed-precision"},
	{"activations", []string{"kept", "recomputed"}, func(r *calc.Request, choice string) { r.Checkpointing.EveryBlock = choice == "recomputed" }, "recompute"},
	{"optimizer", []string{"adam", "sgd"}, func(r *calc.Request, choice string) { r.Optimizer.Name = choice }, "optimizer-plain"},
}

// Attempt is how the reader does the puzzle's training: a choice for each lever.
type Attempt map[string]string

// choice of a lever: the first one unless the attempt says another.
func (a Attempt) choice(l lever) string {
	if c := a[l.name]; slices.Contains(l.choices, c) {
		return c
	}
	return l.choices[0]
}

// Request asks calc what an attempt takes.
func (a Attempt) Request() calc.Request {
	r := calc.Request{Model: calc.Model{Preset: puzzleModel}, Device: calc.Device{GPU: puzzleCard}}
	for _, l := range levers {
		l.apply(&r, a.choice(l))
	}
	return r
}

// State is the attempt as the workshop opens with it.
func (a Attempt) State() view.State {
	r := a.Request()
	s := view.Default().WithGPU(puzzleCard).WithOptimizer(r.Optimizer.Name).With(view.ScrubBatch, r.Batch)
	s.Setup = view.Setup{Model: puzzleModel, Recompute: r.Checkpointing.EveryBlock}
	return s.WithSetting(view.SetupPrecision, r.Precision).WithSetting(view.SetupAccumulation, strconv.Itoa(r.Accumulation))
}

// Changed lists the levers that an attempt moves.
func (a Attempt) Changed() []string {
	var names []string
	for _, l := range a.changes() {
		names = append(names, l.name)
	}
	return names
}

func (a Attempt) changes() []lever {
	var moved []lever
	for _, l := range levers {
		if a.choice(l) != l.choices[0] {
			moved = append(moved, l)
		}
	}
	return moved
}

// Solved reports whether an attempt is a solution with a single change, and which.
func (a Attempt) Solved(r calc.Result) (string, bool) {
	moved := a.changes()
	if len(moved) != 1 || r.Fits == nil || !*r.Fits {
		return "", false
	}
	return moved[0].name, true
}

// Puzzle writes the puzzle as it stands before the first attempt.
func Puzzle(s *Subject) (string, error) {
	start := Attempt{}
	outcome, _, err := start.Outcome(s, nil)
	if err != nil {
		return "", err
	}
	var kids []markup.Node
	for _, l := range levers {
		var radios []markup.Node
		for i, choice := range l.choices {
			attrs := markup.A("type", "radio", "name", "puzzle-"+l.name, "value", choice, "data-lever", l.name, "autocomplete", "off")
			if i == 0 {
				attrs = append(attrs, markup.Attr{Name: "checked"})
			}
			radios = append(radios, markup.Elem("label", nil, markup.Elem("input", attrs), text(s.Lang, "puzzle."+l.name+"."+choice)))
		}
		kids = append(kids, markup.Elem("fieldset", markup.A("class", "choice"), append([]markup.Node{markup.Elem("legend", nil, text(s.Lang, "puzzle."+l.name))}, radios...)...))
	}
	kids = append([]markup.Node{
		markup.Elem("p", markup.A("class", "ask"), markup.Elem("small", nil, text(s.Lang, "puzzle.title")), text(s.Lang, "puzzle.ask")),
	}, kids...)
	kids = append(kids, markup.Elem("div", markup.A("class", "outcome", "role", "status"), outcome...))
	return markup.Elem("div", markup.A("class", "quiz puzzle scripted", "role", "group", "aria-label", s.text("puzzle.title", nil), "data-puzzle", ""), kids...).HTML(), nil
}

// Outcome is what an attempt gives, beside the single changes found before:
// the bar on the card, the verdict, what it costs. It returns the answer too.
func (a Attempt) Outcome(s *Subject, found []string) ([]markup.Node, calc.Result, error) {
	r, err := calc.Estimate(a.Request())
	if err != nil {
		return nil, calc.Result{}, err
	}
	scale := max(r.Budget.Total, r.Peak.Device)
	var bar []markup.Node
	at := int64(0)
	for _, kind := range view.Kinds {
		n := kindBytes(&r, kind)
		bar = append(bar, elem("rect", "x", percent(float64(at), float64(scale)), "width", percent(float64(n), float64(scale)), "height", "100%", "fill", fill(kind)))
		at += n
	}
	limit := percent(float64(r.Budget.Total), float64(scale))
	bar = append(bar, elem("line", "class", "limit", "x1", limit, "x2", limit, "y1", "-4", "y2", "100%"))
	args := view.Args{"peak": r.Peak.Device, "total": r.Budget.Total}
	verdict, tone := "puzzle.over", view.ToneOver
	if *r.Fits {
		verdict, tone = "puzzle.fits", view.ToneFits
	}
	words := s.text(verdict, args)
	nodes := []markup.Node{
		markup.Elem("svg", markup.A("class", "puzzle-bar", "role", "img", "aria-label", words, "width", "100%"), bar...),
		markup.Elem("p", markup.A("class", "result "+string(tone)), markup.Text(words)),
	}
	for _, l := range a.changes() {
		nodes = append(nodes, markup.Elem("p", nil, markup.Text(s.text("puzzle.cost", view.Args{"change": s.text("puzzle."+l.name+"."+a.choice(l), nil), "cost": s.text("costs."+l.cost, nil)}))))
	}
	key := "puzzle.found"
	if len(found) == puzzleWanted {
		key = "puzzle.all"
	}
	if len(found) > 0 {
		nodes = append(nodes, markup.Elem("p", markup.A("class", "tally"), markup.Text(s.text(key, view.Args{"n": len(found), "of": puzzleWanted}))))
	}
	return nodes, r, nil
}
