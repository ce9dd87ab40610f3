//go:build js && wasm

package main

import "github.com/maxence-charriere/go-app/v10/pkg/app"

// Place puts a mounted island where its static form stands. The two are the
// same elements, so that nothing moves; what the reader has done to the static
// one meanwhile is kept: values, focus, pictures.
func (d *document) Place(name string, mounted app.Value) map[string]string {
	document := app.Window().Get("document")
	slot := document.Call("querySelector", `[data-island="`+name+`"]`)
	static := slot.Get("firstElementChild")
	if !static.Truthy() {
		slot.Call("replaceChildren", mounted)
		return nil
	}
	touched := touchedControls(static)
	adoptPictures(static, mounted)
	focused := document.Get("activeElement")
	path, ok := pathIn(static, focused)
	slot.Call("replaceChildren", mounted)
	if ok {
		for _, i := range path {
			mounted = mounted.Get("children").Index(i)
		}
		mounted.Call("focus", map[string]any{"preventScroll": true})
	}
	return touched
}

// touchedControls reads the controls that no longer hold the value they came with.
func touchedControls(static app.Value) map[string]string {
	touched := map[string]string{}
	each(static, "[data-control], [data-field]", func(control app.Value) {
		name := control.Call("getAttribute", "data-control")
		if name.IsNull() {
			name = control.Call("getAttribute", "data-field")
		}
		value := control.Get("value").String()
		if control.Get("type").String() == "checkbox" {
			return // what a tick would do is not known yet: it is put back
		}
		initial := control.Get("defaultValue")
		if initial.IsUndefined() { // a select
			chosen := control.Call("querySelector", "option[selected]")
			if !chosen.Truthy() {
				chosen = control.Get("options").Index(0)
			}
			initial = chosen.Get("value")
		}
		if value != initial.String() {
			touched[name.String()] = value
		}
	})
	return touched
}

// adoptPictures moves the charts that stand in the static form.
func adoptPictures(static, mounted app.Value) {
	each(static, "[data-chart]", func(picture app.Value) {
		place := mounted.Call("querySelector", `[data-chart="`+picture.Call("getAttribute", "data-chart").String()+`"]`)
		for place.Truthy() && picture.Get("firstChild").Truthy() {
			place.Call("append", picture.Get("firstChild"))
		}
	})
}

// pathIn says how an element is reached from one above it, by the indexes of children.
func pathIn(above, element app.Value) (path []int, ok bool) {
	for element.Truthy() && !element.Equal(above) {
		index := 0
		for sibling := element.Get("previousElementSibling"); sibling.Truthy(); sibling = sibling.Get("previousElementSibling") {
			index++
		}
		path = append([]int{index}, path...)
		element = element.Get("parentElement")
	}
	return path, element.Truthy()
}

func each(above app.Value, selector string, f func(app.Value)) {
	list := above.Call("querySelectorAll", selector)
	for i := range list.Length() {
		f(list.Index(i))
	}
}
