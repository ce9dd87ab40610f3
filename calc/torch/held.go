package torch

// Held says that Python's local names still hold ts when the last operation recorded so far runs
// (a function inside a module's forward that keeps its arguments until it returns).
func (g *Graph) Held(ts ...Tensor) {
	for _, t := range ts {
		g.touch(t)
	}
}
