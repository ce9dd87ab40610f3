package figure

import (
	"slices"
	"strings"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/view"
)

// Explanation says where a number of the page comes from.
type Explanation struct {
	// Value is the number as the page shows it; Exact and Binary are the same size
	// to the byte and in powers of two, "" for what is no size.
	Value, Exact, Binary string
	// Formula is how it is counted, with the reader's values; Source what the formula rests on.
	Formula, Source string
}

// Explain explains the figure of a reference; false: it is no number, or needs no explanation.
func Explain(f view.Figures, ref string) (Explanation, bool) {
	name, _, _ := strings.Cut(ref, ":")
	if name == "tank.total" {
		name = "peak.device"
	}
	scene := ""
	for _, prefix := range []string{"x8.", "infer."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			scene, name = prefix, rest
		}
	}
	value, ok := f.Text(scene + name)
	if !ok {
		return Explanation{}, false
	}
	e := Explanation{Value: value}
	if n, ok := sizeOf(f, scene, name); ok {
		e.Exact, e.Binary = view.Exact(f.Lang(), n), view.Binary(f.Lang(), n)
	} else if f.Words(scene + name) {
		return Explanation{}, false
	}
	head, rest, _ := strings.Cut(name, ".")
	switch head {
	case "part":
		e.Formula, _ = f.Text(scene + "formula." + rest)
		e.Source, _ = f.Text(scene + "source." + rest)
	case "budget", "assumption":
		e.Formula = view.Text(f.Lang(), name, nil)
		e.Source, _ = f.Text(scene + name + ".source")
	case "where":
		kind, side, _ := strings.Cut(rest, ".")
		e.Formula, e.Source = view.Text(f.Lang(), "explain.where."+side, nil), source(f, "rule")
		if side == "simulated" {
			e.Formula, e.Source = partsOf(f, f.Scene().Now.Parts, kind), source(f, "where")
		}
	case "kind":
		of := f.Scene()
		r := &of.Now
		if scene == "x8." {
			r = of.Times8()
		}
		if e.Formula, e.Source = partsOf(f, r.Parts, rest), source(f, "where"); e.Formula == "" {
			return Explanation{}, false // nothing of this kind
		}
	default:
		key := explainKey(scene, name)
		if key == "" {
			return Explanation{}, false
		}
		e.Formula, e.Source = fillExplanation(f, key, scene, name), source(f, name)
	}
	return e, true
}

// sizeOf is a figure's number, where it is a size.
func sizeOf(f view.Figures, scene, name string) (int64, bool) {
	if rest, ok := strings.CutPrefix(name, "where."); ok {
		kind, side, _ := strings.Cut(rest, ".")
		var n int64
		for _, row := range f.Where() {
			if kind != "total" && row.Kind != kind {
				continue
			}
			if side == "rule" {
				n += row.Rule
			} else {
				n += row.Simulated
			}
		}
		return n, n != 0
	}
	n, ok := f.Number(scene + name)
	if !ok {
		return 0, false
	}
	exact, _ := f.Text(scene + name + ":exact")
	return n, exact == view.Exact(f.Lang(), n)
}

// partsOf lists the parts of the peak that make a kind, or all of it.
func partsOf(f view.Figures, parts []calc.Part, kind string) string {
	var terms []string
	for _, p := range parts {
		if kind == "total" || view.KindOf(p.Kind) == kind {
			terms = append(terms, view.Text(f.Lang(), "explain.term", view.Args{"part": view.Text(f.Lang(), "part."+p.Kind, nil), "bytes": p.Bytes}))
		}
	}
	return strings.Join(terms, " + ")
}

// explainKey is the message that explains a figure: its own, that of its scene,
// or that of its family ("layer.3.values").
func explainKey(scene, name string) string {
	words := strings.Split(name, ".")
	candidates := []string{"explain." + scene + name, "explain." + name}
	if len(words) > 1 {
		candidates = append(candidates, "explain."+words[0]+"."+words[len(words)-1], "explain."+strings.Join(words[:len(words)-1], "."))
	}
	for _, key := range candidates {
		if key != "explain.where" && view.Has(content.French, key) {
			return key
		}
	}
	return ""
}

// fillExplanation fills a message whose placeholders are figures themselves:
// "{rule.batch}", "{this.values}" for a sister of the figure explained.
func fillExplanation(f view.Figures, key, scene, name string) string {
	message, _ := content.Lookup(f.Lang(), key)
	parent := name[:strings.LastIndex(name, ".")+1]
	return message.Fill(false, func(placeholder, format string) string {
		switch placeholder {
		case "values":
			return view.Count(f.Lang(), f.Scene().State.Value(view.ScrubValues))
		case "percent":
			return view.Count(f.Lang(), f.Scene().State.Value(view.ScrubBuffers))
		}
		ref := scene + placeholder
		if rest, ok := strings.CutPrefix(placeholder, "this."); ok {
			ref = scene + parent + rest
		}
		if strings.HasPrefix(placeholder, "infer.") || strings.HasPrefix(placeholder, "now.") {
			ref = strings.TrimPrefix(placeholder, "now.")
		}
		if format != "" {
			ref += ":" + format
		}
		text, ok := f.Text(ref)
		if !ok {
			return "{" + ref + "}"
		}
		return text
	})
}

// sources are what figures rest on, by the beginning of their names.
var sources = []struct{ prefix, code string }{
	{"params", "pytorch-modules"},
	{"rule", ""},
	{"batch", "given"}, {"side", "given"},
	{"saved", "pytorch-derivatives"}, {"layer.saved", "pytorch-derivatives"},
	{"peak.live", "pytorch-engine"}, {"train", "pytorch-engine"}, {"phase", "pytorch-engine"}, {"where", "pytorch-engine"},
	{"peak", "pytorch-allocator"},
	{"card", "catalogue"},
	{"image", "pytorch-tensor"}, {"slot", "pytorch-tensor"}, {"layer", "pytorch-tensor"},
}

// source names what a figure rests on: the lesson's own count where it is no code of calc's.
func source(f view.Figures, name string) string {
	if strings.HasPrefix(name, "interval") {
		basis, _ := f.Text("interval.basis")
		return basis
	}
	i := slices.IndexFunc(sources, func(s struct{ prefix, code string }) bool { return strings.HasPrefix(name, s.prefix) })
	if i < 0 || sources[i].code == "" {
		return view.Text(f.Lang(), "explain.lesson", nil)
	}
	return view.Text(f.Lang(), "source."+sources[i].code, nil)
}
