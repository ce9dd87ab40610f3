// Package oom reads out-of-memory messages of PyTorch and other frameworks and
// explains them: every number with the range that its printing leaves, the
// requests that the failed segment can stand for, what most likely happened,
// and the tensors that the request can be. It returns codes and arguments; the
// words are the caller's. It does no I/O and reads no clock.
package oom

import (
	"math"
	"slices"
	"strings"
)

// Kinds of Message.
const (
	KindGPU          = "gpu-out-of-memory"
	KindCPU          = "cpu-out-of-memory"
	KindLibrary      = "library-alloc-failed" // cuBLAS, cuDNN: an out-of-memory error in disguise
	KindNotFatal     = "not-fatal"
	KindUnrecognised = "unrecognised"
)

// Names of Field.
const (
	Requested           = "requested"            // what was asked: a segment where Message.Segment, else the request itself
	Total               = "total"                // the device's capacity
	Free                = "free"                 // free on the device, for every process
	Allocated           = "allocated"            // in live tensors
	Reserved            = "reserved"             // held by the framework
	ReservedUnallocated = "reserved_unallocated" // held, not in tensors
	Allowed             = "allowed"              // limit set for this process
	PrivatePools        = "private_pools"        // part of allocated, in CUDA graphs
	InUse               = "process"              // this process, context included
	OtherProcess        = "other_process"        // one per process
	OtherAllocations    = "other_allocations"    // MPS: outside PyTorch
	Used                = "used"                 // XLA: what the program needs
	Exceeded            = "exceeded"             // XLA: by how much
	TokensNeeded        = "tokens_needed"        // vLLM: model length, in tokens
	TokensAvailable     = "tokens_available"     // vLLM: cache, in tokens
)

// Field is a number of the message, with its place in the text.
type Field struct {
	Name string
	Size
	Start, End int
	// PID is the process of OtherProcess.
	PID int64
}

// Tensor is one that the message names.
type Tensor struct {
	Shape []int64
	DType string
	Bytes int64 // 0: dtype unknown, or too large to count
}

// Message is one out-of-memory message.
type Message struct {
	// Framework and Device are codes: "pytorch", "tensorflow"; "cuda", "rocm", "xpu", "mps", "cpu", "tpu"; empty: unknown.
	Framework, Device, Kind string
	// GPU is the device's index; -1: not told.
	GPU    int64
	Fields []Field
	// Segment says that Requested is a segment of a caching allocator, not the request.
	Segment bool
	Tensor  *Tensor
	// Warnings are codes of Warning.
	Warnings []string
	// Start and End are the message's place in the text.
	Start, End int
	// Others counts further messages in the text.
	Others int
	// Context weighs hints of the text around the message, for its candidates.
	Context Context

	classOnly bool // the exception's class, which stands before the message proper
}

// Warning codes.
const (
	WarnCut           = "cut"                // the message lacks its beginning or its end
	WarnWSL           = "wsl-process-memory" // a process's memory was not available: 17179869184 GiB
	WarnOwnProcess    = "own-process-by-pid" // the only "other" process is probably this one, seen from a container
	WarnPinned        = "pinned-host-memory" // not the GPU's memory but page-locked host memory
	WarnMaybeHarmless = "maybe-not-fatal"    // often only an attempt, after which a smaller one succeeds
	WarnSeveral       = "several-messages"   // the text holds more messages; the last of the richest is shown
	WarnNotSegment    = "not-a-segment"      // the request is no multiple of 2 MiB: another allocator, or an exact figure
	WarnRanBefore     = "ran-before"         // the text shows that training had run for some steps
)

// Get returns the first field of a name.
func (m *Message) Get(name string) (Size, bool) {
	for _, f := range m.Fields {
		if f.Name == name {
			return f.Size, true
		}
	}
	return Size{}, false
}

func (m *Message) warn(code string) {
	if !slices.Contains(m.Warnings, code) {
		m.Warnings = append(m.Warnings, code)
	}
}

// maxMessages bounds how many messages of one text are read, from its end.
const maxMessages = 256

// Parse finds the message of a text: a line, a traceback, a whole log. Of
// several it takes the one that tells most, the last among equals. Time is
// linear in the text, of which the last 8 MiB are read.
func Parse(text string) Message {
	q := squeeze(text)
	best := Message{Kind: KindUnrecognised, GPU: -1}
	found := 0
	from := len(q.s) // messages starting at or after it are read already
	for i := len(q.hits) - 1; i >= 0 && found < maxMessages; i-- {
		h := q.hits[i]
		if h.end > from {
			continue
		}
		m, start, end, ok := q.message(h)
		if !ok {
			continue
		}
		if m.classOnly && found > 0 && from-end < 40 {
			from = start
			continue
		}
		found++
		from = start
		m.Start, m.End = q.orig(start), q.orig(end-1)+1
		if rank(m) > rank(best) {
			m.Context = q.context(start, end)
			best = m
		}
	}
	if found > 1 {
		best.Others = found - 1
		best.warn(WarnSeveral)
	}
	if best.Context.Ran {
		best.warn(WarnRanBefore)
	}
	return best
}

