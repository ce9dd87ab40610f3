package calc

// Result answers a Request. All sizes are int64 bytes. Fields that do not
// apply are absent, never zero.
type Result struct {
	Parameters  Parameters   `json:"parameters"`
	RuleOfThumb *RuleOfThumb `json:"rule_of_thumb,omitempty"`
	// Parts are the kinds of memory alive at the peak; they sum exactly to Peak.Device.
	Parts []Part `json:"parts"`
	// SavedForBackward counts what autograd keeps at the end of forward: distinct storages,
	// without parameters, buffers, batch input and target.
	SavedForBackward int64 `json:"saved_for_backward,omitzero"`
	// InputSaved says whether autograd also keeps the batch input; absent in inference.
	InputSaved *bool `json:"input_saved,omitempty"`
	// Phases are the peaks of live tensor bytes in a steady iteration (k > 1).
	Phases Phases `json:"phases"`
	// First are the same in the first iteration: no state, no gradients, no previous output.
	First    Phases   `json:"first"`
	Peak     Peak     `json:"peak"`
	Interval Interval `json:"interval"`
	// Timeline is one point per operation of a steady iteration.
	Timeline []Point `json:"timeline,omitempty"`
	// Tensors are the storages alive in that iteration, for the reader who looks into the timeline.
	Tensors []Tensor `json:"-"`
	// Segments are the allocator's map at the peak, with Want "blocks": what it took from the card, block by block.
	Segments []Segment  `json:"segments,omitempty"`
	Layers   []LayerRow `json:"layers,omitempty"`
	// Saved lists what autograd keeps, with Want "layers": it sums to SavedForBackward.
	Saved  []Saved `json:"-"`
	Budget *Budget `json:"budget,omitempty"`
	// Fits says whether the allocator simulation succeeds within the card's capacity (what the training needs).
	Fits *bool `json:"fits,omitempty"`
	// MaxBatch is the largest batch that fits; 0: not even one sample.
	MaxBatch *int64 `json:"max_batch,omitempty"`
	// Headroom is the budget's capacity minus Peak.Reserved; negative when the uncapped run would not fit.
	Headroom    *int64       `json:"headroom,omitempty"`
	Advice      []Advice     `json:"advice,omitempty"`
	Warnings    []Warning    `json:"warnings,omitempty"`
	Assumptions []Assumption `json:"assumptions,omitempty"`
}

// Parameters counts elements, except BuffersBytes.
type Parameters struct {
	Total        int64 `json:"total"`
	Trainable    int64 `json:"trainable"`
	BuffersBytes int64 `json:"buffers_bytes"`
}

// RuleOfThumb is the lesson's own method, a hand calculation from the
// convolutions' outputs. Ranges are [low, high].
type RuleOfThumb struct {
	Weights     int64    `json:"weights"`
	Batch       int64    `json:"batch"`
	Activations int64    `json:"activations"`
	Buffers     [2]int64 `json:"buffers"`
	Total       [2]int64 `json:"total"`
}

// Part kinds, in the order of Result.Parts.
const (
	PartWeights              = "weights"
	PartModuleBuffers        = "module_buffers"
	PartCastWeights          = "cast_weights"
	PartGradients            = "gradients"
	PartOptimizer            = "optimizer"
	PartBatch                = "batch"
	PartActivations          = "activations"
	PartOutputs              = "outputs"
	PartTemporaries          = "temporaries"
	PartOptimizerTemporaries = "optimizer_temporaries"
	PartKVCache              = "kv_cache"
	PartWorkspace            = "workspace"
	PartRounding             = "rounding"
	PartFragmentation        = "fragmentation"
	PartContext              = "context"
)

// Part is one kind of memory alive at the peak.
type Part struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	// Formula is a code whose text content holds; FormulaArgs are the reader's values in it.
	Formula     string           `json:"formula"`
	FormulaArgs map[string]int64 `json:"-"`
	// Source is a code of content's list of sources.
	Source string `json:"source"`
}

// Phases are peaks of live tensor bytes.
type Phases struct {
	Forward  int64 `json:"forward"`
	Backward int64 `json:"backward,omitzero"`
	Step     int64 `json:"step,omitzero"`
}

