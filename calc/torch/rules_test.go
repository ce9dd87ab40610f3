package torch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// rule is one line of rules.json: a layer, operation or loss alone, and what autograd kept of it.
type rule struct {
	Layer                      string
	In, Out                    []json.RawMessage
	Train, First, Frozen, Eval [][]any
}

type args = map[string]any

func list(v ...any) []any { return v }

// ruled gives a module by its constructor; several lines of a module are told apart by their arguments.
var ruled = map[string]struct {
	typ  string
	args args
}{
	"Linear(10,7)":                         {"Linear", args{"in_features": 10, "out_features": 7}},
	"Linear(16,8) on 3-d input":            {"Linear", args{"in_features": 16, "out_features": 8}},
	"Linear(16,8,bias=False) on 3-d input": {"Linear", args{"in_features": 16, "out_features": 8, "bias": false}},
	"Bilinear(10,10,3)":                    {"Bilinear", args{"in1_features": 10, "in2_features": 10, "out_features": 3}},
	"Conv1d(8,4,3)":                        {"Conv1d", args{"in_channels": 8, "out_channels": 4, "kernel_size": 3}},
	"Conv2d(8,4,3,padding=1)":              {"Conv2d", args{"in_channels": 8, "out_channels": 4, "kernel_size": 3, "padding": 1}},
	"Conv2d(8,8,3,groups=8,bias=False)":    {"Conv2d", args{"in_channels": 8, "out_channels": 8, "kernel_size": 3, "groups": 8, "bias": false}},
	"Conv3d(8,4,3)":                        {"Conv3d", args{"in_channels": 8, "out_channels": 4, "kernel_size": 3}},
	"ConvTranspose2d(8,4,2,2)":             {"ConvTranspose2d", args{"in_channels": 8, "out_channels": 4, "kernel_size": 2, "stride": 2}},
	"BatchNorm1d(10)":                      {"BatchNorm1d", args{"num_features": 10}},
	"BatchNorm2d(8)":                       {"BatchNorm2d", args{"num_features": 8}},
	"LayerNorm(16)":                        {"LayerNorm", args{"normalized_shape": 16}},
	"GroupNorm(4,8)":                       {"GroupNorm", args{"num_groups": 4, "num_channels": 8}},
	"InstanceNorm2d(8)":                    {"InstanceNorm2d", args{"num_features": 8}},
	"InstanceNorm2d(8,affine=True)":        {"InstanceNorm2d", args{"num_features": 8, "affine": true}},
	"ReLU()":                               {"ReLU", nil},
	"ReLU(True)":                           {"ReLU", args{"inplace": true}},
	"LeakyReLU()":                          {"LeakyReLU", nil},
	"LeakyReLU(inplace=True)":              {"LeakyReLU", args{"inplace": true}},
	"ELU()":                                {"ELU", nil},
	"GELU()":                               {"GELU", nil},
	"GELU('tanh')":                         {"GELU", args{"approximate": "tanh"}},
	"SiLU()":                               {"SiLU", nil},
	"SiLU(True)":                           {"SiLU", args{"inplace": true}},
	"Hardswish()":                          {"Hardswish", nil},
	"Hardswish(True)":                      {"Hardswish", args{"inplace": true}},
	"Hardsigmoid()":                        {"Hardsigmoid", nil},
	"Sigmoid()":                            {"Sigmoid", nil},
	"Tanh()":                               {"Tanh", nil},
	"Softmax(1)":                           {"Softmax", args{"dim": 1}},
	"LogSoftmax(1)":                        {"LogSoftmax", args{"dim": 1}},
	"PReLU()":                              {"PReLU", nil},
	"Mish()":                               {"Mish", nil},
	"ReLU6()":                              {"ReLU6", nil},
	"ReLU6(True)":                          {"ReLU6", args{"inplace": true}},
	"Softplus()":                           {"Softplus", nil},
	"GLU(1)":                               {"GLU", args{"dim": 1}},
	"Identity()":                           {"Identity", nil},
	"Flatten()":                            {"Flatten", nil},
	"MaxPool1d(2)":                         {"MaxPool1d", args{"kernel_size": 2}},
	"MaxPool2d(2)":                         {"MaxPool2d", args{"kernel_size": 2}},
	"MaxPool3d(2)":                         {"MaxPool3d", args{"kernel_size": 2}},
	"AvgPool2d(2)":                         {"AvgPool2d", args{"kernel_size": 2}},
	"AdaptiveAvgPool2d(1)":                 {"AdaptiveAvgPool2d", args{"output_size": 1}},
	"AdaptiveAvgPool2d(3)":                 {"AdaptiveAvgPool2d", args{"output_size": 3}},
	"AdaptiveAvgPool2d((6,6)) same size":   {"AdaptiveAvgPool2d", args{"output_size": list(6, 6)}},
	"AdaptiveMaxPool2d(2)":                 {"AdaptiveMaxPool2d", args{"output_size": 2}},
	"LPPool2d(2,2)":                        {"LPPool2d", args{"norm_type": 2, "kernel_size": 2}},
	"Dropout(0.3)":                         {"Dropout", args{"p": 0.3}},
	"Dropout(0.3,inplace=True)":            {"Dropout", args{"p": 0.3, "inplace": true}},
	"Dropout(0.0)":                         {"Dropout", args{"p": 0.0}},
	"Dropout2d(0.3)":                       {"Dropout2d", args{"p": 0.3}},
	"AlphaDropout(0.3)":                    {"AlphaDropout", args{"p": 0.3}},
	"Embedding(20,6)":                      {"Embedding", args{"num_embeddings": 20, "embedding_dim": 6}},
	"EmbeddingBag(20,6)":                   {"EmbeddingBag", args{"num_embeddings": 20, "embedding_dim": 6}},
	"Upsample(scale_factor=2)":             {"Upsample", args{"scale_factor": 2}},
	"Upsample(scale_factor=2,mode='bilinear')": {"Upsample", args{"scale_factor": 2, "mode": "bilinear"}},
	"PixelShuffle(2)":                          {"PixelShuffle", args{"upscale_factor": 2}},
	"ZeroPad2d(1)":                             {"ZeroPad2d", args{"padding": 1}},
	"ReflectionPad2d(1)":                       {"ReflectionPad2d", args{"padding": 1}},
	"BatchNorm2d(8,affine=False,track_running_stats=False)":                         {"BatchNorm2d", args{"num_features": 8, "affine": false, "track_running_stats": false}},
	"Conv2d(8,4,3,padding=1,padding_mode='reflect')":                                {"Conv2d", args{"in_channels": 8, "out_channels": 4, "kernel_size": 3, "padding": 1, "padding_mode": "reflect"}},
	"MultiheadAttention(16,4,batch_first=True) self need_weights=True":              {"MultiheadAttention", args{"embed_dim": 16, "num_heads": 4, "batch_first": true}},
	"MultiheadAttention(16,4,dropout=0.1,batch_first=True) self need_weights=False": {"MultiheadAttention", args{"embed_dim": 16, "num_heads": 4, "dropout": 0.1, "batch_first": true, "need_weights": false}},
	"TransformerEncoderLayer(16,4,32,dropout=0.1,batch_first=True)":                 {"TransformerEncoderLayer", args{"d_model": 16, "nhead": 4, "dim_feedforward": 32, "dropout": 0.1, "batch_first": true}},
}

