package calc

import (
	"vrametre/calc/cuda"
)

// Failure is the moment when a run under the card's capacity stops, in the
// numbers of PyTorch's message, in bytes.
type Failure struct {
	// Requested is the tensor that was wanted, Segment what the allocator asked
	// the card for: the message's "Tried to allocate".
	Requested, Segment int64
	// Total is the card's memory as PyTorch sees it, Free what is left of it.
	Total, Free int64
	// Process is what the process has in use: Reserved and the CUDA context.
	Process int64
	// Allocated are the blocks given to tensors, Reserved the segments taken from the card.
	Allocated, Reserved int64
}

// OutOfMemory runs a request under its card's capacity and tells where it
// stops; false: it does not. Its error is an *Error.
func OutOfMemory(r Request) (Failure, bool, error) {
	q, err := understand(r)
	if err != nil {
		return Failure{}, false, err
	}
	n, err := q.resolve()
	if err != nil {
		return Failure{}, false, err
	}
	one, err := q.compile(n, q.Batch)
	if err != nil {
		return Failure{}, false, err
	}
	cfg := q.walkConfig()
	cfg.Extra, cfg.Timeline = q.beside(one.p, q.Batch), false
	a := cuda.New(q.allocator(q.budget.Usable))
	q.walk(one.p, cfg, a)
	f, failed := a.Failure()
	if !failed {
		return Failure{}, false, nil
	}
	b := q.budget
	return Failure{
		Requested: f.Requested, Segment: f.Segment,
		Total: b.Total, Free: b.Usable - f.Reserved, Process: f.Reserved + b.Context,
		Allocated: f.Allocated, Reserved: f.Reserved,
	}, true, nil
}
