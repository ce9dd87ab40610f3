package figure

import (
	"slices"
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/content/lesson"
	"vrametre/web/view"
)

// Every section but the last asks before and after, and every question is about a section.
func TestEverySectionAsks(t *testing.T) {
	doc, err := lesson.Parse(lesson.Source(lesson.Lesson, content.French))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, section := range doc.Sections[:len(doc.Sections)-1] {
		for _, kind := range []string{Predict, Recall} {
			if !Asked(kind, section.ID) {
				t.Errorf("section %s has no %s", section.ID, kind)
			}
			asked++
		}
	}
	if got := len(Quizzes()); got != asked {
		t.Errorf("%d questions for %d places", got, asked)
	}
}

// Before the reader chooses, nothing tells which choice is right, and the answer's words are nowhere.
func TestAnswersAreNotInTheDocument(t *testing.T) {
	for _, lang := range content.Langs {
		s := subject(t, view.Default(), lang)
		for _, name := range Quizzes() {
			kind, section, _ := strings.Cut(name, ".")
			q := questions[kind][section]
			asked := Question(kind, section, s)
			answer := s.text(name+".answer", q.arguments(s))
			if answer == name+".answer" || strings.Contains(answer, "{") {
				t.Fatalf("%s: answer %q", name, answer)
			}
			if first, _, _ := strings.Cut(answer, " "); strings.Contains(asked, answer) || len(first) == 0 {
				t.Errorf("%s: the question holds its answer", name)
			}
			right := q.truth(s)
			if !slices.Contains(q.choices, right) {
				t.Errorf("%s: %q is no choice", name, right)
			}
			// Apart from its name and label, the right choice is written like any other.
			shape := func(choice string) string {
				label := s.text(name+"."+choice, q.arguments(s))
				if label == name+"."+choice || strings.Contains(label, "{") {
					t.Errorf("%s %s: label %q", lang, choice, label)
				}
				at := strings.Index(asked, `data-choice="`+choice+`"`)
				end := strings.Index(asked[at:], "</button>")
				return strings.Replace(asked[at:at+end], ">"+label, ">", 1)[len(`data-choice="`+choice+`"`):]
			}
			for _, choice := range q.choices {
				if shape(choice) != shape(right) {
					t.Errorf("%s: %q and %q are written differently", name, choice, right)
				}
			}
		}
	}
}

// Whatever is chosen in whatever state, the answer is words, and right is what the numbers say.
func TestReveal(t *testing.T) {
	for _, lang := range content.Langs {
		for _, state := range states {
			s := subject(t, state, lang)
			for _, name := range Quizzes() {
				kind, section, _ := strings.Cut(name, ".")
				q := questions[kind][section]
				for _, chosen := range append(slices.Clone(q.choices), Unsure) {
					revealed := readable(parse(t, Reveal(name, chosen, s)))
					if strings.ContainsAny(revealed, "{}") || strings.Contains(revealed, name) {
						t.Errorf("%s %s: %q", name, chosen, revealed)
					}
					yes := strings.HasPrefix(strings.TrimSpace(revealed), s.text("predict.right", nil))
					if yes != (chosen == q.truth(s)) {
						t.Errorf("%+v %s: %q is told %q, right is %q", state, name, chosen, revealed, q.truth(s))
					}
				}
			}
		}
	}
}

