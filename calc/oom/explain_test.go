package oom

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"vrametre/calc/cuda"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		text             string
		bytes, low, high int64
	}{
		{"0 bytes", 0, 0, 0},
		{"1 byte", 1, 1, 1},
		{"4770354232 bytes", 4770354232, 4770354232, 4770354232},
		{"2.00 MiB", 2 * mib, 2*mib - 5242, 2*mib + 5242},
		{"512.00 KiB", 512 << 10, 512<<10 - 5, 512<<10 + 5},
		{"1.5 GiB", 3 * gib / 2, 3*gib/2 - 53687091, 3*gib/2 + 53687091},
		{"7.43 GB", 7977901752, 7972533044, 7983270461},
		{"17179869184.00 GiB", math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{"99999999999999999999999999 bytes", math.MaxInt64, math.MaxInt64, math.MaxInt64},
	} {
		q := squeeze(c.text)
		s, end, ok := q.size(0, len(units))
		if !ok || end != len(q.s) || s != (Size{c.bytes, c.low, c.high}) {
			t.Errorf("%s: %+v, %d of %d, %v", c.text, s, end, len(q.s), ok)
		}
	}
	for _, bad := range []string{"", "GiB", "1", "1 2 GiB", ".5 GiB", "1..5 GiB"} {
		q := squeeze(bad)
		if s, _, ok := q.size(0, len(units)); ok {
			t.Errorf("%q is read as %+v", bad, s)
		}
	}
}

// Every request leads to a segment whose printed form contains the request.
func TestRequestRanges(t *testing.T) {
	if got := RequestRanges(Size{20 * mib, 20*mib - 5242, 20*mib + 5242}); !slices.Equal(got, [][2]int64{{1048577, 10485248}, {18874369, 20971520}}) {
		t.Errorf("20.00 MiB: %v", got)
	}
	if got := RequestRanges(Size{2 * mib, 2*mib - 5242, 2*mib + 5242}); !slices.Equal(got, [][2]int64{{1, 1048576}}) {
		t.Errorf("2.00 MiB: %v", got)
	}
	if got := RequestRanges(Size{10 * mib, 10*mib - 5242, 10*mib + 5242}); !slices.Equal(got, [][2]int64{{10485249, 10485760}}) {
		t.Errorf("10.00 MiB: %v", got)
	}
	if got := RequestRanges(Size{384 * mib, 384*mib - 5242, 384*mib + 5242}); !slices.Equal(got, [][2]int64{{382*mib + 1, 384 * mib}}) {
		t.Errorf("384.00 MiB: %v", got)
	}
	if got := RequestRanges(Size{15 * mib, 15*mib - 5242, 15*mib + 5242}); !slices.Equal(got, [][2]int64{{15*mib - 5242, 15*mib + 5242}}) {
		t.Errorf("15.00 MiB is no segment: %v", got)
	}
	for _, n := range []int64{1, 512, mib, mib + 1, 5 * mib, 10*mib - 512, 10*mib - 511, 10 * mib, 10*mib + 1, 18 * mib, 18*mib + 1, 20 * mib, 20*mib + 1, 999*mib + 77, 1023 * mib, gib, gib + 1, 5*gib + 123456789, 48*gib + 1} {
		segment := cuda.SegmentSize(cuda.RoundSize(n))
		half := int64(5242) // half of the last printed digit, 0.005 MiB
		if segment > gib {
			half = gib / 200
		}
		in := false
		for _, r := range RequestRanges(Size{segment, segment - half, segment + half}) {
			in = in || r[0] <= n && n <= r[1]
		}
		if !in {
			t.Errorf("a request of %d bytes is not among those of its segment of %d", n, segment)
		}
	}
}

