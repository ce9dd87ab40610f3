package oom

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxInput is how much of a paste is read: its end, where a failed program
// leaves its message.
const maxInput = 8 << 20

// squeezed is a text in lower case without white space, terminal colours and
// frames, so that a message is found however it was wrapped or quoted. gaps
// remembers where something was left out, in ascending order: there a number
// ends, and from there offsets into the original are counted.
type squeezed struct {
	s    string
	base int // bytes of the original before its part
	gaps []gap
	hits []hit
	cuts int // calls of cut
}

// joins: what was left out, NUL, does not end a number.
type gap struct {
	at, orig int32
	joins    bool
}

// hit is where one of the words of hitAt ends.
type hit struct {
	end  int
	word string
	// oom is the end of the last "outofmemory" before it; 0: none.
	oom int
}

// Classes of bytes.
const (
	plain   = iota // kept
	last           // kept, and the last letter of a word of hitAt
	skipped        // white space, quotes and mark-up
	special        // may begin something longer that is left out
	nonASCII
)

var classes = func() (t [256]byte) {
	for c := range t {
		switch {
		case c == '\\' || c == '>' || c == 0x1b:
			t[c] = special
		case c <= ' ' || c == 0x7f || c == '`' || c == '*' || c == '"':
			t[c] = skipped
		case c >= utf8.RuneSelf:
			t[c] = nonASCII
		}
	}
	for _, c := range "ycnemYCNEM" {
		t[c] = last
	}
	return t
}()

// hitAt is the word that ends b, of which every form of message that Parse
// knows contains one.
func hitAt(b []byte) string {
	ends := func(word string) bool { return len(b) >= len(word) && string(b[len(b)-len(word):]) == word }
	switch b[len(b)-1] {
	case 'y':
		if ends("outofmemory") {
			return "outofmemory"
		}
		if ends("out_of_memory") {
			return "out_of_memory"
		}
	case 'c':
		if ends("alloc") {
			return "alloc"
		}
		if ends("capac") {
			return "capac"
		}
	case 'n':
		if ends("cudnn") {
			return "cudnn"
		}
	case 'e':
		if ends("kvcache") {
			return "kvcache"
		}
	case 'm':
		if ends("withoom") {
			return "withoom"
		}
	}
	return ""
}

