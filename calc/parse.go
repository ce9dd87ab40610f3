package calc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"vrametre/calc/fault"
)

// Error is what bad input gets: a code and its arguments, whose sentence content holds, and the place.
type Error = fault.Error

// MaxRequestBytes bounds what ParseRequest reads.
const MaxRequestBytes = 64 << 20

// ParseRequest reads a request strictly: unknown fields, wrong types and numbers that are
// explicitly zero where zero makes no sense are errors that name the field by its whole path.
func ParseRequest(data []byte) (Request, error) {
	var r Request
	if len(data) > MaxRequestBytes {
		return r, fault.New("request-too-large", "", "bytes", len(data), "limit", MaxRequestBytes)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return r, syntaxError(data, err)
	}
	if b := bytes.TrimSpace(whole); b[0] != '{' {
		return r, fault.New("request-syntax", "")
	}
	if err := inspect("", reflect.TypeFor[Request](), whole); err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		var e *Error
		if errors.As(err, &e) {
			return r, e
		}
		return r, fault.New("request-syntax", "", "detail", err.Error())
	}
	return r, nil
}

// syntaxError says where data stops being JSON, as line:column counted in characters, and what would mend it.
func syntaxError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fault.New("request-syntax", "", "detail", err.Error())
	}
	at := int(syntax.Offset) - 1 // the byte that cannot stand there
	fix, found := "value", ""
	for _, c := range []struct{ says, fix string }{
		{"unexpected end", "end"}, {"after object key:value pair", "comma"}, {"after array element", "comma"}, {"object key string", "key"},
		{"after object key", "colon"}, {"after top-level value", "after"}, {"in string", "text"}, {"hexadecimal character", "text"},
	} {
		if strings.Contains(syntax.Error(), c.says) {
			fix = c.fix
			break
		}
	}
	switch fix {
	case "end":
		at, found = len(bytes.TrimRight(data, " \t\r\n")), "end"
	case "value": // the whole word
		word := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
		for at > 0 && word(data[at-1]) {
			at--
		}
		end := at
		for end < len(data) && word(data[end]) {
			end++
		}
		found = string(data[at:end])
	}
	if found == "" {
		r, _ := utf8.DecodeRune(data[at:])
		found = string(r)
	}
	before := data[:at]
	line, column := bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])+1
	return fault.New("request-syntax", fmt.Sprintf("%d:%d", line, column), "line", line, "column", column, fix, found)
}

// positive are the numbers that a request must not set to zero, which stands for their default.
var positive = []string{"batch", "accumulation", "steps", "num_classes", "input.tokens"}

// inspect finds what in raw t does not have, or has in another type. at is raw's own path.
func inspect(at string, t reflect.Type, raw json.RawMessage) error {
	raw = bytes.TrimSpace(raw)
	switch {
	case string(raw) == "null":
		return nil
	case t.Kind() == reflect.Pointer:
		return inspect(at, t.Elem(), raw)
	case t == reflect.TypeFor[Inputs]() && raw[0] == '{':
		return inspect(at, reflect.TypeFor[Input](), raw)
	case t == reflect.TypeFor[json.RawMessage]() && raw[0] != '{':
		return fault.New("field-object", at)
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[Checkpointing]() && raw[0] == '"':
		return nil
	case t == reflect.TypeFor[Checkpointing]():
		return inspect(at, reflect.TypeFor[[]string](), raw)
	case t.Kind() == reflect.Struct:
		return inspectFields(at, t, raw)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return fault.New("field-list", at)
		}
		for i, e := range list {
			at := fmt.Sprintf("%s[%d]", at, i)
			if string(e) == "null" { // Go would read an empty element
				return fault.New(wanted(t.Elem()), at)
			}
			if err := inspect(at, t.Elem(), e); err != nil {
				return err
			}
		}
		return nil
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		var encoding base64.CorruptInputError
		if errors.As(err, &encoding) {
			return fault.New("file-base64", at, "offset", int64(encoding))
		}
		return fault.New(wanted(t), at)
	}
	if (string(raw) == "0" || string(raw) == "-0") && slices.Contains(positive, withoutIndices(at)) {
		return fault.New("field-positive", at, "value", 0)
	}
	return nil
}

