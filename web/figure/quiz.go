package figure

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Kinds of questions: Predict comes before a section, Recall after it.
const (
	Predict = "predict"
	Recall  = "recall"
)

// question is asked about a section. Its words are the messages
// "<kind>.<section>", "….<choice>" and "….answer".
type question struct {
	choices []string
	// right is the right choice, or chosen from the subject's own numbers.
	right  string
	choose func(*Subject) string
	// args are the numbers of the question and of its answer.
	args func(*Subject) view.Args
	// sizes are what the choices stand for, in bytes, where they are quantities to compare.
	sizes func(*Subject) []int64
}

// between chooses by the bounds that a ratio in tenths reaches.
func between(tenths int64, bounds ...int64) int {
	return len(slices.DeleteFunc(slices.Clone(bounds), func(b int64) bool { return tenths < b }))
}

// ratio writes how many times b goes in a, without decimals where they would say nothing.
func (s *Subject) ratio(a, b int64) string {
	if b > 0 && a/b >= 10 {
		return s.count((a + b/2) / b)
	}
	return view.Ratio(s.Lang, a, b)
}

// handWeights is the lesson's count of what training keeps for the weights.
func handWeights(s *Subject) int64 { return s.slotBytes() * optimizerOf(s.Request.Optimizer).Values }

func batchBytes(s *Subject) int64 {
	return s.Request.Batch * s.imageValues() * pixelTypes[len(pixelTypes)-1].size
}

func tenths(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a * 10 / b
}

