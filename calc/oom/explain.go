package oom

import (
	"encoding/json"

	"vrametre/calc/cuda"
)

// Text is a code with its arguments (bytes as int64); whoever shows it fills
// Words, which is what its JSON holds; unfilled, the code itself.
type Text struct {
	Code  string
	Args  map[string]int64
	Words string
}

// MarshalJSON writes the words, or the code where there are none yet.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.Words != "" {
		return json.Marshal(t.Words)
	}
	return json.Marshal(t.Code)
}

// Verdict codes.
const (
	VerdictUnrecognised  = "unrecognised"
	VerdictNotFatal      = "not-fatal"         // the program goes on
	VerdictLibrary       = "library"           // cuBLAS or cuDNN found no memory for itself
	VerdictPinned        = "pinned-host"       // page-locked host memory ran out
	VerdictHostFull      = "host-full"         // the computer's memory was already used up
	VerdictHostTooBig    = "host-too-big"      // one request beyond what computers have
	VerdictKVCache       = "kv-cache"          // the cache is too small for the model's length
	VerdictLimit         = "limit-set"         // a limit set for the process, not the card
	VerdictOtherProcess  = "other-process"     // others hold the card
	VerdictExceedsCard   = "request-exceeds"   // one request larger than the card
	VerdictProgram       = "program-exceeds"   // what the program needs is larger than the card
	VerdictFragmentation = "fragmentation"     // enough held, in pieces
	VerdictSingleLimit   = "single-allocation" // Intel Arc: no allocation over 4 GiB
	VerdictRefused       = "free-but-refused"  // enough was free, and yet refused
	VerdictTooBig        = "too-big-by-far"    // far more needed than there is
	VerdictGrew          = "grew"              // it ran, then failed: a longer batch, evaluation, or references kept
	VerdictCardFull      = "card-full"         // tensors fill the card; the request was the last straw
	VerdictRequestOnly   = "request-only"      // nothing but the request is told
	VerdictNamedTensor   = "named-tensor"      // the message names a tensor
	VerdictNoNumbers     = "no-numbers"        // nothing is told
)

// Advice codes, generic; what they save for a given model is the engine's to say.
const (
	AdviceBatch      = "smaller-batch"
	AdviceLength     = "shorter-input"
	AdvicePrecision  = "lower-precision"
	AdviceCheckpoint = "checkpointing"
	AdviceNoGrad     = "no-grad"
	AdviceProcesses  = "other-processes"
	AdviceRestart    = "restart"
	AdviceExpandable = "expandable-segments"
	AdviceLimit      = "raise-limit"
	AdviceDetach     = "detach-totals"
	AdviceLongest    = "longest-batch"
	AdviceHost       = "less-in-host-memory"
	AdvicePinned     = "no-pinning"
	AdviceContext    = "shorter-context"
	AdviceMore       = "whole-message"
	AdviceNothing    = "nothing-to-do"
)

// Process is another program on the card.
type Process struct {
	PID   int64 `json:"pid"`
	Bytes int64 `json:"bytes"`
}

// Explanation is what a message means. A number that it does not tell is absent.
type Explanation struct {
	Framework string `json:"framework,omitzero"`
	Device    string `json:"device,omitzero"`
	Kind      string `json:"kind"`
	GPU       *int64 `json:"gpu,omitempty"`
	Requested *int64 `json:"requested,omitempty"`
	// RequestRanges are the request sizes that Requested can stand for, widened by the printed precision.
	RequestRanges       [][2]int64  `json:"request_ranges,omitempty"`
	Total               *int64      `json:"total,omitempty"`
	Free                *int64      `json:"free,omitempty"`
	Allocated           *int64      `json:"allocated,omitempty"`
	Reserved            *int64      `json:"reserved,omitempty"`
	ReservedUnallocated *int64      `json:"reserved_unallocated,omitempty"`
	Allowed             *int64      `json:"allowed,omitempty"`
	PrivatePools        *int64      `json:"private_pools,omitempty"`
	OtherAllocations    *int64      `json:"other_allocations,omitempty"`
	Used                *int64      `json:"used,omitempty"`
	Exceeded            *int64      `json:"exceeded,omitempty"`
	TokensNeeded        *int64      `json:"tokens_needed,omitempty"`
	TokensAvailable     *int64      `json:"tokens_available,omitempty"`
	OtherProcesses      []Process   `json:"other_processes,omitempty"`
	Process             *int64      `json:"process,omitempty"`
	Verdict             Text        `json:"verdict"`
	Candidates          []Candidate `json:"candidates,omitempty"`
	Advice              []Text      `json:"advice,omitempty"`
	Warnings            []Text      `json:"warnings,omitempty"`

	Message Message `json:"-"`
}

