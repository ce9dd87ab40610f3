package calc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// called is a preset's forward, module by module, as the summary tools see it.
type called struct {
	calls  []torch.Call
	below  map[string]int64 // parameters at and below a path
	leaf   map[string]bool
	types  map[string]string
	order  []string
	total  int64
	batch  int64
	inputs []models.Input
}

func callsOf(t *testing.T, name string, batch int64) *called {
	t.Helper()
	p, err := models.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	g := torch.NewGraph(batch, torch.Rules{})
	g.NoGrad()
	net := p.Build(&nn.Builder{G: g, Training: true}, nn.NewArgs(name, "", nil))
	var x []torch.Tensor
	for _, in := range p.Inputs {
		d := torch.Float32
		if in.Below > 0 {
			d = torch.Int64
		}
		x = append(x, g.Input(in.Shape, d))
	}
	out := net.Forward(x...)
	g.BeginLoss(out...)
	g.EndLoss(torch.None)
	c := &called{below: map[string]int64{}, leaf: map[string]bool{}, types: map[string]string{}, batch: batch, inputs: p.Inputs}
	var walk func(m *torch.Module) int64
	walk = func(m *torch.Module) int64 {
		var n int64
		for _, q := range m.Params {
			e := int64(1)
			for _, d := range g.Shape(q) {
				e *= d
			}
			n += e
		}
		for _, k := range m.Children {
			n += walk(k)
		}
		c.below[m.Path], c.leaf[m.Path], c.types[m.Path] = n, len(m.Children) == 0, m.Type
		return n
	}
	c.total = walk(net.Root.Module)
	for _, k := range g.Compile().Calls {
		if k.Type != "function" && k.Type != "loss" {
			c.calls = append(c.calls, k)
		}
	}
	return c
}

func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func bracketed(shape []int64, batch string) string {
	s := []string{batch}
	for _, d := range shape[1:] {
		s = append(s, fmt.Sprint(d))
	}
	return "[" + strings.Join(s, ", ") + "]"
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i]
	}
	return ""
}

// torchinfo writes the table as that tool does, down to depth.
func (c *called) torchinfo(depth int) string {
	var b strings.Builder
	rule := strings.Repeat("=", 90) + "\n"
	fmt.Fprintf(&b, "%s%-41s%-26s%s\n%s", rule, "Layer (type:depth-idx)", "Output Shape", "Param #", rule)
	count := map[int]int{}
	seen, called := map[string]bool{}, map[string]bool{}
	for _, k := range c.calls {
		for path := k.Path; ; path = parent(path) { // a list is never called, its members are
			called[path] = true
			if path == "" {
				break
			}
		}
	}
	for _, k := range c.calls {
		d := 0
		if k.Path != "" {
			d = strings.Count(k.Path, ".") + 1
		}
		if d > depth {
			continue
		}
		params := "--"
		own := c.below[k.Path]
		if d < depth { // what no called child has
			for path := range called {
				if parent(path) == k.Path && path != k.Path {
					own -= c.below[path]
				}
			}
		}
		switch {
		case own > 0 && seen[k.Path]:
			params = "(recursive)"
		case own > 0:
			params = grouped(own)
		}
		seen[k.Path] = true
		name := k.Type
		if d > 0 {
			count[d]++
			name = strings.Repeat("│    ", d-1) + "└─" + k.Type + fmt.Sprintf(": %d-%d", d, count[d])
			if d == 1 {
				name = "├─" + k.Type + fmt.Sprintf(": %d-%d", d, count[d])
			}
		}
		fmt.Fprintf(&b, "%s%s%-26s%s\n", name, strings.Repeat(" ", max(1, 41-len([]rune(name)))), bracketed(k.Out, fmt.Sprint(c.batch)), params)
	}
	fmt.Fprintf(&b, "%sTotal params: %s\nTrainable params: %s\nNon-trainable params: 0\n%s", rule, grouped(c.total), grouped(c.total), rule)
	bytes := c.batch * 4
	for _, d := range c.inputs[0].Shape {
		bytes *= d
	}
	size := fmt.Sprintf("(MB): %.2f", float64(bytes)/1e6)
	if bytes < 1e6 {
		size = fmt.Sprintf("(kB): %.2f", float64(bytes)/1e3)
	}
	fmt.Fprintf(&b, "Input size %s\nForward/backward pass size (MB): 1.00\nParams size (MB): %.2f\n%s", size, float64(4*c.total)/1e6, rule)
	return b.String()
}