func TestTruthsOfTheLesson(t *testing.T) {
	s := subject(t, view.Default(), content.French)
	for name, want := range map[string]string{
		"predict.message": "last", "predict.weights": "4", "predict.batch": "weights", "predict.activations": "activations", "predict.buffers": "more",
		"predict.total": "backward", "predict.times8": "less", "predict.compute": "more", "predict.inference": "less",
	} {
		kind, section, _ := strings.Cut(name, ".")
		if got := questions[kind][section].truth(s); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// The truth follows the reader's numbers.
	s = subject(t, view.Default().With(view.ScrubBatch, 256).WithOptimizer("sgd"), content.French)
	for name, want := range map[string]string{"predict.weights": "2", "predict.batch": "batch", "predict.compute": "half"} {
		kind, section, _ := strings.Cut(name, ".")
		if got := questions[kind][section].truth(s); got != want {
			t.Errorf("256 images, SGD: %s: %q, want %q", name, got, want)
		}
	}
}

// What recall questions claim, the engine says too.
func TestRecallIsTrue(t *testing.T) {
	ask := func(change func(*calc.Request)) calc.Result {
		r := view.Default().Request(content.French)
		r.Want = []string{calc.WantLayers}
		change(&r)
		result, err := calc.Estimate(r)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	base := ask(func(*calc.Request) {})
	if twice := ask(func(r *calc.Request) { r.Input[0].Shape = []int64{3, 256, 256} }); tenths(twice.SavedForBackward, base.SavedForBackward) < 39 {
		t.Errorf("images twice as wide keep %d, not four times %d", twice.SavedForBackward, base.SavedForBackward)
	}
	half := ask(func(r *calc.Request) { r.Batch /= 2 })
	for _, kind := range []string{view.KindWeights, view.KindOptimizer} {
		if kindBytes(&half, kind) != kindBytes(&base, kind) {
			t.Errorf("half the batch changes %s", kind)
		}
	}
	one := ask(func(r *calc.Request) { r.Batch = 1 })
	for _, part := range one.Parts {
		if part.Kind == calc.PartContext && part.Bytes < 100_000_000 {
			t.Errorf("a context of %d bytes", part.Bytes)
		}
	}
	for _, saved := range base.Saved {
		if saved.Type == "Conv2d" && saved.Own {
			t.Errorf("convolution %s keeps its output", saved.By)
		}
	}
}

// The puzzle cannot be done at first, and has at least two solutions of a
// single change; one of its levers does not suffice.
func TestPuzzle(t *testing.T) {
	estimate := func(a Attempt) calc.Result {
		r, err := calc.Estimate(a.Request())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := estimate(nil); *r.Fits {
		t.Fatalf("the puzzle is solved from the start: %+v of %+v", r.Peak, r.Budget)
	}
	if total := estimate(nil).Budget.Total; total < 7_900_000_000 || total > 8_700_000_000 {
		t.Errorf("the card has %d bytes", total)
	}
	var solutions []string
	for _, l := range levers {
		suffices := false
		for _, choice := range l.choices[1:] {
			a := Attempt{l.name: choice}
			r := estimate(a)
			if batch := a.Request().Batch * int64(max(1, a.Request().Accumulation)); batch != puzzleBatch {
				t.Errorf("%v learns from %d images per step", a, batch)
			}
			if solved, ok := a.Solved(r); ok != *r.Fits || ok && solved != l.name {
				t.Errorf("%v: solved %q %v, fits %v", a, solved, ok, *r.Fits)
			}
			suffices = suffices || *r.Fits
			// The workshop opens with the very same training.
			opened := view.ParseFragment(a.State().Fragment()).On(view.PageWorkshop)
			asked, err := opened.Ask(content.French)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := calc.Estimate(asked); err != nil || got.Peak != r.Peak || *got.Fits != *r.Fits {
				t.Errorf("%v: the workshop says %+v, %v, the puzzle %+v", a, got.Peak, err, r.Peak)
			}
		}
		if suffices {
			solutions = append(solutions, l.name)
		}
	}
	if len(solutions) < 2 || len(solutions) != puzzleWanted {
		t.Errorf("solutions: %v", solutions)
	}
	if slices.Contains(solutions, "optimizer") {
		t.Error("SGD was to be a false trail")
	}
	if _, ok := (Attempt{"precision": "amp-fp16", "optimizer": "sgd"}).Solved(estimate(Attempt{"precision": "amp-fp16", "optimizer": "sgd"})); ok {
		t.Error("two changes are no solution of one")
	}
}

func TestPuzzleSpeaks(t *testing.T) {
	for _, lang := range content.Langs {
		s := &Subject{Lang: lang}
		source, err := Puzzle(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range [][]string{nil, {"batch"}, {"batch", "precision", "activations"}} {
			nodes, _, err := Attempt{"batch": "64", "optimizer": "sgd", "precision": "amp-fp16", "activations": "recomputed"}.Outcome(s, found)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range nodes {
				source += n.HTML()
			}
		}
		if text := readable(parse(t, source)); strings.ContainsAny(text, "{}") || strings.Contains(text, "puzzle.") || strings.Contains(text, "costs.") {
			t.Errorf("%s: %s", lang, text)
		}
	}
}
