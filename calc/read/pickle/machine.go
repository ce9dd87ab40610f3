package pickle

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"vrametre/calc/fault"
)

// The machine knows pickle's opcodes (CPython's Lib/pickletools.py) and builds values out of them; it calls nothing.
// What a pickle would have Python construct becomes an object that only remembers its class, arguments and state.

// Limits of one pickle.
const (
	maxStack = 1 << 16
	maxMarks = 1 << 12
	maxMemo  = 600_000
	// maxCost bounds the bytes of what is built.
	maxCost = 24 << 20
)

// Values are nil, bool, int64, float64, string, blob, *list, *dict, global, *storage, *tensor or *object.
type (
	// list is a list, a tuple or a set.
	list struct{ items []any }
	// dict keeps the order of its keys.
	dict struct{ items []pair }
	pair struct{ key, value any }
	// blob is bytes, of which only the length is kept.
	blob int
	// global names something a module holds.
	global struct{ module, name string }
	// object is whatever a class would have made.
	object struct {
		class global
		args  any
		state any
	}
	// storage is PyTorch's persistent object.
	storage struct {
		dtype, key string
		numel      int64
	}
	tensor struct {
		store  *storage
		dtype  string
		offset int64
		shape  []int64
	}
)

type machine struct {
	data  string
	pos   int
	stack []any
	marks []int
	memo  []any
	spent int
	// unsafe is the first name that lets a pickle run code.
	unsafe string
}

func (m *machine) fail(code string, args ...any) {
	fault.Throw(code, "data.pkl", append([]any{"offset", m.pos}, args...)...)
}

// take gives the next n bytes.
func (m *machine) take(n int64) string {
	if n < 0 || n > int64(len(m.data)-m.pos) {
		m.fail("pickle-short", "wanted", n)
	}
	s := m.data[m.pos : m.pos+int(n)]
	m.pos += int(n)
	return s
}

// line is what stands before the next newline.
func (m *machine) line() string {
	i := strings.IndexByte(m.data[m.pos:], '\n')
	if i < 0 {
		m.fail("pickle-short", "wanted", 1)
	}
	s := m.data[m.pos : m.pos+i]
	m.pos += i + 1
	return s
}

func (m *machine) number(n int64) int64 {
	s := m.take(n)
	var v uint64
	for i := len(s) - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	if n == 8 && v > math.MaxInt64 {
		m.fail("pickle-number")
	}
	return int64(v)
}

func (m *machine) push(v any) {
	if len(m.stack) >= maxStack {
		m.fail("pickle-stack", "limit", maxStack)
	}
	m.stack = append(m.stack, v)
}

// made counts an object and the values it holds against the limit, roughly by their bytes.
func (m *machine) made(values int) {
	if m.spent += 48 + 16*values; m.spent > maxCost {
		m.fail("pickle-objects", "limit", maxCost)
	}
}

func (m *machine) pop() any {
	if len(m.stack) == 0 || (len(m.marks) > 0 && len(m.stack) <= m.marks[len(m.marks)-1]) {
		m.fail("pickle-empty")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v
}

func (m *machine) top() any {
	v := m.pop()
	m.stack = append(m.stack, v)
	return v
}

// sinceMark takes what was pushed since the last mark.
func (m *machine) sinceMark() []any {
	if len(m.marks) == 0 {
		m.fail("pickle-mark")
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items
}

// newList copies items, which the stack will write over.
func (m *machine) newList(items ...any) *list {
	m.made(len(items))
	l := &list{}
	if len(items) > 0 {
		l.items = append(make([]any, 0, len(items)), items...)
	}
	return l
}

func (m *machine) put(i int64) {
	if i < 0 || i >= maxMemo {
		m.fail("pickle-memo", "limit", maxMemo)
	}
	for int64(len(m.memo)) <= i {
		m.memo = append(m.memo, absent)
	}
	m.memo[i] = m.top()
}

// absent marks a memo entry that was not put.
var absent = new(struct{ _ byte })

func (m *machine) get(i int64) {
	if i < 0 || i >= int64(len(m.memo)) || m.memo[i] == absent {
		m.fail("pickle-memo", "limit", maxMemo)
	}
	m.push(m.memo[i])
}

func (m *machine) decimal(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(s), "L"), 10, 64)
	if err != nil {
		m.fail("pickle-number")
	}
	return n
}

