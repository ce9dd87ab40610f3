//go:build js && wasm

package main

import (
	"syscall/js"

	"vrametre/web/figure"
	"vrametre/web/ui"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// explainer tells where a number comes from when the reader asks it.
type explainer struct {
	d      *document
	dialog js.Value // null until asked for the first time
}

// bindNumbers makes buttons of the numbers that have an explanation. Only the
// first of a paragraph, a table or a figure is a stop of the Tab key: the arrow
// keys lead to the others.
func bindNumbers(d *document, page *ui.Page) {
	e := &explainer{d: d, dialog: js.Null()}
	blocks := js.Global().Get("Map").New()
	for _, element := range d.all("main .num[data-v], main td [data-v], .gauge b[data-v]") {
		ref := attribute(element, "data-v")
		if _, ok := figure.Explain(page.Figures(), ref); !ok {
			continue
		}
		block := element.Call("closest", "p, table, li, figure, .note, .tank")
		stop := 0
		if blocks.Call("has", block).Bool() {
			stop = -1
		} else {
			list := js.Global().Get("Array").New()
			blocks.Call("set", block, list)
		}
		numbers := blocks.Call("get", block)
		numbers.Call("push", element)
		for name, value := range map[string]any{"role": "button", "tabindex": stop, "aria-haspopup": "dialog"} {
			element.Call("setAttribute", name, value)
		}
		d.figures.on(element, "click", func(js.Value) { e.open(page.Figures(), ref) })
		d.figures.on(element, "keydown", func(event js.Value) {
			step := 0
			switch event.Get("key").String() {
			case "Enter", " ":
				event.Call("preventDefault")
				e.open(page.Figures(), ref)
				return
			case "ArrowRight":
				step = 1
			case "ArrowLeft":
				step = -1
			default:
				return
			}
			next := numbers.Call("at", (numbers.Call("indexOf", element).Int()+step+numbers.Length())%numbers.Length())
			event.Call("preventDefault")
			element.Call("setAttribute", "tabindex", -1)
			next.Call("setAttribute", "tabindex", 0)
			next.Call("focus")
		})
	}
}

// open shows the explanation of a figure.
func (e *explainer) open(f view.Figures, ref string) {
	explained, ok := figure.Explain(f, ref)
	if !ok {
		return
	}
	if e.dialog.IsNull() {
		e.dialog = e.d.root.Call("createElement", "dialog")
		e.dialog.Set("className", "explained")
		e.dialog.Call("setAttribute", "aria-labelledby", "explained")
		e.d.root.Get("body").Call("append", e.dialog)
		e.d.figures.on(e.dialog, "click", func(event js.Value) {
			// On the backdrop, or on the button.
			if target := event.Get("target"); target.Equal(e.dialog) || target.Call("closest", "button").Truthy() {
				e.dialog.Call("close")
			}
		})
	}
	e.dialog.Set("innerHTML", markup.HTML(explanation(f, explained)))
	e.dialog.Call("setAttribute", "data-kind", f.Kind(ref)) // its formula belongs to it
	e.dialog.Call("showModal")
}

func explanation(f view.Figures, e figure.Explanation) []markup.Node {
	paragraph := func(class, s string) markup.Node {
		return markup.Elem("p", markup.A("class", class), markup.Text(s))
	}
	nodes := []markup.Node{
		markup.Elem("h2", markup.A("id", "explained"), markup.Text(view.Text(f.Lang(), "explain.title", nil))),
		paragraph("value", e.Value),
	}
	if e.Exact != "" {
		nodes = append(nodes, paragraph("sizes", view.Text(f.Lang(), "explain.sizes", view.Args{"exact": e.Exact, "binary": e.Binary})))
	}
	return []markup.Node{markup.Elem("div", markup.A("tabindex", "-1", "autofocus", ""), append(nodes,
		paragraph("formula", e.Formula),
		paragraph("from", view.Text(f.Lang(), "explain.source", view.Args{"source": e.Source})),
		markup.Elem("button", markup.A("type", "button"), markup.Text(view.Text(f.Lang(), "explain.close", nil))),
	)...)}
}
