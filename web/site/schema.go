package site

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"vrametre/calc"
	"vrametre/calc/oom"
)

// writeSchemas publishes what a request may say and what answers say, as JSON
// Schemas and as types for TypeScript.
func (b *builder) writeSchemas() error {
	described, err := comments(b.root, "calc/request.go", "calc/result.go", "calc/codes.go", "calc/oom/explain.go", "calc/oom/decode.go", "web/view/answer.go")
	if err != nil {
		return err
	}
	if err := b.write(typesName, []byte(types(described))); err != nil {
		return err
	}
	if err := b.write(embedTypesName, []byte(embedTypes())); err != nil {
		return err
	}
	for name, schema := range map[string]*jsonschema.Schema{
		"request":     schemaOf(calc.Request{}, described),
		"result":      schemaOf(calc.Result{}, described),
		"explanation": schemaOf(oom.Explanation{}, described),
	} {
		data, err := json.MarshalIndent(schema, "", " ")
		if err != nil {
			return err
		}
		if err := b.write("schema/"+name+".json", append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// choices are the words that a field takes, by definition and field.
var choices = map[string][]string{
	"Model.preset":         calc.Presets(),
	"Request.mode":         {"train", "infer"},
	"Request.loss":         calc.Losses,
	"Request.precision":    calc.Precisions,
	"Request.zero_grad":    {"set_to_none", "zeros"},
	"Request.zero_grad_at": {"start", "before-backward", "end"},
	"Request.attention":    {"auto", "math", "flash", "efficient"},
	"Request.language":     {"fr", "en"},
	"Request.want":         calc.Wants,
	"Optimizer.name":       calc.Optimizers,
	"Device.os":            {"linux", "windows", "wsl"},
	"Inference.kv_dtype":   {"fp32", "fp16", "bf16", "fp8"},
	"Peak.phase":           {calc.PhaseForward, calc.PhaseBackward, calc.PhaseStep},
	"Point.phase":          {calc.PhaseForward, calc.PhaseBackward, calc.PhaseStep},
}

// schemaOf is the JSON Schema of a type that pages send or get; described gives the
// sentences of types and fields ("Request", "Request.Batch").
func schemaOf(v any, described map[string]string) *jsonschema.Schema {
	reflector := func() *jsonschema.Reflector {
		return &jsonschema.Reflector{
			Anonymous: true,
			LookupComment: func(t reflect.Type, field string) string {
				return described[strings.TrimSuffix(t.Name()+"."+field, ".")]
			},
		}
	}
	r := reflector()
	r.Mapper = func(t reflect.Type) *jsonschema.Schema { return writtenByHand(t, reflector()) }
	schema := r.Reflect(v)
	for place, words := range choices {
		definition, field, _ := strings.Cut(place, ".")
		d, ok := schema.Definitions[definition]
		if !ok || d.Properties == nil {
			continue
		}
		if property, ok := d.Properties.Get(field); ok {
			if property.Items != nil {
				property = property.Items
			}
			property.Enum = enum(words)
		}
	}
	return schema
}

// writtenByHand are the schemas of the types that have a JSON form of their own.
func writtenByHand(t reflect.Type, plain *jsonschema.Reflector) *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	texts := &jsonschema.Schema{Type: "array", Items: text}
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Type: "object"}
	case reflect.TypeFor[calc.Checkpointing]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Enum: enum([]string{"none", "every-block"})}, texts}}
	case reflect.TypeFor[oom.Text]():
		return text
	case reflect.TypeFor[calc.Inputs]():
		plain.DoNotReference = true
		input := plain.Reflect(calc.Input{})
		input.Version = ""
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{input, {Type: "array", Items: input}}}
	case reflect.TypeFor[calc.Layer]():
		properties := jsonschema.NewProperties()
		properties.Set("type", &jsonschema.Schema{Type: "string", Enum: enum(calc.LayerTypes())})
		properties.Set("name", text)
		properties.Set("inputs", texts)
		// The constructor arguments stand beside them, under PyTorch's own names.
		return &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{"type"}}
	}
	return nil
}

func enum(words []string) []any {
	list := make([]any, len(words))
	for i, word := range words {
		list[i] = word
	}
	return list
}

// comments reads the sentences that describe the exported types of Go files
// and their fields, by their names below a folder.
func comments(dir string, files ...string) (map[string]string, error) {
	described := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("descriptions of the schema: %w", err)
		}
		for _, declaration := range file.Decls {
			types, ok := declaration.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				spec := spec.(*ast.TypeSpec)
				described[spec.Name.Name] = oneLine(types.Doc.Text())
				if structure, ok := spec.Type.(*ast.StructType); ok {
					for _, field := range structure.Fields.List {
						for _, name := range field.Names {
							described[spec.Name.Name+"."+name.Name] = oneLine(field.Doc.Text())
						}
					}
				}
			}
		}
	}
	return described, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
