package view

import (
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/content"
)

func scene(t *testing.T, s State) Scene {
	t.Helper()
	scene, err := Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	return scene
}

// The lesson's figures, to the byte.
func TestLessonFigures(t *testing.T) {
	at32 := NewFigures(scene(t, Default()), content.French)
	at256 := NewFigures(scene(t, Default().With(ScrubBatch, 256)), content.French)
	for _, c := range []struct {
		figures Figures
		ref     string
		want    int64
	}{
		{at32, "params", 538981},
		{at32, "rule.weights", 8623696},
		{at32, "slot.1", 2155924},
		{at32, "image", 196608},
		{at32, "image.values", 49152},
		{at32, "rule.batch", 6291456},
		{at256, "rule.batch", 50331648},
		{at32, "x8.rule.batch", 50331648},
		{at32, "layer.0.values", 524288},
		{at32, "layer.3.values", 262144},
		{at32, "layer.6.values", 131072},
		{at32, "layer.9.values", 65536},
		{at32, "layer.11.values", 256},
		{at32, "rule.activations.values", 917760},
		{at32, "rule.activations.image", 3671040},
		{at32, "rule.activations", 117473280},
		{at256, "rule.activations", 939786240},
		{at32, "rule.total.low", 167630416},
		{at32, "rule.total.high", 202872400},
		{at256, "rule.total.low", 1280677456},
		{at256, "rule.total.high", 1562613328},
		{at32, "saved", 214012548},
		{at32, "saved.type.ReLU", 3934208},
		{at32, "saved.type.MaxPool2d", 1835008},
		{at32, "saved.type.Conv2d", 917504},
		{at32, "saved.image", 6687892},
		{at32, "saved.rest", 6687892 - 3934208 - 1835008 - 917504},
		{at32, "peak.live", 244053208},
		{at32, "infer.peak.live", 142669844},
	} {
		if got, ok := c.figures.Number(c.ref); !ok || got != c.want {
			t.Errorf("%s = %d, want %d", c.ref, got, c.want)
		}
	}
}

// The lesson rounds by hand: its 160 and 1 400 MB are margins of 36 and 49 %.
func TestHandRounding(t *testing.T) {
	for _, c := range []struct {
		batch, percent int64
		want           string
	}{{32, 36, "160~Mo"}, {256, 49, "1~400~Mo"}} {
		s := Default().With(ScrubBatch, c.batch).With(ScrubBuffers, c.percent)
		if got, _ := NewFigures(scene(t, s), content.French).Text("rule.buffered"); plain(got) != c.want {
			t.Errorf("batch %d, %d %%: %s, want %s", c.batch, c.percent, plain(got), c.want)
		}
	}
}

func TestFigureTexts(t *testing.T) {
	f := NewFigures(scene(t, Default()), content.French)
	e := NewFigures(scene(t, Default()), content.English)
	for _, c := range []struct{ ref, fr, en string }{
		{"rule.weights", "8,62~Mo", "8.62_MB"},
		{"rule.weights:exact", "8~623~696~octets", "8,623,696_bytes"},
		{"rule.weights:binary", "8,22~Mio", "8.22_MiB"},
		{"card.total:card", "4,09~Go", "4.09_GB"},
		{"params", "538~981", "538,981"},
		{"x8.batch", "256", "256"},
		{"layer.0.shape", "32~×~128~×~128", "32~×~128~×~128"},
		{"saved.margin", "82~%", "82%"},
		{"rule.activations.ratio", "18,7", "18.7"},
		{"train.ratio", "1,7", "1.7"},
		{"peak.phase", "la rétropropagation", "the backward pass"},
		{"peak.at", "la couche 10 (ReLU)", "layer 10 (ReLU)"},
		{"optimizer", "Adam", "Adam"},
		{"formula.weights", "538~981 paramètres × 4~octets", "538,981 parameters × 4_bytes"},
		{"formula.kv_cache", "absent de ce cas", "absent from this case"},
		{"source.weights", "PyTorch, torch.nn~: les paramètres et tampons de chaque module", "PyTorch, torch.nn: the parameters and buffers of each module"},
		{"budget.box", "4~295~Mo", "4,295_MB"},
		{"budget.ecc", "absent de ce cas", "absent from this case"},
		{"budget.box.source", "catalogue des cartes", "card catalogue"},
		{"assumption.cudnn-workspace", "non compté~: dans l’intervalle", "not counted: in the interval"},
		{"assumption.cudnn-workspace.source", "non simulé~: jusqu’à 79,9~Mo, d’après les réseaux à convolutions mesurés", "not simulated: up to 79.9_MB, from measured convolutional networks"},
		{"slot.4.name", "2e moment", "second moment"},
		{"where.total.rule", "175~Mo", "175_MB"},
		{"where.runtime.rule", "—", "—"},
	} {
		if got, ok := f.Text(c.ref); !ok || plain(got) != c.fr {
			t.Errorf("fr %s = %q, want %q", c.ref, plain(got), c.fr)
		}
		if got, ok := e.Text(c.ref); !ok || plain(got) != c.en {
			t.Errorf("en %s = %q, want %q", c.ref, plain(got), c.en)
		}
	}
}

