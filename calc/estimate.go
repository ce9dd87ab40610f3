// Package calc is the engine's front door: a Request in, a Result out. It
// simulates one PyTorch training step operation by operation. It is pure: no
// input or output, no clock, no prose; texts are codes that content fills.
package calc

import (
	"errors"
	"slices"

	"vrametre/calc/cuda"
	"vrametre/calc/fault"
	"vrametre/calc/torch"
	"vrametre/calc/walk"
)

// Estimate answers r. Its error is an *Error.
func Estimate(r Request) (Result, error) { return answer(r, &work{}) }

// EstimateInPieces is Estimate for a caller with other things to do: rest is called between pieces of the work, none of
// them longer than compiling the network or walking it once. Where rest is false the work ends with ErrStopped.
func EstimateInPieces(r Request, rest func() bool) (Result, error) {
	return answer(r, &work{rest: rest})
}

// ErrStopped is the error of work that its caller has stopped.
var ErrStopped = errors.New("calc: stopped")

// work is what goes into one answer and those that it is made of.
type work struct {
	// spent is what has been done so far, in walked events.
	spent   int64
	rest    func() bool
	stopped bool
}

// goesOn is asked before each piece.
func (w *work) goesOn() bool {
	if w.rest != nil && !w.stopped {
		w.stopped = !w.rest()
	}
	return !w.stopped
}

// answer is Estimate, as a part of w.
func answer(r Request, w *work) (Result, error) {
	q, err := understand(r)
	if err != nil {
		return Result{}, err
	}
	q.work = w
	n, err := q.resolve()
	if err != nil {
		return Result{}, err
	}
	return q.estimate(n)
}

// run is one batch size, compiled.
type run struct {
	g *torch.Graph
	p *torch.Program
}

func (q *query) compile(n *network, batch int64) (run, error) {
	if !q.work.goesOn() {
		return run{}, ErrStopped
	}
	g, err := q.record(n, batch)
	if err != nil {
		return run{}, err
	}
	p := g.Compile()
	q.work.spent += compileWork * int64(len(p.Events))
	return run{g, p}, countable(p, batch)
}

// countable refuses tensors that are too large together.
func countable(p *torch.Program, batch int64) error {
	var sum int64
	for _, b := range p.Bytes {
		if sum += b; sum > MaxBytes {
			return fault.New("size-total", "batch", "batch", batch)
		}
	}
	return nil
}

// compileWork is how many walks of an iteration take as long as recording and compiling it.
const compileWork = 5

// walk replays p and counts what that takes, in events.
func (q *query) walk(p *torch.Program, c walk.Config, sink walk.Sink) *walk.Walk {
	q.work.spent += int64(c.Iterations) * int64(len(p.Events))
	return walk.Run(p, c, sink)
}

func (q *query) walkConfig() walk.Config {
	c := walk.Config{Train: q.train, Accumulation: q.Accumulation, KeepGrads: q.keepGrad, ZeroAt: q.zeroAt, Optimizer: q.optim,
		Master: q.master, Iterations: q.Steps, Timeline: slices.Contains(q.Want, WantTimeline),
		Workspace: q.workspace.Bytes}
	if p := q.Parallel; p.Data > 1 {
		c.Shard = walk.Shard{N: p.Data, Stage: p.Zero}
	}
	return c
}

// beside are storages that no operation of the recorded forward makes.
func (q *query) beside(p *torch.Program, batch int64) []walk.Extra {
	var out []walk.Extra
	if q.Inference != nil && !q.train && q.kv > 0 {
		size := q.dtype.Size()
		switch q.Inference.KVDType {
		case "fp32":
			size = 4
		case "fp16", "bf16":
			size = 2
		case "fp8":
			size = 1
		}
		out = append(out, walk.Extra{Bytes: q.kv * size * q.Inference.Context * batch, Kind: torch.KindKVCache})
	}
	if q.Parallel.Data > 1 {
		var grads, largest int64
		for _, v := range p.Params {
			if v.Trained {
				grads += p.Bytes[v.GradSlot]
			}
			largest = max(largest, p.Bytes[v.Slot])
		}
		switch stage := q.Parallel.Zero; {
		case stage == 0 && q.train: // DistributedDataParallel's buckets are a second copy (gradient_as_bucket_view=False, pytorch PR 41954)
			out = append(out, walk.Extra{Bytes: grads, Kind: torch.KindGradients})
		case stage == 3: // the unit gathered while it runs
			out = append(out, walk.Extra{Bytes: largest, Kind: torch.KindWeights})
		}
	}
	return out
}

func (q *query) vendor() string {
	if q.card.Vendor == "" {
		return "nvidia"
	}
	return q.card.Vendor
}

// allocator under a capacity; 0: an unlimited card.
func (q *query) allocator(capacity int64) cuda.Config {
	c := cuda.Config{Capacity: capacity, ExpandableSegments: q.Allocator.ExpandableSegments}
	if capacity > 0 {
		c.DeviceTotal = q.budget.Total
	}
	if q.Allocator.MaxSplitSizeMB != nil {
		c.MaxSplitSize = max(*q.Allocator.MaxSplitSizeMB<<20, cuda.MinMaxSplitSize)
	}
	return c
}

