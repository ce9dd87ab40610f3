// Package calc is the engine's front door: a Request in, a Result out. It
// simulates one PyTorch training step operation by operation. It is pure: no
// input or output, no clock, no prose; texts are codes that content fills.
package calc

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc/cuda"
	"vrametre/calc/fault"
	"vrametre/calc/gpu"
	"vrametre/calc/optim"
	"vrametre/calc/torch"
	"vrametre/calc/walk"
)

// What Request.Want may list.
const (
	WantMaxBatch = "max_batch"
	WantAdvice   = "advice"
	WantTimeline = "timeline"
	WantLayers   = "layers"
	WantBlocks   = "blocks"
)

// Wants lists them all.
var Wants = []string{WantMaxBatch, WantAdvice, WantTimeline, WantLayers, WantBlocks}

// Precisions lists the values of Request.Precision.
var Precisions = []string{"fp32", "fp64", "amp-fp16", "amp-bf16", "bf16", "fp16", "bf16-master"}

// Optimizers lists the values of Optimizer.Name.
var Optimizers = optim.Names()

// Defaults of a Request.
const (
	DefaultBatch   = 32
	DefaultSteps   = 4
	DefaultGPU     = "tesla-t4"
	DefaultPyTorch = "2.11"
	// MaxBatch bounds Request.Batch and the search for the largest batch.
	MaxBatch = 1 << 30
	// MaxSteps bounds Request.Steps.
	MaxSteps = 64
)

// query is a request with its defaults filled in and its words understood.
type query struct {
	Request
	train   bool
	major   int
	minor   int
	rules   torch.Rules
	dtype   torch.DType // of parameters and floating inputs
	amp     torch.DType
	optim   optim.Config
	master  int64
	card    gpu.Card
	budget  *gpu.Budget
	context cuda.Constant
	// workspace is cuBLAS's, of one thread.
	workspace cuda.Constant
	// trunk are the paths of every top-level module but the last with parameters.
	trunk []string
	// kv is the cached elements per token and sample.
	kv       int64
	zeroAt   int
	keepGrad bool
}

func choice(field, value, def string, allowed []string) (string, error) {
	if value == "" {
		return def, nil
	}
	if !slices.Contains(allowed, value) {
		return "", fault.New("field-choice", field, "value", value, "allowed", strings.Join(allowed, ", "))
	}
	return value, nil
}

// understand fills the defaults and checks every field.
func understand(r Request) (*query, error) {
	q := &query{Request: r}
	for _, c := range []struct {
		field   string
		value   *string
		def     string
		allowed []string
	}{
		{"mode", &q.Mode, "train", []string{"train", "infer"}},
		{"loss", &q.Loss, "", Losses},
		{"precision", &q.Precision, "fp32", Precisions},
		{"optimizer.name", &q.Optimizer.Name, "adam", Optimizers},
		{"zero_grad", &q.ZeroGrad, "", []string{"set_to_none", "zeros"}},
		{"zero_grad_at", &q.ZeroGradAt, "start", []string{"start", "before-backward", "end"}},
		{"attention", &q.Attention, "auto", []string{"auto", "math", "flash", "efficient"}},
		{"device.os", &q.Device.OS, gpu.Linux, []string{gpu.Linux, gpu.Windows, gpu.WSL}},
		{"language", &q.Language, "fr", []string{"fr", "en"}},
	} {
		v, err := choice(c.field, *c.value, c.def, c.allowed)
		if err != nil {
			return nil, err
		}
		*c.value = v
	}
	for _, w := range q.Want {
		if !slices.Contains(Wants, w) {
			return nil, fault.New("field-choice", "want", "value", w, "allowed", strings.Join(Wants, ", "))
		}
	}
	for _, c := range []struct {
		field string
		value *int64
		def   int64
		limit int64
	}{
		{"batch", &q.Batch, DefaultBatch, MaxBatch},
		{"accumulation", ptr(int64(q.Accumulation)), 1, 1 << 20},
		{"steps", ptr(int64(q.Steps)), DefaultSteps, MaxSteps},
	} {
		if *c.value == 0 {
			*c.value = c.def
		}
		if *c.value < 1 || *c.value > c.limit {
			return nil, fault.New("field-range", c.field, "value", *c.value, "low", 1, "high", c.limit)
		}
		switch c.field {
		case "accumulation":
			q.Accumulation = int(*c.value)
		case "steps":
			q.Steps = int(*c.value)
		}
	}
	if q.NumClasses < 0 || q.NumClasses > 1<<24 {
		return nil, fault.New("field-range", "num_classes", "value", q.NumClasses, "low", 1, "high", 1<<24)
	}
	for i, in := range q.Input {
		at := "input"
		if len(q.Input) > 1 {
			at = "input[" + strconv.Itoa(i) + "]"
		}
		if in.DType != "" {
			if _, ok := torch.ParseDType(in.DType); !ok {
				return nil, fault.New("field-choice", at+".dtype", "value", in.DType, "allowed", "float32, float64, float16, bfloat16, int64, int32, uint8, bool")
			}
		}
		if in.Tokens < 0 || in.Tokens > 1<<30 {
			return nil, fault.New("field-range", at+".tokens", "value", in.Tokens, "low", 1, "high", 1<<30)
		}
		if len(in.Shape) > 7 {
			return nil, fault.New("shape-rank", at+".shape", "shape", torch.Shape(in.Shape), "dim", 7)
		}
		for _, d := range in.Shape {
			if d < 1 || d > 1<<40 {
				return nil, fault.New("field-range", at+".shape", "value", d, "low", 1, "high", int64(1)<<40)
			}
		}
	}
	q.train = q.Mode == "train"
	if err := q.version(); err != nil {
		return nil, err
	}
	if err := q.precision(); err != nil {
		return nil, err
	}
	if err := q.adapter(); err != nil {
		return nil, err
	}
	if err := q.parallel(); err != nil {
		return nil, err
	}
	return q, q.device()
}