// torchsummary writes the table as that tool does: every call of a module that is no container list, children first.
func (c *called) torchsummary() string {
	var b strings.Builder
	line := strings.Repeat("-", 64) + "\n"
	fmt.Fprintf(&b, "%s        Layer (type)               Output Shape         Param #\n%s", line, strings.Repeat("=", 64)+"\n")
	n := 0
	row := func(k torch.Call) {
		if k.Path == "" || k.Type == "Sequential" || k.Type == "ModuleList" {
			return
		}
		n++
		params := int64(0)
		if c.leaf[k.Path] {
			params = k.Params
		}
		fmt.Fprintf(&b, "%20s %25s %15s\n", fmt.Sprintf("%s-%d", k.Type, n), bracketed(k.Out, "-1"), grouped(params))
	}
	var open []torch.Call
	for _, k := range c.calls {
		for len(open) > 0 && !(strings.HasPrefix(k.Path, open[len(open)-1].Path+".") || open[len(open)-1].Path == "" && k.Path != "") {
			row(open[len(open)-1])
			open = open[:len(open)-1]
		}
		open = append(open, k)
	}
	for len(open) > 0 {
		row(open[len(open)-1])
		open = open[:len(open)-1]
	}
	fmt.Fprintf(&b, "%sTotal params: %s\nTrainable params: %s\nNon-trainable params: 0\n%s", strings.Repeat("=", 64)+"\n", grouped(c.total), grouped(c.total), line)
	bytes := int64(4)
	for _, d := range c.inputs[0].Shape {
		bytes *= d
	}
	fmt.Fprintf(&b, "Input size (MB): %.2f\n%s", float64(bytes)/(1<<20), line)
	return b.String()
}

// keras writes an nn.Sequential as a Keras summary would show its counterpart, channels last.
func (c *called) keras() string {
	names := map[string]string{"Conv2d": "Conv2D", "Linear": "Dense", "MaxPool2d": "MaxPooling2D", "AvgPool2d": "AveragePooling2D", "ReLU": "Activation", "Tanh": "Activation",
		"Flatten": "Flatten", "Dropout": "Dropout"}
	last := func(shape []int64) string {
		s := []string{"None"}
		if len(shape) == 4 {
			shape = []int64{0, shape[2], shape[3], shape[1]}
		}
		for _, d := range shape[1:] {
			s = append(s, fmt.Sprint(d))
		}
		return "(" + strings.Join(s, ", ") + ")"
	}
	var b strings.Builder
	rule := strings.Repeat("_", 65) + "\n"
	fmt.Fprintf(&b, "Model: \"sequential\"\n%s Layer (type)                Output Shape              Param #   \n%s\n", rule, strings.Repeat("=", 65))
	fmt.Fprintf(&b, " %-27s %-25s %d\n%s", "input_1 (InputLayer)", "["+last(append([]int64{0}, c.inputs[0].Shape...))+"]", 0, rule)
	for i, k := range c.calls {
		if k.Path == "" {
			continue
		}
		fmt.Fprintf(&b, " %-27s %-25s %d\n%s", fmt.Sprintf("layer_%d (%s)", i, names[k.Type]), last(k.Out), k.Params, rule)
	}
	fmt.Fprintf(&b, "Total params: %s (1.00 MB)\nTrainable params: %s (1.00 MB)\nNon-trainable params: 0 (0.00 B)\n%s", grouped(c.total), grouped(c.total), rule)
	return b.String()
}

// TestSummaries writes the tables of presets as each tool does, reads them back and compares parameters, saved bytes
// and peaks with the preset's.
func TestSummaries(t *testing.T) {
	blocks := []string{"resnet18", "resnet50", "vgg11_bn", "densenet121", "mobilenet_v2", "mobilenet_v3_small", "mnasnet0_5", "regnet_y_400mf", "convnext_tiny",
		"efficientnet_b0", "squeezenet1_1", "shufflenet_v2_x0_5", "googlenet", "vit_b_16", "swin_t"}
	chains := []string{"lesson", "lenet5", "conv1d_m5", "autoencoder", "mlp", "vgg11"}
	check := func(name, kind, text string) {
		t.Run(name+"/"+kind, func(t *testing.T) {
			p, _ := models.Find(name)
			m, err := Read(Request{Model: Model{Summary: text}})
			if err != nil {
				t.Fatal(err)
			}
			want, err := Estimate(Request{Model: Model{Preset: name}, Batch: 2})
			if err != nil {
				t.Fatal(err)
			}
			if m.Parameters != want.Parameters.Total || m.Tree.Params != want.Parameters.Total {
				t.Errorf("%d parameters, %d in the tree; preset %d", m.Parameters, m.Tree.Params, want.Parameters.Total)
			}
			got, err := Estimate(Request{Model: Model{Summary: text}, Batch: 2, Loss: p.Loss})
			if err != nil {
				t.Fatal(err)
			}
			if got.SavedForBackward != want.SavedForBackward || got.First != want.First {
				t.Errorf("saved %d, peaks %+v; preset %d, %+v (%v)", got.SavedForBackward, got.First, want.SavedForBackward, want.First, got.Warnings)
			}
		})
	}
	for _, name := range append(slices.Clone(blocks), chains...) {
		c := callsOf(t, name, 2)
		check(name, "torchinfo", c.torchinfo(3))
		check(name, "torchinfo, all", c.torchinfo(99))
		switch name {
		case "vit_b_16", "swin_t", "convnext_tiny": // their own parameters are not in that table
		case "lenet5", "conv1d_m5", "autoencoder": // too small for the two decimals of its input size
		default:
			check(name, "torchsummary", c.torchsummary())
		}
	}
	check("lenet5", "keras", callsOf(t, "lenet5", 2).keras())
	check("vgg11", "torchinfo, one space", mangled(callsOf(t, "vgg11", 2).torchinfo(3)))
}

// mangled is a table whose spaces a web page has run together.
func mangled(s string) string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		out = append(out, strings.Join(strings.Fields(l), " "))
	}
	return strings.Join(out, "\n")
}
