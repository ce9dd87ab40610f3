package view

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
)

// Row is one layer as the reader writes it: its type, its constructor's
// arguments as in Python ("3, 32, 3, padding=1"), and for branches its name and
// the names of what it reads.
type Row struct{ Type, Args, Name, Inputs string }

// Bounds of a list of layers that an address can hold.
const (
	maxRows = 400
	maxText = 200
)

// LessonRows is the lesson's network, written out.
var LessonRows = []Row{
	{Type: "Conv2d", Args: "3, 32, 3, padding=1"}, {Type: "ReLU"}, {Type: "MaxPool2d", Args: "2"},
	{Type: "Conv2d", Args: "32, 64, 3, padding=1"}, {Type: "ReLU"}, {Type: "MaxPool2d", Args: "2"},
	{Type: "Conv2d", Args: "64, 128, 3, padding=1"}, {Type: "ReLU"}, {Type: "MaxPool2d", Args: "2"},
	{Type: "Conv2d", Args: "128, 256, 3, padding=1"}, {Type: "ReLU"}, {Type: "AdaptiveAvgPool2d", Args: "1"},
	{Type: "Flatten"}, {Type: "Linear", Args: "256, 512"}, {Type: "ReLU"}, {Type: "Linear", Args: "512, 37"},
}

// encodeRows writes rows so that they can stand in an address.
func encodeRows(rows []Row) string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		fields := []string{r.Type, r.Args, r.Name, r.Inputs}
		for len(fields) > 1 && fields[len(fields)-1] == "" {
			fields = fields[:len(fields)-1]
		}
		for j, f := range fields {
			fields[j] = escape(f)
		}
		lines[i] = strings.Join(fields, "~")
	}
	return strings.Join(lines, ";")
}

// decodeRows reads them back; what is no row is left out.
func decodeRows(s string) []Row {
	var rows []Row
	for line := range strings.SplitSeq(s, ";") {
		var fields [4]string
		for i, f := range strings.SplitN(line, "~", 4) {
			fields[i] = clip(unescape(f))
		}
		if fields[0] != "" && len(rows) < maxRows {
			rows = append(rows, Row{fields[0], fields[1], fields[2], fields[3]})
		}
	}
	return rows
}

// clip bounds what one field can hold, on a rune's edge.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return s
}

const plainBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._,()[]="

// escape writes a text for an address's fragment: spaces as +, the rest as a URL does.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case strings.IndexByte(plainBytes, c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		}
	}
	return b.String()
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s):
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				b.WriteByte(s[i])
				continue
			}
			b.WriteByte(byte(n))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// positional are the arguments that Python takes without their names.
var positional = map[string][]string{
	"Linear": {"in_features", "out_features", "bias"}, "Bilinear": {"in1_features", "in2_features", "out_features", "bias"},
	"Dropout": {"p", "inplace"}, "Flatten": {"start_dim", "end_dim"}, "Unflatten": {"dim", "unflattened_size"},
	"Embedding": {"num_embeddings", "embedding_dim"}, "EmbeddingBag": {"num_embeddings", "embedding_dim"},
	"LayerNorm": {"normalized_shape"}, "RMSNorm": {"normalized_shape"}, "GroupNorm": {"num_groups", "num_channels"}, "LocalResponseNorm": {"size"},
	"ReLU": {"inplace"}, "ReLU6": {"inplace"}, "SiLU": {"inplace"}, "Hardswish": {"inplace"}, "Hardsigmoid": {"inplace"}, "Mish": {"inplace"},
	"ELU": {"alpha", "inplace"}, "CELU": {"alpha", "inplace"}, "LeakyReLU": {"negative_slope", "inplace"}, "PReLU": {"num_parameters"},
	"GELU": {"approximate"}, "Softmax": {"dim"}, "LogSoftmax": {"dim"}, "GLU": {"dim"},
	"Upsample": {"size", "scale_factor", "mode"}, "UpsamplingNearest2d": {"size", "scale_factor"}, "UpsamplingBilinear2d": {"size", "scale_factor"},
	"PixelShuffle": {"upscale_factor"}, "PixelUnshuffle": {"downscale_factor"}, "ChannelShuffle": {"groups"},
	"LSTM": {"input_size", "hidden_size", "num_layers"}, "GRU": {"input_size", "hidden_size", "num_layers"}, "RNN": {"input_size", "hidden_size", "num_layers"},
	"MultiheadAttention":      {"embed_dim", "num_heads", "dropout"},
	"TransformerEncoderLayer": {"d_model", "nhead", "dim_feedforward", "dropout"}, "TransformerDecoderLayer": {"d_model", "nhead", "dim_feedforward", "dropout"},
	"cat": {"dim"}, "flatten": {"start_dim", "end_dim"}, "softmax": {"dim"}, "mean": {"dim", "keepdim"}, "sum": {"dim", "keepdim"}, "squeeze": {"dim"}, "unsqueeze": {"dim"},
}

