package view

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/content"
)

// Kinds of memory as the page draws them, in the order of the tank from its
// bottom. Each has one colour and one pattern everywhere.
const (
	KindRuntime     = "runtime"
	KindWeights     = "weights"
	KindGradients   = "gradients"
	KindOptimizer   = "optimizer"
	KindBatch       = "batch"
	KindActivations = "activations"
	KindTemporaries = "temporaries"
)

// Kinds lists them, from the tank's bottom to its top.
var Kinds = []string{KindRuntime, KindWeights, KindGradients, KindOptimizer, KindBatch, KindActivations, KindTemporaries}

// TensorKinds are the kinds that are tensors: what PyTorch counts, without what the card adds.
var TensorKinds = Kinds[1:]

// KindOf says how the page draws a part of the result.
func KindOf(part string) string {
	switch part {
	case calc.PartWeights, calc.PartModuleBuffers, calc.PartCastWeights:
		return KindWeights
	case calc.PartGradients:
		return KindGradients
	case calc.PartOptimizer:
		return KindOptimizer
	case calc.PartBatch:
		return KindBatch
	case calc.PartActivations, calc.PartOutputs, calc.PartKVCache:
		return KindActivations
	case calc.PartTemporaries, calc.PartOptimizerTemporaries:
		return KindTemporaries
	}
	return KindRuntime
}

// Figures reads a scene's numbers by name, as texts of one language.
//
// A reference is [scene.]name[:format]. The scene is "x8." for the batch eight
// times as large, "infer." for inference, nothing for the state itself. The
// format is exact (to the byte), binary (powers of two) or card (gigabytes);
// without one a size is rounded in powers of ten.
type Figures struct {
	scene *Scene
	lang  content.Lang
}

// NewFigures reads a scene in a language.
func NewFigures(scene Scene, lang content.Lang) Figures { return Figures{&scene, lang} }

// Scene is the scene read.
func (f Figures) Scene() Scene { return *f.scene }

// Lang is the language read.
func (f Figures) Lang() content.Lang { return f.lang }

// unit says how a figure's number is written.
type unit int

const (
	bytes unit = iota
	count
	percent // in tenths of a percent
	times   // in tenths
	words
)

// figure is one number or text of the page.
type figure struct {
	kind string
	unit unit
	n    int64
	text string
}

// Text writes the figure of a reference; false: there is no such figure, or
// it does not apply to this scene.
func (f Figures) Text(ref string) (string, bool) {
	name, format, _ := strings.Cut(ref, ":")
	fig, ok := f.figure(name)
	if !ok {
		return "", false
	}
	switch fig.unit {
	case words:
		return fig.text, true
	case count:
		return Count(f.lang, fig.n), true
	case percent:
		return Percent(f.lang, fig.n, 1000), true
	case times:
		return fixed(f.lang, fig.n, 1), true
	}
	switch format {
	case "exact":
		return Exact(f.lang, fig.n), true
	case "binary":
		return Binary(f.lang, fig.n), true
	case "card":
		return Gigabytes(f.lang, fig.n), true
	}
	return Bytes(f.lang, fig.n), true
}

// Number is the figure's number: bytes or a count; tenths for ratios.
func (f Figures) Number(ref string) (int64, bool) {
	name, _, _ := strings.Cut(ref, ":")
	fig, ok := f.figure(name)
	return fig.n, ok && fig.unit != words
}

// Words reports whether a figure is a name and not a number.
func (f Figures) Words(ref string) bool {
	fig, ok := f.figure(ref)
	return ok && fig.unit == words
}

// Kind is the kind of memory whose colour a figure takes, or "".
func (f Figures) Kind(ref string) string {
	name, _, _ := strings.Cut(ref, ":")
	fig, _ := f.figure(name)
	return fig.kind
}

// Share reads "a/b" as a fraction between 0 and 1, for the length of a bar;
// "sqrt:a/b" is its square root, for the side of a square.
func (f Figures) Share(ref string) (float64, bool) {
	ratio, area := strings.CutPrefix(ref, "sqrt:")
	above, below, _ := strings.Cut(ratio, "/")
	a, okA := f.Number(above)
	b, okB := f.Number(below)
	if !okA || !okB || b <= 0 {
		return 0, false
	}
	share := min(1, max(0, float64(a)/float64(b)))
	if area {
		share = math.Sqrt(share)
	}
	return share, true
}

