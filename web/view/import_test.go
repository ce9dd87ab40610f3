package view

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/content"
)

const smallNet = "Net(\n  (conv): Conv2d(3, 6, kernel_size=(5, 5), stride=(1, 1))\n  (odd): MyThing()\n  (fc): Linear(in_features=4704, out_features=10, bias=True)\n)\n"

const stack = `LlamaForCausalLM(
  (model): LlamaModel(
    (embed_tokens): Embedding(320, 64)
    (layers): ModuleList(
      (0-3): 4 x LlamaDecoderLayer(
        (self_attn): LlamaAttention(
          (q_proj): Linear(in_features=64, out_features=64, bias=False)
          (k_proj): Linear(in_features=64, out_features=64, bias=False)
          (v_proj): Linear(in_features=64, out_features=64, bias=False)
          (o_proj): Linear(in_features=64, out_features=64, bias=False)
        )
        (mlp): LlamaMLP(
          (gate_proj): Linear(in_features=64, out_features=96, bias=False)
          (up_proj): Linear(in_features=64, out_features=96, bias=False)
          (down_proj): Linear(in_features=96, out_features=64, bias=False)
        )
        (input_layernorm): LlamaRMSNorm((64,), eps=1e-05)
        (post_attention_layernorm): LlamaRMSNorm((64,), eps=1e-05)
      )
    )
    (norm): LlamaRMSNorm((64,), eps=1e-05)
  )
  (lm_head): Linear(in_features=64, out_features=320, bias=False)
)`

func pasted(text string) State {
	s := Start(PageWorkshop)
	s.Setup = s.Setup.WithImport(Paste(text))
	return s
}

// A pasted model is the one that is asked about, and short ones travel in the address.
func TestImportedState(t *testing.T) {
	s := pasted(smallNet)
	scene, err := Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := scene.Now.Parameters.Total; got != 456+47050 {
		t.Errorf("%d parameters", got)
	}
	if got := s.OwnInput(); got != "3, 32, 32" {
		t.Errorf("its input is %q", got)
	}
	s.Setup = s.Setup.With(SetupClasses, "37").With(SetupFrozen, "conv").With(SetupInput, "3, 32, 32")
	read := ParseFragment(s.Fragment())
	if read.Setup.Import == nil || read.Setup.Import.Text != smallNet || read.Setup.Classes != 37 || read.Setup.Frozen != "conv" || read.Fragment() != s.Fragment() {
		t.Errorf("read back: %+v", read.Setup)
	}
	a, err := Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Compute(read)
	if err != nil || a.Now.Peak != b.Now.Peak || a.Now.Parameters.Total != 456+4704*37+37 || a.Now.Parameters.Trainable != 4704*37+37 {
		t.Errorf("%+v, from the address %+v: %v", a.Now.Parameters, b.Now.Parameters, err)
	}
	// Another model forgets it, but not what was pasted.
	s.Setup = s.Setup.With(SetupModel, "resnet18")
	if s.Setup.Import == nil || s.Setup.Classes != 0 || s.Setup.Frozen != "" || strings.Contains(s.Fragment(), "text=") {
		t.Errorf("after another model: %s", s.Fragment())
	}
	s.Setup = s.Setup.With(SetupModel, ModelImport)
	if _, err := Compute(s); err != nil {
		t.Error(err)
	}
	if s.Setup = s.Setup.WithImport(nil); s.Setup.Model != lessonModel {
		t.Errorf("taken away: %+v", s.Setup)
	}
}

