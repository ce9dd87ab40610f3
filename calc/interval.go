package calc

import (
	_ "embed"
	"encoding/json"
	"sync"

	"vrametre/calc/gpu"
	"vrametre/calc/torch"
)

// interval.json holds, by family of network, the lowest and highest ratio of measured to
// simulated memory over the rows of package validate, which computes the file.
//
//go:embed interval.json
var intervalData []byte

// Spread is the range of measured over simulated reserved memory of one family.
type Spread struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Rows int     `json:"rows"`
}

// Spreads by family: "cnn", "transformer".
var Spreads = sync.OnceValue(func() map[string]Spread {
	var s map[string]Spread
	if err := json.Unmarshal(intervalData, &s); err != nil {
		panic("calc: interval.json: " + err.Error())
	}
	return s
})

// SourceSurplus is the source of what measured convolutional networks held beside the simulation.
const SourceSurplus = "measured-surplus"

// FamilyCNN are the networks whose convolutions cuDNN computes.
const FamilyCNN = "cnn"

// BasisRows is the basis of an estimate from a summary's rows.
const BasisRows = "rows"

// interval brackets Peak.Device: reserved memory by the spread of the measured cases of the network's family, the
// context by what was measured. A network that is neither convolutional nor attentive gets the widest spread.
func (q *query) interval(res *Result, g *torch.Graph) {
	family := g.Family()
	s, ok := Spreads()[family]
	basis := "measured-" + family
	if !ok {
		basis = "measured-all"
		s.Low, s.High = 1, 1
		for _, v := range Spreads() {
			s.Low, s.High = min(s.Low, v.Low), max(s.High, v.High)
		}
	}
	if q.rough { // a table's rows leave out what blocks keep and reuse: half to double
		basis = BasisRows
		s.Low, s.High = s.Low/2, s.High*2
	}
	low, high := q.budget.Context, q.budget.Context
	if q.Device.ContextBytes == nil {
		low, high = min(low, q.context.Low), max(high, q.context.High)
	}
	res.Interval = Interval{
		Low:   int64(float64(res.Peak.Reserved)*min(s.Low, 1)) + low + q.budget.Desktop,
		High:  int64(float64(res.Peak.Reserved)*max(s.High, 1)) + high + q.budget.Desktop,
		Basis: basis,
	}
}

// assumptions are the constants the estimate rests on.
func (q *query) assumptions(res *Result, family string) {
	add := func(id string, value int64, source string) {
		res.Assumptions = append(res.Assumptions, Assumption{ID: id, Value: &value, Source: source})
	}
	source := q.context.Source
	if q.Device.ContextBytes != nil {
		source = "given"
	}
	add("cuda-context", q.budget.Context, source)
	if desktop, ok := q.budget.Line(gpu.LineDesktop); ok {
		add("desktop", q.budget.Desktop, desktop.Source)
	}
	add("cublas-workspace", q.workspace.Bytes, q.workspace.Source)
	// What cuDNN's algorithms take is in the interval, not in the figure. No measured convolutional network held more
	// beside the simulation than its family's spread says, and most held nothing.
	cudnn := Assumption{ID: "cudnn-workspace", Source: "not-simulated"}
	if s := Spreads()[family]; family == FamilyCNN {
		cudnn.High, cudnn.Source = int64(float64(res.Peak.Reserved)*(max(s.High, 1)-1)), SourceSurplus
	}
	res.Assumptions = append(res.Assumptions, cudnn)
}
