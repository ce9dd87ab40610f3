package calc

import (
	"vrametre/calc/optim"
	"vrametre/calc/torch"
	"vrametre/calc/walk"
)

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