func (q *query) adapter() error {
	a := q.Adapter
	if a == nil {
		return nil
	}
	if a.Kind != "lora" {
		return fault.New("field-choice", "adapter.kind", "value", a.Kind, "allowed", "lora")
	}
	if a.Rank < 1 || a.Rank > 1<<16 {
		return fault.New("field-range", "adapter.rank", "value", a.Rank, "low", 1, "high", 1<<16)
	}
	if len(a.Targets) == 0 {
		return fault.New("adapter-targets", "adapter.targets", "targets", "")
	}
	switch a.Base {
	case "", "fp32":
	case "bf16", "nf4":
		q.dtype = torch.BFloat16
	case "fp16":
		q.dtype = torch.Float16
	default:
		return fault.New("field-choice", "adapter.base", "value", a.Base, "allowed", "fp32, fp16, bf16, nf4")
	}
	return nil
}

func (q *query) parallel() error {
	p := q.Parallel
	for _, c := range []struct {
		field string
		value int
		high  int
	}{{"data", p.Data, 1 << 20}, {"zero", p.Zero, 3}, {"tensor", p.Tensor, 1}, {"pipeline", p.Pipeline, 1}, {"microbatches", p.Microbatches, 1 << 20}} {
		if c.value < 0 || c.value > c.high {
			return fault.New("field-range", "parallel."+c.field, "value", c.value, "low", 0, "high", c.high)
		}
	}
	if p.Sequence {
		return fault.New("field-choice", "parallel.sequence", "value", true, "allowed", "false")
	}
	if q.Inference != nil {
		if q.Inference.Context < 1 || q.Inference.Context > 1<<30 {
			return fault.New("field-range", "inference.context", "value", q.Inference.Context, "low", 1, "high", 1<<30)
		}
		if _, err := choice("inference.kv_dtype", q.Inference.KVDType, "", []string{"fp32", "fp16", "bf16", "fp8"}); err != nil {
			return err
		}
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// version turns Request.PyTorch into rules. Sources of each are at torch.Rules.
func (q *query) version() error {
	v := q.PyTorch
	if v == "" {
		v = DefaultPyTorch
	}
	parts := strings.Split(v, ".")
	var err, err2 error
	q.major, err = strconv.Atoi(parts[0])
	if len(parts) > 1 {
		q.minor, err2 = strconv.Atoi(parts[1])
	}
	if err != nil || err2 != nil || len(parts) > 3 || q.major < 1 || q.major > 9 || (q.major == 1 && q.minor < 10) {
		return fault.New("version", "pytorch", "value", q.PyTorch, "low", "1.10")
	}
	since := func(major, minor int) bool { return q.major > major || (q.major == major && q.minor >= minor) }
	q.rules = torch.Rules{MeanSavesInput: !since(2, 2), SDPA: since(2, 0), ForeachAdamLists: 1, AccumulateInPlace: since(2, 0),
		LinearAnyRank: since(2, 1), LinearAddCopies: !since(2, 0), KernelCopies: since(2, 0), FusedRMSNorm: since(2, 9),
		SoftmaxSavesInput: !since(1, 11)}
	if !since(2, 0) {
		q.rules.ForeachAdamLists = 2
	}
	q.rules.Attention = q.Attention
	if q.Attention == "auto" {
		q.rules.Attention = "efficient"
		if strings.HasPrefix(q.Precision, "amp-") || strings.HasPrefix(q.Precision, "bf16") || q.Precision == "fp16" {
			q.rules.Attention = "flash"
		}
	}
	foreach := since(2, 0)
	if q.Optimizer.Foreach != nil {
		foreach = *q.Optimizer.Foreach
	}
	o := q.Optimizer
	q.optim = optim.Config{Name: o.Name, Momentum: o.Momentum != 0, AMSGrad: o.AMSGrad, Centered: o.Centered, WeightDecay: o.WeightDecay != 0,
		Foreach: foreach, Fused: o.Fused, AdamLists: q.rules.ForeachAdamLists}
	q.keepGrad = q.ZeroGrad == "zeros" || (q.ZeroGrad == "" && !since(2, 0))
	q.zeroAt = map[string]int{"start": walk.ZeroAtStart, "before-backward": walk.ZeroBeforeBackward, "end": walk.ZeroAtEnd}[q.ZeroGradAt]
	return nil
}

func (q *query) precision() error {
	switch q.Precision {
	case "fp64":
		q.dtype = torch.Float64
	case "amp-fp16":
		q.amp = torch.Float16
	case "amp-bf16":
		q.amp = torch.BFloat16
	case "fp16":
		q.dtype = torch.Float16
	case "bf16":
		q.dtype = torch.BFloat16
	case "bf16-master":
		q.dtype, q.master = torch.BFloat16, 4
	}
	return nil
}

func (q *query) device() error {
	d := &q.Device
	if d.GPU == "" && d.TotalBytes == nil {
		d.GPU = DefaultGPU
	}
	if d.GPU != "" {
		c, ok := gpu.ByID(d.GPU)
		if !ok {
			return fault.New("gpu-unknown", "device.gpu", "gpu", d.GPU)
		}
		q.card = c
	}
	for field, v := range map[string]*int64{"device.context_bytes": d.ContextBytes, "device.total_bytes": d.TotalBytes} {
		if v != nil && (*v < 0 || *v > 1<<50) {
			return fault.New("field-range", field, "value", *v, "low", 0, "high", int64(1)<<50)
		}
	}
	b, err := gpu.BudgetOf(q.card, gpu.Options{OS: d.OS, Desktop: d.Desktop, PyTorchMajor: q.major, PyTorchMinor: q.minor,
		TotalBytes: d.TotalBytes, ContextBytes: d.ContextBytes})
	if err != nil {
		return fault.New("gpu-size", "device.total_bytes", "gpu", d.GPU)
	}
	q.budget = &b
	q.context = cuda.Context(q.major, q.minor, q.vendor(), q.card.Architecture)
	q.workspace = cuda.CublasWorkspace(q.major, q.minor, q.vendor(), q.card.Architecture)
	return nil
}

// Estimate answers r. Its error is an *Error.
func Estimate(r Request) (Result, error) {
	q, err := understand(r)
	if err != nil {
		return Result{}, err
	}
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
	g, err := q.record(n, batch)
	if err != nil {
		return run{}, err
	}
	return run{g, g.Compile()}, nil
}

func (q *query) walkConfig() walk.Config {
	c := walk.Config{Train: q.train, Accumulation: q.Accumulation, KeepGrads: q.keepGrad, ZeroAt: q.zeroAt, Optimizer: q.optim,
		Master: q.master, Iterations: max(q.Steps, 2), Timeline: slices.Contains(q.Want, WantTimeline),
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
	if q.train && q.Parallel.Data > 1 {
		var grads, largest int64
		for _, v := range p.Params {
			if v.Trained {
				grads += p.Bytes[v.GradSlot]
			}
			largest = max(largest, p.Bytes[v.Slot])
		}
		switch q.Parallel.Zero {
		case 0: // DistributedDataParallel's buckets are a second copy (gradient_as_bucket_view=False, pytorch PR 41954)
			out = append(out, walk.Extra{Bytes: grads, Kind: torch.KindGradients})
		case 3: // the unit gathered while it runs
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
	p := one.p
	a := cuda.New(q.allocator(0))
	cfg := q.walkConfig()
	cfg.Extra = q.beside(p, q.Batch)
	w := walk.Run(p, cfg, a)
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
	res.SavedForBackward, res.InputSaved = p.Saved, p.InputSaved
	res.Phases, res.First = phases(w.Steady), phases(w.First)
	at := "<optimizer>"
	if w.At >= 0 {
		at = p.At(w.At)
	}
	outside := q.budget.Context + q.budget.Desktop
	res.Peak = Peak{Live: w.Peak, Allocated: a.PeakAllocated(), Reserved: a.PeakReserved(), Device: a.PeakReserved() + outside,
		Phase: [...]string{PhaseForward, PhaseBackward, PhaseStep}[w.Phase], At: at}
	q.interval(&res, one.g)
	q.assumptions(&res)
	q.parts(&res, w, one, outside)
	q.ruleOfThumb(&res, one)
	if slices.Contains(q.Want, WantTimeline) {
		q.timeline(&res, w, p)
	}
	if slices.Contains(q.Want, WantBlocks) {
		q.blocks(&res, w, p)
	}
	if slices.Contains(q.Want, WantLayers) {
		for _, c := range p.Calls {
			if c.Leaf || c.Saved > 0 || c.Params > 0 {
				row := LayerRow{Path: c.Path, Type: c.Type, Output: c.Out, Saved: c.Saved}
				if c.First {
					row.Params = c.Params
				}
				res.Layers = append(res.Layers, row)
			}
		}
		for _, k := range p.Kept {
			by := p.Calls[k.By]
			res.Saved = append(res.Saved, Saved{By: by.Path, Type: by.Type, Own: k.Own, Shape: k.Shape, DType: k.DType.String(), Bytes: k.Bytes})
		}
	}
	q.fit(&res, p, a)
	if slices.Contains(q.Want, WantMaxBatch) {
		best, err := q.maxBatch(n)
		if err != nil {
			return Result{}, err
		}
		res.MaxBatch = &best
	}
	if slices.Contains(q.Want, WantAdvice) {
		q.trunk = trunk(one.g.Root)
		res.Advice = q.advice(n, res)
	}
	for _, v := range one.g.Warnings {
		res.Warnings = append(res.Warnings, Warning{Code: v.Code, At: v.At, Args: v.Args})
	}
	return res, nil
}

func (q *query) timeline(res *Result, w *walk.Walk, p *torch.Program) {
	for _, pt := range w.Timeline {
		v := Point{At: "<optimizer>", Phase: PhaseStep, Live: pt.Live, Alloc: pt.Alloc, Free: pt.Free}
		if pt.Step >= 0 {
			v.At = p.At(pt.Step)
			v.Phase = [...]string{PhaseForward, PhaseBackward}[pt.Phase]
		}
		res.Timeline = append(res.Timeline, v)
	}
	for _, l := range w.Lives {
		res.Tensors = append(res.Tensors, Tensor{At: owner(p, l.Owner), Kind: kindParts[l.Kind].kind, Bytes: l.Bytes, Born: int(l.Born), Died: int(l.Died)})
	}
}

// owner is the module path of the operation that made a storage.
func owner(p *torch.Program, o walk.Owner) string {
	if o.Step < 0 {
		return "<optimizer>"
	}
	return p.At(o.Step)
}

// blocks is the allocator's map at the peak: the walk again, up to there.
func (q *query) blocks(res *Result, w *walk.Walk, p *torch.Program) {
	cfg := q.walkConfig()
	cfg.Extra, cfg.Timeline, cfg.StopAfter = q.beside(p, q.Batch), false, w.PeakAllocs
	a := cuda.New(q.allocator(0))
	at := walk.Run(p, cfg, a)
	for _, s := range a.Segments() {
		seg := Segment{Bytes: s.Size, Small: s.Small}
		for _, b := range s.Blocks {
			v := Block{Bytes: b.Size}
			if b.Live {
				o := at.Owners[b.ID]
				v.Requested, v.Kind, v.At = b.Requested, kindParts[o.Kind].kind, owner(p, o)
			}
			seg.Blocks = append(seg.Blocks, v)
		}
		res.Segments = append(res.Segments, seg)
	}
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
	if a.PeakReserved() <= q.budget.Usable && a.Flushes() == 0 {
		return true // the uncapped run never asked for more
	}
	cfg := q.walkConfig()
	cfg.Extra, cfg.Timeline = q.beside(p, q.Batch), false
	return !walk.Run(p, cfg, cuda.New(q.allocator(q.budget.Usable))).OutOfMemory
}

var kindParts = [torch.NumKinds]struct{ kind, formula, source string }{
	torch.KindWeights:              {PartWeights, "params-x-size", "pytorch-modules"},
	torch.KindBuffers:              {PartModuleBuffers, "module-buffers", "pytorch-modules"},
	torch.KindCast:                 {PartCastWeights, "cast-weights", "pytorch-autocast"},
	torch.KindGradients:            {PartGradients, "gradients", "pytorch-accumulate-grad"},
	torch.KindOptimizer:            {PartOptimizer, "optimizer-state", "pytorch-optim"},
	torch.KindBatch:                {PartBatch, "batch", "pytorch-tensor"},
	torch.KindActivations:          {PartActivations, "activations", "pytorch-derivatives"},
	torch.KindOutputs:              {PartOutputs, "outputs", "pytorch-tensor"},
	torch.KindTemporaries:          {PartTemporaries, "temporaries", "pytorch-engine"},
	torch.KindOptimizerTemporaries: {PartOptimizerTemporaries, "optimizer-temporaries", "pytorch-optim"},
	torch.KindKVCache:              {PartKVCache, "kv-cache", "kv-cache"},
	torch.KindWorkspace:            {PartWorkspace, "workspace", "pytorch-cublas"},
}

// parts splits the peak by kind; what the allocator and the card add comes last, so that the sum is Peak.Device.
func (q *query) parts(res *Result, w *walk.Walk, one run, outside int64) {
	add := func(kind, formula, source string, bytes int64, args map[string]int64) {
		if bytes != 0 {
			res.Parts = append(res.Parts, Part{Kind: kind, Bytes: bytes, Formula: formula, FormulaArgs: args, Source: source})
		}
	}
	for _, k := range []torch.Kind{torch.KindWeights, torch.KindBuffers, torch.KindCast, torch.KindGradients, torch.KindOptimizer, torch.KindBatch,
		torch.KindActivations, torch.KindOutputs, torch.KindTemporaries, torch.KindOptimizerTemporaries, torch.KindKVCache} {
		kp := kindParts[k]
		add(kp.kind, kp.formula, kp.source, w.Kinds[k], q.formulaArgs(k, w, one))
	}
	ws := w.WorkspaceAtPeak
	add(PartWorkspace, "workspace", "pytorch-cublas", ws, map[string]int64{"bytes": ws})
	add(PartRounding, "rounding", "pytorch-allocator", w.AllocatedAtPeak-w.Peak-ws, map[string]int64{"allocated": w.AllocatedAtPeak, "live": w.Peak})
	add(PartFragmentation, "fragmentation", "pytorch-allocator", res.Peak.Reserved-w.AllocatedAtPeak, map[string]int64{"reserved": res.Peak.Reserved, "allocated": w.AllocatedAtPeak})
	add(PartContext, "context", "cuda-context", outside, map[string]int64{"context": q.budget.Context, "desktop": q.budget.Desktop})
}

// formulaArgs are the reader's values in a part's formula.
func (q *query) formulaArgs(k torch.Kind, w *walk.Walk, one run) map[string]int64 {
	var params, trainable int64
	for _, p := range one.p.Params {
		n := one.p.Bytes[p.Slot] / p.DType.Size()
		params += n
		if p.Trainable {
			trainable += n
		}
	}
	switch k {
	case torch.KindWeights:
		return map[string]int64{"params": params, "size": q.dtype.Size() + q.master}
	case torch.KindGradients:
		return map[string]int64{"params": trainable, "size": q.dtype.Size()}
	case torch.KindOptimizer:
		return map[string]int64{"params": trainable, "bytes": w.State}
	case torch.KindBatch:
		return map[string]int64{"batch": q.Batch, "each": w.Kinds[k] / q.Batch}
	case torch.KindActivations, torch.KindOutputs, torch.KindTemporaries:
		return map[string]int64{"batch": q.Batch, "bytes": w.Kinds[k]}
	}
	return map[string]int64{"bytes": w.Kinds[k]}
}

// ruleOfThumb is the lesson's hand calculation.
func (q *query) ruleOfThumb(res *Result, one run) {
	maps := one.g.ConvOutputs()
	if len(maps) == 0 || !q.train {
		return
	}
	r := &RuleOfThumb{Batch: one.g.InputBytes()}
	for _, m := range maps {
		r.Activations += m
	}
	var ps []optim.Param
	for _, p := range one.p.Params {
		if p.Trainable {
			n := one.p.Bytes[p.Slot] / p.DType.Size()
			ps = append(ps, optim.Param{Shape: p.Shape, Numel: n, DType: torch.Float32})
			r.Weights += 8 * n
		}
	}
	r.Weights += q.optim.StateBytes(ps)
	for i, percent := range [...]int64{30, 60} {
		r.Buffers[i] = r.Activations / 100 * percent
		r.Buffers[i] += r.Activations % 100 * percent / 100
		r.Total[i] = r.Weights + r.Batch + r.Activations + r.Buffers[i]
	}
	res.RuleOfThumb = r
}