func TestVerdicts(t *testing.T) {
	want := map[string]string{
		"M01": VerdictNoNumbers, "M02": VerdictNoNumbers, "M03": VerdictNoNumbers,
		"M05": VerdictFragmentation, "M06": VerdictCardFull, "M08": VerdictCardFull, "M09": VerdictCardFull,
		"M11": VerdictLimit, "M12": VerdictRefused, "M13": VerdictLimit, "M15": VerdictSingleLimit, "M16": VerdictRefused,
		"M18": VerdictHostFull, "M19": VerdictHostFull, "M21": VerdictHostTooBig, "M22": VerdictPinned,
		"M23": VerdictLibrary, "M25": VerdictLibrary, "M26": VerdictLibrary, "M28": VerdictRequestOnly,
		"M29": VerdictNamedTensor, "M31": VerdictNotFatal, "M32": VerdictNamedTensor, "M33": VerdictRequestOnly, "M35": VerdictProgram,
		"M36": VerdictNoNumbers, "M38": VerdictTooBig, "M39": VerdictLibrary, "M41": VerdictCardFull, "M42": VerdictRequestOnly,
		"M43": VerdictRequestOnly, "M45": VerdictHostTooBig, "M46": VerdictKVCache, "M48": VerdictKVCache,
		"M49": VerdictFragmentation, "M51": VerdictCardFull,
	}
	seen := map[string]bool{}
	defer func() {
		for _, code := range Codes()["verdict"] {
			if !seen[code] {
				t.Errorf("no message gets the verdict %s", code)
			}
		}
	}()
	for _, it := range items(t) {
		e := Explain(it.Text, Hints{})
		seen[e.Verdict.Code] = true
		if e.Verdict.Code != want[it.ID] || len(e.Advice) == 0 {
			t.Errorf("%s: %s with %d advices, want %s", it.ID, e.Verdict.Code, len(e.Advice), want[it.ID])
		}
		if e.Message.Others != 0 {
			t.Errorf("%s: %d messages", it.ID, e.Message.Others+1)
		}
	}
	for _, c := range []struct{ name, text, verdict, warning string }{
		{"another program, by number", "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 12.00 MiB is free. Process 11 has 20.10 GiB memory in use. Including non-PyTorch memory, this process has 3.50 GiB memory in use. Of the allocated memory 3.00 GiB is allocated by PyTorch, and 30.00 MiB is reserved by PyTorch but unallocated.", VerdictOtherProcess, ""},
		{"another program, by subtraction", "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.91 GiB total capacity; 200.00 MiB already allocated; 10.00 MiB free; 220.00 MiB reserved in total by PyTorch)", VerdictOtherProcess, ""},
		{"two other programs", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.89 GiB of which 65.12 MiB is free. Process 1 has 5.82 GiB memory in use. Process 2 has 9.82 GiB memory in use. Of the allocated memory 5.36 GiB is allocated by PyTorch, and 16.02 MiB is reserved by PyTorch but unallocated.", VerdictOtherProcess, ""},
		{"WSL", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated memory 7.36 GiB is allocated by PyTorch, and 16.02 MiB is reserved by PyTorch but unallocated.", VerdictCardFull, WarnWSL},
		{"WSL, another", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is free. Process 9 has 17179869184.00 GiB memory in use. Of the allocated memory 7.36 GiB is allocated by PyTorch, and 16.02 MiB is reserved by PyTorch but unallocated.", VerdictCardFull, WarnWSL},
		{"one request too large", "CUDA out of memory. Tried to allocate 48.45 GiB (GPU 0; 23.69 GiB total capacity; 1.00 GiB already allocated; 21.00 GiB free; 1.20 GiB reserved in total by PyTorch)", VerdictExceedsCard, ""},
		{"half the card at once", "CUDA out of memory. Tried to allocate 14.00 GiB (GPU 0; 23.69 GiB total capacity; 12.00 GiB already allocated; 9.90 GiB free; 12.20 GiB reserved in total by PyTorch)", VerdictTooBig, ""},
		{"after progress", "Epoch 3:  37%|███▋      | 37/100 [00:10<00:12, 5.1it/s]\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.91 GiB total capacity; 10.20 GiB already allocated; 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)", VerdictGrew, WarnRanBefore},
		{"at the first step", "Epoch 1:   0%|          | 0/100 [00:00<?, ?it/s]\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.91 GiB total capacity; 10.20 GiB already allocated; 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)", VerdictCardFull, ""},
		{"cudaMallocAsync", "Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 6.60 GiB\nRequested               : 1.00 GiB\nDevice limit            : 8.00 GiB\nFree (according to CUDA): 0 bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB", VerdictCardFull, ""},
		{"2026's warning", "[W514 12:00:00 CUDACachingAllocator.cpp:1234] memory allocation failed with OOM on device 1 while trying to allocate 41943040 bytes (free: 1048576, total: 8589934592)", VerdictCardFull, ""},
		{"no segment", "CUDA out of memory. Tried to allocate 123.00 MiB (GPU 0; 11.91 GiB total capacity; 10.20 GiB already allocated; 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)", VerdictCardFull, WarnNotSegment},
		{"cut before its numbers", "of which 65.12 MiB is free. Of the allocated memory 15.36 GiB is allocated by PyTorch, and 168.02 MiB is reserved", VerdictCardFull, WarnCut},
		{"cut after the request", "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.91 GiB total capacity; ...)", VerdictCardFull, ""},
		{"numpy", "numpy.core._exceptions.MemoryError: Unable to allocate 35.3 GiB for an array with shape (50000, 224, 224, 3) and data type float32", VerdictHostFull, ""},
		{"cupy", "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1073741824 bytes (allocated so far: 7516192768 bytes, limit set to: 8053063680 bytes).", VerdictLimit, ""},
		{"kernel", "Out of memory: Killed process 1234 (python3) total-vm:123kB", VerdictHostFull, ""},
		{"mxnet", "mxnet.base.MXNetError: [12:00:00] src/storage/storage.cc:143: cudaMalloc failed: out of memory", VerdictNoNumbers, ""},
		{"llama.cpp", "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1174405120", VerdictRequestOnly, ""},
		{"driver", "tensorflow/stream_executor/cuda/cuda_driver.cc:965] could not allocate: CUDA_ERROR_OUT_OF_MEMORY", VerdictNoNumbers, ""},
		{"cuDNN, not supported", "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input.", VerdictLibrary, ""},
		{"cuFFT", "RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED", VerdictLibrary, ""},
		{"HIP's code", "hipErrorOutOfMemory: hipErrorOutOfMemory", VerdictNoNumbers, ""},
		{"CUDA's code", "cudaErrorMemoryAllocation: out of memory", VerdictNoNumbers, ""},
		{"class alone", "torch.OutOfMemoryError", VerdictNoNumbers, ""},
		{"class alone, cupy", "cupy.cuda.memory.OutOfMemoryError:", VerdictNoNumbers, ""},
		{"some program's", "Error: GPU out of memory, aborting", VerdictNoNumbers, ""},
		{"no GPU near", "java.lang.OutOfMemoryError: Java heap space", VerdictUnrecognised, ""},
		{"TensorFlow on the CPU", "OOM when allocating tensor with shape[64,2147483647,2147483647] and type int64 on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu", VerdictHostFull, ""},
		{"iterations", "iteration: 250 loss 0.3\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.91 GiB total capacity; 10.20 GiB already allocated; 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)", VerdictGrew, WarnRanBefore},
		{"a counter", "12/400 [00:03<01:00, 6.1it/s]\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.91 GiB total capacity; 10.20 GiB already allocated; 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)", VerdictGrew, WarnRanBefore},
		{"nothing", "Traceback (most recent call last):\nValueError: shapes do not match", VerdictUnrecognised, ""},
		{"other memory", "We ran out of coffee; the memory of it remains. allocate cudnn capacity kv cache", VerdictUnrecognised, ""},
		{"empty", "", VerdictUnrecognised, ""},
	} {
		e := Explain(c.text, Hints{})
		seen[e.Verdict.Code] = true
		has := c.warning == ""
		for _, w := range e.Warnings {
			has = has || w.Code == c.warning
		}
		if e.Verdict.Code != c.verdict || !has {
			t.Errorf("%s: %s, warnings %v, want %s %s", c.name, e.Verdict.Code, e.Warnings, c.verdict, c.warning)
		}
	}
}

// Whatever Explain says is among Codes, so that it has words.
func TestCodes(t *testing.T) {
	codes := Codes()
	check := func(group, code string) {
		if !slices.Contains(codes[group], code) {
			t.Errorf("%s %q is not listed", group, code)
		}
	}
	texts := []string{"", "OOM when allocating tensor with shape[1,128]", "torch.OutOfMemoryError", log1MiB(items(t)[4].Text)}
	for _, it := range items(t) {
		texts = append(texts, it.Text, it.Text+it.Text)
	}
	for _, text := range texts {
		e := Explain(text, Hints{Batch: 8, Tensors: []Known{{"x", []int64{12, 1024, 1024}, "float32", 12 << 22}}})
		check("kind", e.Kind)
		check("verdict", e.Verdict.Code)
		for _, f := range e.Message.Fields {
			check("field", f.Name)
		}
		for _, a := range e.Advice {
			check("advice", a.Code)
		}
		for _, w := range e.Warnings {
			check("warning", w.Code)
		}
		for _, c := range e.Candidates {
			check("tensor", c.Tensor.Code)
			check("why", c.Why.Code)
			check("sure", c.Sure)
		}
	}
	for group, list := range codes {
		if slices.Sort(list); len(slices.Compact(list)) != len(codes[group]) {
			t.Errorf("%s lists a code twice", group)
		}
	}
}

func TestProcesses(t *testing.T) {
	text := "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.19 GiB of which 65.12 MiB is free. "
	for range 30 { // longer than any look around one number
		text += "Process 101 has 1.00 GiB memory in use. "
	}
	text += "Process 202 has 17179869184.00 GiB memory in use. Including non-PyTorch memory, this process has 40.00 GiB memory in use. 60.00 GiB allowed; Of the allocated memory 38.00 GiB is allocated by PyTorch, with 1.00 GiB allocated in private pools (e.g., CUDA Graphs), and 500.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
	e := Explain(text, Hints{})
	if len(e.OtherProcesses) != 30 || e.OtherProcesses[29] != (Process{101, gib}) {
		t.Errorf("%d processes: %v", len(e.OtherProcesses), e.OtherProcesses)
	}
	for name, c := range map[string]struct {
		got  *int64
		want int64
	}{
		"gpu": {e.GPU, 3}, "process": {e.Process, 40 * gib}, "allowed": {e.Allowed, 60 * gib}, "allocated": {e.Allocated, 38 * gib},
		"private": {e.PrivatePools, gib}, "unallocated": {e.ReservedUnallocated, 500 * mib}, "reserved": {e.Reserved, 38*gib + 500*mib},
	} {
		if c.got == nil || *c.got != c.want {
			t.Errorf("%s: %v, want %d", name, c.got, c.want)
		}
	}
	if e.Message.Others != 0 {
		t.Errorf("%d messages seen in one", e.Message.Others+1)
	}
}

func TestSeveralMessages(t *testing.T) {
	first := "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.91 GiB total capacity; 10.20 GiB already allocated; 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)"
	second := strings.Replace(first, "20.00 MiB (GPU 0", "40.00 MiB (GPU 1", 1)
	e := Explain("[rank0]: "+first+"\nlog\n[rank1]: RuntimeError: "+second+"\nRuntimeError: CUDA error: out of memory\n"+"Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.16GiB. The caller indicates that this is not a failure", Hints{})
	if e.Requested == nil || *e.Requested != 40*mib || *e.GPU != 1 || e.Message.Others != 3 {
		t.Errorf("%+v, %d others", e.Requested, e.Message.Others)
	}
}

func TestJSON(t *testing.T) {
	data, err := json.Marshal(Explain(items(t)[3].Text, Hints{}))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"framework", "device", "kind", "gpu", "requested", "request_ranges", "total", "free", "allocated", "reserved", "reserved_unallocated", "verdict", "candidates", "advice"} {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is absent", key)
		}
	}
	for _, key := range []string{"process", "other_processes", "allowed", "used"} {
		if _, ok := got[key]; ok {
			t.Errorf("%s is there, the message does not tell it", key)
		}
	}
	if got["verdict"] != VerdictFragmentation {
		t.Errorf("verdict %v", got["verdict"])
	}
	data, _ = json.Marshal(Text{Code: "x", Words: "words"})
	if string(data) != `"words"` {
		t.Errorf("%s", data)
	}
}

// Requests of public reports whose tensor is known by arithmetic.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		report, text string
		tensor       string
		shape        []int64
		first        bool
	}{
		{"rubingshen/AugmentedSocialScientist#6", "OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 14.61 GiB total capacity; 13.70 GiB already allocated; 72.62 MiB free; 13.78 GiB reserved in total by PyTorch)", TensorScores, []int64{32, 12, 512, 512}, true},
		{"huggingface/transformers#7177", "RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 15.90 GiB total capacity; 14.75 GiB already allocated; 225.81 MiB free; 14.81 GiB reserved in total by PyTorch)", TensorScores, []int64{8, 12, 1024, 1024}, false},
		{"Project-MONAI/MONAI#8042", "Tried to allocate 1.32 GiB. GPU 0 has a total capacity of 11.71 GiB of which 681.50 MiB is free. Including non-PyTorch memory, this process has 10.59 GiB memory in use. Of the allocated memory 6.92 GiB is allocated by PyTorch, and 3.48 GiB is reserved by PyTorch but unallocated.", TensorWindows, []int64{1000, 3, 343, 343}, true},
		{"getalp/Flaubert#35", "RuntimeError: [enforce fail at CPUAllocator.cpp:64] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 237414383616 bytes. Error code 12 (Cannot allocate memory)", TensorScores, []int64{18868, 12, 512, 512}, true},
		{"pytorch/pytorch#133206", "CUDA out of memory. Tried to allocate 48.45 GiB.", TensorScores, []int64{1, 8, 40320, 40320}, true},
		{"keras-team/keras#9643", "ResourceExhaustedError: OOM when allocating tensor with shape[128,128,109,109] and type float on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc", TensorNamed, []int64{128, 128, 109, 109}, true},
		{"nibtehaz/MultiResUNet#4", "OOM when allocating tensor with shape[1,128,128,128,32]", TensorNamed, []int64{1, 128, 128, 128, 32}, true},
	} {
		e := Explain(c.text, Hints{})
		at := slices.IndexFunc(e.Candidates, func(x Candidate) bool { return x.Tensor.Code == c.tensor && slices.Equal(x.Shape, c.shape) })
		if at < 0 || at > 1 || c.first && at != 0 {
			t.Errorf("%s: %s %v is candidate %d of %v", c.report, c.tensor, c.shape, at, e.Candidates)
			continue
		}
		want := int64(4)
		for _, n := range c.shape {
			want *= n
		}
		if got := e.Candidates[at]; got.Bytes != want || got.DType != "float32" {
			t.Errorf("%s: %d bytes of %s, want %d", c.report, got.Bytes, got.DType, want)
		}
	}
	// The words of a traceback turn the order.
	text := "  File \"model.py\", line 9, in forward\n    return F.conv2d(input, weight, bias)\nRuntimeError: CUDA out of memory. Tried to allocate 392.00 MiB (GPU 0; 7.93 GiB total capacity; 6.19 GiB already allocated; 340.00 MiB free; 6.50 GiB reserved in total by PyTorch)"
	if c := Explain(text, Hints{}).Candidates; len(c) == 0 || c[0].Tensor.Code != TensorMaps || !slices.ContainsFunc(c[:3], func(x Candidate) bool { return slices.Equal(x.Shape, []int64{128, 64, 112, 112}) }) {
		t.Errorf("a convolution's 392 MiB: %v", c)
	}
	// The loaded model knows better.
	hints := Hints{Batch: 128, Tensors: []Known{{"conv1", []int64{64, 112, 112}, "float32", 64 * 112 * 112 * 4}, {"layer1", []int64{256, 56, 56}, "float32", 256 * 56 * 56 * 4}, {"empty", nil, "float32", 0}}}
	c := Explain(text, hints).Candidates
	if len(c) < 2 || c[0].Sure != Likely || c[1].Sure != Likely || c[0].Name != "conv1" || !slices.Equal(c[0].Shape, []int64{128, 64, 112, 112}) || c[0].Bytes != 392*mib {
		t.Errorf("with the model, two of whose tensors have this size: %+v", c)
	}
	hints.Tensors = hints.Tensors[:1]
	if c := Explain(text, hints).Candidates; len(c) == 0 || c[0].Sure != Certain || c[0].Name != "conv1" {
		t.Errorf("with the model, one of whose tensors has this size: %+v", c)
	}
}

