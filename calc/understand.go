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
	// MaxBytes bounds a card, and what one iteration allocates in all: 128 TiB.
	MaxBytes = 1 << 47
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
	kv int64
	// rough: the network is a table's rows, whose forward is not known.
	rough    bool
	zeroAt   int
	keepGrad bool
	work     *work
	// warnings are about the request's own fields.
	warnings []*fault.Error
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
	q := &query{Request: r, work: &work{}}
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
	var err error
	if q.Frozen, err = expand("frozen", q.Frozen); err != nil {
		return nil, err
	}
	if q.Checkpointing.Paths, err = expand("checkpointing", q.Checkpointing.Paths); err != nil {
		return nil, err
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
		if in.Tokens > 0 && len(in.Shape) > 0 {
			return nil, fault.New("input-both", at)
		}
		if len(in.Shape) > 7 {
			return nil, fault.New("input-rank", at+".shape", "shape", torch.Shape(in.Shape), "limit", 7)
		}
		for _, d := range in.Shape {
			if d < 1 || d > 1<<40 {
				return nil, fault.New("field-range", at+".shape", "value", d, "low", 1, "high", int64(1)<<40)
			}
		}
	}
	for _, c := range []struct {
		field string
		value float64
	}{{"optimizer.momentum", q.Optimizer.Momentum}, {"optimizer.weight_decay", q.Optimizer.WeightDecay}} {
		if !(c.value >= 0 && c.value <= 1e6) {
			return nil, fault.New("field-range", c.field, "value", c.value, "low", 0, "high", 1_000_000)
		}
	}
	if m := q.Allocator.MaxSplitSizeMB; m != nil && (*m <= cuda.MinMaxSplitSize>>20 || *m > 1<<20) {
		return nil, fault.New("field-range", "allocator.max_split_size_mb", "value", *m, "low", cuda.MinMaxSplitSize>>20+1, "high", 1<<20)
	}
	q.train = q.Mode == "train"
	if err := q.version(); err != nil {
		return nil, err
	}
	if err := q.optimizer(); err != nil {
		return nil, err
	}
	if err := q.precision(); err != nil {
		return nil, err
	}
	if err := q.adapter(r.Precision); err != nil {
		return nil, err
	}
	if err := q.parallel(); err != nil {
		return nil, err
	}
	return q, q.device()
}

// optimizer refuses the arguments that the optimizer's constructor does not have: they would change nothing.
func (q *query) optimizer() error {
	o := q.Optimizer
	foreach := o.Foreach != nil && *o.Foreach
	for _, c := range []struct {
		name  string
		given bool
	}{{"momentum", o.Momentum != 0}, {"weight_decay", o.WeightDecay != 0}, {"amsgrad", o.AMSGrad}, {"centered", o.Centered}, {"foreach", foreach}, {"fused", o.Fused}} {
		takers := q.takers(c.name)
		if c.given && !slices.Contains(takers, o.Name) {
			return fault.New("optimizer-argument", "optimizer."+c.name, "optimizer", o.Name, "argument", c.name, "allowed", strings.Join(takers, ", "))
		}
	}
	if foreach && o.Fused {
		return fault.New("optimizer-kernels", "optimizer.fused")
	}
	return nil
}

// takers lists the optimizers that take an argument in the request's version.
func (q *query) takers(argument string) []string {
	takers := optim.Takers(argument, q.optim.Before2)
	if argument == "fused" && q.major == 2 && q.minor < 3 { // torch/optim/sgd.py has it since 2.3
		takers = slices.DeleteFunc(takers, func(name string) bool { return name == "sgd" })
	}
	return takers
}

// Kernels says how a version of PyTorch ("": the newest known) can run an optimizer's step: whether it takes the
// parameters in groups where it is not told (foreach), and whether it has a fused kernel.
func Kernels(optimizer, version string) (groups, fused bool) {
	q := query{Request: Request{PyTorch: version, Optimizer: Optimizer{Name: optimizer}}}
	if q.version() != nil {
		return false, false
	}
	has := func(argument string) bool { return slices.Contains(q.takers(argument), optimizer) }
	return q.optim.Foreach && has("foreach"), has("fused")
}

// maxPaths bounds what ranges in paths stand for.
const maxPaths = 20_000

// expand writes out the ranges of module paths: "layer.0-11.attention" is that of each of twelve layers.
func expand(field string, paths []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		all := []string{""}
		for i, part := range strings.Split(path, ".") {
			names := []string{part}
			if low, high, ok := span(part); ok {
				if high-low >= maxPaths {
					return nil, fault.New("paths-many", field, "path", path, "limit", maxPaths)
				}
				names = nil
				for n := low; n <= high; n++ {
					names = append(names, strconv.Itoa(n))
				}
			}
			if len(all)*len(names)+len(out) > maxPaths {
				return nil, fault.New("paths-many", field, "path", path, "limit", maxPaths)
			}
			longer := make([]string, 0, len(all)*len(names))
			for _, a := range all {
				for _, name := range names {
					if i > 0 {
						name = a + "." + name
					}
					longer = append(longer, name)
				}
			}
			all = longer
		}
		out = append(out, all...)
	}
	return out, nil
}

