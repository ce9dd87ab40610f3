// Package optim says what an optimizer keeps and what its step allocates: state per
// parameter, and the temporaries of torch.optim's three implementations (the loop over
// parameters, foreach's lists, the fused kernel). Sizes are int64 bytes.
package optim

import (
	"maps"
	"slices"

	"vrametre/calc/torch"
)

// Config chooses the optimizer and what changes its memory.
type Config struct {
	Name              string
	Momentum          bool
	AMSGrad, Centered bool
	WeightDecay       bool
	Foreach, Fused    bool
	// AdamLists is how many parameter-sized lists foreach Adam builds (torch.Rules).
	AdamLists int
}

// Param is a parameter with a gradient.
type Param struct {
	Shape []int64
	Numel int64
	DType torch.DType
}

func (p Param) bytes() int64 { return p.Numel * p.DType.Size() }

// Memory is what a step does to memory.
type Memory interface {
	// State makes the next state tensor; it stays.
	State(bytes int64)
	// Temp makes a temporary and returns its handle.
	Temp(bytes int64) int32
	Free(handle int32)
}

// rule describes one optimizer.
type rule struct {
	// states are the bytes of each state tensor of p.
	states func(c Config, p Param) []int64
	// atConstruction: the state exists before the first step.
	atConstruction bool
	// lists is how many parameter-sized lists foreach holds at once.
	lists func(c Config) int
	// loop is how many tensors of the current parameter's size the loop holds at once;
	// trail: the last of them lives until the next parameter has made its own.
	loop  int
	trail bool
	// decays: weight decay is added to a copy of the gradient.
	decays bool
	// loopOnly: there is no foreach implementation.
	loopOnly bool
	// late: the state of a parameter is born in the loop, after that parameter's decayed gradient.
	late bool
}

func same(n int) func(Config, Param) []int64 {
	return func(_ Config, p Param) []int64 {
		s := make([]int64, n)
		for i := range s {
			s[i] = p.bytes()
		}
		return s
	}
}

func lists(n int) func(Config) int { return func(Config) int { return n } }

// Sources: golden measurements for SGD, Adam, AdamW in 1.13; torch/optim/*.py of 2.x for the rest;
// bitsandbytes for adam8bit; lucidrains/lion-pytorch for lion; the paper's reference code for muon.
var rules = map[string]rule{
	"sgd": {
		states: func(c Config, p Param) []int64 {
			if c.Momentum {
				return []int64{p.bytes()}
			}
			return nil
		},
		lists: lists(0), decays: true, late: true,
	},
	"adam":  {states: adamStates, lists: adamLists, loop: 2, trail: true, decays: true},
	"adamw": {states: adamStates, lists: adamLists, loop: 2, trail: true},
	"rmsprop": {states: func(c Config, p Param) []int64 {
		n := 1
		if c.Momentum {
			n++
		}
		if c.Centered {
			n++
		}
		return same(n)(c, p)
	}, lists: lists(1), loop: 1, trail: true, decays: true},
	"adagrad":  {states: same(1), atConstruction: true, lists: lists(2), loop: 1, trail: true, decays: true},
	"adadelta": {states: same(2), lists: lists(2), loop: 2, trail: true, decays: true},
	"adamax":   {states: same(2), lists: lists(1), loop: 2, decays: true},
	"nadam":    {states: same(2), lists: lists(1), loop: 1, trail: true, decays: true},
	"radam":    {states: same(2), lists: lists(1), loop: 2, decays: true},
	"rprop":    {states: same(2), lists: lists(2), loop: 2},
	"asgd":     {states: same(1), lists: lists(1), loop: 1, decays: true},
	"lion":     {states: same(1), loop: 2, loopOnly: true},
	"muon": {states: func(c Config, p Param) []int64 {
		if len(p.Shape) == 2 {
			return []int64{p.bytes()}
		}
		return adamStates(c, p)
	}, loop: 2, loopOnly: true},
	"adafactor": {states: func(_ Config, p Param) []int64 {
		n := len(p.Shape)
		if n < 2 {
			return []int64{p.Numel * 4}
		}
		rows, cols := p.Shape[n-2], p.Shape[n-1]
		lead := int64(1)
		if rows > 0 && cols > 0 {
			lead = p.Numel / (rows * cols)
		}
		return []int64{4 * lead * rows, 4 * lead * cols}
	}, loop: 2, loopOnly: true},
	"adam8bit": {states: func(c Config, p Param) []int64 {
		if p.Numel < 4096 {
			return []int64{p.Numel * 4, p.Numel * 4}
		}
		blocks := (p.Numel + 255) / 256
		return []int64{p.Numel, p.Numel, 4 * blocks, 4 * blocks}
	}, loopOnly: true},
}

func adamStates(c Config, p Param) []int64 {
	if c.AMSGrad {
		return same(3)(c, p)
	}
	return same(2)(c, p)
}

func adamLists(c Config) int { return c.AdamLists }

// Names lists the optimizers, sorted.
func Names() []string { return slices.Sorted(maps.Keys(rules)) }

// StateBytes is the whole state of the parameters.
func (c Config) StateBytes(ps []Param) int64 {
	var n int64
	for _, p := range ps {
		for _, b := range rules[c.Name].states(c, p) {
			n += b
		}
	}
	return n
}

// Construct makes the state that exists before the first step.
func (c Config) Construct(ps []Param, m Memory) {
	if r := rules[c.Name]; r.atConstruction {
		for _, p := range ps {
			birth(r, c, p, m)
		}
	}
}

func birth(r rule, c Config, p Param, m Memory) {
	for _, b := range r.states(c, p) {
		m.State(b)
	}
}

// Step runs one step; first: the state is born in it, per parameter.
func (c Config) Step(ps []Param, first bool, m Memory) {
	r := rules[c.Name]
	born := first && !r.atConstruction
	decay := c.WeightDecay && r.decays
	if c.Fused || (c.Foreach && !r.loopOnly) {
		n := 0
		if !c.Fused {
			n = r.lists(c)
			if decay {
				n++
			}
		}
		if born {
			for _, p := range ps {
				birth(r, c, p, m)
			}
		}
		held := make([]int32, 0, n*len(ps))
		for range n {
			for _, p := range ps {
				held = append(held, m.Temp(p.bytes()))
			}
		}
		for _, h := range held {
			m.Free(h)
		}
		return
	}
	if born && !r.late {
		for _, p := range ps {
			birth(r, c, p, m)
		}
	}
	trail := int32(-1)
	for _, p := range ps {
		var held []int32
		if decay {
			held = append(held, m.Temp(p.bytes()))
		}
		if born && r.late {
			birth(r, c, p, m)
		}
		for range r.loop {
			held = append(held, m.Temp(p.bytes()))
		}
		if trail >= 0 {
			m.Free(trail)
			trail = -1
		}
		if r.trail && r.loop > 0 {
			trail = held[len(held)-1]
			held = held[:len(held)-1]
		}
		for _, h := range held {
			m.Free(h)
		}
	}
	if trail >= 0 {
		m.Free(trail)
	}
}
