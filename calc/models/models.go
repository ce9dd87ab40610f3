// Package models holds the presets: networks with their true forwards, built from package nn.
// Each preset's parameters, saved bytes and peaks are compared with PyTorch's own.
package models

import (
	"maps"
	"slices"
	"strconv"

	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// Input is one input of a model, per sample. Below > 0 makes it token ids under that number.
type Input struct {
	Shape []int64
	Below int64
}

// Net is a built model, ready to run.
type Net struct {
	Root *nn.Layer
	// Forward gives the outputs the caller keeps; the first is the one the loss reads, the
	// others are the auxiliary heads'.
	Forward func(x ...torch.Tensor) []torch.Tensor
	// Blocks are what checkpointing "every-block" recomputes; nil: the modules that stand in a list.
	Blocks []string
	// KVElements is what a decoder caches per token and sample: keys and values of every layer.
	KVElements int64
	// Positions are the rows of a decoder's table of positions, which bound its cache; 0: it has no such table.
	Positions int64
}

// Preset is a network by name.
type Preset struct {
	Name   string
	Family string
	Inputs []Input
	// Loss by default: cross_entropy, mse...
	Loss string
	// Flat: the loss flattens tokens, F.cross_entropy(out.view(-1, V), y.view(-1)).
	Flat bool
	// Resize: the loss reads the outputs resized to the input's height and width (mmsegmentation's BaseDecodeHead.losses).
	Resize bool
	// DType of parameters and inputs where the request says nothing; Frozen its frozen paths.
	DType  string
	Frozen []string
	// Build makes the modules from constructor arguments.
	Build func(b *nn.Builder, a *nn.Args) *Net
}

var presets = map[string]*Preset{}

func add(p *Preset) {
	if p.Loss == "" {
		p.Loss = "cross_entropy"
	}
	presets[p.Name] = p
}

// Register adds a preset from another package.
func Register(p *Preset) { add(p) }

// Names lists the presets, sorted.
func Names() []string { return slices.Sorted(maps.Keys(presets)) }

// Find gives the preset of that name.
func Find(name string) (*Preset, error) {
	if p, ok := presets[name]; ok {
		return p, nil
	}
	return nil, fault.New("preset-unknown", "model.preset", "preset", name, "close", fault.Closest(name, Names()))
}

// image is an RGB input.
func image(side int64) []Input { return []Input{{Shape: []int64{3, side, side}}} }

// chain wraps a root whose forward gives one tensor.
func chain(root *nn.Layer) *Net {
	return &Net{Root: root, Forward: func(x ...torch.Tensor) []torch.Tensor { return []torch.Tensor{root.Call(x...)} }}
}

// rootOf is a model that is an nn.Sequential.
func rootOf(b *nn.Builder, class string, specs ...nn.Spec) *nn.Layer {
	l := b.Root(class)
	for i, s := range specs {
		b.Add(l, strconv.Itoa(i), s)
	}
	return l.Chain()
}
