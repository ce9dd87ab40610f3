// Package python holds the script that writes down a training step of the reader's own network. Only the site generator
// imports it: pages show the script, and the wasm need not carry it.
package python

import _ "embed"

// Name is the script's file, as its own text speaks of it.
const Name = "vrametre_trace.py"

// Exporter is the script.
//
//go:embed vrametre_trace.py
var Exporter string
