package view

import (
	"strings"
	"testing"

	"vrametre/content"
)

func TestFragmentRoundTrip(t *testing.T) {
	states := []State{Default()}
	for _, scrub := range Scrubs {
		states = append(states, Default().With(scrub.Name, scrub.Min), Default().With(scrub.Name, scrub.Max))
	}
	for _, o := range Optimizers {
		states = append(states, Default().WithOptimizer(o.ID))
	}
	for _, card := range Cards {
		states = append(states, Default().WithGPU(card))
	}
	for _, s := range states {
		if got := ParseFragment(s.Fragment()); got != s {
			t.Errorf("ParseFragment(%q) = %+v, want %+v", s.Fragment(), got, s)
		}
	}
}

func TestParseFragment(t *testing.T) {
	d := Default()
	for _, c := range []struct {
		fragment string
		want     State
	}{
		{"", d},
		{"#poids", d},
		{"v=1", d},
		{"#v=1&batch=64", d.With(ScrubBatch, 64)},
		{"batch=64", d},
		{"v=2&batch=64", d},
		{"v=1&batch=0", d.With(ScrubBatch, 1)},
		{"v=1&batch=99999999", d.With(ScrubBatch, 1024)},
		{"v=1&batch=9999999999999999999999", d},
		{"v=1&batch=many&side=224", d.With(ScrubSide, 224)},
		{"v=1&side=100", d.With(ScrubSide, 96)},
		{"v=1&side=104", d.With(ScrubSide, 112)},
		{"v=1&opt=sgd&gpu=tesla-t4&fig=x", d.WithOptimizer("sgd").WithGPU("tesla-t4")},
		{"v=1&opt=none&gpu=none", unknown(d, "none")},
		{"v=1&gpu=%zz&batch=8", unknown(d, "%zz").With(ScrubBatch, 8)},
	} {
		if got := ParseFragment(c.fragment); got != c.want {
			t.Errorf("ParseFragment(%q) = %+v, want %+v", c.fragment, got, c.want)
		}
	}
}

func unknown(s State, name string) State {
	s.Device.Unknown = name
	return s
}

func FuzzParseFragment(f *testing.F) {
	f.Add("#" + Default().Fragment())
	f.Add("v=1&batch=-1&side=511&opt=adamw&buffers=1e9&gpu=a100-80&x=%")
	f.Fuzz(func(t *testing.T, fragment string) {
		s := ParseFragment(fragment)
		for _, scrub := range Scrubs {
			if n := s.Value(scrub.Name); n != scrub.Clamp(n) {
				t.Errorf("%q: %s = %d is out of its bounds", fragment, scrub.Name, n)
			}
		}
		if !Has(content.French, "optimizer."+s.Optimizer) || s.Device.Budget().Total <= 0 {
			t.Errorf("%q: unknown choice in %+v", fragment, s)
		}
		if again := ParseFragment(s.Fragment()); again != s {
			t.Errorf("%q: round trip gives %+v, want %+v", fragment, again, s)
		}
	})
}

func TestValuesAreTheOptimizerAsANumber(t *testing.T) {
	for _, c := range []struct {
		from   string
		values int64
		want   string
	}{
		{"adam", 2, "sgd"},
		{"adam", 3, "sgd-momentum"},
		{"sgd", 4, "adam"},
		{"adamw", 4, "adamw"},
		{"adam", 99, "adam"},
	} {
		s := Default().WithOptimizer(c.from).With(ScrubValues, c.values)
		if s.Optimizer != c.want {
			t.Errorf("%s with %d values: %s, want %s", c.from, c.values, s.Optimizer, c.want)
		}
		if got := s.Value(ScrubValues); got != s.OptimizerChoice().Values {
			t.Errorf("%s: %d values, the optimizer keeps %d", s.Optimizer, got, s.OptimizerChoice().Values)
		}
	}
}

func TestClamp(t *testing.T) {
	side, _ := ScrubNamed(ScrubSide)
	for _, c := range []struct{ n, want int64 }{
		{-5, 32}, {32, 32}, {39, 32}, {40, 48}, {47, 48}, {511, 512}, {9000, 512},
	} {
		if got := side.Clamp(c.n); got != c.want {
			t.Errorf("Clamp(%d) = %d, want %d", c.n, got, c.want)
		}
	}
}

// Every choice of the page has its words in both languages.
func TestChoicesHaveNames(t *testing.T) {
	for _, lang := range content.Langs {
		var keys []string
		for _, o := range Optimizers {
			keys = append(keys, "optimizer."+o.ID, "slot.3."+o.ID, "slot.4."+o.ID)
		}
		for _, s := range Scrubs {
			keys = append(keys, "scrub."+s.Name, "scrub."+s.Name+".label")
		}
		for _, kind := range Kinds {
			keys = append(keys, "kind."+kind)
		}
		for _, key := range keys {
			if !Has(lang, key) {
				t.Errorf("%s: no text %q", lang, key)
			}
		}
	}
}

func TestFragmentIsPlain(t *testing.T) {
	if got, want := Default().Fragment(), "v=1&batch=32&side=128&opt=adam&buffers=36&gpu=gtx-1650"; got != want {
		t.Errorf("Fragment() = %q, want %q", got, want)
	}
	if strings.ContainsAny(Default().Fragment(), " %#") {
		t.Error("the fragment needs escaping")
	}
}
