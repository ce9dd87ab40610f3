//go:build js && wasm

// Command engine is the whole engine without a page, compiled to WebAssembly.
// The lesson's program leaves out what a lesson does not need; a request that
// needs it is answered here, and so is a page of others that wants the engine
// alone.
package main

import (
	"syscall/js"

	"vrametre/wasm/api"
)

// main hands the answers to whoever has loaded it: see answers.js.
func main() {
	js.Global().Call("vrametreEngine", api.Functions())
	select {} // the functions are called as long as the page lives
}
