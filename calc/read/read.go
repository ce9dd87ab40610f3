// Package read holds what every reader of a model gives back: print(model), a summary table, a
// config.json or a model file, understood as a tree of modules and, where that is enough, as a
// network the engine can run.
package read

import (
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// Limits of what a reader takes, so that whatever is pasted is read or refused within 64 MiB and two seconds. Models' own
// texts are far below: a few hundred kilobytes, some thousand modules, some twenty levels.
const (
	MaxBytes = 8 << 20
	MaxDepth = 100
	// MaxNodes bounds the modules that are printed, MaxBuilt those that "(0-31): 32 x" stands for, MaxPaths the bytes of
	// their paths.
	MaxNodes = 20_000
	MaxBuilt = 30_000
	MaxPaths = 4 << 20
)

// Node is one module of what was read, for display and editing.
type Node struct {
	Path  string `json:"path"`
	Class string `json:"class"`
	// Args is what stood between the parentheses.
	Args string `json:"args,omitzero"`
	// Output is the shape the table gives, -1 where it says nothing.
	Output []int64 `json:"output,omitempty"`
	// Params counts the elements of the module's parameters and of those below it, each once.
	Params int64 `json:"params"`
	// Line of the text, from 1; 0 where there is none.
	Line int `json:"line,omitzero"`
	// Repeat is how many equal modules the line stands for; 0: one.
	Repeat int `json:"repeat,omitzero"`
	// Understood is false where the class is unknown or its forward was assumed.
	Understood bool    `json:"understood"`
	Children   []*Node `json:"children,omitempty"`
}

// Stated is what a summary says of itself, bytes as the tool counts them.
type Stated struct {
	Total        int64 `json:"total,omitzero"`
	Trainable    int64 `json:"trainable,omitzero"`
	NonTrainable int64 `json:"non_trainable,omitzero"`
	// InputBytes, ForwardBytes, ParamsBytes and TotalBytes are its size lines; ForwardBytes is "forward/backward pass size".
	InputBytes   int64 `json:"input_bytes,omitzero"`
	ForwardBytes int64 `json:"forward_bytes,omitzero"`
	ParamsBytes  int64 `json:"params_bytes,omitzero"`
	TotalBytes   int64 `json:"total_bytes,omitzero"`
	// OutputBytes is what the rows' outputs add up to at the table's batch, each row once.
	OutputBytes int64 `json:"output_bytes,omitzero"`
	Batch       int64 `json:"batch,omitzero"`
}

// Model is what a reader understood.
type Model struct {
	// Kind of text: "print", "torchinfo", "torchsummary", "keras", "config".
	Kind string `json:"kind"`
	// Name is the preset or architecture it was recognised as.
	Name string `json:"name,omitzero"`
	Tree *Node  `json:"tree"`
	// Parameters and Trainable count elements, a shared tensor once.
	Parameters int64 `json:"parameters"`
	Trainable  int64 `json:"trainable"`
	// Stated is what a summary says of itself.
	Stated *Stated `json:"stated,omitempty"`
	// KVElements is what a decoder caches per token and sample.
	KVElements int64 `json:"kv_elements,omitzero"`
	// DType of the weights where the text says so.
	DType string `json:"dtype,omitzero"`
	// Program is a step of the weights alone, where there is no network (Build nil) or they are kept packed (Quantised):
	// own keeps the file's types, d is the others', frozen are the paths of modules that are not trained.
	Program   func(train, own bool, d torch.DType, frozen []string) (*torch.Program, error)
	Quantised bool
	// Rough: activations come from a table's rows, not from a forward.
	Rough bool `json:"rough,omitzero"`
	// Inputs are the model's own, where they are known or follow from the shapes.
	Inputs []models.Input `json:"-"`
	Loss   string         `json:"-"`
	// Flat: the loss flattens tokens.
	Flat bool `json:"-"`
	// IDs says that the first layer reads token ids, where the inputs are not known.
	IDs bool `json:"-"`
	// Heads are the paths of the layers that give the classes, Classes how many; none where they are not known.
	Heads   []string `json:"heads,omitempty"`
	Classes int64    `json:"classes,omitzero"`
	// Prefix is the path of the network's root in the tree, where a wrapper stands around it.
	Prefix string `json:"-"`
	// Build makes the network; Missing says why it is not to be run, or why there is none.
	Build   func(b *nn.Builder) *models.Net `json:"-"`
	Missing *fault.Error                    `json:"-"`
	// Warnings are what could not be known, each with its place.
	Warnings []*fault.Error `json:"-"`
}

// Fixed says what of the model's forward cannot be changed, and why: "trace" where it has been run and recorded, "weights"
// where it is not known, "" where it can.
func (m *Model) Fixed() string {
	switch {
	case m.Kind == "trace":
		return "trace"
	case m.Build == nil && m.Program != nil:
		return "weights"
	}
	return ""
}

// Warning is something that could not be known, with its place.
func Warning(code, at string, args ...any) *fault.Error { return fault.New(code, at, args...) }

// Warn adds a warning.
func (m *Model) Warn(code, at string, args ...any) {
	m.Warnings = append(m.Warnings, Warning(code, at, args...))
}

// At names a line of a field of the request.
func At(field string, line int) string { return field + ":" + strconv.Itoa(line) }

// Measure builds the network's modules without running them: totals, and each node's parameters by path. A tensor that
// several modules share counts in the first that holds it, as in model.parameters().
func (m *Model) Measure() (err error) {
	defer fault.Catch(&err)
	prefix := m.Prefix
	g := torch.NewGraph(2, torch.Rules{})
	root := m.Build(&nn.Builder{G: g, Training: true}).Root.Module
	below := map[string]int64{}
	seen := map[torch.Tensor]bool{}
	m.Parameters, m.Trainable = 0, 0
	var walk func(mod *torch.Module) int64
	walk = func(mod *torch.Module) int64 {
		var n int64
		for _, p := range mod.Params {
			if seen[p] {
				continue
			}
			seen[p] = true
			c := int64(1)
			for _, d := range g.Shape(p) {
				c *= d
			}
			if n += c; n < 0 {
				fault.Throw("size-overflow", mod.Path, "shape", torch.Shape(g.Shape(p)))
			}
			if g.Needs(p) {
				m.Trainable += c
			}
		}
		for _, c := range mod.Children {
			if n += walk(c); n < 0 {
				fault.Throw("size-overflow", mod.Path, "shape", torch.Shape{})
			}
		}
		below[join(prefix, mod.Path)] = n
		return n
	}
	m.Parameters = walk(root)
	if m.Kind != "onnx" { // whose graph holds its own sizes
		m.findHeads(root, g)
	}
	m.Tree.fill(below)
	if prefix != "" {
		m.Tree.wrap(m.Parameters, prefix)
	}
	return nil
}

// wrap gives the nodes above the network's root its parameters.
func (n *Node) wrap(total int64, prefix string) {
	if n.Path == prefix {
		return
	}
	n.Params = total
	for _, c := range n.Children {
		if strings.HasPrefix(prefix, c.Path) {
			c.wrap(total, prefix)
		}
	}
}

func (n *Node) fill(below map[string]int64) {
	if v, ok := below[n.Path]; ok {
		n.Params = v
	}
	for _, c := range n.Children {
		c.fill(below)
	}
}

// Modules is the tree of the network's own modules, where the text had none to show.
func Modules(m *Model) *Node {
	g := torch.NewGraph(2, torch.Rules{})
	root := m.Build(&nn.Builder{G: g, Training: true}).Root.Module
	seen := map[torch.Tensor]bool{}
	var show func(*torch.Module) *Node
	show = func(mod *torch.Module) *Node {
		n := &Node{Path: mod.Path, Class: mod.Type, Understood: true}
		for _, p := range mod.Params {
			c := int64(1)
			for _, d := range g.Shape(p) {
				c *= d
			}
			if !seen[p] {
				seen[p] = true
				n.Params += c
			}
		}
		var last string
		for _, c := range mod.Children {
			k := show(c)
			n.Params += k.Params
			// equal neighbours of a list are one line, as PyTorch prints them
			if s := k.signature(); mod.Type == "ModuleList" && s == last && len(n.Children) > 0 {
				n.Children[len(n.Children)-1].Repeat++
				continue
			} else {
				last = s
			}
			if mod.Type == "ModuleList" {
				k.Repeat = 1
			}
			n.Children = append(n.Children, k)
		}
		for _, k := range n.Children {
			if k.Repeat == 1 {
				k.Repeat = 0
			}
		}
		return n
	}
	return show(root)
}

// signature tells equal modules of a list apart from others: classes and sizes, not paths.
func (n *Node) signature() string {
	s := n.Class + "/" + strconv.FormatInt(n.Params, 10)
	for _, c := range n.Children {
		s += "(" + c.Class + "/" + strconv.FormatInt(c.Params, 10) + ")"
	}
	return s
}
