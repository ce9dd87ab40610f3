package validate

import (
	"embed"
	"encoding/json"
	"fmt"
)

// exact/*.json: what the tests of calc, calc/cuda and calc/optim found exact to the byte. Each test holds its own figures
// and writes them again with -update.
//
//go:embed data/exact/*.json
var exact embed.FS

// Exact counts what is compared to the byte with PyTorch itself, or with a reference of its allocator.
type Exact struct {
	What     string `json:"what"`
	Compared int    `json:"compared"`
	Exact    int    `json:"exact"`
}

// What is compared to the byte.
const (
	ExactParameters  = "parameters"
	ExactSaved       = "saved"
	ExactPeaks       = "peaks"
	ExactInference   = "inference"
	ExactLayers      = "layers"
	ExactSteps       = "steps"
	ExactSecondPass  = "second-pass"
	ExactNewRules    = "new-rules"
	ExactTransformer = "transformers"
	ExactOptimizers  = "optimizers"
	ExactCheckpoints = "allocator"
)

// ExactKinds lists them, in the order of a page.
var ExactKinds = []string{ExactParameters, ExactSaved, ExactPeaks, ExactInference, ExactLayers, ExactSecondPass, ExactNewRules, ExactTransformer, ExactSteps, ExactOptimizers, ExactCheckpoints}

// Exactly reads the counts.
func Exactly() ([]Exact, error) {
	files, err := exact.ReadDir("data/exact")
	if err != nil {
		return nil, err
	}
	counts := map[string]Exact{}
	for _, f := range files {
		data, err := exact.ReadFile("data/exact/" + f.Name())
		if err != nil {
			return nil, err
		}
		var some map[string]Exact
		if err := json.Unmarshal(data, &some); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		for what, count := range some {
			count.What = what
			counts[what] = count
		}
	}
	var list []Exact
	for _, what := range ExactKinds {
		count, ok := counts[what]
		if !ok || count.Compared == 0 {
			return nil, fmt.Errorf("nothing is recorded of %s", what)
		}
		list = append(list, count)
	}
	if len(counts) != len(list) {
		return nil, fmt.Errorf("%d counts are recorded, %d are known", len(counts), len(list))
	}
	return list, nil
}