// rank orders messages by how much they tell.
func rank(m Message) int {
	r := 0
	switch m.Kind {
	case KindUnrecognised:
		return -1
	case KindNotFatal:
		r = 0
	case KindLibrary:
		r = 100
	default:
		r = 200
	}
	if m.Tensor != nil {
		r += 50
	}
	return r + min(len(m.Fields), 40)
}

// message reads the message around a hit and tells its range.
func (q *squeezed) message(h hit) (m Message, start, end int, ok bool) {
	m.GPU = -1
	s := q.s
	word := h.end - len(h.word)
	before, after := s[max(0, word-200):word], s[h.end:min(len(s), h.end+400)]
	start, end = word, h.end
	switch h.word {
	case "outofmemory":
		switch {
		case strings.HasSuffix(before, "cudaerror:") || strings.HasSuffix(before, "hiperror:"):
			m.Framework, m.Device, m.Kind = "pytorch", device(before), KindGPU
			start = word - len("cudaerror:")
		case strings.HasSuffix(before, "mpsbackend"):
			start = word - len("mpsbackend")
			return q.mps(start)
		case (strings.HasSuffix(before, "cuda") || strings.HasSuffix(before, "hip") || strings.HasSuffix(before, "xpu")) && !strings.HasPrefix(after, "error"):
			return q.pytorch(word)
		case strings.HasSuffix(before, "wouldexceedallowedmemory.(") && strings.HasPrefix(after, ")"):
			return q.mallocAsync(word)
		case strings.HasSuffix(before, "cudaruntimeerror(2):") || strings.HasSuffix(before, "error=2:"):
			m.Framework, m.Device, m.Kind = "pytorch", "cuda", KindGPU
			if strings.Contains(after, "hostallocator") && strings.Index(after, "hostallocator") < 120 {
				m.Kind, m.Device = KindCPU, "cpu"
				m.warn(WarnPinned)
			}
			start = word - len("error=2:")
			if strings.HasSuffix(before, "(2):") {
				start = word - len("cudaruntimeerror(2):")
			}
		case strings.HasSuffix(before, "resource_exhausted:") || strings.HasSuffix(before, "xlaruntimeerror:"):
			m.Framework, m.Kind = "jax", KindGPU
			if i := strings.Index(after, "whiletryingtoallocate"); i == 0 {
				end = q.request(&m, h.end+len("whiletryingtoallocate"), len(units))
			}
			start = word - len("resource_exhausted:")
		case strings.HasSuffix(before, "ran"):
			return q.ranOut(word)
		case strings.HasSuffix(before, "allocating") || strings.HasPrefix(after, "allocating"):
			return q.cupy(h)
		case strings.HasPrefix(after, "erroron"):
			return q.paddle(word)
		case strings.HasPrefix(after, ":killedprocess"):
			m.Framework, m.Device, m.Kind = "linux", "cpu", KindCPU
		case strings.HasSuffix(before, "error==cudasuccess(2vs.0)"):
			m.Framework, m.Device, m.Kind = "caffe", "cuda", KindGPU
			start = word - len("error==cudasuccess(2vs.0)")
		case strings.HasSuffix(before, "cudamallocfailed:"):
			return q.ggml(word)
		case strings.HasSuffix(before, "cuda_error_out_of_memory:"):
			return q.streamExecutor(word)
		case strings.HasSuffix(before, "hiperror"):
			m.Framework, m.Device, m.Kind = "", "rocm", KindGPU
		case strings.HasSuffix(before, "ofdevicememory("):
			return q.theano(word)
		case strings.HasPrefix(after, "error"):
			m.classOnly = true
			switch {
			case strings.HasSuffix(before, "torch.cuda.") || strings.HasSuffix(before, "torch.") || strings.HasSuffix(before, "torch.xpu."):
				m.Framework, m.Kind = "pytorch", KindGPU
			case strings.HasSuffix(before, "cupy.cuda.memory."):
				m.Framework, m.Device, m.Kind = "cupy", "cuda", KindGPU
			default:
				return m, 0, 0, false
			}
		case gpuNearby(before[max(0, len(before)-80):]) || gpuNearby(after[:min(len(after), 80)]):
			m.Device, m.Kind = "", KindGPU
		default:
			return m, 0, 0, false
		}
		return m, start, end, true

	case "out_of_memory":
		if strings.HasSuffix(before, "cuda_error_") {
			return q.streamExecutor(word)
		}
	case "capac":
		if strings.HasSuffix(before, "total") {
			return q.cut(h)
		}
	case "withoom":
		return q.warning2026(word)
	case "kvcache":
		return q.vllm(word)
	case "cudnn":
		if f := "unabletofindavalid"; strings.HasSuffix(before, f) && strings.HasPrefix(after, "algorithm") {
			return Message{Framework: "pytorch", Device: "cuda", Kind: KindLibrary, GPU: -1}, word - len(f), h.end + len("algorithm"), true
		}
		if strings.HasPrefix(after, "_status_not_supported") {
			return Message{Framework: library(before), Device: "cuda", Kind: KindLibrary, GPU: -1}, word, h.end + len("_status_not_supported"), true
		}
	case "alloc":
		switch {
		case strings.HasPrefix(after, "ation") && strings.HasSuffix(before, "cudaerrormemory"):
			return Message{Device: "cuda", Kind: KindGPU, GPU: -1}, word - len("cudaerrormemory"), h.end + len("ation"), true
		case strings.HasPrefix(after, "_failed") && (strings.HasSuffix(before, "_status_") || strings.HasSuffix(before, "cufft_")):
			m = Message{Framework: library(before + after), Device: "cuda", Kind: KindLibrary, GPU: -1}
			if i := strings.Index(after, "gpu="); i >= 0 && i < 60 {
				if n, e, ok := q.count(h.end + i + 4); ok {
					m.GPU, end = n, e
				}
			}
			for start > 0 && (q.s[start-1] == '_' || 'a' <= q.s[start-1] && q.s[start-1] <= 'z') && !q.gapAt(start) {
				start--
			}
			return m, start, max(end, h.end+len("_failed")), true
		case strings.HasSuffix(before, "oomwhen") && strings.HasPrefix(after, "atingtensorwithshape["):
			return q.tensorflow(word)
		case strings.HasSuffix(before, "youtriedto") && strings.HasPrefix(after, "ate"):
			return q.cpu(word)
		case strings.HasSuffix(before, "failedto") && strings.HasPrefix(after, "atememoryforrequestedbufferofsize"):
			m = Message{Framework: "onnxruntime", Kind: KindGPU, GPU: -1, Device: "cuda"}
			end = q.request(&m, h.end+len("atememoryforrequestedbufferofsize"), 0)
			return m, word - len("failedto"), end, true
		case (strings.HasSuffix(before, "failedto") || strings.HasSuffix(before, "unableto")) && strings.HasPrefix(after, "ate"):
			return q.failedToAllocate(word)
		case strings.HasPrefix(after, "atedbypytorch,") && strings.HasSuffix(before, "is"),
			strings.HasPrefix(after, "ated;") && strings.HasSuffix(before, "already"):
			return q.cut(h)
		case strings.HasSuffix(before, "triedto") && strings.HasPrefix(after, "ate"):
			return q.cut(h)
		}
	}
	return m, 0, 0, false
}

