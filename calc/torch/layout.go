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

// likeStrides are those TensorIterator gives an elementwise result: operands that agree keep their layout, else the
// dimensions are ordered by the operands' strides, the first operand deciding (aten/src/ATen/TensorIterator.cpp,
// compute_fast_setup_type and reorder_dimensions).
func (g *Graph) likeStrides(shape []int64, operands ...view) []int64 {
	same, contiguous := true, true
	for _, o := range operands {
		same = same && slices.Equal(o.shape, shape)
		contiguous = contiguous && isContiguous(o.shape, o.stride)
	}
	if same && contiguous {
		return g.contiguousStrides(shape)
	}
	if same && denseNonOverlapping(shape, operands[0].stride) && !slices.ContainsFunc(operands, func(o view) bool { return !slices.Equal(o.stride, operands[0].stride) }) {
		return operands[0].stride
	}
	n := len(shape)
	var perm [8]int // innermost first
	p := perm[:n]
	for i := range p {
		p[i] = n - 1 - i
	}
	for i := 1; i < n; i++ {
		at := i
		for j := i - 1; j >= 0; j-- {
			c := g.compareDims(shape, operands, p[j], p[at])
			if c < 0 {
				break
			}
			if c > 0 {
				p[j], p[at] = p[at], p[j]
				at = j
			}
		}
	}
	out := g.ints(n)
	step := int64(1)
	for _, d := range p {
		out[d] = step
		step *= max(shape[d], 1)
	}
	return out
}

// compareDims is positive where dimension a should be outside b; zero where the operands do not say.
func (g *Graph) compareDims(shape []int64, operands []view, a, b int) int {
	for _, o := range operands {
		x, y := o.strideIn(shape, a), o.strideIn(shape, b)
		switch {
		case x == 0 || y == 0:
		case x < y:
			return -1
		case x > y:
			return 1
		case shape[a] > shape[b]:
			return 1
		}
	}
	return 0
}

// strideIn is the stride of dimension d of shape when v is broadcast to it.
func (v view) strideIn(shape []int64, d int) int64 {
	d -= len(shape) - len(v.shape)
	if d < 0 || (v.shape[d] == 1 && shape[d+len(shape)-len(v.shape)] != 1) {
		return 0
	}
	return v.stride[d]
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
