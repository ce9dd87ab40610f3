package app

// browser would take over the window's links, history and resizing. The pages
// are documents: all of that stays the browser's.
type browser struct {
	AppUpdatable bool
}

// HandleEvents handles none.
func (b *browser) HandleEvents(Context, func(any)) {}
