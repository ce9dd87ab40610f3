// Package jsonscan reads JSON in one pass without building a tree, so that a hostile file costs no more memory than
// the lists its reader fills. Errors are thrown as *fault.Error with the path and the byte offset; fault.Catch returns them.
package jsonscan

import (
	"encoding/json"
	"math"

	"vrametre/calc/fault"
)

// Scanner is a position in a JSON text.
type Scanner struct {
	Data []byte
	Pos  int
	// Path of the value being read, for errors.
	Path string
}

// maxDepth bounds the nesting of what is skipped, maxText a string.
const (
	maxDepth = 64
	maxText  = 4096
)

// Fail stops the reading at the current place.
func (s *Scanner) Fail(code string, args ...any) {
	fault.Throw(code, s.Path, append([]any{"offset", s.Pos}, args...)...)
}

func (s *Scanner) space() {
	for s.Pos < len(s.Data) {
		switch s.Data[s.Pos] {
		case ' ', '\t', '\n', '\r':
			s.Pos++
		default:
			return
		}
	}
}

// Peek is the next significant byte, 0 at the end.
func (s *Scanner) Peek() byte {
	s.space()
	if s.Pos < len(s.Data) {
		return s.Data[s.Pos]
	}
	return 0
}

func (s *Scanner) expect(c byte) {
	if s.Peek() != c {
		s.Fail("json-syntax", "expected", string(rune(c)))
	}
	s.Pos++
}

// more says whether a list goes on, and steps over the comma; end closes it.
func (s *Scanner) more(first bool, end byte) bool {
	switch c := s.Peek(); {
	case c == end:
		s.Pos++
		return false
	case first:
		return true
	case c == ',':
		s.Pos++
		return true
	}
	s.Fail("json-syntax", "expected", ",")
	return false
}

// Array calls f for each element.
func (s *Scanner) Array(f func(i int)) {
	s.expect('[')
	for i := 0; s.more(i == 0, ']'); i++ {
		f(i)
	}
}

// Row reads an array of exactly n elements.
func (s *Scanner) Row(n int, f func(i int)) {
	count := 0
	s.Array(func(i int) {
		if i >= n {
			s.Fail("json-row", "count", n)
		}
		f(i)
		count++
	})
	if count != n {
		s.Fail("json-row", "count", n)
	}
}

// Object calls f for each key, which must read the value.
func (s *Scanner) Object(f func(key string)) {
	outer := s.Path
	s.expect('{')
	for first := true; s.more(first, '}'); first = false {
		key := s.Text()
		s.expect(':')
		s.Path = key
		if outer != "" {
			s.Path = outer + "." + key
		}
		f(key)
	}
	s.Path = outer
}

// Text is a string of at most 4096 bytes.
func (s *Scanner) Text() string {
	s.expect('"')
	from := s.Pos
	escaped := false
	for ; ; s.Pos++ {
		if s.Pos >= len(s.Data) || s.Data[s.Pos] < ' ' || s.Pos-from > maxText {
			s.Fail("json-text")
		}
		switch s.Data[s.Pos] {
		case '\\':
			escaped = true
			s.Pos++
		case '"':
			raw := s.Data[from:s.Pos]
			s.Pos++
			if !escaped {
				return string(raw)
			}
			var out string
			if err := json.Unmarshal(s.Data[from-1:s.Pos], &out); err != nil {
				s.Fail("json-text")
			}
			return out
		}
	}
}

// Optional is a string or null.
func (s *Scanner) Optional() string {
	if s.Null() {
		return ""
	}
	return s.Text()
}

// Null steps over null, if it is one.
func (s *Scanner) Null() bool {
	if s.Peek() == 'n' {
		s.word("null")
		return true
	}
	return false
}

func (s *Scanner) word(w string) {
	if len(s.Data)-s.Pos < len(w) || string(s.Data[s.Pos:s.Pos+len(w)]) != w {
		s.Fail("json-syntax", "expected", w)
	}
	s.Pos += len(w)
}

// Integer is a number without fraction; beyond int64 is an error.
func (s *Scanner) Integer() int64 {
	negative := s.Peek() == '-'
	if negative {
		s.Pos++
	}
	from := s.Pos
	var n int64
	for ; s.Pos < len(s.Data) && s.Data[s.Pos] >= '0' && s.Data[s.Pos] <= '9'; s.Pos++ {
		d := int64(s.Data[s.Pos] - '0')
		if n > (math.MaxInt64-d)/10 {
			s.Fail("json-number")
		}
		n = n*10 + d
	}
	if from == s.Pos {
		s.Fail("json-integer")
	}
	if s.Pos < len(s.Data) {
		if c := s.Data[s.Pos]; c == '.' || c == 'e' || c == 'E' {
			s.Fail("json-integer")
		}
	}
	if negative {
		return -n
	}
	return n
}

// Below is an integer from 0 to limit-1.
func (s *Scanner) Below(limit int) int32 {
	n := s.Integer()
	if n < 0 || n >= int64(limit) {
		s.Fail("json-range", "value", n, "low", 0, "high", limit-1)
	}
	return int32(n)
}

// Within is an integer from -limit to limit.
func (s *Scanner) Within(limit int64) int64 {
	n := s.Integer()
	if n < -limit || n > limit {
		s.Fail("json-range", "value", n, "low", -limit, "high", limit)
	}
	return n
}

// Flag is true, false, 0 or 1.
func (s *Scanner) Flag() bool {
	switch s.Peek() {
	case 't':
		s.word("true")
		return true
	case 'f':
		s.word("false")
		return false
	}
	return s.Below(2) == 1
}

// Skip steps over any value.
func (s *Scanner) Skip() { s.skip(0) }

func (s *Scanner) skip(depth int) {
	if depth > maxDepth {
		s.Fail("json-depth", "limit", maxDepth)
	}
	switch c := s.Peek(); c {
	case '{':
		s.Object(func(string) { s.skip(depth + 1) })
	case '[':
		s.Array(func(int) { s.skip(depth + 1) })
	case '"':
		s.Text()
	case 't', 'f':
		s.Flag()
	case 'n':
		s.word("null")
	default:
		from := s.Pos
		for s.Pos < len(s.Data) {
			if c := s.Data[s.Pos]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
				break
			}
			s.Pos++
		}
		if from == s.Pos {
			s.Fail("json-syntax", "expected", "value")
		}
	}
}

// End is an error when anything follows.
func (s *Scanner) End() {
	if s.Peek() != 0 || s.Pos < len(s.Data) {
		s.Fail("json-syntax", "expected", "end")
	}
}

// AppendUpTo appends v to a list that may hold at most limit values.
func AppendUpTo[T any](s *Scanner, list []T, limit int, v T) []T {
	if len(list) >= limit {
		s.Fail("json-many", "limit", limit)
	}
	return append(list, v)
}