// Phase names.
const (
	PhaseForward  = "forward"
	PhaseBackward = "backward"
	PhaseStep     = "step"
)

// Peak is the highest point of a steady iteration, as three tools would print it.
type Peak struct {
	// Live is the sum of tensor bytes.
	Live int64 `json:"live"`
	// Allocated is torch.cuda.max_memory_allocated: block sizes, cuBLAS workspace included.
	Allocated int64 `json:"allocated"`
	// Reserved is torch.cuda.max_memory_reserved of an uncapped run of Request.Steps iterations.
	Reserved int64 `json:"reserved"`
	// Device is what nvidia-smi shows: Reserved plus the CUDA context and the desktop.
	Device int64  `json:"device"`
	Phase  string `json:"phase"`
	// At is the module path, or "<loss>", "<optimizer>".
	At string `json:"at"`
}

// Interval brackets Peak.Device.
type Interval struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
	// Basis is a code whose text content holds.
	Basis string `json:"basis"`
}

// Point is one operation: Live after it, with what it allocated and what was freed before the next.
type Point struct {
	At    string `json:"at"`
	Phase string `json:"phase"`
	Live  int64  `json:"live"`
	Alloc int64  `json:"alloc"`
	Free  int64  `json:"free"`
}

// Tensor is a storage of the timeline: Born and Died are indices of its points (Born -1: there before the
// iteration; Died the number of points: there after it).
type Tensor struct {
	At, Kind   string
	Bytes      int64
	Born, Died int
}

// Segment is one cudaMalloc of the allocator, Blocks in address order.
type Segment struct {
	Bytes int64 `json:"bytes"`
	// Small: the pool of requests up to 1 MiB.
	Small  bool    `json:"small"`
	Blocks []Block `json:"blocks"`
}

// Block is a piece of a segment. Free ones have no Kind. Requested is what the tensor asked for: the rest is rounding.
type Block struct {
	Bytes     int64  `json:"bytes"`
	Requested int64  `json:"requested,omitzero"`
	Kind      string `json:"kind,omitzero"`
	At        string `json:"at,omitzero"`
}

// LayerRow is one call of a module, or a module that has parameters and is never called itself, such as
// MultiheadAttention's out_proj: Params sum to Parameters.Total.
type LayerRow struct {
	Path   string  `json:"path"`
	Type   string  `json:"type"`
	Output []int64 `json:"output,omitempty"`
	Params int64   `json:"params"`
	// Tied is the module whose parameter this one shares: it counts there, and not in Params.
	Tied string `json:"tied,omitzero"`
	// Saved counts the bytes of storages this call was the first to save for backward.
	Saved int64 `json:"saved"`
}

// Saved is a storage that autograd keeps for backward, as the tensor that the layer By was the first to save: its own
// result or what it reads.
type Saved struct {
	By, Type string
	Own      bool
	Shape    []int64
	DType    string
	Bytes    int64
}

// Budget is what the card offers, line by line from the box's figure.
type Budget struct {
	Total  int64        `json:"total"`
	Usable int64        `json:"usable"`
	Lines  []BudgetLine `json:"lines"`
}

// BudgetLine takes (negative) or gives (positive) bytes.
type BudgetLine struct {
	ID     string `json:"id"`
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"`
}

// Advice is one change, recomputed by the engine.
type Advice struct {
	Change   string `json:"change"`
	Saves    int64  `json:"saves"`
	Costs    string `json:"costs"`
	Fits     *bool  `json:"fits,omitempty"`
	MaxBatch *int64 `json:"max_batch,omitempty"`
}

// Warning is something the estimate could not know, with its place.
type Warning struct {
	Code string `json:"code"`
	// Message is filled from content by the caller.
	Message string         `json:"message,omitzero"`
	At      string         `json:"at,omitzero"`
	Args    map[string]any `json:"-"`
}

// Assumption is a constant the estimate rests on.
type Assumption struct {
	ID string `json:"id"`
	// Value in bytes; absent for what is left to the interval.
	Value *int64 `json:"value,omitempty"`
	// High is the most bytes that it can be, where a bound is known of what is left to the interval.
	High   int64  `json:"high,omitempty"`
	Source string `json:"source"`
}
