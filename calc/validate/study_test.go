package validate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"

	"vrametre/calc"
)

var study = sync.OnceValues(Run)

func studied(t *testing.T) *Study {
	t.Helper()
	s, err := study()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every line of the tables is in the study once, with the figures that the rows themselves give.
func TestStudyHoldsEveryRow(t *testing.T) {
	s := studied(t)
	cases, verdicts := map[string]Case{}, map[string]Verdict{}
	for _, c := range s.Cases {
		if _, twice := cases[c.ID]; twice {
			t.Errorf("%s stands twice", c.ID)
		}
		cases[c.ID] = c
	}
	for _, v := range s.Verdicts {
		if _, twice := verdicts[v.ID]; twice {
			t.Errorf("%s stands twice", v.ID)
		}
		verdicts[v.ID] = v
	}
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	n, judged := 0, 0
	for _, r := range rows {
		if _, ok := verdicts[r.ID+"/card"]; !ok {
			t.Errorf("%s: no verdict on its card", r.ID)
		}
		judged++
		c, ok := cases[r.ID]
		if ok == r.OOM {
			t.Errorf("%s: measured %v, out of memory %v", r.ID, ok, r.OOM)
		}
		if r.OOM {
			continue
		}
		n++
		o, err := Compare(r)
		if err != nil {
			t.Fatal(err)
		}
		if c.Error != o.Error || c.Measured != r.Ground || c.Ours != o.Result.Peak.Reserved+ContextGrowth {
			t.Errorf("%s: %+v, the row says %d and %v", r.ID, c, r.Ground, o.Error)
		}
		if !r.Inferred && c.AtStart != c.Ours {
			t.Errorf("%s: its position is known, and changed", r.ID)
		}
		if r.Cap > 0 {
			judged++
			if v := verdicts[r.ID+"/capped"]; v.Fits != o.CapFits || v.Ran == r.CapOOM || v.Right != (v.Fits == v.Ran) {
				t.Errorf("%s: capped %+v", r.ID, v)
			}
		}
	}
	for _, read := range []func() ([]TableRow, error){Segmentation, BertLarge} {
		table, err := read()
		if err != nil {
			t.Fatal(err)
		}
		n += len(table)
	}
	list, err := Reports()
	if err != nil {
		t.Fatal(err)
	}
	if judged += len(list); len(s.Cases) != n || len(s.Verdicts) != judged {
		t.Errorf("%d cases of %d, %d verdicts of %d", len(s.Cases), n, len(s.Verdicts), judged)
	}
}

// A case beyond its interval, or far from its measurement, is a miss with a cause; none of the causes is idle.
func TestMissesAreSaid(t *testing.T) {
	s := studied(t)
	causes := map[string]int{}
	for _, c := range s.Cases {
		far := !c.Within() || math.Abs(c.Error) > Beyond || math.Abs(c.AtStartError) > Beyond
		if c.Missed != far || (c.Cause != "") != far {
			t.Errorf("%s: missed %v, cause %q, error %v", c.ID, c.Missed, c.Cause, c.Error)
		}
		if c.Missed {
			causes[c.Cause]++
			t.Logf("%-60s %+.1f %% %s, within %v", c.ID, 100*c.Error, c.Cause, c.Within())
		}
	}
	for _, cause := range Causes {
		if causes[cause] == 0 {
			t.Errorf("no miss is %s", cause)
		}
	}
	if len(s.Missed()) == 0 || len(causes) != len(Causes) {
		t.Errorf("causes %v", causes)
	}
}

func TestSegmentationRowsAreOneNetwork(t *testing.T) {
	list, err := Segmentation()
	if err != nil {
		t.Fatal(err)
	}
	unets := map[string]int{}
	for _, r := range list {
		if r.Request.Model.Preset == "fcn_unet_s5-d16" {
			unets[r.Dataset]++
		}
	}
	for dataset, n := range unets {
		if n != 1 {
			t.Errorf("%s: %d rows are taken for U-Net with the FCN head", dataset, n)
		}
	}
	if len(unets) != 4 {
		t.Errorf("U-Net on %v", unets)
	}
}

func TestVerdicts(t *testing.T) {
	s := studied(t)
	for kind, least := range map[string]float64{Capped: .9, Card: .9, Public: .9} {
		right := map[bool]int{}
		for _, v := range s.VerdictsOf(kind) {
			right[v.Right]++
			if !v.Right {
				t.Logf("%s: ran %v, fits %v, limit %d MiB, needs %d MiB", v.ID, v.Ran, v.Fits, v.Limit>>20, v.Needs>>20)
			}
		}
		t.Logf("%s: %d of %d right", kind, right[true], right[true]+right[false])
		if float64(right[true]) < least*float64(right[true]+right[false]) {
			t.Errorf("%s: %v", kind, right)
		}
	}
}

// Without a network's own rows the interval still holds for most of them.
func TestUnseen(t *testing.T) {
	s := studied(t)
	for _, family := range []string{CNN, Transformer} {
		held, of := s.Unseen(family)
		t.Logf("%s: %d of %d", family, held, of)
		if of != len(s.Of(family)) || held*10 < of*8 || held == of {
			t.Errorf("%s: the interval holds for %d of %d unseen cases", family, held, of)
		}
	}
}

// The bound stated for cuDNN's workspace is what the rows give: none holds more beside the simulation, one comes close.
func TestWorkspaceBound(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	closest := 0.
	for _, r := range rows {
		o, err := Compare(r)
		if err != nil {
			t.Fatal(err)
		}
		var stated calc.Assumption
		for _, a := range o.Result.Assumptions {
			if a.ID == "cudnn-workspace" {
				stated = a
			}
		}
		if (r.Family() == CNN) != (stated.Source == calc.SourceSurplus) || stated.Value != nil {
			t.Errorf("%s: %+v", r.ID, stated)
		}
		if r.Family() != CNN || r.OOM {
			continue
		}
		surplus := r.Ground - ContextGrowth - o.Result.Peak.Reserved
		if surplus > stated.High {
			t.Errorf("%s: %d bytes beside the simulation, at most %d stated", r.ID, surplus, stated.High)
		}
		closest = max(closest, float64(surplus)/float64(stated.High))
	}
	if closest < .95 {
		t.Errorf("no row comes closer than %v of the bound", closest)
	}
}

func TestFiles(t *testing.T) {
	s := studied(t)
	for name, file := range map[string]struct {
		write func() ([]byte, error)
		lines int
	}{"cases": {s.CasesCSV, len(s.Cases)}, "verdicts": {s.VerdictsCSV, len(s.Verdicts)}} {
		data, err := file.write()
		if err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil || len(all) != file.lines+1 {
			t.Fatalf("%s: %d lines of %d, %v", name, len(all), file.lines+1, err)
		}
		at := map[string]int{}
		for i, column := range all[0] {
			at[column] = i
		}
		for i, line := range all[1:] {
			if name == "verdicts" {
				if v := s.Verdicts[i]; line[at["id"]] != v.ID || line[at["limit_bytes"]] != strconv.FormatInt(v.Limit, 10) || line[at["right"]] != strconv.FormatBool(v.Right) {
					t.Errorf("%v, want %+v", line, v)
				}
				continue
			}
			c := s.Cases[i]
			if line[at["id"]] != c.ID || line[at["ours_bytes"]] != strconv.FormatInt(c.Ours, 10) || line[at["measured_bytes"]] != strconv.FormatInt(c.Measured, 10) || line[at["network"]] == "" {
				t.Errorf("%v, want %+v", line, c)
			}
			if e, err := strconv.ParseFloat(line[at["error"]], 64); err != nil || math.Abs(e-c.Error) > 5.01e-5 {
				t.Errorf("%v, want %v", line, c.Error)
			}
		}
	}
	data, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Study
	if err := json.Unmarshal(data, &back); err != nil || len(back.Cases) != len(s.Cases) || back.Cases[0].Ours != s.Cases[0].Ours || len(back.Verdicts) != len(s.Verdicts) {
		t.Errorf("%v: %d cases, %d verdicts", err, len(back.Cases), len(back.Verdicts))
	}
}

func TestStatsOf(t *testing.T) {
	got := StatsOf([]float64{-.3, .1, 0, .2, -.1})
	if got.Rows != 5 || got.Median != .1 || got.Worst != .3 || got.Drift != 0 || math.Abs(got.P90-.26) > 1e-12 {
		t.Errorf("%+v", got)
	}
	if got := StatsOf(nil); got != (Stats{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestAddresses(t *testing.T) {
	for source, want := range map[string]string{
		"a/b#12":             "https://github.com/a/b/issues/12",
		"a/b PR#3":           "https://github.com/a/b/pull/3",
		"example.com/x.html": "https://example.com/x.html",
	} {
		if got := address(source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

func TestExactKinds(t *testing.T) {
	list, err := Exactly()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Exact > e.Compared || !slices.Contains(ExactKinds, e.What) {
			t.Errorf("%+v", e)
		}
	}
}