func TestUnknownFigures(t *testing.T) {
	f := NewFigures(scene(t, Default()), content.French)
	for _, ref := range []string{"", "nothing", "rule.nothing", "x8.nothing", "slot.5", "slot.x", "slot.1.x", "layer.99.values", "layer.0.x", "peak.x", "image.x", "batch.x", "saved.x", "card.x", "train.x", "phase.x", "tank.x", "verdict.x", "where.x", "where.weights", "where.weights.x", "where.x.rule", "formula.x", "source.x", "budget.x", "budget.box.x", "assumption.x", "interval.x"} {
		if got, ok := f.Text(ref); ok {
			t.Errorf("%q is a figure: %q", ref, got)
		}
		if got, ok := f.Number(ref); ok {
			t.Errorf("%q has the number %d", ref, got)
		}
	}
	for _, ref := range []string{"", "batch", "batch/nothing", "nothing/batch", "optimizer/batch", "batch/slot.4"} {
		if _, ok := NewFigures(scene(t, Default().WithOptimizer("sgd")), content.French).Share(ref); ok {
			t.Errorf("%q is a share", ref)
		}
	}
}

func TestShare(t *testing.T) {
	f := NewFigures(scene(t, Default()), content.French)
	for _, c := range []struct {
		ref  string
		want float64
	}{
		{"batch/x8.batch", 0.125},
		{"x8.batch/batch", 1}, // a bar is never longer than its frame
		{"layer.4.saved/layer.1.saved", 0.5},
		{"sqrt:layer.7.saved/layer.1.saved", 0.5},
	} {
		if got, ok := f.Share(c.ref); !ok || got != c.want {
			t.Errorf("%s = %v, want %v", c.ref, got, c.want)
		}
	}
}

func TestSlotsFollowTheOptimizer(t *testing.T) {
	for _, o := range Optimizers {
		f := NewFigures(scene(t, Default().WithOptimizer(o.ID)), content.French)
		var sum int64
		for _, ref := range []string{"slot.1", "slot.2", "slot.3", "slot.4"} {
			n, _ := f.Number(ref)
			sum += n
		}
		if want, _ := f.Number("rule.weights"); sum != want {
			t.Errorf("%s: the boxes hold %d bytes, the rule counts %d", o.ID, sum, want)
		}
	}
}

func TestTank(t *testing.T) {
	for _, s := range []State{Default(), Default().With(ScrubBatch, 1024), Default().With(ScrubSide, 32).WithOptimizer("sgd").WithGPU("a100-80")} {
		scene := scene(t, s)
		for _, lang := range content.Langs {
			f := NewFigures(scene, lang)
			tank := f.Tank()
			var sum int64
			for _, segment := range tank.Segments {
				sum += segment.Bytes
				if segment.Bytes <= 0 || segment.Label == "" || segment.Text == "" {
					t.Errorf("%+v: segment %+v", s, segment)
				}
			}
			if sum != scene.Now.Peak.Device {
				t.Errorf("%+v: segments sum to %d, the peak is %d", s, sum, scene.Now.Peak.Device)
			}
			if tank.Limit <= 0 || tank.Limit > 1 {
				t.Errorf("%+v: limit at %v", s, tank.Limit)
			}
			if strings.Contains(tank.Verdict+tank.Short+tank.Of, "{") || strings.Contains(tank.Verdict+tank.Short, "verdict.") {
				t.Errorf("%+v: %q, %q, %q", s, tank.Verdict, tank.Short, tank.Of)
			}
		}
	}
}

// One image too many changes the words, not only a colour.
func TestVerdictFlips(t *testing.T) {
	base := scene(t, Default())
	if base.Now.MaxBatch == nil {
		t.Fatal("no largest batch")
	}
	last := *base.Now.MaxBatch
	if last >= 1024 {
		t.Fatalf("the largest batch is %d: out of the page's reach", last)
	}
	fits := NewFigures(scene(t, Default().With(ScrubBatch, last)), content.French).Tank()
	over := NewFigures(scene(t, Default().With(ScrubBatch, last+1)), content.French).Tank()
	if fits.Tone != ToneFits || over.Tone != ToneOver || fits.Verdict == over.Verdict || fits.Short == over.Short {
		t.Errorf("at %d: %+v; one more: %+v", last, fits, over)
	}
	if want := Count(content.French, last); !strings.Contains(over.Verdict, want) {
		t.Errorf("verdict %q does not name the largest batch %s", over.Verdict, want)
	}
}

