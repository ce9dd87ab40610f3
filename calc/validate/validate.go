// Package validate compares the engine with memory measured on real GPUs by others, row by row,
// beside the estimates that four published tools gave for the same rows.
package validate

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"vrametre/calc"
)

// measured.csv: 56 trainings of a published experiment (Stone-ResearchLife/xMem, MIT licence, 2025), facts only;
// the source's path and commit stand in each row.
//
//go:embed data/measured.csv
var measured string

// ContextGrowth is what the measurement holds beside reserved memory: kernels and handles loaded after the context
// was created, seen as 14 to 18 MiB.
const ContextGrowth = 16 << 20

// Row is one measured training.
type Row struct {
	ID, Model, Optimizer, GPU string
	Batch                     int64
	// ZeroGradAt is the position recorded or inferred; Inferred says which.
	ZeroGradAt string
	Inferred   bool
	OOM        bool
	// Total is the card's memory, Ground the highest level measured beyond the context (only the level reached where OOM).
	Total, Ground int64
	// Cap is the memory a second run was limited to, 0 where there was none, and CapOOM its outcome.
	Cap    int64
	CapOOM bool
	// Tools are the published tools' estimates: xmem, dnnmem, schedtune, llmem; absent where they gave none.
	Tools   map[string]int64
	Request calc.Request
	// PyTorch is the version that the experiment states; empty where it states none.
	PyTorch string
	// Source names the experiment, URL its file at the commit it was read from.
	Source, URL string
}

// Tools are the published estimators whose figures stand in the rows.
var Tools = []string{"xmem", "dnnmem", "schedtune", "llmem"}

// Family of the network: CNN or Transformer.
func (r Row) Family() string {
	if len(r.Request.Input) > 0 && r.Request.Input[0].Tokens > 0 {
		return Transformer
	}
	return CNN
}

// presets of the models of the experiment.
var presets = map[string]string{
	"ConvNeXtBase": "convnext_base", "ConvNeXtTiny": "convnext_tiny", "MnasNet": "mnasnet1_0", "MobeNetV3Large": "mobilenet_v3_large",
	"MobeNetV3Small": "mobilenet_v3_small", "MobileNetV2": "mobilenet_v2", "RegNetX400MF": "regnet_x_400mf", "RegNetY400MF": "regnet_y_400mf",
	"ResNet101": "resnet101", "ResNet152": "resnet152", "VGG16": "vgg16", "VGG19": "vgg19",
	"openai-community/gpt2": "gpt2", "cerebras/Cerebras-GPT-111M": "cerebras_gpt_111m", "EleutherAI/gpt-neo-125M": "gpt_neo_125m",
	"facebook/opt-350m": "opt_350m", "T5-small": "t5_small", "t5-base": "t5_base", "Qwen/Qwen3-4B": "qwen3_4b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": "deepseek_r1_qwen_1_5b",
}

