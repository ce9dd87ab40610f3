// Package torch is PyTorch without data: tensors that have a shape, strides, a
// type and a storage, operations that say what they allocate, what autograd
// saves for them and what their backward allocates, and an engine that walks
// one training iteration over them. Sizes are int64 bytes.
package torch

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc/fault"
)

// Shape prints as PyTorch prints sizes: [2, 3].
type Shape []int64

func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	return b.String() + "]"
}

// Tensor is a handle into its Graph; None stands for an absent one (no bias).
type Tensor int32

const None Tensor = -1

type view struct{ shape, stride []int64 }

type tensor struct {
	view
	dtype DType
	needs bool // requires_grad
	store int32
	leaf  int32 // index into params, or -1
	last  int32 // last operation in whose course Python holds this tensor
	owner bool  // its storage was made with it
}

// Kind says what a storage is for; the parts of a Result follow it.
type Kind uint8

const (
	KindWeights Kind = iota
	KindBuffers
	KindCast // autocast's copies of weights
	KindGradients
	KindOptimizer
	KindBatch
	KindActivations
	KindOutputs
	KindTemporaries
	KindOptimizerTemporaries
	KindKVCache
	KindWorkspace
	NumKinds int = iota
)

type storage struct {
	bytes int64
	kind  Kind
	call  int32 // the module call that made it
}

// Module is one node of the model's tree.
type Module struct {
	Path, Type string
	Children   []*Module
	Params     []Tensor
	Buffers    []Tensor
	// Own counts the elements of its own parameters, without those that it shares with Tied.
	Own  int64
	Tied *Module
}

// Call is one call of a module: a row of the per-layer table.
type Call struct {
	Path, Type string
	Out        []int64
	Params     int64  // elements of the module's own parameters, without those that it shares
	Tied       string // the module whose parameter it shares
	Leaf       bool
	First      bool  // first call of this module
	Saved      int64 // bytes this call was the first to save
}

type op struct {
	name  string
	call  int32
	out   Tensor // first result
	nOut  int8
	tape  bool // recorded by autograd
	tmp   int64
	in    []Tensor
	saved []Tensor
	back  func(*backward)
}

// Graph records a model's forward, operation by operation, for one batch size.
type Graph struct {
	Rules Rules
	// Batch is the number of samples.
	Batch int64

	t        []tensor
	st       []storage
	ops      []op
	calls    []Call
	params   []Tensor // in the order of parameters()
	frames   []frame
	called   map[*Module]bool
	noGrad   bool
	amp      DType // autocast's type, Float32 when off
	casts    map[Tensor]Tensor
	lossOp   int
	outputs  []Tensor
	returned []Tensor // held with the outputs
	loss     Tensor
	bound    []Tensor
	adapters map[Tensor]bool
	target   Tensor

	// Warnings are what the recording could not know, with the place; a fault.Error serves as code, place and arguments.
	Warnings []*fault.Error

	checkpointed map[string]bool
	segments     []segment
	open         bool
	Root         *Module
	imported     *Imported

	intArena    []int64
	tensorArena []Tensor
}

// segment is a checkpointed call: its operations and tensors, and what it read.
type segment struct {
	from, to   int
	tFrom, tTo Tensor
	in         []Tensor
	call       int32
}

type frame struct {
	call int32
	held []Tensor
}

// NewGraph starts a recording.
func NewGraph(batch int64, rules Rules) *Graph {
	g := &Graph{Rules: rules, Batch: batch, loss: None, target: None, called: map[*Module]bool{},
		t: make([]tensor, 0, 1024), st: make([]storage, 0, 1024), ops: make([]op, 0, 512), calls: make([]Call, 0, 256)}
	g.frames = append(g.frames, frame{call: -1})
	return g
}

// Fail stops the recording at the current module with a bad-input error.
func (g *Graph) Fail(code string, args ...any) {
	at := g.At()
	if at == "" { // the root's own forward
		at = "model"
	}
	fault.Throw(code, at, args...)
}

// Rank refuses x unless it has one of these numbers of dimensions, ascending.
func (g *Graph) Rank(x Tensor, ranks ...int) {
	sh := g.t[x].shape
	if slices.Contains(ranks, len(sh)) {
		return
	}
	expected := make([]string, len(ranks))
	for i, n := range ranks {
		expected[i] = strconv.Itoa(n)
	}
	g.Fail("shape-rank", "shape", Shape(sh), "rank", len(sh), "expected", strings.Join(expected, " / "))
}

