// Package walk replays a training iteration over a memory: it counts live bytes by kind,
// finds the peak of each phase, and passes every allocation on, in order, to an allocator.
package walk

import (
	"vrametre/calc/optim"
	"vrametre/calc/torch"
)

// Sink receives the allocations, in order. Ids are small and reused after Free.
type Sink interface {
	// Alloc is false when the memory is full.
	Alloc(id int32, bytes int64) bool
	Free(id int32)
	// Allocated is what is in use, rounded as the sink rounds.
	Allocated() int64
}

// When gradients go.
const (
	ZeroAtStart = iota
	ZeroBeforeBackward
	ZeroAtEnd
)

// Config says how the training loop is written.
type Config struct {
	Train        bool
	Accumulation int
	// KeepGrads: zero_grad(set_to_none=False) leaves the gradients allocated.
	KeepGrads bool
	ZeroAt    int
	Optimizer optim.Config
	// Master is extra resident bytes per trainable parameter element (fp32 master weights).
	Master int64
	// Shard spreads the training's state over cards.
	Shard Shard
	// Extra are storages that live through the whole run.
	Extra []Extra
	// Workspace is what cuBLAS takes for good at the first matrix product of the main thread, and
	// of autograd's thread; the sink sees it, the live bytes do not.
	Workspace int64
	// Iterations to walk: the second is the steady one, the first where it is the only one.
	Iterations int
	// Timeline asks for the steady iteration's points and storages.
	Timeline bool
	// StopAfter ends the walk after that many allocations; 0: at the end.
	StopAfter int
}

// Shard is ZeRO's partitioning over N cards (DeepSpeed's stages; FSDP is stage 3): optimizer state from stage 1,
// gradients from stage 2, parameters from stage 3.
type Shard struct {
	N, Stage int
}

func (s Shard) part(bytes int64, stage int) int64 {
	if s.N > 1 && s.Stage >= stage {
		return (bytes + int64(s.N) - 1) / int64(s.N)
	}
	return bytes
}

// Extra is a storage beside the model's (a key-value cache).
type Extra struct {
	Bytes int64
	Kind  torch.Kind
}

// Phase of a training iteration.
type Phase uint8

const (
	Forward Phase = iota
	Backward
	Step
	NumPhases
)

// Point is one operation: the highest live bytes while it ran, what it allocated, and what was freed before the next.
type Point struct {
	Step              int32 // index into Program.Steps; -1: the optimizer
	Phase             Phase
	Live, Alloc, Free int64
}

// Peaks are the peaks of live bytes by phase.
type Peaks [NumPhases]int64

// Walk is what a replay found.
type Walk struct {
	First, Steady Peaks
	// Kinds are the live bytes by kind at the highest point of the steady iteration.
	Kinds [torch.NumKinds]int64
	Peak  int64
	Phase Phase
	// At is the Program step of the peak; -1: the optimizer.
	At int32
	// PeakPoint is the index of the peak in Timeline.
	PeakPoint int
	Timeline  []Point
	// Lives are the storages that were alive in the steady iteration, with Config.Timeline.
	Lives []Life
	// PeakAllocs is how many allocations had been made at the peak.
	PeakAllocs int
	// Owners says, by id, whose each storage was when the walk stopped early.
	Owners []Owner
	State  int64
	// AllocatedAtPeak is the sink's Allocated at the peak, WorkspaceAtPeak what of it is cuBLAS's.
	AllocatedAtPeak, WorkspaceAtPeak int64
	// OutOfMemory: the sink was full, and the walk stopped there.
	OutOfMemory bool
}

// Life is one storage: Timeline indices of its first and last operation (Born -1: there before the iteration;
// Died len(Timeline): there after it).
type Life struct {
	Owner
	Bytes      int64
	Born, Died int32
}

// Owner says what a storage is for and which operation made it (-1: none of the model's).
type Owner struct {
	Kind torch.Kind
	Step int32
}

