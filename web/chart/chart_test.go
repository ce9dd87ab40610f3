package chart

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vrametre/content"
	"vrametre/web/view"
)

// option is what the tests read of ECharts' options.
type option struct {
	Series []struct {
		ID, Name, Type, Stack  string
		XAxisIndex, YAxisIndex int
		Data                   []struct {
			Name  string
			Value int64
		}
		ItemStyle struct{ Color string }
		MarkLine  *struct{ Data []struct{ XAxis int64 } }
	}
	XAxis []struct {
		Max       int64
		GridIndex int
		AxisLabel struct{ Formatter string }
	}
	YAxis []struct {
		GridIndex int
		Data      []string
	}
	Tooltip struct{ Formatter string }
	Toolbox any
}

func where(t *testing.T, s view.State, lang content.Lang) (option, view.Figures) {
	t.Helper()
	scene, err := view.Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	f := view.NewFigures(scene, lang)
	options, err := Where(f)
	if err != nil {
		t.Fatal(err)
	}
	var o option
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		t.Fatalf("%v in %s", err, options)
	}
	return o, f
}

func TestWhereStacksTheScene(t *testing.T) {
	for _, state := range []view.State{
		view.Default(),
		view.Default().With(view.ScrubBatch, 1024), // more than the card
		view.Default().WithGPU("a100-80").WithOptimizer("sgd"),
	} {
		o, f := where(t, state, content.French)
		var rule, peak, card int64
		for _, s := range o.Series {
			if s.ItemStyle.Color != "var(--"+strings.TrimSuffix(s.ID, cardSuffix)+")" {
				t.Errorf("series %s is %s", s.ID, s.ItemStyle.Color)
			}
			switch s.Stack {
			case "peak":
				rule, peak = rule+s.Data[0].Value, peak+s.Data[1].Value
			case "card":
				card += s.Data[0].Value
				if s.XAxisIndex != 1 || s.YAxisIndex != 1 {
					t.Errorf("%s is not on the card's scale", s.ID)
				}
			default:
				t.Errorf("series %s is in no stack", s.ID)
			}
		}
		device := f.Scene().Now.Peak.Device
		if peak != device || card != device {
			t.Errorf("%+v: bars of %d and %d, the peak is %d", state, peak, card, device)
		}
		if want, _ := f.Number("rule.total"); rule != want {
			t.Errorf("%+v: the hand's bar is %d, want %d", state, rule, want)
		}
		total, _ := f.Number("card.total")
		want := []int64{endOf(max(rule, peak)), total}
		if peak > total {
			want[1] = endOf(peak)
		}
		if got := []int64{o.XAxis[0].Max, o.XAxis[1].Max}; !slices.Equal(got, want) {
			t.Errorf("%+v: scales %d, want %d", state, got, want)
		}
		if line := o.Series[len(o.Series)/2].MarkLine; line == nil || line.Data[0].XAxis != total {
			t.Errorf("%+v: no line at the card's memory: %+v", state, line)
		}
		if names := strings.Join(append(o.YAxis[0].Data, o.YAxis[1].Data...), "|"); !strings.Contains(names, view.Bytes(content.French, device)) || !strings.Contains(names, view.Gigabytes(content.French, total)) {
			t.Errorf("%+v: bars named %s", state, names)
		}
		if o.Toolbox != nil {
			t.Error("an empty toolbox is drawn")
		}
	}
}

func TestWhereSpeaksBothLanguages(t *testing.T) {
	for lang, want := range map[content.Lang]string{content.French: "{a}\u202f: {b}", content.English: "{a}: {b}"} {
		if o, _ := where(t, view.Default(), lang); o.Tooltip.Formatter != want {
			t.Errorf("%s: tooltip %q, want %q", lang, o.Tooltip.Formatter, want)
		}
	}
}

func TestEnds(t *testing.T) {
	for n, want := range map[int64]int64{1: 1, 4: 5, 6: 10, 10: 10, 11: 20, 871_156_940: 1_000_000_000, 2_000_000_001: 3_000_000_000, 1 << 60: 2_000_000_000_000_000_000} {
		if got := endOf(n); got != want {
			t.Errorf("endOf(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		max, interval int64
		last, text    string
	}{
		{871_156_940, 200_000_000, "800000000", "800\u202fMo"},
		{4_091_000_000, 1_000_000_000, "4000000000", "4\u202fGo"},
		{1_999_999_999, 500_000_000, "1500000000", "1\u202f500\u202fMo"},
		{999, 200, "800", "800\u202fo"},
		{1000, 200, "1000", "1\u202f000\u202fo"},
		{1, 1, "1", "1\u202fo"},
		{86_000_000_000_000, 20_000_000_000_000, "80000000000000", "80\u202fTo"},
	} {
		tk := ticksOf(c.max)
		if tk.interval != c.interval {
			t.Errorf("ticksOf(%d): interval %d, want %d", c.max, tk.interval, c.interval)
		}
		var labels map[string]string
		text := strings.TrimSuffix(strings.TrimPrefix(string(tk.labels(content.French)), "__f__"), "__f__")
		if err := json.Unmarshal([]byte(text), &labels); err != nil {
			t.Fatal(err)
		}
		if labels["0"] != "0" || labels[c.last] != c.text {
			t.Errorf("ticksOf(%d): labels %q, want %q at %s", c.max, labels, c.text, c.last)
		}
		if n := len(labels); n < 2 || n > 6 {
			t.Errorf("ticksOf(%d): %d marks", c.max, n)
		}
	}
}

// What moves is what the whole chart would show.
func TestWhereMovedIsPartOfWhere(t *testing.T) {
	for _, state := range []view.State{view.Default(), view.Default().With(view.ScrubBatch, 1024), view.Default().WithOptimizer("sgd")} {
		whole, f := where(t, state, content.English)
		text, err := WhereMoved(f)
		if err != nil {
			t.Fatal(err)
		}
		var moved option
		if err := json.Unmarshal([]byte(text), &moved); err != nil {
			t.Fatal(err)
		}
		if len(moved.Series) != len(whole.Series) || len(moved.XAxis) != 2 || len(moved.YAxis) != 2 {
			t.Fatalf("%+v: %s", state, text)
		}
		data := map[string]string{}
		for _, s := range whole.Series {
			data[s.ID] = fmt.Sprint(s.Data)
		}
		for _, s := range moved.Series {
			if got := fmt.Sprint(s.Data); got != data[s.ID] {
				t.Errorf("%+v: %s moves to %s, is drawn at %s", state, s.ID, got, data[s.ID])
			}
		}
		for i := range whole.XAxis {
			if moved.XAxis[i].Max != whole.XAxis[i].Max || moved.XAxis[i].AxisLabel != whole.XAxis[i].AxisLabel || fmt.Sprint(moved.YAxis[i].Data) != fmt.Sprint(whole.YAxis[i].Data) {
				t.Errorf("%+v: axes %d differ", state, i)
			}
		}
	}
	// A line of another card's is no part of it.
	_, one := where(t, view.Default(), content.English)
	_, other := where(t, view.Default().WithGPU("a100-80"), content.English)
	if WhereShape(one) == WhereShape(other) {
		t.Error("two cards have one shape")
	}
}