// RankFrom refuses x if it has fewer dimensions than low.
func (g *Graph) RankFrom(x Tensor, low int) {
	if sh := g.t[x].shape; len(sh) < low {
		g.Fail("shape-rank-low", "shape", Shape(sh), "rank", len(sh), "expected", low)
	}
}

// floating refuses integers where the kernel computes with floating numbers only.
func (g *Graph) floating(x Tensor) {
	if d := g.t[x].dtype; !d.Floating() {
		g.Fail("dtype-floating", "dtype", d.String())
	}
}

// alike refuses an activation of another type than the weights it meets, as ATen's matrix products and convolutions do.
func (g *Graph) alike(x, w Tensor) {
	if a, b := g.t[x].dtype, g.t[w].dtype; a != b {
		g.Fail("dtype-weights", "dtype", a.String(), "weights", b.String())
	}
}

// Warn notes something about the module being called that the estimate could not know.
func (g *Graph) Warn(code string, args ...any) {
	g.Warnings = append(g.Warnings, fault.New(code, g.At(), args...))
}

// At is the path of the module being called.
func (g *Graph) At() string {
	if c := g.frames[len(g.frames)-1].call; c >= 0 {
		return g.calls[c].Path
	}
	return ""
}

func (g *Graph) ints(n int) []int64 {
	if len(g.intArena)+n > cap(g.intArena) {
		g.intArena = make([]int64, 0, max(4096, n))
	}
	k := len(g.intArena)
	g.intArena = g.intArena[:k+n]
	return g.intArena[k : k+n : k+n]
}

func (g *Graph) shapeOf(dims ...int64) []int64 {
	s := g.ints(len(dims))
	copy(s, dims)
	return s
}

func (g *Graph) list(ts ...Tensor) []Tensor {
	if len(g.tensorArena)+len(ts) > cap(g.tensorArena) {
		g.tensorArena = make([]Tensor, 0, max(1024, len(ts)))
	}
	k := len(g.tensorArena)
	g.tensorArena = append(g.tensorArena, ts...)
	return g.tensorArena[k:len(g.tensorArena):len(g.tensorArena)]
}

// Shape of x; not to be changed.
func (g *Graph) Shape(x Tensor) []int64 { return g.t[x].shape }

// DType of x.
func (g *Graph) DType(x Tensor) DType { return g.t[x].dtype }

// Dim is x.size(i), negative i counting from the end.
func (g *Graph) Dim(x Tensor, i int) int64 {
	s := g.t[x].shape
	return s[dims(g, i, len(s))]
}

// Needs says whether x requires grad.
func (g *Graph) Needs(x Tensor) bool { return x != None && g.t[x].needs }

// StorageBytes is the size of the storage behind x.
func (g *Graph) StorageBytes(x Tensor) int64 { return g.st[g.t[x].store].bytes }

// bytes checks a shape and gives its size; sizes over int64 are refused.
func (g *Graph) bytes(shape []int64, d DType) int64 {
	n, wrong := size(shape, d)
	if wrong != "" {
		g.Fail(wrong, "shape", Shape(shape))
	}
	return n
}

// size is a tensor's bytes, or the code of what is wrong with its shape.
func size(shape []int64, d DType) (n int64, wrong string) {
	n = d.Size()
	for _, v := range shape {
		if v < 0 {
			return 0, "shape-negative"
		}
		if v > 0 && n > math.MaxInt64/64/v {
			return 0, "size-overflow"
		}
		n *= v
	}
	return n, ""
}

func (g *Graph) add(t tensor) Tensor {
	g.t = append(g.t, t)
	return Tensor(len(g.t) - 1)
}

func (g *Graph) newStorage(bytes int64, k Kind) int32 {
	g.st = append(g.st, storage{bytes: bytes, kind: k, call: g.frames[len(g.frames)-1].call})
	return int32(len(g.st) - 1)
}

// fresh is a tensor with a storage of its own, contiguous unless stride is given.
func (g *Graph) fresh(shape, stride []int64, d DType) Tensor {
	if stride == nil {
		stride = g.contiguousStrides(shape)
	}
	return g.add(tensor{view: view{shape, stride}, dtype: d, leaf: -1, owner: true, store: g.newStorage(g.bytes(shape, d), KindTemporaries)})
}

// alias is another tensor on x's storage.
func (g *Graph) alias(x Tensor, shape, stride []int64) Tensor {
	return g.add(tensor{view: view{shape, stride}, dtype: g.t[x].dtype, leaf: -1, store: g.t[x].store})
}

// Input adds a batch input of the given per-sample shape.
func (g *Graph) Input(perSample []int64, d DType) Tensor {
	shape := g.ints(len(perSample) + 1)
	shape[0] = g.Batch
	copy(shape[1:], perSample)
	x := g.fresh(shape, nil, d)
	g.st[g.t[x].store].kind = KindBatch
	return x
}

