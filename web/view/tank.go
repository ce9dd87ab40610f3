package view

import (
	"slices"
	"strings"

	"vrametre/calc"
)

// Tone says how a verdict is coloured; its words say the same.
type Tone string

// Tones.
const (
	ToneFits    Tone = "ok"
	ToneOver    Tone = "alarm"
	ToneUnknown Tone = "unknown"
)

// Tank is the card's memory as a vessel that fills from below.
type Tank struct {
	// Total is what nvidia-smi would show at the peak.
	Total string
	// Of says at what moment and out of how much.
	Of string
	// Scale is what the vessel's full height stands for, in bytes: the limit, or
	// the peak where that is larger, and a little room to see its line.
	Scale    int64
	Segments []Segment
	// Limit is what the program may take of the card as a share of the vessel's height, between 0 and 1; 0: no card.
	Limit float64
	// Verdict is the sentence; Short is its form for a narrow screen.
	Verdict, Short string
	Tone           Tone
}

// Segment is one kind of memory in a bar.
type Segment struct {
	Kind  string
	Label string
	Bytes int64
	// Text is Bytes as the reader sees it.
	Text string
	// Share of the bar's length, between 0 and 1.
	Share float64
}

// Tank reads the scene's peak as a vessel.
func (f Figures) Tank() Tank {
	r := &f.scene.Now
	t := Tank{Total: Bytes(f.lang, r.Peak.Device), Of: f.tankOf(), Scale: f.tankScale()}
	if r.Budget != nil {
		t.Limit = float64(cardLimit(r)) / float64(t.Scale)
	}
	for _, kind := range Kinds {
		n := kindBytes(r, kind)
		if n == 0 {
			continue
		}
		t.Segments = append(t.Segments, Segment{
			Kind: kind, Label: Text(f.lang, "kind."+kind, nil), Bytes: n, Text: Bytes(f.lang, n),
			Share: float64(n) / float64(t.Scale),
		})
	}
	t.Verdict, t.Short, t.Tone = f.verdict()
	return t
}

func (f Figures) tankOf() string {
	if f.scene.Now.Budget == nil {
		return ""
	}
	return Text(f.lang, "tank.of", Args{"card": f.scene.Now.Budget.Total})
}

func (f Figures) tankScale() int64 {
	r := &f.scene.Now
	scale := r.Peak.Device
	if r.Budget != nil {
		scale = max(scale, cardLimit(r))
	}
	return scale + scale/16
}

// cardLimit is what the program may take of its card, its context included.
func cardLimit(r *calc.Result) int64 {
	return max(0, r.Budget.Usable+r.Peak.Device-r.Peak.Reserved)
}

// Tone is how the verdict is coloured.
func (f Figures) Tone() Tone {
	_, _, tone := f.verdict()
	return tone
}

// verdict says in words whether the step fits. One byte too many changes the words.
func (f Figures) verdict() (long, short string, tone Tone) {
	r := &f.scene.Now
	if r.Fits == nil {
		return Text(f.lang, "verdict.unknown", nil), Text(f.lang, "verdict.unknown.short", nil), ToneUnknown
	}
	key, tone := "verdict.over", ToneOver
	switch {
	case *r.Fits && r.Peak.Device > r.Budget.Total:
		// What the allocator would like to keep is more than the card has; it gives some back and goes on.
		key, tone = "verdict.tight", ToneFits
	case *r.Fits:
		key, tone = "verdict.fits", ToneFits
	}
	args := Args{}
	switch {
	case r.MaxBatch == nil:
		key += ".alone"
	case *r.MaxBatch == 0:
		key += ".never"
	default:
		args["n"] = *r.MaxBatch
	}
	return Text(f.lang, key, args), Text(f.lang, key+".short", args), tone
}

// WhereRow is one line of "where the memory goes": the lesson's calculation
// by hand, its buffers among the activations, against the simulated peak. Zero
// on one side: that side does not count it.
type WhereRow struct {
	Kind, Label             string
	Rule, Simulated         int64
	RuleText, SimulatedText string
}

// Where compares, kind by kind, from the bottom of the bar to its top.
func (f Figures) Where() []WhereRow {
	r := &f.scene.Now
	var rows []WhereRow
	for _, kind := range Kinds {
		row := WhereRow{Kind: kind, Label: Text(f.lang, "kind."+kind, nil), Rule: f.ruleBytes(kind), Simulated: kindBytes(r, kind)}
		row.RuleText, row.SimulatedText = f.orNone(row.Rule), f.orNone(row.Simulated)
		if row.Rule != 0 || row.Simulated != 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// where is one number of the comparison in words: "weights.rule",
// "activations.simulated", "total.rule".
func (f Figures) where(name string) (figure, bool) {
	kind, side, _ := strings.Cut(name, ".")
	var n int64
	for _, k := range Kinds {
		if k != kind && kind != "total" {
			continue
		}
		switch side {
		case "rule":
			n += f.ruleBytes(k)
		case "simulated":
			n += kindBytes(&f.scene.Now, k)
		default:
			return figure{}, false
		}
	}
	known := kind == "total" || slices.Contains(Kinds, kind)
	return figure{kind, words, 0, f.orNone(n)}, known
}

// ruleBytes spreads the lesson's calculation over the kinds: its weights are
// value, gradient and states; its buffers go with the activations.
func (f Figures) ruleBytes(kind string) int64 {
	hand := f.scene.Now.RuleOfThumb
	if hand == nil {
		return 0
	}
	values := f.scene.State.OptimizerChoice().Values
	each := hand.Weights / values
	switch kind {
	case KindWeights, KindGradients:
		return each
	case KindOptimizer:
		return each * (values - 2)
	case KindBatch:
		return hand.Batch
	case KindActivations:
		n, _ := f.Number("rule.buffered")
		return n
	}
	return 0
}

func (f Figures) orNone(n int64) string {
	if n == 0 {
		return Text(f.lang, "where.none", nil)
	}
	return Bytes(f.lang, n)
}

// ScrubText is how a scrub's number reads in its sentence: 32 images.
func (f Figures) ScrubText(name string) string {
	return Text(f.lang, "scrub."+name, Args{"n": f.scene.State.Value(name)})
}

// ScrubLabel is a scrub's accessible name.
func (f Figures) ScrubLabel(name string) string { return Text(f.lang, "scrub."+name+".label", nil) }

// ScrubKind is the kind of memory whose colour a scrub takes.
func ScrubKind(name string) string {
	switch name {
	case ScrubValues:
		return KindWeights
	case ScrubBuffers:
		return KindActivations
	}
	return KindBatch
}
