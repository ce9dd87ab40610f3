package figure

import (
	"strconv"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// slots: what training keeps for one weight, box by box. Every box is as large
// as the network.
var slots = design{
	parts: []part{
		{name: "drawing", when: Always, draw: drawSlots},
		{name: "table", when: Late, draw: tableSlots},
	},
	frame: func(s *Subject, parts map[string]markup.Node) []markup.Node {
		chosen := optimizerOf(s.Request.Optimizer)
		var radios []markup.Node
		for _, o := range view.Optimizers {
			attrs := markup.A("type", "radio", "name", "slots-optimizer", "value", o.ID, "data-set", "optimizer", "autocomplete", "off")
			if o.ID == chosen.ID {
				attrs = append(attrs, markup.Attr{Name: "checked"})
			}
			radios = append(radios, markup.Elem("label", nil, markup.Elem("input", attrs), text(s.Lang, "optimizer."+o.ID)))
		}
		choice := markup.Elem("fieldset", markup.A("class", "choice scripted"),
			append([]markup.Node{markup.Elem("legend", nil, text(s.Lang, "settings.optimizer"))}, radios...)...)
		return []markup.Node{choice, parts["drawing"]}
	},
}

// optimizerOf finds the page's choice that asks for an optimizer.
func optimizerOf(o calc.Optimizer) view.Optimizer {
	for _, choice := range view.Optimizers {
		if choice.Request == o {
			return choice
		}
	}
	return view.Optimizers[0]
}

// maxSlots is as many values as any optimizer of the page keeps per weight.
const maxSlots = 4

// slotKinds are the kinds of memory of the values that training keeps per weight.
var slotKinds = [maxSlots]string{view.KindWeights, view.KindGradients, view.KindOptimizer, view.KindOptimizer}

// slotName names the i-th value of an optimizer, from 1.
func (s *Subject) slotName(o view.Optimizer, i int) string {
	key := "slot." + strconv.Itoa(i)
	if i > 2 {
		key += "." + o.ID
	}
	return s.text(key, nil)
}

// slotBytes is what the network's weights take, once.
func (s *Subject) slotBytes() int64 {
	for _, p := range s.Now.Parts {
		if p.Kind == calc.PartWeights {
			return p.Bytes
		}
	}
	return 0
}

func drawSlots(s *Subject) []markup.Node {
	chosen := optimizerOf(s.Request.Optimizer)
	each := s.slotBytes()
	boxes := make([]markup.Node, maxSlots)
	for i := range maxSlots {
		size, shape := s.text("figure.slots.empty", nil), elem("rect", "class", "hollow", "width", "100%", "height", "100%")
		if int64(i) < chosen.Values {
			size, shape = s.bytes(each), elem("rect", "width", "100%", "height", "100%", "fill", fill(slotKinds[i]), "data-kind", slotKinds[i])
		}
		boxes[i] = markup.Elem("li", markup.A("data-kind", slotKinds[i]),
			markup.Elem("svg", markup.A("class", "slot-box", "aria-hidden", "true", "width", "100%"), shape),
			markup.Elem("b", nil, markup.Text(s.slotName(chosen, i+1))),
			markup.Elem("span", markup.A("class", "size"), markup.Text(size)))
	}
	return []markup.Node{markup.Elem("ul", markup.A("class", "slot-row"), boxes...)}
}

func tableSlots(s *Subject) []markup.Node {
	each := s.slotBytes()
	var rows []cells
	for _, o := range view.Optimizers {
		row := words(s.text("optimizer."+o.ID, nil))
		for i := range maxSlots {
			if int64(i) < o.Values {
				row = append(row, markup.Text(s.bytes(each)))
			} else {
				row = append(row, text(s.Lang, "where.none"))
			}
		}
		rows = append(rows, append(row, markup.Text(s.exact(each*o.Values))))
	}
	return []markup.Node{s.table(s.text("figure.slots.table", view.Args{"params": s.Now.Parameters.Trainable}),
		[]string{"settings.optimizer", "figure.slots.value", "figure.slots.gradient", "figure.slots.first", "figure.slots.second", "where.total"}, rows, false)}
}