// Constant is a tensor made in the forward by an operation without inputs
// (arange, zeros), kept as long as it is used.
func (g *Graph) Constant(name string, shape []int64, d DType) Tensor {
	x := g.fresh(g.shapeOf(shape...), nil, d)
	g.record(op{name: name, out: x, nOut: 1})
	return x
}

// Module adds a child named name to parent (nil: the root).
func (g *Graph) Module(parent *Module, name, typ string) *Module {
	m := &Module{Type: typ, Path: name}
	if parent == nil {
		m.Path = ""
		g.Root = m
		return m
	}
	if parent.Path != "" {
		m.Path = parent.Path + "." + name
	}
	parent.Children = append(parent.Children, m)
	return m
}

// Param adds a parameter to m.
func (g *Graph) Param(m *Module, d DType, dims ...int64) Tensor {
	shape := g.shapeOf(dims...)
	if _, wrong := size(shape, d); wrong != "" && m.Path != "" { // no module is being called yet
		fault.Throw(wrong, m.Path, "shape", Shape(shape))
	}
	p := g.fresh(shape, nil, d)
	g.st[g.t[p].store].kind = KindWeights
	g.t[p].needs = true
	g.t[p].leaf = 0
	m.Params = append(m.Params, p)
	m.Own += numel(shape)
	return p
}

// Share registers another module's parameter in m too (weight tying).
func (g *Graph) Share(m *Module, p Tensor) {
	m.Tied = owner(g.Root, p)
	m.Params = append(m.Params, p)
}

// owner is the module that p was made for.
func owner(m *Module, p Tensor) *Module {
	if m.Tied == nil && slices.Contains(m.Params, p) {
		return m
	}
	for _, c := range m.Children {
		if o := owner(c, p); o != nil {
			return o
		}
	}
	return nil
}

// Buffer adds a buffer to m.
func (g *Graph) Buffer(m *Module, d DType, dims ...int64) Tensor {
	b := g.fresh(g.shapeOf(dims...), nil, d)
	g.st[g.t[b].store].kind = KindBuffers
	m.Buffers = append(m.Buffers, b)
	return b
}

// Freeze sets requires_grad=False on every parameter of m and below.
func (g *Graph) Freeze(m *Module) {
	for _, p := range m.Params {
		g.t[p].needs = false
	}
	for _, c := range m.Children {
		g.Freeze(c)
	}
}

// Adapt marks parameters that stay trainable when FreezeBase freezes the rest.
func (g *Graph) Adapt(ps ...Tensor) {
	if g.adapters == nil {
		g.adapters = map[Tensor]bool{}
	}
	for _, p := range ps {
		g.adapters[p] = true
	}
}

// FreezeBase freezes every parameter below m but the adapters'.
func (g *Graph) FreezeBase(m *Module) {
	for _, p := range m.Params {
		g.t[p].needs = g.adapters[p]
	}
	for _, c := range m.Children {
		g.FreezeBase(c)
	}
}

// Quantise gives a parameter's storage another size than its shape and type say.
func (g *Graph) Quantise(p Tensor, bytes int64) { g.st[g.t[p].store].bytes = bytes }

// NoGrad turns recording for backward off (torch.no_grad).
func (g *Graph) NoGrad() { g.noGrad = true }

// Enter begins a call of m; Python holds its inputs until Exit (_call_impl's arguments).
func (g *Graph) Enter(m *Module, in ...Tensor) {
	c := Call{Path: m.Path, Type: m.Type, Params: m.Own, Leaf: len(m.Children) == 0, First: !g.called[m]}
	if m.Tied != nil {
		c.Tied = m.Tied.Path
	}
	g.called[m] = true
	g.calls = append(g.calls, c)
	g.frames = append(g.frames, frame{call: int32(len(g.calls) - 1)})
	g.Keep(in...)
	if g.checkpointed[m.Path] && !g.open && !g.noGrad {
		g.openSegment(in)
	}
}

func (g *Graph) openSegment(in []Tensor) {
	g.open = true
	g.segments = append(g.segments, segment{from: len(g.ops), to: -1, tFrom: Tensor(len(g.t)), in: g.list(in...), call: g.frames[len(g.frames)-1].call})
}

func (g *Graph) closeSegment() {
	n := len(g.segments)
	g.open = false
	s := &g.segments[n-1]
	s.to, s.tTo = len(g.ops), Tensor(len(g.t))
	s.in = g.list(g.readBy(s)...)
	if g.segments[n-1].from == len(g.ops) {
		g.segments = g.segments[:n-1]
	}
}

