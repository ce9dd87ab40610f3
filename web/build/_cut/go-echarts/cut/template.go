// Package cut stands for html/template, of which the charts use one type. The
// real one keeps every exported method of the program in the binary.
package cut

// HTML is a string that would not be escaped.
type HTML string
