package torch_test

import (
	"testing"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// TestAutocastLists: which operations autocast runs in its type on CUDA, which in float32, and which as their inputs are
// (aten/src/ATen/autocast_mode.h).
func TestAutocastLists(t *testing.T) {
	g := torch.NewGraph(2, torch.Rules{Attention: "efficient"})
	g.Autocast(torch.BFloat16)
	b := &nn.Builder{G: g, Training: true}
	root := b.Root("Root")
	add := func(name string, s nn.Spec) *nn.Layer { return b.Add(root, name, s) }
	x := g.Input([]int64{4, 8}, torch.Float32)
	linear := add("linear", nn.Linear{In: 8, Out: 8})
	half := linear.Call(x)
	for name, c := range map[string]struct {
		y    torch.Tensor
		want torch.DType
	}{
		"linear":     {half, torch.BFloat16},
		"matmul":     {g.Matmul(x, g.Transpose(x, -1, -2)), torch.BFloat16},
		"gelu":       {nn.Activation{Type: "GELU"}.Apply(g, half), torch.BFloat16},
		"dropout":    {g.Dropout(half, 0.5, false), torch.BFloat16},
		"mean":       {g.Mean(half, false, 1), torch.BFloat16},
		"layer norm": {add("ln", nn.LayerNorm{Shape: []int64{8}}).Call(half), torch.Float32},
		"group norm": {add("gn", nn.GroupNorm{Groups: 2, C: 4}).Call(half), torch.Float32},
		"softmax":    {g.Softmax(half), torch.Float32},
		"softplus":   {nn.Activation{Type: "Softplus"}.Apply(g, half), torch.Float32},
		"pow":        {g.Pow(half), torch.Float32},
		"sum":        {g.Sum(half, false, 1), torch.Float32},
		"add":        {g.Add(half, x), torch.Float32},
		"cat":        {g.Cat(1, half, x), torch.Float32},
		"embedding":  {add("emb", nn.Embedding{Num: 9, Dim: 8}).Call(g.Constant("ids", []int64{2, 4}, torch.Int64)), torch.Float32},
	} {
		if got := g.DType(c.y); got != c.want {
			t.Errorf("%s gives %s, want %s", name, got, c.want)
		}
	}
}

// TestAutocastOfHalfWeights: the norms of a frozen half-precision base work in float32 too, their weights cast at each call.
func TestAutocastOfHalfWeights(t *testing.T) {
	g := torch.NewGraph(2, torch.Rules{})
	g.Autocast(torch.Float16)
	b := &nn.Builder{G: g, DType: torch.BFloat16}
	root := b.Root("Root")
	x := g.Input([]int64{4, 8}, torch.BFloat16)
	for name, s := range map[string]nn.Spec{"ln": nn.LayerNorm{Shape: []int64{8}}, "gn": nn.GroupNorm{Groups: 2, C: 4}} {
		if got := g.DType(b.Add(root, name, s).Call(x)); got != torch.Float32 {
			t.Errorf("%s gives %s", name, got)
		}
	}
}

// TestCastCache: autocast casts a weight once, however often it is used, and keeps the copy for backward.
func TestCastCache(t *testing.T) {
	saved := func(calls int) int64 {
		g := torch.NewGraph(1, torch.Rules{})
		g.Autocast(torch.Float16)
		b := &nn.Builder{G: g, Training: true}
		l := b.Add(b.Root("Root"), "l", nn.Linear{In: 512, Out: 512, NoBias: true})
		y := g.Input([]int64{512}, torch.Float32)
		for range calls {
			y = l.Call(y)
		}
		g.BeginLoss(y)
		g.EndLoss(g.Sum(y, false))
		return g.Compile().Saved
	}
	const weight, row = 512 * 512 * 2, 512 * 2
	if one, three := saved(1), saved(3); one != row || three != weight+3*row {
		t.Errorf("one call keeps %d, three %d; want %d and %d", one, three, row, weight+3*row)
	}
}
