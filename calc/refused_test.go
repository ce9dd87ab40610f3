package calc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// stricter are the refusals of what PyTorch accepts: one sample without its batch, tensors without elements, numbers
// written as true or 1.5 that its layer never looks at.
var stricter = []string{"shape-rank", "shape-rank-low", "shape-negative", "argument-positive", "argument-range", "argument-integer", "argument-number",
	"dtype-floating", "pool-fractional", "shape-matmul"}

// TestRefused compares with testdata/refused_*.jsonl, which refused.py made: what PyTorch refuses is an *Error at the layer,
// what it accepts has its shape.
func TestRefused(t *testing.T) {
	for file, version := range map[string]string{"refused_1.13.jsonl": "1.13", "refused_2.6.jsonl": "2.6"} {
		f, err := os.Open("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		refused, accepted, strict := 0, 0, 0
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var typ string
			var args map[string]any
			var shapes [][]int64
			var want []int64
			var dtypes []string
			d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
			d.UseNumber()
			if err := d.Decode(&[]any{&typ, &args, &shapes, &want, &dtypes}); err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			layer := Layer{Type: typ, Args: args}
			q := Request{Loss: "none", Batch: 2, PyTorch: version, Mode: "train", Want: []string{WantLayers}}
			for i, s := range shapes {
				in := Input{Shape: s}
				if dtypes != nil {
					in.DType = dtypes[i]
				}
				q.Input = append(q.Input, in)
				if len(shapes) > 1 {
					layer.Inputs = append(layer.Inputs, fmt.Sprintf("input%d", i))
				}
			}
			q.Model.Layers = []Layer{layer}
			r, err := Estimate(q)
			e, _ := err.(*Error)
			if e != nil && (e.Code == "no-parameters" || e.Code == "nothing-trainable") {
				q.Mode = "infer"
				r, err = Estimate(q)
				e, _ = err.(*Error)
			}
			switch {
			case err != nil && (e == nil || e.At != "0" && !strings.HasPrefix(e.At, "0.")):
				t.Errorf("%s: %v", lines.Text(), err)
			case want == nil && err == nil:
				t.Errorf("%s: accepted", lines.Text())
			case want == nil:
				refused++
			case err != nil && slices.Contains(stricter, e.Code):
				strict++
			case err != nil:
				t.Errorf("%s: %v", lines.Text(), err)
			default:
				accepted++
				at := slices.IndexFunc(r.Layers, func(l LayerRow) bool { return l.Path == "0" })
				if at >= 0 && !slices.Equal(r.Layers[at].Output, want) {
					t.Errorf("%s: %v", lines.Text(), r.Layers[at].Output)
				}
			}
		}
		t.Logf("%s: %d refused, %d accepted, %d refused here only", version, refused, accepted, strict)
		if refused == 0 || accepted == 0 || strict > (refused+accepted)/20 {
			t.Errorf("%s: %d refused, %d accepted, %d refused here only", version, refused, accepted, strict)
		}
	}
}

// The arguments of presets are checked like those of layers: no size of a network is zero or negative.
func TestPresetArguments(t *testing.T) {
	sizes := []string{"num_classes", "widths", "vocab", "T", "d", "h", "L", "V", "ff", "layers", "heads", "width_mult", "alpha", "round_nearest", "bn_size", "stem_width",
		"input_size", "image_size", "num_groups", "base_channels", "cin", "classes", "ch", "nz", "ngf", "ndf", "nc", "vocab_size", "n_embd", "n_layer", "n_head", "hidden_size",
		"num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size", "d_model", "num_heads", "dim", "n_heads", "n_layers"}
	rates := []string{"p", "dropout", "dropout_aux", "drop_rate", "attention_dropout", "stochastic_depth_prob"}
	tried := 0
	try := func(name, arg string, v any) (known bool) {
		_, err := Estimate(Request{Model: Model{Preset: name, PresetArgs: map[string]any{arg: v}}, Batch: 2})
		e, ok := err.(*Error)
		switch {
		case ok && e.Code == "argument-unknown":
			return false
		case !ok:
			t.Errorf("%s(%s=%v): %v", name, arg, v, err)
		case !strings.HasPrefix(e.At, "model.preset_args"):
			t.Errorf("%s(%s=%v): %v", name, arg, v, err)
		default:
			tried++
		}
		return true
	}
	names, least := Presets(), 1000
	if testing.Short() { // as WebAssembly
		names, least = []string{"resnet18", "mobilenet_v2", "unet", "gpt_small", "gpt2", "bert_base", "seq2seq", "vit_b_16", "lesson"}, 50
	}
	for _, name := range names {
		for _, arg := range sizes {
			for _, v := range []any{0, -5, "x"} {
				if !try(name, arg, v) {
					break
				}
			}
		}
		for _, arg := range rates {
			for _, v := range []any{-0.5, 1.5, "x"} {
				if !try(name, arg, v) {
					break
				}
			}
		}
	}
	if tried < least {
		t.Errorf("only %d arguments refused", tried)
	}
}