func (f Figures) figure(name string) (figure, bool) {
	s := f.scene.State
	result, batch := &f.scene.Now, s.Batch
	if rest, ok := strings.CutPrefix(name, "x8."); ok {
		name, result, batch = rest, f.scene.Times8(), s.Batch*BatchFactor
	} else if rest, ok := strings.CutPrefix(name, "infer."); ok {
		name, result = rest, f.scene.Infer()
	}
	head, rest, _ := strings.Cut(name, ".")
	switch head {
	case "batch":
		return figure{KindBatch, count, batch, ""}, rest == ""
	case "side":
		return figure{KindBatch, count, s.Side, ""}, rest == ""
	case "params":
		return figure{KindWeights, count, result.Parameters.Total, ""}, rest == ""
	case "trainable":
		return figure{KindWeights, count, result.Parameters.Trainable, ""}, rest == ""
	case "image":
		return image(rest, s)
	case "slot":
		return f.slot(rest)
	case "rule":
		return rule(rest, s, result, batch)
	case "saved":
		return saved(rest, result, batch)
	case "peak":
		return f.peak(rest, result)
	case "interval":
		if rest == "basis" {
			return figure{"", words, 0, Text(f.lang, "basis."+result.Interval.Basis, nil)}, true
		}
		n, ok := map[string]int64{"low": result.Interval.Low, "high": result.Interval.High}[rest]
		return figure{"", bytes, n, ""}, ok
	case "phase":
		return phases(rest, result.Phases)
	case "kind":
		return figure{rest, bytes, kindBytes(result, rest), ""}, true
	case "part":
		return part(rest, result)
	case "formula":
		return f.formula(rest, result)
	case "source":
		return f.source(rest, result)
	case "budget":
		return f.budget(rest, result)
	case "assumption":
		return f.assumption(rest, result)
	case "layer":
		return layer(rest, result, batch)
	case "card":
		return f.card(rest, result)
	case "train":
		return f.train(rest)
	case "tank":
		return f.tank(rest)
	case "where":
		return f.where(rest)
	case "verdict":
		long, short, tone := f.verdict()
		written, ok := map[string]string{"": long, "short": short, "tone": string(tone)}[rest]
		return figure{"", words, 0, written}, ok
	case "network":
		return figure{KindWeights, words, 0, network(s, f.lang)}, rest == ""
	case "optimizer":
		return figure{KindOptimizer, words, 0, Text(f.lang, "optimizer."+s.Optimizer, nil)}, rest == ""
	}
	return figure{}, false
}

// network names what the state trains.
func network(s State, lang content.Lang) string {
	switch s.Setup.Model {
	case "":
		return Text(lang, "network.lesson", Args{"n": s.Side})
	case ModelRows:
		return Text(lang, "network.layers", nil)
	}
	return Text(lang, "network.preset", Args{"name": s.Setup.Model})
}

// valueBytes is the size of a float32, the only precision of the lesson.
const valueBytes = 4

// image: one image of the batch.
func image(name string, s State) (figure, bool) {
	values := 3 * s.Side * s.Side
	switch name {
	case "":
		return figure{KindBatch, bytes, values * valueBytes, ""}, true
	case "values":
		return figure{KindBatch, count, values, ""}, true
	}
	return figure{}, false
}

// slot: what training keeps for each weight: value, gradient, first and second state.
func (f Figures) slot(name string) (figure, bool) {
	index, field, _ := strings.Cut(name, ".")
	i, err := strconv.ParseInt(index, 10, 64)
	if err != nil || i < 1 || i > 4 {
		return figure{}, false
	}
	choice := f.scene.State.OptimizerChoice()
	kind := []string{KindWeights, KindGradients, KindOptimizer, KindOptimizer}[i-1]
	switch field {
	case "":
		if i > choice.Values {
			return figure{kind, bytes, 0, ""}, true
		}
		return figure{kind, bytes, f.scene.Now.Parameters.Trainable * valueBytes, ""}, true
	case "name":
		label := "slot." + index
		if i > 2 {
			label += "." + choice.ID
		}
		return figure{kind, words, 0, Text(f.lang, label, nil)}, true
	}
	return figure{}, false
}

// rule: the lesson's calculation by hand.
func rule(name string, s State, r *calc.Result, batch int64) (figure, bool) {
	hand := r.RuleOfThumb
	if hand == nil {
		return figure{}, false
	}
	buffers := hand.Activations * s.BufferPercent / 100
	total := hand.Weights + hand.Batch + hand.Activations + buffers
	size := func(kind string, n int64) (figure, bool) { return figure{kind, bytes, n, ""}, true }
	switch name {
	case "weights":
		return size(KindWeights, hand.Weights)
	case "batch":
		return size(KindBatch, hand.Batch)
	case "activations":
		return size(KindActivations, hand.Activations)
	case "activations.image":
		return size(KindActivations, hand.Activations/batch)
	case "activations.ratio": // against the batch
		return figure{KindActivations, times, mulDivRound(hand.Activations, 10, hand.Batch), ""}, true
	case "activations.values":
		return figure{KindActivations, count, hand.Activations / batch / valueBytes, ""}, true
	case "buffers":
		return size(KindActivations, buffers)
	case "buffered":
		return size(KindActivations, hand.Activations+buffers)
	case "buffered.low":
		return size(KindActivations, hand.Activations+hand.Buffers[0])
	case "buffered.high":
		return size(KindActivations, hand.Activations+hand.Buffers[1])
	case "buffered.share":
		return figure{KindActivations, percent, mulDivRound(hand.Activations+buffers, 1000, total), ""}, true
	case "total":
		return size("", total)
	case "total.low":
		return size("", hand.Total[0])
	case "total.high":
		return size("", hand.Total[1])
	case "compute.low": // the lesson's further 20 to 40 %
		return size("", total*120/100)
	case "compute.high":
		return size("", total*140/100)
	}
	return figure{}, false
}

