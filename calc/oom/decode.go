package oom

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Kinds of Candidate.Tensor.
const (
	TensorNamed     = "named"             // the message gives its shape
	TensorModel     = "model"             // a tensor of the loaded model
	TensorScores    = "attention-scores"  // batch x heads x length^2
	TensorWindows   = "window-scores"     // (batch x windows) x heads x (window volume)^2, of Swin and its 3-D kin
	TensorLogits    = "logits"            // batch x length x vocabulary
	TensorHidden    = "hidden"            // batch x length x width
	TensorMaps      = "feature-maps"      // batch x channels x height x width
	TensorVolumes   = "feature-volumes"   // batch x channels x depth x height x width
	TensorWeights   = "weights"           // rows x columns
	TensorEmbedding = "embedding-weights" // vocabulary x width
)

// Codes of Candidate.Why beside the kinds above, each of which explains itself.
const (
	WhyNamed       = "named-by-message"
	WhyNamedNoType = "named-without-type" // 4-byte elements are assumed
)

// How sure a candidate is.
const (
	Certain  = "certain"  // named by the message, or the only one of the loaded model at its batch
	Likely   = "likely"   // more likely than all other candidates together, or one of several of the loaded model
	Possible = "possible" // among several
)

// Candidate is a tensor that the failed request can be.
type Candidate struct {
	Tensor Text    `json:"tensor"`
	Shape  []int64 `json:"shape"`
	DType  string  `json:"dtype"`
	Bytes  int64   `json:"bytes"`
	Why    Text    `json:"why"`
	// Sure is Certain, Likely or Possible; Share is its part of the plausibility of all.
	Sure  string  `json:"sure"`
	Share float64 `json:"share"`
	// Name is the tensor's in the model, for TensorModel.
	Name string `json:"name,omitzero"`
}

// Hints say what is known of the program beside its message.
type Hints struct {
	// Batch is the current batch; 0: unknown.
	Batch int64
	// Tensors are the loaded model's, per sample.
	Tensors []Known
}

// Known is a tensor of the loaded model.
type Known struct {
	Name  string
	Shape []int64 // without the batch
	DType string
	Bytes int64 // per sample
}

// maxCandidates bounds the list, maxPerKind the like ones among them.
const (
	maxCandidates = 8
	maxPerKind    = 3
)

// guess is a candidate with its plausibility, a product of the weights below.
type guess struct {
	kind   string
	shape  []int64
	size   int64 // bytes per element
	bytes  int64
	weight float64
	name   string
	dtype  string
	sure   bool
}

// A weighted value: how common it is in published networks, the most common 1.
// The weights only order candidates; none of them excludes a tensor that fits.
type weighted struct {
	n int64
	w float64
}

