package calc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

func goldenPrint(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/golden/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const keras = `Model: "sequential"
 dense (Dense)               (None, 37)                9509
 dense_1 (Dense)             (None, 2)                 76
`

const gpt2 = `{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 100, "n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 2}`

// TestRecognise: whatever is pasted is given to the reader of its kind.
func TestRecognise(t *testing.T) {
	trace := string(tracedModel(t, "lesson").Trace)
	for _, c := range []struct{ text, want string }{
		{goldenPrint(t, "resnet/resnet18"), "torch"},
		{"\n\x1b[0mOut[3]: Net(\n  (a): ReLU()\n)", "torch"},
		{"", "torch"},
		{"nothing of the kind", "torch"},
		{"Layer (type:depth-idx)      Output Shape     Param #\nNet  --  --\n", "summary"},
		{keras, "summary"},
		{"            Conv2d-1         [-1, 64, 112, 112]           9,408\n", "summary"},
		{trace, "trace"},
		{"  \n" + trace, "trace"},
		{"\ufeff{\"model_type\": \"llama\"}", "hf"},
		{"{ not JSON", "hf"},
		{`{"metadata": {"total_size": 8}, "weight_map": {"a": "b"}}`, "file"},
	} {
		m := Recognise(c.text)
		got := ""
		switch {
		case m.Summary != "":
			got = "summary"
		case m.Trace != nil:
			got = "trace"
		case m.HF != nil:
			got = "hf"
		case m.File != nil:
			got = "file"
		default:
			got = "torch"
		}
		if got != c.want {
			t.Errorf("%.30q is taken for %s, not %s", c.text, got, c.want)
		}
	}
}

// counted counts what is read of a file.
type counted struct {
	io.ReaderAt
	bytes int64
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	c.bytes += int64(len(p))
	return c.ReaderAt.ReadAt(p, at)
}

// weightsFile is a safetensors file of size bytes, most of them data that is not there.
func weightsFile(shape ...int64) (header []byte, size int64) {
	n := int64(4)
	for _, d := range shape {
		n *= d
	}
	text, _ := json.Marshal(map[string]any{"fc.weight": map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int64{0, n}}})
	header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	return header, int64(len(header)) + n
}

