//go:build js && wasm

package main

import (
	"syscall/js"

	"vrametre/wasm/api"
)

// announceEngine hands estimate and explain to the boot script, which makes
// window.vrametre's functions of them: text in, JSON out.
func announceEngine() {
	dispatch("engine", map[string]any{
		"estimate": js.FuncOf(func(_ js.Value, args []js.Value) any { return api.Estimate(args[0].String()) }),
		"explain":  js.FuncOf(func(_ js.Value, args []js.Value) any { return api.Explain(args[0].String(), args[1].String()) }),
	})
}
