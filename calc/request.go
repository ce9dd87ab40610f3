package calc

import (
	"encoding/json"
	"io"

	"vrametre/calc/read"
)

// Request asks how much memory one training step (or one inference) takes.
// The zero value of every field stands for its default, so Request{} is the
// lesson's network, batch 32, Adam, fp32, training. Sizes are elements unless
// the name says bytes.
type Request struct {
	Model Model `json:"model,omitzero"`
	// Input lists the model's inputs, per sample (without the batch
	// dimension). Empty: the preset's own.
	Input Inputs `json:"input,omitempty"`
	// NumClasses is the number of classes: of a preset or of a model that was read, whose last layer it resizes. It is an
	// error where that layer is not known.
	NumClasses int `json:"num_classes,omitzero"`
	// Batch is the number of samples per step and per card (the micro-batch). Default 32.
	Batch int64 `json:"batch,omitzero"`
	// Accumulation is the number of backward passes per optimizer step. Default 1.
	Accumulation int `json:"accumulation,omitzero"`
	// Mode is "train" (default) or "infer".
	Mode string `json:"mode,omitzero"`
	// Loss is one of Losses. Default: the preset's own, else cross_entropy.
	Loss string `json:"loss,omitzero"`
	// AuxLoss is the weight of an auxiliary head's loss, where the preset has one; nil: no auxiliary loss.
	AuxLoss   *float64  `json:"aux_loss,omitempty"`
	Optimizer Optimizer `json:"optimizer,omitzero"`
	// Precision is one of Precisions. Default "fp32".
	Precision string `json:"precision,omitzero"`
	// ZeroGrad is "set_to_none" or "zeros". Default: what the PyTorch version does.
	ZeroGrad string `json:"zero_grad,omitzero"`
	// ZeroGradAt is "start" (default: start of the iteration), "before-backward" or "end".
	ZeroGradAt string `json:"zero_grad_at,omitzero"`
	// Steps is how many iterations are walked for Peak.Reserved. Default 4; with 1 the first is the only one, and Phases are its own.
	Steps int `json:"steps,omitzero"`
	// PyTorch is the version whose rules apply, "major.minor". Default: the newest known.
	PyTorch string `json:"pytorch,omitzero"`
	// Checkpointing is none (default), every-block, or a list of module paths.
	Checkpointing Checkpointing `json:"checkpointing,omitzero"`
	// Frozen lists module paths whose parameters have requires_grad=False. In a path, here and in Checkpointing, a
	// part such as "0-11" stands for each of 0 to 11.
	Frozen  []string `json:"frozen,omitempty"`
	Adapter *Adapter `json:"adapter,omitempty"`
	// Attention is the kernel of scaled_dot_product_attention: auto (default), math, flash or efficient.
	Attention string     `json:"attention,omitzero"`
	Inference *Inference `json:"inference,omitempty"`
	Parallel  Parallel   `json:"parallel,omitzero"`
	Allocator Allocator  `json:"allocator,omitzero"`
	Device    Device     `json:"device,omitzero"`
	// Language of the texts that the caller fills from content: fr (default) or en.
	Language string `json:"language,omitzero"`
	// Want lists what costs more than one walk or many bytes: max_batch, advice, timeline (a point per operation), layers
	// (a row per module call) and blocks (the allocator's segments at the peak).
	Want []string `json:"want,omitempty"`
}

// Model says which network; exactly one field beside PresetArgs is set.
type Model struct {
	// Preset is a name listed by Presets.
	Preset string `json:"preset,omitzero"`
	// PresetArgs are constructor arguments beside Preset, by their Python names.
	PresetArgs map[string]any `json:"preset_args,omitempty"`
	// Torch is the text of print(model).
	Torch string `json:"torch,omitzero"`
	// Summary is the text of a torchinfo, torchsummary or Keras summary.
	Summary string `json:"summary,omitzero"`
	// HF is a Hugging Face config.json.
	HF json.RawMessage `json:"hf,omitempty"`
	// Trace is what the Python exporter wrote.
	Trace json.RawMessage `json:"trace,omitempty"`
	// Layers is a chain, or a graph where layers have names and inputs.
	Layers []Layer `json:"layers,omitempty"`
	File   *File   `json:"file,omitempty"`
	// Memo, where the caller gives one, keeps what was understood of a text or a file between requests about it.
	Memo *Memo `json:"-"`
}

// Memo remembers the last reading of one model, which must not change meanwhile. It is not for concurrent use.
type Memo struct {
	of    string
	model *read.Model
	err   error
	trace any // the parsed trace
}

