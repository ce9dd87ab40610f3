// Package summary reads the tables of torchinfo, torchsummary and Keras: the layers with their parameters and output
// shapes, the tool's own totals, and, where the rows are enough, the network.
package summary

import (
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/read"
)

// Field is the request's field that the text comes from.
const Field = "model.summary"

func at(line int) string { return read.At(Field, line) }

// row is one line of the table.
type row struct {
	name   string // variable or Keras layer name, where the table has it
	path   string // of the module in the network, where one was found
	class  string
	depth  int // of the module, 0 for the model itself
	shape  []int64
	params int64
	kernel []int64
	frozen bool
	again  bool // a module that was listed before
	inputs []string
	line   int
	kids   []*row
}

// table is what the text holds.
type table struct {
	kind   string
	model  string // the model's class or name
	rows   []*row
	stated read.Stated
	totals bool // the totals were there
	cut    int  // line of an unfinished row
	batch  int64
	warn   []*fault.Error
}

const (
	maxRows  = 20_000
	maxNotes = 20
)

func (t *table) note(code, at string, args ...any) {
	if len(t.warn) < maxNotes {
		t.warn = append(t.warn, fault.New(code, at, args...))
	}
}

func (t *table) add(r *row) {
	if len(t.rows) >= maxRows {
		fault.Throw("text-modules", at(r.line), "limit", maxRows)
	}
	t.rows = append(t.rows, r)
}

// Read understands a summary table. shape is the first input's, per sample, where the caller gave one.
func Read(text string, shape []int64) (m *read.Model, err error) {
	defer fault.Catch(&err)
	if len(text) > read.MaxBytes {
		return nil, fault.New("text-large", Field, "bytes", len(text), "limit", read.MaxBytes)
	}
	var t *table
	for _, c := range parse(text) {
		if len(c.rows) == 0 {
			continue
		}
		if t != nil {
			c.note("summary-several", at(t.rows[0].line))
		}
		t = c
	}
	if t == nil {
		return nil, fault.New("summary-none", at(1))
	}
	m = &read.Model{Kind: t.kind, Loss: "cross_entropy", Warnings: t.warn, Stated: &t.stated}
	t.understand(m, shape)
	return m, nil
}

// Is says whether a text holds a summary table: the head of one, or a row as only these tools write them.
func Is(text string) bool {
	for s := range strings.SplitSeq(text, "\n") {
		if strings.Contains(s, "Layer (type") && strings.Contains(s, "Param") {
			return true
		}
		if s = strings.Map(plain, s[:min(len(s), 4096)]); looksKeras(s) || looksTorchsummary(s) {
			return true
		}
	}
	return false
}

// parse finds the tables of a text; the kind of each is told by the first row that shows it.
func parse(text string) []*table {
	t := &table{}
	all := []*table{t}
	end := func(line int) {
		if t.cut == 0 && !t.totals && len(t.rows) > 0 {
			t.cut = line
		}
	}
	line := 0
	header := []string(nil)
	var indent []int // tree columns of the rows above, for tables without depth-idx
	for s := range strings.SplitSeq(text, "\n") {
		line++
		s = strings.TrimRight(strings.TrimSuffix(s, "\r"), " ")
		s = strings.Map(plain, s)
		if len(s) > 4096 {
			fault.Throw("line-long", at(line), "limit", 4096)
		}
		if t.total(s, line) {
			continue
		}
		if i := strings.Index(s, "Layer (type"); i >= 0 && strings.Contains(s, "Param") {
			header = columns(s)
			if len(t.rows) > 0 { // another table
				end(line)
				t, indent = &table{}, nil
				if all = append(all, t); len(all) > 64 {
					fault.Throw("text-modules", at(line), "limit", 64)
				}
			}
			continue
		}
		if name, ok := strings.CutPrefix(strings.TrimSpace(s), "Model: "); ok {
			t.model = strings.Trim(name, `"`)
			continue
		}
		switch {
		case t.kind == "keras" || t.kind == "" && looksKeras(s):
			if t.keras(s, line) {
				t.kind = "keras"
			}
		case t.kind == "torchsummary" || t.kind == "" && looksTorchsummary(s):
			if t.torchsummary(s, line) {
				t.kind = "torchsummary"
			}
		case header != nil && (t.kind == "torchinfo" || t.kind == ""):
			if t.torchinfo(s, line, header, &indent) {
				t.kind = "torchinfo"
			}
		}
	}
	end(line)
	return all
}

// plain turns the glyphs that tables are drawn with into spaces, but for the branches of a tree.
func plain(r rune) rune {
	switch r {
	case '|', '┃', '\t', '\u00a0', '┡', '┩', '╇', '━', '┏', '┓', '┳', '┗', '┛', '┻', '║', '╔', '╗', '═':
		return ' '
	case '\x1b':
		return -1
	}
	return r
}

