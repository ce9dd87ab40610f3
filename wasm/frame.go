//go:build js && wasm

package main

import (
	"syscall/js"

	"vrametre/web/piece"
	"vrametre/web/view"
)

// frame is a part of the document alone, in a page made for frames of other
// sites. The page's script speaks with the site around it.
type frame struct {
	piece piece.Piece
	d     *document
}

// newFrame is nil where the document is no such page.
func newFrame(d *document) *frame {
	name := d.root.Get("body").Get("dataset").Get("embed")
	if name.Type() != js.TypeString {
		return nil
	}
	shown, _ := piece.Named(name.String())
	return &frame{shown, d}
}

// address is a state with what the address says of the frame itself.
func (f *frame) address(state string) string {
	parameters := piece.Parameters(f.d.fragment())
	if state == "" && parameters != "" {
		state = view.NoState
	}
	return state + parameters
}

// tell announces the state and what it comes to, in bytes.
func (f *frame) tell(figures view.Figures) {
	scene := figures.Scene()
	now := scene.Now
	result := map[string]any{"live": now.Peak.Live, "allocated": now.Peak.Allocated, "reserved": now.Peak.Reserved, "device": now.Peak.Device}
	if now.Fits != nil {
		result["fits"] = *now.Fits
	}
	if now.MaxBatch != nil {
		result["maxBatch"] = *now.MaxBatch
	}
	state := scene.State.Fragment()
	for _, link := range f.d.switches { // the whole page opens where the frame is
		link.Set("hash", state)
	}
	dispatch("state", map[string]any{"state": state, "result": result})
}

// answered announces what the reader has chosen; nothing does in the lesson,
// where nobody listens.
func (f *frame) answered(answer map[string]any) {
	if f != nil {
		dispatch("answer", answer)
	}
}
