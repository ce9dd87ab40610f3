package onnx_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/optim"
	"vrametre/calc/read"
	"vrametre/calc/read/onnx"
	"vrametre/calc/read/readtest"
	"vrametre/calc/torch"
	"vrametre/calc/walk"
)

// A writer of the wire format, for the test's own files.

type pb struct{ bytes.Buffer }

func (p *pb) key(field, wire int) *pb { return p.varint(uint64(field<<3 | wire)) }

func (p *pb) varint(v uint64) *pb {
	p.Write(binary.AppendUvarint(nil, v))
	return p
}

func (p *pb) int(field int, v int64) *pb { return p.key(field, 0).varint(uint64(v)) }

func (p *pb) text(field int, s string) *pb {
	p.key(field, 2).varint(uint64(len(s)))
	p.WriteString(s)
	return p
}

func (p *pb) sub(field int, f func(*pb)) *pb {
	var s pb
	f(&s)
	return p.text(field, s.String())
}

func (p *pb) float(field int, v float32) *pb {
	p.key(field, 5)
	p.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
	return p
}

func model(f func(g *pb)) []byte {
	var m pb
	m.int(1, 8).sub(8, func(o *pb) { o.int(2, 13) }).sub(7, f)
	return m.Bytes()
}

// value is a graph input or output; dimension -1 is free.
func (p *pb) value(field int, name string, kind int64, dims ...int64) *pb {
	return p.sub(field, func(v *pb) {
		v.text(1, name).sub(2, func(t *pb) {
			t.sub(1, func(t *pb) {
				t.int(1, kind).sub(2, func(s *pb) {
					for _, d := range dims {
						s.sub(1, func(x *pb) {
							if d < 0 {
								x.text(2, "n")
							} else {
								x.int(1, d)
							}
						})
					}
				})
			})
		})
	})
}

// weight is an initializer in another file.
func (p *pb) weight(name string, dims ...int64) *pb {
	return p.sub(5, func(t *pb) {
		for _, d := range dims {
			t.int(1, d)
		}
		t.int(2, 1).text(8, name).int(14, 1)
	})
}

func (p *pb) ints(name string, v ...int64) *pb {
	return p.sub(5, func(t *pb) {
		t.int(1, int64(len(v))).int(2, 7).text(8, name)
		for _, x := range v {
			t.int(7, x)
		}
	})
}

type attr func(*pb)

func whole(name string, v int64) attr { return func(a *pb) { a.text(1, name).int(3, v) } }
func list(name string, v ...int64) attr {
	return func(a *pb) {
		a.text(1, name)
		for _, x := range v {
			a.int(8, x)
		}
	}
}

func (p *pb) node(op, in, out string, attrs ...attr) *pb {
	return p.sub(1, func(n *pb) {
		for _, s := range strings.Fields(in) {
			n.text(1, s)
		}
		for _, s := range strings.Fields(out) {
			n.text(2, s)
		}
		n.text(3, "node_"+strings.Fields(out + " x")[0]).text(4, op)
		for _, a := range attrs {
			n.sub(5, a)
		}
	})
}

func open(data []byte) (*read.Model, error) {
	return onnx.Read(bytes.NewReader(data), int64(len(data)))
}

// record runs a network's forward and gives its output's shape and the program.
func record(m *read.Model, batch int64, train bool, rules torch.Rules) (shape []int64, p *torch.Program, err error) {
	defer fault.Catch(&err)
	g := torch.NewGraph(batch, rules)
	net := m.Build(&nn.Builder{G: g, Training: train})
	if !train {
		g.NoGrad()
	}
	var x []torch.Tensor
	for _, in := range m.Inputs {
		d := torch.Float32
		if in.Below > 0 {
			d = torch.Int64
		}
		x = append(x, g.Input(in.Shape, d))
	}
	out := net.Forward(x...)
	g.BeginLoss(out...)
	loss := torch.None
	if train {
		loss = g.Sum(out[0], false)
	}
	g.EndLoss(loss)
	return g.Shape(out[0]), g.Compile(), nil
}