// request reads a size at i as the request: with one of the first n units, or plain bytes.
func (q *squeezed) request(m *Message, i, n int) (end int) {
	for i < len(q.s) && q.s[i] == '(' {
		i++
	}
	if s, end, ok := q.size(i, n); ok {
		m.Fields = append(m.Fields, q.field(Requested, s, i, end))
		return end
	}
	if b, end, ok := q.count(i); ok {
		m.Fields = append(m.Fields, q.field(Requested, Size{b, b, b}, i, end))
		return end
	}
	return i
}

func (q *squeezed) field(name string, s Size, i, end int) Field {
	return Field{Name: name, Size: s, Start: q.orig(i), End: q.orig(end-1) + 1}
}

func device(before string) string {
	if strings.HasSuffix(before, "hip") || strings.HasSuffix(before, "hiperror:") {
		return "rocm"
	}
	if strings.HasSuffix(before, "xpu") {
		return "xpu"
	}
	return "cuda"
}

func gpuNearby(s string) bool {
	return strings.Contains(s, "cuda") || strings.Contains(s, "gpu") || strings.Contains(s, "hip") || strings.Contains(s, "vram")
}

// library is the framework that a failing CUDA library was called from.
func library(around string) string {
	for _, f := range [][2]string{
		{"whencalling", "pytorch"}, {"torch.", "pytorch"}, {"errorincudnn", "torch7"}, {"cublasfailure", "cntk"},
		{"couldnotcreatecudnnhandle", "tensorflow"}, {"tensorflow", "tensorflow"}, {"runtimeerror:", "pytorch"},
	} {
		if strings.Contains(around, f[0]) {
			return f[1]
		}
	}
	return ""
}