// operations are functional lines, as their expression says.
var operations = map[string]func(g *torch.Graph, x ...torch.Tensor) torch.Tensor{
	"x+y":            func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Add(x[0], x[1]) },
	"x*y":            func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Mul(x[0], x[1]) },
	"x*2.0":          func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Scale(x[0]) },
	"x/2.0":          func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Scale(x[0]) },
	"x/y":            func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Div(x[0], x[1]) },
	"x**2":           func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Pow(x[0]) },
	"x@y":            func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Matmul(x[0], g.Transpose(x[1], 0, 1)) },
	"x.mean(1)":      func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Mean(x[0], false, 1) },
	"x.mean()":       func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Mean(x[0], false) },
	"x.sum(1)":       func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Sum(x[0], false, 1) },
	"x.max(1)[0]":    func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Max(x[0], 1, false) },
	"x.clamp(0,1)":   func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Clamp(x[0]) },
	"F.normalize(x)": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Normalize(x[0], 1) },
	"x[:,0]":         func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Select(g.Colon(x[0], 0), 1) },
	"4-d q@k.transpose(-2,-1), q,k from view+transpose": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
		q, k := g.Transpose(g.View(x[0], 2, 5, 4, 4), 1, 2), g.Transpose(g.View(x[1], 2, 5, 4, 4), 1, 2)
		return g.Matmul(q, g.Transpose(k, -2, -1))
	},
	"torch.cat([x,y],1)":            func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Cat(1, x...) },
	"x.chunk(2,1)[0]*1 after chunk": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Scale(g.Chunk(x[0], 2, 1)[0]) },
	"x.masked_fill(m,0)": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
		return g.MaskedFill(x[0], g.Constant("mask", []int64{4, 10}, torch.Bool))
	},
	"x.permute(0,2,1).contiguous()": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Contiguous(g.Permute(x[0], 0, 2, 1)) },
	"x[idx] (advanced)": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
		return g.Index(x[0], g.Constant("idx", []int64{2}, torch.Int64))
	},
	"torch.native_dropout(x,0.3,True)  [= nn.Dropout on CUDA]": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor { return g.Dropout(x[0], 0.3, false) },
	"x.exp()":        named("exp"),
	"x.sqrt()":       named("sqrt"),
	"torch.rsqrt(x)": named("rsqrt"),
	"loss cross_entropy(x,y)": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
		return g.ClassLoss(x[0], g.TargetOnce([]int64{4}, torch.Int64), false)
	},
	"loss nll_loss(logp,y)": func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
		return g.ClassLoss(x[0], g.TargetOnce([]int64{4}, torch.Int64), true)
	},
	"loss mse_loss(x,y)":   pair("mse"),
	"loss l1_loss(x,y)":    pair("l1"),
	"loss smooth_l1_loss":  pair("smooth_l1"),
	"loss bce_with_logits": pair("bce_with_logits"),
	"loss bce":             pair("bce"),
}

