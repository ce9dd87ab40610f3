//go:build js && wasm

package main

import (
	"strings"
	"syscall/js"

	"vrametre/web/piece"
	"vrametre/web/ui"
)

// integrator makes the snippet that shows a part of the page elsewhere, as it
// stands now.
type integrator struct {
	d      *document
	page   *ui.Page
	dialog js.Value // null until asked for the first time
}

// bindIntegrators gives the buttons beside figures their dialog.
func bindIntegrators(d *document, page *ui.Page) {
	i := &integrator{d: d, page: page, dialog: js.Null()}
	for _, button := range d.all("[data-integrate]") {
		d.figures.on(button, "click", func(js.Value) { i.open(attribute(button, "data-integrate")) })
	}
}

// open shows the dialog for a part.
func (i *integrator) open(name string) {
	chosen, ok := piece.Named(name)
	if !ok {
		return
	}
	if i.dialog.IsNull() {
		i.dialog = i.d.root.Call("createElement", "dialog")
		i.dialog.Set("className", "explained integration")
		i.dialog.Call("setAttribute", "aria-labelledby", "integrate")
		i.d.root.Get("body").Call("append", i.dialog)
		i.d.figures.on(i.dialog, "input", func(js.Value) { i.write() })
		i.d.figures.on(i.dialog, "click", func(event js.Value) {
			target := event.Get("target")
			switch button := target.Call("closest", "[data-integration]"); {
			case target.Equal(i.dialog) || button.Truthy() && attribute(button, "data-integration") == "close":
				i.dialog.Call("close")
			case button.Truthy():
				i.copy()
			}
		})
	}
	var html strings.Builder
	html.WriteString("<div>")
	for _, n := range piece.Dialog(i.page.Figures(), chosen) {
		html.WriteString(n.HTML())
	}
	html.WriteString("</div>")
	i.dialog.Set("innerHTML", html.String())
	i.write()
	i.dialog.Call("showModal")
}

func (i *integrator) control(name string) js.Value {
	return i.dialog.Call("querySelector", `[data-choose="`+name+`"]`)
}

// write makes the snippet of what is chosen.
func (i *integrator) write() {
	value := func(name string) string { return i.control(name).Get("value").String() }
	checked := func(name string) string {
		if i.control(name).Get("checked").Bool() {
			return name
		}
		return ""
	}
	shown, _ := piece.Named(value(piece.ChoosePiece))
	body := i.d.root.Get("body").Get("dataset")
	root := i.d.window.Get("URL").New(body.Get("root"), i.d.window.Get("location").Get("href"))
	root.Set("hash", "")
	figures := i.page.Figures()
	f := piece.Frame{Piece: shown, Root: root.Get("href").String(), Lang: figures.Lang(), Title: shown.Title(figures), Theme: value(piece.ChooseTheme), Lock: checked(piece.LockAll)}
	if !i.page.Untouched() {
		f.State = i.page.State().Fragment()
	}
	for _, name := range []string{piece.HideSettings, piece.HideResult} {
		if hidden := checked(name); hidden != "" {
			f.Hide = strings.TrimPrefix(f.Hide+","+hidden, ",")
		}
	}
	format := value(piece.ChooseFormat)
	host := root.Get("hostname").String()
	online := strings.HasPrefix(root.Get("protocol").String(), "http") && host != "localhost" && host != "127.0.0.1"
	i.dialog.Call("querySelector", "textarea").Set("value", f.Snippet(format))
	i.dialog.Call("querySelector", "#integrate-note").Set("textContent", piece.Note(figures, format, online))
	i.dialog.Call("querySelector", ".said").Set("textContent", "")
}

// copy copies the snippet, and says whether it could.
func (i *integrator) copy() {
	code := i.dialog.Call("querySelector", "textarea")
	i.d.copyText(code.Get("value"), func(copied bool) {
		i.page.Guard(func() {
			said := piece.Refused
			if copied {
				said = piece.Copied
			} else {
				code.Call("select")
			}
			i.dialog.Call("querySelector", ".said").Set("textContent", piece.Said(i.page.Figures(), said))
		})
	})
}