// pytorch reads the caching allocator's message, all versions since 0.4.
// word is where "out of memory" starts.
func (q *squeezed) pytorch(word int) (m Message, start, end int, ok bool) {
	m = Message{Framework: "pytorch", Kind: KindGPU, GPU: -1, Segment: true}
	m.Device = device(q.s[max(0, word-4):word])
	start = word - len(map[string]string{"cuda": "cuda", "rocm": "hip", "xpu": "xpu"}[m.Device])
	end = q.pytorchFields(&m, word+len("outofmemory"))
	q.finish(&m)
	return m, start, end, true
}

// cut reads a message whose beginning is missing, from a hit inside it. A
// whole one is read from its own beginning.
func (q *squeezed) cut(h hit) (m Message, start, end int, ok bool) {
	const (
		reach = 240
		whole = 4096 // a list of many processes
		limit = 1024 // its looking back is the costly part of a text that only repeats words of messages
	)
	if q.cuts++; q.cuts > limit {
		return m, 0, 0, false
	}
	at := h.end - len(h.word)
	if h.oom > 0 && at-h.oom < whole {
		word := h.oom - len("outofmemory")
		before := q.s[max(0, word-10):word]
		if strings.HasSuffix(before, "mpsbackend") {
			return m, 0, 0, false
		}
		if strings.HasSuffix(before, "cuda") || strings.HasSuffix(before, "hip") || strings.HasSuffix(before, "xpu") {
			if m, start, end, ok = q.pytorch(word); end >= at {
				return m, start, end, ok
			}
		}
	}
	m = Message{Framework: "pytorch", Device: "cuda", Kind: KindGPU, GPU: -1, Segment: true}
	start = at
	from := max(0, at-reach)
	for _, first := range []string{"triedtoallocate", "triedto", "gpu", "ofwhich", "oftheallocatedmemory"} {
		if i := strings.LastIndex(q.s[from:at], first); i >= 0 {
			start = min(start, from+i)
		}
	}
	end = q.pytorchFields(&m, start)
	if len(m.Fields) == 0 {
		return m, 0, 0, false
	}
	if strings.Contains(q.s[start:min(len(q.s), end+400)], "hip") {
		m.Device = "rocm"
	}
	m.warn(WarnCut)
	q.finish(&m)
	return m, start, end, true
}

// pytorchFields reads sizes from i on and names each by the words around it.
func (q *squeezed) pytorchFields(m *Message, i int) (end int) {
	const apart = 240 // two numbers of one message are not further apart
	end = i
	for last := i; i < len(q.s) && i-last < apart; {
		if !q.begins(i) {
			if i > last+40 && strings.HasPrefix(q.s[i:], "outofmemory") {
				break // the next message
			}
			i++
			continue
		}
		s, next, ok := q.size(i, multiLetterUnits)
		if !ok {
			if n, e, ok := q.count(i); ok && m.GPU < 0 && strings.HasSuffix(q.s[:i], "gpu") && strings.IndexByte(";h", at(q.s, e)) >= 0 {
				m.GPU = n
			}
			i++
			continue
		}
		f := q.field("", s, i, next)
		f.Name, f.PID = fieldName(q.s[max(0, i-60):i], q.s[next:min(len(q.s), next+40)])
		i = next
		if f.Name == "" || f.Bytes == math.MaxInt64 && slices.Contains([]string{Total, Free, Allocated, Reserved, ReservedUnallocated}, f.Name) {
			continue // no number of a device
		}
		if f.Name != OtherProcess {
			if _, twice := m.Get(f.Name); twice {
				break // another message
			}
		}
		m.Fields = append(m.Fields, f)
		last, end = i, i
		if len(m.Fields) >= 64 {
			break
		}
	}
	return end
}

func at(s string, i int) byte {
	if 0 <= i && i < len(s) {
		return s[i]
	}
	return 0
}

// fieldName tells what a number of PyTorch's message is.
func fieldName(before, after string) (name string, pid int64) {
	switch {
	case strings.HasSuffix(before, "triedtoallocate"):
		return Requested, 0
	case strings.HasPrefix(after, "totalcapac"), strings.HasSuffix(before, "totalcapacityof"), strings.HasSuffix(before, "totalcapactyof"):
		return Total, 0
	case strings.HasSuffix(before, "ofwhich"), strings.HasPrefix(after, "free;"), strings.HasPrefix(after, "isfree"):
		return Free, 0
	case strings.HasPrefix(after, "alreadyallocated"), strings.HasSuffix(before, "oftheallocatedmemory"), strings.HasPrefix(after, "isallocatedbypytorch"):
		return Allocated, 0
	case strings.HasPrefix(after, "cached"), strings.HasPrefix(after, "isreservedbypytorchbut"):
		return ReservedUnallocated, 0
	case strings.HasPrefix(after, "reservedintotal"):
		return Reserved, 0
	case strings.HasPrefix(after, "allowed"):
		return Allowed, 0
	case strings.HasPrefix(after, "allocatedinprivatepools"):
		return PrivatePools, 0
	case strings.HasPrefix(after, "memoryinuse"):
		if strings.HasSuffix(before, "thisprocesshas") {
			return InUse, 0
		}
		if p, ok := strings.CutSuffix(before, "has"); ok {
			i := len(p)
			for i > 0 && isDigit(p[i-1]) {
				i--
			}
			if strings.HasSuffix(p[:i], "process") && i < len(p) {
				return OtherProcess, toSize(p[i:], 0, 0).Bytes
			}
		}
	case strings.HasSuffix(before, "and") && strings.HasPrefix(after, "isreserved"):
		return ReservedUnallocated, 0
	}
	return "", 0
}

