//go:build js && wasm

package api

import "syscall/js"

// Functions are the answers as JavaScript calls them: text in, JSON out. The
// scripts make estimate, explain and presets of them.
func Functions() map[string]any {
	return map[string]any{
		"estimate": js.FuncOf(func(_ js.Value, args []js.Value) any { return Estimate(args[0].String()) }),
		"explain":  js.FuncOf(func(_ js.Value, args []js.Value) any { return Explain(args[0].String(), args[1].String()) }),
		"presets":  js.FuncOf(func(js.Value, []js.Value) any { return Presets() }),
	}
}