// long is a little-endian two's complement of n bytes; one beyond int64 becomes an opaque blob.
func (m *machine) long(n int64) any {
	s := m.take(n)
	if len(s) > 8 {
		return blob(len(s))
	}
	var v uint64
	for i := len(s) - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	if len(s) > 0 && len(s) < 8 && s[len(s)-1] >= 0x80 {
		v |= math.MaxUint64 << (8 * len(s))
	}
	return int64(v)
}

// dangerous are modules and builtins that no checkpoint needs and that can run anything.
var dangerous = map[string]bool{"os": true, "posix": true, "nt": true, "subprocess": true, "sys": true, "socket": true, "shutil": true, "runpy": true, "pty": true,
	"importlib": true, "webbrowser": true, "builtins.eval": true, "builtins.exec": true, "builtins.compile": true, "builtins.open": true, "builtins.getattr": true,
	"builtins.__import__": true, "__builtin__.eval": true, "__builtin__.exec": true, "__builtin__.execfile": true, "__builtin__.getattr": true, "__builtin__.__import__": true}

func (m *machine) global(module, name string) {
	if m.unsafe == "" && (dangerous[module] || dangerous[module+"."+name] || dangerous[strings.SplitN(module, ".", 2)[0]]) {
		m.unsafe = module + "." + name
	}
	m.made(0)
	m.push(global{module, name})
}

