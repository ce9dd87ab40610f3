package summary

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/read/readtest"
	"vrametre/calc/torch"
)

const torchinfoSmall = `==========================================================================================
Layer (type:depth-idx)                   Output Shape              Param #
==========================================================================================
Net                                      [4, 10]                   --
├─Sequential: 1-1                        [4, 8, 16, 16]            --
│    └─Conv2d: 2-1                       [4, 8, 16, 16]            224
│    └─ReLU: 2-2                         [4, 8, 16, 16]            --
│    └─MaxPool2d: 2-3                    [4, 8, 8, 8]              --
├─Flatten: 1-2                           [4, 512]                  --
├─Linear: 1-3                            [4, 10]                   (5,130)
==========================================================================================
Total params: 5,354
Trainable params: 224
Non-trainable params: 5,130
Total mult-adds (M): 0.25
==========================================================================================
Input size (MB): 0.01
Forward/backward pass size (MB): 0.07
Params size (MB): 0.02
Estimated Total Size (MB): 0.10
==========================================================================================
`

const torchsummarySmall = `----------------------------------------------------------------
        Layer (type)               Output Shape         Param #
================================================================
            Conv2d-1            [-1, 8, 16, 16]             224
              ReLU-2            [-1, 8, 16, 16]               0
            Linear-3                   [-1, 10]          20,490
================================================================
Total params: 20,714
Trainable params: 20,714
Non-trainable params: 0
----------------------------------------------------------------
Input size (MB): 0.00
Forward/backward pass size (MB): 0.03
Params size (MB): 0.08
Estimated Total Size (MB): 0.11
----------------------------------------------------------------
`

const kerasSmall = `Model: "functional_1"
__________________________________________________________________________________________________
 Layer (type)                   Output Shape         Param #     Connected to
==================================================================================================
 input_1 (InputLayer)           [(None, 16, 16, 3)]  0           []
 conv2d (Conv2D)                (None, 16, 16, 8)    224         ['input_1[0][0]']
 max_pooling2d (MaxPooling2D)   (None, 8, 8, 8)      0           ['conv2d[0][0]']
 flatten (Flatten)              (None, 512)          0           ['max_pooling2d[0][0]']
 dense (Dense)                  (None, 10)           5130        ['flatten[0][0]']
==================================================================================================
Total params: 5,354
Trainable params: 5,354
Non-trainable params: 0
__________________________________________________________________________________________________
`

const keras3Small = `Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ conv2d (Conv2D)                 │ (None, 16, 16, 8)      │           224 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ a_very_long_name_of_a_layer     │ (None, 8, 8, 8)        │             0 │
│ (MaxPooling2D)                  │                        │               │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ flatten (Flatten)               │ (None, 512)            │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense (Dense)                   │ (None, 10)             │         5,130 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 5,354 (20.91 KB)
 Trainable params: 5,354 (20.91 KB)
 Non-trainable params: 0 (0.00 B)
`