type machine struct {
	p    *torch.Program
	cfg  Config
	sink Sink
	w    *Walk

	bytes  []int64 // by id
	step   []int32 // by id, the operation that made it
	life   []int32 // by id, its index in lives, -1
	lives  []Life
	allocs int
	kind   []torch.Kind
	freeID []int32
	id     []int32 // of each slot in this pass
	grad   []int32 // id of each parameter's gradient, -1 when absent

	live   int64
	kinds  [torch.NumKinds]int64
	peaks  Peaks
	phase  Phase
	at     int32
	steady bool
	points []Point
	params []optim.Param

	out, loss, batch []int32

	// stopped: nothing more reaches the sink.
	stopped    bool
	workspaces [2]bool // of the main and of autograd's thread
}

// Run replays p.
func Run(p *torch.Program, cfg Config, sink Sink) *Walk {
	m := &machine{p: p, cfg: cfg, sink: sink, w: &Walk{}}
	n := len(p.Bytes)
	m.bytes, m.kind, m.step, m.life = make([]int64, 0, n), make([]torch.Kind, 0, n), make([]int32, 0, n), make([]int32, 0, n)
	if cfg.Timeline {
		m.points, m.lives = make([]Point, 0, len(p.Steps)+1), make([]Life, 0, n)
	}
	m.id = make([]int32, n)
	m.grad = make([]int32, len(p.Params))
	for i := range m.grad {
		m.grad[i] = -1
	}
	for _, r := range p.Resident {
		bytes := p.Bytes[r.Slot]
		if r.Kind == torch.KindWeights {
			bytes = cfg.Shard.part(bytes, 3)
		}
		m.id[r.Slot] = m.alloc(bytes, r.Kind)
	}
	for _, e := range cfg.Extra {
		m.alloc(e.Bytes, e.Kind)
	}
	if cfg.Train {
		for i := range p.Params {
			if q := &p.Params[i]; q.Trained {
				n := int64(1)
				for _, d := range q.Shape {
					n *= d
				}
				n = cfg.Shard.part(n, 1)
				d := q.DType
				if cfg.Master > 0 { // the optimizer works on the master copy
					m.alloc(n*cfg.Master, torch.KindWeights)
					d = torch.Float32
				}
				m.params = append(m.params, optim.Param{Shape: q.Shape, Numel: n, DType: d})
			}
		}
		cfg.Optimizer.Construct(m.params, m)
	}
	steady := min(1, cfg.Iterations-1)
	for it := range cfg.Iterations {
		if m.stopped {
			break
		}
		if m.steady = it == steady; m.steady && cfg.Timeline {
			free := make([]bool, len(m.bytes))
			for _, id := range m.freeID {
				free[id] = true
			}
			for id := range m.bytes {
				if m.bytes[id] > 0 && !free[id] {
					m.born(int32(id))
				}
			}
		}
		m.peaks = Peaks{}
		m.iteration(it)
		if it == 0 {
			m.w.First = m.peaks
		}
		if it == steady {
			m.w.Steady = m.peaks
			m.w.Timeline, m.w.Lives = m.points, m.lives
			for i := range m.lives {
				if m.lives[i].Died == undead {
					m.lives[i].Died = int32(len(m.points))
				}
			}
			for i := range m.life {
				m.life[i] = -1
			}
		}
	}
	return m.w
}

func (m *machine) alloc(bytes int64, k torch.Kind) int32 {
	var id int32
	if n := len(m.freeID); n > 0 {
		id = m.freeID[n-1]
		m.freeID = m.freeID[:n-1]
		m.bytes[id], m.kind[id], m.step[id] = bytes, k, m.at
	} else {
		id = int32(len(m.bytes))
		m.bytes = append(m.bytes, bytes)
		m.kind = append(m.kind, k)
		m.step = append(m.step, m.at)
		m.life = append(m.life, -1)
	}
	if m.steady && m.cfg.Timeline {
		m.born(id)
	}
	m.allocs++
	m.live += bytes
	m.kinds[k] += bytes
	if m.sink != nil && !m.stopped && !m.sink.Alloc(id, bytes) {
		m.w.OutOfMemory, m.stopped = true, true
	}
	if m.live > m.peaks[m.phase] {
		m.peak()
	}
	if m.allocs == m.cfg.StopAfter {
		m.stop()
	}
	if n := len(m.points); n > 0 && m.steady {
		pt := &m.points[n-1]
		pt.Alloc += bytes
		pt.Live = max(pt.Live, m.live)
	}
	return id
}

