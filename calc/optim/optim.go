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
	// Before2 takes the rules of PyTorch 1.x.
	Before2 bool
}

// Param is a parameter with a gradient.
type Param struct {
	Shape []int64
	Numel int64
	DType torch.DType
}

// Memory is what a step does to memory.
type Memory interface {
	// State makes the next state tensor; it stays.
	State(bytes int64)
	// Temp makes a temporary and returns its handle.
	Temp(bytes int64) int32
	Free(handle int32)
}

// Names lists the optimizers, sorted.
func Names() []string { return slices.Sorted(maps.Keys(rules)) }

// Takers lists the optimizers whose constructors take an argument of a Config: "momentum", "amsgrad", "centered",
// "weight_decay", "foreach" or "fused". torch/optim/*.py; Muon's momentum is never off, Rprop has no weight decay, and
// Adagrad's fused kernel is for the CPU only.
func Takers(argument string, before2 bool) []string {
	switch argument {
	case "momentum":
		return []string{"muon", "rmsprop", "sgd"}
	case "amsgrad":
		return []string{"adam", "adamw"}
	case "centered":
		return []string{"rmsprop"}
	}
	return slices.DeleteFunc(Names(), func(name string) bool {
		r, _ := Config{Name: name, Before2: before2}.scripts()
		switch argument {
		case "foreach":
			return r.foreach == nil
		case "fused":
			return r.fused == nil
		}
		return name == "rprop"
	})
}

// DefaultForeach says whether an optimizer on CUDA takes foreach when not told: all since 2.0 but Adafactor,
// which keeps to the loop because it is chosen to save memory (torch/optim/optimizer.py, _adafactor.py).
func DefaultForeach(name string, before2 bool) bool { return !before2 && name != "adafactor" }

// scripts are what c runs: the birth of one parameter's state, and the step.
func (c Config) scripts() (r rule, step script) {
	r = rules[c.Name]
	if old, ok := rules1[c.Name]; ok && c.Before2 {
		r = old
	}
	switch {
	case c.Fused && r.fused != nil:
		return r, r.fused
	case c.Foreach && r.foreach != nil:
		return r, r.foreach
	}
	return r, r.loop
}

// StateBytes is the whole state of the parameters.
func (c Config) StateBytes(ps []Param) int64 {
	var n int64
	r, step := c.scripts()
	for _, s := range []script{r.init, step} {
		for i := range s {
			if s[i].do == state {
				for k := range ps {
					if c.holds(s[i].when, &ps[k], 1) {
						n += ps[k].size(s[i].size)
					}
				}
			}
		}
	}
	return n
}

// Construct makes the state that exists before the first step.
func (c Config) Construct(ps []Param, m Memory) {
	if r, _ := c.scripts(); r.atConstruction {
		c.birth(r, ps, m)
	}
}

func (c Config) birth(r rule, ps []Param, m Memory) {
	run := runner{Config: c, m: m, n: 1}
	for i := range ps {
		run.play(r.init, ps[i:i+1])
	}
}

// Step runs the n-th step, from 1. The state is born in the first.
func (c Config) Step(ps []Param, n int, m Memory) {
	r, step := c.scripts()
	if n == 1 && !r.atConstruction {
		c.birth(r, ps, m)
	}
	run := runner{Config: c, m: m, n: n}
	for _, g := range c.groups(ps) {
		run.play(step, g)
	}
	for reg := range run.held {
		run.free(reg, 0)
	}
}

// groups splits the parameters as foreach does since 2.0: by dtype, and Adafactor by having rows and columns
// (torch/optim/optimizer.py, _group_tensors_by_device_and_dtype; _adafactor.py).
func (c Config) groups(ps []Param) [][]Param {
	type key struct {
		dtype    torch.DType
		factored bool
	}
	of := func(p *Param) key { return key{p.DType, c.Name == "adafactor" && p.factored()} }
	if !c.Foreach || c.Fused || c.Before2 || !slices.ContainsFunc(ps, func(p Param) bool { return of(&p) != of(&ps[0]) }) {
		return [][]Param{ps}
	}
	var out [][]Param
	at := map[key]int{}
	for i := range ps {
		k := of(&ps[i])
		if _, ok := at[k]; !ok {
			at[k] = len(out)
			out = append(out, nil)
		}
		out[at[k]] = append(out[at[k]], ps[i])
	}
	return out
}

