package calc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vrametre/calc/models"
	"vrametre/calc/read"
)

// printed is a measured network with its print(model).
type printed struct {
	golden
	text   string
	Inputs [][2]any
	Loss   string
}

func prints(t testing.TB) []printed {
	dir := os.Getenv("VRAMETRE_GOLDEN")
	if dir == "" {
		dir = "testdata/golden"
	}
	var out []printed
	for _, g := range goldens(t) {
		files, err := filepath.Glob(filepath.Join(dir, "*", g.Name+".txt"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: prints %v, %v", g.Name, files, err)
		}
		p := printed{golden: g}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		p.text = string(text)
		data, err := os.ReadFile(strings.TrimSuffix(files[0], ".txt") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &struct {
			Inputs *[][2]any `json:"inputs"`
			Loss   *string   `json:"loss"`
		}{&p.Inputs, &p.Loss}); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// inputs are the measured ones, per sample.
func (p *printed) inputs() Inputs {
	var out Inputs
	for _, v := range p.Inputs {
		in := Input{DType: strings.Split(v[0].(string), "<")[0]}
		for _, d := range v[1].([]any)[1:] {
			in.Shape = append(in.Shape, int64(d.(float64)))
		}
		if p.Family == "dtype" {
			in.DType = "float64"
		}
		out = append(out, in)
	}
	return out
}

func (p *printed) loss() string {
	for text, name := range map[string]string{"F.mse_loss": "mse", "F.l1_loss": "l1", "F.smooth_l1_loss": "smooth_l1", "F.nll_loss": "nll",
		"F.binary_cross_entropy_with_logits": "bce_with_logits", "F.binary_cross_entropy(": "bce"} {
		if strings.HasPrefix(p.Loss, text) {
			return name
		}
	}
	return "cross_entropy"
}

// TestGoldenPrints reads the print(model) of each measured network: exact parameters for all, and the saved bytes and
// peaks that its preset has.
func TestGoldenPrints(t *testing.T) {
	exact, total := 0, 0
	for _, p := range prints(t) {
		t.Run(p.Name, func(t *testing.T) {
			m, err := Read(Request{Model: Model{Torch: p.text}, Input: p.inputs()})
			if err != nil {
				t.Fatal(err)
			}
			if m.Parameters != p.Params.Total {
				t.Errorf("parameters %d, measured %d %v", m.Parameters, p.Params.Total, m.Warnings)
			}
			if p.Family == "rnn" {
				return
			}
			for _, c := range p.Cases {
				q := p.request(c.Batch)
				q.Model, q.Want = Model{Torch: p.text}, nil
				q.Input, q.Loss = p.inputs(), p.loss()
				if p.Family == "dtype" {
					q.Precision = "fp64"
				}
				if p.Family == "frozen" {
					q.Frozen = presetFrozen(p.Name)
				}
				r, err := Estimate(q)
				if err != nil {
					t.Fatal(err)
				}
				want, err := Estimate(p.request(c.Batch))
				if err != nil {
					t.Fatal(err)
				}
				total++
				if r.SavedForBackward != want.SavedForBackward || r.First != want.First {
					t.Errorf("batch %d: saved %d, peaks %+v; preset %d, %+v (%v)", c.Batch, r.SavedForBackward, r.First, want.SavedForBackward, want.First, r.Warnings)
					continue
				}
				exact++
			}
		})
	}
	t.Logf("same as the preset in %d of %d cases", exact, total)
}

func presetFrozen(name string) []string {
	p, err := models.Find(name)
	if err != nil {
		return nil
	}
	return p.Frozen
}

// BenchmarkResNet50Print reads ResNet-50's print and estimates it.
func BenchmarkResNet50Print(b *testing.B) {
	text, err := os.ReadFile("testdata/golden/resnet/resnet50.txt")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := Read(Request{Model: Model{Torch: string(text)}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read and estimate", func(b *testing.B) {
		for b.Loop() {
			if _, err := Estimate(Request{Model: Model{Torch: string(text)}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestTreePaths freezes and checkpoints modules by the paths of the tree that the page shows.
func TestTreePaths(t *testing.T) {
	peft := `PeftModelForCausalLM(
  (base_model): LoraModel(
    (model): LlamaForCausalLM(
      (model): LlamaModel(
        (embed_tokens): Embedding(320, 64)
        (layers): ModuleList(
          (0-1): 2 x LlamaDecoderLayer(
            (self_attn): LlamaAttention(
              (q_proj): lora.Linear4bit(
                (base_layer): Linear4bit(in_features=64, out_features=64, bias=False)
                (lora_dropout): ModuleDict(
                  (default): Dropout(p=0.1, inplace=False)
                )
                (lora_A): ModuleDict(
                  (default): Linear(in_features=64, out_features=8, bias=False)
                )
                (lora_B): ModuleDict(
                  (default): Linear(in_features=8, out_features=64, bias=False)
                )
              )
              (k_proj): Linear4bit(in_features=64, out_features=64, bias=False)
              (v_proj): Linear4bit(in_features=64, out_features=64, bias=False)
              (o_proj): Linear4bit(in_features=64, out_features=64, bias=False)
            )
            (mlp): LlamaMLP(
              (gate_proj): Linear4bit(in_features=64, out_features=96, bias=False)
              (up_proj): Linear4bit(in_features=64, out_features=96, bias=False)
              (down_proj): Linear4bit(in_features=96, out_features=64, bias=False)
            )
            (input_layernorm): LlamaRMSNorm((64,), eps=1e-05)
            (post_attention_layernorm): LlamaRMSNorm((64,), eps=1e-05)
          )
        )
        (norm): LlamaRMSNorm((64,), eps=1e-05)
      )
      (lm_head): Linear(in_features=64, out_features=320, bias=False)
    )
  )
)`
	resnet, err := os.ReadFile("testdata/golden/resnet/resnet18.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]Model{
		"print":        {Torch: string(resnet)},
		"peft":         {Torch: peft},
		"torchinfo":    {Summary: callsOf(t, "resnet18", 2).torchinfo(99)},
		"torchsummary": {Summary: callsOf(t, "vgg11", 2).torchsummary()},
		"keras":        {Summary: callsOf(t, "lenet5", 2).keras()},
		"config":       {HF: []byte(`{"model_type": "gpt2", "vocab_size": 320, "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 4}`)},
	} {
		got, err := Read(Request{Model: m})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		paths := 0
		var walk func(n *read.Node)
		walk = func(n *read.Node) {
			if n.Params > 0 && n.Params < got.Parameters && !strings.Contains(n.Path, "base_layer") && (got.Prefix == "" || strings.HasPrefix(n.Path, got.Prefix+".")) {
				paths++
				if _, err := Estimate(Request{Model: m, Batch: 2, Frozen: []string{n.Path}}); err != nil && err.(*Error).Code != "nothing-trainable" {
					t.Errorf("%s: frozen %s: %v", name, n.Path, err)
				}
			}
			for _, k := range n.Children {
				walk(k)
			}
		}
		walk(got.Tree)
		if paths < 5 {
			t.Errorf("%s: %d paths", name, paths)
		}
	}
	m, err := Read(Request{Model: Model{Torch: peft}})
	if err != nil || m.Trainable != 2*(8*64+64*8) || m.Parameters != 2*320*64+2*(4*64*64+3*64*96+2*64)+64+m.Trainable {
		t.Errorf("LoRA: %d of %d trainable (%v)", m.Trainable, m.Parameters, err)
	}
}
