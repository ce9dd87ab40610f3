package print

import (
	"slices"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// recognised are the classes whose forward is a preset's: the presets to compare with, and the constructor arguments
// that the print shows.
var recognised = map[string]struct {
	presets []string
	args    func(m *module) map[string]any
	// hidden: the print leaves out arguments that change the memory (heads, norm_first...), which are then the preset's.
	hidden bool
}{
	"GoogLeNet":         {presets: []string{"googlenet"}, args: shown("aux_logits", "aux1")},
	"Inception3":        {presets: []string{"inception_v3"}, args: shown("aux_logits", "AuxLogits")},
	"VisionTransformer": {presets: []string{"vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14"}, args: vitArgs},
	"SwinTransformer":   {presets: []string{"swin_t", "swin_s", "swin_b", "swin_v2_t", "swin_v2_s", "swin_v2_b"}},
	"MaxVit":            {presets: []string{"maxvit_t"}},
	"MViT":              {presets: []string{"mvit_v1_b", "mvit_v2_s"}},
	"VideoResNet":       {presets: []string{"r3d_18", "mc3_18", "r2plus1d_18"}},
	"S3D":               {presets: []string{"s3d"}},
	"FCN":               {presets: []string{"fcn_resnet50", "fcn_resnet101"}, args: shown("aux_loss", "aux_classifier")},
	"DeepLabV3":         {presets: []string{"deeplabv3_resnet50", "deeplabv3_resnet101", "deeplabv3_mobilenet_v3_large"}, args: shown("aux_loss", "aux_classifier")},
	"LRASPP":            {presets: []string{"lraspp_mobilenet_v3_large"}},
	"EncoderDecoder": {presets: []string{"fcn_r50-d8", "fcn_r101-d8", "fcn_r18-d8", "fcn_r50b-d8", "fcn_r101b-d8", "fcn_r18b-d8", "fcn_unet_s5-d16",
		"pspnet_r50-d8", "pspnet_r101-d8", "pspnet_r18-d8", "pspnet_r50b-d8", "pspnet_r101b-d8", "pspnet_r18b-d8", "pspnet_unet_s5-d16"}},
	"UNet":     {presets: []string{"unet"}, args: unetArgs},
	"GPT":      {presets: []string{"gpt_small"}, args: gptArgs, hidden: true},
	"EncText":  {presets: []string{"transformer_encoder"}, hidden: true},
	"MHA":      {presets: []string{"mha"}, hidden: true},
	"BowEmb":   {presets: []string{"bow_embedding"}},
	"LSTMText": {presets: []string{"lstm_text"}},
	"GRUText":  {presets: []string{"gru_text"}},
	"RNNTanh":  {presets: []string{"rnn_tanh"}},
}

// shown is a flag that is true where the child is printed.
func shown(arg, child string) func(*module) map[string]any {
	return func(m *module) map[string]any { return map[string]any{arg: m.kid(child) != nil} }
}

func vitArgs(m *module) map[string]any {
	args := map[string]any{}
	if pre := m.kid("heads"); pre != nil && pre.kid("pre_logits") != nil {
		args["representation_size"] = pre.kid("pre_logits").size("out_features")
	}
	return args
}

func unetArgs(m *module) map[string]any {
	down := m.kid("down")
	if down == nil || len(down.kids) == 0 {
		return nil
	}
	var ch []any
	for _, k := range down.kids {
		ch = append(ch, k.kid("0").size("out_channels"))
	}
	return map[string]any{"cin": down.kids[0].kid("0").size("in_channels"), "ch": ch}
}

func gptArgs(m *module) map[string]any {
	tok, pos, blocks := m.kid("tok"), m.kid("pos"), m.kid("blocks")
	if tok == nil || pos == nil || blocks == nil {
		return nil
	}
	return map[string]any{"vocab": tok.size("num_embeddings"), "d": tok.size("embedding_dim"), "T": pos.size("num_embeddings"), "L": int64(len(expand(blocks)))}
}

// placed is a printed module with its path.
type placed struct {
	path string
	*module
}

// place lists the printed modules by path, in order.
func (r *reader) place(m *module, path string, out []placed) []placed {
	out = append(out, placed{path, m})
	i := 0
	for _, k := range expand(m) {
		name := k.name
		if k.repeat > 1 {
			name = itoa(k.first + i)
			if i++; i == k.repeat {
				i = 0
			}
		}
		out = r.place(k, join(path, name), out)
	}
	return out
}

// preset is the network of the preset that has the printed tree, with the printed layers in it: the same paths and the
// same containers; sizes, strides, activations and the like are those of the print. nil where there is none.
func (r *reader) preset(root *module) func(*nn.Builder) *models.Net {
	known, ok := recognised[root.kind()]
	if !ok {
		return nil
	}
	if printed := size(root); printed > 20_000 {
		return nil
	}
	tree := r.place(root, "", nil)
	at := map[string]*module{}
	for _, p := range tree {
		at[p.path] = p.module
	}
	for _, name := range known.presets {
		p, err := models.Find(name)
		if err != nil {
			continue
		}
		args := map[string]any{}
		if known.args != nil {
			args = known.args(root)
		}
		if _, ok := args["image_size"]; !ok && name[:3] == "vit" && len(r.shape) == 3 {
			args["image_size"] = r.shape[1]
		}
		build := func(b *nn.Builder, replace func(path, class string) nn.Spec) *models.Net {
			b.Replace = replace
			a := nn.NewArgs(name, Field, args)
			net := p.Build(b, a)
			b.Replace = nil
			return net
		}
		replace := func(path, class string) nn.Spec {
			m := at[path]
			if m == nil || len(m.kids) > 0 && (m.class == class || m.kind() == "MultiheadAttention") {
				return nil
			}
			if len(m.kids) == 0 && class == m.class && (class == "Permute" || !types[alias(m.kind())]) {
				return nil // its arguments are not printed
			}
			return r.spec(m)
		}
		if !matches(build, replace, tree) {
			continue
		}
		r.m.Name, r.m.Loss, r.m.Flat, r.m.DType = name, p.Loss, p.Flat, p.DType
		r.m.Inputs = slices.Clone(p.Inputs)
		if len(r.m.Inputs) == 1 && len(r.m.Inputs[0].Shape) > 1 {
			if w := wants(root); w.dim == 1 && w.n > 0 {
				s := slices.Clone(r.m.Inputs[0].Shape)
				s[0] = w.n
				r.m.Inputs[0].Shape = s
			}
		}
		if known.hidden {
			r.m.Warn("assumed-preset", Field, "class", root.class, "preset", name)
		}
		return func(b *nn.Builder) *models.Net { return build(b, replace) }
	}
	return nil
}

// matches builds the preset with and without the printed layers and compares: the paths and containers of the print
// and, where the preset has parameters that are not printed, every size but the last layer's.
func matches(build func(*nn.Builder, func(path, class string) nn.Spec) *models.Net, replace func(path, class string) nn.Spec, tree []placed) (ok bool) {
	run := func(replace func(path, class string) nn.Spec) (list []*torch.Module, g *torch.Graph, err error) {
		defer fault.Catch(&err)
		g = torch.NewGraph(2, torch.Rules{})
		net := build(&nn.Builder{G: g, Training: true}, replace)
		var walk func(*torch.Module)
		walk = func(m *torch.Module) {
			list = append(list, m)
			for _, c := range m.Children {
				walk(c)
			}
		}
		walk(net.Root.Module)
		return list, g, nil
	}
	got, g, err := run(replace)
	if err != nil || len(got) != len(tree) {
		return false
	}
	hidden, last := false, 0
	for i, m := range got {
		if m.Path != tree[i].path || m.Type != tree[i].class && !(i == 0) {
			return false
		}
		hidden = hidden || len(m.Params) > 0 && len(m.Children) > 0
		if len(m.Params) > 0 {
			last = i
		}
		if len(m.Children) == 0 && strings.HasSuffix(m.Path, ".out_proj") {
			if t := tree[i].module; len(m.Params) == 0 || !slices.Equal(g.Shape(m.Params[0]), []int64{t.size("out_features"), t.size("in_features")}) {
				return false
			}
		}
	}
	if !hidden {
		return true
	}
	plain, h, err := run(nil)
	if err != nil || len(plain) != len(got) {
		return false
	}
	for i, m := range plain {
		if i == last {
			continue
		}
		if len(m.Params) != len(got[i].Params) {
			return false
		}
		for j, p := range m.Params {
			if !slices.Equal(h.Shape(p), g.Shape(got[i].Params[j])) {
				return false
			}
		}
	}
	return true
}