// Recomputed runs f under torch.utils.checkpoint inside a module's own forward: only the inputs are kept, and
// backward runs f again. Where none of them needs a gradient f runs as usual.
func (g *Graph) Recomputed(f func() Tensor, in ...Tensor) Tensor {
	if g.open || !g.wants(in...) {
		return g.Local(f)
	}
	g.openSegment(in)
	y := g.Local(f)
	g.closeSegment()
	return y
}

// Checkpoint makes every call of the modules at these paths recompute its forward in backward
// (torch.utils.checkpoint): only its inputs are kept.
func (g *Graph) Checkpoint(paths ...string) {
	g.checkpointed = map[string]bool{}
	for _, p := range paths {
		g.checkpointed[p] = true
	}
}

// readBy are the tensors a segment reads from outside, its arguments first: the recomputation needs them all.
func (g *Graph) readBy(s *segment) []Tensor {
	in := slices.Clone(s.in)
	for _, o := range g.ops[s.from:s.to] {
		for _, t := range o.in {
			if t != None && t < s.tFrom && g.t[t].leaf < 0 && g.st[g.t[t].store].kind != KindBuffers && !slices.Contains(in, t) {
				in = append(in, t)
			}
		}
	}
	return in
}

// Keep holds tensors in a local variable until the current call ends.
func (g *Graph) Keep(ts ...Tensor) {
	f := &g.frames[len(g.frames)-1]
	for _, t := range ts {
		if t != None {
			f.held = append(f.held, t)
		}
	}
}

// Local runs f with local variables of its own (a Python function called by the current module's forward).
func (g *Graph) Local(f func() Tensor) Tensor {
	g.frames = append(g.frames, frame{call: g.frames[len(g.frames)-1].call})
	y := f()
	n := len(g.frames) - 1
	for _, t := range g.frames[n].held {
		g.touch(t)
	}
	g.frames = g.frames[:n]
	return y
}

// Alive says that Python still holds these tensors after the last operation: a variable that is about to be reassigned.
func (g *Graph) Alive(ts ...Tensor) {
	for _, t := range ts {
		g.touch(t)
	}
}

// Exit ends the current call with its result.
func (g *Graph) Exit(out ...Tensor) {
	f := g.frames[len(g.frames)-1]
	g.frames = g.frames[:len(g.frames)-1]
	for _, t := range f.held {
		g.touch(t)
	}
	if n := len(g.segments); n > 0 && g.open && g.segments[n-1].call == f.call {
		g.closeSegment()
	}
	if len(out) > 0 && out[0] != None {
		g.calls[f.call].Out = g.t[out[0]].shape
	}
}

func (g *Graph) touch(t Tensor) {
	if t != None {
		g.t[t].last = int32(len(g.ops) - 1)
	}
}

// record appends o, decides whether autograd keeps it, and gives its results requires_grad.
func (g *Graph) record(o op) Tensor {
	o.call = g.frames[len(g.frames)-1].call
	if o.nOut == 0 {
		o.nOut = 1
	}
	if o.back != nil && !g.noGrad {
		for _, t := range o.in {
			if t != None && g.t[t].needs {
				o.tape = true
			}
		}
	}
	g.ops = append(g.ops, o)
	for _, t := range o.in {
		g.touch(t)
	}
	for i := range Tensor(o.nOut) {
		g.touch(o.out + i)
		if o.tape && g.t[o.out+i].dtype.Floating() {
			g.t[o.out+i].needs = true
		}
	}
	return o.out
}

// Called says whether the forward has called m.
func (g *Graph) Called(m *Module) bool { return g.called[m] }

// Reads says whether an operation reads t or a view of it.
func (g *Graph) Reads(t Tensor) bool {
	return slices.ContainsFunc(g.ops, func(o op) bool {
		return slices.ContainsFunc(o.in, func(x Tensor) bool { return x != None && g.t[x].store == g.t[t].store })
	})
}

// wants says whether any of the tensors needs a gradient.
func (g *Graph) wants(ts ...Tensor) bool {
	return !g.noGrad && slices.ContainsFunc(ts, g.Needs)
}

// made says whether t has a storage of its own, made by its operation (not a parameter, buffer, input, or view of another).
func (g *Graph) made(t Tensor) bool { return g.t[t].owner }

// Named runs f in a call of its own that belongs to no module (a functional operation of the forward).
func (g *Graph) Named(path string, f func() Tensor) Tensor {
	g.calls = append(g.calls, Call{Path: path, Type: "function", Leaf: true, First: true})
	g.frames = append(g.frames, frame{call: int32(len(g.calls) - 1)})
	y := f()
	g.Exit(y)
	return y
}