// columns are the names of a torchinfo header, in order.
func columns(s string) []string {
	type found struct {
		at   int
		name string
	}
	var list []found
	for _, n := range []string{"Input Shape", "Output Shape", "Param #", "Param %", "Kernel Shape", "Mult-Adds", "Trainable"} {
		if i := strings.Index(s, n); i >= 0 {
			list = append(list, found{i, n})
		}
	}
	var out []string
	for len(list) > 0 {
		best := 0
		for i := range list {
			if list[i].at < list[best].at {
				best = i
			}
		}
		out = append(out, list[best].name)
		list = append(list[:best], list[best+1:]...)
	}
	return out
}

// total reads a line of totals; the tools' own units: torchinfo's MB are 10^6 bytes, torchsummary's and Keras's 2^20.
func (t *table) total(s string, line int) bool {
	i := strings.Index(s, ": ")
	if i < 0 {
		return false
	}
	name := strings.TrimSpace(strings.TrimLeft(s[:i], " │├└─"))
	value := strings.TrimSpace(s[i+2:])
	unit := int64(0)
	if j := strings.LastIndexByte(name, '('); j > 0 && strings.HasSuffix(name, ")") {
		unit = map[string]int64{"MB": 1 << 20, "kB": 1000, "KB": 1000, "GB": 1e9, "B": 1, "Bytes": 1}[name[j+1:len(name)-1]]
		if unit == 1<<20 && t.kind == "torchinfo" {
			unit = 1e6
		}
		name = strings.TrimSpace(name[:j])
	}
	into := map[string]*int64{"Total params": &t.stated.Total, "Trainable params": &t.stated.Trainable, "Non-trainable params": &t.stated.NonTrainable,
		"Input size": &t.stated.InputBytes, "Forward/backward pass size": &t.stated.ForwardBytes, "Params size": &t.stated.ParamsBytes,
		"Estimated Total Size": &t.stated.TotalBytes}[name]
	if into == nil {
		return name == "Total mult-adds" || name == "Optimizer params"
	}
	value, _, _ = strings.Cut(value, " ")
	if unit > 0 {
		*into = scaled(value, unit)
		return true
	}
	n, ok := number(value)
	if !ok {
		fault.Throw("summary-number", at(line), "value", clip(value))
	}
	*into = n
	t.totals = true
	return true
}

// scaled is a decimal number times a unit, without floating point's surprises on what people paste.
func scaled(s string, unit int64) int64 {
	whole, frac, _ := strings.Cut(strings.ReplaceAll(s, ",", ""), ".")
	n, ok := number(whole)
	if !ok || n > 1<<40 {
		return 0
	}
	v := float64(n)
	for i, d := 0, 0.1; i < len(frac) && i < 6 && frac[i] >= '0' && frac[i] <= '9'; i, d = i+1, d/10 {
		v += d * float64(frac[i]-'0')
	}
	return int64(v * float64(unit))
}

// number reads 1,234 or 1 234 or 1234, at most 2^53.
func number(s string) (int64, bool) {
	var n int64
	digits := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
			digits++
			if n > 1<<53 {
				return 0, false
			}
		case c == ',' && digits > 0:
		default:
			return 0, false
		}
	}
	return n, digits > 0
}

func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// dims reads "[2, 64, 112, 112]" or "(None, 28, 28, 1)" from the beginning of s; unknown sizes are -1. rest is what follows.
func dims(s string) (shape []int64, rest string, ok bool) {
	i := 0
	open := 0
	for i < len(s) && (s[i] == '[' || s[i] == '(') {
		i++
		open++
	}
	if open == 0 {
		return nil, s, false
	}
	for {
		for i < len(s) && (s[i] == ' ' || s[i] == ',') {
			i++
		}
		if i >= len(s) {
			return shape, "", false
		}
		if s[i] == ']' || s[i] == ')' {
			break
		}
		j := i
		for j < len(s) && s[j] != ',' && s[j] != ']' && s[j] != ')' && s[j] != ' ' {
			j++
		}
		word := s[i:j]
		n, isNumber := number(word)
		switch {
		case isNumber && n <= 1<<40:
			shape = append(shape, n)
		case word == "None" || word == "-1" || word == "?":
			shape = append(shape, -1)
		default:
			return shape, s[i:], false
		}
		if len(shape) > 8 {
			return shape, s[i:], false
		}
		i = j
	}
	for i < len(s) && (s[i] == ']' || s[i] == ')') && open > 0 {
		i++
		open--
	}
	// further outputs of the same module: "[[2, 3], [2, 4]]" or "[(None, 3), (None, 4)]"
	for open > 0 && i < len(s) && s[i] != ']' {
		i++
	}
	if open > 0 && i < len(s) {
		i++
	}
	return shape, s[i:], len(shape) > 0
}
