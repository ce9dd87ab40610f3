package ui

import (
	"fmt"
	"math"
	"strconv"

	"github.com/maxence-charriere/go-app/v10/pkg/app"

	"vrametre/web/ui/markup"
)

// handlers are the events of controls, by the attribute that marks an element
// as one. They never close over what an element shows: go-app keeps the first
// function of each place in the program, so a handler asks its element.
type handlers map[string]map[string]app.EventHandler

// mount makes go-app's elements of a tree.
func mount(n markup.Node, h handlers) app.UI {
	if n.Tag == "" {
		return app.Text(n.Text)
	}
	// Elem and ElemSelfClosing have the same methods and no common type.
	if markup.Void(n.Tag) {
		elem := app.ElemSelfClosing(n.Tag)
		for _, a := range n.Attrs {
			elem = elem.Attr(a.Name, attribute(a))
			for event, handle := range h[a.Name] {
				elem = elem.On(event, handle)
			}
		}
		return elem
	}
	elem := app.Elem(n.Tag)
	for _, a := range n.Attrs {
		elem = elem.Attr(a.Name, attribute(a))
		for event, handle := range h[a.Name] {
			elem = elem.On(event, handle)
		}
	}
	kids := make([]app.UI, len(n.Kids))
	for i, kid := range n.Kids {
		kids[i] = mount(kid, h)
	}
	return elem.Body(kids...)
}

func attribute(a markup.Attr) string {
	if markup.Boolean(a.Name) {
		return "true" // go-app removes an attribute without a value
	}
	return a.Value
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// parseInt reads what a number input holds: a decimal number, perhaps with a
// fraction, which is rounded.
func parseInt(s string) (int64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(math.Round(f)), true
}

// failure turns what a panic leaves into an error.
func failure(panicked any) error {
	if err, ok := panicked.(error); ok {
		return err
	}
	return fmt.Errorf("%v", panicked)
}