// unknownMemory is more than any device has: what is printed where the driver
// does not know, as 17179869184 GiB under WSL, or where no limit is set.
const unknownMemory = 1 << 50

// finish completes a message of PyTorch with what its own numbers imply.
func (q *squeezed) finish(m *Message) {
	alloc, hasAlloc := m.Get(Allocated)
	reserved, hasReserved := m.Get(Reserved)
	rest, hasRest := m.Get(ReservedUnallocated)
	switch {
	case hasAlloc && hasRest && !hasReserved:
		m.Fields = append(m.Fields, Field{Name: Reserved, Size: add(alloc, rest)})
	case hasAlloc && hasReserved && !hasRest:
		m.Fields = append(m.Fields, Field{Name: ReservedUnallocated, Size: sub(reserved, alloc)})
	}
	var others []Field
	for _, f := range m.Fields {
		if f.Name == OtherProcess {
			if f.Bytes > unknownMemory {
				m.warn(WarnWSL)
				continue
			}
			others = append(others, f)
		}
	}
	own, hasOwn := m.Get(InUse)
	if own.Bytes > unknownMemory {
		m.warn(WarnWSL)
	}
	if r, ok := m.Get(Reserved); ok && !hasOwn && len(others) == 1 {
		// In a container a process does not know its own number: the only
		// one listed, with this process's memory and a context, is itself.
		if d := others[0].High - r.Low; d >= 0 && others[0].Low-r.High < 3<<30 {
			m.warn(WarnOwnProcess)
		}
	}
	if _, hasRequest := m.Get(Requested); !hasRequest && len(m.Fields) > 0 || hasAlloc && !hasReserved && !hasRest {
		m.warn(WarnCut)
	}
}

func add(a, b Size) Size {
	if a.High > math.MaxInt64-b.High {
		return Size{math.MaxInt64, math.MaxInt64, math.MaxInt64}
	}
	return Size{a.Bytes + b.Bytes, a.Low + b.Low, a.High + b.High}
}

func sub(a, b Size) Size {
	return Size{max(0, a.Bytes-b.Bytes), max(0, a.Low-b.High), max(0, a.High-b.Low)}
}

// named reads the sizes after each label, in any order, within reach of i.
func (q *squeezed) named(m *Message, i, reach int, labels [][2]string) (end int) {
	end = i
	s := q.s[i:min(len(q.s), i+reach)]
	for _, l := range labels {
		k := strings.Index(s, l[0])
		if k < 0 {
			continue
		}
		at := i + k + len(l[0])
		if size, e, ok := q.size(at, multiLetterUnits); ok {
			m.Fields = append(m.Fields, q.field(l[1], size, at, e))
			end = max(end, e)
		} else if n, e, ok := q.count(at); ok {
			m.Fields = append(m.Fields, q.field(l[1], Size{n, n, n}, at, e))
			end = max(end, e)
		}
	}
	return end
}

func (q *squeezed) mps(start int) (m Message, from, end int, ok bool) {
	m = Message{Framework: "pytorch", Device: "mps", Kind: KindGPU, GPU: -1}
	end = q.named(&m, start, 300, [][2]string{
		{"triedtoallocate", Requested}, {"mpsallocated:", Allocated}, {"otherallocations:", OtherAllocations}, {"maxallowed:", Allowed},
	})
	return m, start, max(end, start+len("mpsbackendoutofmemory")), true
}