func init() {
	for d := range 3 {
		n := strconv.Itoa(d+1) + "d"
		positional["Conv"+n] = []string{"in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias"}
		positional["ConvTranspose"+n] = []string{"in_channels", "out_channels", "kernel_size", "stride", "padding", "output_padding", "groups", "bias", "dilation"}
		positional["BatchNorm"+n] = []string{"num_features", "eps", "momentum", "affine"}
		positional["InstanceNorm"+n] = []string{"num_features"}
		positional["MaxPool"+n] = []string{"kernel_size", "stride", "padding", "dilation"}
		positional["AvgPool"+n] = []string{"kernel_size", "stride", "padding"}
		positional["AdaptiveAvgPool"+n] = []string{"output_size"}
		positional["AdaptiveMaxPool"+n] = []string{"output_size"}
		positional["Dropout"+n] = []string{"p", "inplace"}
		for _, pad := range []string{"ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"} {
			positional[pad+n] = []string{"padding"}
		}
	}
}

// Hint is how the arguments of a type are written: "in_features, out_features".
func Hint(layer string) string { return strings.Join(positional[layer], ", ") }

// Layers reads rows as a model of calc; a mistake names its row as calc does.
func Layers(rows []Row) ([]calc.Layer, error) {
	list := make([]calc.Layer, len(rows))
	for i, r := range rows {
		args, err := arguments(r)
		if err != nil {
			at := strings.TrimSpace(r.Name)
			if at == "" {
				at = strconv.Itoa(i)
			}
			return nil, &calc.Error{Code: "layer-syntax", At: at, Args: map[string]any{"type": r.Type, "text": err.Error()}}
		}
		list[i] = calc.Layer{Type: r.Type, Name: strings.TrimSpace(r.Name), Args: args}
		for _, in := range strings.FieldsFunc(r.Inputs, func(c rune) bool { return c == ' ' || c == ',' }) {
			list[i].Inputs = append(list[i].Inputs, in)
		}
	}
	return list, nil
}

// RowOf finds the row that calc names in an error; -1: none.
func RowOf(rows []Row, at string) int {
	at, _, _ = strings.Cut(at, ".")
	if i := slices.IndexFunc(rows, func(r Row) bool { return strings.TrimSpace(r.Name) == at && at != "" }); i >= 0 {
		return i
	}
	if i, err := strconv.Atoi(at); err == nil && i >= 0 && i < len(rows) && strings.TrimSpace(rows[i].Name) == "" {
		return i
	}
	return -1
}

// arguments reads the arguments of a row; its error is the piece not understood.
func arguments(r Row) (map[string]any, error) {
	args := map[string]any{}
	names := positional[r.Type]
	for i, piece := range pieces(r.Args) {
		name, value, named := strings.Cut(piece, "=")
		if !named {
			if i >= len(names) {
				return nil, errors.New(piece)
			}
			name, value = names[i], piece
		}
		read, ok := literal(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, errors.New(piece)
		}
		args[name] = read
	}
	return args, nil
}

// pieces cuts a text at its commas outside brackets.
func pieces(s string) []string {
	var list []string
	depth, from := 0, 0
	add := func(to int) {
		if p := strings.TrimSpace(s[from:to]); p != "" {
			list = append(list, p)
		}
		from = to + 1
	}
	for i := range len(s) {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				add(i)
			}
		}
	}
	if from <= len(s) {
		add(len(s))
	}
	return list
}

// literal reads a Python number, name of a constant, string or tuple.
func literal(s string) (any, bool) {
	switch s {
	case "":
		return nil, false
	case "True":
		return true, true
	case "False":
		return false, true
	case "None":
		return nil, true
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f, true
	}
	last := s[len(s)-1]
	switch first := s[0]; {
	case len(s) >= 2 && (first == '(' && last == ')' || first == '[' && last == ']'):
		list := []any{}
		for _, piece := range pieces(s[1 : len(s)-1]) {
			v, ok := literal(piece)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case len(s) >= 2 && first == last && (first == '\'' || first == '"'):
		return s[1 : len(s)-1], true
	}
	return nil, false
}