// run executes up to and including STOP and gives the value on the stack.
func (m *machine) run() any {
	for {
		op := m.take(1)[0]
		switch op {
		case '.':
			return m.pop()
		case '(':
			if len(m.marks) >= maxMarks {
				m.fail("pickle-stack", "limit", maxMarks)
			}
			m.marks = append(m.marks, len(m.stack))
		case '0':
			if n := len(m.marks); n > 0 && len(m.stack) == m.marks[n-1] {
				m.marks = m.marks[:n-1]
			} else {
				m.pop()
			}
		case '1':
			m.sinceMark()
		case '2':
			m.push(m.top())
		case 'N':
			m.push(nil)
		case 0x88, 0x89:
			m.push(op == 0x88)
		case 'I':
			switch s := m.line(); s {
			case "00", "01":
				m.push(s == "01")
			default:
				m.push(m.decimal(s))
			}
		case 'L':
			m.push(m.decimal(m.line()))
		case 'J':
			m.push(int64(int32(m.number(4))))
		case 'K':
			m.push(m.number(1))
		case 'M':
			m.push(m.number(2))
		case 0x8a:
			m.push(m.long(m.number(1)))
		case 0x8b:
			m.push(m.long(int64(int32(m.number(4)))))
		case 'F':
			m.line()
			m.push(0.0)
		case 'G':
			m.push(math.Float64frombits(binary.BigEndian.Uint64([]byte(m.take(8)))))
		case 'S', 'V':
			m.text(strings.Trim(m.line(), `'"`))
		case 'U', 0x8c:
			m.text(m.take(m.number(1)))
		case 'T':
			m.text(m.take(int64(int32(m.number(4)))))
		case 'X':
			m.text(m.take(m.number(4)))
		case 0x8d:
			m.text(m.take(m.number(8)))
		case 'B':
			m.push(blob(len(m.take(m.number(4)))))
		case 'C':
			m.push(blob(len(m.take(m.number(1)))))
		case 0x8e, 0x96:
			m.push(blob(len(m.take(m.number(8)))))
		case ']', ')', 0x8f:
			m.push(m.newList())
		case '}':
			m.made(0)
			m.push(&dict{})
		case 'l', 't', 0x91:
			l := m.newList(m.sinceMark()...)
			m.push(l)
		case 0x85:
			m.push(m.newList(m.pop()))
		case 0x86:
			b, a := m.pop(), m.pop()
			m.push(m.newList(a, b))
		case 0x87:
			c, b, a := m.pop(), m.pop(), m.pop()
			m.push(m.newList(a, b, c))
		case 'd':
			d := &dict{}
			m.fill(d, m.sinceMark())
			m.push(d)
		case 'a':
			v := m.pop()
			m.extend([]any{v})
		case 'e', 0x90:
			m.extend(m.sinceMark())
		case 's':
			v, k := m.pop(), m.pop()
			m.fill(m.top(), []any{k, v})
		case 'u':
			items := m.sinceMark()
			m.fill(m.top(), items)
		case 'p':
			m.put(m.decimal(m.line()))
		case 'q':
			m.put(m.number(1))
		case 'r':
			m.put(m.number(4))
		case 0x94:
			m.put(int64(len(m.memo)))
		case 'g':
			m.get(m.decimal(m.line()))
		case 'h':
			m.get(m.number(1))
		case 'j':
			m.get(m.number(4))
		case 'c':
			module := m.line()
			m.global(module, m.line())
		case 0x93:
			name, module := m.pop(), m.pop()
			a, ok := module.(string)
			b, ok2 := name.(string)
			if !ok || !ok2 {
				m.fail("pickle-global")
			}
			m.global(a, b)
		case 'P':
			m.line()
			m.push(m.object(global{}, nil))
		case 'Q':
			m.push(m.persistent(m.pop()))
		case 'R', 0x81:
			args, class := m.pop(), m.pop()
			m.push(m.reduce(class, args, 0))
		case 0x92:
			m.pop()
			args, class := m.pop(), m.pop()
			m.push(m.reduce(class, args, 0))
		case 'o':
			items := m.sinceMark()
			if len(items) == 0 {
				m.fail("pickle-empty")
			}
			class := items[0]
			m.push(m.reduce(class, m.newList(items[1:]...), 0))
		case 'i':
			module := m.line()
			name := m.line()
			args := m.newList(m.sinceMark()...)
			m.global(module, name)
			m.push(m.reduce(m.pop(), args, 0))
		case 'b':
			state := m.pop()
			if o, ok := m.top().(*object); ok {
				o.state = state
			}
		case 0x80:
			if v := m.number(1); v > 5 {
				m.fail("pickle-protocol", "version", v)
			}
		case 0x95:
			m.take(8)
		default:
			m.pos--
			m.fail("pickle-opcode", "opcode", int(op))
		}
	}
}

func (m *machine) text(s string) {
	m.made(0)
	m.push(s)
}

func (m *machine) object(class global, args any) *object {
	m.made(0)
	return &object{class: class, args: args}
}

// extend appends to the list on the stack; on an object (a list's subclass) it is the state.
func (m *machine) extend(items []any) {
	m.made(len(items))
	switch v := m.top().(type) {
	case *list:
		v.items = append(v.items, items...)
	case *object:
		if l, ok := v.state.(*list); ok {
			l.items = append(l.items, items...)
		} else {
			v.state = m.newList(items...)
		}
	default:
		m.fail("pickle-type")
	}
}

// fill sets items of a dict; on an object (a dict's subclass) they are the state.
func (m *machine) fill(to any, items []any) {
	if len(items)%2 != 0 {
		m.fail("pickle-empty")
	}
	m.made(len(items))
	d, ok := to.(*dict)
	if !ok {
		o, isObject := to.(*object)
		if !isObject {
			m.fail("pickle-type")
		}
		if d, ok = o.state.(*dict); !ok {
			m.made(0)
			d = &dict{}
			o.state = d
		}
	}
	for i := 0; i < len(items); i += 2 {
		d.items = append(d.items, pair{items[i], items[i+1]})
	}
}