// mallocAsync is the message of PyTorch's cudaMallocAsync back end.
func (q *squeezed) mallocAsync(word int) (m Message, start, end int, ok bool) {
	m = Message{Framework: "pytorch", Device: "cuda", Kind: KindGPU, GPU: -1}
	end = q.named(&m, word, 400, [][2]string{
		{"requested:", Requested}, {"currentlyallocated:", Allocated}, {"devicelimit:", Total}, {"free(accordingtocuda):", Free}, {"memoryfraction):", Allowed},
	})
	m.Fields = slices.DeleteFunc(m.Fields, func(f Field) bool { return f.Name == Allowed && f.Bytes > unknownMemory }) // no limit set
	if i := strings.LastIndex(q.s[max(0, word-80):word], "ondevice"); i >= 0 {
		if n, _, ok := q.count(max(0, word-80) + i + len("ondevice")); ok {
			m.GPU = n
		}
	}
	return m, max(0, word-len("wouldexceedallowedmemory.(")), max(end, word+len("outofmemory")), true
}

// warning2026 is the line that PyTorch logs at the failing cudaMalloc.
func (q *squeezed) warning2026(at int) (m Message, start, end int, ok bool) {
	const head = "memoryallocationfailed"
	if !strings.HasSuffix(q.s[:at], head) {
		return m, 0, 0, false
	}
	start = at - len(head)
	m = Message{Framework: "pytorch", Device: "cuda", Kind: KindGPU, GPU: -1, Segment: true}
	end = q.named(&m, at, 200, [][2]string{{"tryingtoallocate", Requested}, {"free:", Free}, {"total:", Total}})
	if i := strings.Index(q.s[at:min(len(q.s), at+60)], "ondevice"); i >= 0 {
		if n, _, ok := q.count(at + i + len("ondevice")); ok {
			m.GPU = n
		}
	}
	return m, start, max(end, at+len("withoom")), true
}

func (q *squeezed) cpu(word int) (m Message, start, end int, ok bool) {
	m = Message{Framework: "pytorch", Device: "cpu", Kind: KindCPU, GPU: -1}
	end = q.request(&m, word+len("allocate"), len(units))
	return m, word - len("youtriedto"), end, len(m.Fields) > 0
}

// ranOut is TensorFlow's BFC allocator ("Allocator (GPU_0_bfc) ran out of
// memory trying to allocate S") or XLA's compiler ("Ran out of memory in memory space hbm").
func (q *squeezed) ranOut(word int) (m Message, start, end int, ok bool) {
	start = word - len("ran")
	tail := word + len("outofmemory")
	after := q.s[tail:min(len(q.s), tail+600)]
	if strings.HasPrefix(after, "inmemoryspace") {
		m = Message{Framework: "jax", Device: "tpu", Kind: KindGPU, GPU: -1}
		i := tail + len("inmemoryspace")
		for _, l := range [][2]string{{"used", Used}, {"of", Total}, {"capacityby", Exceeded}} {
			k := strings.Index(q.s[i:min(len(q.s), i+80)], l[0])
			if k < 0 {
				break
			}
			at := i + k + len(l[0])
			size, e, ok := q.size(at, len(units))
			if !ok {
				break
			}
			m.Fields = append(m.Fields, q.field(l[1], size, at, e))
			i = e
		}
		return m, start, max(i, tail), true
	}
	if i := strings.Index(after, "tryingtoallocate"); i == 0 {
		m = Message{Framework: "tensorflow", Device: "cuda", Kind: KindGPU, GPU: -1}
		end = q.request(&m, tail+len("tryingtoallocate"), len(units))
		if strings.Contains(after, "notafailure") {
			m.Kind = KindNotFatal
			end = tail + strings.Index(after, "notafailure") + len("notafailure")
		}
		if i := strings.LastIndex(q.s[max(0, start-40):start], "allocator(gpu_"); i >= 0 {
			if n, _, ok := q.count(max(0, start-40) + i + len("allocator(gpu_")); ok {
				m.GPU = n
			}
		}
		return m, start, end, true
	}
	return m, 0, 0, false
}

// cupy is "Out of memory allocating B bytes (allocated so far: B bytes, limit set to: B bytes)".
func (q *squeezed) cupy(h hit) (m Message, start, end int, ok bool) {
	m = Message{Framework: "cupy", Device: "cuda", Kind: KindGPU, GPU: -1}
	start = h.end - len(h.word)
	end = q.named(&m, h.end, 160, [][2]string{{"allocating", Requested}, {"allocatedsofar:", Allocated}, {"limitsetto:", Allowed}})
	return m, start, end, end > h.end
}

func (q *squeezed) paddle(word int) (m Message, start, end int, ok bool) {
	m = Message{Framework: "paddle", Device: "cuda", Kind: KindGPU, GPU: -1}
	end = q.named(&m, word, 300, [][2]string{{"cannotallocate", Requested}, {"availablememoryisonly", Free}})
	if i := strings.Index(q.s[word:min(len(q.s), word+40)], "ongpu"); i >= 0 {
		if n, _, ok := q.count(word + i + len("ongpu")); ok {
			m.GPU = n
		}
	}
	return m, word, max(end, word+len("outofmemory")), true
}

