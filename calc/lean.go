//go:build lean

package calc

import (
	"vrametre/calc/fault"
	_ "vrametre/calc/read/hf" // its presets
)

// A module built with the tag lean answers presets and layers only: the readers of pasted models are a third of the
// engine's bytes, and whoever opens the lesson does not need them. The error's code sends the caller to the whole engine.

func (q *query) read() (*network, error) { return nil, fault.New("reader-elsewhere", "model") }

func (q *query) trace() (*network, error) { return nil, fault.New("reader-elsewhere", "model") }
