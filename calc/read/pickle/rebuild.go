package pickle

import (
	"strings"

	"vrametre/calc/read/checkpoint"
)

// storages are PyTorch's classes of storages and their element types.
var storages = map[string]string{"FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
	"LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
	"ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128", "QInt8Storage": "qint8", "QUInt8Storage": "quint8", "QInt32Storage": "qint32",
	"QUInt4x2Storage": "quint4x2", "QUInt2x4Storage": "quint2x4", "UntypedStorage": ""}

// sizes of element types in bytes.
var sizes = map[string]int64{"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
	"complex64": 8, "complex128": 16, "complex32": 4, "qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1, "uint16": 2, "uint32": 4, "uint64": 8,
	"float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "half": 2, "float": 4, "double": 8, "long": 8, "int": 4}

// persistent is ('storage', class, key, location, elements), with a view after them in the old format.
func (m *machine) persistent(id any) any {
	l, ok := id.(*list)
	if !ok || len(l.items) < 5 || l.items[0] != "storage" {
		return m.object(global{}, nil)
	}
	class, isGlobal := l.items[1].(global)
	key, isText := l.items[2].(string)
	n, isNumber := l.items[4].(int64)
	d, known := storages[class.name]
	if !isGlobal || !isText || !isNumber || !known || n < 0 {
		m.fail("pickle-storage")
	}
	m.made(1)
	return &storage{dtype: d, key: key, numel: n}
}

// reduce is what calling class(*args) would give, for the few callables that rebuild tensors; else an object.
func (m *machine) reduce(class, args any, depth int) any {
	g, ok := class.(global)
	a, isList := args.(*list)
	if !ok || !isList || depth > 8 {
		return m.object(g, args)
	}
	arg := func(i int) any {
		if i < len(a.items) {
			return a.items[i]
		}
		return nil
	}
	switch g.module + "." + g.name {
	case "collections.OrderedDict", "builtins.dict", "__builtin__.dict", "collections.defaultdict":
		d := &dict{}
		m.made(1)
		if pairs, ok := arg(0).(*list); ok {
			for _, p := range pairs.items {
				if kv, ok := p.(*list); ok && len(kv.items) == 2 {
					m.fill(d, kv.items)
				}
			}
		}
		return d
	case "torch.Size", "builtins.list", "builtins.tuple", "builtins.set", "__builtin__.list", "__builtin__.tuple", "__builtin__.set":
		if l, ok := arg(0).(*list); ok {
			return l
		}
		return m.newList()
	case "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_qtensor":
		return m.rebuild(g, a, arg(0), arg(1), arg(2), nil)
	case "torch._utils._rebuild_tensor_v3":
		return m.rebuild(g, a, arg(0), arg(1), arg(2), arg(6))
	case "torch._utils._rebuild_meta_tensor_no_storage":
		return m.rebuild(g, a, nil, int64(0), arg(1), arg(0))
	case "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state", "torch.nn.parameter.Parameter":
		if t, ok := arg(0).(*tensor); ok {
			return t
		}
	case "torch._tensor._rebuild_from_type_v2", "torch._tensor._rebuild_from_type":
		i := 2
		if g.name == "_rebuild_from_type" {
			i = 2
		}
		return m.reduce(arg(0), arg(i), depth+1)
	}
	return m.object(g, args)
}

// rebuild makes a tensor; what does not add up is an error with the offset.
func (m *machine) rebuild(g global, args *list, store, offset, shape, dtype any) any {
	t := &tensor{}
	m.made(1)
	if s, ok := store.(*storage); ok {
		t.store, t.dtype = s, s.dtype
	}
	if d, ok := dtype.(global); ok && d.module == "torch" {
		t.dtype = d.name
	}
	n, isNumber := offset.(int64)
	dims, isList := shape.(*list)
	if !isNumber || !isList || len(dims.items) > checkpoint.MaxRank || sizes[t.dtype] == 0 {
		m.fail("pickle-tensor", "class", strings.ToValidUTF8(g.name, ""))
	}
	t.offset = n
	last := n
	stride := m.strides(args, g, len(dims.items))
	for i, d := range dims.items {
		v, ok := d.(int64)
		if !ok || v < 0 {
			m.fail("tensor-dim", "dim", v)
		}
		t.shape = append(t.shape, v)
		if stride != nil && v > 0 && stride[i] > 0 {
			if v-1 > (1<<62-last)/stride[i] {
				m.fail("tensor-dim", "dim", v)
			}
			last += (v - 1) * stride[i]
		}
	}
	numel := checkpoint.Numel("data.pkl", t.shape)
	if numel > 1<<62/sizes[t.dtype] {
		m.fail("tensor-dim", "dim", numel)
	}
	if t.store != nil && t.store.dtype != "" && numel > 0 && (n < 0 || stride == nil || last >= t.store.numel) {
		m.fail("pickle-beyond", "elements", last+1, "storage", t.store.numel)
	}
	return t
}

// strides are the fourth argument of the functions that rebuild a tensor from a storage.
func (m *machine) strides(args *list, g global, rank int) []int64 {
	if g.name == "_rebuild_meta_tensor_no_storage" || len(args.items) < 4 {
		return nil
	}
	l, ok := args.items[3].(*list)
	if g.name == "_rebuild_qtensor" && !ok {
		return nil
	}
	if !ok || len(l.items) != rank {
		m.fail("pickle-tensor", "class", g.name)
	}
	out := make([]int64, rank)
	for i, v := range l.items {
		n, ok := v.(int64)
		if !ok || n < 0 {
			m.fail("pickle-tensor", "class", g.name)
		}
		out[i] = n
	}
	return out
}