func squeeze(text string) squeezed {
	base := 0
	if len(text) > maxInput {
		base = len(text) - maxInput
		text = text[base:]
	}
	out := make([]byte, len(text))
	n := 0 // bytes of out in use
	q := squeezed{base: base, gaps: make([]gap, 1, 1+len(text)/16)}
	oom := 0
	inGap, joins := false, true
	for i := 0; i < len(text); {
		c := text[i]
		class := classes[c]
		length := 1
		switch class {
		case skipped:
			inGap, joins = true, joins && c == 0 // text of two bytes a letter has a NUL in every gap
			i++
			continue
		case special:
			switch {
			case c == '>' && i > 0 && text[i-1] != '\n': // not a quoted mail
				class = plain
			case c == 0x1b:
				i += max(1, ansi(text[i:]))
			case c == '\\':
				i += max(1, escaped(text[i:]))
			default:
				i++
			}
			if class != plain {
				inGap, joins = true, false
				continue
			}
		case nonASCII:
			var r rune
			r, length = utf8.DecodeRuneInString(text[i:])
			if r >= 0x2500 && r <= 0x259f || r == 0xa0 || r >= 0x2000 && r <= 0x200f || r == 0x202f || r == 0x2060 || r == 0xfeff || r == utf8.RuneError {
				// Frames of pretty tracebacks, progress bars, special spaces.
				inGap, joins = true, false
				i += length
				continue
			}
		}
		if inGap {
			if g := &q.gaps[len(q.gaps)-1]; int(g.at) == n {
				g.orig, g.joins = int32(i), joins
			} else {
				q.gaps = append(q.gaps, gap{int32(n), int32(i), joins})
			}
			inGap, joins = false, true
		}
		if length > 1 {
			n += copy(out[n:], text[i:i+length])
			i += length
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[n] = c
		n++
		i++
		if class == last {
			if w := hitAt(out[:n]); w != "" {
				q.hits = append(q.hits, hit{n, w, oom})
				if w == "outofmemory" {
					oom = n
				}
			}
		}
	}
	q.s = string(out[:n])
	return q
}

// ansi is the length of a terminal escape sequence at the start of s.
func ansi(s string) int {
	if len(s) < 2 || s[0] != 0x1b || s[1] != '[' {
		return 0
	}
	return 2 + sequence(s[2:])
}

// sequence is the length of the parameters and the final letter of an escape sequence.
func sequence(s string) int {
	for i := 0; i < len(s) && i < 24; i++ {
		if c := s[i]; c >= '@' && c <= '~' {
			return i + 1
		}
	}
	return 0
}

// escaped is the length of a backslash sequence that stands for a line break
// or a colour, as in a notebook's JSON.
func escaped(s string) int {
	for _, prefix := range []string{`\u001b[`, `\x1b[`, `\033[`, `\e[`} {
		if strings.HasPrefix(s, prefix) {
			return len(prefix) + sequence(s[len(prefix):])
		}
	}
	if len(s) > 1 && (s[1] == 'n' || s[1] == 'r' || s[1] == 't') && (len(s) == 2 || s[2] < 'a' || s[2] > 'z') {
		return 2 // not the folder of a Windows path
	}
	return 0
}

// orig is the offset in the original of the byte at i.
func (q *squeezed) orig(i int) int {
	n := sort.Search(len(q.gaps), func(k int) bool { return int(q.gaps[k].at) > i })
	g := q.gaps[n-1]
	return q.base + int(g.orig) + i - int(g.at)
}

// gapAt says whether something was left out right before i.
func (q *squeezed) gapAt(i int) bool {
	n := sort.Search(len(q.gaps), func(k int) bool { return int(q.gaps[k].at) >= i })
	return n < len(q.gaps) && int(q.gaps[n].at) == i && i > 0 && !q.gaps[n].joins
}

// begins says whether a number begins at i: not inside one, not after a sign, nor where a line was broken inside one.
func (q *squeezed) begins(i int) bool {
	if !isDigit(q.s[i]) {
		return false
	}
	switch c := at(q.s, i-1); c {
	case ',', '-':
		return q.gapAt(i)
	case '.', 'e':
		return !isDigit(at(q.s, i-2))
	default:
		return !isDigit(c)
	}
}

// Size is a number of bytes as a message prints it.
type Size struct {
	// Bytes is the printed value; Low and High bound what prints so.
	Bytes, Low, High int64
}

// units by their names in messages. All are powers of two, also where KB, MB
// and GB are written: PyTorch's MPS, XLA and Paddle divide by 1024.
var units = []struct {
	name  string
	shift uint
}{
	{"bytes", 0}, {"byte", 0},
	{"kib", 10}, {"mib", 20}, {"gib", 30}, {"tib", 40},
	{"kb", 10}, {"mb", 20}, {"gb", 30}, {"tb", 40},
	{"k", 10}, {"m", 20}, {"g", 30}, {"t", 40}, {"b", 0},
}

const multiLetterUnits = 10 // the first of units; PyTorch prints no others

// number reads digits at i, ended by a gap, with at most one point among them.
func (q *squeezed) number(i int) (end, decimals int) {
	end = i
	point := -1
	for end < len(q.s) && end-i < 40 && (end == i || !q.gapAt(end)) {
		c := q.s[end]
		if c == '.' && point < 0 && end > i && end+1 < len(q.s) && isDigit(q.s[end+1]) && !q.gapAt(end+1) {
			point = end
		} else if !isDigit(c) {
			break
		}
		end++
	}
	if point >= 0 {
		decimals = end - point - 1
	}
	return end, decimals
}

// size reads a number with one of the first n units at i.
func (q *squeezed) size(i, n int) (s Size, end int, ok bool) {
	end, decimals := q.number(i)
	if end == i {
		return s, i, false
	}
	digits := q.s[i:end]
	for decimals == 0 && at(q.s, end) == ',' && !q.gapAt(end) && !q.gapAt(end+1) {
		// A log in French has a comma for the point; three digits after one are thousands.
		next, more := q.number(end + 1)
		group := next - end - 1
		if more > 0 {
			group -= more + 1
		}
		digits += q.s[end+1 : next]
		switch {
		case group == 3:
			decimals = more
		case more == 0 && 0 < group && group < 3 && len(digits)-group == end-i:
			decimals = group
			digits = digits[:len(digits)-group] + "." + digits[len(digits)-group:]
		default:
			return s, i, false
		}
		end = next
	}
	for _, u := range units[:n] {
		if strings.HasPrefix(q.s[end:], u.name) {
			return toSize(digits, decimals, u.shift), end + len(u.name), true
		}
	}
	return s, i, false
}

// count reads a plain number at i.
func (q *squeezed) count(i int) (n int64, end int, ok bool) {
	end, decimals := q.number(i)
	if end == i || decimals > 0 {
		return 0, i, false
	}
	return toSize(q.s[i:end], 0, 0).Bytes, end, true
}

func toSize(digits string, decimals int, shift uint) Size {
	if decimals == 0 && shift == 0 {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			n = math.MaxInt64
		}
		return Size{n, n, n}
	}
	v, _ := strconv.ParseFloat(digits, 64) // digits and one point: it cannot fail but by size, then v is infinite
	half := 0.5 / math.Pow10(decimals)
	unit := math.Ldexp(1, int(shift))
	n := toInt(math.Round(v * unit))
	return Size{
		n,
		min(n, toInt(math.Ceil(max(0, v-half)*unit))),
		max(n, toInt(math.Floor((v+half)*unit))),
	}
}

func toInt(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(f)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
