package view

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/content"
)

// PageWorkshop is the calculator's page: any model, any training.
const PageWorkshop = "atelier"

// Setup is what the workshop lets the reader choose beside the lesson's
// settings. It is comparable; its zero value is the lesson's page.
type Setup struct {
	// Model is a preset, ModelRows for the layers of Rows or ModelImport for Import; "" on the lesson's page.
	Model string
	// Rows are layers, encoded as in the address.
	Rows string
	// Import is the model that the reader has given; it stays while another one is looked at.
	Import *Import
	// Elsewhere is the Sum of the model that an address speaks of and does not carry, where Import is nil.
	Elsewhere string
	// Classes is the number of classes given to Import, 0 its own; Frozen and Blocks are modules of it, by their
	// Module.ID, between commas: those that are not trained, and those whose activations are recomputed.
	Classes        int64
	Frozen, Blocks string
	// Input is one sample's shape as the reader writes it, or a number of tokens; "": the model's own.
	Input string
	// Mode, Precision, Loss, Attention and PyTorch are calc's; "" are its defaults.
	Mode, Precision, Loss, Attention, PyTorch string
	// Optimizer is a choice of SetupOptimizers; "": the lesson's setting.
	Optimizer string
	// Kernel is "fused" or "loop"; "": what PyTorch does.
	Kernel string
	// Recompute is checkpointing of every block.
	Recompute bool
	// Accumulation, Cards and Zero are 0 where they are not set: one pass, one card, no sharding.
	Accumulation, Cards, Zero int64
}

// ModelRows stands for a list of layers among the models, ModelImport for the reader's own.
const (
	ModelRows   = "layers"
	ModelImport = "import"
)

// Choices of the setup, the default first as "".
var (
	SetupOptimizers = slices.Concat([]string{"sgd", "sgd-momentum", "adam", "adamw"}, slices.DeleteFunc(slices.Clone(calc.Optimizers), func(o string) bool { return o == "sgd" || o == "adam" || o == "adamw" }))
	SetupModes      = []string{"", "infer"}
	SetupPrecisions = slices.Concat([]string{""}, calc.Precisions[1:])
	SetupLosses     = slices.Concat([]string{""}, calc.Losses)
	SetupKernels    = []string{"", "fused", "loop"}
	SetupAttentions = []string{"", "math", "flash", "efficient"}
	SetupPyTorch    = []string{"", "2.6", "2.2", "2.0", "1.13"}
	SetupZero       = []int64{0, 1, 2, 3}
)

// Most of what can be counted in a setup.
const (
	maxAccumulation = 1024
	maxCards        = 1024
	maxClasses      = 1 << 24
	// maxPaths bounds the paths of Frozen and Blocks, in bytes.
	maxPaths = 4000
)

// Names of the setup's settings.
const (
	SetupModel        = "model"
	SetupInput        = "input"
	SetupMode         = "mode"
	SetupPrecision    = "precision"
	SetupLoss         = "loss"
	SetupOptimizer    = "optimizer"
	SetupKernel       = "kernel"
	SetupAttention    = "attention"
	SetupVersion      = "pytorch"
	SetupRecompute    = "recompute"
	SetupAccumulation = "accumulation"
	SetupCards        = "cards"
	SetupStage        = "zero"
	SetupClasses      = "classes"
	SetupFrozen       = "frozen"
	SetupBlocks       = "blocks"
)

// on and off are the values of a switch.
const (
	on  = "1"
	off = ""
)

// Value reads a setting as its control holds it.
func (u Setup) Value(name string) string {
	number := func(n, least int64) string { return strconv.FormatInt(max(n, least), 10) }
	switch name {
	case SetupModel:
		return u.Model
	case SetupInput:
		return u.Input
	case SetupMode:
		return u.Mode
	case SetupPrecision:
		return u.Precision
	case SetupLoss:
		return u.Loss
	case SetupOptimizer:
		return u.Optimizer
	case SetupKernel:
		return u.Kernel
	case SetupAttention:
		return u.Attention
	case SetupVersion:
		return u.PyTorch
	case SetupRecompute:
		return map[bool]string{true: on, false: off}[u.Recompute]
	case SetupAccumulation:
		return number(u.Accumulation, 1)
	case SetupCards:
		return number(u.Cards, 1)
	case SetupStage:
		return number(u.Zero, 0)
	case SetupClasses:
		return number(u.Classes, 0)
	case SetupFrozen:
		return u.Frozen
	case SetupBlocks:
		return u.Blocks
	}
	return ""
}

