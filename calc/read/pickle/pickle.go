// Package pickle reads the tensors' names, types and shapes of what torch.save wrote: a zip archive with data.pkl
// inside, or the older sequence of pickles. It executes nothing: a pickle is read as a list of tensors, and whatever else
// it would construct stays a name. The tensors' data is never read.
package pickle

import (
	"io"
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/read/checkpoint"
)

// maxPickle bounds the pickle that is read: a few hundred bytes per tensor.
const maxPickle = 8 << 20

// Read reads a file of size bytes.
func Read(r io.ReaderAt, size int64) (f *checkpoint.File, err error) {
	defer fault.Catch(&err)
	var head [2]byte
	if n, _ := r.ReadAt(head[:], 0); n < 2 {
		return nil, fault.New("file-short", "", "bytes", size, "wanted", 2)
	}
	var root any
	m := &machine{}
	switch {
	case string(head[:]) == "PK":
		from, n := find(r, size)
		if n > maxPickle {
			return nil, fault.New("pickle-large", "data.pkl", "bytes", n, "limit", maxPickle)
		}
		m.data = text(r, size, from, n)
		root = m.run()
	case head[0] == 0x80:
		root = legacy(m, r, size)
	default:
		return nil, fault.New("pickle-format", "")
	}
	f = &checkpoint.File{Format: "pytorch", Metadata: map[string]string{}}
	if m.unsafe != "" {
		f.Warn("pickle-unsafe", "data.pkl", "global", strings.ToValidUTF8(m.unsafe[:min(len(m.unsafe), 100)], ""))
	}
	c := &collector{f: f, done: map[any]bool{}, seen: map[place]bool{}}
	c.root(root)
	if len(f.Tensors) == 0 {
		return nil, fault.New("file-empty", "")
	}
	return f, nil
}

// text reads n bytes, in one copy.
func text(r io.ReaderAt, size, from, n int64) string {
	s := checkpoint.NewStream(r, size, from)
	var b strings.Builder
	b.Grow(int(n))
	for n > 0 {
		k := min(n, 32<<10)
		b.Write(s.Next(int(k)))
		n -= k
	}
	return b.String()
}

// legacy is magic number, protocol version, system info, the object; then storage keys and data.
func legacy(m *machine, r io.ReaderAt, size int64) any {
	m.data = text(r, size, 0, min(size, maxPickle))
	const magic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." // 0x1950a86a20f9469cfc6c, torch/serialization.py
	if !strings.HasPrefix(m.data[min(2, len(m.data)):], magic) {
		fault.Throw("pickle-format", "")
	}
	var v any
	for range 4 { // each pickle has a memo of its own
		m.memo, m.stack, m.marks = nil, nil, nil
		v = m.run()
	}
	return v
}

// place is where a tensor's elements lie; two tensors at one place are one parameter.
type place struct {
	key    string
	offset int64
	shape  string
}

// collector lists the tensors of the model in what was saved.
type collector struct {
	f    *checkpoint.File
	done map[any]bool
	seen map[place]bool
}

// modelKeys are where training scripts put the model beside the optimizer, in the order they are looked for.
var modelKeys = []string{"state_dict", "model_state_dict", "model", "module", "net", "network", "model_state", "params_ema", "ema_state_dict", "ema", "params", "generator", "weights"}

// root finds the state dict: what is saved itself, or one of its entries. The tensors of the others count apart.
func (c *collector) root(v any) {
	for range 8 {
		d, ok := v.(*dict)
		if !ok {
			break
		}
		entries := map[string]any{}
		own := 0
		for _, p := range d.items {
			if _, isTensor := p.value.(*tensor); isTensor {
				own++
			}
			if k, isText := p.key.(string); isText {
				entries[k] = p.value
			}
		}
		if own > 1 {
			break
		}
		var next any
		for _, k := range modelKeys {
			if e := entries[k]; e != nil && next == nil && holds(e, 0, new(int)) {
				next = e
			}
		}
		if next == nil {
			break
		}
		other := &collector{f: &checkpoint.File{}, done: map[any]bool{next: true}, seen: map[place]bool{}}
		other.walk("", v, 0)
		for i := range other.f.Tensors {
			c.f.Other += other.f.Tensors[i].Bytes
			c.f.Other = min(c.f.Other, 1<<62)
		}
		v = next
	}
	c.walk("", v, 0)
}

// holds says whether there is a tensor anywhere in v.
func holds(v any, depth int, visited *int) bool {
	if *visited++; depth > 32 || *visited > maxMemo {
		return false
	}
	switch v := v.(type) {
	case *tensor:
		return true
	case *dict:
		for _, p := range v.items {
			if holds(p.value, depth+1, visited) {
				return true
			}
		}
	case *list:
		for _, e := range v.items {
			if holds(e, depth+1, visited) {
				return true
			}
		}
	case *object:
		return v.state != nil && holds(v.state, depth+1, visited)
	}
	return false
}

// walk lists the tensors under v, whose names begin with prefix. Every container is entered once.
func (c *collector) walk(prefix string, v any, depth int) {
	if depth > 100 {
		fault.Throw("pickle-depth", prefix[:min(len(prefix), 120)], "limit", 100)
	}
	switch v := v.(type) {
	case *tensor:
		c.add(prefix, v)
	case *dict:
		if c.done[v] {
			return
		}
		c.done[v] = true
		for _, p := range v.items {
			c.walk(join(prefix, name(p.key)), p.value, depth+1)
		}
	case *list:
		if c.done[v] {
			return
		}
		c.done[v] = true
		for i, e := range v.items {
			c.walk(join(prefix, strconv.Itoa(i)), e, depth+1)
		}
	case *object:
		if c.done[v] {
			return
		}
		c.done[v] = true
		c.module(prefix, v, depth)
	}
}

// module is a pickled nn.Module: its state holds _parameters, _buffers and _modules, which are no part of names. A scripted
// module's attributes are its parameters and modules themselves.
func (c *collector) module(prefix string, o *object, depth int) {
	state, ok := o.state.(*dict)
	if !ok {
		c.walk(prefix, o.state, depth+1)
		return
	}
	for _, p := range state.items {
		k, _ := p.key.(string)
		switch k {
		case "_parameters", "_buffers", "_modules":
			c.walk(prefix, p.value, depth+1)
		default:
			c.walk(join(prefix, k), p.value, depth+1)
		}
	}
}

func name(key any) string {
	switch k := key.(type) {
	case string:
		return k
	case int64:
		return strconv.FormatInt(k, 10)
	}
	return "?"
}

// join makes a dotted name, cut where no model's is that long.
func join(prefix, name string) string {
	name = strings.ToValidUTF8(name[:min(len(name), 256)], "")
	if prefix == "" {
		return name
	}
	return prefix[:min(len(prefix), 512)] + "." + name
}

func (c *collector) add(name string, t *tensor) {
	n := checkpoint.Numel(name, t.shape)
	out := checkpoint.Tensor{Name: name, DType: canonical(t.dtype), Shape: t.shape, Bytes: n * sizes[t.dtype]}
	if t.store != nil && n > 0 {
		at := place{t.store.key, t.offset, key(t.shape)}
		out.Shared = c.seen[at]
		c.seen[at] = true
	}
	c.f.Add(out)
}

func key(shape []int64) string {
	s := ""
	for _, d := range shape {
		s += strconv.FormatInt(d, 10) + ","
	}
	return s
}

// canonical is PyTorch's main name of a type.
func canonical(d string) string {
	switch d {
	case "half":
		return "float16"
	case "float":
		return "float32"
	case "double":
		return "float64"
	case "long":
		return "int64"
	case "int":
		return "int32"
	}
	return d
}
