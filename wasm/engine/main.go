//go:build js && wasm

// Command engine is the whole engine without a page, compiled to WebAssembly.
// The lesson's program leaves out what a lesson does not need; a request that
// needs it is answered here.
package main

import (
	"syscall/js"

	"vrametre/wasm/api"
)

func main() {
	global := js.Global()
	global.Call("dispatchEvent", global.Get("CustomEvent").New("vrametre:whole", map[string]any{"detail": map[string]any{
		"estimate": js.FuncOf(func(_ js.Value, args []js.Value) any { return api.Estimate(args[0].String()) }),
		"explain":  js.FuncOf(func(_ js.Value, args []js.Value) any { return api.Explain(args[0].String(), args[1].String()) }),
	}}))
	select {} // the functions are called as long as the page lives
}
