package calc

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"vrametre/calc/optim"
	"vrametre/calc/walk"
)

// sample are networks that differ in what dominates them.
var sample = []string{"lesson", "lesson_dropout", "mlp", "autoencoder", "resnet18", "mobilenet_v2"}

func estimate(t testing.TB, r Request) Result {
	t.Helper()
	res, err := Estimate(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// randomRequest draws settings that change memory in every direction.
func randomRequest(rng *rand.Rand) Request {
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	flag := func() *bool { b := rng.IntN(2) == 0; return &b }
	r := Request{
		Model: Model{Preset: pick(sample)}, Batch: 2 + rng.Int64N(30), Accumulation: 1 + rng.IntN(3), Mode: pick([]string{"train", "train", "infer"}),
		Optimizer: Optimizer{Name: pick(Optimizers), Momentum: float64(rng.IntN(2)), AMSGrad: *flag(), Centered: *flag(), WeightDecay: float64(rng.IntN(2)), Foreach: flag(), Fused: *flag()},
		Precision: pick(Precisions), ZeroGrad: pick([]string{"set_to_none", "zeros"}), ZeroGradAt: pick([]string{"start", "before-backward", "end"}),
		PyTorch: pick([]string{"1.13", "2.0", "2.2", "2.11"}), Attention: pick([]string{"auto", "math", "flash", "efficient"}),
		Checkpointing: Checkpointing{EveryBlock: *flag()}, Allocator: Allocator{ExpandableSegments: *flag()},
		Device: Device{GPU: pick([]string{"tesla-t4", "rtx-3060", "gtx-1650"}), Desktop: *flag()}, Want: []string{WantTimeline, WantLayers, WantBlocks},
	}
	o := &r.Optimizer // with the arguments that it has
	takes := func(argument string) bool {
		return slices.Contains(optim.Takers(argument, r.PyTorch == "1.13"), o.Name)
	}
	if !takes("momentum") {
		o.Momentum = 0
	}
	if !takes("weight_decay") {
		o.WeightDecay = 0
	}
	o.AMSGrad, o.Centered = o.AMSGrad && takes("amsgrad"), o.Centered && takes("centered")
	o.Fused = o.Fused && takes("fused") && (o.Name != "sgd" || r.PyTorch == "2.11")
	if o.Fused || !takes("foreach") {
		o.Foreach = nil
	}
	return r
}

func TestPartsSumToThePeak(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		q := randomRequest(rng)
		r := estimate(t, q)
		say, _ := json.Marshal(q)
		var sum int64
		for _, p := range r.Parts {
			if p.Bytes <= 0 {
				t.Errorf("%s: part %s has %d bytes", say, p.Kind, p.Bytes)
			}
			sum += p.Bytes
		}
		if sum != r.Peak.Device {
			t.Errorf("%s: parts sum to %d, peak.device is %d", say, sum, r.Peak.Device)
		}
		if top := max(r.Phases.Forward, r.Phases.Backward, r.Phases.Step); top != r.Peak.Live {
			t.Errorf("%s: largest phase %d, peak.live %d", say, top, r.Peak.Live)
		}
		if r.Peak.Live > r.Peak.Allocated || r.Peak.Allocated > r.Peak.Reserved || r.Peak.Reserved > r.Peak.Device {
			t.Errorf("%s: live, allocated, reserved, device not ascending: %+v", say, r.Peak)
		}
		var top int64
		for _, pt := range r.Timeline {
			top = max(top, pt.Live)
		}
		if top != r.Peak.Live {
			t.Errorf("%s: highest point of the timeline %d, peak.live %d", say, top, r.Peak.Live)
		}
		for _, i := range []int{0, len(r.Timeline) / 2, len(r.Timeline) - 1} {
			var live int64
			for _, x := range r.Tensors {
				if x.Born < i && x.Died >= i {
					live += x.Bytes
				}
			}
			if live > r.Timeline[i].Live {
				t.Errorf("%s: tensors alive at point %d sum to %d, live is %d", say, i, live, r.Timeline[i].Live)
			}
		}
		var live, allocated int64
		for _, s := range r.Segments {
			var blocks int64
			for _, b := range s.Blocks {
				blocks += b.Bytes
				if b.Kind != "" {
					live += b.Requested
					allocated += b.Bytes
				}
			}
			if blocks != s.Bytes {
				t.Errorf("%s: blocks sum to %d of a segment of %d", say, blocks, s.Bytes)
			}
		}
		part := func(kind string) (n int64) {
			for _, p := range r.Parts {
				if p.Kind == kind {
					n += p.Bytes
				}
			}
			return n
		}
		if got, want := live, r.Peak.Live+part(PartWorkspace); got != want {
			t.Errorf("%s: blocks hold %d requested bytes at the peak, live and workspace are %d", say, got, want)
		}
		if got, want := allocated-live, part(PartRounding); got != want {
			t.Errorf("%s: blocks round by %d, the part is %d", say, got, want)
		}
		var saved int64
		for _, l := range r.Layers {
			saved += l.Saved
		}
		if saved != r.SavedForBackward {
			t.Errorf("%s: rows save %d, saved_for_backward %d", say, saved, r.SavedForBackward)
		}
	}
}

func TestPhasesGrowWithTheBatch(t *testing.T) {
	for _, name := range sample {
		var last Phases
		for b := int64(2); b <= 64; b *= 2 {
			p := estimate(t, Request{Model: Model{Preset: name}, Batch: b}).Phases
			if p.Forward < last.Forward || p.Backward < last.Backward || p.Step < last.Step {
				t.Errorf("%s: batch %d has %+v, below %+v", name, b, p, last)
			}
			last = p
		}
	}
}

func TestMaxBatchIsTheLast(t *testing.T) {
	for _, name := range sample {
		for mib, steps := range map[int64]int{300: 0, 1000: 0, 1001: 1, 4000: 0} {
			total, none := mib<<20, int64(0)
			q := Request{Model: Model{Preset: name}, Batch: 8, Steps: steps, Device: Device{TotalBytes: &total, ContextBytes: &none}}
			q.Want = []string{WantMaxBatch}
			best := *estimate(t, q).MaxBatch
			q.Want = nil
			for b, want := range map[int64]bool{best: true, best + 1: false} {
				if b == 0 {
					continue
				}
				q.Batch = b
				if got := *estimate(t, q).Fits; got != want {
					t.Errorf("%s in %d MiB: max_batch %d, but fits(%d) is %v", name, mib, best, b, got)
				}
			}
		}
	}
}

// An expandable segment has as many addresses as the card: the answer is the capped run's, also where an uncapped one takes no more.
func TestMaxBatchIsTheLastInExpandableSegments(t *testing.T) {
	q := Request{Model: Model{Preset: "act_silu_inplace"}, Precision: "fp64", PyTorch: "1.13", ZeroGrad: "set_to_none", ZeroGradAt: "before-backward",
		Optimizer: Optimizer{Name: "nadam"}, Parallel: Parallel{Data: 2, Zero: 2}, Allocator: Allocator{ExpandableSegments: true},
		Device: Device{GPU: "rtx-3060", Desktop: true}, Want: []string{WantMaxBatch}}
	best := *estimate(t, q).MaxBatch
	q.Want = nil
	for b, want := range map[int64]bool{best: true, best + 1: false} {
		q.Batch = b
		if got := *estimate(t, q).Fits; got != want {
			t.Errorf("max_batch %d, but fits(%d) is %v", best, b, got)
		}
	}
}

// On a card larger than what can be counted the search ends at the last batch that can.
func TestMaxBatchCanBeCounted(t *testing.T) {
	q := Request{Device: Device{TotalBytes: ptr(int64(MaxBytes))}, Want: []string{WantMaxBatch}}
	best := *estimate(t, q).MaxBatch
	q.Want, q.Batch = nil, best
	estimate(t, q)
	q.Batch = best + 1
	if _, err := Estimate(q); err == nil || !strings.HasPrefix(err.Error(), "size-total") {
		t.Errorf("batch %d after max_batch: %v", best+1, err)
	}
}

// A batch norm that refuses one sample, or an input of which sixteen are too many to count, is no error of the request's own batch.
func TestMaxBatchOfWhatCannotBe(t *testing.T) {
	none := int64(0)
	total := int64(512 << 20)
	for _, c := range []struct {
		q    Request
		want int64
	}{
		{Request{Model: Model{Preset: "pspnet_r18b-d8"}, Batch: 2, Device: Device{TotalBytes: &total, ContextBytes: &none}}, 0},
		{Request{Model: Model{Preset: "resnet18"}, Input: Inputs{{Shape: []int64{3, 1 << 16, 1 << 16}}}, Batch: 1, Device: Device{GPU: "tesla-t4"}}, 0},
		{Request{Model: Model{Preset: "resnet18"}, Input: Inputs{{Shape: []int64{3, 1 << 18, 1 << 18}}}, Batch: 1, Device: Device{TotalBytes: ptr(int64(MaxBytes))}}, 1},
	} {
		c.q.Want = []string{WantMaxBatch}
		if got := *estimate(t, c.q).MaxBatch; got != c.want {
			t.Errorf("%s: max_batch %d, want %d", c.q.Model.Preset, got, c.want)
		}
	}
}

// Inference has no passes to accumulate; ZeRO-3 gathers a unit of the weights in it as in training.
func TestInferenceIsOnePass(t *testing.T) {
	one := estimate(t, Request{Mode: "infer", Steps: 1})
	if many := estimate(t, Request{Mode: "infer", Steps: 1, Accumulation: 3}); many.Peak != one.Peak {
		t.Errorf("peak %+v accumulated, %+v else", many.Peak, one.Peak)
	}
	// resnet18's largest tensor is layer4's 512 x 512 x 3 x 3
	whole := estimate(t, Request{Model: Model{Preset: "resnet18"}, Mode: "infer"})
	shared := estimate(t, Request{Model: Model{Preset: "resnet18"}, Mode: "infer", Parallel: Parallel{Data: 1 << 20, Zero: 3}})
	weights := func(r Result) int64 { return r.Parts[0].Bytes }
	if got, low := weights(shared), int64(512*512*9*4); whole.Parts[0].Kind != PartWeights || got < low || got > low+1<<20 {
		t.Errorf("weights %d shared, at least %d", got, low)
	}
}

func TestMaxBatchDoesNotDependOnTheBatch(t *testing.T) {
	for _, name := range sample {
		q := Request{Model: Model{Preset: name}, Device: Device{GPU: "gtx-1650"}, Want: []string{WantMaxBatch}}
		want := *estimate(t, q).MaxBatch
		for _, b := range []int64{1, 7, 512} {
			q.Batch = b
			if got := *estimate(t, q).MaxBatch; got != want {
				t.Errorf("%s: %d asked at batch %d, %d at the default", name, got, b, want)
			}
		}
	}
}

// The largest batch needs few compiled networks, however far it is from the request's.
func TestMaxBatchCompilesFew(t *testing.T) {
	for _, name := range sample {
		q, err := understand(Request{Model: Model{Preset: name}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := q.resolve()
		if err != nil {
			t.Fatal(err)
		}
		s := q.search(n)
		s.run()
		if s.compiled > 10 {
			t.Errorf("%s: %d networks compiled", name, s.compiled)
		}
	}
}

func TestCheckpointingLowersTheSavedSet(t *testing.T) {
	for _, name := range []string{"resnet18", "mobilenet_v2"} {
		plain := estimate(t, Request{Model: Model{Preset: name}})
		again := estimate(t, Request{Model: Model{Preset: name}, Checkpointing: Checkpointing{EveryBlock: true}})
		if again.SavedForBackward >= plain.SavedForBackward || again.Peak.Live >= plain.Peak.Live {
			t.Errorf("%s: saved %d -> %d, peak %d -> %d", name, plain.SavedForBackward, again.SavedForBackward, plain.Peak.Live, again.Peak.Live)
		}
		if again.First.Step != plain.First.Step {
			t.Errorf("%s: gradients differ: step %d -> %d", name, plain.First.Step, again.First.Step)
		}
	}
}

func TestHalfPrecisionInferenceHalvesTheWeights(t *testing.T) {
	weights := func(precision string) int64 {
		r := estimate(t, Request{Mode: "infer", Precision: precision})
		return r.Parts[slices.IndexFunc(r.Parts, func(p Part) bool { return p.Kind == PartWeights })].Bytes
	}
	if full, half := weights("fp32"), weights("fp16"); full != 2*half {
		t.Errorf("weights: %d in fp32, %d in fp16", full, half)
	}
}

// A layer that is called a hundred times keeps a hundred inputs but has its weights once
// (a public report of 4 044 MiB for 100 calls of one Linear).
func TestReusedLayerCountsPerCall(t *testing.T) {
	var list []Layer
	for range 100 {
		list = append(list, Layer{Type: "Linear", Name: "fc", Args: map[string]any{"in_features": 1024, "out_features": 1024}}, Layer{Type: "ReLU"})
	}
	r := estimate(t, Request{Model: Model{Layers: list}, Input: Inputs{{Shape: []int64{1024}}}, Batch: 512, Loss: "mse", Want: []string{WantLayers}})
	if want := int64(1024*1024 + 1024); r.Parameters.Total != want {
		t.Errorf("parameters %d, want %d", r.Parameters.Total, want)
	}
	calls := 0
	for _, l := range r.Layers {
		if l.Path == "fc" {
			calls++
		}
	}
	if calls != 100 {
		t.Errorf("%d calls of fc", calls)
	}
	if each := int64(512 * 1024 * 4); r.SavedForBackward != 100*each {
		t.Errorf("saved %d, want %d", r.SavedForBackward, 100*each)
	}
}

func TestBadInput(t *testing.T) {
	conv := Layer{Type: "Conv2d", Args: map[string]any{"in_channels": 3, "out_channels": 8, "kernel_size": 3}}
	img := Inputs{{Shape: []int64{3, 8, 8}}}
	with := func(l ...Layer) Request { return Request{Model: Model{Layers: l}, Input: img} }
	for name, c := range map[string]struct {
		r        Request
		code, at string
	}{
		"channels":    {with(conv, conv), "conv-channels", "1"},
		"kernel":      {with(Layer{Type: "Conv2d", Args: map[string]any{"in_channels": 3, "out_channels": 8, "kernel_size": 9}}), "conv-kernel", "0"},
		"unknown":     {with(Layer{Type: "conv2d"}), "layer-unknown", "0"},
		"argument":    {with(Layer{Type: "ReLU", Args: map[string]any{"inplce": true}}), "argument-unknown", "0"},
		"missing":     {with(Layer{Type: "Linear", Args: map[string]any{"in_features": 3}}), "argument-missing", "0"},
		"misspelt":    {with(Layer{Type: "Linear", Args: map[string]any{"in_featurs": 3, "out_features": 3}}), "argument-unknown", "0"},
		"zero":        {with(Layer{Type: "Linear", Args: map[string]any{"in_features": 3, "out_features": 0}}), "argument-positive", "0"},
		"negative":    {with(Layer{Type: "Conv2d", Args: map[string]any{"in_channels": 3, "out_channels": 8, "kernel_size": 3, "stride": -1}}), "argument-range", "0"},
		"features":    {with(Layer{Type: "Linear", Args: map[string]any{"in_features": 3, "out_features": 4}}), "linear-features", "0"},
		"branch":      {with(conv, Layer{Type: "add", Inputs: []string{"0", "x"}}), "layer-input", "1"},
		"cat":         {with(conv, Layer{Type: "cat", Inputs: []string{"0", "input"}}), "shape-cat", "1"},
		"overflow":    {Request{Model: Model{Layers: []Layer{{Type: "Upsample", Args: map[string]any{"size": int64(1) << 39}}}}, Input: Inputs{{Shape: []int64{3, 8, 8}}}}, "size-overflow", "0"},
		"weights":     {with(conv, Layer{Type: "ConvTranspose2d", Args: map[string]any{"in_channels": 8, "out_channels": 8, "kernel_size": int64(1) << 39}}), "size-overflow", "1"},
		"too many":    {with(Layer{Type: "Linear", Args: map[string]any{"in_features": 8, "out_features": int64(1) << 45}}), "argument-range", "0"},
		"other layer": {with(Layer{Type: "Linear", Name: "a", Args: map[string]any{"in_features": 8, "out_features": 8}}, Layer{Type: "Linear", Name: "a", Args: map[string]any{"in_features": 8, "out_features": 9}}), "layer-name", "a"},
		"preset":      {Request{Model: Model{Preset: "resnet51"}}, "preset-unknown", "model.preset"},
		"preset arg":  {Request{Model: Model{Preset: "lesson", PresetArgs: map[string]any{"clases": 3}}}, "argument-unknown", "model.preset_args"},
		"two models":  {Request{Model: Model{Preset: "lesson", Torch: "x"}}, "model-several", "model"},
		"batch":       {Request{Batch: -1}, "field-range", "batch"},
		"frozen":      {Request{Frozen: []string{"nothing"}}, "path-unknown", "frozen"},
		"all frozen":  {Request{Frozen: []string{""}}, "nothing-trainable", "frozen"},
		"gpu":         {Request{Device: Device{GPU: "rtx-9999"}}, "gpu-unknown", "device.gpu"},
		"version":     {Request{PyTorch: "0.4"}, "version", "pytorch"},
		"precision":   {Request{Precision: "fp8"}, "field-choice", "precision"},
		"no input":    {Request{Model: Model{Layers: []Layer{conv}}}, "input-missing", "input"},
		"no layers":   {Request{Model: Model{Layers: []Layer{}}, Input: img}, "layers-empty", "model.layers"},
		"input shape": {Request{Input: Inputs{{Shape: []int64{3, 0, 8}}}}, "field-range", "input.shape"},
		"inputs":      {Request{Model: Model{Preset: "resnet18"}, Input: Inputs{{Shape: []int64{3, 64, 64}}, {Shape: []int64{3, 64, 64}}}}, "input-many", "input"},
		"both":        {Request{Model: Model{Preset: "gpt2"}, Input: Inputs{{Shape: []int64{8}, Tokens: 8}}}, "input-both", "input"},
		"no type":     {with(conv, Layer{}), "layer-type", "1"},
		"two inputs":  {with(conv, Layer{Type: "ReLU", Inputs: []string{"0", "0"}}), "function-inputs", "1"},
		"one input":   {with(Layer{Type: "Bilinear", Args: map[string]any{"in1_features": 3, "in2_features": 3, "out_features": 3}}), "function-inputs", "0"},
		"same stride": {with(Layer{Type: "Conv2d", Args: map[string]any{"in_channels": 3, "out_channels": 8, "kernel_size": 3, "padding": "same", "stride": 2}}), "conv-same-stride", "0"},
		"softmax":     {with(conv, Layer{Type: "softmax", Args: map[string]any{"dim": 9}}), "dim-range", "1"},
		"momentum":    {Request{Optimizer: Optimizer{Momentum: 0.9}}, "optimizer-argument", "optimizer.momentum"},
		"amsgrad":     {Request{Optimizer: Optimizer{Name: "sgd", AMSGrad: true}}, "optimizer-argument", "optimizer.amsgrad"},
		"centered":    {Request{Optimizer: Optimizer{Name: "sgd", Centered: true}}, "optimizer-argument", "optimizer.centered"},
		"decay":       {Request{Optimizer: Optimizer{Name: "rprop", WeightDecay: 1}}, "optimizer-argument", "optimizer.weight_decay"},
		"fused":       {Request{Optimizer: Optimizer{Name: "rmsprop", Fused: true}}, "optimizer-argument", "optimizer.fused"},
		"fused sgd":   {Request{Optimizer: Optimizer{Name: "sgd", Fused: true}, PyTorch: "2.2"}, "optimizer-argument", "optimizer.fused"},
		"foreach":     {Request{Optimizer: Optimizer{Name: "lion", Foreach: ptr(true)}}, "optimizer-argument", "optimizer.foreach"},
		"kernels":     {Request{Optimizer: Optimizer{Fused: true, Foreach: ptr(true)}}, "optimizer-kernels", "optimizer.fused"},
		"zero alone":  {Request{Parallel: Parallel{Zero: 3}}, "zero-alone", "parallel.zero"},
		"cache":       {Request{Inference: &Inference{Context: 8}}, "inference-train", "inference"},
		"type":        {Request{Precision: "bf16", Input: Inputs{{Shape: []int64{3, 128, 128}, DType: "float32"}}}, "dtype-weights", "0"},
		"double":      {Request{Precision: "amp-bf16", Input: Inputs{{Shape: []int64{3, 128, 128}, DType: "float64"}}}, "dtype-weights", "0"},
		"gpt2":        {Request{Model: Model{Preset: "gpt2"}, Input: Inputs{{Tokens: 1025}}}, "tokens-positions", "transformer.wpe"},
		"opt":         {Request{Model: Model{Preset: "opt_125m"}, Input: Inputs{{Tokens: 2049}}}, "tokens-positions", "model.decoder.embed_positions"},
		"bert":        {Request{Model: Model{Preset: "bert_base"}, Input: Inputs{{Tokens: 513}}}, "tokens-positions", "bert.embeddings.position_embeddings"},
		"gpt_small":   {Request{Model: Model{Preset: "gpt_small"}, Input: Inputs{{Tokens: 129}}}, "tokens-positions", "pos"},
	} {
		_, err := Estimate(c.r)
		e, ok := err.(*Error)
		if !ok || e.Code != c.code || e.At != c.at {
			t.Errorf("%s: got %v, want %s at %s", name, err, c.code, c.at)
		}
	}
}

// What does not apply is absent from the JSON, not zero.
func TestWhatDoesNotApplyIsAbsent(t *testing.T) {
	said := func(r Request) map[string]json.RawMessage {
		data, err := json.Marshal(estimate(t, r))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	train, infer := said(Request{}), said(Request{Mode: "infer"})
	if string(train["input_saved"]) != "true" || string(train["saved_for_backward"]) != "214012548" {
		t.Errorf("training: input_saved %s, saved_for_backward %s", train["input_saved"], train["saved_for_backward"])
	}
	for _, field := range []string{"input_saved", "saved_for_backward", "rule_of_thumb", "timeline", "segments", "max_batch"} {
		if v, ok := infer[field]; ok {
			t.Errorf("inference: %s is %s", field, v)
		}
	}
	// what is left to the interval has no value, and a bound where measured networks give one
	if !strings.Contains(string(train["assumptions"]), `{"id":"cudnn-workspace","high":`) {
		t.Errorf("assumptions %s", train["assumptions"])
	}
	if mlp := said(Request{Model: Model{Preset: "mlp"}}); !strings.Contains(string(mlp["assumptions"]), `{"id":"cudnn-workspace","source":"not-simulated"}`) {
		t.Errorf("without a convolution: assumptions %s", mlp["assumptions"])
	}
}

// The longest input of each table of positions is fine, as is a float32 input under autocast.
func TestLimitsAreInside(t *testing.T) {
	for _, q := range []Request{
		{Model: Model{Preset: "gpt2"}, Input: Inputs{{Tokens: 1024}}, Batch: 1},
		{Model: Model{Preset: "opt_125m"}, Input: Inputs{{Tokens: 2048}}, Batch: 1},
		{Model: Model{Preset: "bert_base"}, Input: Inputs{{Tokens: 512}}, Batch: 1},
		{Precision: "amp-bf16", Input: Inputs{{Shape: []int64{3, 128, 128}, DType: "float32"}}},
		{Precision: "bf16", Input: Inputs{{Shape: []int64{3, 128, 128}, DType: "bfloat16"}}},
	} {
		estimate(t, q)
	}
}

// One step is the first and only iteration: no optimizer state before its step, no gradients before its backward.
func TestOneStep(t *testing.T) {
	for _, name := range sample {
		many := estimate(t, Request{Model: Model{Preset: name}, Batch: 8})
		one := estimate(t, Request{Model: Model{Preset: name}, Batch: 8, Steps: 1, Want: []string{WantTimeline}})
		if one.Phases != many.First || one.First != many.First {
			t.Errorf("%s: one step has %+v, the first of many %+v", name, one.Phases, many.First)
		}
		if one.Peak.Live != max(many.First.Forward, many.First.Backward, many.First.Step) || one.Peak.Reserved > many.Peak.Reserved || len(one.Timeline) == 0 {
			t.Errorf("%s: peak %+v of one step, %+v of many", name, one.Peak, many.Peak)
		}
	}
}

// A kernel of attention that the card, the type or the model does not allow is told, and what PyTorch takes is counted.
func TestAttentionKernelIsTold(t *testing.T) {
	for _, c := range []struct{ preset, gpu, precision, asked, used string }{
		{"vit_b_16", "a100-80", "bf16", "flash", ""},
		{"vit_b_16", "a100-80", "bf16", "efficient", ""},
		{"vit_b_16", "tesla-t4", "fp16", "flash", "efficient"},
		{"vit_b_16", "a100-80", "fp32", "flash", "efficient"},
		{"vit_b_16", "tesla-t4", "fp64", "efficient", "math"},
		{"gpt_neo_125m", "a100-80", "bf16", "flash", "math"},
		{"resnet18", "tesla-t4", "fp16", "flash", ""},
	} {
		q := Request{Model: Model{Preset: c.preset}, Device: Device{GPU: c.gpu}, Precision: c.precision, Attention: c.asked, Batch: 2}
		r := estimate(t, q)
		at := slices.IndexFunc(r.Warnings, func(w Warning) bool { return w.Code == "attention-kernel" })
		if (at >= 0) != (c.used != "") || at >= 0 && r.Warnings[at].Args["used"] != c.used {
			t.Errorf("%+v: warnings %+v", c, r.Warnings)
		}
		if c.used == "efficient" {
			q.Attention = "auto"
			if auto := estimate(t, q); auto.Peak != r.Peak {
				t.Errorf("%+v: peak %+v, PyTorch's choice has %+v", c, r.Peak, auto.Peak)
			}
		}
	}
}

func TestParseRequest(t *testing.T) {
	for text, want := range map[string]string{
		`{"batchh": 3}`:                        "field-unknown at batchh: close=batch,",
		`{"batch": 0}`:                         "field-positive at batch",
		`{"num_classes": 0}`:                   "field-positive at num_classes",
		`{"input": [{"tokens": 0}]}`:           "field-positive at input[0].tokens",
		`{"batch": "many"}`:                    "field-integer at batch",
		`{"batch": 1.5}`:                       "field-integer at batch",
		`{"optimizer": {"nam": "sgd"}}`:        "field-unknown at optimizer.nam: close=optimizer.name,",
		`{"optimizer": {"Name": "sgd"}}`:       "field-unknown at optimizer.Name: close=optimizer.name,",
		`{"optimizer": {"weight-decay": 1}}`:   "field-unknown at optimizer.weight-decay: close=optimizer.weight_decay,",
		`{"optimizer": {"foreach": 1}}`:        "field-boolean at optimizer.foreach",
		`{"optimizer": "sgd"}`:                 "field-object at optimizer",
		`{"device": {"total": 1}}`:             "field-unknown at device.total: close=device.total_bytes,",
		`{"allocator": {"max_split_size": 1}}`: "field-unknown at allocator.max_split_size: close=allocator.max_split_size_mb,",
		`{"model": {"file": {"nme": "x"}}}`:    "field-unknown at model.file.nme: close=model.file.name,",
		`{"model": {"file": {"base64": "!"}}}`: "file-base64 at model.file.base64",
		`{"preset": "resnet50"}`:               "field-unknown at preset: close=model.preset,",
		`{"xyzzy": 1}`:                         "field-unknown at xyzzy: close=,",
		`{`:                                    "request-syntax at 1:2: column=2, end=end,",
		``:                                     "request-syntax at 1:1",
		`{} {}`:                                "request-syntax at 1:4: after={,",
		`[]`:                                   "request-syntax",
		`null`:                                 "request-syntax",
		"{\n \"batch\": 3\n \"steps\": 4}":     "request-syntax at 3:2: column=2, comma=\",",
		"{\n \"batch\": 3,\n}":                 "request-syntax at 3:1: column=1, key=},",
		`{"batch" 3}`:                          "request-syntax at 1:10: colon=3,",
		`{"mode": train}`:                      "request-syntax at 1:10: column=10, line=1, value=train",
		"{\"mode\": \"train\n\"}":              "request-syntax at 1:16: column=16, line=1, text= ",
		`{"input": {"shap": [3]}}`:             "field-unknown at input.shap: close=input.shape,",
		`{"input": [{"shape": [3]}, {"shap": [3]}]}`:      "field-unknown at input[1].shap: close=input[1].shape,",
		`{"input": {"shape": [3, "a"]}}`:                  "field-integer at input.shape[1]",
		`{"input": {"shape": 3}}`:                         "field-list at input.shape",
		`{"frozen": "a"}`:                                 "field-list at frozen",
		`{"frozen": [1]}`:                                 "field-text at frozen[0]",
		`{"frozen": [null]}`:                              "field-text at frozen[0]",
		`{"checkpointing": ["a", null]}`:                  "field-text at checkpointing[1]",
		`{"input": [null]}`:                               "field-object at input[0]",
		`{"optimizer": {"name": "sgd"}, "optimizer": {}}`: "field-twice at optimizer",
		`{"model": {"layers": [{"type": "Linear", "in_features": 4, "in_features": 5}]}}`: "field-twice at model.layers[0].in_features",
		`{"batch": -0}`:                                 "field-positive at batch",
		`{"model": {"hf": 3}}`:                          "field-object at model.hf",
		`{"model": {"trace": []}}`:                      "field-object at model.trace",
		`{"model": {"layers": [{"type": 3}]}}`:          "field-text at model.layers[0].type",
		`{"model": {"layers": [{"inputs": ["a", 1]}]}}`: "field-text at model.layers[0].inputs[1]",
		`{"model": {"preset_args": 3}}`:                 "field-object at model.preset_args",
		`{"checkpointing": "some"}`:                     "field-choice at checkpointing",
		`{"checkpointing": [1]}`:                        "field-text at checkpointing[0]",
		`{"checkpointing": 1}`:                          "field-list at checkpointing",
		`{"model":{"layers":[{"type":"ReLU"}]}}`:        "",
		`{"checkpointing": ["a"], "input": [{"tokens": 3}], "device": {"total_bytes": 0, "context_bytes": null}}`: "",
	} {
		r, err := ParseRequest([]byte(text))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want == "":
			back, err := json.Marshal(r)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			if again, err := ParseRequest(back); err != nil {
				t.Errorf("%s -> %s: %v", text, back, err)
			} else if twice, _ := json.Marshal(again); string(twice) != string(back) {
				t.Errorf("%s -> %s -> %s", text, back, twice)
			}
		case err == nil || !strings.HasPrefix(err.Error(), want):
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func FuzzEstimate(f *testing.F) {
	for _, s := range []string{`{}`, `{"model":{"layers":[{"type":"Conv2d","in_channels":3,"out_channels":8,"kernel_size":3},{"type":"cat","inputs":["0","0"]}]},"input":{"shape":[3,8,8]}}`,
		`{"model":{"layers":[{"type":"Linear","in_features":8,"out_features":8,"name":"a"},{"type":"add","inputs":["a","input"]}]},"input":{"shape":[8]},"precision":"amp-fp16","optimizer":{"name":"muon"}}`,
		`{"model":{"preset":"gpt_small"},"batch":2,"attention":"flash","checkpointing":"every-block"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRequest(data)
		if err != nil || len(r.Model.Layers) > 64 {
			return
		}
		r.Steps = min(max(r.Steps, 0), 4)
		res, err := Estimate(r)
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		var sum int64
		for _, p := range res.Parts {
			sum += p.Bytes
		}
		if sum != res.Peak.Device {
			t.Fatalf("parts %d, peak %d", sum, res.Peak.Device)
		}
	})
}

// linearChain is a network of n operations.
func linearChain(n int) Request {
	list := make([]Layer, n)
	for i := range list {
		list[i] = Layer{Type: "ReLU"}
	}
	list[0] = Layer{Type: "Linear", Args: map[string]any{"in_features": 64, "out_features": 64}}
	return Request{Model: Model{Layers: list}, Input: Inputs{{Shape: []int64{64}}}, Batch: 8}
}

func BenchmarkWalk(b *testing.B) {
	bench := func(name string, r Request) {
		b.Run(name, func(b *testing.B) {
			q, err := understand(r)
			if err != nil {
				b.Fatal(err)
			}
			n, err := q.resolve()
			if err != nil {
				b.Fatal(err)
			}
			cfg := q.walkConfig()
			cfg.Iterations, cfg.Timeline = 2, true
			b.ReportAllocs()
			for b.Loop() {
				one, err := q.compile(n, q.Batch)
				if err != nil {
					b.Fatal(err)
				}
				walk.Run(one.p, cfg, nil)
			}
		})
	}
	bench("lesson", Request{})
	bench("resnet50", Request{Model: Model{Preset: "resnet50"}})
	bench("chain1000", linearChain(1000))
	bench("chain10000", linearChain(10000))
}

func BenchmarkEstimate(b *testing.B) {
	for _, name := range []string{"lesson", "resnet50"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				estimate(b, Request{Model: Model{Preset: name}})
			}
		})
	}
}

// LoRA on a frozen base: the adapters' parameters are exact, their activations stay nearly whole, and a four-bit
// base shrinks the weights but no activation.
func TestAdapters(t *testing.T) {
	layers := []Layer{{Type: "Linear", Name: "q_proj", Args: map[string]any{"in_features": 4096, "out_features": 4096}}, {Type: "GELU"},
		{Type: "Linear", Name: "o_proj", Args: map[string]any{"in_features": 4096, "out_features": 4096}}}
	q := Request{Model: Model{Layers: layers}, Input: Inputs{{Shape: []int64{128, 4096}}}, Loss: "mse", Batch: 4, Optimizer: Optimizer{Name: "adamw"}}
	full := estimate(t, q)
	q.Adapter = &Adapter{Kind: "lora", Rank: 8, Targets: []string{"q_proj"}}
	lora := estimate(t, q)
	if want := int64(8 * (4096 + 4096)); lora.Parameters.Trainable != want || lora.Parameters.Total != full.Parameters.Total+want {
		t.Errorf("trainable %d of %d, want %d of %d", lora.Parameters.Trainable, lora.Parameters.Total, want, full.Parameters.Total+want)
	}
	if lora.Peak.Live >= full.Peak.Live {
		t.Errorf("peak %d with adapters, %d without", lora.Peak.Live, full.Peak.Live)
	}
	if lora.SavedForBackward*2 < full.SavedForBackward {
		t.Errorf("a frozen base needs activations all the same: %d against %d", lora.SavedForBackward, full.SavedForBackward)
	}
	q.Adapter.Targets = []string{"nothing"}
	if _, err := Estimate(q); err == nil {
		t.Error("targets that match nothing are accepted")
	}
}

// A precision that is asked for does not give way to the adapter's base in silence.
func TestPrecisionReplaced(t *testing.T) {
	for _, c := range []struct {
		precision, base string
		warned          bool
	}{{"", "nf4", false}, {"", "bf16", false}, {"fp32", "", false}, {"fp32", "fp32", false}, {"amp-bf16", "bf16", false}, {"fp32", "fp16", true}, {"fp32", "bf16", true}, {"fp32", "nf4", true}} {
		q := Request{Model: Model{Preset: "gpt2"}, Batch: 1, Precision: c.precision, Adapter: &Adapter{Kind: "lora", Rank: 8, Targets: []string{"c_attn"}, Base: c.base}}
		r := estimate(t, q)
		warned := slices.ContainsFunc(r.Warnings, func(w Warning) bool {
			return w.Code == "precision-replaced" && w.At == "precision" && w.Args["asked"] == "fp32" && w.Args["base"] == c.base
		})
		if warned != c.warned {
			t.Errorf("%q over %q: %v", c.precision, c.base, r.Warnings)
		}
	}
}

// Model states per parameter with Adam and 16-bit weights over N cards: the table of the ZeRO paper
// (Rajbhandari et al., arXiv 1910.02054, figure 1): 16 bytes, 4 + 12/N, 2 + 14/N, 16/N.
func TestZeroStages(t *testing.T) {
	const in, n = 4096, 8
	layer := Layer{Type: "Linear", Args: map[string]any{"in_features": in, "out_features": in, "bias": false}}
	const params = 4 * in * in
	around := int64(4*in*2) + 4*4 // input, target, output and mse_loss's storage, one sample in 16 bits; the fused step counters
	for stage, want := range []int64{16 * params, 4*params + 12*params/n, 2*params + 14*params/n, 16 * params / n} {
		switch stage {
		case 0:
			want += 2 * params // DistributedDataParallel's buckets
		case 3:
			want += 2 * in * in // the gathered unit
		}
		r := estimate(t, Request{Model: Model{Layers: []Layer{layer, layer, layer, layer}}, Input: Inputs{{Shape: []int64{in}}}, Loss: "mse", Batch: 1,
			Precision: "bf16-master", Optimizer: Optimizer{Fused: true}, Parallel: Parallel{Data: n, Zero: stage}})
		if got := r.Phases.Step - around; got != want {
			t.Errorf("stage %d: model states %d, want %d (%.3f bytes per parameter)", stage, got, want, float64(got)/params)
		}
	}
}

// The key-value cache: 2 x layers x heads x head size x bytes per token, for every sequence of the batch.
func TestKVCache(t *testing.T) {
	q := Request{Model: Model{Preset: "gpt_small"}, Mode: "infer", Batch: 3, Inference: &Inference{Context: 1000, KVDType: "fp16"}}
	r := estimate(t, q)
	at := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Kind == PartKVCache })
	if want := int64(3 * 1000 * 2 * 4 * 256 * 2); at < 0 || r.Parts[at].Bytes != want {
		t.Errorf("parts %+v, want a key-value cache of %d", r.Parts, want)
	}
}

// What a training will reserve does not depend on the card it is asked for.
func TestReservedIsUncapped(t *testing.T) {
	q := Request{Model: Model{Preset: "resnet50"}, Batch: 256}
	q.Device.GPU = "gtx-1650"
	small := estimate(t, q)
	q.Device.GPU = "a100-80"
	large := estimate(t, q)
	if small.Peak != large.Peak || *small.Fits || !*large.Fits {
		t.Errorf("on a small card %+v fits %v, on a large one %+v fits %v", small.Peak, *small.Fits, large.Peak, *large.Fits)
	}
}

// argumentNames are constructor arguments of many layers; random networks draw from them.
var argumentNames = []string{"in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias", "in_features", "out_features", "num_features",
	"normalized_shape", "num_groups", "num_channels", "p", "inplace", "output_size", "scale_factor", "size", "mode", "num_embeddings", "embedding_dim", "upscale_factor", "downscale_factor",
	"start_dim", "end_dim", "dim", "dim0", "dim1", "dims", "shape", "keepdim", "length", "d_model", "nhead", "embed_dim", "num_heads", "padding_mode", "ceil_mode", "affine", "num_layers",
	"input_size", "hidden_size", "batch_first", "bidirectional", "dim_feedforward", "kernel", "index", "exponent", "norm_type", "unflattened_size", "num_parameters"}

// TestRandomNetworks builds networks out of any layers with any arguments: each is an estimate whose parts sum, or an *Error.
func TestRandomNetworks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	types := LayerTypes()
	need := map[string]map[string]bool{}
	for _, typ := range types {
		need[typ] = required(typ)
	}
	values := []any{1, 2, 3, 4, 8, 16, 0, -1, 1 << 40, 0.5, 2.5, true, false, "same", "reflect", "bilinear", []any{2, 2}, []any{1, 2, 3}, []any{8, 8}, []any{}, []any{nil, 4}, nil}
	built, tries := 0, 10000
	if testing.Short() { // as WebAssembly
		tries = 1000
	}
	for range tries {
		var list []Layer
		for range 1 + rng.IntN(3) {
			l := Layer{Type: types[rng.IntN(len(types))], Args: map[string]any{}}
			for name := range need[l.Type] {
				l.Args[name] = values[rng.IntN(6)]
			}
			for range rng.IntN(4) / 2 {
				l.Args[argumentNames[rng.IntN(len(argumentNames))]] = values[rng.IntN(len(values))]
			}
			if rng.IntN(4) == 0 && len(list) > 0 {
				for range 1 + rng.IntN(3) {
					l.Inputs = append(l.Inputs, []string{"input", "0"}[rng.IntN(2)])
				}
			}
			list = append(list, l)
		}
		shapes := [][]int64{{8, 8, 8}, {4}, {8, 8}, {3, 4, 8, 8}, {16, 4}, {1}, {2, 2, 2, 2, 2}}
		q := Request{Model: Model{Layers: list}, Input: Inputs{{Shape: shapes[rng.IntN(len(shapes))]}}, Batch: 1 + rng.Int64N(3), Loss: Losses[rng.IntN(len(Losses))],
			Precision: Precisions[rng.IntN(len(Precisions))], Mode: []string{"train", "infer"}[rng.IntN(2)]}
		if rng.IntN(8) == 0 {
			q.Input[0].DType = "int64"
		}
		func() {
			defer func() {
				if r := recover(); r != nil {
					say, _ := json.Marshal(q)
					t.Fatalf("%s: %v", say, r)
				}
			}()
			res, err := Estimate(q)
			if err != nil {
				if e, ok := err.(*Error); !ok || e.At == "" {
					say, _ := json.Marshal(q)
					t.Fatalf("%s: %T %v", say, err, err)
				}
				return
			}
			built++
			var sum int64
			for _, p := range res.Parts {
				sum += p.Bytes
			}
			if sum != res.Peak.Device {
				say, _ := json.Marshal(q)
				t.Fatalf("%s: parts sum to %d of %d", say, sum, res.Peak.Device)
			}
		}()
	}
	if built < tries/50 {
		t.Errorf("only %d of the networks were possible", built)
	}
	t.Logf("%d networks estimated", built)
}

// required are the arguments a layer type asks for, found by asking with none.
func required(typ string) map[string]bool {
	need := map[string]bool{}
	args := map[string]any{}
	for range 8 {
		_, err := Estimate(Request{Model: Model{Layers: []Layer{{Type: typ, Args: args}}}, Input: Inputs{{Shape: []int64{8, 8, 8}}}})
		e, ok := err.(*Error)
		if !ok || e.Code != "argument-missing" {
			break
		}
		name := e.Args["argument"].(string)
		need[name], args[name] = true, 2
	}
	return need
}

// Recomputation leaves nothing behind: the optimizer's step sees the same live bytes with and without it, and the
// allocator does not grow with the iterations.
func TestCheckpointingLeavesNothing(t *testing.T) {
	for _, name := range Presets() {
		q := Request{Model: Model{Preset: name}, Batch: 2, Optimizer: Optimizer{Name: "sgd"}}
		plain := estimate(t, q)
		q.Checkpointing.EveryBlock = true
		again := estimate(t, q)
		if slices.ContainsFunc(again.Warnings, func(w Warning) bool { return w.Code == "no-blocks" }) {
			continue
		}
		if again.First.Step > plain.First.Step || again.Phases.Step > plain.Phases.Step {
			t.Errorf("%s: live in the step %d without checkpointing, %d with", name, plain.Phases.Step, again.Phases.Step)
		}
	}
	for _, name := range []string{"gpt2", "tinyllama_1_1b", "t5_small", "resnet18"} {
		q := Request{Model: Model{Preset: name}, Batch: 2, Checkpointing: Checkpointing{EveryBlock: true}, Steps: 6}
		few := estimate(t, q).Peak.Reserved
		q.Steps = 24
		if many := estimate(t, q).Peak.Reserved; many > few+few/10 {
			t.Errorf("%s: reserved %d after 6 steps, %d after 24", name, few, many)
		}
	}
}

// Measured in PyTorch 1.13 with torch.utils.checkpoint(use_reentrant=False) inside densenet121(memory_efficient=True),
// ten classes, 64 x 64 pixels, batch 2.
func TestCheckpointingIsExact(t *testing.T) {
	no := false
	r := estimate(t, Request{Model: Model{Preset: "densenet121", PresetArgs: map[string]any{"memory_efficient": true, "num_classes": 10}}, Batch: 2,
		PyTorch: "1.13", Input: Inputs{{Shape: []int64{3, 64, 64}}}, Optimizer: Optimizer{Foreach: &no}})
	if want := int64(61_789_312); r.First.Backward != want {
		t.Errorf("backward peak %d, measured %d", r.First.Backward, want)
	}
}

// Sizes beyond what can be counted are an error, whatever makes them.
func TestTooLarge(t *testing.T) {
	for name, q := range map[string]Request{
		"batch":   {Batch: MaxBatch},
		"tokens":  {Model: Model{Preset: "t5_small"}, Input: Inputs{{Tokens: 10_000_000}}},
		"context": {Model: Model{Preset: "llama3_8b"}, Mode: "infer", Inference: &Inference{Context: 1 << 30}},
		"layer":   {Model: Model{Layers: []Layer{{Type: "Linear", Args: map[string]any{"in_features": 8, "out_features": int64(1e12)}}}}, Input: Inputs{{Shape: []int64{8}}}},
	} {
		q.Want = Wants
		if _, err := Estimate(q); err == nil {
			t.Errorf("%s: accepted", name)
		} else if _, ok := err.(*Error); !ok {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}
