package calc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

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
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &syntax):
		return fault.New("request-syntax", "", "offset", syntax.Offset)
	case errors.As(err, &typ):
		return fault.New("field-type", typ.Field, "value", typ.Value, "expected", typ.Type.String())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New("request-syntax", "", "offset", 0)
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return fault.New("field-unknown", name, "field", name, "close", closestField(name))
	}
	return fault.New("request-syntax", "", "detail", err.Error())
}

// closestField is the field of a request that a mistyped one resembles.
func closestField(name string) string {
	t := reflect.TypeFor[Request]()
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
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
				return fault.New("field-type", "model.layers."+key, "value", fmt.Sprint(v), "expected", "string")
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
			return fault.New("field-type", "model.layers.inputs", "value", fmt.Sprint(v), "expected", "list of strings")
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