// TestOperators: shapes of one operator at a time, at another batch than the file's.
func TestOperators(t *testing.T) {
	image := func(f func(g *pb)) []byte {
		return model(func(g *pb) { f(g.value(11, "x", 1, 1, 4, 8, 8).value(12, "y", 1)) })
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"convolution with two paddings": {image(func(g *pb) {
			g.weight("w", 6, 2, 3, 3).node("Conv", "x w", "y", whole("group", 2), list("strides", 2, 2), list("pads", 0, 0, 1, 1))
		}), "[3, 6, 4, 4]"},
		"same padding": {image(func(g *pb) {
			g.weight("w", 6, 4, 3, 3).node("Conv", "x w", "y", list("strides", 3, 3), func(a *pb) { a.text(1, "auto_pad").text(4, "SAME_UPPER") })
		}), "[3, 6, 3, 3]"},
		"transposed": {image(func(g *pb) {
			g.weight("w", 4, 5, 2, 2).node("ConvTranspose", "x w", "y", list("strides", 2, 2))
		}), "[3, 5, 16, 16]"},
		"ceiled pooling": {image(func(g *pb) {
			g.node("MaxPool", "x", "y", list("kernel_shape", 3, 3), list("strides", 2, 2), whole("ceil_mode", 1))
		}), "[3, 4, 4, 4]"},
		"reshape with a written batch": {image(func(g *pb) { g.ints("s", 1, 256).node("Reshape", "x s", "y") }), "[3, 256]"},
		"reshape that folds the batch": {image(func(g *pb) { g.ints("s", 4, 64).node("Reshape", "x s", "y") }), "[12, 64]"},
		"computed reshape": {image(func(g *pb) {
			g.ints("zero", 0).ints("rest", -1).node("Shape", "x", "s").node("Gather", "s zero", "n").node("Concat", "n rest", "to", whole("axis", 0)).node("Reshape", "x to", "y")
		}), "[3, 256]"},
		"slice backwards": {image(func(g *pb) {
			g.ints("a", -1).ints("b", -100).ints("ax", 3).ints("st", -1).node("Slice", "x a b ax st", "y")
		}), "[3, 4, 8, 8]"},
		"slice with steps": {image(func(g *pb) {
			g.ints("a", 1).ints("b", 100).ints("ax", 2).ints("st", 3).node("Slice", "x a b ax st", "y")
		}), "[3, 4, 3, 8]"},
		"gather one": {image(func(g *pb) {
			g.node("Constant", "", "i", func(a *pb) { a.text(1, "value_int").int(3, 2) }).node("Gather", "x i", "y", whole("axis", 1))
		}), "[3, 8, 8]"},
		"split":     {image(func(g *pb) { g.node("Split", "x", "y z", whole("axis", 1)) }), "[3, 2, 8, 8]"},
		"transpose": {image(func(g *pb) { g.node("Transpose", "x", "y", list("perm", 0, 2, 3, 1)) }), "[3, 8, 8, 4]"},
		"pad":       {image(func(g *pb) { g.ints("p", 0, 0, 1, 2, 0, 0, 3, 4).node("Pad", "x p", "y") }), "[3, 4, 12, 14]"},
		"depth":     {image(func(g *pb) { g.node("DepthToSpace", "x", "y", whole("blocksize", 2)) }), "[3, 1, 16, 16]"},
		"mean":      {image(func(g *pb) { g.node("ReduceMean", "x", "y", list("axes", 2, 3), whole("keepdims", 0)) }), "[3, 4]"},
		"broadcast": {image(func(g *pb) { g.weight("b", 4, 1, 1).node("Add", "x b", "y") }), "[3, 4, 8, 8]"},
		"linear":    {image(func(g *pb) { g.weight("w", 8, 5).weight("b", 5).node("MatMul", "x w", "m").node("Add", "b m", "y") }), "[3, 4, 8, 5]"},
		"expanded": {image(func(g *pb) {
			g.ints("s", 1, 4, 8, 8).node("ReduceMax", "x", "m", list("axes", 3)).node("Expand", "m s", "y")
		}), "[3, 4, 8, 8]"},
		"unknown one": {image(func(g *pb) { g.node("FancyNewThing", "x", "y") }), "[3, 4, 8, 8]"},
		"noted shapes": {image(func(g *pb) {
			g.node("FancyNewThing", "x", "m").value(13, "m", 1, 1, 7).weight("w", 7, 2).node("MatMul", "m w", "y")
		}), "[3, 2]"},
	} {
		m, err := open(c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		shape, _, err := record(m, 3, true, torch.Rules{})
		if got := torch.Shape(shape).String(); err != nil || got != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, got, c.want, err)
		}
		if unknown := strings.Contains(name, "unknown") || strings.Contains(name, "noted"); unknown != (len(m.Warnings) == 1 && m.Warnings[0].Code == "onnx-operator") && name != "linear" {
			t.Errorf("%s: %v", name, m.Warnings)
		}
	}
}

