package print

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vrametre/calc/fault"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/read/readtest"
	"vrametre/calc/torch"
)

const small = `Net(
  (features): Sequential(
    (0): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    (1): BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    (2): ReLU(inplace=True)
  )
  (fc): Linear(in_features=8, out_features=10, bias=True)
)`

const smallParams = 3*8*9 + 8 + 16 + 8*10 + 10

// TestNoise reads the same model through what terminals, notebooks and forums do to it.
func TestNoise(t *testing.T) {
	lines := strings.Split(small, "\n")
	prefix := func(p string) string { return p + strings.Join(lines, "\n"+p) }
	numbered := func(format string) string {
		var b strings.Builder
		for i, l := range lines {
			fmt.Fprintf(&b, format+"%s\n", i+97, l)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"plain":              small,
		"windows":            strings.ReplaceAll(small, "\n", "\r\n"),
		"quoted":             prefix("> "),
		"comment":            prefix("# "),
		"notebook":           "Out[12]: " + small,
		"assignment":         "model = " + small,
		"session":            ">>> print(model)\n" + small + "\n>>> exit()\n",
		"fence":              "Here it is:\n```python\n" + small + "\n```\nWhy so big?\n",
		"ansi":               "\x1b[1m" + strings.ReplaceAll(small, "Conv2d", "\x1b[32mConv2d\x1b[0m"),
		"tabs":               strings.ReplaceAll(small, "  ", "\t"),
		"no-break spaces":    strings.ReplaceAll(small, "  ", "\u00a0\u00a0"),
		"no indentation":     strings.ReplaceAll(small, "  ", ""),
		"one line":           strings.Join(strings.Fields(small), " "),
		"code before":        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(8, 10)\n\n" + small,
		"log":                "2024-01-01 12:00:00 INFO model: " + small + "\nINFO training (epoch 1)\n",
		"log inside":         strings.Replace(small, "  (fc)", "UserWarning: something\n  (fc)", 1),
		"closing missing":    strings.TrimSuffix(small, "\n)") + "\nEpoch 1",
		"repeated":           strings.Replace(small, "(0): Conv2d", "(0-0): 1 x Conv2d", 1),
		"dotted class":       strings.Replace(small, "Conv2d(", "torch.nn.modules.conv.Conv2d(", 1),
		"old in-place":       strings.Replace(small, "inplace=True", "inplace", 1),
		"data parallel":      "DataParallel(\n  (module): " + strings.ReplaceAll(small, "\n", "\n  ") + "\n)",
		"multi-line repr":    strings.Replace(small, "Linear(in_features=8, out_features=10, bias=True)", "Linear(\n    in_features=8,\n    out_features=10, bias=True\n  )", 1),
		"logged":             "INFO:root:begin\n" + prefix("INFO:root:") + "\nINFO:root:end",
		"logged with a time": numbered("[2024-05-01 12:00:%02d,123] "),
		"ranked":             prefix("[rank0]: "),
		"listed":             numbered("%6d\t"),
		"numbered":           numbered("%d: "),
		"a page's source":    strings.Replace(small, "padding=(1, 1)", "padding=&quot;same&quot;", 1) + "\n&gt;&gt;&gt; exit()",
		"escaped line ends":  `"` + strings.ReplaceAll(small, "\n", `\n`) + `"`,
		"quotes in the text": strings.Replace(small, "track_running_stats=True", "track_running_stats=True, note='it''s (fine'", 1),
	} {
		m, err := Read(text, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Parameters != smallParams {
			t.Errorf("%s: %d parameters, want %d (%v)", name, m.Parameters, smallParams, m.Warnings)
		}
	}
}

// TestQuantised: layers whose weights are packed count the weights they stand for, and take the bytes that they pack.
func TestQuantised(t *testing.T) {
	for layer, want := range map[string]struct{ parameters, most int64 }{
		"Linear4bit(in_features=784, out_features=256, bias=True)":                                                                    {784*256 + 256, 784*256/2 + 8192},
		"WQLinear_GEMM(in_features=784, out_features=256, bias=False, w_bit=4, group_size=128)":                                       {784 * 256, 784*256/2 + 8192},
		"DynamicQuantizedLinear(in_features=784, out_features=256, dtype=torch.qint8, qscheme=torch.per_tensor_affine)":               {784*256 + 256, 784*256 + 8192},
		"QuantizedLinear(in_features=784, out_features=256, scale=1.0, zero_point=0, qscheme=torch.per_channel_affine)":               {784*256 + 256, 784*256 + 8192},
		"QuantizedConv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), scale=0.5, zero_point=64, padding=(1, 1))":                          {3*8*9 + 8, 4 * (3*8*9 + 8)},
		"Quantize(scale=tensor([0.0157]), zero_point=tensor([64]), dtype=torch.quint8)\n  (1): Linear(in_features=8, out_features=2)": {18, 72},
	} {
		text := "Sequential(\n  (0): " + layer + "\n)"
		m, err := Read(text, nil)
		if err != nil {
			t.Errorf("%s: %v", layer, err)
			continue
		}
		g := torch.NewGraph(2, torch.Rules{})
		m.Build(&nn.Builder{G: g})
		var bytes int64
		for _, p := range g.Parameters() {
			bytes += g.StorageBytes(p)
		}
		if m.Parameters != want.parameters || bytes > want.most || len(m.Warnings) > 0 {
			t.Errorf("%s: %d parameters of %d in %d bytes, %v", layer, m.Parameters, want.parameters, bytes, m.Warnings)
		}
	}
}

func TestLines(t *testing.T) {
	m, err := Read("some words\n\n"+small, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := m.Tree
	if n.Class != "Net" || n.Line != 3 || n.Params != smallParams || len(n.Children) != 2 {
		t.Fatalf("root %+v", n)
	}
	conv := n.Children[0].Children[0]
	if conv.Path != "features.0" || conv.Class != "Conv2d" || conv.Line != 5 || conv.Params != 3*8*9+8 || !conv.Understood {
		t.Errorf("conv %+v", conv)
	}
}

func codes(m *read.Model) map[string]string {
	out := map[string]string{}
	for _, w := range m.Warnings {
		out[w.Code] = w.At
	}
	return out
}

func TestSeveralPrints(t *testing.T) {
	other := "Other(\n  (a): Linear(in_features=2, out_features=2, bias=True)\n  (b): Linear(in_features=2, out_features=2, bias=True)\n)"
	m, err := Read(other+"\n"+small, nil)
	if err != nil || m.Tree.Class != "Net" || codes(m)["print-several"] != "model.torch:1" {
		t.Errorf("%v, %v", err, m)
	}
	changed := strings.Replace(small, "out_features=10", "out_features=3", 1)
	if m, err = Read(small+"\n\n"+changed, nil); err != nil || m.Parameters != smallParams-7*9 {
		t.Errorf("the last print of a class counts: %v, %v", err, m)
	}
}

func TestCut(t *testing.T) {
	lines := strings.Split(small, "\n")
	for n := 2; n < len(lines)-1; n++ {
		m, err := Read(strings.Join(lines[:n], "\n"), nil)
		if err != nil {
			t.Errorf("%d lines: %v", n, err)
			continue
		}
		if m.Missing == nil || m.Missing.Code != "print-cut" || m.Missing.At == "" {
			t.Errorf("%d lines: no refusal (%v)", n, m.Missing)
		}
	}
	// a text without its first lines
	m, err := Read(strings.Join(lines[1:], "\n"), nil)
	if err != nil || m.Parameters != smallParams || codes(m)["print-start-missing"] == "" {
		t.Errorf("%v %v", err, m)
	}
	m, err = Read("Net(\n  (a): Linear(in_features=2, out_features=2, bias=True)\n  ...\n)", nil)
	if err != nil || m.Missing == nil || m.Missing.Code != "print-cut" {
		t.Errorf("dots are no refusal: %v %v", err, m)
	}
}

func TestRepeats(t *testing.T) {
	text := "Net(\n  (layers): ModuleList(\n    (0-11): 12 x Block(\n      (a): Linear(in_features=4, out_features=4, bias=False)\n    )\n    (12): Linear(in_features=4, out_features=2, bias=True)\n  )\n)"
	m, err := Read(text, nil)
	if err != nil || m.Parameters != 12*16+10 {
		t.Fatalf("%v %v", err, m)
	}
	if k := m.Tree.Children[0].Children[0]; k.Repeat != 12 || k.Path != "layers.0" || k.Params != 16 {
		t.Errorf("%+v", k)
	}
}

// TestBranches: shapes prove what is done with results.
func TestBranches(t *testing.T) {
	for _, c := range []struct{ name, text, code string }{
		{"residual", "R(\n  (a): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n  (skip): Conv2d(3, 8, kernel_size=(1, 1), stride=(1, 1))\n)", "assumed-residual"},
		{"concatenation", "R(\n  (a): Conv2d(3, 8, kernel_size=(1, 1), stride=(1, 1))\n  (b): Conv2d(3, 4, kernel_size=(1, 1), stride=(1, 1))\n  (c): Conv2d(12, 2, kernel_size=(1, 1), stride=(1, 1))\n)", "assumed-concat"},
		{"pooling", "R(\n  (a): Conv2d(3, 8, kernel_size=(1, 1), stride=(1, 1))\n  (fc): Linear(in_features=8, out_features=2, bias=True)\n)", "assumed-pool"},
		{"flattening", "R(\n  (a): Conv2d(3, 8, kernel_size=(1, 1), stride=(1, 1))\n  (fc): Linear(in_features=2048, out_features=2, bias=True)\n)", "assumed-flatten"},
		{"half", "R(\n  (a): Conv2d(3, 8, kernel_size=(1, 1), stride=(1, 1))\n  (fc): Linear(in_features=512, out_features=2, bias=True)\n)", "assumed-pool2"},
	} {
		m, err := Read(c.text, []int64{3, 16, 16})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		g, err := forwardOf(m, []int64{3, 16, 16})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		found := false
		for _, w := range g.Warnings {
			found = found || w.Code == c.code
		}
		if !found {
			t.Errorf("%s: no %s in %v", c.name, c.code, g.Warnings)
		}
	}
}

func forwardOf(m *read.Model, shape []int64) (g *torch.Graph, err error) {
	defer fault.Catch(&err)
	g = torch.NewGraph(2, torch.Rules{})
	d := torch.Float32
	if len(m.Inputs) > 0 && m.Inputs[0].Below > 0 {
		d = torch.Int64
	}
	m.Build(&nn.Builder{G: g, Training: true}).Forward(g.Input(shape, d))
	return g, nil
}

// TestInput: the input that the text proves.
func TestInput(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       torch.Shape
	}{
		{"features", "Sequential(\n  (0): Linear(in_features=784, out_features=10, bias=True)\n)", torch.Shape{784}},
		{"only image", "Sequential(\n  (0): Conv2d(1, 6, kernel_size=(5, 5), stride=(1, 1))\n  (1): Flatten(start_dim=1, end_dim=-1)\n  (2): Linear(in_features=3456, out_features=10, bias=True)\n)", torch.Shape{1, 28, 28}},
		{"signal", "Sequential(\n  (0): Conv1d(2, 4, kernel_size=(3,), stride=(1,))\n  (1): Flatten(start_dim=1, end_dim=-1)\n  (2): Linear(in_features=400, out_features=10, bias=True)\n)", torch.Shape{2, 102}},
		{"wrapped", "LitModel(\n  (model): DataParallel(\n    (module): VGG(\n      (features): Conv2d(4, 6, kernel_size=(5, 5), stride=(1, 1))\n      (avgpool): AdaptiveAvgPool2d(output_size=1)\n      (classifier): Linear(in_features=6, out_features=2, bias=True)\n    )\n  )\n  (criterion): CrossEntropyLoss()\n  (acc): MulticlassAccuracy()\n)", torch.Shape{4, 224, 224}},
		{"any image", "Sequential(\n  (0): Conv2d(1, 6, kernel_size=(5, 5), stride=(1, 1))\n  (1): AdaptiveAvgPool2d(output_size=1)\n)", nil},
		{"ids", "Sequential(\n  (0): Embedding(10, 3)\n)", nil},
	} {
		m, err := Read(c.text, nil)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == nil && len(m.Inputs) > 0:
			t.Errorf("%s: %v", c.name, m.Inputs)
		case c.want != nil && (len(m.Inputs) != 1 || torch.Shape(m.Inputs[0].Shape).String() != c.want.String()):
			t.Errorf("%s: %v, want %v", c.name, m.Inputs, c.want)
		}
	}
}

// TestRefusals: a clear error with the line.
func TestRefusals(t *testing.T) {
	line := func(s string) string {
		return "Net(\n  (a): Linear(in_features=2, out_features=2, bias=True)\n  (b): " + s + "\n)"
	}
	deep := strings.Repeat("(a): A(\n", 10_000)
	for _, c := range []struct{ name, text, code, at string }{
		{"nothing", "", "print-none", "model.torch:1"},
		{"prose", "I have a network (with layers) but no print", "print-none", "model.torch:1"},
		{"negative", line("Conv2d(-3, 8, kernel_size=(3, 3))"), "argument-positive", "model.torch:3"},
		{"zero", line("Linear(in_features=0, out_features=8, bias=True)"), "argument-positive", "model.torch:3"},
		{"2^63", line("Linear(in_features=9223372036854775808, out_features=8, bias=True)"), "argument-positive", "model.torch:3"},
		{"nan", line("Dropout(p=nan, inplace=False)"), "argument-number", "model.torch:3"},
		{"missing", line("Linear(in_features=2)"), "argument-missing", "model.torch:3"},
		{"overflow", line("Linear(in_features=1099511627776, out_features=1099511627776, bias=True)"), "size-overflow", "model.torch:3"},
		{"sum overflows", line("Embedding(100000000000, 1000000)") + strings.Repeat("", 1), "size-overflow", "model.torch:3"},
		{"groups", line("Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), groups=2)"), "conv-groups", "model.torch:3"},
		{"deep", "Net(\n" + deep, "text-depth", "model.torch:102"},
		{"many", "Net(\n" + strings.Repeat("  (a): ReLU()\n", 1_000_000), "text-large", "model.torch"},
		{"many lines", "Net(\n" + strings.Repeat("(a): R()\n", 500_000), "text-modules", "model.torch:20002"},
		{"repeats", "Net(\n  (a): ModuleList(\n    (0-999999): 1000000 x ReLU()\n  )\n)", "text-modules", "model.torch:3"},
		{"repeats of repeats", "Net(\n  (a): ModuleList(\n    (0-999): 1000 x ModuleList(\n      (0-999): 1000 x ReLU()\n    )\n  )\n)", "text-modules", "model.torch:4"},
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
	whole := strings.Repeat("x", 64<<20)
	for name, text := range map[string]string{
		"64 MiB":             whole,
		"words":              big("word "),
		"parentheses":        big(")"),
		"opening":            big("("),
		"after a module":     "(a): A()\n" + big(")")[:read.MaxBytes-10],
		"heads":              big("A(\n"),
		"labels":             big("(a): "),
		"classes":            big("(a): A(")[:read.MaxBytes-8],
		"one class":          "Net(\n(a): " + big("a")[:read.MaxBytes-20],
		"quotes":             "Net(\n(a): A('" + big("'")[:read.MaxBytes-20],
		"newlines":           big("\n"),
		"escapes":            big("\x1b[0m"),
		"spaces":             "Net(\n  (a): ReLU()\n" + big(" ")[:read.MaxBytes-40],
		"commas":             "Net(\n  (a): Linear(" + big(",")[:read.MaxBytes-40] + ")\n)",
		"brackets":           "Net(\n  (a): Linear(" + big("(")[:read.MaxBytes-40] + "\n)",
		"notes":              "Net(\n  (a): ReLU()\n" + big("x y\n")[:read.MaxBytes-40],
		"siblings":           "Net(\n" + strings.Repeat("  (a): Linear(in_features=2, out_features=2, bias=True)\n", read.MaxNodes-1) + ")",
		"mismatched":         "Net(\n" + strings.Repeat("  (a): Linear(in_features=2, out_features=3, bias=True)\n", read.MaxNodes-1) + ")",
		"copies":             "Net(\n  (a): ModuleList(\n    (0-28998): 28999 x Linear(in_features=2, out_features=2, bias=True)\n  )\n)",
		"nested":             strings.Repeat("Sequential(\n (0): ", 90) + "ReLU()" + strings.Repeat(")", 90),
		"unknown containers": "Net(\n" + strings.Repeat("  (a): Foo(\n    (b): Conv2d(3, 3, kernel_size=(3, 3))\n  )\n", read.MaxNodes/2-1) + ")",
	} {
		readtest.Within(t, name, func() error { _, err := Read(text, nil); return err })
	}
}

// FuzzRead: no panic, whatever the text; errors carry a place; what is understood can be run.
func FuzzRead(f *testing.F) {
	f.Add(small)
	for _, pattern := range []string{"lesson/lesson.txt", "unet/unet.txt", "attention/mha.txt", "transformer/*.txt", "rnn/*.txt", "norm/*.txt", "gpt/*.txt"} {
		files, err := filepath.Glob(filepath.Join("../../testdata/golden", pattern))
		if err != nil || len(files) == 0 {
			f.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Add("LlamaForCausalLM(\n  (model): LlamaModel(\n    (embed_tokens): Embedding(320, 64)\n    (layers): ModuleList(\n      (0-1): 2 x LlamaDecoderLayer(\n        (self_attn): LlamaAttention(\n          (q_proj): Linear4bit(in_features=64, out_features=64, bias=False)\n          (k_proj): Linear4bit(in_features=64, out_features=32, bias=False)\n          (v_proj): Linear4bit(in_features=64, out_features=32, bias=False)\n          (o_proj): Linear4bit(in_features=64, out_features=64, bias=False)\n        )\n        (mlp): LlamaMLP(\n          (gate_proj): Linear(in_features=64, out_features=96, bias=False)\n          (up_proj): Linear(in_features=64, out_features=96, bias=False)\n          (down_proj): Linear(in_features=96, out_features=64, bias=False)\n        )\n        (input_layernorm): LlamaRMSNorm()\n        (post_attention_layernorm): LlamaRMSNorm((64,), eps=1e-05)\n      )\n    )\n    (norm): LlamaRMSNorm()\n  )\n  (lm_head): Linear(in_features=64, out_features=320, bias=False)\n)")
	f.Add("Unet(\n  (encoder): ResNetEncoder(\n    (conv1): Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))\n  )\n  (decoder): UnetDecoder(\n    (blocks): ModuleList(\n      (0): DecoderBlock(\n        (conv1): Conv2d(8, 4, kernel_size=(3, 3), padding=(1, 1))\n        (conv2): Conv2d(4, 4, kernel_size=(3, 3), padding=(1, 1))\n      )\n    )\n  )\n  (segmentation_head): SegmentationHead(\n    (0): Conv2d(4, 1, kernel_size=(3, 3), padding=(1, 1))\n  )\n)")
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
		if m.Tree == nil || m.Parameters < 0 || m.Trainable > m.Parameters {
			t.Fatalf("%+v", m)
		}
		if m.Build == nil {
			return
		}
		shapes := [][]int64{{3, 32, 32}, {784}}
		for _, in := range m.Inputs {
			shapes = append(shapes, in.Shape)
		}
		for _, s := range shapes {
			_, err := forwardOf(m, s)
			var e *fault.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatal(err)
			}
		}
	})
}

// slow fails an input that holds a busy machine for longer than any text is worth.
func slow(t *testing.T, start time.Time) {
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took too long: %v", d)
	}
}