// Explain explains the message of a text. hints may be empty.
func Explain(text string, hints Hints) Explanation {
	m := Parse(text)
	e := Explanation{Framework: m.Framework, Device: m.Device, Kind: m.Kind}
	if m.GPU >= 0 {
		e.GPU = &m.GPU
	}
	for _, f := range m.Fields {
		n := f.Bytes
		switch f.Name {
		case Requested:
			e.Requested = &n
		case Total:
			e.Total = &n
		case Free:
			e.Free = &n
		case Allocated:
			e.Allocated = &n
		case Reserved:
			e.Reserved = &n
		case ReservedUnallocated:
			e.ReservedUnallocated = &n
		case Allowed:
			e.Allowed = &n
		case PrivatePools:
			e.PrivatePools = &n
		case OtherAllocations:
			e.OtherAllocations = &n
		case Used:
			e.Used = &n
		case Exceeded:
			e.Exceeded = &n
		case TokensNeeded:
			e.TokensNeeded = &n
		case TokensAvailable:
			e.TokensAvailable = &n
		case InUse:
			if n <= unknownMemory {
				e.Process = &n
			}
		case OtherProcess:
			if n <= unknownMemory {
				e.OtherProcesses = append(e.OtherProcesses, Process{f.PID, n})
			}
		}
	}
	e.RequestRanges = m.ranges()
	if size, ok := m.Get(Requested); ok && m.Segment && len(e.RequestRanges) == 1 && e.RequestRanges[0] == [2]int64{size.Low, size.High} {
		m.warn(WarnNotSegment)
	}
	e.Candidates = decode(m, e.RequestRanges, hints)
	e.Verdict, e.Advice = verdict(m)
	for _, w := range m.Warnings {
		t := Text{Code: w}
		if w == WarnSeveral {
			t.Args = map[string]int64{"others": int64(m.Others)}
		}
		e.Warnings = append(e.Warnings, t)
	}
	e.Message = m
	return e
}

// ranges are the request sizes that the printed request can stand for.
func (m *Message) ranges() [][2]int64 {
	size, ok := m.Get(Requested)
	if !ok {
		return nil
	}
	if !m.Segment {
		return [][2]int64{{size.Low, size.High}}
	}
	return RequestRanges(size)
}

// RequestRanges inverts cuda.SegmentSize: the requests that lead to a segment
// which prints as size. A size that no segment has stands for itself.
func RequestRanges(size Size) [][2]int64 {
	var out [][2]int64
	within := func(segment int64) bool { return size.Low <= segment && segment <= size.High }
	if within(cuda.SmallBuffer) {
		out = append(out, [2]int64{1, cuda.SmallSize})
	}
	if within(cuda.LargeBuffer) {
		out = append(out, [2]int64{cuda.SmallSize + 1, cuda.MinLargeAlloc - cuda.MinBlockSize})
	}
	// Exact segments: multiples of RoundLarge from MinLargeAlloc on.
	low := max((size.Low+cuda.RoundLarge-1)/cuda.RoundLarge*cuda.RoundLarge, cuda.MinLargeAlloc)
	high := size.High / cuda.RoundLarge * cuda.RoundLarge
	if low <= high {
		from := low - cuda.RoundLarge + 1
		if low == cuda.MinLargeAlloc {
			from = cuda.MinLargeAlloc - cuda.MinBlockSize + 1 // what rounds up to 10 MiB
		}
		out = append(out, [2]int64{from, high})
	}
	if out == nil {
		out = [][2]int64{{size.Low, size.High}}
	}
	return out
}

// largestContext is the largest CUDA context measured: what a message that
// lists no processes may hide between its numbers.
func largestContext() (n int64) {
	for _, c := range cuda.ContextMeasurements() {
		n = max(n, c.Bytes)
	}
	return n
}

// others is what other programs hold at least, as far as the message tells.
func (m *Message) others() int64 {
	var listed int64
	seen := false
	for _, f := range m.Fields {
		if f.Name == OtherProcess && f.Bytes <= unknownMemory {
			listed += f.Bytes
			seen = true
		}
	}
	for _, w := range m.Warnings {
		if w == WarnOwnProcess {
			return 0
		}
	}
	if seen {
		return listed
	}
	total, hasTotal := m.Get(Total)
	free, hasFree := m.Get(Free)
	own, hasOwn := m.Get(InUse)
	if !hasOwn || own.Bytes > unknownMemory {
		own, hasOwn = m.Get(Reserved)
		own.Bytes += largestContext()
	}
	if !hasTotal || !hasFree || !hasOwn {
		return 0
	}
	return max(0, total.Bytes-free.Bytes-own.Bytes)
}

