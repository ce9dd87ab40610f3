package view

import (
	"cmp"
	"slices"
	"strings"

	"vrametre/calc/oom"
)

// Sizes of Scan, in bytes. A message and the lines before it that hint at its
// tensors are shorter than the overlap.
const (
	scanWindow  = 48 << 10
	scanOverlap = 12 << 10
	scanBefore  = 7 << 10
	scanAfter   = 2 << 10
	// scanKept is how many messages are compared at the end.
	scanKept = 8
)

// Scan looks for messages in a long text, a piece at a time: reading a whole
// log in one go would hold the page. What it finds is explained as a short text.
type Scan struct {
	text  string
	end   int // what is before it has not been read
	found []scanned
}

type scanned struct {
	from, to, fields int
}

// NewScan starts at the end of a text, where a failed program leaves its message.
func NewScan(text string) *Scan { return &Scan{text: text, end: len(text)} }

// Short says that a text can be explained in one go.
func Short(text string) bool { return len(text) <= scanWindow }

// Step reads the next piece. It is false when all is read.
func (s *Scan) Step() bool {
	if s.end == 0 {
		return false
	}
	from := max(0, s.end-scanWindow)
	if m := oom.Parse(s.text[from:s.end]); m.Kind != oom.KindUnrecognised {
		s.found = append(s.found, scanned{
			from:   max(0, from+m.Start-scanBefore),
			to:     min(len(s.text), from+m.End+scanAfter),
			fields: len(m.Fields),
		})
	}
	if s.end = from; from > 0 {
		s.end += scanOverlap
	}
	return s.end > 0
}

// Text is what was found: the pieces of the text around its messages, those
// that tell most, in their order. It is empty where there are none.
func (s *Scan) Text() string {
	best := slices.Clone(s.found)
	// Pieces were found from the end on: of equals, the later ones come first.
	slices.SortStableFunc(best, func(a, b scanned) int { return cmp.Compare(b.fields, a.fields) })
	best = best[:min(len(best), scanKept)]
	slices.SortFunc(best, func(a, b scanned) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := 0
	for _, p := range best {
		if from := max(p.from, at); from < p.to {
			if b.Len() > 0 && from > at {
				b.WriteByte('\n')
			}
			b.WriteString(s.text[from:p.to])
			at = p.to
		}
	}
	return b.String()
}