// With gives a setting a value; one that it does not have changes nothing.
func (u Setup) With(name, value string) Setup {
	choose := func(field *string, choices []string) {
		if slices.Contains(choices, value) {
			*field = value
		}
	}
	count := func(field *int64, least, most int64) {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			if *field = min(max(n, least), most); *field == least {
				*field = 0
			}
		}
	}
	switch name {
	case SetupModel:
		_, preset := calc.PresetOf(value)
		switch {
		case value == u.Model:
		case value == ModelRows:
			if u.Model = ModelRows; u.Rows == "" {
				u.Rows = encodeRows(LessonRows)
			}
		case value == ModelImport:
			u.Model = ModelImport
			u = u.plain()
		case preset:
			u.Model = value
			u = u.plain()
		}
	case SetupInput:
		u.Input = clip(value)
	case SetupMode:
		choose(&u.Mode, SetupModes)
	case SetupPrecision:
		choose(&u.Precision, SetupPrecisions)
	case SetupLoss:
		choose(&u.Loss, SetupLosses)
	case SetupOptimizer:
		choose(&u.Optimizer, SetupOptimizers)
	case SetupKernel:
		choose(&u.Kernel, SetupKernels)
	case SetupAttention:
		choose(&u.Attention, SetupAttentions)
	case SetupVersion:
		choose(&u.PyTorch, SetupPyTorch)
	case SetupRecompute:
		if u.Recompute = value == on; u.Recompute {
			u.Blocks = "" // each of them
		}
	case SetupAccumulation:
		count(&u.Accumulation, 1, maxAccumulation)
	case SetupCards:
		if count(&u.Cards, 1, maxCards); u.Cards == 0 {
			u.Zero = 0
		}
	case SetupStage:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && slices.Contains(SetupZero, n) && u.Cards > 1 {
			u.Zero = n
		}
	case SetupClasses:
		if count(&u.Classes, 0, maxClasses); value == "" {
			u.Classes = 0
		}
	case SetupFrozen:
		if len(value) <= maxPaths {
			u.Frozen = value
		}
	case SetupBlocks:
		if len(value) <= maxPaths {
			if u.Blocks = value; value != "" {
				u.Recompute = false
			}
		}
	}
	return u
}

// List is the setup's layers.
func (u Setup) List() []Row { return decodeRows(u.Rows) }

// WithList sets them.
func (u Setup) WithList(rows []Row) Setup {
	u.Rows = encodeRows(rows[:min(len(rows), maxRows)])
	return u
}

// setupKeys are the names of settings in the address.
var setupKeys = []struct{ key, name string }{
	{"m", SetupModel}, {"in", SetupInput}, {"mode", SetupMode}, {"prec", SetupPrecision}, {"loss", SetupLoss}, {"o", SetupOptimizer}, {"k", SetupKernel},
	{"attn", SetupAttention}, {"pt", SetupVersion}, {"ck", SetupRecompute}, {"acc", SetupAccumulation}, {"dp", SetupCards}, {"zero", SetupStage}, {"cls", SetupClasses}, {"fz", SetupFrozen}, {"blocks", SetupBlocks},
}

// fragment writes the setup for the address; nothing on the lesson's page.
func (u Setup) fragment() string {
	if u.Model == "" {
		return ""
	}
	var b strings.Builder
	plain := Setup{}
	for _, k := range setupKeys {
		if v := u.Value(k.name); v != plain.Value(k.name) {
			b.WriteString("&" + k.key + "=" + escape(v))
		}
	}
	if u.Rows != "" {
		b.WriteString("&layers=" + u.Rows)
	}
	switch {
	case u.Model != ModelImport:
	case u.Import == nil:
		if u.Elsewhere != "" {
			b.WriteString("&sum=" + u.Elsewhere)
		}
	case u.Import.Carried():
		b.WriteString("&text=" + escape(u.Import.Text))
	case u.Import.Text != "":
		b.WriteString("&sum=" + u.Import.Sum())
	}
	return b.String()
}