func named(name string) func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
	f, _ := nn.FunctionOf(name)
	fn, err := f.Parse("", nil)
	if err != nil {
		panic(err)
	}
	return fn
}

func pair(name string) func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
	return func(g *torch.Graph, x ...torch.Tensor) torch.Tensor {
		return g.PairLoss(name, x[0], g.TargetOnce(g.Shape(x[0]), torch.Float32))
	}
}

// elsewhere are the lines that no module or operation here runs, each with the reason.
var elsewhere = map[string]string{
	"RNN(16,8) T=2 (cpu decomposition)":           "CUDA runs _cudnn_rnn, which keeps a reserve instead of every step",
	"LSTM(16,8) T=2 (cpu decomposition)":          "CUDA runs _cudnn_rnn, which keeps a reserve instead of every step",
	"GRU(16,8) T=2 (cpu decomposition)":           "CUDA runs _cudnn_rnn, which keeps a reserve instead of every step",
	"LSTMCell(16,8)":                              "CUDA runs _thnn_fused_lstm_cell, which keeps one workspace",
	"loss cross_entropy(x,y,label_smoothing=0.1)": "the request has no label smoothing",
	"loss kl_div":                                 "the request has no such loss",
}

// onCUDA is a line with CUDA's dropout: a bool mask of native_dropout instead of noise in the input's type.
func onCUDA(layer string, want []torch.SavedTensor) []torch.SavedTensor {
	if !strings.Contains(layer, "dropout=0.1") && layer != "Dropout(0.3)" {
		return want
	}
	for i := range want {
		if w := &want[i]; w.Op == "MulBackward0" && w.Role == "extra" {
			w.DType, w.Bytes = torch.Bool, w.Bytes/4
		}
	}
	return want
}

// key compares without the operation's name; a weight may be kept as its transpose, which is a view.
func key(s torch.SavedTensor) string {
	shape := slices.Clone(s.Shape)
	if s.Role == "param" {
		slices.Sort(shape)
	}
	return fmt.Sprintf("%s %s %v %d", s.Role, s.DType, shape, s.Bytes)
}

