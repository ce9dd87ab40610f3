package torch

// StochasticDepth multiplies each sample (or the whole batch) of x by noise of one value
// (torchvision/ops/stochastic_depth.py).
func (g *Graph) StochasticDepth(x Tensor, batch bool) Tensor {
	s := g.ints(len(g.t[x].shape))
	for i := range s {
		s[i] = 1
	}
	if !batch && len(s) > 0 {
		s[0] = g.t[x].shape[0]
	}
	return g.mulNoise("stochastic_depth", x, s, false)
}
