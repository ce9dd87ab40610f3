//go:build !lean

package calc

// Whole says whether the program has the whole engine: see the one of lean builds.
const Whole = true
