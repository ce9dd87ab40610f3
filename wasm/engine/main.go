//go:build js && wasm

// Command engine is the whole engine without a page, compiled to WebAssembly.
// The page's own program leaves out the readers of models that a lesson does
// not need; a request that needs one is answered here.
package main

import (
	"syscall/js"

	"vrametre/wasm/api"
)

func main() {
	global := js.Global()
	global.Call("dispatchEvent", global.Get("CustomEvent").New("vrametre:whole", map[string]any{"detail": map[string]any{
		"estimate": js.FuncOf(func(_ js.Value, args []js.Value) any { return api.Estimate(args[0].String()) }),
	}}))
	select {} // the functions are called as long as the page lives
}