// ggml is llama.cpp's "allocating S on device N: cudaMalloc failed: out of
// memory"; other programs write only its end.
func (q *squeezed) ggml(word int) (m Message, start, end int, ok bool) {
	m = Message{Device: "cuda", Kind: KindGPU, GPU: -1}
	from := max(0, word-120)
	start, end = word-len("cudamallocfailed:"), word+len("outofmemory")
	head := q.s[from:word]
	if strings.Contains(q.s[max(0, word-400):min(len(q.s), word+200)], "mxnet") {
		m.Framework = "mxnet"
	}
	if i := strings.LastIndex(head, "allocating"); i >= 0 {
		m.Framework = "llama.cpp"
		start = from + i
		q.request(&m, from+i+len("allocating"), len(units))
	}
	if i := strings.LastIndex(head, "ondevice"); i >= 0 {
		if n, _, ok := q.count(from + i + len("ondevice")); ok {
			m.GPU = n
		}
	}
	return m, start, end, true
}

// streamExecutor is TensorFlow's "failed to allocate 2.41G (2588370176 bytes)
// from device: CUDA_ERROR_OUT_OF_MEMORY", often the first of several attempts.
func (q *squeezed) streamExecutor(word int) (m Message, start, end int, ok bool) {
	m = Message{Device: "cuda", Kind: KindGPU, GPU: -1}
	end = word + len("outofmemory")
	from := max(0, word-120)
	i := strings.LastIndex(q.s[from:word], "failedtoallocate")
	if i < 0 {
		return m, word, end, true // the driver's code alone
	}
	start = from + i
	m.Framework = "tensorflow"
	k := start + len("failedtoallocate")
	if p := strings.IndexByte(q.s[k:word], '('); p >= 0 { // the exact figure is in the brackets
		if _, _, ok := q.size(k+p+1, len(units)); ok {
			k += p
		}
	}
	q.request(&m, k, len(units))
	m.warn(WarnMaybeHarmless)
	return m, start, end, true
}

func (q *squeezed) theano(word int) (m Message, start, end int, ok bool) {
	from := max(0, word-80)
	i := strings.LastIndex(q.s[from:word], "errorallocating")
	if i < 0 {
		return m, 0, 0, false
	}
	start = from + i
	m = Message{Framework: "theano", Device: "cuda", Kind: KindGPU, GPU: -1}
	q.request(&m, start+len("errorallocating"), len(units))
	end = word + len("outofmemory")
	k := end
	for range 2 {
		for k < len(q.s) && k < word+120 && !isDigit(q.s[k]) {
			k++
		}
		s, e, ok := q.size(k, len(units))
		if !ok {
			break
		}
		switch rest := q.s[e:]; {
		case strings.HasPrefix(rest, "free"):
			m.Fields = append(m.Fields, q.field(Free, s, k, e))
		case strings.HasPrefix(rest, "total"):
			m.Fields = append(m.Fields, q.field(Total, s, k, e))
		}
		k, end = e, e
	}
	return m, start, end, true
}

// failedToAllocate is llama.cpp's host buffer or numpy's array.
func (q *squeezed) failedToAllocate(word int) (m Message, start, end int, ok bool) {
	start = word - len("failedto")
	i := word + len("allocate")
	after := q.s[i:min(len(q.s), i+200)]
	before := q.s[max(0, start-80):start]
	m = Message{GPU: -1}
	switch {
	case strings.HasPrefix(after, "bufferofsize"):
		m.Framework, m.Device, m.Kind = "llama.cpp", "cpu", KindCPU
		if strings.Contains(before, "cuda_buffer") {
			m.Device, m.Kind = "cuda", KindGPU
		}
		end = q.request(&m, i+len("bufferofsize"), len(units))
	case strings.HasPrefix(after, "cuda") && strings.Contains(after[:min(len(after), 30)], "bufferofsize"):
		m.Framework, m.Device, m.Kind = "llama.cpp", "cuda", KindGPU
		if n, _, ok := q.count(i + len("cuda")); ok {
			m.GPU = n
		}
		end = q.request(&m, i+strings.Index(after, "bufferofsize")+len("bufferofsize"), len(units))
	default:
		s, e, ok := q.size(i, multiLetterUnits)
		if !ok || !strings.HasPrefix(q.s[e:], "foranarraywithshape") {
			return m, 0, 0, false
		}
		m.Framework, m.Device, m.Kind = "numpy", "cpu", KindCPU
		m.Fields = append(m.Fields, q.field(Requested, s, i, e))
		shape := e + len("foranarraywithshape")
		if shape < len(q.s) && q.s[shape] == '(' {
			dims, k := q.shape(shape+1, ')')
			m.Tensor = &Tensor{Shape: dims}
			if rest := q.s[k:min(len(q.s), k+40)]; strings.HasPrefix(rest, "anddatatype") {
				m.Tensor.setDType(rest[len("anddatatype"):])
			}
			e = k
		}
		end = e
	}
	return m, start, end, len(m.Fields) > 0
}

