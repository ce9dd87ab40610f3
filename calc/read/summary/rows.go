package summary

import (
	"strconv"
	"strings"

	"vrametre/calc/fault"
)

// looksTorchsummary: "Conv2d-1   [-1, 64, 224, 224]   1,792".
func looksTorchsummary(s string) bool {
	name, _, ok := strings.Cut(strings.TrimSpace(s), " ")
	return ok && classIndex(name) > 0 && strings.Contains(s, "[")
}

// classIndex is where "-12" of "Conv2d-12" begins, 0 where there is none.
func classIndex(name string) int {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 || i == len(name)-1 {
		return 0
	}
	if _, err := strconv.Atoi(name[i+1:]); err != nil || !letter(name[0]) {
		return 0
	}
	return i
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func (t *table) torchsummary(s string, line int) bool {
	s = strings.TrimSpace(s)
	name, rest, _ := strings.Cut(s, " ")
	i := classIndex(name)
	if i == 0 {
		return false
	}
	r := &row{class: name[:i], depth: 1, line: line}
	shape, rest, ok := dims(strings.TrimSpace(rest))
	if !ok {
		t.cut = line
		return true
	}
	r.shape = shape
	if r.params, ok = number(strings.TrimSpace(rest)); !ok {
		if strings.TrimSpace(rest) != "" {
			fault.Throw("summary-number", at(line), "value", clip(strings.TrimSpace(rest)))
		}
		t.cut = line
	}
	t.add(r)
	return true
}

// torchinfo reads a row of torchinfo: "│    └─Conv2d: 2-1   [2, 64, 112, 112]   9,408".
func (t *table) torchinfo(s string, line int, header []string, indent *[]int) bool {
	body := strings.TrimLeft(s, " │├└─+|`-")
	if body == "" || strings.Trim(body, "=_─") == "" {
		return false
	}
	if !letter(body[0]) {
		return false
	}
	r := &row{line: line}
	// the class, then "(variable)" and ": depth-index"
	i := 0
	for i < len(body) && (letter(body[i]) || body[i] >= '0' && body[i] <= '9' || body[i] == '.') {
		i++
	}
	r.class = body[:i]
	rest := body[i:]
	if strings.HasPrefix(rest, " (") && !strings.HasPrefix(rest, " (None") {
		j := strings.IndexByte(rest, ')')
		if j < 0 {
			t.cut = line
			return true
		}
		r.name = rest[2:j]
		rest = rest[j+1:]
	}
	column := len([]rune(s[:len(s)-len(body)]))
	depth := -1
	if v, ok := strings.CutPrefix(rest, ": "); ok {
		mark, after, _ := strings.Cut(v, " ")
		if d, _, ok := strings.Cut(mark, "-"); ok {
			if n, err := strconv.Atoi(d); err == nil && n >= 0 && n <= 512 {
				depth = n
			}
		}
		rest = after
	}
	// the tree's columns give the depth where the table does not
	stack := *indent
	for len(stack) > 0 && stack[len(stack)-1] >= column {
		stack = stack[:len(stack)-1]
	}
	if depth < 0 {
		depth = len(stack)
	}
	if len(stack) > 512 {
		fault.Throw("text-depth", at(line), "limit", 512)
	}
	*indent = append(stack, column)
	r.depth = depth
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return false
	}
	for _, c := range header {
		rest = strings.TrimSpace(rest)
		if rest == "" {
			if c == "Param #" || c == "Output Shape" {
				t.cut = line
			}
			break
		}
		word, after, _ := strings.Cut(rest, " ")
		switch c {
		case "Input Shape", "Output Shape", "Kernel Shape":
			if word == "--" {
				rest = after
				continue
			}
			shape, after, ok := dims(rest)
			if !ok {
				if n, isNumber := number(word); isNumber { // a pooling's kernel
					shape, after = []int64{n}, rest[len(word):]
				} else {
					t.cut = line
					return true
				}
			}
			rest = after
			if c == "Output Shape" {
				r.shape = shape
			} else if c == "Kernel Shape" {
				r.kernel = shape
			}
		case "Param #":
			v := strings.Trim(word, "()")
			r.frozen = strings.HasPrefix(word, "(") && v != "recursive"
			r.again = v == "recursive"
			if v != "--" && v != "recursive" {
				n, ok := number(v)
				if !ok {
					fault.Throw("summary-number", at(line), "value", clip(word))
				}
				r.params = n
			}
			rest = after
		default:
			rest = after
		}
	}
	if r.depth == 0 && t.model == "" {
		t.model = r.class
	}
	t.add(r)
	return true
}