// saved: what autograd keeps for backward.
func saved(name string, r *calc.Result, batch int64) (figure, bool) {
	size := func(n int64) (figure, bool) { return figure{KindActivations, bytes, n, ""}, true }
	switch name {
	case "":
		return size(r.SavedForBackward)
	case "image":
		return size(r.SavedForBackward / batch)
	case "margin": // what the lesson's activations lack
		if r.RuleOfThumb == nil || r.RuleOfThumb.Activations == 0 {
			return figure{}, false
		}
		return figure{KindActivations, percent, mulDivRound(r.SavedForBackward, 1000, r.RuleOfThumb.Activations) - 1000, ""}, true
	case "rest": // beside the types that the lesson names
		return size((r.SavedForBackward - savedBy(r, "ReLU", "MaxPool2d", "Conv2d")) / batch)
	}
	// What the layers of one type were the first to save, for one image.
	if kind, ok := strings.CutPrefix(name, "type."); ok {
		return size(savedBy(r, kind) / batch)
	}
	return figure{}, false
}

func savedBy(r *calc.Result, types ...string) int64 {
	var sum int64
	for _, row := range r.Layers {
		if slices.Contains(types, row.Type) {
			sum += row.Saved
		}
	}
	return sum
}

// peak: the highest point of a step, as three tools would print it.
func (f Figures) peak(name string, r *calc.Result) (figure, bool) {
	switch name {
	case "live":
		return figure{"", bytes, r.Peak.Live, ""}, true
	case "allocated":
		return figure{"", bytes, r.Peak.Allocated, ""}, true
	case "reserved":
		return figure{"", bytes, r.Peak.Reserved, ""}, true
	case "device":
		return figure{"", bytes, r.Peak.Device, ""}, true
	case "phase":
		return figure{"", words, 0, Text(f.lang, "phase."+r.Peak.Phase, nil)}, true
	case "at":
		return figure{"", words, 0, f.place(r)}, true
	}
	return figure{}, false
}

// place names the layer of the peak in words.
func (f Figures) place(r *calc.Result) string {
	for _, row := range f.scene.Now.Layers {
		if row.Path == r.Peak.At {
			return Text(f.lang, "place.layer", Args{"type": row.Type, "path": row.Path})
		}
	}
	switch r.Peak.At {
	case "<loss>":
		return Text(f.lang, "place.loss", nil)
	case "<optimizer>":
		return Text(f.lang, "place.optimizer", nil)
	case "": // a file of weights, whose layers are not known
		return Text(f.lang, "place.load", nil)
	}
	return r.Peak.At
}

func phases(name string, p calc.Phases) (figure, bool) {
	switch name {
	case calc.PhaseForward:
		return figure{"", bytes, p.Forward, ""}, true
	case calc.PhaseBackward:
		return figure{"", bytes, p.Backward, ""}, true
	case calc.PhaseStep:
		return figure{"", bytes, p.Step, ""}, true
	}
	return figure{}, false
}

// part: one part of the result; zero parts are absent there and 0 here.
func part(name string, r *calc.Result) (figure, bool) {
	for _, p := range r.Parts {
		if p.Kind == name {
			return figure{KindOf(name), bytes, p.Bytes, ""}, true
		}
	}
	return figure{KindOf(name), bytes, 0, ""}, true
}

// formula: how a part is counted, with the reader's values.
func (f Figures) formula(name string, r *calc.Result) (figure, bool) {
	for _, p := range r.Parts {
		if p.Kind == name {
			args := Args{}
			for arg, value := range p.FormulaArgs {
				args[arg] = value
			}
			return figure{"", words, 0, Text(f.lang, "formula."+p.Formula, args)}, true
		}
	}
	return f.absent(slices.Contains(calc.PartKinds, name))
}

// source: where a part's formula comes from.
func (f Figures) source(name string, r *calc.Result) (figure, bool) {
	for _, p := range r.Parts {
		if p.Kind == name {
			return figure{"", words, 0, Text(f.lang, "source."+p.Source, nil)}, true
		}
	}
	return f.absent(slices.Contains(calc.PartKinds, name))
}

