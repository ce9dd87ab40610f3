package calc

import (
	"maps"
	"slices"

	"vrametre/calc/cuda"
	"vrametre/calc/gpu"
)

// PartKinds lists the kinds of Part, in their order.
var PartKinds = []string{PartWeights, PartModuleBuffers, PartCastWeights, PartGradients, PartOptimizer, PartBatch, PartActivations, PartOutputs,
	PartTemporaries, PartOptimizerTemporaries, PartKVCache, PartWorkspace, PartRounding, PartFragmentation, PartContext}

// Formulas lists the codes of Part.Formula.
func Formulas() []string {
	out := []string{"workspace", "rounding", "fragmentation", "context"}
	for _, k := range kindParts {
		out = append(out, k.formula)
	}
	return unique(out)
}

// Sources lists every code a Part, BudgetLine or Assumption can carry as its source.
func Sources() []string {
	out := slices.Concat([]string{"pytorch-allocator", "cuda-context", "not-simulated", "given"}, gpu.Sources(), cuda.Sources())
	for _, k := range kindParts {
		out = append(out, k.source)
	}
	return unique(out)
}

// Bases lists the codes of Interval.Basis.
func Bases() []string {
	out := []string{"measured-all", BasisRows}
	for family := range maps.Keys(Spreads()) {
		out = append(out, "measured-"+family)
	}
	return unique(out)
}

// AssumptionIDs lists the ids of Assumption.
func AssumptionIDs() []string {
	return []string{"cublas-workspace", "cuda-context", "cudnn-workspace", "desktop"}
}

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