// looksKeras: "block1_conv1 (Conv2D)   (None, 224, 224, 64)   1792".
func looksKeras(s string) bool {
	i := strings.Index(s, "(None")
	if i < 0 {
		i = strings.Index(s, "(?")
	}
	return i > 0 && strings.Contains(s[:i], "(") && !strings.Contains(s, ": ")
}

// keras reads a row of a Keras summary; a layer's further inputs and the ends of wrapped names are rows of their own.
func (t *table) keras(s string, line int) bool {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch r {
		case '│', '├', '─', '└', '┤', '┘', '┴', '┼', '┬', '┐', '┌':
			return ' '
		}
		return r
	}, s))
	if s == "" || strings.Trim(s, "_=─-") == "" {
		return false
	}
	last := (*row)(nil)
	if n := len(t.rows); n > 0 {
		last = t.rows[n-1]
	}
	i := strings.Index(s, "(")
	switch {
	case strings.HasPrefix(s, "(") && last != nil && last.class == "": // the class on a line of its own
		if j := strings.IndexByte(s, ')'); j > 0 {
			last.class = s[1:j]
			last.inputs = append(last.inputs, connections(s[j+1:])...)
		}
		return true
	case i < 0 || strings.HasSuffix(firstWord(s), "]") || strings.Contains(firstWord(s), "["):
		if last != nil {
			last.inputs = append(last.inputs, connections(s)...)
		}
		return last != nil
	}
	r := &row{line: line, depth: 1, name: firstWord(s)}
	rest := strings.TrimSpace(s[len(r.name):])
	if shape, after, ok := dims(rest); ok && !strings.HasPrefix(rest, "(") || ok && len(shape) > 0 && strings.HasPrefix(rest, "(None") {
		r.shape, rest = shape, after // Keras 3: the class follows on the next line
	} else if strings.HasPrefix(rest, "(") {
		j := strings.IndexAny(rest[1:], ") ")
		if j < 0 {
			t.cut = line
			return true
		}
		r.class = rest[1 : j+1]
		rest = strings.TrimSpace(strings.TrimPrefix(rest[j+1:], ")"))
		k := strings.IndexAny(rest, "([")
		if k < 0 || k > 12 && !strings.HasPrefix(strings.TrimSpace(rest[:k]), "multiple") {
			if strings.HasPrefix(rest, "multiple") || strings.HasPrefix(rest, "?") {
				_, rest, _ = strings.Cut(rest, " ")
			} else if rest == "" || strings.HasPrefix(rest, "(") {
				t.cut = line
				return true
			}
		} else {
			var ok bool
			if r.shape, rest, ok = dims(rest[k:]); !ok {
				t.cut = line
				return true
			}
		}
	} else {
		return false
	}
	rest = strings.TrimSpace(rest)
	word := firstWord(rest)
	if word == "" {
		t.cut = line
	} else {
		n, ok := number(word)
		if !ok {
			fault.Throw("summary-number", at(line), "value", clip(word))
		}
		r.params = n
	}
	r.inputs = connections(rest[len(word):])
	t.add(r)
	return true
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// connections reads "activation_15[0][0], input_2[0][0]".
func connections(s string) []string {
	var out []string
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }) {
		if name, _, ok := strings.Cut(f, "["); ok && name != "" {
			out = append(out, name)
		}
	}
	return out
}