var (
	lengths = []weighted{
		{512, 1}, {1024, 0.95}, {2048, 0.8}, {256, 0.8}, {128, 0.8}, {197, 0.7}, {384, 0.6}, {4096, 0.6}, {64, 0.4}, {8192, 0.4},
		{577, 0.4}, {257, 0.4}, {77, 0.4}, {50, 0.3}, {196, 0.3}, {729, 0.3}, {1025, 0.3}, {1500, 0.3}, {16384, 0.25}, {192, 0.25},
		{768, 0.25}, {1536, 0.2}, {3072, 0.2}, {32768, 0.2}, {1370, 0.2}, {785, 0.2}, {576, 0.2}, {640, 0.2}, {320, 0.2}, {300, 0.2}, {100, 0.2}, {32, 0.2}, {10240, 0.15}, {400, 0.15},
	}
	heads = []weighted{
		{12, 1}, {16, 0.9}, {8, 0.8}, {32, 0.6}, {6, 0.4}, {4, 0.35}, {1, 0.3}, {3, 0.25}, {20, 0.25}, {24, 0.25}, {25, 0.25}, {40, 0.25}, {64, 0.2}, {28, 0.2}, {2, 0.15}, {48, 0.15}, {14, 0.1},
	}
	vocabularies = []weighted{
		{50257, 1}, {32000, 1}, {30522, 0.8}, {128256, 0.8}, {151936, 0.7}, {50265, 0.6}, {32005, 0.4}, {250880, 0.4}, {250002, 0.4}, {152064, 0.4}, {151552, 0.3}, {256000, 0.5},
		{50304, 0.5}, {32128, 0.4}, {49408, 0.3}, {28996, 0.3}, {119547, 0.2}, {21128, 0.3}, {51865, 0.3}, {131072, 0.4}, {100352, 0.3}, {102400, 0.3}, {129280, 0.3}, {262144, 0.3}, {68729, 0.2}, {50400, 0.2}, {50432, 0.2}, {65024, 0.2},
	}
	widths = []weighted{
		{768, 0.8}, {3072, 1}, {4096, 1}, {1024, 0.7}, {2048, 0.5}, {11008, 0.5}, {14336, 0.5}, {8192, 0.4}, {5120, 0.4}, {1280, 0.4}, {1600, 0.4}, {512, 0.4}, {384, 0.3}, {2560, 0.3}, {6400, 0.3}, {13824, 0.3}, {1536, 0.3}, {10240, 0.2}, {3584, 0.2}, {18944, 0.2}, {28672, 0.2},
	}
	matrices = [][2]int64{ // rows and columns of published transformers' weights
		{768, 768}, {768, 2304}, {768, 3072}, {1024, 1024}, {1024, 3072}, {1024, 4096}, {1280, 5120}, {1600, 6400}, {2048, 2048}, {2048, 8192}, {2560, 10240}, {3072, 8192}, {3584, 18944},
		{4096, 4096}, {4096, 11008}, {4096, 14336}, {4096, 12288}, {5120, 5120}, {5120, 13824}, {8192, 8192}, {8192, 28672}, {25088, 4096}, {9216, 4096},
	}
	channels = []weighted{
		{64, 1}, {128, 0.8}, {256, 0.8}, {32, 0.6}, {512, 0.6}, {1024, 0.4}, {2048, 0.4}, {96, 0.4}, {16, 0.3}, {192, 0.3}, {3, 0.3}, {48, 0.2}, {24, 0.2}, {21, 0.2}, {19, 0.2}, {384, 0.2}, {768, 0.2}, {728, 0.1}, {150, 0.1},
	}
	sides = []weighted{
		{112, 1}, {56, 1}, {64, 0.8}, {128, 0.8}, {256, 0.8}, {224, 0.7}, {28, 0.7}, {32, 0.7}, {512, 0.6}, {14, 0.5}, {320, 0.4}, {160, 0.3}, {640, 0.3}, {1024, 0.3}, {80, 0.3}, {16, 0.3}, {7, 0.3}, {384, 0.3}, {149, 0.3}, {147, 0.3}, {129, 0.3}, {192, 0.2}, {96, 0.2}, {299, 0.2}, {109, 0.2}, {513, 0.2}, {257, 0.2}, {65, 0.2}, {40, 0.2}, {20, 0.2}, {48, 0.2},
	}
	volumeChannels = []weighted{{32, 1}, {64, 0.8}, {16, 0.6}, {24, 0.5}, {48, 0.4}, {128, 0.4}, {256, 0.3}, {320, 0.3}, {30, 0.3}, {4, 0.3}, {1, 0.3}}
	volumeSides    = []weighted{{128, 0.8}, {64, 0.8}, {96, 0.7}, {32, 0.5}, {160, 0.3}, {192, 0.3}, {48, 0.3}, {112, 0.3}, {256, 0.3}, {80, 0.2}}
	cubes          = []weighted{{10, 1}, {7, 1}, {14, 0.5}, {5, 0.5}, {4, 0.4}, {3, 0.4}, {2, 0.4}} // windows of 7 along a side of 64, 48, 96, 32 ...
	elementSizes   = []weighted{{4, 1}, {2, 0.5}}
)

// batchWeight is how common a batch is.
func batchWeight(n int64) float64 {
	if n > 0 && n&(n-1) == 0 {
		switch {
		case n == 32:
			return 1
		case n == 8 || n == 16:
			return 0.95
		case n <= 64:
			return 0.85
		case n <= 128:
			return 0.7
		case n <= 512:
			return 0.4
		case n <= 4096:
			return 0.1
		}
		return 0.01
	}
	switch {
	case n <= 6 || n == 12 || n == 24 || n == 48 || n == 96:
		return 0.35
	case n <= 512 && (n%8 == 0 || n%50 == 0 || n == 10 || n == 20):
		return 0.12
	case n <= 64:
		return 0.06
	case n <= 512:
		return 0.02
	case n <= 4096:
		return 0.006
	}
	return 0.003
}

type decoder struct {
	ranges [][2]int64
	best   [][]guess // by kind, the maxPerKind best in order
	sum    float64   // of all weights
}

func (d *decoder) holds(bytes int64) bool {
	for _, r := range d.ranges {
		if r[0] <= bytes && bytes <= r[1] {
			return true
		}
	}
	return false
}

// batches calls f, per range, with the most common batch for which unit bytes
// per sample fit; prefer wins where it fits. A unit so small that dozens of
// batches fit tells nothing and is left out.
func (d *decoder) batches(unit, prefer int64, f func(batch int64)) {
	if unit <= 0 {
		return
	}
	for _, r := range d.ranges {
		low, high := (r[0]+unit-1)/unit, r[1]/unit
		if low < 1 || low > high {
			continue
		}
		if low <= prefer && prefer <= high {
			f(prefer)
			continue
		}
		if high-low > 24 {
			continue
		}
		best := low
		for b := low + 1; b <= high; b++ {
			if batchWeight(b) > batchWeight(best) {
				best = b
			}
		}
		f(best)
	}
}

