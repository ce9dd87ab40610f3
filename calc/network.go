package calc

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// network is a model ready to be recorded at any batch size.
type network struct {
	inputs []models.Input
	loss   string
	flat   bool
	resize bool
	build  func(*nn.Builder) *models.Net
	// imported is a network whose program comes ready made.
	imported func(batch int64) (*torch.Graph, error)
}

// resolve finds the model a request names.
func (q *query) resolve() (*network, error) {
	m := &q.Model
	set := 0
	for _, given := range []bool{m.Preset != "", m.Torch != "", m.Summary != "", m.HF != nil, m.Trace != nil, m.Layers != nil, m.File != nil} {
		if given {
			set++
		}
	}
	if set > 1 {
		return nil, fault.New("model-several", "model")
	}
	if m.PresetArgs != nil && m.Preset == "" && set > 0 {
		return nil, fault.New("model-args", "model.preset_args")
	}
	switch {
	case m.Torch != "" || m.Summary != "" || m.HF != nil || m.File != nil:
		return q.read()
	case m.Trace != nil:
		return q.trace()
	case m.Layers != nil:
		return q.layers()
	case m.Preset != "" || set == 0:
		return q.preset()
	}
	return nil, fault.New("model-kind", "model")
}

func (q *query) preset() (*network, error) {
	name := q.Model.Preset
	if name == "" {
		name = "lesson"
	}
	p, err := models.Find(name)
	if err != nil && !Whole {
		err = fault.New("reader-elsewhere", "model.preset")
	}
	if err != nil {
		return nil, err
	}
	args := map[string]any{}
	for k, v := range q.Model.PresetArgs {
		args[k] = v
	}
	if q.NumClasses > 0 {
		if args["num_classes"] != nil {
			return nil, fault.New("argument-both", "model.preset_args", "type", p.Name, "argument", "num_classes", "other", "preset_args.num_classes")
		}
		args["num_classes"] = int64(q.NumClasses)
	}
	if len(q.Input) > len(p.Inputs) {
		return nil, fault.New("input-many", "input", "type", p.Name, "expected", len(p.Inputs), "given", len(q.Input))
	}
	n := &network{inputs: p.Inputs, loss: p.Loss, flat: p.Flat, resize: p.Resize}
	if p.DType != "" && q.Precision == "fp32" {
		q.dtype, _ = torch.ParseDType(p.DType)
	}
	q.Frozen = slices.Concat(p.Frozen, q.Frozen)
	n.build = func(b *nn.Builder) *models.Net {
		a := nn.NewArgs(p.Name, "model.preset_args", args)
		defer func() { // an argument that cannot be is told before what follows from it
			if r := recover(); r != nil {
				if err := a.Err(); err != nil {
					r = err
				}
				panic(r)
			}
		}()
		net := p.Build(b, a)
		if q.NumClasses > 0 {
			a.Ignore("num_classes") // where the preset has no classes it is only the target's
		}
		if err := a.Finish(); err != nil {
			panic(err)
		}
		return net
	}
	return n, nil
}

// record builds the network at a batch size and records its forward and loss.
func (q *query) record(n *network, batch int64) (g *torch.Graph, err error) {
	defer fault.Catch(&err)
	if n.imported != nil {
		return n.imported(batch)
	}
	g = torch.NewGraph(batch, q.rules)
	g.Autocast(q.amp)
	b := &nn.Builder{G: g, DType: q.dtype, Training: q.train}
	if !q.train {
		g.NoGrad()
	}
	if a := q.Adapter; a != nil {
		b.Adapter = &nn.Adapter{Rank: a.Rank, Targets: a.Targets, NF4: a.Base == "nf4"}
	}
	net := n.build(b)
	if b.Adapter != nil {
		if b.Adapter.Found == 0 {
			fault.Throw("adapter-targets", "adapter.targets", "targets", strings.Join(b.Adapter.Targets, ", "))
		}
		g.FreezeBase(net.Root.Module)
	}
	q.kv = net.KVElements
	for _, path := range q.Frozen {
		m := find(net.Root.Module, path)
		if m == nil {
			fault.Throw("path-unknown", "frozen", "path", path)
		}
		g.Freeze(m)
	}
	q.checkpoint(g, net)
	var x []torch.Tensor
	tokens := false
	for i, in := range n.inputs {
		shape, d := in.Shape, q.dtype
		if in.Below > 0 {
			d = torch.Int64
		}
		if i < len(q.Input) {
			given := q.Input[i]
			switch {
			case given.Tokens > 0:
				shape, d = []int64{given.Tokens}, torch.Int64
			case len(given.Shape) > 0:
				shape = given.Shape
			}
			if given.DType != "" {
				d, _ = torch.ParseDType(given.DType)
			}
		}
		tokens = tokens || !d.Floating()
		x = append(x, g.Input(shape, d))
	}
	out := net.Forward(x...)
	q.attentionUsed(g)
	q.unread(g, net, x, out)
	g.BeginLoss(out...)
	if !q.train {
		g.EndLoss(torch.None)
		return g, nil
	}
	loss := q.lossOf(g, n, out[0], x[0], tokens)
	if len(out) > 1 && (q.AuxLoss == nil || *q.AuxLoss != 0) {
		aux := q.lossOf(g, n, out[1], x[0], tokens)
		for _, o := range out[2:] {
			aux = g.Add(aux, q.lossOf(g, n, o, x[0], tokens))
		}
		loss = g.Add(loss, g.Scale(aux))
	}
	if q.amp == torch.Float16 { // GradScaler.scale(loss).backward(): the unscaled loss stays bound too
		g.EndLoss(g.Scale(loss), loss)
	} else {
		g.EndLoss(loss)
	}
	if len(g.Parameters()) == 0 {
		fault.Throw("no-parameters", "model")
	}
	if !g.Needs(loss) {
		fault.Throw("nothing-trainable", "frozen")
	}
	return g, nil
}

