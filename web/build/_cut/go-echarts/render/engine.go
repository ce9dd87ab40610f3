// Package render keeps the names that the charts mention. The page hands the
// options to the local bundle of ECharts and never asks for rendered HTML.
package render

import "io"

// ChartSnippet is what a renderer would give.
type ChartSnippet struct {
	Element string
	Script  string
	Option  string
}

// Renderer is what every chart embeds.
type Renderer interface {
	Render(w io.Writer) error
	RenderContent() []byte
	RenderSnippet() ChartSnippet
}