// Rows reads the table.
func Rows() (rows []Row, err error) {
	all, err := csv.NewReader(strings.NewReader(measured)).ReadAll()
	if err != nil {
		return nil, err
	}
	col := map[string]int{}
	for i, n := range all[0] {
		col[n] = i
	}
	for _, rec := range all[1:] {
		get := func(n string) string { return rec[col[n]] }
		num := func(n string) int64 {
			if get(n) == "" {
				return 0
			}
			v, e := strconv.ParseInt(get(n), 10, 64)
			if e != nil {
				err = fmt.Errorf("%s: %s: %w", get("case_id"), n, e)
			}
			return v
		}
		r := Row{ID: get("case_id"), Model: get("model"), Optimizer: get("optimizer"), GPU: strings.TrimPrefix(strings.TrimPrefix(get("gpu"), "NVIDIA "), "GeForce "), Batch: num("batch"),
			OOM: get("oom") == "true", Total: num("gpu_total_bytes"), Ground: num("ground_bytes"), Cap: num("xmem_rerun_cap_bytes"), CapOOM: get("xmem_rerun_oom") == "true",
			Inferred: strings.Contains(get("zero_grad_position"), "inferred"), Tools: map[string]int64{}, Source: "xMem, " + get("experiment"),
			URL: "https://github.com/Stone-ResearchLife/xMem/blob/" + get("commit") + "/" + strings.ReplaceAll(get("source_path"), " ", "%20")}
		if v, _, _ := strings.Cut(get("torch_version"), " "); v != "unknown" {
			r.PyTorch = v
		}
		switch pos, _, _ := strings.Cut(get("zero_grad_position"), " "); pos {
		case "POS0":
			r.ZeroGradAt = "start"
		case "POS1":
			r.ZeroGradAt = "before-backward"
		default:
			r.ZeroGradAt = "end"
		}
		for _, t := range Tools {
			if v := num(t + "_est"); v > 0 {
				r.Tools[t] = v
			}
		}
		name, ok := presets[r.Model]
		if !ok {
			return nil, fmt.Errorf("%s: no preset for %s", r.ID, r.Model)
		}
		none := int64(0)
		r.Request = calc.Request{Model: calc.Model{Preset: name}, Batch: r.Batch, Optimizer: calc.Optimizer{Name: strings.ToLower(r.Optimizer)}, PyTorch: "2.6",
			ZeroGradAt: r.ZeroGradAt, Device: calc.Device{GPU: card(r.GPU), ContextBytes: &none}}
		if tokens := num("seq_len"); tokens > 0 {
			r.Request.Input = calc.Inputs{{Tokens: tokens}}
		} else {
			r.Request.Input = calc.Inputs{{Shape: []int64{3, 86, 86}}}
			r.Request.NumClasses = int(num("num_classes"))
		}
		rows = append(rows, r)
	}
	return rows, err
}

func card(name string) string {
	switch {
	case strings.Contains(name, "3060"):
		return "rtx-3060"
	case strings.Contains(name, "4060"):
		return "rtx-4060"
	}
	return "a100-40"
}

// Outcome is a row beside the engine's answer.
type Outcome struct {
	Row
	Result calc.Result
	// Error is (Reserved + ContextGrowth - Ground) / Ground.
	Error float64
	// CapFits is the answer for the second, capped run.
	CapFits bool
}

// Compare runs the engine on one row.
func Compare(r Row) (Outcome, error) {
	o := Outcome{Row: r}
	var err error
	if o.Result, err = calc.Estimate(r.Request); err != nil {
		return o, fmt.Errorf("%s: %w", r.ID, err)
	}
	o.Error = float64(o.Result.Peak.Reserved+ContextGrowth-r.Ground) / float64(r.Ground)
	if r.Cap > 0 {
		q := r.Request
		total := r.Cap - ContextGrowth
		q.Device.TotalBytes = &total
		capped, err := calc.Estimate(q)
		if err != nil {
			return o, fmt.Errorf("%s: %w", r.ID, err)
		}
		o.CapFits = *capped.Fits
	}
	return o, nil
}

// Quantile of sorted values, 0 to 1, by linear interpolation.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Spreads computes what calc's interval.json holds: by family, the range of (measured - ContextGrowth) over
// simulated reserved memory in the rows that did not run out of memory.
func Spreads() (map[string]calc.Spread, error) {
	rows, err := Rows()
	if err != nil {
		return nil, err
	}
	out := map[string]calc.Spread{}
	for _, r := range rows {
		if r.OOM {
			continue
		}
		o, err := Compare(r)
		if err != nil {
			return nil, err
		}
		ratio := float64(r.Ground-ContextGrowth) / float64(o.Result.Peak.Reserved)
		s, ok := out[r.Family()]
		if !ok {
			s = calc.Spread{Low: ratio, High: ratio}
		}
		s.Low, s.High, s.Rows = min(s.Low, round(ratio-.0005)), max(s.High, round(ratio+.0005)), s.Rows+1
		out[r.Family()] = s
	}
	return out, nil
}

// round keeps three decimals.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }
