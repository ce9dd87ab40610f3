package onnx

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"vrametre/calc/fault"
	"vrametre/calc/read/checkpoint"
)

// A reader of protocol buffers' wire format for the few messages of onnx.proto that say what a network is. Field numbers are
// those of github.com/onnx/onnx, onnx/onnx.proto. Tensors' data is stepped over, except short constants.

// Limits of a file.
const (
	maxNodes   = 50_000
	maxInits   = checkpoint.MaxTensors
	maxText    = 4096
	maxInts    = 1024 // numbers of a constant or attribute that are kept
	maxNesting = 16
	// maxCost bounds the bytes of what is built.
	maxCost = 48 << 20
)

// message is a run of fields.
type message struct {
	p    *parser
	end  int64
	deep int
}

type parser struct {
	*checkpoint.Stream
	spent int
	// at is the graph part being read, for errors.
	at string
}

func (p *parser) fail(code string, args ...any) {
	fault.Throw(code, p.at, append([]any{"offset", p.Pos}, args...)...)
}

func (p *parser) cost(bytes int) {
	if p.spent += bytes; p.spent > maxCost {
		p.fail("onnx-large", "limit", maxCost)
	}
}

func (m *message) varint() uint64 {
	var v uint64
	for i := range 10 {
		if m.p.Pos >= m.end {
			m.p.fail("onnx-short")
		}
		b := m.p.Next(1)[0]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v
		}
	}
	m.p.fail("onnx-varint")
	return 0
}

// length of a field of wire type 2, checked against the message.
func (m *message) length() int64 {
	n := m.varint()
	if n > uint64(m.end-m.p.Pos) {
		m.p.fail("onnx-length", "length", n)
	}
	return int64(n)
}

// fields calls f for each field; what f does not read is stepped over.
func (m *message) fields(f func(field int, wire int)) {
	for m.p.Pos < m.end {
		key := m.varint()
		field, wire := int(key>>3), int(key&7)
		if field == 0 || key>>3 > 1<<29 {
			m.p.fail("onnx-field")
		}
		before := m.p.Pos
		f(field, wire)
		if m.p.Pos == before {
			m.skip(wire)
		}
	}
	if m.p.Pos > m.end {
		m.p.fail("onnx-length", "length", m.p.Pos-m.end)
	}
}

func (m *message) skip(wire int) {
	switch wire {
	case 0:
		m.varint()
	case 1:
		m.p.Skip(8)
	case 2:
		m.p.Skip(m.length())
	case 5:
		m.p.Skip(4)
	default:
		m.p.fail("onnx-wire", "wire", wire)
	}
}

// want refuses another wire type than the field has.
func (m *message) want(wire, is int) {
	if wire != is {
		m.p.fail("onnx-wire", "wire", wire)
	}
}

// sub is the message in a field.
func (m *message) sub(wire int, f func(*message)) {
	m.want(wire, 2)
	n := m.length()
	s := &message{m.p, m.p.Pos + n, m.deep + 1}
	if s.deep > maxNesting {
		m.p.fail("onnx-deep", "limit", maxNesting)
	}
	f(s)
	if m.p.Pos < s.end {
		m.p.Pos = s.end
	}
}

func (m *message) text(wire int) string {
	m.want(wire, 2)
	n := m.length()
	if n > maxText {
		m.p.fail("onnx-text", "length", n)
	}
	b := m.p.Next(int(n))
	if !utf8.Valid(b) {
		m.p.fail("onnx-text", "length", n)
	}
	m.p.cost(48 + int(n))
	return string(b)
}

func (m *message) number(wire int) int64 {
	m.want(wire, 0)
	return int64(m.varint())
}

func (m *message) float(wire int) float64 {
	m.want(wire, 5)
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(m.p.Next(4))))
}

// ints appends a packed or single integer; what is over maxInts is counted only.
func (m *message) ints(wire int, to *[]int64, count *int64) {
	one := func(v int64) {
		*count++
		if len(*to) < maxInts {
			m.p.cost(8)
			*to = append(*to, v)
		}
	}
	if wire == 0 {
		one(int64(m.varint()))
		return
	}
	m.sub(wire, func(s *message) {
		for s.p.Pos < s.end {
			if len(*to) >= maxInts { // a weight in int64_data: its shape says how many
				s.p.Skip(s.end - s.p.Pos)
				return
			}
			one(int64(s.varint()))
		}
	})
}

// floats appends packed or single floats of 4 or 8 bytes.
func (m *message) floats(wire int, size int64, to *[]float64) {
	one := func(b []byte) {
		if len(*to) >= maxInts {
			return
		}
		m.p.cost(8)
		if size == 4 {
			*to = append(*to, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		} else {
			*to = append(*to, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	}
	if wire != 2 {
		m.want(wire, map[int64]int{4: 5, 8: 1}[size])
		one(m.p.Next(int(size)))
		return
	}
	m.sub(wire, func(s *message) {
		for s.end-s.p.Pos >= size && len(*to) < maxInts {
			one(s.p.Next(int(size)))
		}
		s.p.Skip(s.end - s.p.Pos)
	})
}

// Element types of TensorProto.
const (
	typeFloat    = 1
	typeUint8    = 2
	typeInt32    = 6
	typeInt64    = 7
	typeBool     = 9
	typeFloat16  = 10
	typeDouble   = 11
	typeBFloat16 = 16
)

// constant is a tensor whose shape is known when the file is read; a short one has its values.
type constant struct {
	name     string
	dims     []int64
	kind     int32
	ints     []int64
	floats   []float64
	external bool
	// weight: an initializer, or what ConstantOfShape makes; else a number or table of the forward.
	weight bool
	// of names the weight that this is a view of, transposed or not.
	of *constant
}

func (c *constant) numel() int64 {
	n := int64(1)
	for _, d := range c.dims {
		n *= d
	}
	return n
}

func (c *constant) floating() bool {
	switch c.kind {
	case typeFloat, typeFloat16, typeDouble, typeBFloat16:
		return true
	}
	return false
}

type attribute struct {
	i      int64
	f      float64
	s      string
	ints   []int64
	floats []float64
	t      *constant
	graph  bool
	set    bool
}

type node struct {
	name, op, domain string
	in, out          []string
	attr             map[string]*attribute
}

type input struct {
	name string
	kind int32
	dims []int64 // -1: not known
	rank int     // -1: not known
}

type graph struct {
	name    string
	nodes   []*node
	consts  map[string]*constant
	inputs  []input
	outputs []string
	// shapes are those the exporter noted, -1 where it did not know.
	shapes map[string][]int64
	opset  int64
	// other names a domain that is not ONNX's own.
	producer string
}

func parse(p *parser, size int64) *graph {
	g := &graph{consts: map[string]*constant{}, shapes: map[string][]int64{}, opset: 1}
	found := false
	m := &message{p: p, end: size}
	m.fields(func(field, wire int) {
		switch field {
		case 2:
			g.producer = m.text(wire)
		case 7:
			found = true
			m.sub(wire, func(s *message) { g.read(s) })
		case 8:
			m.sub(wire, func(s *message) {
				domain, version := "", int64(0)
				s.fields(func(field, wire int) {
					switch field {
					case 1:
						domain = s.text(wire)
					case 2:
						version = s.number(wire)
					}
				})
				if domain == "" || domain == "ai.onnx" {
					g.opset = version
				}
			})
		}
	})
	if !found || len(g.nodes) == 0 {
		fault.Throw("onnx-empty", "")
	}
	return g
}

func (g *graph) read(m *message) {
	m.fields(func(field, wire int) {
		switch field {
		case 1:
			m.p.at = "graph.node"
			if len(g.nodes) >= maxNodes {
				m.p.fail("onnx-many", "limit", maxNodes)
			}
			m.sub(wire, func(s *message) { g.nodes = append(g.nodes, readNode(s)) })
		case 2:
			g.name = m.text(wire)
		case 5:
			m.p.at = "graph.initializer"
			if len(g.consts) >= maxInits {
				m.p.fail("onnx-many", "limit", maxInits)
			}
			m.sub(wire, func(s *message) {
				c := readTensor(s)
				c.weight = true
				g.consts[c.name] = c
			})
		case 15:
			m.p.at = "graph.sparse_initializer"
			m.p.fail("onnx-sparse")
		case 11:
			m.p.at = "graph.input"
			m.p.cost(160)
			m.sub(wire, func(s *message) { g.inputs = append(g.inputs, readInput(s)) })
		case 12:
			m.p.at = "graph.output"
			m.sub(wire, func(s *message) {
				v := readInput(s)
				g.outputs = append(g.outputs, v.name)
				g.note(v)
			})
		case 13:
			m.p.at = "graph.value_info"
			m.p.cost(160)
			m.sub(wire, func(s *message) { g.note(readInput(s)) })
		}
	})
	m.p.at = ""
}

func (g *graph) note(v input) {
	if v.rank >= 0 {
		g.shapes[v.name] = v.dims
	}
}

func readNode(m *message) *node {
	m.p.cost(320)
	n := &node{attr: map[string]*attribute{}}
	m.fields(func(field, wire int) {
		switch field {
		case 1:
			n.in = append(n.in, m.text(wire))
		case 2:
			n.out = append(n.out, m.text(wire))
		case 3:
			n.name = m.text(wire)
		case 4:
			n.op = m.text(wire)
		case 5:
			m.sub(wire, func(s *message) {
				name, a := readAttribute(s)
				n.attr[name] = a
			})
		case 7:
			n.domain = m.text(wire)
		}
	})
	return n
}

func readAttribute(m *message) (string, *attribute) {
	m.p.cost(240)
	a := &attribute{set: true}
	name, many := "", int64(0)
	m.fields(func(field, wire int) {
		switch field {
		case 1:
			name = m.text(wire)
		case 2:
			a.f = m.float(wire)
		case 3:
			a.i = m.number(wire)
		case 4:
			if m.want(wire, 2); name != "" && name != "doc_string" {
				if n := m.length(); n <= maxText {
					b := m.p.Next(int(n))
					m.p.cost(len(b))
					a.s = string(b)
				} else {
					m.p.Skip(n)
				}
			}
		case 5:
			m.sub(wire, func(s *message) { a.t = readTensor(s) })
		case 6, 11:
			a.graph = true
		case 7:
			m.floats(wire, 4, &a.floats)
		case 8:
			m.ints(wire, &a.ints, &many)
		}
	})
	return name, a
}

// readTensor reads a tensor's name, type and shape, and its values where they are few.
func readTensor(m *message) *constant {
	m.p.cost(280)
	c := &constant{}
	var raw []byte
	count := int64(0)
	m.fields(func(field, wire int) {
		switch field {
		case 1:
			var n int64
			if m.ints(wire, &c.dims, &n); len(c.dims) > checkpoint.MaxRank {
				m.p.fail("tensor-rank", "rank", len(c.dims), "limit", checkpoint.MaxRank)
			}
		case 2:
			c.kind = int32(min(max(m.number(wire), 0), 1<<16))
		case 4:
			m.floats(wire, 4, &c.floats)
		case 5, 7:
			m.ints(wire, &c.ints, &count)
		case 8:
			c.name = m.text(wire)
		case 9:
			m.want(wire, 2)
			n := m.length()
			if n > 8*maxInts {
				m.p.Skip(n)
				break
			}
			raw = append([]byte(nil), m.p.Next(int(n))...)
		case 10:
			m.floats(wire, 8, &c.floats)
		case 14:
			c.external = m.number(wire) == 1
		}
	})
	checkpoint.Numel(c.name, c.dims)
	c.decode(m.p, raw)
	return c
}

// decode takes the values out of raw_data; a constant with another number of them than its shape keeps none.
func (c *constant) decode(p *parser, raw []byte) {
	n := c.numel()
	width := map[int32]int{typeFloat: 4, typeInt32: 4, typeInt64: 8, typeDouble: 8, typeBool: 1, typeUint8: 1}[c.kind]
	if raw != nil && width > 0 && n <= maxInts && int64(len(raw)) == n*int64(width) {
		p.cost(8 * int(n))
		for i := 0; i < len(raw); i += width {
			switch c.kind {
			case typeFloat:
				c.floats = append(c.floats, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i:]))))
			case typeDouble:
				c.floats = append(c.floats, math.Float64frombits(binary.LittleEndian.Uint64(raw[i:])))
			case typeInt32:
				c.ints = append(c.ints, int64(int32(binary.LittleEndian.Uint32(raw[i:]))))
			case typeInt64:
				c.ints = append(c.ints, int64(binary.LittleEndian.Uint64(raw[i:])))
			default:
				c.ints = append(c.ints, int64(raw[i]))
			}
		}
	}
	if c.kind != typeFloat && c.kind != typeDouble && int64(len(c.ints)) != n {
		c.ints = nil
	}
	if int64(len(c.floats)) != n {
		c.floats = nil
	}
}