// questions are the lesson's, by kind and section.
var questions = map[string]map[string]question{
	Predict: {
		"message": {choices: []string{"largest", "last", "missing"}, right: "last"},
		"weights": {
			choices: []string{"1", "2", "3", "4"},
			choose:  func(s *Subject) string { return strconv.FormatInt(optimizerOf(s.Request.Optimizer).Values, 10) },
			args: func(s *Subject) view.Args {
				args := view.Args{"params": s.Now.Parameters.Total, "optimizer": s.text("optimizer."+optimizerOf(s.Request.Optimizer).ID, nil), "total": handWeights(s), "values": optimizerOf(s.Request.Optimizer).Values}
				for i := range int64(4) {
					args["size"+strconv.FormatInt(i+1, 10)] = (i + 1) * s.slotBytes()
				}
				return args
			},
		},
		"batch": {
			choices: []string{"weights", "batch"},
			choose: func(s *Subject) string {
				if batchBytes(s) > handWeights(s) {
					return "batch"
				}
				return "weights"
			},
			sizes: func(s *Subject) []int64 { return []int64{handWeights(s), batchBytes(s)} },
			args: func(s *Subject) view.Args {
				return view.Args{"n": s.Request.Batch, "weights": handWeights(s), "batch": batchBytes(s)}
			},
		},
		"activations": {
			choices: []string{"weights", "batch", "activations"},
			choose: func(s *Subject) string {
				sizes := []int64{handWeights(s), batchBytes(s), s.Now.SavedForBackward}
				return []string{"weights", "batch", "activations"}[slices.Index(sizes, slices.Max(sizes))]
			},
			sizes: func(s *Subject) []int64 { return []int64{handWeights(s), batchBytes(s), s.Now.SavedForBackward} },
			args: func(s *Subject) view.Args {
				return view.Args{"n": s.Request.Batch, "saved": s.Now.SavedForBackward}
			},
		},
		"buffers": {
			choices: []string{"less", "usual", "more"},
			choose: func(s *Subject) string {
				return []string{"less", "usual", "more"}[between(tenths(s.Now.SavedForBackward, s.Now.RuleOfThumb.Activations), 13, 16)]
			},
			args: func(s *Subject) view.Args {
				return view.Args{"saved": s.Now.SavedForBackward, "hand": s.Now.RuleOfThumb.Activations,
					"margin": view.Percent(s.Lang, s.Now.SavedForBackward-s.Now.RuleOfThumb.Activations, s.Now.RuleOfThumb.Activations)}
			},
		},
		"total": {
			choices: []string{calc.PhaseForward, calc.PhaseBackward, calc.PhaseStep},
			choose:  func(s *Subject) string { return s.Now.Peak.Phase },
			sizes: func(s *Subject) []int64 {
				return []int64{s.Now.Phases.Forward, s.Now.Phases.Backward, s.Now.Phases.Step}
			},
			args: func(s *Subject) view.Args {
				return view.Args{"peak": s.Now.Peak.Live, "place": s.place(s.Now.Peak.At)}
			},
		},
		"times8": {
			choices: []string{"less", "exactly", "more"},
			choose: func(s *Subject) string {
				switch eight := 8 * s.Now.Peak.Live; {
				case s.Times8().Peak.Live < eight:
					return "less"
				case s.Times8().Peak.Live > eight:
					return "more"
				}
				return "exactly"
			},
			args: func(s *Subject) view.Args {
				return view.Args{"n": s.Request.Batch, "times8": s.Request.Batch * view.BatchFactor, "now": s.Now.Peak.Live, "then": s.Times8().Peak.Live, "ratio": view.Ratio(s.Lang, s.Times8().Peak.Live, s.Now.Peak.Live)}
			},
		},
		"compute": {
			choices: []string{"same", "half", "more"},
			choose: func(s *Subject) string {
				return []string{"same", "half", "more"}[between(tenths(s.Now.Peak.Device, s.Now.Peak.Live), 12, 20)]
			},
			args: func(s *Subject) view.Args {
				return view.Args{"live": s.Now.Peak.Live, "device": s.Now.Peak.Device, "ratio": view.Ratio(s.Lang, s.Now.Peak.Device, s.Now.Peak.Live)}
			},
		},
		"inference": {
			choices: []string{"less", "some", "much"},
			choose: func(s *Subject) string {
				return []string{"less", "some", "much"}[between(tenths(s.Now.Peak.Live, s.Infer().Peak.Live), 20, 40)]
			},
			args: func(s *Subject) view.Args {
				return view.Args{"n": s.Request.Batch, "train": s.Now.Peak.Live, "infer": s.Infer().Peak.Live, "ratio": view.Ratio(s.Lang, s.Now.Peak.Live, s.Infer().Peak.Live)}
			},
		},
	},
	Recall: {
		"message":     {choices: []string{"total", "process", "allocated"}, right: "process"},
		"weights":     {choices: []string{"1", "2", "3"}, right: "2"},
		"batch":       {choices: []string{"much", "some", "same"}, right: "same"},
		"activations": {choices: []string{"2", "4", "8"}, right: "4"},
		"buffers":     {choices: []string{"input", "output", "both"}, right: "input"},
		"total":       {choices: []string{"gradients", "copies", "images"}, right: "gradients"},
		"times8":      {choices: []string{"weights", "activations", "temporaries"}, right: "weights"},
		"compute":     {choices: []string{"weights", "batch", "context"}, right: "context"},
		"inference":   {choices: []string{"yes", "no", "count"}, right: "count"},
	},
}

// Asked reports whether a section has a question of a kind.
func Asked(kind, section string) bool {
	_, ok := questions[kind][section]
	return ok
}

func (q question) arguments(s *Subject) view.Args {
	if q.args == nil {
		return nil
	}
	return q.args(s)
}

func (q question) truth(s *Subject) string {
	if q.choose != nil {
		return q.choose(s)
	}
	return q.right
}

// Unsure is the choice of who would rather see.
const Unsure = "unsure"

