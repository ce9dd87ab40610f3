package torch

// Imported is an iteration whose program comes from elsewhere than a recording: traced in PyTorch itself, or known
// only by its parameters.
type Imported struct {
	Program *Program
	// Family as Graph.Family says it.
	Family string
	// ConvOutputs and InputBytes as the methods of Graph give them.
	ConvOutputs []int64
	InputBytes  int64
}

// Import wraps a program, for what asks a Graph about its network.
func Import(batch int64, rules Rules, in Imported) *Graph {
	g := NewGraph(batch, rules)
	g.imported = &in
	g.Module(nil, "", "")
	return g
}