func TestTables(t *testing.T) {
	named := strings.NewReplacer(": 1-1", " (body)", ": 1-2", " (flat)", ": 1-3", " (fc)", ": 2-1", " (0)", ": 2-2", " (1)", ": 2-3", " (2)").Replace(torchinfoSmall)
	pipes := "| " + strings.ReplaceAll(strings.TrimSuffix(torchsummarySmall, "\n"), "\n", " |\n| ") + " |\n"
	for _, c := range []struct {
		name, text, kind  string
		params, trainable int64
	}{
		{"torchinfo", torchinfoSmall, "torchinfo", 5354, 224},
		{"torchinfo, variables", named, "torchinfo", 5354, 224},
		{"torchinfo, windows", strings.ReplaceAll(torchinfoSmall, "\n", "\r\n"), "torchinfo", 5354, 224},
		{"torchinfo, twice", "before\n" + torchinfoSmall + "\nthen\n" + torchinfoSmall, "torchinfo", 5354, 224},
		{"torchinfo, spaces run together", together(torchinfoSmall), "torchinfo", 5354, 224},
		{"torchsummary", torchsummarySmall, "torchsummary", 20714, 20714},
		{"torchsummary, pipes", pipes, "torchsummary", 20714, 20714},
		{"torchsummary, spaces run together", together(torchsummarySmall), "torchsummary", 20714, 20714},
		{"keras", kerasSmall, "keras", 5354, 5354},
		{"keras, spaces run together", together(kerasSmall), "keras", 5354, 5354},
		{"keras 3", keras3Small, "keras", 5354, 5354},
	} {
		m, err := Read(c.text, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if m.Kind != c.kind || m.Parameters != c.params || m.Trainable != c.trainable || m.Tree.Params != c.params {
			t.Errorf("%s: %s, %d parameters, %d trainable, %d in the tree", c.name, m.Kind, m.Parameters, m.Trainable, m.Tree.Params)
		}
		if m.Build == nil || m.Rough {
			t.Errorf("%s: no network (%v)", c.name, m.Missing)
			continue
		}
		g, err := forwardOf(m)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var n int64
		for _, p := range g.Parameters() {
			e := int64(1)
			for _, d := range g.Shape(p) {
				e *= d
			}
			n += e
		}
		if n != c.params {
			t.Errorf("%s: the network has %d parameters", c.name, n)
		}
	}
}

func together(s string) string {
	var out []string
	for l := range strings.SplitSeq(s, "\n") {
		out = append(out, strings.Join(strings.Fields(l), " "))
	}
	return strings.Join(out, "\n")
}

func forwardOf(m *read.Model) (g *torch.Graph, err error) {
	defer fault.Catch(&err)
	g = torch.NewGraph(2, torch.Rules{})
	net := m.Build(&nn.Builder{G: g, Training: true})
	var x []torch.Tensor
	for _, in := range m.Inputs {
		d := torch.Float32
		if in.Below > 0 {
			d = torch.Int64
		}
		x = append(x, g.Input(in.Shape, d))
	}
	if len(x) > 0 {
		net.Forward(x...)
	}
	return g, nil
}

func TestStated(t *testing.T) {
	m, err := Read(torchinfoSmall, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := read.Stated{Total: 5354, Trainable: 224, NonTrainable: 5130, InputBytes: 10_000, ForwardBytes: 70_000, ParamsBytes: 20_000, TotalBytes: 100_000,
		OutputBytes: 4 * 4 * (8*256 + 8*256 + 512 + 512 + 10), Batch: 4}
	if *m.Stated != want {
		t.Errorf("%+v, want %+v", *m.Stated, want)
	}
	if m.Parameters-m.Trainable != 5130 {
		t.Errorf("%d frozen", m.Parameters-m.Trainable)
	}
	if m, err = Read(torchsummarySmall, nil); err != nil || m.Stated.ForwardBytes != 31457 { // that tool's MB are 2^20
		t.Errorf("%v %+v", err, m.Stated)
	}
}

// TestShared: the same layers on two inputs count once.
func TestShared(t *testing.T) {
	text := "Layer (type) Output Shape Param #\nConv2d-1 [-1, 1, 16, 16] 10\nReLU-2 [-1, 1, 16, 16] 0\nConv2d-3 [-1, 1, 28, 28] 10\nReLU-4 [-1, 1, 28, 28] 0\nTotal params: 20\nTrainable params: 20\nNon-trainable params: 0\n"
	m, err := Read(text, nil)
	if err != nil || m.Parameters != 10 || m.Missing == nil || m.Missing.Code != "summary-inputs" {
		t.Errorf("%v %+v", err, m)
	}
}

func TestRefusals(t *testing.T) {
	row := func(s string) string { return strings.Replace(torchsummarySmall, "             224", s, 1) }
	for _, c := range []struct{ name, text, code, at string }{
		{"nothing", "", "summary-none", "model.summary:1"},
		{"prose", "a table of layers\n1 2 3", "summary-none", "model.summary:1"},
		{"nan", row("             nan"), "summary-number", "model.summary:4"},
		{"negative", row("            -224"), "summary-number", "model.summary:4"},
		{"2^63", row(" 9223372036854775808"), "summary-number", "model.summary:4"},
		{"total", strings.Replace(torchsummarySmall, "params: 20,714", "params: many", 1), "summary-number", "model.summary:8"},
		{"too many", strings.Replace(torchsummarySmall, "              ReLU-2            [-1, 8, 16, 16]               0\n", strings.Repeat("ReLU-2 [-1, 8] 0\n", maxRows), 1), "text-modules", "model.summary:20004"},
		{"long line", "Layer (type) Output Shape Param #\nConv2d-1 [" + strings.Repeat("1, ", 5000), "line-long", "model.summary:2"},
		{"overflow", strings.Repeat(row("  9,007,199,254,740,000")[:strings.Index(row("  9,007,199,254,740,000"), "              ReLU")], 1) + strings.Repeat("Linear-2 [-1, 8] 9,007,199,254,740,000\n", 10), "size-overflow", "model.summary:12"},
		{"cut", torchinfoSmall[:strings.Index(torchinfoSmall, "├─Linear")], "summary-cut", "model.summary:10"},
		{"cut in a row", torchinfoSmall[:strings.Index(torchinfoSmall, "├─Linear")+60], "summary-cut", "model.summary:10"},
		{"open size", strings.ReplaceAll(kerasSmall, "16, 16", "None, None"), "summary-open", "model.summary:5"},
	} {
		m, err := Read(c.text, nil)
		if err == nil && m.Missing != nil {
			err = m.Missing
		}
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != c.code || e.At != c.at {
			t.Errorf("%s: %v, want %s at %s", c.name, err, c.code, c.at)
		}
	}
}

// TestBounds: whatever is pasted takes at most 64 MiB beside the text and two seconds.
func TestBounds(t *testing.T) {
	big := func(unit string) string { return strings.Repeat(unit, read.MaxBytes/len(unit)) }
	head := "Layer (type:depth-idx) Output Shape Param #\n"
	for name, text := range map[string]string{
		"64 MiB":       strings.Repeat("x", 64<<20),
		"newlines":     big("\n"),
		"rules":        head + big("=\n")[:read.MaxBytes-100],
		"rows":         head + strings.Repeat("├─Conv2d: 1-1 [2, 8, 16, 16] 224\n", maxRows),
		"deep rows":    head + strings.Repeat("├─Foo: 1-1 [2, 8] --\n│    └─Linear: 2-1 [2, 8] 72\n", maxRows/2-1),
		"descending":   head + descending(500),
		"torchsummary": head + strings.Repeat("Bottleneck-1 [-1, 8, 16, 16] 224\n", maxRows),
		"keras":        head + strings.Repeat("a (Dense) (None, 8) 72\n", maxRows),
		"connections":  head + "a (Add) (None, 8) 0\n" + big("b[0][0] ")[:4000],
		"totals":       head + big("Total params: 1\n")[:read.MaxBytes-100],
		"headers":      strings.Repeat(head, 60),
	} {
		readtest.Within(t, name, func() error { _, err := Read(text, nil); return err })
	}
}

func descending(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "└─Foo [2, 8] 1\n")
	}
	return b.String()
}

