package checkpoint

import (
	"slices"
	"sync"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// outline is the sorted shapes of a network's parameters: what tells one network's weights from another's.
func outline(shapes [][]int64) []string {
	out := make([]string, len(shapes))
	for i, s := range shapes {
		out[i] = torch.Shape(s).String()
	}
	slices.Sort(out)
	return out
}

// maxOutline bounds the tensors of a network that is compared with the presets.
const maxOutline = 3000

// outlines are those of every preset that trains all its parameters.
var outlines = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for _, name := range models.Names() {
		if p, err := models.Find(name); err == nil && len(p.Frozen) == 0 {
			if o := outlineOf(p, nil); o != nil {
				m[name] = o
			}
		}
	}
	return m
})

// outlineOf builds a preset's modules with arguments; nil where it has no such arguments.
func outlineOf(p *models.Preset, args map[string]any) (out []string) {
	var err error
	defer func() {
		if err != nil {
			out = nil
		}
	}()
	defer fault.Catch(&err)
	g := torch.NewGraph(2, torch.Rules{})
	a := nn.NewArgs(p.Name, "", args)
	p.Build(&nn.Builder{G: g, Training: true}, a)
	if a.Finish() != nil {
		return nil
	}
	var shapes [][]int64
	for _, t := range g.Parameters() {
		shapes = append(shapes, g.Shape(t))
	}
	return outline(shapes)
}

// Preset finds the preset whose parameters have exactly the file's shapes, with another number of classes where only the
// head differs. Where several have, the shortest name wins.
func (f *File) Preset() (name string, args map[string]any) {
	if len(f.Tensors) > maxOutline {
		return "", nil
	}
	var shapes [][]int64
	p := f.packing()
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if _, role := p.weights(t); role == parameter && !t.Shared {
			shapes = append(shapes, t.Shape)
		}
	}
	want := outline(shapes)
	better := func(a string) bool { return name == "" || len(a) < len(name) || (len(a) == len(name) && a < name) }
	for preset, o := range outlines() {
		if len(o) != len(want) || !better(preset) {
			continue
		}
		if slices.Equal(o, want) {
			name, args = preset, nil
			continue
		}
		if n := classes(shapes, o); n > 0 {
			p, err := models.Find(preset)
			if err != nil {
				continue
			}
			a := map[string]any{"num_classes": n}
			if slices.Equal(outlineOf(p, a), want) {
				name, args = preset, a
			}
		}
	}
	return name, args
}

// classes is the number of classes by which a head differs: the length of a vector that the preset has not, where at most
// a handful of shapes are others.
func classes(shapes [][]int64, preset []string) int64 {
	left := slices.Clone(preset)
	var n int64
	others := 0
	for _, s := range shapes {
		if i, ok := slices.BinarySearch(left, torch.Shape(s).String()); ok {
			left = slices.Delete(left, i, i+1)
			continue
		}
		if others++; others > 6 {
			return 0
		}
		if len(s) == 1 {
			n = s[0]
		}
	}
	return n
}