// span reads "0-11".
func span(part string) (low, high int, ok bool) {
	from, to, ok := strings.Cut(part, "-")
	if !ok {
		return 0, 0, false
	}
	low, err := strconv.Atoi(from)
	high, err2 := strconv.Atoi(to)
	return low, high, err == nil && err2 == nil && low >= 0 && high >= low
}

// adapter checks the adapter; given is the precision that the request names, if any.
func (q *query) adapter(given string) error {
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
	base, ok := map[string]torch.DType{"": q.dtype, "fp32": torch.Float32, "bf16": torch.BFloat16, "nf4": torch.BFloat16, "fp16": torch.Float16}[a.Base]
	switch {
	case !ok:
		return fault.New("field-choice", "adapter.base", "value", a.Base, "allowed", "fp32, fp16, bf16, nf4")
	case a.Base == "nf4" && q.dtype == torch.Float16: // which it is unpacked to
		return nil
	case q.dtype != torch.Float32 && q.dtype != base: // the default, fp32, gives way
		return fault.New("adapter-precision", "adapter.base", "base", a.Base, "precision", q.Precision)
	}
	if given == "fp32" && base != torch.Float32 {
		q.warn("precision-replaced", "precision", "asked", given, "base", a.Base)
	}
	q.dtype = base
	return nil
}

func (q *query) warn(code, at string, args ...any) {
	q.warnings = append(q.warnings, fault.New(code, at, args...))
}

func (q *query) parallel() error {
	p := q.Parallel
	for _, c := range []struct {
		field string
		value int
		high  int
	}{{"data", p.Data, 1 << 20}, {"zero", p.Zero, 3}, {"tensor", p.Tensor, 1}, {"pipeline", p.Pipeline, 1}, {"microbatches", p.Microbatches, 1}} {
		if c.value < 0 || c.value > c.high {
			return fault.New("field-range", "parallel."+c.field, "value", c.value, "low", 0, "high", c.high)
		}
	}
	if p.Zero > 0 && p.Data < 2 {
		return fault.New("zero-alone", "parallel.zero", "zero", p.Zero)
	}
	if p.Sequence {
		return fault.New("field-choice", "parallel.sequence", "value", true, "allowed", "false")
	}
	if q.Inference != nil {
		if q.train {
			return fault.New("inference-train", "inference")
		}
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
	if strings.Trim(v, "0123456789.") != "" {
		return fault.New("version", "pytorch", "value", q.PyTorch, "low", "1.10")
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
	q.rules = torch.Rules{MeanSavesInput: !since(2, 2), SDPA: since(2, 0), AccumulateInPlace: since(2, 0),
		LinearAnyRank: since(2, 1), LinearAddCopies: !since(2, 0), KernelCopies: since(2, 0), FusedRMSNorm: since(2, 9),
		MathUpcasts: since(2, 5), SoftmaxSavesInput: !since(1, 11), Im2ColSavesInput: since(1, 13) && !since(2, 0)}
	q.rules.Attention = q.Attention
	if q.Attention == "auto" {
		q.rules.Attention = "efficient"
		if strings.HasPrefix(q.Precision, "amp-") || strings.HasPrefix(q.Precision, "bf16") || q.Precision == "fp16" {
			q.rules.Attention = "flash"
		}
	}
	foreach := optim.DefaultForeach(q.Optimizer.Name, !since(2, 0))
	if q.Optimizer.Foreach != nil {
		foreach = *q.Optimizer.Foreach
	}
	o := q.Optimizer
	q.optim = optim.Config{Name: o.Name, Momentum: o.Momentum != 0, AMSGrad: o.AMSGrad, Centered: o.Centered, WeightDecay: o.WeightDecay != 0,
		Foreach: foreach, Fused: o.Fused, Before2: !since(2, 0)}
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
		if !ok && !Whole {
			return fault.New("reader-elsewhere", "device.gpu") // the whole engine knows what is close
		}
		if !ok {
			return fault.New("gpu-unknown", "device.gpu", "gpu", d.GPU, "close", strings.Join(gpu.Nearest(d.GPU), ", "))
		}
		q.card = c
	}
	if older := []string{"Fermi", "Kepler", "Maxwell", "Pascal", "Volta", "Turing"}; q.rules.Attention == "flash" && slices.Contains(older, q.card.Architecture) {
		q.rules.Attention = "efficient" // flash attention wants compute capability 8.0 (sdp_utils.cpp, check_flash_attention_hardware_support)
	}
	for field, v := range map[string]*int64{"device.context_bytes": d.ContextBytes, "device.total_bytes": d.TotalBytes} {
		if v != nil && (*v < 0 || *v > MaxBytes) {
			return fault.New("field-range", field, "value", *v, "low", 0, "high", int64(MaxBytes))
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