// unread warns of what the request says and this network does not read, or cannot.
func (q *query) unread(g *torch.Graph, net *models.Net, x, out []torch.Tensor) {
	warn := func(code, at string, args ...any) {
		g.Warnings = append(g.Warnings, fault.New(code, at, args...))
	}
	for i := range x {
		if len(x) > 1 && !g.Reads(x[i]) {
			warn("input-unused", "input["+strconv.Itoa(i)+"]", "n", i+1)
		}
	}
	if in := q.Inference; in != nil && net.Positions > 0 && in.Context > net.Positions {
		warn("context-positions", "inference.context", "tokens", in.Context, "limit", net.Positions)
	}
	if q.train && q.AuxLoss != nil && len(out) == 1 {
		warn("aux-none", "aux_loss")
	}
	classes := func(sh []int64) bool {
		return len(sh) > 1 && (sh[1] == int64(q.NumClasses) || sh[len(sh)-1] == int64(q.NumClasses))
	}
	if q.NumClasses > 0 && !slices.ContainsFunc(out, func(y torch.Tensor) bool { return classes(g.Shape(y)) }) {
		warn("classes-unused", "num_classes", "shape", torch.Shape(g.Shape(out[0])))
	}
}

// attentionUsed warns where the kernel that the request names is not the one that PyTorch would take: an older card, a
// type of 32 bits, a mask, heads too wide or not aligned, a forward that is written out.
func (q *query) attentionUsed(g *torch.Graph) {
	if used := g.AttentionKernel(); used != "" && (q.Attention == "flash" || q.Attention == "efficient") && used != q.Attention {
		g.Warn("attention-kernel", "asked", q.Attention, "used", used)
		g.Warnings[len(g.Warnings)-1].At = "attention"
	}
	if q.Inference != nil && q.kv == 0 {
		g.Warn("cache-none")
		g.Warnings[len(g.Warnings)-1].At = "inference"
	}
}

// lossOf records the loss on out; the target's shape follows from the output.
func (q *query) lossOf(g *torch.Graph, n *network, out, in torch.Tensor, tokens bool) torch.Tensor {
	name := q.Loss
	if name == "" {
		name = n.loss
	}
	if n.resize {
		out = models.Resize(g, out, in)
	}
	sh := g.Shape(out)
	switch name {
	case "cross_entropy", "nll":
		if len(sh) < 2 {
			g.Fail("loss-shape", "loss", name, "shape", torch.Shape(sh))
		}
		target := append([]int64{sh[0]}, sh[2:]...)
		if n.flat || (tokens && len(sh) == 3) {
			last := sh[len(sh)-1]
			target = sh[:len(sh)-1]
			y := g.TargetOnce(target, torch.Int64)
			out = g.View(out, -1, last)
			return g.ClassLoss(out, g.ReshapeTarget(y, -1), name == "nll")
		}
		return g.ClassLoss(out, g.TargetOnce(target, torch.Int64), name == "nll")
	case "mse", "smooth_l1", "l1", "bce", "bce_with_logits":
		return g.PairLoss(name, out, g.TargetOnce(sh, g.DType(out)))
	}
	return g.Sum(out, false) // "none": the caller backpropagates the output's sum
}

// checkpoint marks the modules whose forward is run again in backward.
func (q *query) checkpoint(g *torch.Graph, net *models.Net) {
	root := net.Root.Module
	paths := q.Checkpointing.Paths
	for _, p := range paths {
		if find(root, p) == nil {
			fault.Throw("path-unknown", "checkpointing", "path", p)
		}
	}
	if q.Checkpointing.EveryBlock {
		if paths = net.Blocks; len(paths) == 0 {
			paths = blocks(root, nil)
		}
		if len(paths) == 0 {
			g.Warn("no-blocks")
		}
	}
	if len(paths) > 0 {
		g.Checkpoint(paths...)
	}
}

// blocks are the outermost modules with children that stand in an nn.Sequential or nn.ModuleList: what "every block" means.
func blocks(m *torch.Module, out []string) []string {
	list := m.Type == "Sequential" || m.Type == "ModuleList"
	for _, c := range m.Children {
		if list && len(c.Children) > 0 && c.Type != "Sequential" && c.Type != "ModuleList" {
			out = append(out, c.Path)
		} else {
			out = blocks(c, out)
		}
	}
	return out
}

// trunk are the paths of the modules right below the root, without the last that has parameters.
func trunk(root *torch.Module) []string {
	var out []string
	for _, c := range root.Children {
		if hasParams(c) {
			out = append(out, c.Path)
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out[:len(out)-1]
}

func hasParams(m *torch.Module) bool {
	return len(m.Params) > 0 || slices.ContainsFunc(m.Children, hasParams)
}

func find(m *torch.Module, path string) *torch.Module {
	if m.Path == path {
		return m
	}
	for _, c := range m.Children {
		if c.Path == path || strings.HasPrefix(path, c.Path+".") {
			return find(c, path)
		}
	}
	return nil
}

// Losses lists the values of Request.Loss.
var Losses = []string{"cross_entropy", "nll", "mse", "l1", "smooth_l1", "bce", "bce_with_logits", "none"}

// Presets lists the preset names.
func Presets() []string { return models.Names() }

// LayerTypes lists what Layer.Type may be: modules, then functional operations.
func LayerTypes() []string { return slices.Concat(nn.Types(), nn.Functions()) }
