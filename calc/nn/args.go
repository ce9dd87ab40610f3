package nn

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"vrametre/calc/fault"
	"vrametre/calc/torch"
)

// Args reads constructor arguments by name and collects the first error.
type Args struct {
	typ, at string
	m       map[string]any
	used    map[string]bool
	err     error
}

// NewArgs reads m for a module or preset of type typ; at is the place named in errors.
func NewArgs(typ, at string, m map[string]any) *Args {
	return &Args{typ: typ, at: at, m: m, used: map[string]bool{}}
}

func (a *Args) fail(code, name string, v any, more ...any) {
	if a.err == nil {
		a.err = fault.New(code, a.at, append([]any{"type", a.typ, "argument", name, "value", written(v)}, more...)...)
	}
}

// written is a value as it stood in the request: nil was null, and a text that looks like a number had its quotes.
func written(v any) any {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			return strconv.Quote(v)
		}
	case []any, map[string]any:
		b, err := json.Marshal(v)
		if err == nil {
			return string(b)
		}
	}
	return v
}

func (a *Args) get(name string) (any, bool) {
	a.used[name] = true
	v, ok := a.m[name]
	return v, ok && v != nil
}

// Value is an argument as it was given.
func (a *Args) Value(name string) (any, bool) { return a.get(name) }

func toInt(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return int64(n), true
		}
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	}
	return 0, false
}

// Size is a required positive number.
func (a *Args) Size(name string) int64 {
	v, ok := a.get(name)
	if !ok {
		a.fail("argument-missing", name, nil)
		return 1
	}
	return a.positive(name, v)
}

func (a *Args) positive(name string, v any) int64 {
	n, ok := toInt(v)
	switch {
	case !ok || n <= 0:
		a.fail("argument-positive", name, v)
		return 1
	case n > 1<<40:
		a.fail("argument-range", name, v)
		return 1
	}
	return n
}

// Positive is an optional positive number.
func (a *Args) Positive(name string, def int64) int64 {
	if v, ok := a.get(name); ok {
		if n := a.positive(name, v); a.err == nil {
			return n
		}
	}
	return def
}

// Count is a number of repeated parts, positive and not absurd.
func (a *Args) Count(name string, def int64) int64 {
	n := a.Int(name, def)
	if n < 1 || n > 1024 {
		a.Fail("argument-range", name, n)
		return 1
	}
	return n
}

// Int is an optional number.
func (a *Args) Int(name string, def int64) int64 {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	n, ok := toInt(v)
	if !ok {
		a.fail("argument-integer", name, v)
		return def
	}
	return n
}

// Ints is one number or a list of them, none below low; nil when absent.
func (a *Args) Ints(name string, low int64) Ints {
	v, ok := a.get(name)
	if !ok {
		return nil
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	if len(list) == 0 || len(list) > 8 {
		a.fail("argument-integer", name, v)
		return nil
	}
	out := make(Ints, len(list))
	for i, e := range list {
		n, ok := toInt(e)
		if !ok || n < low || n > 1<<40 {
			a.fail("argument-range", name, v)
			return nil
		}
		out[i] = n
	}
	return out
}

// Dims is one number for n dimensions, or a list of one or n; nil when absent.
func (a *Args) Dims(name string, n int, low int64) Ints {
	out := a.Ints(name, low)
	if len(out) > 1 && len(out) != n {
		a.fail("argument-length", name, torch.Shape(out), "expected", n)
		return nil
	}
	return out
}

// Each is Dims whose list has exactly n numbers.
func (a *Args) Each(name string, n int, low int64) Ints {
	out := a.Dims(name, n, low)
	if _, list := a.m[name].([]any); list && len(out) > 0 && len(out) != n {
		a.fail("argument-length", name, torch.Shape(out), "expected", n)
		return nil
	}
	return out
}

// There refuses an argument that is absent.
func (a *Args) There(name string, v Ints) Ints {
	if v == nil {
		a.fail("argument-missing", name, nil)
		return N(1)
	}
	return v
}

// Required is Ints that must be there.
func (a *Args) Required(name string, low int64) Ints {
	return a.There(name, a.Ints(name, low))
}

// Bool is an optional flag.
func (a *Args) Bool(name string, def bool) bool {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		a.fail("argument-bool", name, v)
	}
	return b
}

// Bools is an optional list of n flags; nil when absent.
func (a *Args) Bools(name string, n int) []bool {
	v, ok := a.get(name)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	out := make([]bool, n)
	if ok = ok && len(list) == n; ok {
		for i, e := range list {
			if out[i], ok = e.(bool); !ok {
				break
			}
		}
	}
	if !ok {
		a.fail("argument-bool", name, v)
		return nil
	}
	return out
}

// Fail refuses the value v of an argument.
func (a *Args) Fail(code, name string, v any) { a.fail(code, name, v) }

// Dim is the number of a dimension, optional; negative ones count from the end. Which ones there are is for the forward to say.
func (a *Args) Dim(name string, def int64) int {
	d := a.Int(name, def)
	if d < -64 || d > 64 {
		a.fail("argument-range", name, d)
		return int(def)
	}
	return int(d)
}

// PositiveFloat is an optional positive number, not absurd.
func (a *Args) PositiveFloat(name string, def float64) float64 {
	f := a.Float(name, def)
	if !(f > 0 && f <= 1024) {
		a.fail("argument-range", name, f)
		return def
	}
	return f
}

// Float is an optional number.
func (a *Args) Float(name string, def float64) float64 {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	switch n := v.(type) {
	case float64:
		return n
	case json.Number:
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	if i, ok := toInt(v); ok {
		return float64(i)
	}
	a.fail("argument-number", name, v)
	return def
}

// Floats is one positive number or a list of them; nil when absent.
func (a *Args) Floats(name string) []float64 {
	v, ok := a.get(name)
	if !ok {
		return nil
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	var out []float64
	for _, e := range list {
		f := NewArgs("", "", map[string]any{"f": e}).Float("f", 0)
		if !(f > 0 && f <= 1e6) {
			a.fail("argument-positive", name, v)
			return nil
		}
		out = append(out, f)
	}
	return out
}

// Probability is a number from 0 to 1.
func (a *Args) Probability(name string, def float64) float64 {
	p := a.Float(name, def)
	if !(p >= 0 && p <= 1) {
		a.fail("argument-probability", name, p)
		return def
	}
	return p
}

// String is an optional word; allowed, when given, lists what it may be.
func (a *Args) String(name, def string, allowed ...string) string {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	s, ok := v.(string)
	if !ok || (len(allowed) > 0 && !slices.Contains(allowed, s)) {
		a.fail("argument-choice", name, v)
		return def
	}
	return s
}

// Ignore names arguments that do not change memory.
func (a *Args) Ignore(names ...string) {
	for _, n := range names {
		a.used[n] = true
	}
}

// Err is the first bad argument so far.
func (a *Args) Err() error { return a.err }

// Finish gives the first error: a bad argument, or one that the type does not have, which may be why another is missing.
func (a *Args) Finish() error {
	if e, ok := a.err.(*fault.Error); a.err != nil && !(ok && e.Code == "argument-missing") {
		return a.err
	}
	a.Ignore("device")
	for _, n := range slices.Sorted(maps.Keys(a.m)) {
		if !a.used[n] {
			return fault.New("argument-unknown", a.at, "type", a.typ, "argument", n, "close", fault.Closest(n, slices.Collect(maps.Keys(a.used))))
		}
	}
	return a.err
}

func unknownType(typ, at string) error {
	return fault.New("layer-unknown", at, "type", typ, "close", fault.Closest(typ, slices.Concat(Types(), Functions())))
}