// Question writes a question without its answer, which is nowhere in the
// document before the reader has chosen. The choices wait for the page to wake.
func Question(kind, section string, s *Subject) string {
	q := questions[kind][section]
	id := kind + "-" + section
	var choices []markup.Node
	for _, choice := range append(slices.Clone(q.choices), Unsure) {
		attrs := markup.A("type", "button", "data-choice", choice, "aria-pressed", "false")
		label := s.text(kind+"."+section+"."+choice, q.arguments(s))
		if choice == Unsure {
			attrs = append(attrs, markup.Attr{Name: "class", Value: "quiet"})
			label = s.text("predict.unsure", nil)
		}
		choices = append(choices, markup.Elem("button", append(attrs, markup.Attr{Name: "disabled"}), markup.Text(label)))
	}
	return markup.Elem("div", markup.A("class", "quiz "+kind+" scripted", "role", "group", "aria-labelledby", id, "data-quiz", kind+"."+section),
		markup.Elem("p", markup.A("class", "ask", "id", id), markup.Elem("small", nil, text(s.Lang, kind+".title")), markup.Elem("span", markup.A("data-quiz-ask", ""), markup.Text(s.text(kind+"."+section, q.arguments(s))))),
		markup.Elem("div", markup.A("class", "choices"), choices...),
		markup.Elem("div", markup.A("class", "reveal", "role", "status")),
	).HTML()
}

// Ask is a question's own words and those of its choices, which hold the reader's numbers.
func Ask(name string, s *Subject) (ask string, choices map[string]string) {
	kind, section, _ := strings.Cut(name, ".")
	q := questions[kind][section]
	choices = map[string]string{}
	for _, choice := range q.choices {
		choices[choice] = s.text(name+"."+choice, q.arguments(s))
	}
	return s.text(name, q.arguments(s)), choices
}

// Reveal writes the answer to what the reader has chosen: the verdict, the
// reason with the reader's numbers and, for quantities, each of them drawn.
func Reveal(name, chosen string, s *Subject) string {
	kind, section, _ := strings.Cut(name, ".")
	q := questions[kind][section]
	args := q.arguments(s)
	right := q.truth(s)
	verdict := s.text("predict.right", nil)
	switch chosen {
	case right:
	case Unsure:
		verdict = s.text("predict.seen", view.Args{"right": s.text(name+"."+right, args)})
	default:
		verdict = s.text("predict.wrong", view.Args{"right": s.text(name+"."+right, args)})
	}
	var out strings.Builder
	out.WriteString(markup.Elem("p", nil, markup.Elem("b", nil, markup.Text(verdict)), markup.Text(" "+s.text(name+".answer", args))).HTML())
	if q.sizes != nil {
		sizes := q.sizes(s)
		most := slices.Max(sizes)
		var rows []markup.Node
		for i, choice := range q.choices {
			label := s.text(name+"."+choice, args)
			if choice == chosen && chosen != right {
				label = s.text("predict.yours", view.Args{"choice": label, "ratio": s.ratio(most, sizes[i])})
			}
			rows = append(rows, markup.Elem("li", nil, markup.Elem("span", nil, markup.Text(label)),
				markup.Elem("svg", markup.A("class", "live-bar", "aria-hidden", "true", "width", "100%"),
					elem("rect", "width", percent(float64(sizes[i]), float64(most)), "height", "100%", "fill", fill(choiceKind(choice)))),
				s.size(sizes[i])))
		}
		out.WriteString(markup.Elem("ul", markup.A("class", "compared"), rows...).HTML())
	}
	return out.String()
}

// Right reports whether a choice is the answer.
func Right(name, chosen string, s *Subject) bool {
	kind, section, _ := strings.Cut(name, ".")
	return chosen == questions[kind][section].truth(s)
}

// choiceKind is the paint of a quantity to compare.
func choiceKind(choice string) string {
	if slices.Contains(view.Kinds, choice) {
		return choice
	}
	return view.KindActivations
}

// Quizzes lists the names of all questions.
func Quizzes() []string {
	var names []string
	for kind, sections := range questions {
		for section := range sections {
			names = append(names, kind+"."+section)
		}
	}
	slices.Sort(names)
	return names
}
