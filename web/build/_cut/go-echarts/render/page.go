package render

// NewPageRender gives no renderer: options are all that is used.
func NewPageRender(interface{}, ...func()) Renderer { return nil }