// TestWeights: weights of initializers in other files, of ConstantOfShape, transposed and shared ones count once, each in
// the module that its name spells.
func TestWeights(t *testing.T) {
	data := model(func(g *pb) {
		g.value(11, "ids", 7, -1, 6).value(12, "y", 1)
		g.weight("embed.weight", 50, 8).ints("shape", 8, 8).weight("layer.norm.weight", 8).weight("layer.norm.bias", 8)
		g.node("ConstantOfShape", "shape", "made").node("Gather", "embed.weight ids", "h").node("MatMul", "h made", "m")
		g.node("LayerNormalization", "m layer.norm.weight layer.norm.bias", "n").node("Transpose", "embed.weight", "tied").node("MatMul", "n tied", "y")
	})
	m, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	if m.Parameters != 50*8+8*8+16 {
		t.Errorf("%d parameters", m.Parameters)
	}
	var paths []string
	var walk func(n *read.Node)
	walk = func(n *read.Node) {
		paths = append(paths, fmt.Sprintf("%s %s %d", n.Path, n.Class, n.Params))
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(m.Tree)
	want := "[ ONNX 480 embed Embedding 400 made Linear 64 layer Module 16 layer.norm LayerNorm 16 embed_2 Linear 0]"
	if got := fmt.Sprint(paths); got != want {
		t.Error(got)
	}
	if shape, _, err := record(m, 4, true, torch.Rules{}); err != nil || torch.Shape(shape).String() != "[4, 6, 50]" {
		t.Errorf("%v %v", shape, err)
	}
}

func TestBad(t *testing.T) {
	image := func(f func(g *pb)) []byte {
		return model(func(g *pb) { f(g.value(11, "x", 1, 1, 4, 8, 8).value(12, "y", 1)) })
	}
	long := strings.Repeat("n", 5000)
	for _, c := range []struct {
		name     string
		data     []byte
		code, at string
	}{
		{"empty", nil, "onnx-empty", ""},
		{"no graph", (&pb{}).int(1, 8).Bytes(), "onnx-empty", ""},
		{"length beyond the end", (&pb{}).key(7, 2).varint(1 << 40).Bytes(), "onnx-length", ""},
		{"length of 2^64-1", (&pb{}).key(7, 2).varint(math.MaxUint64).Bytes(), "onnx-length", ""},
		{"endless varint", bytes.Repeat([]byte{0xff}, 20), "onnx-varint", ""},
		{"cut varint", []byte{0x08, 0x80}, "onnx-short", ""},
		{"field 0", []byte{0, 1}, "onnx-field", ""},
		{"wire type 3", []byte{0x0b}, "onnx-wire", ""},
		{"graph that is a number", (&pb{}).int(7, 5).Bytes(), "onnx-wire", ""},
		{"name of 5000 bytes", model(func(g *pb) { g.node(long, "x", "y") }), "onnx-text", "graph.node"},
		{"negative dimension", image(func(g *pb) { g.weight("w", -1).node("Add", "x w", "y") }), "tensor-dim", "w"},
		{"dimension of 2^62", image(func(g *pb) { g.weight("w", 1<<62).node("Add", "x w", "y") }), "tensor-dim", "w"},
		{"product beyond int64", image(func(g *pb) { g.weight("w", 1<<40, 1<<40).node("Add", "x w", "y") }), "tensor-size", "w"},
		{"many dimensions", image(func(g *pb) { g.weight("w", make([]int64, 17)...).node("Add", "x w", "y") }), "tensor-rank", "graph.initializer"},
		{"no input", model(func(g *pb) { g.weight("w", 3).node("Relu", "w", "y").value(12, "y", 1) }), "onnx-input", "graph.input"},
		{"sparse weight", model(func(g *pb) { g.text(15, "") }), "onnx-sparse", "graph.sparse_initializer"},
	} {
		_, err := open(c.data)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.At != c.at {
			t.Errorf("%s: %v, want %s at %q", c.name, err, c.code, c.at)
		}
	}
	for _, c := range []struct {
		name     string
		data     []byte
		code, at string
	}{
		{"kernel larger than the map", image(func(g *pb) { g.weight("c.weight", 4, 4, 9, 9).node("Conv", "x c.weight", "y") }), "conv-kernel", "c"},
		{"another number of channels", image(func(g *pb) { g.weight("c.weight", 4, 5, 1, 1).node("Conv", "x c.weight", "y") }), "conv-channels", "c"},
		{"reshape to another size", image(func(g *pb) { g.ints("s", 7, 11).node("Reshape", "x s", "y") }), "shape-view", "model"},
		{"negative stride", image(func(g *pb) { g.weight("c.weight", 4, 4, 1, 1).node("Conv", "x c.weight", "y", list("strides", -1, 1)) }), "onnx-attribute", "c"},
		{"output that nothing makes", image(func(g *pb) { g.node("Relu", "x", "z").value(12, "q", 1) }), "onnx-output", "model"},
		{"enormous result", image(func(g *pb) {
			g.ints("p", 0, 0, 0, 0, 0, 1<<30, 1<<30, 1<<30).node("Pad", "x p", "y")
		}), "tensor-size", ""},
	} {
		m, err := open(c.data)
		if err == nil {
			_, _, err = record(m, 2, true, torch.Rules{})
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.At != c.at {
			t.Errorf("%s: %v, want %s at %q", c.name, err, c.code, c.at)
		}
	}
}

// TestHostile bounds time and memory by what 64 MiB can make of each part.
func TestHostile(t *testing.T) {
	room := 64 << 20
	if testing.Short() {
		room = 8 << 20
	}
	fill := func(item string) string { return strings.Repeat(item, room/len(item)) }
	var node, input, weight, longNode, value pb
	node.node("Relu", "a", "a")
	input.value(11, "x", 1, 1, 2)
	weight.weight("w", 1, 2)
	longNode.sub(1, func(n *pb) { n.text(4, "Sum").text(2, "y"); n.WriteString(strings.Repeat("\x0a\x01x", 1<<16)) })
	value.value(13, "v", 1, -1, -1)
	for name, body := range map[string]string{
		"nodes": fill(node.String()), "empty nodes": fill("\x0a\x00"), "inputs": fill(input.String()), "weights": fill(weight.String()),
		"edges": fill(longNode.String()), "shapes": fill(value.String()),
		"skipped": (&pb{}).text(10, strings.Repeat("x", room)).String(),
	} {
		data := model(func(g *pb) { g.WriteString(body) })
		readtest.Bound(t, name, func() error { _, err := open(data); return err })
	}
}

// TestLargeGraph: as many nodes as are taken, in a chain whose names spell deep modules.
func TestLargeGraph(t *testing.T) {
	data := model(func(g *pb) {
		g.value(12, "v49998", 1)
		for i := range 49_999 {
			g.node("Relu", fmt.Sprintf("v%d", i-1), fmt.Sprintf("v%d", i))
		}
	})
	readtest.Bound(t, "chain", func() error { _, err := open(data); return err })
}

// TestAgainstPyTorch exports networks in training mode and compares what is read back with what PyTorch keeps: every
// parameter, the saved bytes, and the peaks within a twentieth (a file does not say which operations work in place, nor
// how long Python holds a tensor).
func TestAgainstPyTorch(t *testing.T) {
	py := readtest.Python(t)
	if py == "" {
		return
	}
	dir := t.TempDir()
	if out, err := exec.Command(py, filepath.Join("..", "trace", "testdata", "zoo.py"), dir, "--onnx").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.onnx"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d networks exported: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".onnx")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := open(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, name+".truth.json"))
		if err != nil {
			t.Fatal(err)
		}
		var truth []struct{ Batch, Saved, Forward, Backward, Parameters int64 }
		if err := json.Unmarshal(raw, &truth); err != nil {
			t.Fatal(err)
		}
		for _, w := range truth {
			if m.Parameters != w.Parameters || len(m.Warnings) > 0 {
				t.Errorf("%s: %d parameters, PyTorch has %d; %v", name, m.Parameters, w.Parameters, m.Warnings)
			}
			g := torch.NewGraph(w.Batch, torch.Rules{MeanSavesInput: true, Attention: "math"})
			net := m.Build(&nn.Builder{G: g, Training: true})
			in := m.Inputs[0]
			d := torch.Float32
			if in.Below > 0 {
				d = torch.Int64
			}
			out := net.Forward(g.Input(in.Shape, d))
			g.BeginLoss(out...)
			y := out[0]
			sh := g.Shape(y)
			if len(sh) == 3 { // words: F.cross_entropy(out.view(-1, V), y.view(-1))
				target := g.TargetOnce(sh[:2], torch.Int64)
				y = g.View(y, -1, sh[2])
				y = g.ClassLoss(y, g.ReshapeTarget(target, -1), false)
			} else {
				y = g.ClassLoss(y, g.TargetOnce(append([]int64{sh[0]}, sh[2:]...), torch.Int64), false)
			}
			g.EndLoss(y)
			p := g.Compile()
			peaks := walk.Run(p, walk.Config{Train: true, Optimizer: optim.Config{Name: "sgd"}, Iterations: 2}, nil).First
			saved := w.Saved
			if name == "mobilenet" { // its dropout works in place and keeps float noise, 4 bytes an element for 1
				saved -= 3 * w.Batch * 1024
			}
			if p.Saved != saved {
				t.Errorf("%s, batch %d: %d saved, PyTorch keeps %d", name, w.Batch, p.Saved, saved)
			}
			for phase, want := range map[walk.Phase]int64{walk.Forward: w.Forward, walk.Backward: w.Backward} {
				if got := peaks[phase]; got*20 > want*21 || got*20 < want*19 {
					t.Errorf("%s, batch %d: peak %d, measured %d", name, w.Batch, got, want)
				}
			}
		}
	}
}

func FuzzONNX(f *testing.F) {
	for _, name := range []string{"conv", "seq"} {
		data, err := os.ReadFile("testdata/" + name + ".onnx")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(model(func(g *pb) {
		g.value(11, "x", 1, 1, 4, 8, 8).value(12, "y", 1).weight("w", 6, 2, 3, 3).node("Conv", "x w", "y", whole("group", 2), list("strides", 2, 2), list("pads", 0, 0, 1, 1))
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := open(data)
		for _, train := range []bool{true, false} {
			if err == nil {
				_, _, err = record(m, 3, train, torch.Rules{SDPA: true, AccumulateInPlace: true})
			}
		}
		var e *fault.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
}