func parseSetup(pairs map[string]string) Setup {
	u := Setup{}
	if pairs["layers"] != "" {
		if rows := decodeRows(pairs["layers"]); len(rows) > 0 {
			u.Rows = encodeRows(rows)
		}
	}
	if sum := pairs["sum"]; len(sum) == sumLength && strings.Trim(sum, "0123456789abcdef") == "" {
		u.Elsewhere = sum
	}
	if text := unescape(pairs["text"]); text != "" && len(pairs["text"]) <= maxCarried {
		u.Import = Paste(strings.ToValidUTF8(text, "\ufffd"))
	}
	for _, k := range setupKeys {
		if v, ok := pairs[k.key]; ok {
			u = u.With(k.name, unescape(v))
		}
	}
	if u.Model == "" {
		return Setup{} // a page without a model has no setup
	}
	return u.fitted()
}

// apply makes the lesson's question the setup's.
func (u Setup) apply(r *calc.Request) error {
	if u.Model != lessonModel {
		r.Model, r.Input = calc.Model{Preset: u.Model}, nil
	}
	if u.Model == ModelRows {
		layers, err := Layers(u.List())
		if err != nil {
			return err
		}
		r.Model = calc.Model{Layers: layers}
		if len(layers) == 0 {
			return &calc.Error{Code: "layers-empty", At: "model.layers"}
		}
	}
	if u.Model == ModelImport {
		if u.Import == nil {
			return errElsewhere
		}
		read := u.reading()
		r.Model, r.NumClasses = read.Model, read.NumClasses
		r.Frozen, r.Checkpointing.Paths = list(u.Frozen), list(u.Blocks)
	}
	if in := u.InputText(); in != "" {
		input, err := parseInput(in)
		if err != nil {
			return err
		}
		r.Input = calc.Inputs{input}
		if p, ok := calc.PresetOf(u.Model); ok && len(input.Shape) == 1 && p.Input[0].Tokens > 0 {
			r.Input = nil
			for range p.Input { // an encoder and its decoder read as many tokens
				r.Input = append(r.Input, calc.Input{Tokens: input.Shape[0]})
			}
		}
	}
	r.Mode, r.Precision, r.Loss, r.Attention, r.PyTorch = u.Mode, u.Precision, u.Loss, u.Attention, u.PyTorch
	switch name := u.Optimizer; name {
	case "":
	case "sgd-momentum":
		r.Optimizer = calc.Optimizer{Name: "sgd", Momentum: 0.9}
	default:
		r.Optimizer = calc.Optimizer{Name: name}
	}
	switch u.Kernel {
	case "fused":
		r.Optimizer.Fused = true
	case "loop":
		foreach := false
		r.Optimizer.Foreach = &foreach
	}
	r.Checkpointing.EveryBlock = u.Recompute
	r.Accumulation = int(u.Accumulation)
	r.Parallel.Data, r.Parallel.Zero = int(u.Cards), int(u.Zero)
	return nil
}

// lessonModel is the preset of the lesson's network.
const lessonModel = "lesson"

// defaultRowsInput is what a list of layers reads where the reader does not say.
const defaultRowsInput = "3, 128, 128"

// InputText is the shape that is asked for; "": the model's own.
func (u Setup) InputText() string {
	if strings.TrimSpace(u.Input) == "" && u.Model == ModelRows {
		return defaultRowsInput
	}
	return u.Input
}

// OwnInput is the model's own input, written as the reader would.
func (s State) OwnInput() string {
	if s.Setup.Model == ModelRows {
		return defaultRowsInput
	}
	if s.Setup.Model == lessonModel {
		n := strconv.FormatInt(s.Side, 10)
		return "3, " + n + ", " + n
	}
	if s.Setup.Model == ModelImport {
		m, err := s.Imported()
		if err != nil || len(m.Inputs) == 0 {
			return ""
		}
		return strings.Join(digits(m.Inputs[0].Shape), ", ")
	}
	p, ok := calc.PresetOf(s.Setup.Model)
	if !ok || len(p.Input) == 0 {
		return ""
	}
	if p.Input[0].Tokens > 0 {
		return strconv.FormatInt(p.Input[0].Tokens, 10)
	}
	return strings.Join(digits(p.Input[0].Shape), ", ")
}

func digits(list []int64) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = strconv.FormatInt(n, 10)
	}
	return out
}

