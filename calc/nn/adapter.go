package nn

import (
	"slices"
	"strings"

	"vrametre/calc/torch"
)

// Adapter is LoRA: each named linear layer W x gets B A x beside it, A of rank x in and B of out x rank in float32;
// everything else is frozen (peft's lora.Linear). NF4 stores the frozen weights in four bits, with a
// double-quantised scale per 64 of them (bitsandbytes' Linear4bit, about 0.516 bytes per weight).
type Adapter struct {
	Rank    int64
	Targets []string
	NF4     bool
	// Found counts the layers that matched.
	Found int
}

// names says whether the layer at path is one of the targets: its name or the end of its path.
func (a *Adapter) names(path string) bool {
	return slices.ContainsFunc(a.Targets, func(t string) bool { return path == t || strings.HasSuffix(path, "."+t) })
}

// linear is F.linear on a weight of out x in, through the adapter where it names l.
func (b *Builder) linear(l *Layer, w, bias torch.Tensor, in, out int64) func(torch.Tensor) torch.Tensor {
	g := b.G
	a := b.Adapter
	if a == nil {
		return func(x torch.Tensor) torch.Tensor { return g.Linear(x, w, bias) }
	}
	base := func(x torch.Tensor) torch.Tensor { return g.Linear(x, w, bias) }
	if a.NF4 && strings.Contains(l.Path, ".") { // the head stays in the compute type
		g.Quantise(w, in*out/2+(in*out+63)/64+4*((in*out/64+255)/256))
		base = func(x torch.Tensor) torch.Tensor { return g.Linear4bit(x, w, bias) }
	}
	if !a.names(l.Path) {
		return base
	}
	a.Found++
	la := b.Container(l, "lora_A", "Linear")
	lb := b.Container(l, "lora_B", "Linear")
	wa := g.Param(la.Module, torch.Float32, a.Rank, in)
	wb := g.Param(lb.Module, torch.Float32, out, a.Rank)
	g.Adapt(wa, wb)
	return func(x torch.Tensor) torch.Tensor {
		y := base(x)
		g.Keep(y)
		d := g.DType(y)
		z := g.Linear(g.To(x, torch.Float32), wa, torch.None)
		z = g.Scale(g.Linear(z, wb, torch.None))
		return g.To(g.Add(y, z), d)
	}
}
