// Package trace reads what content/python/vrametre_trace.py writes: the memory events of one
// training step, recorded in PyTorch itself, with every size affine in the batch. The format is
// described at the top of that file. Sizes are int64 bytes; errors are *fault.Error whose place is a
// key of the file.
package trace

import (
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/read/jsonscan"
	"vrametre/calc/torch"
)

const (
	// MaxBytes bounds a trace; a ResNet-50's takes an eightieth of it.
	MaxBytes = 4 << 20
	// version of the format.
	version = 1

	maxSize    = 1 << 50 // of a and |b|, bytes
	maxModules = 1 << 16
	maxCalls   = 1 << 18
	maxParams  = 1 << 17
	maxNames   = 1 << 16
	maxSizes   = 1 << 20
	maxDims    = 1 << 20
	maxRank    = 8
	maxDim     = 1 << 32
)

// The kinds of event, as numbered in the file.
const (
	evStep = iota
	evAlloc
	evFree
	evSave
	evGrad
	evCopy
	evOutput
	evLoss
	evBackward
)

// affine is a + b * batch.
type affine struct{ a, b int64 }

// dtype is an element type; the engine knows some of them.
type dtype struct {
	name  string
	torch torch.DType
	known bool
}

type module struct {
	path, class string
	leaf        bool
	own         int64
}

// block is a storage: index of its size, of its type, and a flag that depends on the list.
type block struct {
	size, dtype int32
	flag        bool
}

// call is a module call; its output's shape is dims[from:to].
type call struct{ module, from, to int32 }

type param struct {
	name      string
	shape     []int64
	dtype     int32
	trainable bool
	slot      int32
}

// stream is one recorded run.
type stream struct {
	resident, batch []block
	calls           []call
	dims            []affine
	events          []int32
	outputs, loss   []int32
}

// Input is a model input as it was given.
type Input struct {
	shape []affine
	dtype int32
}

// Trace is a trace read and checked.
type Trace struct {
	// Torch is the PyTorch version that was traced, "major.minor"; Device where it ran.
	Torch, Device string
	// DType is the parameters' type, Autocast autocast's (empty: off).
	DType, Autocast string
	// Attention is the kernel that stands for scaled_dot_product_attention: flash, efficient, or empty where none was called.
	Attention string
	Inputs    []Input

	ops       []string
	modules   []module
	sizes     []affine
	dtypes    []dtype
	params    []param
	train     *stream
	infer     *stream
	meanSaved []int32
}

// Parse reads a trace and checks that its events can have happened.
func Parse(data []byte) (t *Trace, err error) {
	defer fault.Catch(&err)
	if len(data) > MaxBytes {
		return nil, fault.New("trace-large", "", "bytes", len(data), "limit", MaxBytes)
	}
	t = &Trace{}
	s := &jsonscan.Scanner{Data: data}
	if s.Peek() != '{' {
		return nil, fault.New("trace-format", "")
	}
	format, v := "", int64(0)
	s.Object(func(key string) {
		switch key {
		case "format":
			format = s.Text()
		case "version":
			v = s.Integer()
		case "torch":
			t.Torch = majorMinor(s.Text())
		case "device":
			t.Device = s.Text()
		case "dtype":
			t.DType = s.Text()
		case "autocast":
			t.Autocast = s.Optional()
		case "attention":
			t.Attention = s.Optional()
		case "inputs":
			s.Array(func(int) { t.Inputs = jsonscan.AppendUpTo(s, t.Inputs, maxNames, readInput(s)) })
		case "ops":
			s.Array(func(int) { t.ops = jsonscan.AppendUpTo(s, t.ops, maxNames, s.Text()) })
		case "modules":
			s.Array(func(int) { t.modules = jsonscan.AppendUpTo(s, t.modules, maxModules, readModule(s)) })
		case "sizes":
			t.readSizes(s)
		case "dtypes":
			s.Array(func(int) {
				name := s.Text()
				d, ok := torch.ParseDType(name)
				t.dtypes = jsonscan.AppendUpTo(s, t.dtypes, maxNames, dtype{name, d, ok})
			})
		case "parameters":
			s.Array(func(int) { t.params = jsonscan.AppendUpTo(s, t.params, maxParams, readParam(s)) })
		case "train":
			t.train = readStream(s)
		case "infer":
			if !s.Null() {
				t.infer = readStream(s)
			}
		case "mean_saved":
			s.Array(func(int) { t.meanSaved = jsonscan.AppendUpTo(s, t.meanSaved, maxSizes, s.Below(1<<31-1)) })
		default:
			s.Skip()
		}
	})
	s.End()
	if format != "vrametre-trace" {
		return nil, fault.New("trace-format", "format")
	}
	if v != version {
		return nil, fault.New("trace-newer", "version", "version", v, "known", version)
	}
	return t, t.check()
}

