package read

import "vrametre/calc/fault"

// Listing is a list of modules' paths that remembers which of them hold something.
type Listing struct {
	paths []string
	found map[string]bool
}

// Listed is the listing of paths.
func Listed(paths []string) Listing {
	l := Listing{paths, make(map[string]bool, len(paths))}
	for _, p := range paths {
		l.found[p] = false
	}
	return l
}

// Holds says whether the listing has a dotted name, or one that it is below.
func (l Listing) Holds(name string) bool {
	holds := false
	for i := 0; len(l.paths) > 0 && i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			continue
		}
		if _, on := l.found[name[:i]]; on {
			l.found[name[:i]], holds = true, true
		}
	}
	return holds
}

// Unknown is the error of the first path that held none of the names asked about, nil without one.
func (l Listing) Unknown(field string) error {
	for _, p := range l.paths {
		if !l.found[p] {
			return fault.New("path-unknown", field, "path", p)
		}
	}
	return nil
}
