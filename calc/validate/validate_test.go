package validate

import (
	"encoding/json"
	"flag"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"vrametre/calc"
)

func abs(errors []float64) []float64 {
	var out []float64
	for _, e := range errors {
		out = append(out, math.Abs(e))
	}
	slices.Sort(out)
	return out
}

func run(t *testing.T, family string, change func(*Row)) []Outcome {
	t.Helper()
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	var out []Outcome
	for _, r := range rows {
		if r.Family() != family {
			continue
		}
		change(&r)
		o, err := Compare(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func report(t *testing.T, out []Outcome) []float64 {
	t.Helper()
	var errors []float64
	for _, o := range out {
		if o.OOM {
			continue
		}
		errors = append(errors, o.Error)
		t.Logf("%-52s %-16s ground %6d MiB, reserved %6d MiB %+6.1f %%, live %6d MiB", o.ID, o.Request.ZeroGradAt, o.Ground>>20, o.Result.Peak.Reserved>>20, 100*o.Error, o.Result.Peak.Live>>20)
	}
	return abs(errors)
}

// The bars are those of a prototype that simulated the allocator over traces of the real networks.
func TestReservedOfCNNs(t *testing.T) {
	recorded := report(t, run(t, "cnn", func(*Row) {}))
	t.Logf("recorded positions: median %.2f %%, 90th percentile %.2f %%", 100*Quantile(recorded, .5), 100*Quantile(recorded, .9))
	if m := Quantile(recorded, .5); m > .036 {
		t.Errorf("recorded positions: median %.2f %%", 100*m)
	}
	start := report(t, run(t, "cnn", func(r *Row) {
		if r.Inferred {
			r.Request.ZeroGradAt = "start"
		}
	}))
	t.Logf("inferred positions at the start: median %.2f %%, 90th percentile %.2f %%", 100*Quantile(start, .5), 100*Quantile(start, .9))
	if m := Quantile(start, .5); m > .028 {
		t.Errorf("inferred positions at the start: median %.2f %%", 100*m)
	}
	if p := Quantile(start, .9); p > .12 {
		t.Errorf("inferred positions at the start: 90th percentile %.2f %%", 100*p)
	}
}

// The attention kernel is what PyTorch's default gives these models: scaled_dot_product_attention, in fp32 the efficient one.
func TestReservedOfTransformers(t *testing.T) {
	errors := report(t, run(t, "transformer", func(*Row) {}))
	t.Logf("median %.2f %%, 90th percentile %.2f %% of %d rows", 100*Quantile(errors, .5), 100*Quantile(errors, .9), len(errors))
	if m := Quantile(errors, .5); m > .08 || len(errors) == 0 {
		t.Errorf("median %.2f %% of %d rows", 100*m, len(errors))
	}
}

func TestCappedRuns(t *testing.T) {
	right, n := 0, 0
	for _, o := range run(t, "cnn", func(*Row) {}) {
		if o.Cap == 0 {
			continue
		}
		n++
		switch {
		case o.CapFits == !o.CapOOM:
			right++
		case o.CapOOM:
			t.Errorf("%s: ran out of memory within %d MiB, the simulation fits", o.ID, o.Cap>>20)
		default:
			t.Logf("%s: ran within %d MiB, the simulation does not fit", o.ID, o.Cap>>20)
		}
	}
	t.Logf("%d of %d right", right, n)
	if right < n-1 {
		t.Errorf("%d of %d capped runs right", right, n)
	}
}

func TestOutOfMemoryRows(t *testing.T) {
	for _, o := range run(t, "cnn", func(r *Row) {
		context := int64(300 << 20) // what CUDA 11.7 and later take before the first tensor
		r.Request.Device.ContextBytes = &context
		total := r.Total
		r.Request.Device.TotalBytes = &total
	}) {
		if o.OOM && *o.Result.Fits {
			t.Errorf("%s: ran out of memory on %d MiB, the simulation fits", o.ID, o.Total>>20)
		}
	}
}

var update = flag.Bool("update", false, "write calc's interval.json")

func TestIntervalsAreThoseOfTheRows(t *testing.T) {
	want, err := Spreads()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		data, _ := json.MarshalIndent(want, "", "  ")
		if err := os.WriteFile("../interval.json", append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := calc.Spreads(); !maps.Equal(got, want) {
		t.Errorf("interval.json holds %v, the rows give %v; run go test ./calc/validate -update", got, want)
	}
}

func TestIntervalsHold(t *testing.T) {
	for _, family := range []string{"cnn", "transformer"} {
		in, n := 0, 0
		for _, o := range run(t, family, func(*Row) {}) {
			if o.OOM {
				continue
			}
			n++
			// the rows are without context, which the request says is 0
			if g := o.Ground - ContextGrowth; o.Result.Interval.Low <= g && g <= o.Result.Interval.High {
				in++
			}
		}
		t.Logf("%s: %d of %d rows within the interval", family, in, n)
		if in*10 < n*9 {
			t.Errorf("%s: %d of %d rows within the interval", family, in, n)
		}
	}
}

func TestSegmentationTable(t *testing.T) { table(t, Segmentation) }

func TestBertLargeLadder(t *testing.T) { table(t, BertLarge) }

func table(t *testing.T, read func() ([]TableRow, error)) {
	t.Helper()
	rows, err := read()
	if err != nil {
		t.Fatal(err)
	}
	var errors []float64
	for _, r := range rows {
		got, e, _, err := r.Compare()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-60s measured %6d MiB, simulated %6d MiB %+6.1f %%", r.Name, r.Bytes>>20, got>>20, 100*e)
		errors = append(errors, e)
	}
	if m := Quantile(abs(errors), .5); m > .10 || len(rows) == 0 {
		t.Errorf("%d rows, median error %.1f %%", len(rows), 100*m)
	} else {
		t.Logf("%d rows, median error %.1f %%", len(rows), 100*m)
	}
}