// parseInput reads a shape: "3, 224, 224", "3 × 224 × 224", or a number of tokens.
func parseInput(s string) (calc.Input, error) {
	words := strings.FieldsFunc(s, func(c rune) bool {
		return c == ',' || c == ' ' || c == '×' || c == 'x' || c == '*' || c == '(' || c == ')' || c == '[' || c == ']' || c == '\u00a0' || c == '\u202f'
	})
	var shape []int64
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n <= 0 {
			return calc.Input{}, &calc.Error{Code: "input-syntax", At: "input", Args: map[string]any{"text": s}}
		}
		shape = append(shape, n)
	}
	if len(shape) == 0 {
		return calc.Input{}, &calc.Error{Code: "input-syntax", At: "input", Args: map[string]any{"text": s}}
	}
	return calc.Input{Shape: shape}, nil
}

// Setting reads a setting of the workshop; the optimizer is the lesson's where
// the lesson offers it.
func (s State) Setting(name string) string {
	if name == SetupOptimizer && s.Setup.Optimizer == "" {
		return s.Optimizer
	}
	return s.Setup.Value(name)
}

// WithSetting sets one.
func (s State) WithSetting(name, value string) State {
	if name == SetupOptimizer && slices.ContainsFunc(Optimizers, func(o Optimizer) bool { return o.ID == value }) {
		s.Setup.Optimizer = ""
		return s.WithOptimizer(value).possible()
	}
	s.Setup = s.Setup.With(name, value)
	return s.possible()
}

// Kernel is a way of running the optimizer's step; Why says why it is no choice.
type Kernel struct {
	Value, Label, Why string
}

// Kernels are the ways of running the chosen optimizer's step.
func (s State) Kernels(lang content.Lang) []Kernel {
	groups, fused := s.kernels()
	args := Args{"optimizer": Text(lang, "optimizer."+s.Setting(SetupOptimizer), nil), "version": s.Setup.PyTorch}
	var all []Kernel
	for _, value := range SetupKernels {
		k := Kernel{Value: value}
		switch {
		case value == "" && groups:
			k.Label = Text(lang, "atelier.kernel.default", nil)
		case value == "":
			k.Label = Text(lang, "atelier.kernel.default.loop", nil)
		default:
			k.Label = Text(lang, "atelier.kernel."+value, nil)
		}
		switch {
		case value == "fused" && !fused:
			k.Why = filled(lang, "atelier.kernel.fused.none", args)
		case value == "loop" && !groups:
			k.Why = filled(lang, "atelier.kernel.loop.already", args)
		}
		all = append(all, k)
	}
	return all
}

func (s State) kernels() (groups, fused bool) {
	name := strings.TrimSuffix(s.Setting(SetupOptimizer), "-momentum")
	return calc.Kernels(name, s.Setup.PyTorch)
}

// possible is the state without a kernel that its optimizer does not have.
func (s State) possible() State {
	if s.Setup.Kernel == "" {
		return s
	}
	if groups, fused := s.kernels(); s.Setup.Kernel == "fused" && !fused || s.Setup.Kernel == "loop" && !groups {
		s.Setup.Kernel = ""
	}
	return s
}

// Outputs are the shape, for one sample, and the parameters of each row that a result knows.
func Outputs(rows []Row, layers []calc.LayerRow, lang content.Lang) (shapes, params []string) {
	shapes, params = make([]string, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		path := strings.TrimSpace(r.Name)
		if path == "" {
			path = strconv.Itoa(i)
		}
		for _, layer := range layers {
			if layer.Path != path || len(layer.Output) == 0 {
				continue
			}
			shapes[i] = Shape(layer.Output[1:])
			if layer.Params > 0 {
				params[i] = Count(lang, layer.Params)
			}
			break
		}
	}
	return shapes, params
}

// LayersBefore works out the layers before a row that cannot be.
func (s State) LayersBefore(row int) []calc.LayerRow {
	if row <= 0 {
		return nil
	}
	s.Setup = s.Setup.WithList(s.Setup.List()[:row])
	r, err := s.Ask(content.French)
	if err != nil {
		return nil
	}
	r.Loss, r.Want = "none", []string{calc.WantLayers}
	result, err := calc.Estimate(r)
	if err != nil {
		return nil
	}
	return result.Layers
}