// add counts a guess, whose bytes the caller knows to fit a range, and keeps
// it if it is among the best of its kind.
func (d *decoder) add(kind string, weight float64, size int64, shape ...int64) {
	d.keep(guess{kind: kind, size: size, weight: weight}, shape)
}

func (d *decoder) keep(g guess, shape []int64) {
	d.sum += g.weight
	k := slices.IndexFunc(d.best, func(l []guess) bool { return l[0].kind == g.kind })
	if k < 0 {
		d.best = append(d.best, nil)
		k = len(d.best) - 1
	}
	l := d.best[k]
	if len(l) == maxPerKind && l[maxPerKind-1].weight >= g.weight {
		return
	}
	for i, o := range l {
		if o.size == g.size && o.name == g.name && slices.Equal(o.shape, shape) {
			if o.weight >= g.weight {
				return
			}
			l = slices.Delete(l, i, i+1)
			break
		}
	}
	g.shape = slices.Clone(shape)
	if g.bytes == 0 {
		g.bytes = g.size
		for _, n := range shape {
			g.bytes *= n
		}
	}
	i, _ := slices.BinarySearchFunc(l, g.weight, func(o guess, w float64) int {
		if o.weight >= w {
			return -1
		}
		return 1
	})
	l = slices.Insert(l, i, g)
	d.best[k] = l[:min(len(l), maxPerKind)]
}

// decode lists what the request can be, the likeliest first.
func decode(m Message, ranges [][2]int64, hints Hints) []Candidate {
	if m.Tensor != nil {
		c := Candidate{Tensor: Text{Code: TensorNamed}, Shape: m.Tensor.Shape, DType: m.Tensor.DType, Bytes: m.Tensor.Bytes, Sure: Certain, Share: 1, Why: Text{Code: WhyNamed}}
		if c.DType == "" { // the message was cut before its type
			t := *m.Tensor
			t.setDType("float32")
			c.DType, c.Bytes, c.Sure, c.Why.Code = t.DType, t.Bytes, Likely, WhyNamedNoType
		}
		return []Candidate{c}
	}
	if len(ranges) == 0 || m.Kind == KindNotFatal {
		return nil
	}
	last := ranges[len(ranges)-1]
	if ranges[0][0] < last[1]/2 || last[1] < 1<<20 || last[1] > math.MaxInt64/4 {
		return nil // a segment of 2 or 20 MiB hides its request; a size beyond all machines is no tensor
	}
	d := decoder{ranges: ranges}
	d.model(hints)
	d.guesses(m)
	return d.rank()
}

func (d *decoder) model(h Hints) {
	for _, k := range h.Tensors {
		d.batches(k.Bytes, h.Batch, func(b int64) {
			g := guess{kind: TensorModel, bytes: b * k.Bytes, weight: 2 * batchWeight(b), name: k.Name, dtype: k.DType}
			if b == h.Batch {
				g.weight, g.sure = 100, true
			}
			d.keep(g, append([]int64{b}, k.Shape...))
		})
	}
}

func (d *decoder) guesses(m Message) {
	c := m.Context
	if m.Framework != "pytorch" && m.Framework != "jax" && m.Framework != "tensorflow" && m.Framework != "onnxruntime" && m.Framework != "" {
		return // a model runner's buffers are no single tensors
	}
	hint := func(w float64, on bool) float64 {
		if on {
			return 3 * w
		}
		return w
	}
	var (
		scores  = hint(1, c.Attention)
		logits  = hint(0.6, c.Logits)
		hidden  = hint(0.3, c.Linear)
		maps    = hint(0.3, c.Convolution)
		volumes = hint(0.2, c.Convolution)
		weights = hint(0.1, c.Weights || c.Optimizer)
	)
	for _, e := range elementSizes {
		for _, h := range heads {
			for _, l := range lengths {
				d.batches(e.n*h.n*l.n*l.n, 0, func(b int64) {
					d.add(TensorScores, scores*e.w*h.w*l.w*batchWeight(b), e.n, b, h.n, l.n, l.n)
				})
			}
			d.anyLength(scores*e.w*h.w, e.n, h.n)
		}
		for _, v := range vocabularies {
			for _, l := range lengths {
				for i, n := range []int64{l.n, l.n - 1} { // the shifted copy that the loss takes is one token shorter
					d.batches(e.n*v.n*n, 0, func(b int64) {
						d.add(TensorLogits, logits*e.w*v.w*l.w*batchWeight(b)/float64(1+i), e.n, b, n, v.n)
					})
				}
			}
			for _, w := range widths {
				if n := e.n * v.n * w.n; d.holds(n) {
					d.add(TensorEmbedding, weights*e.w*v.w*w.w, e.n, v.n, w.n)
				}
			}
		}
		for _, w := range widths {
			for _, l := range lengths {
				d.batches(e.n*w.n*l.n, 0, func(b int64) {
					d.add(TensorHidden, hidden*e.w*w.w*l.w*batchWeight(b), e.n, b, l.n, w.n)
				})
			}
		}
		for _, k := range channels {
			for _, s := range sides {
				d.batches(e.n*k.n*s.n*s.n, 0, func(b int64) {
					d.add(TensorMaps, maps*e.w*k.w*s.w*batchWeight(b), e.n, b, k.n, s.n, s.n)
				})
			}
		}
		for _, k := range volumeChannels {
			for _, s := range volumeSides {
				d.batches(e.n*k.n*s.n*s.n*s.n, 0, func(b int64) {
					if b <= 16 {
						d.add(TensorVolumes, volumes*e.w*k.w*s.w*batchWeight(b), e.n, b, k.n, s.n, s.n, s.n)
					}
				})
			}
		}
		for _, w := range matrices {
			if n := e.n * w[0] * w[1]; d.holds(n) {
				d.add(TensorWeights, weights*e.w, e.n, w[0], w[1])
			}
		}
		d.windows(0.6*scores*e.w, e.n)
	}
}

