package torch

// Program is one training iteration reduced to what happens to memory: a list
// of events over dense slots. It is compiled once and replayed for every
// iteration; gradients, the batch, the outputs and the loss outlive an
// iteration, so their events say whose they are.
type Program struct {
	Events []Event
	// Bytes of each slot.
	Bytes []int64
	// Steps are the operations in the order they run, forward then backward.
	Steps []Step
	// BackwardAt is the index in Events where backward begins (len(Events) in inference).
	BackwardAt int
	// OutputAt is the index where model(x) has returned and the outputs are rebound;
	// LossAt where the loss is.
	OutputAt, LossAt int
	// Resident are parameters and buffers in the order Module.to() moves them.
	Resident []Resident
	// Params are the parameters in the order of model.parameters().
	Params []Param
	// Batch lists the slots of inputs and targets; Outputs those the caller keeps.
	Batch, Outputs, Loss []int32
	Calls                []Call
	// Kept lists what autograd keeps, storage by storage, as it was saved first.
	Kept []Kept
	// Saved is what autograd keeps at the end of forward; InputSaved whether it also keeps the batch.
	Saved      int64
	InputSaved bool
	// OutputBytes are the storages bound to outputs and loss.
	OutputBytes int64
}

// Kept is a storage that autograd keeps for backward, as the tensor that a call was the first to save.
type Kept struct {
	By int32 // the call
	// Own: the result of the operation that saves it, not what it reads.
	Own   bool
	Shape []int64
	DType DType
	Bytes int64
}

// Resident is a parameter or buffer.
type Resident struct {
	Slot int32
	Kind Kind
}

// Param is a parameter as the optimizer sees it.
type Param struct {
	Slot      int32
	Shape     []int64
	DType     DType
	Trained   bool // requires_grad and reached by backward
	Trainable bool
	// GradSlot names the gradient across iterations.
	GradSlot int32
}

// Step is one operation of the timeline.
type Step struct {
	Name string
	Call int32
	// Matmul: the step calls cuBLAS.
	Matmul bool
}

// EventOp says what an Event does.
type EventOp uint8

const (
	// EvStep begins Steps[Slot].
	EvStep EventOp = iota
	// EvAlloc makes Slot, of kind Kind.
	EvAlloc
	// EvFree drops the last reference to Slot.
	EvFree
	// EvKind changes what Slot is for.
	EvKind
	// EvGrad hands Slot to parameter Param: stolen as its gradient if it has none, else added in place and freed.
	EvGrad
	// EvGradCopy does the same where the gradient cannot be stolen: cloned if it has none, else added in place.
	EvGradCopy
	// EvGradShared is EvGrad of a storage that others still use; EvGradRest comes when they no longer do: it frees Slot
	// unless it became the gradient.
	EvGradShared
	EvGradRest
)

// Event is one thing that happens to memory.
type Event struct {
	Op    EventOp
	Kind  Kind
	Slot  int32
	Param int32
}

// At is the module path of a step; "" where a program has none (a network of identities).
func (p *Program) At(step int32) string {
	if int(step) >= len(p.Steps) {
		return ""
	}
	if c := p.Steps[step].Call; c >= 0 {
		return p.Calls[c].Path
	}
	return ""
}
