package read

import (
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// findHeads finds the layers that give the classes: the last linear layer or convolution, and the last of each auxiliary
// head that gives as many. There is none where that layer's weight is shared, as a language model's may be, or where an
// adapter stands around it.
func (m *Model) findHeads(root *torch.Module, g *torch.Graph) {
	type layer struct {
		path   string
		weight torch.Tensor
		width  int64
	}
	holders := map[torch.Tensor]int{}
	var main layer
	var named []layer // "low_classifier" and "high_classifier" are added up
	auxiliary := map[string]layer{}
	var order []string
	var walk func(mod *torch.Module, head string)
	walk = func(mod *torch.Module, head string) {
		for _, p := range mod.Params {
			holders[p]++
		}
		if len(mod.Children) == 0 && len(mod.Params) > 0 {
			if n := nn.Width(mod.Type, g.Shape(mod.Params[0])); n > 0 {
				l := layer{mod.Path, mod.Params[0], n}
				if head == "" {
					main = l
					if strings.HasSuffix(mod.Path, "_classifier") {
						named = append(named, l)
					}
				} else {
					auxiliary[head] = l
				}
			}
		}
		for _, c := range mod.Children {
			below := head
			if below == "" && strings.Contains(strings.ToLower(c.Path), "aux") {
				below = c.Path
				order = append(order, below)
			}
			walk(c, below)
		}
	}
	walk(root, "")
	m.Heads, m.Classes = nil, 0
	if main.path == "" || holders[main.weight] > 1 || strings.Contains(main.path, "lora_") || strings.Contains(main.path, "base_layer") {
		return
	}
	m.Heads, m.Classes = []string{main.path}, main.width
	for _, l := range named {
		if l.width == main.width && l.path != main.path {
			m.Heads = append(m.Heads, l.path)
		}
	}
	for _, head := range order {
		if l := auxiliary[head]; l.width == main.width {
			m.Heads = append(m.Heads, l.path)
		}
	}
}

// SetClasses gives the model's heads n classes, in its network and in its tree.
func (m *Model) SetClasses(n int64) error {
	if n == m.Classes {
		return nil
	}
	if m.Build == nil || len(m.Heads) == 0 {
		return fault.New("classes-unknown", "num_classes")
	}
	was, heads, build := m.Classes, m.Heads, m.Build
	outputs := map[string]int64{}
	for _, h := range heads {
		outputs[h] = n
	}
	m.Build = func(b *nn.Builder) *models.Net {
		b.Outputs = outputs
		net := build(b)
		b.Outputs = nil
		return net
	}
	if err := m.Measure(); err != nil {
		return err
	}
	if m.Classes != n { // a layer that cannot be given another width
		return fault.New("classes-unknown", "num_classes")
	}
	for _, h := range heads {
		if node := m.Tree.Find(join(m.Prefix, h)); node != nil {
			node.resize(was, n)
		}
	}
	return nil
}

func join(prefix, path string) string {
	if prefix == "" || path == "" {
		return prefix + path
	}
	return prefix + "." + path
}

// Find is the node of a path, nil where there is none.
func (n *Node) Find(path string) *Node {
	if n.Path == path {
		return n
	}
	for _, c := range n.Children {
		if c.Path == path || strings.HasPrefix(path, c.Path+".") {
			return c.Find(path)
		}
	}
	return nil
}

// resize writes another number of outputs into the arguments as they are printed.
func (n *Node) resize(was, now int64) {
	old, new := strconv.FormatInt(was, 10), strconv.FormatInt(now, 10)
	switch {
	case strings.Contains(n.Args, "out_features="+old):
		n.Args = strings.Replace(n.Args, "out_features="+old, "out_features="+new, 1)
	case strings.Contains(n.Args, ", "+old+", "): // a convolution's second
		n.Args = strings.Replace(n.Args, ", "+old+", ", ", "+new+", ", 1)
	}
	if len(n.Output) > 1 && n.Output[1] == was {
		n.Output[1] = now
	}
}