// undead marks a storage that has not died yet.
const undead = -2

// born opens a storage's life.
func (m *machine) born(id int32) {
	m.life[id] = int32(len(m.lives))
	m.lives = append(m.lives, Life{Owner{m.kind[id], m.step[id]}, m.bytes[id], int32(len(m.points) - 1), undead})
}

// stop ends the walk, remembering whose each storage is.
func (m *machine) stop() {
	m.stopped = true
	m.w.Owners = make([]Owner, len(m.bytes))
	for i := range m.w.Owners {
		m.w.Owners[i] = Owner{m.kind[i], m.step[i]}
	}
}

func (m *machine) peak() {
	m.peaks[m.phase] = m.live
	if m.steady && m.live > m.w.Peak {
		m.w.Peak, m.w.Kinds, m.w.Phase, m.w.At, m.w.PeakPoint, m.w.PeakAllocs = m.live, m.kinds, m.phase, m.at, len(m.points)-1, m.allocs
		if m.sink != nil {
			m.w.AllocatedAtPeak, m.w.WorkspaceAtPeak = m.sink.Allocated(), m.workspace()
		}
	}
}

func (m *machine) workspace() int64 {
	var n int64
	for _, w := range m.workspaces {
		if w {
			n += m.cfg.Workspace
		}
	}
	return n
}

// matmul gives the thread its cuBLAS workspace.
func (m *machine) matmul(ph Phase) {
	if m.cfg.Workspace == 0 || m.workspaces[ph] || m.sink == nil {
		return
	}
	m.workspaces[ph] = true
	id := int32(len(m.bytes))
	m.bytes, m.kind, m.step, m.life = append(m.bytes, 0), append(m.kind, torch.KindWorkspace), append(m.step, m.at), append(m.life, -1)
	if !m.stopped && !m.sink.Alloc(id, m.cfg.Workspace) {
		m.w.OutOfMemory, m.stopped = true, true
	}
}

func (m *machine) free(id int32) {
	b := m.bytes[id]
	m.live -= b
	m.kinds[m.kind[id]] -= b
	m.freeID = append(m.freeID, id)
	if n := len(m.points); n > 0 && m.steady {
		m.points[n-1].Free += b
	}
	if l := m.life[id]; l >= 0 {
		m.lives[l].Died, m.life[id] = int32(len(m.points)-1), -1
	}
	if m.sink != nil && !m.stopped {
		m.sink.Free(id)
	}
}

func (m *machine) freeAll(ids []int32) []int32 {
	for _, id := range ids {
		m.free(id)
	}
	return ids[:0]
}

func (m *machine) setKind(id int32, k torch.Kind) {
	m.kinds[m.kind[id]] -= m.bytes[id]
	m.kind[id] = k
	m.kinds[k] += m.bytes[id]
	if l := m.life[id]; l >= 0 {
		m.lives[l].Kind = k
	}
}

func (m *machine) begin(ph Phase, step int32) {
	m.phase, m.at = ph, step
	if m.steady && m.cfg.Timeline {
		m.points = append(m.points, Point{Step: step, Phase: ph, Live: m.live})
	}
	if m.live > m.peaks[ph] {
		m.peak()
	}
}

func (m *machine) zeroGrad() {
	if m.cfg.KeepGrads {
		return
	}
	for i, id := range m.grad {
		if id >= 0 {
			m.free(id)
			m.grad[i] = -1
		}
	}
}