// Layer is one module or functional operation of Model.Layers. In JSON the
// constructor arguments stand beside type, name and inputs, under PyTorch's
// own names: {"type": "Conv2d", "in_channels": 3, "out_channels": 32, "kernel_size": 3}.
type Layer struct {
	Type string
	// Name makes the output available to Inputs of later layers; default: the index.
	Name string
	// Inputs names the layers this one reads ("input" or "input0", "input1", ... are the
	// model's inputs). Default: the layer before.
	Inputs []string
	// Args are the constructor arguments.
	Args map[string]any
}

// File is a model file, its bytes in base64 in JSON.
type File struct {
	Name   string `json:"name"`
	Base64 []byte `json:"base64"`
	// Source gives the file piece by piece instead, Size bytes long: only headers are read.
	Source io.ReaderAt `json:"-"`
	Size   int64       `json:"-"`
	// More are files that were given with this one: the other parts of a checkpoint, its index, its config.json.
	More []File `json:"-"`
}

// Input is one input of the model, per sample.
type Input struct {
	// Shape without the batch dimension.
	Shape []int64 `json:"shape,omitempty"`
	// DType is PyTorch's name ("float32", "int64"). Default float32, int64 for tokens.
	DType string `json:"dtype,omitzero"`
	// Tokens is the sequence length: short for shape [Tokens], dtype int64.
	Tokens int64 `json:"tokens,omitzero"`
}

// Inputs is one Input or a list of them in JSON.
type Inputs []Input

// Optimizer names an optimizer of torch.optim (or lion, adafactor, adam8bit, muon) and
// the arguments that change its memory.
type Optimizer struct {
	// Name is one of Optimizers. Default "adam".
	Name        string  `json:"name,omitzero"`
	Momentum    float64 `json:"momentum,omitzero"`
	AMSGrad     bool    `json:"amsgrad,omitzero"`
	Centered    bool    `json:"centered,omitzero"`
	WeightDecay float64 `json:"weight_decay,omitzero"`
	// Foreach chooses the multi-tensor implementation; nil: what the PyTorch version does on CUDA.
	Foreach *bool `json:"foreach,omitempty"`
	Fused   bool  `json:"fused,omitzero"`
}

// Checkpointing says which modules recompute their activations in backward.
// In JSON: "none", "every-block" or a list of module paths.
type Checkpointing struct {
	EveryBlock bool
	Paths      []string
}

// Adapter adds trainable low-rank matrices to a frozen model.
type Adapter struct {
	Kind    string   `json:"kind"`
	Rank    int64    `json:"rank"`
	Targets []string `json:"targets"`
	// Base is the dtype of the frozen weights; "nf4" makes it QLoRA. Default: the weights' own.
	Base string `json:"base,omitzero"`
}

// Inference sizes the key-value cache.
type Inference struct {
	// Context is the number of tokens per sequence held in the cache.
	Context int64 `json:"context"`
	// KVDType is fp32, fp16, bf16 or fp8. Default: the weights' own.
	KVDType string `json:"kv_dtype,omitzero"`
}

// Parallel spreads one training over several cards; the estimate is for one of them.
type Parallel struct {
	Data         int  `json:"data,omitzero"`
	Zero         int  `json:"zero,omitzero"`
	Tensor       int  `json:"tensor,omitzero"`
	Sequence     bool `json:"sequence,omitzero"`
	Pipeline     int  `json:"pipeline,omitzero"`
	Microbatches int  `json:"microbatches,omitzero"`
}

// Allocator holds PYTORCH_CUDA_ALLOC_CONF.
type Allocator struct {
	ExpandableSegments bool   `json:"expandable_segments,omitzero"`
	MaxSplitSizeMB     *int64 `json:"max_split_size_mb,omitempty"`
}

// Device is the card and what else uses it.
type Device struct {
	// GPU is a catalogue id, such as "tesla-t4". Empty: no card, no budget.
	GPU string `json:"gpu,omitzero"`
	// OS is linux (default) or windows.
	OS string `json:"os,omitzero"`
	// Desktop says whether a desktop session draws on this card.
	Desktop bool `json:"desktop,omitzero"`
	// ContextBytes overrides the CUDA context's assumed size.
	ContextBytes *int64 `json:"context_bytes,omitempty"`
	// TotalBytes overrides the catalogue's total.
	TotalBytes *int64 `json:"total_bytes,omitempty"`
}