// A long text stays out of the address, which then says that the model is elsewhere.
func TestLongImport(t *testing.T) {
	text, err := os.ReadFile("../../calc/testdata/golden/resnet/resnet50.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := pasted(string(text))
	if f := s.Fragment(); len(f) > 200 || s.Setup.Import.Carried() {
		t.Errorf("%d bytes of address", len(f))
	}
	alone := ParseFragment(s.Fragment())
	if alone.Fragment() != s.Fragment() || alone.Found("Net()").Setup.Import != nil || alone.Found(string(text)).Fragment() != s.Fragment() || alone.Found(string(text)).Setup.Import == nil {
		t.Errorf("the link alone: %+v", alone.Setup)
	}
	_, err = Compute(ParseFragment(s.Fragment()))
	var e *calc.Error
	if !errors.As(err, &e) || e.Code != "import-elsewhere" {
		t.Errorf("the link alone: %v", err)
	}
	if _, err := ParseFragment(s.Fragment()).Imported(); err == nil {
		t.Error("a model that is not there is read")
	}
}

// Editing a text keeps what was changed in its model, as far as the model still has it; another model starts afresh.
func TestImportEdited(t *testing.T) {
	s := pasted(smallNet)
	s.Setup = s.Setup.With(SetupFrozen, "conv,fc").With(SetupInput, "3, 64, 64").With(SetupClasses, "5")
	edited := s.Setup.WithImport(Paste(strings.Replace(smallNet, "(conv)", "(stem)", 1)))
	if edited.Frozen != "fc" || edited.Input != "3, 64, 64" || edited.Classes != 5 {
		t.Errorf("edited: %+v", edited)
	}
	broken := s.Setup.WithImport(Paste(smallNet[:30]))
	if broken.Frozen != "conv,fc" && broken.Frozen != "conv" || broken.Input != "3, 64, 64" {
		t.Errorf("half of it: %+v", broken)
	}
	other := s.Setup.WithImport(Paste(stack))
	if other.Frozen != "" || other.Input != "" || other.Classes != 0 {
		t.Errorf("another model: %+v", other)
	}
}

// A line of the tree that stands for several modules is all of them in what is asked of calc.
func TestModules(t *testing.T) {
	s := pasted(stack)
	m, err := s.Imported()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	Modules(m.Tree, func(m Module) { ids = append(ids, m.ID) })
	for _, want := range []string{"", "model.layers.0-3", "model.layers.0-3.mlp.up_proj", "lm_head"} {
		found := false
		for _, id := range ids {
			found = found || id == want
		}
		if !found {
			t.Errorf("no module %q in %v", want, ids)
		}
	}
	s.Setup = s.Setup.With(SetupFrozen, List("", "model.layers.0-3", true)).With(SetupBlocks, "model.layers.0-3")
	scene, err := Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	if p := scene.Now.Parameters; p.Trainable != 2*320*64+64 {
		t.Errorf("%d of %d parameters trained", p.Trainable, p.Total)
	}
}

// List and ListingOf: a module stands for those below it.
func TestList(t *testing.T) {
	list := List("", "a.b", true)
	list = List(list, "c", true)
	if list != "a.b,c" || ListingOf(list, "a.b.x") != ListedAbove || ListingOf(list, "a.b") != Listed || ListingOf(list, "a") != Unlisted || ListingOf(list, "a.bx") != Unlisted {
		t.Errorf("%q", list)
	}
	if got := List(list, "a", true); got != "c,a" {
		t.Errorf("above: %q", got)
	}
	if got := List(list, "a.b.x", false); got != list {
		t.Errorf("below a listed one: %q", got)
	}
	if got := List(list, "a.b", false); got != "c" {
		t.Errorf("taken off: %q", got)
	}
}

// Notes quote the line that they speak of.
func TestNotes(t *testing.T) {
	s := pasted(smallNet)
	scene, err := Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, n := range s.Notes(&scene.Now, content.English) {
		if n.Message == "" || strings.Contains(n.Message, "warning.") {
			t.Errorf("%+v", n)
		}
		found = found || n.Line == 3 && n.Quote == "(odd): MyThing()"
	}
	if !found {
		t.Error("the unknown layer is not told at its line")
	}
	for _, c := range []struct {
		text, quote string
		line        int
	}{
		{"Net(\n  (a): Sequential(\n    (0): ReLU()", "(a): Sequential(", 2},
		{"{\n  \"model_type\": \"llama\",\n  \"hidden_size\": -4\n}", "\"hidden_size\": -4", 3},
		{"{\n  \"model_type\": \"llama\",,\n}", "\"model_type\": \"llama\",,", 2},
		{"no model at all", "no model at all", 1},
		{"\n {\"format\": \"vrametre-trace\",\n\"version\": 1,\n\"torch\": 3}", "\"torch\": 3}", 4},
		{"Net(\n  (a): Conv2d(3, 8, kernel_size=(3, 3))\n  (b): Conv2d(9, 8, kernel_size=(3, 3))\n)", "(b): Conv2d(9, 8, kernel_size=(3, 3))", 3},
	} {
		s := pasted(c.text)
		s.Setup.Input = "3, 32, 32"
		_, err := Compute(s)
		if err == nil {
			t.Errorf("%q is answered", c.text)
			continue
		}
		if n := s.FaultNote(err, content.French); n.Line != c.line || n.Quote != c.quote || n.Message == "" {
			t.Errorf("%q: %+v (%v)", c.text, n, err)
		}
	}
}

// A file is a model by its header or by its text; what is neither is an error.
func TestDrop(t *testing.T) {
	i, err := Drop([]calc.File{{Name: "net.txt", Source: strings.NewReader(smallNet), Size: int64(len(smallNet))}})
	if err != nil || i.Text != smallNet || len(i.Names) != 1 || i.Names[0] != "net.txt" {
		t.Errorf("%+v, %v", i, err)
	}
	header := `{"w": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}}`
	weights := string(rune(len(header))) + strings.Repeat("\x00", 7) + header
	i, err = Drop([]calc.File{{Name: "w.safetensors", Source: strings.NewReader(weights), Size: int64(len(weights)) + 48}})
	if err != nil || i.Text != "" || i.Carried() {
		t.Errorf("%+v, %v", i, err)
	}
	s := Start(PageWorkshop)
	s.Setup = s.Setup.WithImport(i)
	if m, err := s.Imported(); err != nil || m.Parameters != 12 {
		t.Errorf("%+v, %v", m, err)
	}
	var e *calc.Error
	if _, err := Drop([]calc.File{{Name: "w.safetensors", Source: strings.NewReader(weights[:20]), Size: int64(len(weights))}}); !errors.As(err, &e) {
		t.Errorf("cut: %v", err)
	}
}

// What a trace, or weights alone, cannot follow is taken off the setup, whichever way it comes; freezing stays.
func TestFixed(t *testing.T) {
	trace, err := os.ReadFile("../../calc/read/trace/testdata/lesson.json")
	if err != nil {
		t.Fatal(err)
	}
	header := `{"a.w": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}, "b.w": {"dtype": "F32", "shape": [3], "data_offsets": [48, 60]}}`
	weights := string([]byte{byte(len(header))}) + strings.Repeat("\x00", 7) + header
	for why, c := range map[string]struct{ name, data, frozen string }{"trace": {"trace.json", string(trace), "0"}, "weights": {"w.safetensors", weights + strings.Repeat("\x00", 60), "a"}} {
		i, err := Drop([]calc.File{{Name: c.name, Source: strings.NewReader(c.data), Size: int64(len(c.data))}})
		if err != nil {
			t.Fatal(err)
		}
		s := Start(PageWorkshop)
		s.Setup = s.Setup.With(SetupRecompute, "1").With(SetupLoss, "mse").With(SetupInput, "3, 9, 9").WithImport(i)
		if s.Fixed() != why || s.Setup.Recompute || s.Setup.Loss != "" || s.Setup.Input != "" {
			t.Errorf("%s: %q, %+v", why, s.Fixed(), s.Setup)
		}
		before, err := Compute(s)
		if err != nil {
			t.Errorf("%s: %v", why, err)
			continue
		}
		s.Setup = s.Setup.With(SetupFrozen, c.frozen)
		after, err := Compute(s)
		if err != nil || after.Now.Parameters.Trainable >= before.Now.Parameters.Trainable || after.Now.Peak.Live >= before.Now.Peak.Live {
			t.Errorf("%s frozen: %+v then %+v, %v", why, before.Now.Parameters, after.Now.Parameters, err)
		}
	}
	if s := pasted(smallNet); s.Fixed() != "" {
		t.Errorf("a printed model is fixed: %q", s.Fixed())
	}
}

// A summary's sizes stand beside the peak: the rows of the peak add up to its live bytes.
func TestStated(t *testing.T) {
	s := pasted("Layer (type:depth-idx)                   Output Shape              Param #\nSequential                               [4, 10]                   --\n" +
		"├─Linear: 1-1                            [4, 32]                   1,056\n├─Linear: 1-2                            [4, 10]                   330\nTotal params: 1,386\n" +
		"Input size (MB): 0.10\nForward/backward pass size (MB): 0.20\nParams size (MB): 0.30\nEstimated Total Size (MB): 0.60\n")
	scene, err := Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	caption, rows := s.Stated(&scene.Now, content.English)
	if len(rows) < 6 || !strings.Contains(caption, "4") {
		t.Fatalf("%q %+v", caption, rows)
	}
	for i, want := range []StatedRow{{"Batch and target", Bytes(content.English, 100_000), ""}, {"Activations", Bytes(content.English, 200_000), ""}, {"Weights", Bytes(content.English, 300_000), ""}, {"Gradients", "not counted", ""}} {
		if rows[i].Name != want.Name || rows[i].Tool != want.Tool || rows[i].Here == "" {
			t.Errorf("%+v, want %+v", rows[i], want)
		}
	}
	if last := rows[len(rows)-1]; last.Tool != Bytes(content.English, 600_000) || last.Here != Bytes(content.English, scene.Now.Peak.Live) {
		t.Errorf("%+v, live %d", last, scene.Now.Peak.Live)
	}
	if _, rows := pasted(smallNet).Stated(&scene.Now, content.English); rows != nil {
		t.Errorf("a printed model states %+v", rows)
	}
}

// A text that comes without a word is a model where it reads as one and holds no message.
func TestShared(t *testing.T) {
	const message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB. GPU 0 has a total capacity of 7.79 GiB"
	for _, c := range []struct {
		text  string
		model bool
	}{
		{smallNet, true}, {stack, true}, {`{"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 64}`, true},
		{message, false}, {smallNet + "\n" + message, false}, {"Bonjour (à tous) : 3", false}, {"https://example.org/(a)", false}, {"{}", false}, {"", false},
	} {
		if got := Shared(c.text); (got != nil) != c.model || got != nil && got.Text != c.text {
			t.Errorf("%.40q: %+v", c.text, got)
		}
	}
}

// Files whose names end as the system is told are not refused for their kind.
func TestModelFiles(t *testing.T) {
	if err := dropped("x.xyz", "\x00\x01\x02"); err == nil || err.Code != "file-kind" {
		t.Errorf("a file of no kind: %v", err)
	}
	starts := map[string]string{".gguf": "GGUF\x03", ".json": `{"model_type": "gpt2"}`, ".txt": smallNet}
	for _, endings := range ModelFiles {
		for _, ending := range endings {
			content := cmp.Or(starts[ending], "\x00\x01\x02") // others are known by their name
			if err := dropped("x"+ending, content); err != nil && err.Code == "file-kind" {
				t.Errorf("x%s is refused: %v", ending, err)
			}
		}
	}
}

func dropped(name, content string) *calc.Error {
	_, err := Drop([]calc.File{{Name: name, Source: strings.NewReader(content), Size: int64(len(content))}})
	var fault *calc.Error
	errors.As(err, &fault)
	return fault
}