// tensorflow is "OOM when allocating tensor with shape[...] and type T on D by allocator N".
func (q *squeezed) tensorflow(word int) (m Message, start, end int, ok bool) {
	start = word - len("oomwhen")
	m = Message{Framework: "tensorflow", Device: "cuda", Kind: KindGPU, GPU: -1}
	dims, k := q.shape(word+len("allocatingtensorwithshape["), ']')
	m.Tensor = &Tensor{Shape: dims}
	end = k
	rest := q.s[k:min(len(q.s), k+200)]
	if t, ok := strings.CutPrefix(rest, "andtype"); ok {
		m.Tensor.setDType(t)
	}
	if i := strings.Index(rest, "device:"); i >= 0 {
		d := rest[i+len("device:"):]
		if strings.HasPrefix(d, "cpu") {
			m.Device, m.Kind = "cpu", KindCPU
		}
		if n, e, ok := q.count(k + i + len("device:gpu:")); ok {
			m.GPU = n
			if m.Kind == KindCPU {
				m.GPU = -1
			}
			end = e
		}
	}
	return m, start, end, true
}

// shape reads dimensions up to the closing bracket.
func (q *squeezed) shape(i int, closing byte) (dims []int64, end int) {
	for len(dims) < 16 {
		n, e, ok := q.count(i)
		if ok {
			dims = append(dims, n)
			i = e
		}
		switch at(q.s, i) {
		case ',':
			i++
		case closing:
			return dims, i + 1
		default:
			return dims, i
		}
	}
	return dims, i
}

// dtypes by the names of TensorFlow, numpy and PyTorch.
var dtypes = map[string]struct {
	name string
	size int64
}{
	"float": {"float32", 4}, "float32": {"float32", 4}, "half": {"float16", 2}, "float16": {"float16", 2}, "bfloat16": {"bfloat16", 2},
	"double": {"float64", 8}, "float64": {"float64", 8}, "int32": {"int32", 4}, "int64": {"int64", 8}, "int16": {"int16", 2},
	"int8": {"int8", 1}, "uint8": {"uint8", 1}, "bool": {"bool", 1}, "complex64": {"complex64", 8}, "complex128": {"complex128", 16},
}

// setDType takes the longest name of dtypes that s begins with, if any.
func (t *Tensor) setDType(s string) {
	found := ""
	for name := range dtypes {
		if strings.HasPrefix(s, name) && len(name) > len(found) {
			found = name
		}
	}
	if found == "" {
		return
	}
	t.DType = dtypes[found].name
	t.Bytes = dtypes[found].size
	for _, n := range t.Shape {
		if n != 0 && t.Bytes > math.MaxInt64/n {
			t.Bytes = 0
			return
		}
		t.Bytes *= n
	}
}

func (q *squeezed) vllm(word int) (m Message, start, end int, ok bool) {
	m = Message{Framework: "vllm", Device: "cuda", Kind: KindGPU, GPU: -1}
	from := max(0, word-200)
	head := q.s[from:word]
	after := q.s[word+len("kvcache") : min(len(q.s), word+200)]
	switch {
	case strings.HasSuffix(head, "thatcanbestoredin") && strings.HasPrefix(after, "("):
		if n, e, ok := q.count(word + len("kvcache(")); ok {
			m.Fields = append(m.Fields, q.field(TokensAvailable, Size{n, n, n}, word+len("kvcache("), e))
			end = e
		}
	case strings.HasPrefix(after, "isneeded"):
		i := strings.LastIndexByte(head, '(')
		if i < 0 {
			return m, 0, 0, false
		}
		q.request(&m, from+i, len(units))
		end = word + len("kvcacheisneeded")
		if k := strings.Index(after, "availablekvcachememory("); k >= 0 {
			at := word + len("kvcache") + k + len("availablekvcachememory(")
			if s, e, ok := q.size(at, len(units)); ok {
				m.Fields = append(m.Fields, q.field(Free, s, at, e))
				end = e
			}
		}
	default:
		return m, 0, 0, false
	}
	start = from
	if i := strings.LastIndex(head, "maxseqlen("); i >= 0 {
		at := from + i + len("maxseqlen(")
		start = from + i
		if n, e, ok := q.count(at); ok {
			m.Fields = append(m.Fields, q.field(TokensNeeded, Size{n, n, n}, at, e))
		}
	}
	return m, start, max(end, word+len("kvcache")), len(m.Fields) > 0
}
