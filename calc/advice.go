package calc

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc/torch"
)

// change is one thing the reader can do, and what it costs (a code whose sentence content holds).
type change struct {
	name, costs string
	// apart: it is another thing to do than a training, which it neither makes fit nor goes with.
	apart bool
	// apply edits the request; false: it does not apply, or is already so.
	apply func(q *query, r *Request) bool
}

func set[T comparable](field *T, v T) bool {
	if *field == v {
		return false
	}
	*field = v
	return true
}

// changes lists what can be changed, one at a time.
func (q *query) changes(n *network) []change {
	var out []change
	add := func(name, costs string, apply func(*query, *Request) bool) {
		out = append(out, change{name: name, costs: costs, apply: apply})
	}
	add("batch="+strconv.FormatInt(q.Batch/2, 10), "smaller-batch", func(q *query, r *Request) bool {
		r.Batch = q.Batch / 2
		return r.Batch > 0
	})
	if !q.train {
		add("precision=fp16", "half-inference", func(q *query, r *Request) bool { return q.Precision == "fp32" && set(&r.Precision, "fp16") })
		return out
	}
	add("batch=1", "batch-one", func(q *query, r *Request) bool { return q.Batch > 2 && set(&r.Batch, 1) })
	add(fmt.Sprintf("batch=%d,accumulation=%d", q.Batch/2, q.Accumulation*2), "accumulation", func(q *query, r *Request) bool {
		r.Batch, r.Accumulation = q.Batch/2, q.Accumulation*2
		return r.Batch > 0
	})
	half := q.half()
	add("precision=amp-"+half, "mixed-precision", func(q *query, r *Request) bool { return q.Precision == "fp32" && set(&r.Precision, "amp-"+half) })
	add("precision="+half, "pure-half", func(q *query, r *Request) bool {
		return (q.Precision == "fp32" || q.Precision[:3] == "amp") && set(&r.Precision, half)
	})
	add("checkpointing=every-block", "recompute", func(q *query, r *Request) bool {
		if q.Checkpointing.EveryBlock {
			return false
		}
		r.Checkpointing = Checkpointing{EveryBlock: true}
		return true
	})
	for _, o := range []struct{ name, costs string }{{"sgd", "optimizer-plain"}, {"adafactor", "optimizer-factored"}, {"adam8bit", "optimizer-8bit"}} {
		add("optimizer="+o.name, o.costs, func(q *query, r *Request) bool {
			r.Optimizer = Optimizer{Name: o.name}
			return q.Optimizer.Name != o.name && q.Optimizer.Name != "sgd"
		})
	}
	add("optimizer.fused=true", "fused", func(q *query, r *Request) bool {
		r.Optimizer.Foreach = nil
		return slices.Contains(q.takers("fused"), q.Optimizer.Name) && set(&r.Optimizer.Fused, true)
	})
	add("optimizer.foreach=false", "loop", func(q *query, r *Request) bool {
		r.Optimizer.Foreach = ptr(false)
		return q.optim.Foreach && !q.optim.Fused
	})
	add("zero_grad=set_to_none", "free", func(q *query, r *Request) bool { return q.keepGrad && set(&r.ZeroGrad, "set_to_none") })
	add("attention=efficient", "free", func(q *query, r *Request) bool {
		return q.rules.Attention == "math" && q.rules.SDPA && set(&r.Attention, "efficient")
	})
	if in, name := q.smaller(n); in != nil {
		add(name, "smaller-input", func(_ *query, r *Request) bool { r.Input = in; return true })
	}
	add("frozen=all-but-last", "frozen", func(q *query, r *Request) bool {
		r.Frozen = slices.Concat(q.Request.Frozen, q.trunk)
		return len(q.trunk) > 0
	})
	add("allocator.expandable_segments=true", "free", func(q *query, r *Request) bool { return set(&r.Allocator.ExpandableSegments, true) })
	return append(out, change{name: "mode=infer", costs: "inference-only", apart: true, apply: func(_ *query, r *Request) bool {
		r.Mode = "infer"
		return true
	}})
}

// half is the 16-bit type of the card: bf16 since Ampere, fp16 on NVIDIA's earlier architectures.
func (q *query) half() string {
	if slices.Contains([]string{"Fermi", "Kepler", "Maxwell", "Pascal", "Volta", "Turing"}, q.card.Architecture) {
		return "fp16"
	}
	return "bf16"
}

// smaller is the input at three quarters of its side or half its tokens.
func (q *query) smaller(n *network) (Inputs, string) {
	var out Inputs
	name := ""
	for i, in := range n.inputs {
		v := Input{Shape: slices.Clone(in.Shape)}
		if in.Below > 0 {
			v.DType = "int64"
		}
		if i < len(q.Input) {
			v.DType = q.Input[i].DType
			if len(q.Input[i].Shape) > 0 {
				v.Shape = slices.Clone(q.Input[i].Shape)
			}
			if q.Input[i].Tokens > 0 {
				v.Shape, v.Tokens = nil, max(q.Input[i].Tokens/2, 1)
				name = fmt.Sprintf("input.tokens=%d", v.Tokens)
			}
		}
		switch len(v.Shape) {
		case 1:
			if in.Below > 0 {
				v.Shape[0] = max(v.Shape[0]/2, 1)
				name = fmt.Sprintf("input.tokens=%d", v.Shape[0])
			}
		case 3, 4:
			for d := len(v.Shape) - 2; d < len(v.Shape); d++ {
				v.Shape[d] = max(v.Shape[d]*3/4/8*8, 8)
			}
			name = "input=" + torch.Shape(v.Shape).String()
		}
		out = append(out, v)
	}
	if name == "" {
		return nil, ""
	}
	return out, name
}

