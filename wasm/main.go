//go:build js && wasm

// Command wasm is the page's program, compiled to WebAssembly: it wakes the
// islands of the document and answers the JavaScript API. This directory is
// all that touches the browser directly.
package main

import (
	"runtime/debug"
	"syscall/js"

	"github.com/maxence-charriere/go-app/v10/pkg/app"

	"vrametre/content"
	"vrametre/wasm/api"
	"vrametre/web/ui"
)

// gcPercent lets the heap grow to 64 MB before it is looked through, of which 3
// are alive: that takes ten milliseconds, and a browser has no other thread for
// it. A move of a large network takes 2 MB: one in thirty then waits for it.
const gcPercent = 1600

func main() {
	debug.SetGCPercent(gcPercent)
	dispatch("engine", api.Functions())
	d := newDocument()
	lang := content.ParseLang(d.root.Get("documentElement").Get("lang").String())
	name := d.root.Get("body").Get("dataset").Get("page").String()
	page, err := ui.NewPage(d, name, lang, d.fragment(), d.islandNames())
	if err != nil {
		d.Failed(err)
		return
	}
	if d.frame != nil {
		page.InFrame(d.frame.piece.Settings)
	}
	d.listen(page)
	app.Route("/", page.Root)
	app.RunWhenOnBrowser()
}

// dispatch sends an event of ours to the scripts of the page.
func dispatch(name string, detail any) {
	js.Global().Call("dispatchEvent", js.Global().Get("CustomEvent").New("vrametre:"+name, map[string]any{"detail": detail}))
}
