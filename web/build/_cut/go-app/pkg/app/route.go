package app

// router maps paths to components, without the regular expressions that the
// page's single route does not need.
type router struct {
	routes map[string]func() Composer
}

func makeRouter() router {
	return router{routes: map[string]func() Composer{}}
}

func (r *router) route(path string, newComponent func() Composer) {
	r.routes[path] = newComponent
}

func (r *router) routeWithRegexp(pattern string, _ func() Composer) {
	panic("regular expression routes are left out of this build: " + pattern)
}

func (r *router) createComponent(path string) (Composer, bool) {
	newComponent, ok := r.routes[path]
	if !ok {
		return nil, false
	}
	return newComponent(), true
}