// adviceWork bounds, in walked events, the work for advice: some seconds, and more than any preset takes. Where it is
// spent, what is left is tried without its largest batch; where as much again is spent, not at all.
const adviceWork = 20_000_000

// Advise recomputes a request with each change that could help, and with pairs of the best ones where no single
// change fits, handing out each as it is known: all of them take many walks. What saves nothing is kept: its costs
// say why. Request.Want decides whether the largest batch of each is searched. rest is that of EstimateInPieces, or nil.
// The error is the request's own.
func Advise(r Request, rest func() bool) iter.Seq2[Advice, error] {
	return func(yield func(Advice, error) bool) {
		want := r.Want
		r.Want = nil
		q, err := understand(r)
		var n *network
		if err == nil {
			q.work.rest = rest
			n, err = q.resolve()
		}
		var one run
		if err == nil {
			one, err = q.compile(n, q.Batch)
		}
		var now Result
		if err == nil {
			now, err = q.estimate(n)
		}
		if err != nil {
			yield(Advice{}, err)
			return
		}
		q.Want, q.trunk = want, trunk(one.g.Root)
		q.advise(n, now, func(a Advice) bool { return yield(a, nil) })
	}
}

// CompareAdvice orders advice by what it saves at the peak, the most first.
func CompareAdvice(a, b Advice) int { return cmp.Compare(b.Saves, a.Saves) }

// advice is all of it, in order; left is how many changes were tried in part or not at all.
func (q *query) advice(n *network, now Result) (all []Advice, left int) {
	left = q.advise(n, now, func(a Advice) bool {
		all = append(all, a)
		return true
	})
	slices.SortStableFunc(all, CompareAdvice)
	return all, left
}

// topChanges are tried in pairs.
const topChanges = 4

// advise yields every advice until told to stop; left is how many changes it tried in part or not at all, their number
// being bounded by adviceWork.
func (q *query) advise(n *network, now Result, yield func(Advice) bool) (left int) {
	start := q.work.spent
	type tried struct {
		change
		Advice
	}
	try := func(cs ...change) (tried, bool) {
		r := q.Request
		r.Want = nil
		t := tried{change: cs[0]}
		for i, c := range cs {
			before, _ := understand(r)
			if before == nil {
				return t, false
			}
			before.trunk = q.trunk
			if !c.apply(before, &r) {
				return t, false
			}
			if i > 0 {
				t.change.name += " + " + c.name
				t.change.costs += " " + c.costs
			}
		}
		switch spent := q.work.spent - start; {
		case spent >= 2*adviceWork:
			left++
			return t, false
		case slices.Contains(q.Want, WantMaxBatch) && spent < adviceWork:
			r.Want = []string{WantMaxBatch}
		case slices.Contains(q.Want, WantMaxBatch):
			left++
		}
		res, err := answer(r, q.work)
		if err != nil {
			return t, false // the network cannot be changed in that way (an input too small for its kernels)
		}
		t.Advice = Advice{Change: t.change.name, Saves: now.Peak.Device - res.Peak.Device, Costs: t.change.costs, Fits: res.Fits, MaxBatch: res.MaxBatch}
		if t.Saves < 0 {
			return t, false
		}
		if t.Saves == 0 {
			t.Costs = "saves-nothing " + saveless(t.change.name, now, res)
		}
		return t, true
	}
	var all []tried
	for _, c := range q.changes(n) {
		if t, ok := try(c); ok {
			all = append(all, t)
			if !yield(t.Advice) {
				return left
			}
		}
	}
	all = slices.DeleteFunc(all, func(t tried) bool { return t.apart })
	if *now.Fits || slices.ContainsFunc(all, func(t tried) bool { return *t.Fits }) {
		return left
	}
	slices.SortStableFunc(all, func(a, b tried) int { return CompareAdvice(a.Advice, b.Advice) })
	top := all[:min(len(all), topChanges)]
	for i := range top {
		for j := i + 1; j < len(top); j++ {
			if t, ok := try(top[i].change, top[j].change); ok && *t.Fits && !yield(t.Advice) {
				return left
			}
		}
	}
	return left
}

// saveless says why a change frees nothing at the peak (a code whose sentence content holds).
func saveless(change string, now, then Result) string {
	switch {
	case slices.ContainsFunc(then.Warnings, func(w Warning) bool { return w.Code == "no-blocks" }):
		return "no-blocks"
	case strings.HasPrefix(change, "optimizer.") && now.Peak.Phase != PhaseStep:
		return "peak-elsewhere"
	case then.Peak.Live < now.Peak.Live:
		return "kept-by-segments"
	case then.Peak.Live > now.Peak.Live:
		return "larger"
	}
	return "same-tensors"
}