// anyLength adds attention scores of an unusual length: few sequences, long
// enough that the printed size pins the length down. Lengths that divide by
// powers of two come first.
func (d *decoder) anyLength(weight float64, size, heads int64) {
	for _, b := range []int64{1, 2, 4, 8} {
		unit := float64(size * heads * b)
		for _, r := range d.ranges {
			low, high := int64(math.Ceil(math.Sqrt(float64(r[0])/unit))), int64(math.Sqrt(float64(r[1])/unit))
			if low < 1024 || high-low > 64 {
				continue
			}
			best, zeros := int64(0), -1
			for l := low; l <= high; l++ {
				if z := bits.TrailingZeros64(uint64(l)); z > zeros && d.holds(size*heads*b*l*l) {
					best, zeros = l, z
				}
			}
			if zeros < 3 || slices.ContainsFunc(lengths, func(w weighted) bool { return w.n == best }) {
				continue
			}
			w := weight * 0.15 * batchWeight(b) * math.Pow(0.7, float64(max(0, 8-zeros)))
			d.add(TensorScores, w, size, b, heads, best, best)
		}
	}
}

// windows adds the scores of shifted-window attention: windows of 7 x 7 (8, 12)
// with 64, 16, 4, 1 of them per 224-pixel image as the heads double, or of
// 7 x 7 x 7 in a cube of them.
func (d *decoder) windows(weight float64, size int64) {
	for _, first := range []weighted{{3, 1}, {4, 0.7}, {6, 0.5}, {8, 0.3}} {
		for stage := range 4 {
			h := first.n << stage
			for _, side := range []weighted{{7, 1}, {8, 0.6}, {12, 0.5}} {
				l := side.n * side.n
				n := int64(64 >> (2 * stage))
				d.batches(size*n*h*l*l, 0, func(b int64) {
					d.add(TensorWindows, weight*first.w*side.w*batchWeight(b)/2, size, b*n, h, l, l)
				})
			}
			const l = 7 * 7 * 7
			for _, n := range cubes {
				d.batches(size*n.n*n.n*n.n*h*l*l, 0, func(b int64) {
					if b <= 8 {
						d.add(TensorWindows, weight*first.w*n.w*batchWeight(b)/float64(1+stage), size, b*n.n*n.n*n.n, h, l, l)
					}
				})
			}
		}
	}
}

// rank puts the best of all kinds in order and says how sure each is.
func (d *decoder) rank() []Candidate {
	all := slices.Concat(d.best...)
	slices.SortStableFunc(all, func(a, b guess) int { return cmp.Compare(b.weight, a.weight) })
	var out []Candidate
	named := 0 // tensors of the loaded model at its batch
	for _, g := range all {
		if g.sure {
			named++
		}
	}
	for _, g := range all[:min(len(all), maxCandidates)] {
		c := Candidate{Tensor: Text{Code: g.kind}, Shape: g.shape, DType: g.dtype, Bytes: g.bytes, Share: g.weight / d.sum, Sure: Possible, Name: g.name}
		if c.DType == "" {
			c.DType = map[int64]string{4: "float32", 2: "float16"}[g.size]
		}
		if c.Share > 0.5 {
			c.Sure = Likely
		}
		if g.sure {
			c.Sure = Likely
			if named == 1 {
				c.Sure = Certain
			}
		}
		c.Why = Text{Code: g.kind, Args: map[string]int64{"bytes": g.bytes, "element": g.size}}
		out = append(out, c)
	}
	return out
}