func inspectFields(at string, t reflect.Type, raw json.RawMessage) error {
	given := map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fault.New("field-object", at)
	}
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return fault.New("field-object", at)
		}
		field := name.(string)
		if _, twice := given[field]; twice { // Go would mix the two
			return fault.New("field-twice", join(at, field), "field", join(at, field))
		}
		given[field] = value
	}
	fields := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		path := join(at, name)
		f, ok := fields[name]
		switch {
		case ok:
			if err := inspect(path, f, given[name]); err != nil {
				return err
			}
		case t != reflect.TypeFor[Layer](): // whose other names are its arguments'
			return fault.New("field-unknown", path, "field", path, "close", closestField(at, name, fields))
		}
	}
	return nil
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// withoutIndices is the path of a field whatever its place in lists.
func withoutIndices(at string) string {
	for {
		i := strings.IndexByte(at, '[')
		j := strings.IndexByte(at, ']')
		if i < 0 || j < i {
			return at
		}
		at = at[:i] + at[j+1:]
	}
}

// fieldsOf are the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch tag {
		case "-":
		case "": // Layer's, which reads itself
			if f.Name != "Args" {
				out[strings.ToLower(f.Name)] = f.Type
			}
		default:
			out[tag] = f.Type
		}
	}
	return out
}

// closestField is the path of the field that a mistyped one resembles: one beside it, or the one of that name elsewhere
// in a request.
func closestField(at, name string, fields map[string]reflect.Type) string {
	if best := fault.Closest(name, slices.Collect(maps.Keys(fields))); best != "" {
		return join(at, best)
	}
	var found string
	var search func(at string, t reflect.Type)
	search = func(at string, t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		fields := fieldsOf(t)
		for _, n := range slices.Sorted(maps.Keys(fields)) {
			path := join(at, n)
			if n == name && found == "" {
				found = path
			}
			search(path, fields[n])
		}
	}
	search("", reflect.TypeFor[Request]())
	return found
}

// wanted is the code that says what a field of that type takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Bool:
		return "field-boolean"
	case reflect.Int, reflect.Int64:
		return "field-integer"
	case reflect.Float64:
		return "field-number"
	case reflect.String:
		return "field-text"
	case reflect.Slice:
		return "field-list"
	}
	return "field-object"
}

// UnmarshalJSON takes one input or a list.
func (in *Inputs) UnmarshalJSON(data []byte) error {
	if b := bytes.TrimSpace(data); len(b) > 0 && b[0] == '{' {
		var one Input
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		*in = Inputs{one}
		return nil
	}
	var list []Input
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*in = list
	return nil
}

// MarshalJSON writes one input without its list.
func (in Inputs) MarshalJSON() ([]byte, error) {
	if len(in) == 1 {
		return json.Marshal(in[0])
	}
	return json.Marshal([]Input(in))
}

// UnmarshalJSON splits type, name and inputs from the constructor arguments.
func (l *Layer) UnmarshalJSON(data []byte) error {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return err
	}
	var known struct {
		Type, Name string
		Inputs     []string
	}
	if err := json.Unmarshal(data, &known); err != nil {
		return err
	}
	l.Type, l.Name, l.Inputs = known.Type, known.Name, known.Inputs
	for _, key := range []string{"type", "name", "inputs"} {
		delete(m, key)
	}
	l.Args = m
	return nil
}

// MarshalJSON writes the arguments beside type, name and inputs.
func (l Layer) MarshalJSON() ([]byte, error) {
	m := map[string]any{"type": l.Type}
	for k, v := range l.Args {
		m[k] = v
	}
	if l.Name != "" {
		m["name"] = l.Name
	}
	if len(l.Inputs) > 0 {
		m["inputs"] = l.Inputs
	}
	return json.Marshal(m)
}

// UnmarshalJSON takes "none", "every-block" or a list of module paths.
func (c *Checkpointing) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		switch word {
		case "none":
			*c = Checkpointing{}
		case "every-block":
			*c = Checkpointing{EveryBlock: true}
		default:
			return fault.New("field-choice", "checkpointing", "value", word, "allowed", "none, every-block")
		}
		return nil
	}
	var paths []string
	if err := json.Unmarshal(data, &paths); err != nil {
		return err
	}
	*c = Checkpointing{Paths: paths}
	return nil
}

// MarshalJSON is the inverse.
func (c Checkpointing) MarshalJSON() ([]byte, error) {
	switch {
	case c.EveryBlock:
		return []byte(`"every-block"`), nil
	case len(c.Paths) > 0:
		return json.Marshal(c.Paths)
	}
	return []byte(`"none"`), nil
}
