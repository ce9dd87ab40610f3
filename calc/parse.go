package calc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"vrametre/calc/fault"
)

// Error is what bad input gets: a code and its arguments, whose sentence content holds, and the place.
type Error = fault.Error

// MaxRequestBytes bounds what ParseRequest reads.
const MaxRequestBytes = 64 << 20

// ParseRequest reads a request strictly: unknown fields, wrong types and numbers that are
// explicitly zero where zero makes no sense are errors that name the field.
func ParseRequest(data []byte) (Request, error) {
	var r Request
	if len(data) > MaxRequestBytes {
		return r, fault.New("request-too-large", "", "bytes", len(data), "limit", MaxRequestBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, jsonError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return r, fault.New("request-syntax", "", "offset", dec.InputOffset())
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return r, jsonError(err)
	}
	if given == nil { // null
		return r, fault.New("request-syntax", "", "offset", 0)
	}
	for name := range given { // encoding/json takes any case
		if !slices.Contains(requestFields(), name) {
			return r, fault.New("field-unknown", name, "field", name, "close", closestField(name))
		}
	}
	for _, name := range []string{"batch", "accumulation", "steps"} {
		if v, ok := given[name]; ok && string(v) == "0" {
			return r, fault.New("field-positive", name, "value", 0)
		}
	}
	return r, nil
}

func jsonError(err error) error {
	var e *Error
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var encoding base64.CorruptInputError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &syntax):
		return fault.New("request-syntax", "", "offset", syntax.Offset)
	case errors.As(err, &typ):
		if typ.Field == "" {
			return fault.New("request-syntax", "", "offset", typ.Offset)
		}
		return fault.New(wanted(typ.Type), typ.Field)
	case errors.As(err, &encoding):
		return fault.New("file-base64", "model.file.base64", "offset", int64(encoding))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New("request-syntax", "", "offset", 0)
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return fault.New("field-unknown", name, "field", name, "close", closestField(name))
	}
	return fault.New("request-syntax", "", "detail", err.Error())
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

// requestFields lists the names of Request's fields in JSON.
var requestFields = sync.OnceValue(func() []string {
	t := reflect.TypeFor[Request]()
	var out []string
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out = append(out, tag)
	}
	return out
})

// closestField is the field of a request that a mistyped one resembles.
func closestField(name string) string {
	for _, tag := range requestFields() {
		if len(name) > 2 && (strings.EqualFold(tag, name) || strings.HasPrefix(tag, name[:len(name)-1]) || strings.HasPrefix(name, tag)) {
			return tag
		}
	}
	return ""
}

// UnmarshalJSON takes one input or a list.
func (in *Inputs) UnmarshalJSON(data []byte) error {
	if b := bytes.TrimSpace(data); len(b) > 0 && b[0] == '{' {
		var one Input
		if err := strict(data, &one); err != nil {
			return err
		}
		*in = Inputs{one}
		return nil
	}
	var list []Input
	if err := strict(data, &list); err != nil {
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

func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// UnmarshalJSON splits type, name and inputs from the constructor arguments.
func (l *Layer) UnmarshalJSON(data []byte) error {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return err
	}
	for key, to := range map[string]*string{"type": &l.Type, "name": &l.Name} {
		if v, ok := m[key]; ok {
			s, ok := v.(string)
			if !ok {
				return fault.New("field-text", "model.layers."+key)
			}
			*to = s
			delete(m, key)
		}
	}
	if v, ok := m["inputs"]; ok {
		list, ok := v.([]any)
		for _, e := range list {
			s, isString := e.(string)
			ok = ok && isString
			l.Inputs = append(l.Inputs, s)
		}
		if !ok {
			return fault.New("field-list", "model.layers.inputs")
		}
		delete(m, "inputs")
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