// readInput is a ValueInfoProto: a name, an element type and a shape.
func readInput(m *message) input {
	v := input{rank: -1}
	m.fields(func(field, wire int) {
		switch field {
		case 1:
			v.name = m.text(wire)
		case 2:
			m.sub(wire, func(t *message) {
				t.fields(func(field, wire int) {
					if field == 1 {
						t.sub(wire, func(t *message) { readType(t, &v) })
					}
				})
			})
		}
	})
	return v
}

func readType(m *message, v *input) {
	m.fields(func(field, wire int) {
		switch field {
		case 1:
			v.kind = int32(min(max(m.number(wire), 0), 1<<16))
		case 2:
			v.rank = 0
			m.sub(wire, func(s *message) {
				s.fields(func(field, wire int) {
					if field != 1 {
						return
					}
					if v.rank++; v.rank > checkpoint.MaxRank {
						s.p.fail("tensor-rank", "rank", v.rank, "limit", checkpoint.MaxRank)
					}
					d := int64(-1)
					s.sub(wire, func(s *message) {
						s.fields(func(field, wire int) {
							if field == 1 {
								if n := s.number(wire); n > 0 && n <= 1<<40 {
									d = n
								}
							}
						})
					})
					s.p.cost(8)
					v.dims = append(v.dims, d)
				})
			})
		}
	})
}