// TestOpen: a model file is read by its header, once for many requests; a text is given back.
func TestOpen(t *testing.T) {
	header, size := weightsFile(1<<20, 1<<10)
	source := &counted{ReaderAt: bytes.NewReader(header)}
	m, text, err := Open([]File{{Name: "model.safetensors", Source: source, Size: size}})
	if err != nil || m.File == nil || text != "" {
		t.Fatalf("%+v %q %v", m, text, err)
	}
	m.Memo = &Memo{}
	for range 3 {
		r, err := Estimate(Request{Model: m, Mode: "infer"})
		if err != nil || r.Parameters.Total != 1<<30 {
			t.Fatalf("%d parameters, %v", r.Parameters.Total, err)
		}
	}
	if source.bytes > 64+2*int64(len(header)) {
		t.Errorf("%d bytes read of a header of %d", source.bytes, len(header))
	}
	for name, data := range map[string]string{"net.txt": goldenPrint(t, "resnet/resnet18"), "trace.json": string(tracedModel(t, "lesson").Trace), "config.json": gpt2} {
		m, text, err := Open([]File{{Name: name, Source: strings.NewReader(data), Size: int64(len(data))}})
		if err != nil || text != data {
			t.Errorf("%s: %d bytes of text, %v", name, len(text), err)
			continue
		}
		if _, err := Read(Request{Model: m}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct{ name, data, code string }{
		{"empty", "", "file-empty"}, {"photo.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "file-kind"}, {"latin1.txt", "Mod\xe8le(\n)", "file-kind"},
	} {
		_, _, err := Open([]File{{Name: c.name, Source: strings.NewReader(c.data), Size: int64(len(c.data))}})
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	_, _, err = Open([]File{{Name: "cut.safetensors", Source: strings.NewReader("abc"), Size: 1000}})
	var e *Error
	if !errors.As(err, &e) || e.Code != "file-unreadable" {
		t.Errorf("a file that ends early: %v", err)
	}
}

// TestMemo: what is remembered is what would be read, also after other inputs and classes.
func TestMemo(t *testing.T) {
	kept := Model{Torch: goldenPrint(t, "resnet/resnet18"), Memo: &Memo{}}
	for _, r := range []Request{{}, {NumClasses: 10}, {}, {Input: Inputs{{Shape: []int64{3, 64, 64}}}}, {Input: Inputs{{Shape: []int64{3, 64, 64}}}, Batch: 7, Precision: "amp-fp16"}} {
		r.Model = kept
		got, err := Estimate(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Model.Memo = nil
		want, err := Estimate(r)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%+v: remembered %s, read %s", r.Input, a, b)
		}
	}
}

// TestClasses: a read model with another number of classes is the preset with it, auxiliary heads included.
func TestClasses(t *testing.T) {
	for _, c := range []struct{ print, preset string }{
		{"resnet/resnet18", "resnet18"}, {"inception/googlenet", "googlenet"}, {"segmentation/lraspp_mobilenet_v3_large", "lraspp_mobilenet_v3_large"}, {"squeezenet/squeezenet1_1", "squeezenet1_1"}, {"segmentation/fcn_resnet50", "fcn_resnet50"},
		{"vit/vit_b_16", "vit_b_16"}, {"mobilenet/mobilenet_v2", "mobilenet_v2"},
	} {
		text := goldenPrint(t, c.print)
		r := Request{Model: Model{Torch: text}, NumClasses: 37, Batch: 2}
		m, err := Read(r)
		if err != nil {
			t.Errorf("%s: %v", c.print, err)
			continue
		}
		got, err := Estimate(r)
		if err != nil {
			t.Errorf("%s: %v", c.print, err)
			continue
		}
		r.Model = Model{Preset: c.preset}
		want, err := Estimate(r)
		if err != nil {
			t.Fatal(err)
		}
		if got.Parameters.Total != want.Parameters.Total || got.Peak.Live != want.Peak.Live || m.Parameters != want.Parameters.Total || m.Classes != 37 {
			t.Errorf("%s: %d parameters, %d alive, the preset has %d and %d; the tree %d", c.print, got.Parameters.Total, got.Peak.Live, want.Parameters.Total, want.Peak.Live, m.Parameters)
		}
		for _, h := range m.Heads {
			if node := m.Tree.Find(h); node == nil || !strings.Contains(node.Args, "37") {
				t.Errorf("%s: %s reads %+v", c.print, h, node)
			}
		}
	}
	for _, c := range []struct{ text, code string }{
		{"Sequential(\n  (0): ReLU()\n)", "classes-unknown"},
		{gpt2, "classes-unknown"}, // its last layer is the first one's weight
	} {
		_, err := Read(Request{Model: Recognise(c.text), NumClasses: 3})
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%.20s: %v", c.text, err)
		}
	}
}

// TestRanges: a part of a path such as 0-3 is each of four modules.
func TestRanges(t *testing.T) {
	var list []string
	for i := range 4 {
		list = append(list, fmt.Sprintf("model.layers.%d.mlp", i))
	}
	m := Recognise(`{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 100}`)
	a, err := Estimate(Request{Model: m, Frozen: []string{"model.layers.0-3.mlp"}, Checkpointing: Checkpointing{Paths: []string{"model.layers.0-3"}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Estimate(Request{Model: m, Frozen: list, Checkpointing: Checkpointing{EveryBlock: true}})
	if err != nil {
		t.Fatal(err)
	}
	if a.Peak != b.Peak || a.Parameters != b.Parameters || a.Parameters.Trainable == a.Parameters.Total {
		t.Errorf("a range gives %+v %+v, a list %+v %+v", a.Peak, a.Parameters, b.Peak, b.Parameters)
	}
	for path, code := range map[string]string{"model.layers.0-4.mlp": "path-unknown", "a.0-99999": "paths-many", "0-199.0-199": "paths-many", "3-1": "path-unknown"} {
		_, err := Estimate(Request{Model: m, Frozen: []string{path}})
		var e *Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v", path, err)
		}
	}
}