func (q *query) estimate(n *network) (Result, error) {
	one, err := q.compile(n, q.Batch)
	if err != nil {
		return Result{}, err
	}
	if q.Inference != nil && float64(q.kv)*8*float64(q.Inference.Context)*float64(q.Batch) > MaxBytes {
		return Result{}, fault.New("size-total", "inference.context", "batch", q.Batch)
	}
	p := one.p
	a := cuda.New(q.allocator(0))
	cfg := q.walkConfig()
	cfg.Extra = q.beside(p, q.Batch)
	if !q.work.goesOn() {
		return Result{}, ErrStopped
	}
	w := q.walk(p, cfg, a)
	var res Result
	for _, v := range p.Params {
		c := int64(1)
		for _, d := range v.Shape {
			c *= d
		}
		res.Parameters.Total += c
		if v.Trainable {
			res.Parameters.Trainable += c
		}
	}
	for _, v := range p.Resident {
		if v.Kind == torch.KindBuffers {
			res.Parameters.BuffersBytes += p.Bytes[v.Slot]
		}
	}
	res.SavedForBackward = p.Saved
	if q.train {
		res.InputSaved = &p.InputSaved
	}
	res.Phases, res.First = phases(w.Steady), phases(w.First)
	at := "<optimizer>"
	if w.At >= 0 {
		at = p.At(w.At)
	}
	outside := q.budget.Context + q.budget.Desktop
	res.Peak = Peak{Live: w.Peak, Allocated: a.PeakAllocated(), Reserved: a.PeakReserved(), Device: a.PeakReserved() + outside,
		Phase: [...]string{PhaseForward, PhaseBackward, PhaseStep}[w.Phase], At: at}
	q.interval(&res, one.g)
	q.assumptions(&res, one.g.Family())
	q.parts(&res, w, one, outside)
	q.ruleOfThumb(&res, one)
	if slices.Contains(q.Want, WantTimeline) {
		q.timeline(&res, w, p)
	}
	if slices.Contains(q.Want, WantBlocks) && q.work.goesOn() {
		q.blocks(&res, w, p)
	}
	if slices.Contains(q.Want, WantLayers) {
		res.Layers, res.Saved = make([]LayerRow, 0, len(p.Calls)), make([]Saved, 0, len(p.Kept))
		for _, c := range p.Calls {
			if c.Leaf || c.Saved > 0 || c.Params > 0 {
				row := LayerRow{Path: c.Path, Type: c.Type, Output: c.Out, Saved: c.Saved}
				if c.First {
					row.Params, row.Tied = c.Params, c.Tied
				}
				res.Layers = append(res.Layers, row)
			}
		}
		res.Layers = withUncalled(res.Layers, one.g)
		for _, k := range p.Kept {
			by := p.Calls[k.By]
			res.Saved = append(res.Saved, Saved{By: by.Path, Type: by.Type, Own: k.Own, Shape: k.Shape, DType: k.DType.String(), Bytes: k.Bytes})
		}
	}
	q.fit(&res, p, a)
	if slices.Contains(q.Want, WantMaxBatch) {
		res.MaxBatch = ptr(q.maxBatch(n))
	}
	if slices.Contains(q.Want, WantAdvice) {
		q.trunk = trunk(one.g.Root)
		var left int
		res.Advice, left = q.advice(n, res)
		if left > 0 {
			one.g.Warn("advice-bounded", "left", left)
		}
	}
	if q.work.stopped {
		return Result{}, ErrStopped
	}
	for _, v := range slices.Concat(q.warnings, one.g.Warnings) {
		res.Warnings = append(res.Warnings, Warning{Code: v.Code, At: v.At, Args: v.Args})
	}
	return res, nil
}

// withUncalled adds to the rows the modules whose parameters others read, below the nearest module around them that has a
// row, at the end where there is none.
func withUncalled(rows []LayerRow, g *torch.Graph) []LayerRow {
	at := make(map[string]int, len(rows))
	for i := len(rows) - 1; i >= 0; i-- {
		at[rows[i].Path] = i
	}
	after := map[int][]LayerRow{}
	end := len(rows) - 1
	var search func(m *torch.Module, around int)
	search = func(m *torch.Module, around int) {
		if i, ok := at[m.Path]; ok && g.Called(m) {
			around = i
		}
		if !g.Called(m) && (m.Own > 0 || m.Tied != nil) {
			row := LayerRow{Path: m.Path, Type: m.Type, Params: m.Own}
			if m.Tied != nil {
				row.Tied = m.Tied.Path
			}
			after[around] = append(after[around], row)
		}
		for _, c := range m.Children {
			search(c, around)
		}
	}
	search(g.Root, end)
	if len(after) == 0 {
		return rows
	}
	out := make([]LayerRow, 0, len(rows)+len(after))
	for i, r := range rows {
		out = append(append(out, r), after[i]...)
	}
	return out
}

func phases(p walk.Peaks) Phases { return Phases{p[walk.Forward], p[walk.Backward], p[walk.Step]} }

// fit answers what the training needs: the allocator simulated under the card's capacity.
func (q *query) fit(res *Result, p *torch.Program, a *cuda.Allocator) {
	b := q.budget
	res.Budget = &Budget{Total: b.Total, Usable: b.Usable}
	for _, l := range b.Lines {
		res.Budget.Lines = append(res.Budget.Lines, BudgetLine{l.ID, l.Bytes, l.Source})
	}
	res.Fits = ptr(q.fitsIn(p, a))
	res.Headroom = ptr(b.Usable - res.Peak.Reserved)
}

func (q *query) fitsIn(p *torch.Program, a *cuda.Allocator) bool {
	if q.budget.Usable <= 0 {
		return false
	}
	// The uncapped run never asked for more. An expandable segment has the card's size of addresses, which the choice of
	// blocks depends on: there the capped run alone tells.
	if a.PeakReserved() <= q.budget.Usable && a.Flushes() == 0 && !q.Allocator.ExpandableSegments {
		return true
	}
	cfg := q.walkConfig()
	cfg.Extra, cfg.Timeline = q.beside(p, q.Batch), false
	return !q.walk(p, cfg, cuda.New(q.allocator(q.budget.Usable))).OutOfMemory
}
