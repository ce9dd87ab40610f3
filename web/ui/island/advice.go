package island

import (
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// advice is the table of the changes that the engine has tried.
func advice(v View) markup.Node {
	f := v.Figures
	lang := f.Lang()
	cell := func(s string) markup.Node { return markup.Elem("td", nil, markup.Text(s)) }
	var rows, idle []markup.Node
	for _, a := range view.AdviceRows(v.Advice, lang) {
		if a.Idle {
			idle = append(idle, markup.Elem("li", nil, markup.Elem("b", nil, markup.Text(a.Change+".")), markup.Text(" "+a.Costs+" "), belief(v, a.Belief)))
			continue
		}
		rows = append(rows, markup.Elem("tr", nil,
			markup.Elem("th", markup.A("scope", "row"), markup.Text(a.Change), markup.Elem("small", nil, markup.Text(a.Costs+" "), belief(v, a.Belief))),
			cell(a.Saves),
			markup.Elem("td", markup.A("class", "fits", "data-verdict", string(a.Tone)), markup.Text(a.Fits)),
			cell(a.MaxBatch),
		))
	}
	head := func(key string) markup.Node {
		return markup.Elem("th", markup.A("scope", "col"), markup.Text(text(f, key)))
	}
	working := ""
	if v.AdviceMissing {
		working = text(f, "advice.working")
	}
	return markup.Elem("div", markup.A("class", "advice"),
		markup.Elem("p", markup.A("class", "now"), markup.Text(adviceNow(f))),
		markup.Elem("div", markup.A("class", "scroll", "tabindex", "0", "role", "region", "aria-label", text(f, "advice.caption")),
			markup.Elem("table", nil,
				markup.Elem("caption", nil, markup.Text(text(f, "advice.caption"))),
				markup.Elem("thead", nil, markup.Elem("tr", nil, head("advice.change"), head("advice.saves"), head("advice.then"), head("advice.max"))),
				list("tbody", "rows", rows...),
			),
		),
		markup.Elem("p", markup.A("class", "working", "role", "status"), markup.Text(working)),
		when(len(idle) > 0, markup.Elem("h3", nil, markup.Text(text(f, "advice.idle")))),
		list("ul", "idle", idle...),
	)
}

// adviceNow says where the reader stands.
func adviceNow(f view.Figures) string {
	r := f.Scene().Now
	if r.Fits == nil || r.MaxBatch == nil {
		return text(f, "advice.working")
	}
	key := "advice.now.over"
	if *r.Fits {
		key = "advice.now.fits"
	}
	return view.Text(f.Lang(), key, view.Args{"size": view.Bytes(f.Lang(), r.Peak.Device), "card": f.Scene().State.Device.Name(f.Lang()), "n": *r.MaxBatch})
}
