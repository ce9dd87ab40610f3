package figure

import (
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/view"
)

func plainly(s string) string { return strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(s) }

func TestExplain(t *testing.T) {
	f := view.NewFigures(subjectScene(t, view.Default()), content.English)
	for ref, want := range map[string]Explanation{
		"rule.weights":     {"8.62 MB", "8,623,696 bytes", "8.22 MiB", "538,981 weights × 4 values × 4 bytes", "the count by hand of this lesson"},
		"rule.total":       {"175 MB", "174,678,812 bytes", "167 MiB", "8.62 MB + 6.29 MB + 160 MB", "the count by hand of this lesson"},
		"image:exact":      {"197 kB", "196,608 bytes", "192 KiB", "3 colours × 128 × 128 pixels × 4 bytes", "PyTorch: shape × size of the type"},
		"layer.3.bytes":    {"1.05 MB", "1,048,576 bytes", "1.00 MiB", "262,144 values × 4 bytes", "PyTorch: shape × size of the type"},
		"layer.3.values":   {"262,144", "", "", "64 × 64 × 64, for one image", "PyTorch: shape × size of the type"},
		"x8.batch":         {"256", "", "", "8 × 32 images", "your own value"},
		"x8.rule.batch":    {"50.3 MB", "50,331,648 bytes", "48.0 MiB", "256 images × 196,608 bytes", "the count by hand of this lesson"},
		"train.ratio":      {"1.7", "", "", "244 MB / 143 MB", "PyTorch, autograd engine: the order of operations, checked by measurement"},
		"part.weights":     {"2.16 MB", "2,155,924 bytes", "2.06 MiB", "538,981 parameters × 4 bytes", "PyTorch, torch.nn: the parameters and buffers of each module"},
		"where.batch.rule": {"6.29 MB", "6,291,456 bytes", "6.00 MiB", "This item’s share in the count by hand.", "the count by hand of this lesson"},
	} {
		got, ok := Explain(f, ref)
		got = Explanation{plainly(got.Value), plainly(got.Exact), plainly(got.Binary), plainly(got.Formula), plainly(got.Source)}
		if !ok || got.Value != want.Value || got.Exact != want.Exact || got.Binary != want.Binary || got.Formula != want.Formula {
			t.Errorf("%s: %+v, want %+v", ref, got, want)
		}
		if got.Source == "" || ref != "train.ratio" && got.Source != want.Source {
			t.Errorf("%s: source %q, want %q", ref, got.Source, want.Source)
		}
	}
	for _, ref := range []string{"optimizer", "verdict", "peak.at", "layer.3.shape", "no.such.figure"} {
		if got, ok := Explain(f, ref); ok {
			t.Errorf("%s is no number: %+v", ref, got)
		}
	}
}

func subjectScene(t *testing.T, s view.State) view.Scene {
	t.Helper()
	scene, err := view.Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	return scene
}

// The terms of a simulated number sum to it, exactly.
func TestExplainedPartsSum(t *testing.T) {
	scene := subjectScene(t, view.Default())
	f := view.NewFigures(scene, content.English)
	for _, kind := range view.Kinds {
		e, ok := Explain(f, "where."+kind+".simulated")
		if !ok {
			t.Fatalf("%s is not explained", kind)
		}
		terms := strings.Split(e.Formula, " + ")
		var sum int64
		n := 0
		for _, p := range scene.Now.Parts {
			if view.KindOf(p.Kind) == kind {
				sum += p.Bytes
				n++
			}
		}
		if len(terms) != n || e.Exact != view.Exact(content.English, sum) {
			t.Errorf("%s: %d terms of %d, %q for %d", kind, len(terms), n, e.Exact, sum)
		}
	}
}

// Whatever the state, an explanation is filled with the reader's values in both languages.
func TestExplanationsAreFilled(t *testing.T) {
	refs := []string{"params", "batch", "side", "image", "image.values", "slot.1", "rule.weights", "rule.batch", "rule.activations", "rule.activations.image", "rule.activations.values",
		"rule.activations.ratio", "rule.buffers", "rule.buffered", "rule.buffered.share", "rule.total", "rule.compute.low", "rule.compute.high", "saved", "saved.image", "saved.margin", "saved.rest",
		"saved.type.ReLU", "peak.live", "peak.allocated", "peak.reserved", "peak.device", "tank.total", "interval.low", "interval.high", "card.total", "card.usable", "card.max_batch", "card.share", "train.ratio",
		"layer.0.values", "layer.0.bytes", "layer.1.saved", "infer.peak.live", "x8.peak.live", "x8.rule.total", "budget.driver", "assumption.cuda-context", "where.total.simulated", "where.total.rule", "kind.activations", "x8.kind.activations"}
	for _, kind := range calc.PartKinds {
		refs = append(refs, "part."+kind)
	}
	for _, lang := range content.Langs {
		for _, state := range states {
			f := view.NewFigures(subjectScene(t, state), lang)
			for _, ref := range refs {
				e, ok := Explain(f, ref)
				if _, applies := f.Text(ref); !applies {
					continue // no such card, no such part
				}
				if !ok && !f.Words(ref) {
					t.Errorf("%+v: %s is not explained", state, ref)
				}
				if strings.ContainsAny(e.Formula+e.Source, "{}") || looksLikeKey.MatchString(e.Formula+e.Source) || ok && (e.Formula == "" || e.Source == "") {
					t.Errorf("%s %+v: %s: %+v", lang, state, ref, e)
				}
			}
		}
	}
}