// factored: Adafactor keeps a row and a column for it.
func (p *Param) factored() bool { return len(p.Shape) > 1 }

// size is the bytes of a tensor made for p.
func (p *Param) size(of byte) int64 {
	d := p.DType.Size()
	rows, cols := int64(1), int64(1)
	if p.factored() {
		rows, cols = max(p.Shape[len(p.Shape)-2], 1), max(p.Shape[len(p.Shape)-1], 1)
	}
	switch of {
	case 'b': // bool
		return p.Numel
	case 'l': // int64
		return p.Numel * 8
	case '2': // two of p, concatenated
		return p.Numel * d * 2
	case '1': // a scalar of p's dtype
		return d
	case 's': // a scalar in float32, PyTorch's _get_scalar_dtype
		return 4
	case 'R': // one per row
		return p.Numel / cols * d
	case 'C': // one per column
		return p.Numel / rows * d
	case 'E': // one per matrix
		return p.Numel / (rows * cols) * d
	case 'h': // bfloat16
		return p.Numel * 2
	case 'g': // the smaller side's Gram matrix in bfloat16
		return min(rows, cols) * min(rows, cols) * 2
	case 'q': // 8 bits, float32 when small
		if p.Numel < block8bitMin {
			return p.Numel * 4
		}
		return p.Numel
	case 'k': // one float32 per block of 256
		if p.Numel < block8bitMin {
			return 0
		}
		return (p.Numel + 255) / 256 * 4
	}
	return p.Numel * d
}

// block8bitMin is the smallest tensor whose state is quantised (bitsandbytes, min_8bit_size).
const block8bitMin = 4096

// holds says whether an operation under this condition runs for p in the n-th step.
func (c *Config) holds(when byte, p *Param, n int) bool {
	switch when {
	case 'm':
		return c.Momentum
	case 'c':
		return c.Centered
	case 'a':
		return c.AMSGrad
	case 'w':
		return c.WeightDecay
	case 'W':
		return !c.WeightDecay
	case 'k':
		return c.Fused
	case 'r': // RAdam rectifies once rho_t > 5, which for its default betas is from the sixth step
		return n >= 6
	case 'R':
		return n < 6
	case 'f':
		return p.factored()
	case 'F':
		return !p.factored()
	case 'M': // a matrix
		return len(p.Shape) == 2
	case 'N':
		return len(p.Shape) != 2
	}
	return true
}

// runner plays scripts; held are the tensors behind each of the script's names.
type runner struct {
	Config
	m    Memory
	n    int
	held [26][]int32
}

// play runs s over the parameters: what stands in parentheses once per parameter, the rest once for the list.
func (r *runner) play(s script, ps []Param) {
	for i := 0; i < len(s); i++ {
		if s[i].do != each {
			r.do(&s[i], ps)
			continue
		}
		end := i + 1 + s[i].len
		for k := range ps {
			for j := i + 1; j < end; j++ {
				r.do(&s[j], ps[k:k+1])
			}
		}
		i = end - 1
	}
}

func (r *runner) do(o *op, ps []Param) {
	old := len(r.held[o.reg])
	ran := false
	for i := range ps {
		p := &ps[i]
		if !r.holds(o.when, p, r.n) {
			continue
		}
		ran = true
		switch o.do {
		case state:
			if b := p.size(o.size); r.n == 1 && b > 0 {
				r.m.State(b)
			}
		case assign, add:
			r.held[o.reg] = append(r.held[o.reg], r.m.Temp(p.size(o.size)))
		}
	}
	if !ran {
		return
	}
	switch o.do {
	case assign:
		for _, h := range r.held[o.reg][:old] {
			r.m.Free(h)
		}
		r.held[o.reg] = slices.Delete(r.held[o.reg], 0, old)
	case drop:
		r.free(int(o.reg), 0)
	case dropButLast:
		r.free(int(o.reg), 1)
	case rename:
		r.free(int(o.reg), 0)
		r.held[o.reg], r.held[o.from] = r.held[o.from], r.held[o.reg]
	}
}

// free drops all tensors of a name but the last few.
func (r *runner) free(reg, keep int) {
	n := max(len(r.held[reg])-keep, 0)
	for _, h := range r.held[reg][:n] {
		r.m.Free(h)
	}
	r.held[reg] = slices.Delete(r.held[reg], 0, n)
}
