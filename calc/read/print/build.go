package print

import (
	"strconv"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/read"
	"vrametre/calc/torch"
)

// Read understands the text of print(model). shape is the first input's, per sample, where the caller gave one: some
// sizes that a print leaves out follow from it.
func Read(text string, shape []int64) (m *read.Model, err error) {
	defer fault.Catch(&err)
	roots, warn, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, fault.New("print-none", at(1))
	}
	r := &reader{m: &read.Model{Kind: "print", Loss: "cross_entropy", Warnings: warn}, shape: shape,
		specs: map[*module]nn.Spec{}, node: map[*module]*read.Node{}, once: map[string]bool{}, widths: map[*module]int64{}, last: map[*module]bool{}, dropout: map[*module]float64{}}
	root := r.choose(roots)
	r.root = root.module
	r.modules, r.budget = builtSize(root.module), 100_000
	r.tree(root.module, root.orphan)
	return r.m, nil
}

// choose takes the model of several that the text is about: the last print of a class, else the one with most modules.
func (r *reader) choose(roots []root) root {
	best := 0
	for i, c := range roots {
		if i > 0 && (c.class == roots[best].class && !c.orphan || size(c.module) > size(roots[best].module)) && !(c.orphan && !roots[best].orphan) {
			best = i
		}
	}
	for i, c := range roots {
		if i != best {
			r.m.Warn("print-several", at(c.line), "class", c.class, "used", at(roots[best].line))
		}
	}
	return roots[best]
}

func size(m *module) int {
	n := 1
	for _, k := range m.kids {
		n += size(k)
	}
	return n
}

// builtSize counts the modules that m and those below stand for.
func builtSize(m *module) int {
	n := 1
	for _, k := range m.kids {
		n += max(k.repeat, 1) * builtSize(k)
	}
	return n
}

// reader turns a printed tree into a network.
type reader struct {
	m     *read.Model
	root  *module
	shape []int64
	specs map[*module]nn.Spec
	node  map[*module]*read.Node
	once  map[string]bool
	// widths of norms printed without one; last: Permutes to channels last.
	widths map[*module]int64
	last   map[*module]bool
	// dropout of attentions, which they do not print.
	dropout map[*module]float64
	// modules of the network, and how many more may be built to look for its input.
	modules, budget int
}

// tree understands the printed root.
func (r *reader) tree(root *module, orphan bool) {
	r.m.Tree = r.show(root, "")
	cut := r.cut(root)
	if orphan {
		r.m.Warn("print-start-missing", at(root.line))
	}
	r.infer(root)
	if build := r.huggingFace(root); build != nil {
		r.finish(build, nil)
		return
	}
	if p := r.preset(root); p != nil {
		r.finish(p, cut)
		return
	}
	v := classOf(root)
	if v == nil && !sequential(root) && !(orphan && len(root.kids) == 1) {
		r.warn(root, "assumed-sequential")
	}
	if len(root.kids) == 0 {
		spec := r.spec(root)
		r.finish(func(b *nn.Builder) *models.Net {
			l := b.Root("Sequential")
			b.Add(l, "0", spec)
			return one(l.Chain())
		}, cut)
	} else {
		for _, k := range root.kids { // every layer's arguments are read once, with its warnings
			r.spec(k)
		}
		r.finish(func(b *nn.Builder) *models.Net {
			l := b.Root(root.class)
			r.build(b, l, root, v)
			return one(l)
		}, cut)
	}
	r.input(root)
}

func one(l *nn.Layer) *models.Net {
	return &models.Net{Root: l, Forward: func(x ...torch.Tensor) []torch.Tensor { return []torch.Tensor{l.Call(x...)} }}
}

// show makes the tree to display.
func (r *reader) show(m *module, path string) *read.Node {
	n := &read.Node{Path: path, Class: m.class, Args: m.extra, Line: m.line, Understood: true}
	if m.repeat > 1 {
		n.Repeat = m.repeat
	}
	r.node[m] = n
	for _, k := range m.kids {
		n.Children = append(n.Children, r.show(k, join(path, k.first1())))
	}
	return n
}

// first1 is the name of the first module that a line stands for.
func (m *module) first1() string {
	if m.repeat > 1 {
		return strconv.Itoa(m.first)
	}
	return m.name
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// cut says where the text leaves modules out, if it does.
func (r *reader) cut(m *module) *fault.Error {
	if m.open && len(m.kids) == 0 || m.elided {
		return fault.New("print-cut", at(m.line), "class", m.class)
	}
	for _, k := range m.kids {
		if e := r.cut(k); e != nil {
			return e
		}
	}
	if m.open {
		return fault.New("print-cut", at(m.line), "class", m.class)
	}
	return nil
}

// finish measures the network and keeps it, unless the text was cut.
func (r *reader) finish(build func(*nn.Builder) *models.Net, cut *fault.Error) {
	r.m.Build = build
	if err := r.m.Measure(); err != nil {
		e, ok := err.(*fault.Error)
		if !ok {
			panic(err)
		}
		r.m.Build, r.m.Missing = nil, e
		return
	}
	if cut != nil {
		r.m.Missing = cut
	}
}

// warn notes what was assumed about a module, once for each class, and shows it in the tree.
func (r *reader) warn(m *module, code string, args ...any) {
	n := r.node[m]
	if n == nil {
		return
	}
	n.Understood = false
	key := code + "\x00" + m.class
	if r.once[key] || len(r.m.Warnings) > maxNotes {
		return
	}
	r.once[key] = true
	path := n.Path
	if path == "" {
		path = m.class
	}
	r.m.Warn(code, path, append([]any{"line", m.line, "class", m.class}, args...)...)
}
