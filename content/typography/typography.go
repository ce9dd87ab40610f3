// Package typography checks the French of the catalogue and of the lesson:
// narrow no-break spaces, curly apostrophes, decimal commas, no exclamation.
package typography

import (
	"fmt"
	"regexp"
)

// spoken are the words of a directive: {kind|words}.
var spoken = regexp.MustCompile(`\{[^{}|]*\|([^{}]*)\}`)

// code is what no typography applies to: code spans, addresses, directives.
var code = regexp.MustCompile("`[^`]*`" + `|\]\([^)]*\)|\{[^}]*\}|https?://\S+`)

var faults = []struct {
	pattern *regexp.Regexp
	what    string
}{
	{regexp.MustCompile(`[^\x{202f}|-][;:?»](\s|$)`), "no narrow no-break space before punctuation"},
	{regexp.MustCompile(`«[^\x{202f}]`), "no narrow no-break space after «"},
	{regexp.MustCompile(`'`), "straight apostrophe"},
	{regexp.MustCompile(`"`), "straight quotation mark"},
	{regexp.MustCompile(`!`), "exclamation"},
	{regexp.MustCompile(`\d\.\d`), "decimal point"},
	{regexp.MustCompile(`\d[ \x{a0}]\d{3}\b`), "digits grouped by another space than U+202F"},
	{regexp.MustCompile(`\d[ \x{a0}](%|octets?|[kMGT]?i?o)\b`), "unit after another space than U+202F"},
	{regexp.MustCompile(`\d[ \x{a0}]%`), "unit after another space than U+202F"},
}

// FrenchFaults lists what is wrong in a French text, with the place of each fault.
func FrenchFaults(text string) []string {
	prose := code.ReplaceAllString(spoken.ReplaceAllString(text, "$1"), "x")
	var list []string
	for _, f := range faults {
		for _, at := range f.pattern.FindAllStringIndex(prose, -1) {
			from, to := max(0, at[0]-20), min(len(prose), at[1]+20)
			list = append(list, fmt.Sprintf("%s: …%s…", f.what, prose[from:to]))
		}
	}
	return list
}
