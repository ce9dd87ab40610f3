//go:build js && wasm

package main

import (
	"errors"
	"io"
	"syscall/js"

	"vrametre/calc"
	"vrametre/web/ui"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// maxKept bounds what is read of a file, in bytes.
const maxKept = 256 << 20

// blob reads a file of the reader's piece by piece, each once: later readings of the same pieces wait for nothing.
type blob struct {
	file   js.Value
	size   int64
	pieces []stretch
	kept   int64
	// closed: nothing new is read. Only the goroutine of Open may wait for the browser.
	closed bool
}

type stretch struct {
	at   int64
	data []byte
}

var errClosed = errors.New("the file was read already")

// ReadAt waits for the browser, unless what is asked for is known.
func (b *blob) ReadAt(p []byte, at int64) (int, error) {
	if at >= b.size {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), b.size-at)]
	for _, known := range b.pieces {
		if known.at <= at && at+int64(len(want)) <= known.at+int64(len(known.data)) {
			copy(want, known.data[at-known.at:])
			return ended(p, want)
		}
	}
	if b.closed {
		return 0, errClosed
	}
	if b.kept += int64(len(want)); b.kept > maxKept {
		return 0, errors.New("too long")
	}
	type answer struct {
		data []byte
		err  error
	}
	answered := make(chan answer, 1)
	thrown := attempt(func() {
		await(b.file.Call("slice", at, at+int64(len(want))).Call("arrayBuffer"), func(buffer js.Value) {
			data := make([]byte, buffer.Get("byteLength").Int())
			js.CopyBytesToGo(data, js.Global().Get("Uint8Array").New(buffer))
			answered <- answer{data: data}
		}, func(reason js.Value) {
			answered <- answer{err: errors.New(word(reason))}
		})
	})
	if thrown != nil {
		return 0, errors.New(word(thrown.Value))
	}
	got := <-answered
	if got.err == nil && len(got.data) < len(want) {
		got.err = io.ErrUnexpectedEOF
	}
	if got.err != nil {
		return 0, got.err
	}
	b.pieces = append(b.pieces, stretch{at, got.data})
	copy(want, got.data)
	return ended(p, want)
}

// ended says where a file has ended, as io.ReaderAt wants it said.
func ended(asked, got []byte) (int, error) {
	if len(got) < len(asked) {
		return len(got), io.EOF
	}
	return len(got), nil
}

// bindFiles takes the files that the reader chooses or drops, wherever the islands have a place for them.
func bindFiles(d *document, page *ui.Page) {
	on := func(event, place string, handle func(event, place js.Value)) {
		d.root.Call("addEventListener", event, js.FuncOf(func(_ js.Value, args []js.Value) any {
			page.Guard(func() {
				if place := args[0].Get("target").Call("closest", "["+place+"]"); place.Truthy() {
					handle(args[0], place)
				}
			})
			return nil
		}))
	}
	on("change", island.Pick, func(_, input js.Value) {
		open(page, input.Get("files"))
		input.Set("value", "") // the same can be chosen again
	})
	on("dragover", island.Drop, func(event, _ js.Value) {
		if event.Get("dataTransfer").Get("types").Call("includes", "Files").Bool() {
			event.Call("preventDefault")
		}
	})
	on("drop", island.Drop, func(event, _ js.Value) {
		if files := event.Get("dataTransfer").Get("files"); files.Length() > 0 { // else a text, which the browser puts into the field
			event.Call("preventDefault")
			open(page, files)
		}
	})
	if queue := js.Global().Get("launchQueue"); queue.Truthy() { // of the installed application
		queue.Call("setConsumer", js.FuncOf(func(_ js.Value, args []js.Value) any {
			page.Guard(func() {
				if files := args[0].Get("files"); files.Truthy() && files.Length() > 0 {
					openHandles(page, files)
				}
			})
			return nil
		}))
	}
}

// openHandles reads files that the browser has yet to hand over.
func openHandles(page *ui.Page, handles js.Value) {
	promises := js.Global().Get("Array").New()
	for i := range handles.Length() {
		promises.Call("push", handles.Index(i).Call("getFile"))
	}
	await(js.Global().Get("Promise").Call("all", promises), func(files js.Value) {
		page.Guard(func() { open(page, files) })
	}, func(reason js.Value) {
		page.Guard(func() {
			page.Receive(func(done func(*view.Import, error)) { done(nil, unreadable(reason)) })
		})
	})
}

// unreadable is the error of a file that the browser does not hand over.
func unreadable(reason js.Value) error {
	return &calc.Error{Code: "file-unreadable", At: "model.file", Args: map[string]any{"detail": word(reason)}}
}

// bindShared takes the text that another application shares out of the address that it comes in.
func bindShared(d *document, page *ui.Page) {
	location := d.window.Get("location")
	given := js.Global().Get("URLSearchParams").New(location.Get("search"))
	if !given.Call("has", "text").Bool() && !given.Call("has", "title").Bool() {
		return
	}
	text := given.Call("get", "text")
	if !text.Truthy() {
		text = given.Call("get", "title")
	}
	attempt(func() {
		history := d.window.Get("history")
		history.Call("replaceState", history.Get("state"), "", location.Get("pathname").String()+location.Get("hash").String())
	})
	if text.Truthy() {
		page.Share(text.String())
	}
}

// open reads what files hold of a model. Their bytes come when the browser has them, which only a goroutine can wait for.
func open(page *ui.Page, list js.Value) {
	var blobs []*blob
	var files []calc.File
	for i := range list.Length() {
		file := list.Index(i)
		b := &blob{file: file, size: int64(file.Get("size").Float())}
		blobs = append(blobs, b)
		files = append(files, calc.File{Name: file.Get("name").String(), Source: b, Size: b.size})
	}
	if len(files) == 0 {
		return
	}
	page.Receive(func(done func(*view.Import, error)) {
		go page.Guard(func() {
			given, err := view.Drop(files)
			for _, b := range blobs {
				b.closed = true
			}
			done(given, err)
		})
	})
}