func TestVerdicts(t *testing.T) {
	yes, no := true, false
	zero, some := int64(0), int64(480)
	budget := &calc.Budget{Total: 1000}
	for _, c := range []struct {
		result calc.Result
		want   string
		tone   Tone
	}{
		{calc.Result{}, "verdict.unknown", ToneUnknown},
		{calc.Result{Fits: &yes, Budget: budget}, "verdict.fits.alone", ToneFits},
		{calc.Result{Fits: &yes, Budget: budget, MaxBatch: &some}, "verdict.fits", ToneFits},
		{calc.Result{Fits: &yes, Budget: budget, MaxBatch: &some, Peak: calc.Peak{Device: 1000}}, "verdict.fits", ToneFits},
		{calc.Result{Fits: &yes, Budget: budget, MaxBatch: &some, Peak: calc.Peak{Device: 1001}}, "verdict.tight", ToneFits},
		{calc.Result{Fits: &no, Budget: budget}, "verdict.over.alone", ToneOver},
		{calc.Result{Fits: &no, Budget: budget, MaxBatch: &some}, "verdict.over", ToneOver},
		{calc.Result{Fits: &no, Budget: budget, MaxBatch: &zero}, "verdict.over.never", ToneOver},
	} {
		for _, lang := range content.Langs {
			long, short, tone := NewFigures(Scene{State: Default(), Now: c.result}, lang).verdict()
			args := Args{"n": some}
			if tone != c.tone || long != Text(lang, c.want, args) || short != Text(lang, c.want+".short", args) || !Has(lang, c.want) || !Has(lang, c.want+".short") {
				t.Errorf("%s %s: %q, %q, %s", lang, c.want, long, short, tone)
			}
		}
	}
}

func TestWhere(t *testing.T) {
	scene := scene(t, Default())
	f := NewFigures(scene, content.French)
	var rule, simulated int64
	for _, row := range f.Where() {
		rule += row.Rule
		simulated += row.Simulated
		if (row.Rule == 0) != (row.RuleText == Text(content.French, "where.none", nil)) {
			t.Errorf("%+v", row)
		}
	}
	if want, _ := f.Number("rule.total"); rule != want {
		t.Errorf("by hand %d, want %d", rule, want)
	}
	if simulated != scene.Now.Peak.Device {
		t.Errorf("simulated %d, want %d", simulated, scene.Now.Peak.Device)
	}
}

func TestKindOfKnowsEveryPart(t *testing.T) {
	for part, want := range map[string]string{
		calc.PartWeights: KindWeights, calc.PartModuleBuffers: KindWeights, calc.PartCastWeights: KindWeights,
		calc.PartGradients: KindGradients, calc.PartOptimizer: KindOptimizer, calc.PartBatch: KindBatch,
		calc.PartActivations: KindActivations, calc.PartOutputs: KindActivations, calc.PartKVCache: KindActivations,
		calc.PartTemporaries: KindTemporaries, calc.PartOptimizerTemporaries: KindTemporaries,
		calc.PartWorkspace: KindRuntime, calc.PartRounding: KindRuntime, calc.PartFragmentation: KindRuntime, calc.PartContext: KindRuntime,
	} {
		if got := KindOf(part); got != want {
			t.Errorf("KindOf(%s) = %s, want %s", part, got, want)
		}
	}
}

// While the reader drags, everything but the largest batch is as in a full computation.
func TestFollow(t *testing.T) {
	base := scene(t, Default())
	moved := Default().With(ScrubBatch, 64)
	followed, err := base.Follow(moved)
	if err != nil {
		t.Fatal(err)
	}
	full := scene(t, moved)
	if followed.Now.MaxBatch == nil || *followed.Now.MaxBatch != *full.Now.MaxBatch {
		t.Errorf("the largest batch does not depend on the batch: %v, want %d", followed.Now.MaxBatch, *full.Now.MaxBatch)
	}
	if followed.Now.Peak != full.Now.Peak || followed.Times8().Peak != full.Times8().Peak || followed.Infer().Peak != full.Infer().Peak {
		t.Errorf("followed %+v, full %+v", followed.Now.Peak, full.Now.Peak)
	}
	resized, err := base.Follow(Default().With(ScrubSide, 256))
	if err != nil {
		t.Fatal(err)
	}
	if resized.Now.MaxBatch != nil {
		t.Error("the largest batch of other images is not known yet")
	}
}

// Every state that the page can reach has an answer, and every figure of it a text.
func TestComputeNeverFails(t *testing.T) {
	for _, o := range Optimizers {
		for _, card := range Cards {
			s := Default().WithOptimizer(o.ID).WithGPU(card)
			for _, corner := range []State{s.With(ScrubBatch, 1).With(ScrubSide, 32), s.With(ScrubBatch, 1024).With(ScrubSide, 512)} {
				followed, err := Scene{}.Follow(corner)
				if err != nil {
					t.Fatalf("%+v: %v", corner, err)
				}
				if followed.Times8().Budget == nil || followed.Infer().Budget == nil || followed.Now.Budget == nil || followed.Now.Fits == nil || followed.Now.RuleOfThumb == nil {
					t.Errorf("%+v: incomplete answer", corner)
				}
			}
		}
	}
}
