package figure

import (
	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// infer: training and inference of the same batch side by side, on one scale.
var infer = design{
	parts: []part{
		{name: "drawing", when: Always, draw: drawInfer},
		{name: "table", when: Late, draw: tableInfer},
	},
	frame: only,
	wide:  true,
}

func drawInfer(s *Subject) []markup.Node {
	scale := int64(float64(max(s.Now.Peak.Live, s.Infer().Peak.Live)) * labelRoom)
	panel := func(id, key string, r *calc.Result) markup.Node {
		list, places := walkColumns(r.Timeline)
		words := s.text(key+".label", view.Args{"peak": r.Peak.Live})
		y := percent(float64(scale-r.Peak.Live), float64(scale))
		lines, values := s.grid(scale)
		return markup.Elem("div", markup.A("class", "panel"),
			markup.Elem("p", nil, markup.Elem("b", nil, text(s.Lang, key)), markup.Text(" "), s.size(r.Peak.Live)),
			drawing("area", words, lines, areas(id, places, stack(r, list), scale), values,
				elem("line", "class", "level", "x1", "0", "x2", "100%", "y1", y, "y2", y)))
	}
	var kinds []string
	for _, kind := range view.TensorKinds {
		if s.shows(&s.Now, kind) || s.shows(s.Infer(), kind) {
			kinds = append(kinds, kind)
		}
	}
	return []markup.Node{s.legend(kinds),
		markup.Elem("div", markup.A("class", "panels"), panel("infer-train", "figure.infer.train", &s.Now), panel("infer-predict", "figure.infer.predict", s.Infer()))}
}

func tableInfer(s *Subject) []markup.Node {
	var rows []cells
	for _, kind := range view.TensorKinds {
		train, predict := kindBytes(&s.Now, kind), kindBytes(s.Infer(), kind)
		if train != 0 || predict != 0 {
			rows = append(rows, words(s.text("kind."+kind, nil), s.exact(train), s.exact(predict)))
		}
	}
	rows = append(rows, words(s.text("where.total", nil), s.exact(s.Now.Peak.Live), s.exact(s.Infer().Peak.Live)))
	return []markup.Node{s.table(s.text("figure.infer.table", view.Args{"n": s.Request.Batch}), []string{"where.source", "figure.infer.train", "figure.infer.predict"}, rows, true)}
}

// kindBytes is what a kind's tensors take at the peak.
func kindBytes(r *calc.Result, kind string) int64 {
	var sum int64
	for _, p := range r.Parts {
		if view.KindOf(p.Kind) == kind {
			sum += p.Bytes
		}
	}
	return sum
}