// budget: a line of what the card offers ("box"), or where it comes from ("box.source").
func (f Figures) budget(name string, r *calc.Result) (figure, bool) {
	id, field, _ := strings.Cut(name, ".")
	if r.Budget == nil || field != "" && field != "source" {
		return figure{}, false
	}
	for _, line := range r.Budget.Lines {
		switch {
		case line.ID != id:
		case field == "source":
			return figure{"", words, 0, Text(f.lang, "source."+line.Source, nil)}, true
		default:
			return figure{"", bytes, line.Bytes, ""}, true
		}
	}
	return f.absent(slices.Contains(BudgetLines, id))
}

// assumption: a constant that the estimate rests on ("cuda-context"), or where it comes from.
func (f Figures) assumption(name string, r *calc.Result) (figure, bool) {
	id, field, _ := strings.Cut(name, ".")
	if field != "" && field != "source" {
		return figure{}, false
	}
	for _, a := range r.Assumptions {
		switch {
		case a.ID != id:
		case field == "source":
			return figure{"", words, 0, Text(f.lang, "source."+a.Source, Args{"high": a.High})}, true
		case a.Value == nil:
			return figure{"", words, 0, Text(f.lang, "ledger.uncounted", nil)}, true
		default:
			return figure{"", bytes, *a.Value, ""}, true
		}
	}
	return f.absent(slices.Contains(calc.AssumptionIDs(), id))
}

// absent says that something known does not apply to this scene.
func (f Figures) absent(known bool) (figure, bool) {
	return figure{"", words, 0, Text(f.lang, "ledger.absent", nil)}, known
}

// BudgetLines are the ids of the lines between the figure on a card's box and what tensors can use.
var BudgetLines = []string{gpu.LineBox, gpu.LineGiven, gpu.LineECC, gpu.LineDriver, gpu.LineSystem, gpu.LineContext, gpu.LineDesktop, gpu.LineFragmentation}

func kindBytes(r *calc.Result, kind string) int64 {
	var sum int64
	for _, p := range r.Parts {
		if KindOf(p.Kind) == kind {
			sum += p.Bytes
		}
	}
	return sum
}

// layer: "3.values", the output of a layer for one image.
func layer(name string, r *calc.Result, batch int64) (figure, bool) {
	path, field, _ := strings.Cut(name, ".")
	for _, row := range r.Layers {
		if row.Path != path || len(row.Output) == 0 {
			continue
		}
		values := int64(1)
		for _, n := range row.Output[1:] {
			values *= n
		}
		switch field {
		case "shape":
			return figure{KindActivations, words, 0, Shape(row.Output[1:])}, true
		case "values":
			return figure{KindActivations, count, values, ""}, true
		case "bytes":
			return figure{KindActivations, bytes, values * valueBytes, ""}, true
		case "saved":
			return figure{KindActivations, bytes, row.Saved / batch, ""}, true
		case "params":
			return figure{KindWeights, count, row.Params, ""}, true
		}
	}
	return figure{}, false
}

// card: the chosen card, and what the step needs of it.
func (f Figures) card(name string, r *calc.Result) (figure, bool) {
	if name == "name" {
		return figure{"", words, 0, f.scene.State.Device.Name(f.lang)}, true
	}
	if r.Budget == nil {
		return figure{}, false
	}
	switch name {
	case "total":
		return figure{"", bytes, r.Budget.Total, ""}, true
	case "usable":
		return figure{"", bytes, r.Budget.Usable, ""}, true
	case "limit":
		return figure{"", bytes, cardLimit(r), ""}, true
	case "max_batch":
		if r.MaxBatch != nil {
			return figure{KindBatch, count, *r.MaxBatch, ""}, true
		}
	case "share":
		return figure{"", percent, mulDivRound(r.Peak.Device, 1000, r.Budget.Total), ""}, true
	}
	return figure{}, false
}

// tank: the figures of the vessel.
func (f Figures) tank(name string) (figure, bool) {
	switch name {
	case "total":
		return figure{"", bytes, f.scene.Now.Peak.Device, ""}, true
	case "scale":
		return figure{"", bytes, f.tankScale(), ""}, true
	case "of":
		return figure{"", words, 0, f.tankOf()}, true
	}
	return figure{}, false
}

// train: training against inference.
func (f Figures) train(name string) (figure, bool) {
	if name != "ratio" || f.scene.Infer().Peak.Live <= 0 {
		return figure{}, false
	}
	return figure{"", times, mulDivRound(f.scene.Now.Peak.Live, 10, f.scene.Infer().Peak.Live), ""}, true
}
