package torch

import "slices"

// Shapes and strides, with ATen's rules: which views are possible without a
// copy, and which strides a new tensor gets. A tensor laid out otherwise than
// contiguously is why reshape, bmm and AccumulateGrad sometimes copy, so the
// byte count depends on it.

// contiguousStrides are those of a new tensor.
func (g *Graph) contiguousStrides(shape []int64) []int64 {
	s := g.ints(len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= max(shape[i], 1)
	}
	return s
}

func isContiguous(shape, stride []int64) bool {
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && stride[i] != n {
			return false
		}
		n *= max(shape[i], 1)
	}
	return true
}

// channelsLastStrides for N,C,H,W or N,C,D,H,W.
func (g *Graph) channelsLastStrides(shape []int64) []int64 {
	s := g.ints(len(shape))
	s[1] = 1
	n := max(shape[1], 1)
	for i := len(shape) - 1; i >= 2; i-- {
		s[i] = n
		n *= max(shape[i], 1)
	}
	s[0] = n
	return s
}

// isChannelsLast follows is_channels_last_strides_2d_s4 of c10/core/MemoryFormat.h:
// ambiguous sizes (one channel, one pixel) count as contiguous.
func isChannelsLast(shape, stride []int64) bool {
	if (len(shape) != 4 && len(shape) != 5) || stride[1] == 0 {
		return false
	}
	lo := int64(0)
	order := [...]int{1, 4, 3, 2, 0}
	for _, d := range order {
		if d >= len(shape) {
			continue
		}
		if shape[d] == 0 || stride[d] < lo {
			return false
		}
		if d == 0 && lo == stride[1] { // N111 with contiguous strides
			return false
		}
		lo = stride[d]
		if shape[d] > 1 {
			lo *= shape[d]
		}
	}
	return true
}

// denseNonOverlapping says whether the elements fill their span exactly once.
func denseNonOverlapping(shape, stride []int64) bool {
	if isContiguous(shape, stride) {
		return true
	}
	var perm [8]int
	p := perm[:0]
	for i := range shape {
		if shape[i] != 1 {
			p = append(p, i)
		}
	}
	slices.SortStableFunc(p, func(a, b int) int { return int(stride[a] - stride[b]) })
	n := int64(1)
	for _, i := range p {
		if stride[i] != n {
			return false
		}
		n *= shape[i]
	}
	return true
}

// viewStrides computes the strides of a view with another shape, or false when
// only a copy can have it (computeStride of ATen/TensorUtils.cpp).
func (g *Graph) viewStrides(oldShape, oldStride, newShape []int64) ([]int64, bool) {
	out := g.ints(len(newShape))
	if numel(oldShape) == 0 || len(oldShape) == 0 {
		for i := range out {
			out[i] = 1
		}
		if slices.Equal(oldShape, newShape) {
			copy(out, oldStride)
		}
		return out, true
	}
	v := len(newShape) - 1
	base := oldStride[len(oldStride)-1]
	chunk, viewed := int64(1), int64(1)
	for d := len(oldShape) - 1; d >= 0; d-- {
		chunk *= oldShape[d]
		if d == 0 || (oldShape[d-1] != 1 && oldStride[d-1] != chunk*base) {
			for v >= 0 && (viewed < chunk || newShape[v] == 1) {
				out[v] = viewed * base
				viewed *= newShape[v]
				v--
			}
			if viewed != chunk {
				return nil, false
			}
			if d > 0 {
				base = oldStride[d-1]
				chunk, viewed = 1, 1
			}
		}
	}
	return out, v == -1
}

// likeStrides are those TensorIterator gives an elementwise result: the first
// operand of the full shape that is dense decides, else contiguous.
func (g *Graph) likeStrides(shape []int64, operands ...view) []int64 {
	for _, o := range operands {
		if slices.Equal(o.shape, shape) && denseNonOverlapping(o.shape, o.stride) {
			return o.stride
		}
	}
	return g.contiguousStrides(shape)
}

// formatStrides are those of a kernel that keeps only the memory format of its input.
func (g *Graph) formatStrides(shape []int64, like view) []int64 {
	if len(shape) == len(like.shape) && isChannelsLast(like.shape, like.stride) {
		return g.channelsLastStrides(shape)
	}
	return g.contiguousStrides(shape)
}

func numel(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// broadcast is the shape of an elementwise result.
func (g *Graph) broadcast(a, b []int64) []int64 {
	if slices.Equal(a, b) {
		return a
	}
	n := max(len(a), len(b))
	out := g.ints(n)
	for i := range n {
		x, y := int64(1), int64(1)
		if j := i - (n - len(a)); j >= 0 {
			x = a[j]
		}
		if j := i - (n - len(b)); j >= 0 {
			y = b[j]
		}
		switch {
		case x == y || y == 1:
			out[i] = x
		case x == 1:
			out[i] = y
		default:
			g.Fail("shape-broadcast", "a", Shape(a), "b", Shape(b))
		}
	}
	return out
}
