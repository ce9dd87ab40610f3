package print

import (
	"math"
	"strconv"
	"strings"

	"vrametre/calc/nn"
)

// positional are the arguments that each class's extra_repr prints without their names (torch/nn/modules).
var positional = map[string][]string{
	"Embedding":         {"num_embeddings", "embedding_dim"},
	"EmbeddingBag":      {"num_embeddings", "embedding_dim"},
	"GroupNorm":         {"num_groups", "num_channels"},
	"LayerNorm":         {"normalized_shape"},
	"RMSNorm":           {"normalized_shape"},
	"LayerNorm2d":       {"normalized_shape"},
	"LSTM":              {"input_size", "hidden_size"},
	"GRU":               {"input_size", "hidden_size"},
	"RNN":               {"input_size", "hidden_size"},
	"LSTMCell":          {"input_size", "hidden_size"},
	"GRUCell":           {"input_size", "hidden_size"},
	"RNNCell":           {"input_size", "hidden_size"},
	"ZeroPad1d":         {"padding"},
	"ZeroPad2d":         {"padding"},
	"ZeroPad3d":         {"padding"},
	"LocalResponseNorm": {"size"},
	"FrozenBatchNorm2d": {"num_features"},
	"ReflectionPad1d":   {"padding"},
	"ReflectionPad2d":   {"padding"},
	"ReflectionPad3d":   {"padding"},
	"ReplicationPad1d":  {"padding"},
	"ReplicationPad2d":  {"padding"},
	"ReplicationPad3d":  {"padding"},
	"CircularPad1d":     {"padding"},
	"CircularPad2d":     {"padding"},
	"CircularPad3d":     {"padding"},
	"Linear":            {"in_features", "out_features"},
}

func init() {
	for d := 1; d <= 3; d++ {
		n := strconv.Itoa(d) + "d"
		for _, c := range []string{"Conv", "ConvTranspose"} {
			positional[c+n] = []string{"in_channels", "out_channels"}
		}
		for _, c := range []string{"BatchNorm", "InstanceNorm"} {
			positional[c+n] = []string{"num_features"}
		}
	}
}

// flags are words that old versions printed alone: ReLU(inplace).
var flags = map[string]string{"inplace": "inplace"}

// arguments reads what extra_repr printed, by the constructor's own names. What is no argument is given back.
func arguments(class, extra string) (args map[string]any, rest string) {
	args = map[string]any{}
	names := positional[class]
	n := 0
	for part := range split(extra) {
		name, value, named := cutName(part)
		switch {
		case named:
			args[name] = parseValue(value)
		case flags[part] != "":
			args[flags[part]] = true
		case n < len(names):
			args[names[n]] = parseValue(part)
			n++
		case part != "":
			rest = part
		}
	}
	// names that changed
	if v, ok := args["size"]; ok && args["kernel_size"] == nil && strings.Contains(class, "Pool") {
		args["kernel_size"] = v
		delete(args, "size")
	}
	return args, rest
}

// split yields the comma-separated parts outside brackets and quotes.
func split(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		nest, from := 0, 0
		quote := byte(0)
		for i := 0; i < len(s); i++ {
			c := s[i]
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '\'' || c == '"':
				quote = c
			case c == '(' || c == '[' || c == '{':
				nest++
			case c == ')' || c == ']' || c == '}':
				nest--
			case c == ',' && nest == 0:
				if p := strings.TrimSpace(s[from:i]); p != "" && !yield(p) {
					return
				}
				from = i + 1
			}
		}
		if p := strings.TrimSpace(s[from:]); p != "" {
			yield(p)
		}
	}
}

// cutName splits "kernel_size=(3, 3)".
func cutName(s string) (name, value string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '=' && i > 0:
			return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:]), true
		case !identStart(c) && !(c >= '0' && c <= '9' && i > 0) && c != ' ':
			return "", s, false
		}
	}
	return "", s, false
}

// parseValue reads a Python literal: numbers, True, False, None, tuples and lists, words. What is none of these stays a word.
func parseValue(s string) any { return value(s, 0) }