// What decode says must be true of the request, whatever it is.
func TestCandidatesFitTheRequest(t *testing.T) {
	shown := 0
	for _, n := range []int64{3 * mib, 22 * mib, 50 * mib, 108 * mib, 124 * mib, 172 * mib, 384 * mib, 500 * mib, 768 * mib, 1000 * mib, 2 * gib, 7 * gib, 13 * gib, 100 * gib, 3 << 40} {
		size := Size{n, n - 5242, n + 5242}
		m := Message{Kind: KindGPU, Segment: true, Framework: "pytorch", Fields: []Field{{Name: Requested, Size: size}}}
		list := decode(m, m.ranges(), Hints{})
		sum := 0.0
		for i, c := range list {
			shown++
			bytes := map[string]int64{"float32": 4, "float16": 2}[c.DType]
			for _, d := range c.Shape {
				bytes *= d
			}
			fits := slices.ContainsFunc(m.ranges(), func(r [2]int64) bool { return r[0] <= bytes && bytes <= r[1] })
			if bytes != c.Bytes || !fits {
				t.Errorf("%d: %s %v is %d bytes, said %d, ranges %v", n, c.Tensor.Code, c.Shape, bytes, c.Bytes, m.ranges())
			}
			if i > 0 && c.Share > list[i-1].Share {
				t.Errorf("%d: candidates out of order", n)
			}
			sum += c.Share
		}
		if len(list) > maxCandidates || sum > 1.0001 {
			t.Errorf("%d: %d candidates with share %f", n, len(list), sum)
		}
	}
	if shown < 60 {
		t.Errorf("only %d candidates", shown)
	}
	for _, hidden := range []string{"2.00 MiB", "20.00 MiB"} {
		if c := Explain("CUDA out of memory. Tried to allocate "+hidden+".", Hints{}).Candidates; c != nil {
			t.Errorf("%s hides its request: %v", hidden, c)
		}
	}
}

func log1MiB(message string) string {
	line := "2024-05-01 12:00:00,123 INFO trainer: epoch 1 step 12/400 loss=0.1234 lr=1e-4 memory 3.2 GB, allocated 2.1 GB, cudnn on\n"
	text := strings.Repeat(line, (1<<20)/len(line)/2)
	return text + message + "\n" + text
}

func TestFoundInAMebibyte(t *testing.T) {
	message := items(t)[5].Text // with Process and "capacty" or not, it is one of the long ones
	verify(t, "in a log", items(t)[5], Parse(log1MiB(message)))
}

// No text may take for ever, whatever it repeats: a scan that grows faster than the text would not end here.
func TestHostileTexts(t *testing.T) {
	for _, word := range []string{
		"out of memory ", "CUDA out of memory ", "CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; ", "is allocated by PyTorch, ", "already allocated; ", "total capacity",
		"tried to allocate", "alloc", "cudnn ", "KV cache (", "OOM when allocating tensor with shape[1,", "1", "1 ", "9.9.9 ", "\x1b[", "\\u001b[", "│", "\xff", "failed to allocate CUDA0 buffer of size",
		"Process 1 has 1.00 GiB memory in use. ", "step 1 ", "1/2[", "CUDA_ERROR_OUT_OF_MEMORY: out of memory", "memory allocation failed with OOM free: 1",
	} {
		text := strings.Repeat(word, (1<<20)/len(word))
		Explain(text, Hints{})
	}
	// The end of a huge paste is read.
	huge := strings.Repeat("x ", 6<<20) + items(t)[3].Text
	m := Parse(huge)
	verify(t, "after 12 MiB", items(t)[3], m)
	if f := m.Fields[0]; huge[f.Start:f.End] != "512.00 MiB" {
		t.Errorf("its number is said to be %q", huge[f.Start:f.End])
	}
}

func FuzzExplain(f *testing.F) {
	for _, it := range items(f) {
		f.Add(it.Text)
		f.Add(it.Text[len(it.Text)/3:])
	}
	f.Add("CUDA out of memory. Tried to allocate \x1b[31m2.00\u00a0MiB (GPU 999999999999999999999; 9.99 GiB total capacty")
	f.Add("OOM when allocating tensor with shape[99999999999,99999999999,99999999999] and type double on /device:GPU:0")
	f.Fuzz(func(t *testing.T, text string) {
		e := Explain(text, Hints{Batch: 4, Tensors: []Known{{"x", []int64{3, 8, 8}, "float32", 768}}})
		m := e.Message
		if m.Start < 0 || m.End > len(text) || m.Start > m.End {
			t.Fatalf("message at %d..%d of %d", m.Start, m.End, len(text))
		}
		for _, f := range m.Fields {
			if f.Start < 0 || f.End > len(text) || f.Start > f.End || f.Low > f.Bytes || f.Bytes > f.High || f.Low < 0 {
				t.Fatalf("field %+v of %d", f, len(text))
			}
		}
		if (e.Kind == KindUnrecognised) != (e.Verdict.Code == VerdictUnrecognised) {
			t.Fatalf("%s but %s", e.Kind, e.Verdict.Code)
		}
		for _, c := range e.Candidates {
			if c.Bytes < 0 || len(c.Shape) > 17 {
				t.Fatalf("candidate %+v", c)
			}
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkParse1MiB(b *testing.B) {
	text := log1MiB(items(b)[5].Text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Parse(text)
	}
}

func BenchmarkExplainMessage(b *testing.B) {
	text := items(b)[4].Text
	for b.Loop() {
		Explain(text, Hints{})
	}
}
