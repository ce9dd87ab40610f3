// Package fault holds the error every part of the engine returns for bad
// input: a code and its arguments, which content turns into a sentence in the
// reader's language, and the place.
package fault

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Error says what is wrong (Code, Args) and where (At: a module path, a field
// of the request, or a line of a pasted text).
type Error struct {
	Code string
	At   string
	Args map[string]any
}

// New builds an Error from alternating argument names and values.
func New(code, at string, args ...any) *Error {
	e := &Error{Code: code, At: quote(at)}
	if len(args) > 0 {
		e.Args = make(map[string]any, len(args)/2)
		for i := 0; i+1 < len(args); i += 2 {
			v := args[i+1]
			if s, ok := v.(string); ok {
				v = quote(s)
			}
			e.Args[args[i].(string)] = v
		}
	}
	return e
}

// Ours is an argument that is no piece of the input, and is repeated whole.
type Ours string

// MaxQuote bounds, in runes, what an error repeats of the input.
const MaxQuote = 120

// quote makes a piece of the input fit to stand in a sentence: one line, not too long.
func quote(s string) string {
	if len(s) > 4*MaxQuote {
		s = s[:4*MaxQuote]
	}
	r := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	for i, c := range r {
		if unicode.IsControl(c) {
			r[i] = ' '
		}
	}
	if len(r) > MaxQuote {
		r = append(r[:MaxQuote], '…')
	}
	return string(r)
}

// Error is plain English for Go callers; readers get content's sentence.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code)
	if e.At != "" {
		fmt.Fprintf(&b, " at %s", e.At)
	}
	for i, k := range slices.Sorted(maps.Keys(e.Args)) {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s=%v", sep, k, e.Args[k])
	}
	return b.String()
}

// Within puts the field of the request before the place of an error in what the field holds: "header" in "model.file" is
// "model.file.header". A place that is the field's already, and an error that is not this package's, stay as they are.
func Within(err error, field string) error {
	e, ours := err.(*Error)
	if !ours {
		return err
	}
	after, inside := strings.CutPrefix(e.At, field)
	if inside && (after == "" || strings.ContainsRune(".:[", rune(after[0]))) {
		return err
	}
	moved := *e
	switch {
	case e.At == "":
		moved.At = field
	case e.At[0] == '[':
		moved.At = field + e.At
	default:
		moved.At = field + "." + e.At
	}
	return &moved
}

// Throw stops a build with e; Catch turns it into a returned error. Building a
// network calls hundreds of operations whose shapes can be impossible, and an
// error result on each would bury the forward they describe.
func Throw(code, at string, args ...any) { panic(New(code, at, args...)) }

// Catch, deferred, stores a thrown Error in err and lets any other panic pass.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}

// Closest is the candidate that a mistyped name resembles most; "": none does.
func Closest(name string, candidates []string) string {
	if near := Nearest(name, candidates); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Nearest are the candidates that a mistyped name resembles, the most first: the same in another case, those that begin
// or continue it, or those at a small edit distance.
func Nearest(name string, candidates []string) []string {
	type near struct {
		name string
		at   int
	}
	var all []near
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if len(name) > 2 && (strings.HasPrefix(c, name) || strings.HasPrefix(name, c)) {
			d = min(d, len(name)/3+1)
		}
		if d < len(name)/3+2 {
			all = append(all, near{c, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.at - b.at })
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = n.name
	}
	return out
}

// distance is Levenshtein's, where two neighbours that have changed places are one edit.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 1 << 20
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