func keys(list []torch.SavedTensor) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, key(s))
	}
	slices.Sort(out)
	return out
}

func TestRules(t *testing.T) {
	data, err := os.ReadFile("../testdata/golden/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	if err := json.Unmarshal(data, &rules); err != nil {
		t.Fatal(err)
	}
	exact, listed := 0, 0
	for _, r := range rules {
		if reason := elsewhere[r.Layer]; reason != "" {
			listed++
			continue
		}
		ok := true
		for _, v := range []struct {
			name string
			want [][]any
		}{{"train", r.Train}, {"first", r.First}, {"frozen", r.Frozen}, {"eval", r.Eval}} {
			if v.want == nil {
				continue
			}
			got, shape := record(t, r, v.name)
			if !slices.Equal(keys(got), keys(onCUDA(r.Layer, parse(t, v.want)))) {
				ok = false
				t.Errorf("%s, %s: kept %q, measured %q", r.Layer, v.name, keys(got), keys(onCUDA(r.Layer, parse(t, v.want))))
			}
			var out []int64
			if err := json.Unmarshal(r.Out[0], &out); err != nil {
				t.Fatal(err)
			}
			if v.name == "train" && !slices.Equal(shape, out) {
				t.Errorf("%s: output %v, measured %v", r.Layer, shape, out)
			}
		}
		if ok {
			exact++
		}
	}
	for layer := range elsewhere {
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.Layer == layer }) {
			t.Errorf("%s is no line", layer)
		}
	}
	t.Logf("%d lines exact, %d listed with a reason, of %d", exact, listed, len(rules))
}

func parse(t *testing.T, rows [][]any) []torch.SavedTensor {
	var out []torch.SavedTensor
	for _, row := range rows {
		role, _, _ := strings.Cut(strings.TrimRight(row[2].(string), "01"), ":")
		if role == "scalar" { // Python numbers, on the host
			continue
		}
		d, ok := torch.ParseDType(row[3].(string))
		if !ok {
			t.Fatalf("type %v", row[3])
		}
		s := torch.SavedTensor{Op: row[0].(string), Role: role, DType: d, Bytes: int64(row[5].(float64)), Shape: []int64{}}
		for _, n := range row[4].([]any) {
			s.Shape = append(s.Shape, int64(n.(float64)))
		}
		out = append(out, s)
	}
	return out
}

// record runs a line under 1.13's rules and gives what is kept and the output's shape.
func record(t *testing.T, r rule, variant string) ([]torch.SavedTensor, []int64) {
	var first []any
	if err := json.Unmarshal(r.In[0], &first); err != nil {
		t.Fatal(err)
	}
	if first[0] == "int64" {
		first = first[1:]
	}
	g := torch.NewGraph(int64(first[0].(float64)), torch.Rules{MeanSavesInput: true, Attention: "math", LinearAddCopies: true})
	b := &nn.Builder{G: g, Training: variant != "eval"}
	root := b.Root("Root")
	var x []torch.Tensor
	for _, raw := range r.In {
		var dims []any
		if err := json.Unmarshal(raw, &dims); err != nil {
			t.Fatal(err)
		}
		d := torch.Float32
		if dims[0] == "int64" {
			d, dims = torch.Int64, dims[1:]
		}
		var shape []int64
		for _, n := range dims[1:] {
			shape = append(shape, int64(n.(float64)))
		}
		in := g.Input(shape, d)
		if d.Floating() && variant != "first" {
			g.RequireGrad(in)
		}
		x = append(x, in)
	}
	var y torch.Tensor
	if f, ok := operations[r.Layer]; ok {
		y = g.Named("", func() torch.Tensor { return f(g, x...) })
	} else {
		m, ok := ruled[r.Layer]
		if !ok {
			t.Fatalf("%s: neither built nor listed", r.Layer)
		}
		spec, err := nn.Parse(m.typ, r.Layer, m.args)
		if err != nil {
			t.Fatalf("%s: %v", r.Layer, err)
		}
		l := b.Add(root, "m", spec)
		if variant == "frozen" {
			g.Freeze(l.Module)
		}
		y = l.Call(x...)
	}
	return g.SavedTensors(x, []torch.Tensor{y}), g.Shape(y)
}