// verdict says what most likely happened. The order matters: what is certain first.
func verdict(m Message) (Text, []Text) {
	args := map[string]int64{}
	for _, f := range m.Fields {
		if f.Name != OtherProcess {
			args[f.Name] = f.Bytes
		}
	}
	say := func(code string, advice ...string) (Text, []Text) {
		t := Text{Code: code, Args: args}
		var list []Text
		for _, a := range advice {
			list = append(list, Text{Code: a})
		}
		return t, list
	}
	req, hasReq := m.Get(Requested)
	total, hasTotal := m.Get(Total)
	free, hasFree := m.Get(Free)
	alloc, hasAlloc := m.Get(Allocated)
	reserved, hasReserved := m.Get(Reserved)
	rest, hasRest := m.Get(ReservedUnallocated)
	allowed, hasAllowed := m.Get(Allowed)
	used, hasUsed := m.Get(Used)

	switch m.Kind {
	case KindUnrecognised:
		return say(VerdictUnrecognised, AdviceMore)
	case KindNotFatal:
		return say(VerdictNotFatal, AdviceNothing)
	case KindLibrary:
		return say(VerdictLibrary, AdviceProcesses, AdviceBatch, AdvicePrecision)
	case KindCPU:
		for _, w := range m.Warnings {
			if w == WarnPinned {
				return say(VerdictPinned, AdvicePinned, AdviceHost)
			}
		}
		if hasReq && req.Bytes > 64<<30 {
			return say(VerdictHostTooBig, AdviceBatch, AdviceHost)
		}
		return say(VerdictHostFull, AdviceHost, AdviceBatch)
	}
	if _, ok := m.Get(TokensNeeded); ok || m.Framework == "vllm" {
		return say(VerdictKVCache, AdviceContext, AdviceLimit)
	}
	if m.Tensor != nil {
		args["bytes"] = m.Tensor.Bytes
		return say(VerdictNamedTensor, AdviceBatch, AdviceLength, AdvicePrecision, AdviceCheckpoint)
	}
	if hasUsed && hasTotal && used.Bytes > total.Bytes {
		return say(VerdictProgram, AdviceBatch, AdviceCheckpoint, AdvicePrecision)
	}
	if len(m.Fields) == 0 {
		return say(VerdictNoNumbers, AdviceProcesses, AdviceMore)
	}
	if hasAllowed && hasReq {
		held := max(alloc.Bytes, reserved.Bytes)
		if o, ok := m.Get(OtherAllocations); ok {
			held += o.Bytes
		}
		if held+req.Bytes > allowed.Low || hasFree && free.Low > req.High {
			return say(VerdictLimit, AdviceLimit, AdviceBatch)
		}
	}
	if o := m.others(); o > 0 && hasTotal && (o > total.Bytes/4 || hasReq && o >= req.Bytes && o > reserved.Bytes) {
		args["others"] = o
		return say(VerdictOtherProcess, AdviceProcesses, AdviceRestart)
	}
	if hasReq && hasTotal && req.Low > total.High {
		return say(VerdictExceedsCard, AdviceBatch, AdviceLength, AdvicePrecision)
	}
	// A rest is worth blaming when it would nearly have held the request and
	// is a part of the card that counts.
	if hasReq && hasRest && rest.High >= req.Low/4*3 && (!hasTotal || rest.Bytes >= total.Bytes/20) && (!hasFree || free.High+rest.High >= req.Low) {
		return say(VerdictFragmentation, AdviceExpandable, AdviceBatch)
	}
	if m.Device == "xpu" && hasReq && req.Low > 4<<30 {
		return say(VerdictSingleLimit, AdviceBatch, AdviceLength, AdvicePrecision)
	}
	if hasReq && hasFree && free.Low > req.High {
		return say(VerdictRefused, AdviceRestart, AdviceProcesses)
	}
	if hasReq && hasTotal && hasReserved && !hasFree && reserved.High+req.High < total.Low/10*9 {
		return say(VerdictRefused, AdviceRestart, AdviceProcesses)
	}
	if hasReq && hasTotal && (req.Bytes >= total.Bytes/2 || hasAlloc && alloc.Bytes+req.Bytes >= total.Bytes/2*3) {
		return say(VerdictTooBig, AdviceBatch, AdviceLength, AdvicePrecision, AdviceCheckpoint)
	}
	if !hasTotal && !hasAlloc && !hasFree {
		return say(VerdictRequestOnly, AdviceBatch, AdvicePrecision)
	}
	if m.Context.Ran {
		return say(VerdictGrew, AdviceLongest, AdviceDetach, AdviceNoGrad)
	}
	return say(VerdictCardFull, AdviceBatch, AdvicePrecision, AdviceCheckpoint)
}
