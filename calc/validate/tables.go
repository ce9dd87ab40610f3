package validate

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
)

// mmseg_train_mem.csv: largest torch.cuda.max_memory_allocated over four V100 while mmsegmentation trained, SGD with
// momentum, in GB of 1024 MiB (configs/*/README.md of the Swin-Transformer-Semantic-Segmentation fork, commit 87e6f90).
//
//go:embed data/mmseg_train_mem.csv
var mmseg string

// hf_bert_large_anatomy_v100.csv: nvidia-smi's MB while BERT-large classified sequences of 512 tokens on a V100
// (transformers' docs, perf_train_gpu_one.mdx and model_memory_anatomy.md).
//
//go:embed data/hf_bert_large_anatomy_v100.csv
var bertLarge string

// Measure says which of Peak's figures a table measured.
type Measure string

const (
	Allocated Measure = "allocated"
	DeviceSMI Measure = "device"
)

// TableRow is a line of a published table that a preset can express.
type TableRow struct {
	Table, Name string
	Measure     Measure
	Bytes       int64
	// GPU is the card the table names, Dataset what was trained on, where that sets the number of classes.
	GPU, Dataset string
	// Source is a file of a repository, URL its address at the commit it was read from.
	Source, URL string
	Request     calc.Request
}

// Compare gives the engine's figure, its relative error and its interval. That of allocated memory is the spread of the
// family's measured cases, which Peak.Device's interval has too.
func (r TableRow) Compare() (got int64, relative float64, interval [2]int64, err error) {
	res, err := calc.Estimate(r.Request)
	if err != nil {
		return 0, 0, interval, fmt.Errorf("%s: %w", r.Name, err)
	}
	if r.Measure == DeviceSMI {
		got, interval = res.Peak.Device, [2]int64{res.Interval.Low, res.Interval.High}
	} else {
		got = res.Peak.Allocated
		s := calc.Spreads()[strings.TrimPrefix(res.Interval.Basis, "measured-")]
		interval = [2]int64{int64(float64(got) * min(s.Low, 1)), int64(float64(got) * max(s.High, 1))}
	}
	return got, float64(got-r.Bytes) / float64(r.Bytes), interval, nil
}

func records(text string) (map[string]int, [][]string, error) {
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	col := map[string]int{}
	for i, n := range all[0] {
		col[n] = i
	}
	return col, all[1:], nil
}

// classes of mmsegmentation's datasets.
var classes = map[string]int{"Cityscapes": 19, "ADE20K": 150, "Pascal VOC 2012 + Aug": 21, "Pascal Context": 60, "DRIVE": 2, "STARE": 2, "CHASE_DB1": 2, "HRF": 2}

// Segmentation are the rows of mmseg_train_mem.csv whose network is a preset, in fp32.
func Segmentation() ([]TableRow, error) {
	col, recs, err := records(mmseg)
	if err != nil {
		return nil, err
	}
	known := calc.Presets()
	seen := map[string]bool{}
	var out []TableRow
	for _, rec := range recs {
		get := func(n string) string { return rec[col[n]] }
		backbone := strings.ToLower(strings.ReplaceAll(get("backbone"), "R-", "r"))
		method := strings.ToLower(get("method"))
		if get("family") == "unet" && method == "" {
			// three heads are printed for each data set: FCN, then PSPNet and DeepLabV3, which no preset has
			if seen[get("dataset")] {
				continue
			}
			method, seen[get("dataset")] = "fcn", true
		}
		preset := method + "_" + strings.Replace(backbone, "unet-", "unet_", 1)
		if !slices.Contains(known, preset) || get("dtype") != "fp32" || classes[get("dataset")] == 0 {
			continue
		}
		h, w, _ := strings.Cut(get("crop_hxw"), "x")
		height, err1 := strconv.ParseInt(h, 10, 64)
		width, err2 := strconv.ParseInt(w, 10, 64)
		batch, err3 := strconv.ParseInt(get("samples_per_gpu"), 10, 64)
		gb, err4 := strconv.ParseFloat(get("mem_gb"), 64)
		for _, e := range []error{err1, err2, err3, err4} {
			if e != nil {
				return nil, e
			}
		}
		out = append(out, TableRow{Table: "mmseg", Name: fmt.Sprintf("%s %s %s batch %d", preset, get("crop_hxw"), get("dataset"), batch), Measure: Allocated,
			Bytes: int64(gb * (1 << 30)), GPU: "Tesla V100", Dataset: get("dataset"), Source: strings.TrimPrefix(get("source_path"), "configs/"),
			URL: "https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation/blob/87e6f90/" + get("source_path"),
			Request: calc.Request{Model: calc.Model{Preset: preset}, NumClasses: classes[get("dataset")], Input: calc.Inputs{{Shape: []int64{3, height, width}}}, Batch: batch,
				Optimizer: calc.Optimizer{Name: "sgd", Momentum: 0.9, WeightDecay: 5e-4}, PyTorch: "1.10", Parallel: calc.Parallel{Data: 4}, Device: calc.Device{GPU: "tesla-v100-16"}}})
	}
	return out, nil
}

// BertLarge are the training rows of hf_bert_large_anatomy_v100.csv: sequence classification, 512 tokens, nvidia-smi.
func BertLarge() ([]TableRow, error) {
	col, recs, err := records(bertLarge)
	if err != nil {
		return nil, err
	}
	var out []TableRow
	var context int64
	for _, rec := range recs {
		get := func(n string) string { return rec[col[n]] }
		mb, err := strconv.ParseInt(get("nvidia_smi_MB"), 10, 64)
		if err != nil {
			return nil, err
		}
		if get("note") == "pure context + kernels" {
			context = mb<<20 - 2<<20 // the first tensor's segment
			continue
		}
		if get("batch_per_gpu") == "" {
			continue
		}
		batch, err1 := strconv.ParseInt(get("batch_per_gpu"), 10, 64)
		accumulation, err2 := strconv.Atoi(get("grad_accum"))
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%s: batch %q, accumulation %q", get("step"), get("batch_per_gpu"), get("grad_accum"))
		}
		q := calc.Request{Model: calc.Model{Preset: "bert_large"}, Input: calc.Inputs{{Tokens: 512}}, Batch: batch, Accumulation: accumulation, PyTorch: "1.13",
			Attention: "math", Device: calc.Device{GPU: "tesla-v100-16", ContextBytes: &context}}
		switch o := get("optimizer"); {
		case strings.Contains(o, "8bit"):
			q.Optimizer.Name = "adam8bit"
		default:
			q.Optimizer.Name = strings.ToLower(o)
		}
		if strings.Contains(get("precision"), "fp16") {
			q.Precision = "amp-fp16"
		}
		if get("grad_ckpt") == "yes" {
			q.Checkpointing.EveryBlock = true
		}
		out = append(out, TableRow{Table: "bert-large", Name: get("step"), Measure: DeviceSMI, Bytes: mb << 20, GPU: "Tesla V100 16 GB",
			Source: "perf_train_gpu_one.mdx", URL: "https://github.com/huggingface/transformers/tree/0016acf7", Request: q})
	}
	return out, nil
}