func majorMinor(v string) string {
	parts := strings.SplitN(v, ".", 3)
	if len(parts) < 2 {
		fault.Throw("trace-torch", "torch", "version", v)
	}
	for _, p := range parts[:2] {
		if n, err := strconv.Atoi(p); err != nil || n < 0 {
			fault.Throw("trace-torch", "torch", "version", v)
		}
	}
	return parts[0] + "." + parts[1]
}

func readModule(s *jsonscan.Scanner) (m module) {
	s.Row(4, func(i int) {
		switch i {
		case 0:
			m.path = s.Text()
		case 1:
			m.class = s.Text()
		case 2:
			m.leaf = s.Flag()
		case 3:
			m.own = s.Within(maxSize)
		}
	})
	return m
}

// dim is a number or a pair [a, b].
func dim(s *jsonscan.Scanner) affine {
	if s.Peek() != '[' {
		return affine{a: s.Within(maxDim)}
	}
	var v [2]int64
	s.Row(2, func(i int) { v[i] = s.Within(maxDim) })
	return affine{v[0], v[1]}
}

func shape(s *jsonscan.Scanner) (out []affine) {
	s.Array(func(int) { out = jsonscan.AppendUpTo(s, out, maxRank, dim(s)) })
	return out
}

func readInput(s *jsonscan.Scanner) (in Input) {
	s.Row(2, func(i int) {
		if i == 0 {
			in.shape = shape(s)
		} else {
			in.dtype = s.Below(maxNames)
		}
	})
	return in
}

func readParam(s *jsonscan.Scanner) (p param) {
	s.Row(5, func(i int) {
		switch i {
		case 0:
			p.name = s.Text()
		case 1:
			for _, d := range shape(s) {
				if d.a < 0 || d.b != 0 {
					s.Fail("json-range", "value", d.a, "low", 0, "high", int64(maxDim))
				}
				p.shape = append(p.shape, d.a)
			}
		case 2:
			p.dtype = s.Below(maxNames)
		case 3:
			p.trainable = s.Flag()
		case 4:
			p.slot = s.Below(1<<31 - 1)
		}
	})
	return p
}

func (t *Trace) readSizes(s *jsonscan.Scanner) {
	a, half := int64(0), false
	s.Array(func(int) {
		n := s.Within(maxSize)
		if half {
			t.sizes = jsonscan.AppendUpTo(s, t.sizes, maxSizes, affine{a, n})
		}
		a, half = n, !half
	})
	if half {
		s.Fail("json-row", "count", 2)
	}
}

func readBlock(s *jsonscan.Scanner) (b block) {
	s.Row(3, func(i int) {
		switch i {
		case 0:
			b.size = s.Below(maxSizes)
		case 1:
			b.dtype = s.Below(maxNames)
		case 2:
			b.flag = s.Flag()
		}
	})
	return b
}

func readStream(s *jsonscan.Scanner) *stream {
	st := &stream{}
	s.Object(func(key string) {
		switch key {
		case "resident":
			s.Array(func(int) { st.resident = jsonscan.AppendUpTo(s, st.resident, maxSizes, readBlock(s)) })
		case "batch":
			s.Array(func(int) { st.batch = jsonscan.AppendUpTo(s, st.batch, maxSizes, readBlock(s)) })
		case "calls":
			s.Array(func(int) {
				c := call{from: int32(len(st.dims))}
				s.Row(2, func(i int) {
					if i == 0 {
						c.module = s.Below(maxModules)
					} else if !s.Null() {
						s.Array(func(int) { st.dims = jsonscan.AppendUpTo(s, st.dims, maxDims, dim(s)) })
					}
				})
				c.to = int32(len(st.dims))
				st.calls = jsonscan.AppendUpTo(s, st.calls, maxCalls, c)
			})
		case "events":
			st.events = integers(s)
		case "outputs":
			s.Array(func(int) { st.outputs = jsonscan.AppendUpTo(s, st.outputs, maxSizes, s.Below(1<<31-1)) })
		case "loss":
			s.Array(func(int) { st.loss = jsonscan.AppendUpTo(s, st.loss, maxSizes, s.Below(1<<31-1)) })
		default:
			s.Skip()
		}
	})
	return st
}

// integers is a list of numbers below 2^31, counted first so that it is made once.
func integers(s *jsonscan.Scanner) []int32 {
	n := 1
	for i := s.Pos; i < len(s.Data) && s.Data[i] != ']'; i++ {
		if s.Data[i] == ',' {
			n++
		}
	}
	out := make([]int32, 0, n)
	s.Array(func(int) {
		v := s.Integer()
		if v < 0 || v > 1<<31-1 {
			s.Fail("json-range", "value", v, "low", 0, "high", 1<<31-1)
		}
		out = append(out, int32(v))
	})
	return out
}