// FuzzRead: no panic, whatever the text; errors carry a place; what is understood can be run.
func FuzzRead(f *testing.F) {
	for _, s := range []string{torchinfoSmall, torchsummarySmall, kerasSmall, keras3Small, together(torchinfoSmall)} {
		f.Add(s)
	}
	f.Add("Layer (type:depth-idx) Output Shape Param #\nResNet [1, 1000] --\n├─Conv2d: 1-1 [1, 64, 112, 112] (9,408)\nTotal params: 11,689,512\nTrainable params: 1\nNon-trainable params: 0\n")
	f.Add("Layer (type:depth-idx) Output Shape Param #\nBertModel [2, 768] --\n├─Embedding: 1-1 [2, 512, 768] 23,440,896\n├─Embedding: 1-2 [2, 512, 768] 1,536\n├─Embedding: 1-3 [1, 512, 768] 393,216\n├─BertLayer: 1-4 [2, 512, 768] 7,087,872\nTotal params: 30,923,520\n")
	f.Add("Layer (type:depth-idx) Output Shape Param #\nT5Model [3, 100, 512] --\n├─T5Stack: 1-1 [3, 100, 512] --\n│    └─Embedding: 2-1 [3, 100, 512] 16,449,536\n│    └─T5Block: 2-2 [3, 100, 512] 2,360,512\n│    └─T5Block: 2-3 [3, 100, 512] 2,360,320\n├─T5Stack: 1-2 [3, 100, 512] --\n│    └─T5Block: 2-4 [3, 100, 512] 3,147,456\n│    └─T5Block: 2-5 [3, 100, 512] 3,147,264\nTotal params: 27,465,600\n")
	f.Fuzz(func(t *testing.T, text string) {
		defer slow(t, time.Now())
		m, err := Read(text, nil)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || e.Code == "" || e.At == "" {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		if m.Tree == nil || m.Parameters < 0 || m.Build == nil && m.Missing == nil {
			t.Fatalf("%+v", m)
		}
		if m.Build == nil {
			return
		}
		var e *fault.Error
		if _, err := forwardOf(m); err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
}

// slow fails an input that holds a busy machine for longer than any text is worth.
func slow(t *testing.T, start time.Time) {
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took too long: %v", d)
	}
}
