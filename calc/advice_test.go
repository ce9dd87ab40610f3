package calc

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func advised(t *testing.T, r Request) []Advice {
	t.Helper()
	var all []Advice
	for a, err := range Advise(r, nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// What is handed out one by one is what one answer holds, but for the order.
// Advice for a network of many operations stops where its work is spent, and says so.
func TestAdviceIsBounded(t *testing.T) {
	for _, c := range []struct {
		r       Request
		bounded bool
	}{{Request{}, false}, {linearChain(3000), true}} {
		q, err := understand(c.r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := q.resolve()
		if err != nil {
			t.Fatal(err)
		}
		q.Want = []string{WantMaxBatch, WantAdvice}
		r, err := q.estimate(n)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Warnings, func(w Warning) bool { return w.Code == "advice-bounded" })
		whole := !slices.ContainsFunc(r.Advice, func(a Advice) bool { return a.MaxBatch == nil })
		if (at >= 0) != c.bounded || whole == c.bounded || len(r.Advice) < 3 {
			t.Errorf("%v: %d pieces of advice, all with their batch: %v, warnings %+v", c.r.Model.Preset, len(r.Advice), whole, r.Warnings)
		}
		if q.work.spent > 4*adviceWork {
			t.Errorf("%v: %d events walked", c.r.Model.Preset, q.work.spent)
		}
	}
}

func BenchmarkAdvice(b *testing.B) {
	for _, c := range []struct {
		name string
		r    Request
	}{{"lesson", Request{}}, {"resnet50", Request{Model: Model{Preset: "resnet50"}}}, {"chain1000", linearChain(1000)}, {"chain10000", linearChain(10_000)}} {
		c.r.Want = []string{WantMaxBatch, WantAdvice}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				estimate(b, c.r)
			}
		})
	}
}

func TestAdviseIsTheAnswersAdvice(t *testing.T) {
	for _, r := range []Request{
		{Want: []string{WantMaxBatch, WantAdvice}},
		{Batch: 512, Device: Device{GPU: "gtx-1650"}, Want: []string{WantAdvice}},
		{Batch: 1024, Device: Device{GPU: "gtx-1650"}, Want: []string{WantAdvice}},
		{Model: Model{Preset: "resnet18"}, Batch: 900, Device: Device{GPU: "gtx-1650"}, Want: []string{WantAdvice}},
		{Mode: "infer", Want: []string{WantAdvice}},
	} {
		answer, err := Estimate(r)
		if err != nil {
			t.Fatal(err)
		}
		all := advised(t, r)
		slices.SortStableFunc(all, CompareAdvice)
		if len(all) == 0 || len(all) != len(answer.Advice) {
			t.Fatalf("%+v: %d and %d advices", r, len(all), len(answer.Advice))
		}
		for i, a := range all {
			b := answer.Advice[i]
			if a.Change != b.Change || a.Saves != b.Saves || a.Costs != b.Costs || *a.Fits != *b.Fits || (a.MaxBatch == nil) != (b.MaxBatch == nil) || a.MaxBatch != nil && *a.MaxBatch != *b.MaxBatch {
				t.Errorf("%+v: %+v, in the answer %+v", r, a, b)
			}
		}
	}
}

func TestAdviseStops(t *testing.T) {
	n := 0
	for range Advise(Request{}, nil) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d advices", n)
	}
}

func TestAdviseRefuses(t *testing.T) {
	n := 0
	for _, err := range Advise(Request{Model: Model{Preset: "nothing"}}, nil) {
		var e *Error
		if n++; !errors.As(err, &e) || e.Code != "preset-unknown" {
			t.Errorf("%v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d answers", n)
	}
}

// What saves nothing says why.
func TestSavingNothingHasAReason(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []Request{{}, {Batch: 1}, {Batch: 512}, {Model: Model{Preset: "resnet18"}, Batch: 64}, {Model: Model{Preset: "gpt_small"}, Batch: 1}, {Model: Model{Preset: "mlp"}}} {
		for _, a := range advised(t, r) {
			code, reason, two := strings.Cut(a.Costs, " ")
			if (a.Saves <= 0) != (code == "saves-nothing") || code == "saves-nothing" && !two {
				t.Errorf("%s saves %d: %q", a.Change, a.Saves, a.Costs)
			}
			if code == "saves-nothing" {
				seen[reason] = true
			}
		}
	}
	for _, reason := range []string{"no-blocks", "peak-elsewhere", "kept-by-segments", "larger"} {
		if !seen[reason] {
			t.Errorf("no change is refused for %s: %v", reason, seen)
		}
	}
}