func value(s string, depth int) any {
	s = strings.TrimSpace(s)
	switch s {
	case "True", "true":
		return true
	case "False", "false":
		return false
	case "None", "null":
		return nil
	case "":
		return ""
	}
	last := s[len(s)-1]
	if (s[0] == '(' && last == ')' || s[0] == '[' && last == ']') && depth < 8 {
		list := []any{}
		for p := range split(s[1 : len(s)-1]) {
			if len(list) > 64 {
				break
			}
			list = append(list, value(p, depth+1))
		}
		return list
	}
	if len(s) > 1 && (s[0] == '\'' || s[0] == '"') && last == s[0] {
		return s[1 : len(s)-1]
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if c := s[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
	}
	if strings.HasPrefix(s, "torch.Size(") { // torch.Size([1, 2])
		return value(strings.TrimSuffix(strings.TrimPrefix(s, "torch.Size("), ")"), depth+1)
	}
	return s
}

// alias is the registered layer that a printed class is, with the arguments that go with it.
func alias(class string) string {
	switch class {
	case "QuantLinear", "NonDynamicallyQuantizableLinear", "LoRACompatibleLinear", "FP8Linear":
		return "Linear"
	case "QuantizedConv1d", "QuantizedConv2d", "QuantizedConv3d":
		return strings.TrimPrefix(class, "Quantized")
	case "Quantize", "DeQuantize", "QuantStub", "DeQuantStub":
		return "Identity"
	case "LoRACompatibleConv", "Conv2dSame", "Conv2dStaticSamePadding", "Conv2dDynamicSamePadding", "StdConv2d", "ScaledStdConv2d":
		return "Conv2d"
	case "SyncBatchNorm":
		return "BatchNorm2d"
	case "Conv3DSimple", "Conv3DNoTemporal":
		return "Conv3d"
	case "Swish", "SiLUActivation", "MemoryEfficientSwish":
		return "SiLU"
	case "HardSwish", "HardswishMe", "Hswish":
		return "Hardswish"
	case "HardSigmoid", "HardsigmoidMe":
		return "Hardsigmoid"
	case "GELUActivation", "PytorchGELUTanh", "GELUTanh", "FastGELUActivation":
		return "GELU"
	case "MishActivation":
		return "Mish"
	case "DropPath":
		return "StochasticDepth"
	case "Drop":
		return "Dropout"
	case "UpsamplingNearest2d", "UpsamplingBilinear2d":
		return "Upsample"
	case "LayerNormFp32", "FusedLayerNorm", "FP32LayerNorm":
		return "LayerNorm"
	}
	if quantisedBits[class] > 0 {
		return "Linear"
	}
	if c, ok := strings.CutPrefix(class, "Parametrized"); ok {
		return c
	}
	return class
}

// resembles is the layer whose extra_repr a class of unknown name prints: a subclass prints as its parent.
func resembles(extra string) string {
	args, _ := arguments("Linear", extra) // two names for what stands first
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := args[n]; !ok {
				return false
			}
		}
		return true
	}
	switch {
	case has("eps", "momentum", "affine", "track_running_stats"):
		return "BatchNorm2d"
	case has("eps", "elementwise_affine"):
		return "LayerNorm"
	case has("kernel_size", "stride", "in_features", "out_features"):
		if v, ok := args["kernel_size"].([]any); ok && len(v) >= 1 && len(v) <= 3 {
			return "Conv" + strconv.Itoa(len(v)) + "d"
		}
	case has("in_features", "out_features", "bias"):
		return "Linear"
	}
	return ""
}

// known says whether nn has the class as a layer of its own.
func known(class string) bool {
	if i := strings.LastIndexByte(class, '.'); i >= 0 {
		class = class[i+1:]
	}
	_, ok := types[alias(class)]
	return ok
}

var types = func() map[string]bool {
	m := map[string]bool{}
	for _, t := range nn.Types() {
		m[t] = true
	}
	return m
}()
