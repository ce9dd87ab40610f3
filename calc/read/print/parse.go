// Package print reads the text of print(model): any PyTorch module's repr, whole or cut, with whatever
// a notebook, a log or a forum put around it.
package print

import (
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/read"
)

// Field is the request's field that the text comes from; places are Field:line.
const Field = "model.torch"

func at(line int) string { return read.At(Field, line) }

// module is one printed module.
type module struct {
	name   string // in its parent
	class  string // as printed, with dots ("lora.Linear")
	extra  string // what extra_repr printed
	line   int
	first  int // of "(0-11): 12 x"
	repeat int
	kids   []*module
	open   bool // the text ended inside it
	elided bool // "..." stands for some of its children
	indent int
	param  []int64 // "Parameter containing: [torch.float32 of size 3x4]"
}

// kind is the class without its package.
func (m *module) kind() string {
	if i := strings.LastIndexByte(m.class, '.'); i >= 0 {
		return m.class[i+1:]
	}
	return m.class
}

func (m *module) kid(name string) *module {
	if m == nil {
		return nil
	}
	for _, k := range m.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

type parser struct {
	s      string
	i      int
	line   int // of s[i]
	nodes  int
	flat   bool // no line is indented: indentation says nothing
	warn   []*fault.Error
	indent int // of the line at i
}

// note adds a warning; a text that is mostly noise is not a list of warnings.
func (p *parser) note(code, at string, args ...any) {
	if len(p.warn) < maxNotes {
		p.warn = append(p.warn, fault.New(code, at, args...))
	}
}

const maxNotes = 20

func (p *parser) fail(code string, args ...any) { fault.Throw(code, at(p.line), args...) }

// root is a model found in the text; orphan: its first line is missing.
type root struct {
	*module
	orphan bool
}

// parse finds the printed models of a text.
func parse(text string) (roots []root, warn []*fault.Error, err error) {
	defer fault.Catch(&err)
	if len(text) > read.MaxBytes {
		return nil, nil, fault.New("text-large", Field, "bytes", len(text), "limit", read.MaxBytes)
	}
	p := &parser{s: clean(text), line: 1, flat: true}
	for i := 0; i+1 < len(p.s); i++ {
		if p.s[i] == '\n' && (p.s[i+1] == ' ') {
			p.flat = false
			break
		}
	}
	var loose []*module // modules whose parent's line is missing
	flush := func(closed bool) {
		switch {
		case len(loose) == 0:
		default:
			roots = append(roots, root{&module{class: "Module", line: loose[0].line, kids: loose, open: !closed && len(loose) > 1}, true})
		}
		loose = nil
	}
	for p.i < len(p.s) {
		start := p.i
		if p.s[p.i] == '(' && p.newline() {
			if l, ok := p.prefix(); ok {
				loose = append(loose, p.labelled(l, 0))
				continue
			}
		}
		switch {
		case p.head():
			flush(true)
			m := &module{line: p.line, indent: p.indent}
			m.class = p.ident()
			p.body(m, 0)
			roots = append(roots, root{m, false})
			continue
		case p.s[p.i] == ')' && len(loose) > 0 && p.bol():
			// the end of a parent whose first line is missing
			m := &module{class: "Module", line: loose[0].line, kids: loose}
			if len(loose) == 1 && loose[0].class == "Module" && loose[0].name == "" {
				m = loose[0]
			}
			loose = []*module{m}
		}
		if p.i == start {
			p.step()
			// only a line's beginning, or the text after "Out[1]: ", "model = ", can start a model
			for p.i < len(p.s) && p.s[p.i] != '\n' && !starter(p.s[p.i-1]) {
				p.step()
			}
		}
	}
	flush(false)
	if len(roots) == 0 {
		roots = p.leaves()
	}
	for _, r := range roots {
		p.built(r.module)
	}
	return roots, p.warn, nil
}

// starter says whether a model's name can follow c.
func starter(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '=' || c == ':' || c == '>' || c == '`' || c == '"' || c == '\''
}

// step goes on by one byte, counting lines.
func (p *parser) step() {
	if p.s[p.i] == '\n' {
		p.line++
		p.i++
		p.indent = 0
		for p.i+p.indent < len(p.s) && p.s[p.i+p.indent] == ' ' {
			p.indent++
		}
		return
	}
	p.i++
}

// bol says whether only spaces and closing parentheses stand before i on its line.
func (p *parser) bol() bool {
	for j := p.i - 1; j >= max(0, p.i-256); j-- {
		switch p.s[j] {
		case '\n':
			return true
		case ' ', ')':
		default:
			return false
		}
	}
	return p.i <= 256
}

func identStart(c byte) bool {
	return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}
func identPart(c byte) bool { return identStart(c) || c >= '0' && c <= '9' || c == '.' }

// identEnd is where the class name at i ends, or i; dots belong to it.
func (p *parser) identEnd(i int) int {
	if i >= len(p.s) || !identStart(p.s[i]) {
		return i
	}
	j := i + 1
	for j < len(p.s) && identPart(p.s[j]) {
		j++
	}
	return j
}

func (p *parser) ident() string {
	j := p.identEnd(p.i)
	s := p.s[p.i:j]
	p.i = j
	return s
}

// head says whether a model starts here: Class( with children behind it.
func (p *parser) head() bool {
	j := p.identEnd(p.i)
	if j == p.i || j >= len(p.s) || p.s[j] != '(' {
		return false
	}
	// at most three lines of the module's own text, then its first child
	q := parser{s: p.s, i: j + 1}
	for lines := 0; q.i < len(p.s) && lines < 4; {
		for q.i < len(p.s) && q.s[q.i] == ' ' {
			q.i++
		}
		if q.i < len(p.s) && q.s[q.i] == '\n' {
			q.i++
			lines++
			continue
		}
		if _, ok := q.prefix(); ok {
			return true
		}
		if lines == 0 {
			return false // Class(arguments on its own line
		}
		n := strings.IndexByte(q.s[q.i:], '\n')
		if n < 0 || q.s[q.i+n-1] == '(' || strings.ContainsAny(q.s[q.i:q.i+n], ":#") || strings.HasPrefix(q.s[q.i:], "nn.") {
			return false
		}
		q.i += n
	}
	return false
}

// label is "(name): " or "(0-11): 12 x ".
type label struct {
	name          string
	first, repeat int
	end           int // index of the class
}

// prefix reads the label at i, if there is one with a class or a parameter behind it.
func (p *parser) prefix() (label, bool) {
	s, i := p.s, p.i
	if i >= len(s) || s[i] != '(' {
		return label{}, false
	}
	j := i + 1
	for j < len(s) && s[j] != ')' {
		if c := s[j]; c == '(' || c == '\n' || c == ',' || c == '=' || j-i > 64 {
			return label{}, false
		}
		j++
	}
	if j == i+1 || j+1 >= len(s) || s[j+1] != ':' {
		return label{}, false
	}
	l := label{name: s[i+1 : j], repeat: 1}
	j += 2
	for j < len(s) && s[j] == ' ' {
		j++
	}
	if a, b, ok := strings.Cut(l.name, "-"); ok {
		from, err := strconv.Atoi(a)
		to, err2 := strconv.Atoi(b)
		k := j
		for k < len(s) && s[k] >= '0' && s[k] <= '9' {
			k++
		}
		n, err3 := strconv.Atoi(s[j:k])
		if err == nil && err2 == nil && err3 == nil && strings.HasPrefix(s[k:], " x ") {
			if to-from+1 != n || n < 1 {
				return label{}, false
			}
			l.first, l.repeat = from, n
			j = k + 3
		}
	}
	l.end = j
	if strings.HasPrefix(s[j:], "Parameter containing") || strings.HasPrefix(s[j:], "Object of type") {
		return l, true
	}
	k := p.identEnd(j)
	if k == j {
		return label{}, false
	}
	if k < len(s) && s[k] == ' ' { // "Linear (in_features=..."
		k++
	}
	switch {
	case k < len(s) && s[k] == '(':
		return l, true
	case strings.HasPrefix(s[j:], "None"):
		return l, true
	case k == len(s): // cut in the class
		return l, true
	}
	return label{}, false
}

func (p *parser) labelled(l label, depth int) *module {
	if depth > read.MaxDepth {
		p.fail("text-depth", "limit", read.MaxDepth)
	}
	if p.nodes++; p.nodes > read.MaxNodes {
		p.fail("text-modules", "limit", read.MaxNodes)
	}
	if l.repeat > read.MaxBuilt {
		p.fail("text-modules", "limit", read.MaxBuilt)
	}
	m := &module{name: l.name, first: l.first, repeat: l.repeat, line: p.line, indent: p.indent}
	p.i = l.end
	if s := p.s[p.i:]; strings.HasPrefix(s, "Parameter containing") || strings.HasPrefix(s, "Object of type") {
		m.class = "Parameter"
		n := strings.IndexByte(s, '\n')
		if n < 0 {
			n = len(s)
		}
		m.extra = s[:n]
		m.param = sizeOf(m.extra)
		p.i += n
		return m
	}
	m.class = p.ident()
	if m.class == "None" {
		return m
	}
	if p.i < len(p.s) && p.s[p.i] == ' ' {
		p.i++
	}
	if p.i >= len(p.s) {
		m.open = true
		return m
	}
	p.body(m, depth)
	return m
}

// sizeOf reads "[torch.float32 of size 3x4]".
func sizeOf(s string) []int64 {
	_, s, ok := strings.Cut(s, " of size ")
	if !ok {
		return nil
	}
	s, _, _ = strings.Cut(s, "]")
	s, _, _ = strings.Cut(s, " ")
	var out []int64
	for _, f := range strings.Split(s, "x") {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n < 0 || n > 1<<40 || len(out) > 8 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// body reads from the opening parenthesis of m to its closing one: text of its own and children.
func (p *parser) body(m *module, depth int) {
	p.i++ // (
	from, to := p.i, p.i
	nest := 0
	quote := byte(0)
	fresh := true // at the beginning of a line, or behind a child
	text := func() {
		if t := strings.TrimSpace(p.s[from:to]); t != "" {
			switch {
			case t == "..." || t == "…" || t == "[...]":
				m.elided = true
			case m.kids == nil:
				m.extra = t
			}
		}
	}
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '(' && (fresh || nest == 0) {
			if l, ok := p.prefix(); ok {
				if nest > 0 { // the line before was cut
					p.note("line-cut", at(p.line))
					nest, quote = 0, 0
				}
				if fresh && !p.flat && p.indent <= m.indent && m.indent+p.indent > 0 && p.newline() {
					// a child of one further out: this module's closing line is missing
					to = p.i
					text()
					p.note("parenthesis-missing", at(p.line), "class", m.class)
					return
				}
				to = p.i
				text()
				m.kids = append(m.kids, p.labelled(l, depth+1))
				from, to, fresh = p.i, p.i, true
				continue
			}
		}
		switch {
		case quote != 0:
			if c == quote || c == '\n' {
				quote = 0
			}
		case c == '\'' || c == '"':
			if nest > 0 || p.i > from && (p.s[p.i-1] == '=' || p.s[p.i-1] == ' ') {
				quote = c
			}
		case c == '(' || c == '[' || c == '{':
			nest++
		case (c == ']' || c == '}') && nest > 0:
			nest--
		case c == ')':
			if nest == 0 {
				to = p.i
				text()
				p.i++
				return
			}
			nest--
		}
		if c == '\n' {
			p.step()
			fresh = true
			if m.kids != nil { // what stands between children is not this module's text
				to = p.i - 1
				p.between(m, p.s[from:to])
				from = p.i
			}
			for p.i < len(p.s) && p.s[p.i] == ' ' {
				p.i++
			}
			continue
		}
		if c != ' ' {
			fresh = false
		}
		p.i++
	}
	to = p.i
	text()
	m.open = true
}

// newline says whether only spaces stand before i on its line.
func (p *parser) newline() bool {
	for j := p.i - 1; j >= 0; j-- {
		if p.s[j] == '\n' {
			return true
		}
		if p.s[j] != ' ' {
			return false
		}
	}
	return true
}

// between notes a line that is no module: dots for what was left out, or foreign text.
func (p *parser) between(m *module, s string) {
	s = strings.Trim(s, " ,\n")
	switch {
	case s == "":
	case strings.HasPrefix(s, "...") || s == "…" || s == "[...]" || strings.HasPrefix(s, "(...)"):
		m.elided = true
	default:
		p.note("line-ignored", at(p.line-1), "text", short(s))
	}
}

func short(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// built checks how many modules m and those below stand for, and how long their paths are together.
func (p *parser) built(m *module) {
	var modules, bytes int64
	var walk func(m *module, times, path int64)
	walk = func(m *module, times, path int64) {
		modules += times
		bytes += times * path
		if modules > read.MaxBuilt || bytes > read.MaxPaths {
			fault.Throw("text-modules", at(m.line), "limit", read.MaxBuilt)
		}
		for _, k := range m.kids {
			walk(k, times*int64(max(k.repeat, 1)), path+int64(len(k.name))+1)
		}
	}
	walk(m, 1, 0)
}

// leaves finds single layers printed without a container.
func (p *parser) leaves() []root {
	line := 0
	var out []root
	for s := range strings.SplitSeq(p.s, "\n") {
		line++
		s = strings.TrimSpace(s)
		q := parser{s: s, line: line, flat: true}
		j := q.identEnd(0)
		if j == 0 || j >= len(s) || s[j] != '(' || !strings.HasSuffix(s, ")") || !known(s[:j]) {
			continue
		}
		m := &module{class: q.ident(), line: line}
		q.body(m, 0)
		if q.i == len(s) && !m.open {
			out = append(out, root{m, false})
		}
	}
	return out
}

// clean takes out what terminals, notebooks and forums add, keeping every line where it is.
func clean(s string) string {
	if !strings.Contains(s, "\n") && strings.Contains(s, `\n  (`) { // a notebook's or a log's repr of the text
		s = strings.ReplaceAll(s, `\n`, "\n")
	}
	s = unlogged(entities.Replace(s))
	dirty := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == 0x1b || c == '\r' || c == '\t' || c == 0xc2 && i+1 < len(s) && s[i+1] == 0xa0:
			dirty = true
		case (c == '>' || c == '|' || c == '#' || c == '"' || c == '\'') && (i == 0 || s[i-1] == '\n' || s[i-1] == ' '):
			dirty = true
		}
		if dirty {
			break
		}
	}
	if !dirty {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		n := strings.IndexByte(s, '\n')
		line := s
		if n >= 0 {
			line, s = s[:n], s[n+1:]
		} else {
			s = ""
		}
		line = unquote(line)
		for i := 0; i < len(line); i++ {
			switch c := line[i]; {
			case c == 0x1b: // CSI ... letter, OSC ... BEL
				i++
				if i < len(line) && line[i] == ']' {
					for i < len(line) && line[i] != 7 {
						i++
					}
					break
				}
				for i++; i < len(line) && (line[i] < '@' || line[i] > '~'); i++ {
				}
			case c == '\r':
				if i+1 < len(line) { // a bare carriage return inside a line ends it on the screen
					b.WriteByte(' ')
				}
			case c == '\t':
				b.WriteString("    ")
			case c == 0xc2 && i+1 < len(line) && line[i+1] == 0xa0:
				b.WriteByte(' ')
				i++
			default:
				b.WriteByte(c)
			}
		}
		if n >= 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// entities undoes what a web page's source writes for the marks of a print.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&#34;", `"`, "&#39;", "'", "&#x27;", "'", "&nbsp;", " ")

// unlogged takes off what a log or a listing puts before every line: what stands before a model's first line, where the
// next line has it too with other digits, and a child behind it.
func unlogged(s string) string {
	for rest := s; ; {
		line, after, more := strings.Cut(rest, "\n")
		if !more {
			return s
		}
		if mark := before(line); mark != "" {
			next, _, _ := strings.Cut(after, "\n")
			if n := marked(next, mark); n > 0 && strings.HasPrefix(next[n:], " ") && strings.HasPrefix(strings.TrimLeft(next[n:], " "), "(") {
				lines := strings.Split(s, "\n")
				for i, l := range lines {
					lines[i] = l[marked(l, mark):]
				}
				return strings.Join(lines, "\n")
			}
		}
		rest = after
	}
}

// before is what stands before "Class(" on a line that nothing else ends; "" where that is nothing, or a child's name.
func before(line string) string {
	line, opens := strings.CutSuffix(strings.TrimRight(line, " \r"), "(")
	at := len(line)
	for at > 0 && identPart(line[at-1]) {
		at--
	}
	if mark := line[:at]; opens && at < len(line) && identStart(line[at]) && strings.TrimSpace(mark) != "" && !strings.Contains(mark, "(") {
		return mark
	}
	return ""
}

// marked is how much of a line mark takes, any number standing for any other of its column; 0 where the line begins
// otherwise.
func marked(line, mark string) int {
	at := 0
	for i := 0; i < len(mark); {
		digits := strings.TrimLeft(mark[i:], " ")
		if n := len(digits) - len(strings.TrimLeft(digits, "0123456789")); n > 0 {
			number := strings.TrimLeft(line[at:], " ")
			m := len(number) - len(strings.TrimLeft(number, "0123456789"))
			if m == 0 {
				return 0
			}
			at = len(line) - len(number) + m
			i = len(mark) - len(digits) + n
			continue
		}
		if at == len(line) || line[at] != mark[i] {
			return 0
		}
		at++
		i++
	}
	return at
}

// unquote takes off marks of quotation and of comments at a line's beginning.
func unquote(line string) string {
	for _, mark := range []string{"> ", "| ", "# ", ">>> ", "#  "} {
		if strings.HasPrefix(line, mark) {
			line = line[len(mark):]
			break
		}
	}
	if line == ">" || line == "|" || line == "#" {
		return ""
	}
	return line
}
