package app

import "strings"

// clientResourceResolver turns "/web/name" into an address beside the scripts;
// other addresses stay as they are.
func clientResourceResolver(resources string) func(string) string {
	return func(location string) string {
		name, ok := strings.CutPrefix(strings.TrimPrefix(location, "/"), "web/")
		if !ok {
			return location
		}
		return resources + "/" + name
	}
}