// Autocast sets autocast's type; Float32 turns it off.
func (g *Graph) Autocast(d DType) {
	g.amp = d
	g.casts = map[Tensor]Tensor{}
}

// Return adds tensors to what model(x) returns beside its outputs (past_key_values): the caller holds them as long.
// With checkpointed modules there are none: transformers sets use_cache=False then.
func (g *Graph) Return(ts ...Tensor) {
	if len(g.checkpointed) == 0 {
		g.returned = append(g.returned, ts...)
	}
}

// BeginLoss marks the end of model(x): Python binds outputs, and what follows is the loss.
func (g *Graph) BeginLoss(outputs ...Tensor) {
	g.outputs = append(slices.Clone(outputs), g.returned...)
	g.lossOp = len(g.ops)
	g.calls = append(g.calls, Call{Path: "<loss>", Type: "loss", Leaf: true, First: true})
	g.frames = append(g.frames, frame{call: int32(len(g.calls) - 1)})
}

// EndLoss marks the tensor backward starts from; None in inference. The caller also keeps bound.
func (g *Graph) EndLoss(loss Tensor, bound ...Tensor) {
	g.loss, g.bound = loss, bound
	for _, c := range g.casts { // autocast's cache is emptied when its context ends
		g.touch(c)
	}
	g.frames = g.frames[:1]
}

// Parameters lists the distinct parameters in the order of model.parameters(): own first, then the children's.
func (g *Graph) Parameters() []Tensor {
	var out []Tensor
	seen := map[Tensor]bool{}
	var walk func(*Module)
	walk = func(m *Module) {
		for _, p := range m.Params {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
		for _, c := range m.Children {
			walk(c)
		}
	}
	walk(g.Root)
	return out
}

// movedOrder lists parameters and buffers in the order Module.to() moves them: children first.
func (g *Graph) movedOrder() []Tensor {
	var out []Tensor
	seen := map[Tensor]bool{}
	var walk func(*Module)
	walk = func(m *Module) {
		for _, c := range m.Children {
			walk(c)
		}
		for _, p := range slices.Concat(m.Params, m.Buffers) {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	walk(g.Root)
	return out
}

// InputBytes is the size of the batch's inputs, without the target.
func (g *Graph) InputBytes() int64 {
	if g.imported != nil {
		return g.imported.InputBytes
	}
	var n int64
	for i, st := range g.st {
		if st.kind == KindBatch && (g.target == None || g.t[g.target].store != int32(i)) {
			n += st.bytes
		}
	}
	return n
}

// Family is "transformer" when the forward has attention (batched products of activations), "cnn" when it has
// convolutions and none, else "other".
func (g *Graph) Family() string {
	if g.imported != nil {
		return g.imported.Family
	}
	family := "other"
	for i := range g.ops {
		switch g.ops[i].name {
		case "bmm", "scaled_dot_product_attention":
			return "transformer"
		case "convolution":
			family = "cnn"
		}
	}
	return family
}

// AttentionKernel is what the attention of the forward runs on: the best of "flash", "efficient" and "math" that it
// uses; "" without attention.
func (g *Graph) AttentionKernel() string {
	used := ""
	for i := range g.ops {
		switch g.ops[i].name {
		case "_scaled_dot_product_flash_attention":
			return "flash"
		case "_scaled_dot_product_efficient_attention":
			used = "efficient"
		case "bmm":
			if used == "" {
				used = "math"
			}
		}
	}
	return used
}

// ConvOutputs are the bytes of each convolution's output, one that feeds a global pooling counted pooled.
func (g *Graph) ConvOutputs() []int64 {
	if g.imported != nil {
		return g.imported.ConvOutputs
	}
	var out []int64
	for i := range g.ops {
		if g.ops[i].name != "convolution" {
			continue
		}
		y := g.ops[i].out
		n := g.bytes(g.t[y].shape, g.t[y].dtype)
		for j := i + 1; j < len(g.ops); j++ { // through elementwise operations to the first reader that changes the size
			if len(g.ops[j].in) == 0 || g.ops[j].in[0] != y {
				continue
			}
			z := g.ops[j].out
			if g.ops[j].name == "mean" {
				n = g.bytes(g.t[z].shape, g.t[z].dtype)
			}
			if len(g.ops[j].in) > 1 || numel(g.t[z].shape) != numel(g.t[y].shape) {
				break
			}
			y = z
		}
		out = append(out, n)
	}
	return out
}
