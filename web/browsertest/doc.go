// Package browsertest opens the built site in Chromium and looks at what a
// reader gets: its tests need the browser that `make browsers` finds or installs.
package browsertest