// iteration runs the it-th iteration, from 0.
func (m *machine) iteration(it int) {
	m.phase = Forward
	if m.cfg.Train && m.cfg.ZeroAt == ZeroAtStart {
		m.zeroGrad()
	}
	passes := 1
	if m.cfg.Train {
		passes = min(max(m.cfg.Accumulation, 1), 3) // the third pass and all that follow do the same
	}
	for a := range passes {
		m.pass(a == 0)
	}
	if !m.cfg.Train {
		return
	}
	m.begin(Step, -1)
	m.cfg.Optimizer.Step(m.params, it+1, m)
	if it == 0 {
		m.w.State = m.kinds[torch.KindOptimizer]
	}
	if m.cfg.ZeroAt == ZeroAtEnd {
		m.zeroGrad()
	}
}

// pass is one forward and backward. The old batch goes before the new one comes, as in
// `for x, y in loader: x = x.to(device)`; the old output and loss go when they are reassigned.
func (m *machine) pass(firstPass bool) {
	p, cfg := m.p, m.cfg.Shard
	m.phase, m.at = Forward, 0
	m.batch = m.freeAll(m.batch)
	for _, s := range p.Batch {
		m.id[s] = m.alloc(p.Bytes[s], torch.KindBatch)
		m.batch = append(m.batch, m.id[s])
	}
	phase := Forward
	for i := 0; ; i++ {
		if i == p.OutputAt {
			m.out = m.freeAll(m.out)
		}
		if i == p.LossAt {
			m.loss = m.freeAll(m.loss)
		}
		if i == p.BackwardAt {
			for _, s := range p.Outputs {
				m.out = append(m.out, m.id[s])
			}
			for _, s := range p.Loss {
				m.loss = append(m.loss, m.id[s])
			}
			if m.cfg.Train && firstPass && m.cfg.ZeroAt == ZeroBeforeBackward {
				m.zeroGrad()
			}
			phase = Backward
		}
		if i == len(p.Events) {
			break
		}
		switch e := &p.Events[i]; e.Op {
		case torch.EvStep:
			m.begin(phase, e.Slot)
			if p.Steps[e.Slot].Matmul {
				m.matmul(phase)
			}
		case torch.EvAlloc:
			m.id[e.Slot] = m.alloc(p.Bytes[e.Slot], e.Kind)
		case torch.EvFree:
			m.free(m.id[e.Slot])
		case torch.EvKind:
			if id := m.id[e.Slot]; id >= 0 {
				m.setKind(id, e.Kind)
			}
		case torch.EvGrad:
			id := m.id[e.Slot]
			if m.grad[e.Param] >= 0 {
				m.free(id)
				break
			}
			if part := cfg.part(m.bytes[id], 2); part < m.bytes[id] { // reduced to its owner, who keeps a part
				m.free(id)
				id = m.alloc(part, torch.KindGradients)
			}
			m.grad[e.Param] = id
			m.setKind(id, torch.KindGradients)
		case torch.EvGradShared:
			if id := m.id[e.Slot]; m.grad[e.Param] < 0 {
				m.grad[e.Param] = id
				m.setKind(id, torch.KindGradients)
				m.id[e.Slot] = -1
			}
		case torch.EvGradRest:
			if id := m.id[e.Slot]; id >= 0 {
				m.free(id)
			}
		case torch.EvGradCopy:
			if m.grad[e.Param] < 0 {
				m.grad[e.Param] = m.alloc(cfg.part(p.Bytes[e.Slot], 2), torch.KindGradients)
			}
		}
	}
}

// State makes a state tensor of the optimizer.
func (m *machine) State(bytes int64) { m.alloc(bytes, torch.KindOptimizer) }

// Temp makes a temporary of the optimizer.
func (m *machine) Temp(bytes int64) int32 { return m.alloc(bytes, torch.KindOptimizerTemporaries) }

// Free drops a temporary of the optimizer.
func (m *machine) Free(id int32) { m.free(id) }
