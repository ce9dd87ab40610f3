// Package checkpoint is what the readers of weight files (safetensors, GGUF, PyTorch's own) have in common: a list
// of tensors without their data, what they add up to, and what network they can be the weights of. Sizes are
// int64 bytes.
package checkpoint

import (
	"math"
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/read"
	"vrametre/calc/torch"
)

// Limits of what a file may list.
const (
	MaxTensors = 100_000
	MaxRank    = 16
	// MaxHeader bounds what is read of a file to know its tensors.
	MaxHeader = 12 << 20
	maxDim    = 1 << 48
)

// Tensor is one tensor of a file.
type Tensor struct {
	Name string
	// DType is PyTorch's name of the element type, or the file's own where PyTorch has none ("q4_k").
	DType string
	Shape []int64
	// Bytes the elements take in the file.
	Bytes int64
	// Shared: another tensor listed before holds the same elements.
	Shared bool
}

// Elements is the product of the shape, at most 2^62: Check has refused larger ones.
func (t *Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// File is what a file says of its tensors.
type File struct {
	// Format is "safetensors", "safetensors-index", "gguf" or "pytorch".
	Format  string
	Tensors []Tensor
	// Metadata are the file's own notes, texts and numbers as text.
	Metadata map[string]string
	// Other are the bytes of tensors that are no part of the model (an optimizer's state).
	Other    int64
	Warnings []*fault.Error
}

// Warn adds a warning.
func (f *File) Warn(code, at string, args ...any) {
	f.Warnings = append(f.Warnings, fault.New(code, at, args...))
}

// Add appends a tensor after checking its shape; an impossible one is thrown with the tensor's name.
func (f *File) Add(t Tensor) {
	if len(f.Tensors) >= MaxTensors {
		fault.Throw("file-tensors", Short(t.Name), "limit", MaxTensors)
	}
	Numel(t.Name, t.Shape)
	f.Tensors = append(f.Tensors, t)
}

// Numel is the number of elements of a shape; a negative or impossibly large one is thrown.
func Numel(name string, shape []int64) int64 {
	if len(shape) > MaxRank {
		fault.Throw("tensor-rank", Short(name), "rank", len(shape), "limit", MaxRank)
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d > maxDim {
			fault.Throw("tensor-dim", Short(name), "dim", d)
		}
		if d > 0 && n > math.MaxInt64/4/d {
			fault.Throw("tensor-size", Short(name), "shape", torch.Shape(shape).String())
		}
		n *= d
	}
	return n
}

// Short is a name fit for an error.
func Short(s string) string {
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

// Sum is what the tensors add up to, a shared one once.
type Sum struct {
	Parameters, ParameterBytes int64
	BufferBytes                int64
	// DType holds the most elements of parameters.
	DType string
	// Packed: several weights share an element, so Parameters is what they unpack to.
	Packed bool
}

// Total adds the tensors up.
func (f *File) Total() Sum {
	var s Sum
	by := map[string]int64{}
	p := f.packing()
	for i := range f.Tensors {
		t := &f.Tensors[i]
		switch n, role := p.weights(t); {
		case t.Shared:
		case role != parameter:
			s.BufferBytes = add(s.BufferBytes, t.Bytes)
		default:
			s.Packed = s.Packed || n != t.Elements()
			s.Parameters = add(s.Parameters, n)
			s.ParameterBytes = add(s.ParameterBytes, t.Bytes)
			by[t.DType] = add(by[t.DType], n)
		}
	}
	for d, n := range by {
		if n > by[s.DType] || (n == by[s.DType] && d < s.DType) {
			s.DType = d
		}
	}
	return s
}

// add saturates: no file holds 2^63 bytes, whatever it says.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

type role uint8

const (
	parameter role = iota
	buffer
)

// notParameters are the last parts of names that modules register as buffers, and what quantisers add beside a weight.
var notParameters = map[string]bool{"running_mean": true, "running_var": true, "num_batches_tracked": true, "position_ids": true, "token_type_ids": true,
	"inv_freq": true, "masked_bias": true, "relative_position_index": true, "attn_mask": true, "relative_coords_table": true,
	"scales": true, "qzeros": true, "g_idx": true, "absmax": true, "quant_map": true, "nested_absmax": true, "nested_quant_map": true,
	"bitsandbytes__nf4": true, "bitsandbytes__fp4": true, "SCB": true, "weight_format": true, "weight_scale": true, "weight_scale_inv": true, "weight_scale_2": true,
	"input_scale": true, "weight_zero_point": true, "rope_freqs.weight": true}

// packed knows how many weights an element of a quantised tensor holds.
type packed struct {
	names map[string]*Tensor
}

// packing indexes the tensors where a quantiser has packed some.
func (f *File) packing() packed {
	p := packed{}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if t.DType == "int32" || t.DType == "uint8" {
			if p.names == nil {
				p.names = make(map[string]*Tensor, len(f.Tensors))
				for j := range f.Tensors {
					p.names[f.Tensors[j].Name] = &f.Tensors[j]
				}
			}
			break
		}
	}
	return p
}

// weights is how many weights t holds, and whether it is a parameter.
func (p packed) weights(t *Tensor) (int64, role) {
	n := t.Elements()
	last := t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	if notParameters[last] || notParameters[t.Name] {
		return n, buffer
	}
	switch {
	case last == "qweight" && t.DType == "int32" && len(t.Shape) == 2: // GPTQ packs rows, AWQ columns
		base := strings.TrimSuffix(t.Name, "qweight")
		if g := p.names[base+"g_idx"]; g != nil && t.Shape[0] > 0 && g.Elements()%t.Shape[0] == 0 {
			return n * min(max(g.Elements()/t.Shape[0], 1), 32), parameter
		}
		if s := p.names[base+"scales"]; s != nil && len(s.Shape) == 2 && t.Shape[1] > 0 && s.Shape[1]%t.Shape[1] == 0 {
			return n * min(max(s.Shape[1]/t.Shape[1], 1), 32), parameter
		}
		return n * 8, parameter
	case t.DType == "uint8" && p.names[t.Name+".quant_map"] != nil: // bitsandbytes: two weights per byte
		return n * 2, parameter
	case last == "bias" && len(t.Shape) == 4 && t.Shape[0] == 1 && t.Shape[1] == 1 && t.Shape[2] == t.Shape[3]: // GPT-2's causal mask
		return n, buffer
	}
	switch t.DType {
	case "int64", "int32", "int16", "bool":
		return n, buffer
	}
	return n, parameter
}

// Tree is the modules that the tensors' names spell.
func (f *File) Tree() *read.Node {
	root := &read.Node{}
	index := map[string]*read.Node{"": root}
	p := f.packing()
	nodes := 1
	for i := range f.Tensors {
		t := &f.Tensors[i]
		path := ""
		if k := strings.LastIndexByte(t.Name, '.'); k > 0 {
			path = t.Name[:k]
		}
		n := index[path]
		if n == nil {
			n = grow(index, path, &nodes)
		}
		if n == nil { // more modules than are shown: the last one stands for the rest
			n = root
		}
		last := strings.TrimPrefix(t.Name[len(path):], ".")
		if len(n.Args) < 200 {
			if n.Args != "" {
				n.Args += ", "
			}
			n.Args += Short(last) + " " + torch.Shape(t.Shape).String()
		}
		if c := classOf(last, t); c != "" && (n.Class == "" || c == "BatchNorm") {
			n.Class = c
		}
		if w, role := p.weights(t); role == parameter && !t.Shared {
			n.Params = add(n.Params, w)
		}
	}
	sum(root)
	return root
}

// grow makes the node of a path and those above it, as long as there are not too many.
func grow(index map[string]*read.Node, path string, nodes *int) *read.Node {
	if n := index[path]; n != nil {
		return n
	}
	if *nodes >= read.MaxNodes || strings.Count(path, ".") > 64 {
		return nil
	}
	up := ""
	if k := strings.LastIndexByte(path, '.'); k > 0 {
		up = path[:k]
	}
	parent := grow(index, up, nodes)
	if parent == nil {
		return nil
	}
	n := &read.Node{Path: path}
	*nodes++
	index[path] = n
	parent.Children = append(parent.Children, n)
	return n
}

// classOf guesses a module's class from one of its tensors.
func classOf(last string, t *Tensor) string {
	switch {
	case last == "running_mean":
		return "BatchNorm"
	case last != "weight":
		return ""
	case strings.Contains(t.Name, "embed"):
		return "Embedding"
	}
	switch len(t.Shape) {
	case 1:
		return "Norm"
	case 2:
		return "Linear"
	case 3, 4, 5:
		return "Conv" + strconv.Itoa(len(t.Shape)-2) + "d"
	}
	return ""
}

// sum adds the children's parameters up, and makes equal neighbours of a list one line.
func sum(n *read.Node) string {
	var kept []*read.Node
	last := ""
	var s strings.Builder
	s.WriteString(n.Args)
	s.WriteByte('(')
	for _, c := range n.Children {
		k := sum(c)
		n.Params = add(n.Params, c.Params*int64(max(c.Repeat, 1)))
		s.WriteString(k)
		if number(c.Path) && k == last && len(kept) > 0 {
			kept[len(kept)-1].Repeat = max(kept[len(kept)-1].Repeat, 1) + 1
			continue
		}
		kept, last = append(kept, c), k
	}
	n.Children = kept
	if s.Len() > 1<<10 { // a signature only: long ones are told apart by their size
		t := s.String()
		return t[:1<<9] + strconv.Itoa(len(t)) + "/" + strconv.FormatInt(n.Params, 10)
	}
	return s.String() + ")"
}

func number(path string) bool {
	_, err := strconv.Atoi(path[strings.LastIndexByte(path, '.')+1:])
	return err == nil
}
