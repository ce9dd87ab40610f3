package calc

import (
	"maps"
	"slices"

	"vrametre/calc/cuda"
	"vrametre/calc/gpu"
	"vrametre/calc/models"
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
	out := slices.Concat([]string{"pytorch-allocator", "cuda-context", "not-simulated", "given", SourceSurplus}, gpu.Sources(), cuda.Sources())
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

// Preset describes a model known by name: its family, its own inputs and loss.
type Preset struct {
	Name   string `json:"name"`
	Family string `json:"family"`
	// Input is what Request.Input says of it, Loss what Request.Loss says, where they say nothing else.
	Input Inputs `json:"input"`
	Loss  string `json:"loss"`
}

// PresetOf finds the preset of a name.
func PresetOf(name string) (Preset, bool) {
	p, err := models.Find(name)
	if err != nil {
		return Preset{}, false
	}
	out := Preset{Name: p.Name, Family: p.Family, Loss: p.Loss}
	for _, in := range p.Inputs {
		if in.Below > 0 && len(in.Shape) == 1 {
			out.Input = append(out.Input, Input{Tokens: in.Shape[0]})
		} else {
			out.Input = append(out.Input, Input{Shape: in.Shape})
		}
	}
	return out, true
}
