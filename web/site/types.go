package site

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"vrametre/calc"
	"vrametre/calc/oom"
	"vrametre/content"
	"vrametre/web/view"
)

// typesName is the declaration file of vrametre.js, beside it.
const typesName = "vrametre.d.ts"

// functions are what vrametre.js exports, and the page has in window.vrametre.
// Their types' names are those of declared.
const functions = `/**
 * How much memory a training step or an inference takes. The promise is
 * rejected with an EstimateError where the request cannot be answered.
 */
export function estimate(request?: Request): Promise<Result>;

/** What the out-of-memory message in a text means, in words of a language ("fr" by default). */
export function explain(text: string, options?: { language?: "fr" | "en" }): Promise<Explanation>;

/** The models known by name. */
export function presets(): Promise<Preset[]>;

/**
 * What estimate is rejected with. The message of a request that cannot be
 * answered is in the request's language, and at says where in it.
 */
export interface EstimateError extends Error, Failure {
  code: ErrorCode;
}

/**
 * What estimate, explain and presets are rejected with where the engine is not
 * running: not to be reached, refused by a policy, or no engine at its address.
 * Its cause is what the browser says, in English; the next call tries again.
 */
export interface EngineError extends Error {
  code: "engine-unavailable";
}

declare global {
  interface Window {
    /** The same functions, in the site's own pages. */
    vrametre: { estimate: typeof estimate; explain: typeof explain; presets: typeof presets };
  }
}
`

// declared are the types that the functions take and give.
type declared struct {
	Request     calc.Request
	Result      calc.Result
	Explanation oom.Explanation
	Preset      calc.Preset
	Failure     view.Failure
}

// types writes the declarations for TypeScript, from the same description of
// calc's types as the schemas.
func types(described map[string]string) string {
	definitions := schemaOf(declared{}, described).Definitions
	var b strings.Builder
	b.WriteString("// Made from the engine's own types by the site's build.\n\n")
	b.WriteString(functions)
	names := make([]string, 0, len(definitions))
	for name := range definitions {
		if name != "declared" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	writeCodes(&b)
	for _, name := range names {
		definition := definitions[name]
		b.WriteString("\n")
		writeComment(&b, "", definition.Description)
		fmt.Fprintf(&b, "export interface %s %s\n", name, membersOf(definition, ""))
	}
	return b.String()
}

// writeCodes lists the codes of an EstimateError, each with its message.
func writeCodes(b *strings.Builder) {
	b.WriteString("\n/** Why a request cannot be answered. */\nexport type ErrorCode =\n")
	last := ""
	for _, key := range content.Keys(content.English) {
		code, ok := strings.CutPrefix(key, "error.")
		if !ok || strings.Contains(code, ".") || code == "at" { // that one puts a place before a message
			continue
		}
		message, _ := content.Lookup(content.English, key)
		b.WriteString(last)
		writeComment(b, "  ", message.Fill(false, func(name, _ string) string { return "{" + name + "}" }))
		last = fmt.Sprintf("  | %q\n", code)
	}
	b.WriteString(strings.TrimSuffix(last, "\n") + ";\n")
}

// membersOf writes the fields of an object.
func membersOf(s *jsonschema.Schema, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	inner := indent + "  "
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		writeComment(&b, inner, pair.Value.Description)
		optional := "?"
		if slices.Contains(s.Required, pair.Key) {
			optional = ""
		}
		fmt.Fprintf(&b, "%s%s%s: %s;\n", inner, pair.Key, optional, typeOf(pair.Value, inner))
	}
	if s.AdditionalProperties == nil {
		b.WriteString(inner + "[other: string]: unknown;\n")
	}
	b.WriteString(indent + "}")
	return b.String()
}

// typeOf is the type of the values that a schema describes.
func typeOf(s *jsonschema.Schema, indent string) string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case len(s.AnyOf) > 0:
		return union(s.AnyOf, func(s *jsonschema.Schema) string { return typeOf(s, indent) })
	case len(s.Enum) > 0:
		return union(s.Enum, func(word any) string {
			text, err := json.Marshal(word)
			if err != nil {
				panic(err) // words are strings
			}
			return string(text)
		})
	}
	switch s.Type {
	case "string", "boolean":
		return s.Type
	case "integer", "number":
		return "number"
	case "array":
		item := typeOf(s.Items, indent)
		if s.MaxItems != nil && s.MinItems != nil && *s.MaxItems == *s.MinItems {
			return "[" + strings.Join(slices.Repeat([]string{item}, int(*s.MaxItems)), ", ") + "]"
		}
		if strings.ContainsAny(item, "|") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		if s.Properties.Len() > 0 {
			return membersOf(s, indent)
		}
		return "Record<string, unknown>"
	}
	panic(fmt.Sprintf("a schema of type %q has no type in TypeScript", s.Type))
}

func union[T any](of []T, write func(T) string) string {
	all := make([]string, len(of))
	for i, one := range of {
		all[i] = write(one)
	}
	return strings.Join(all, " | ")
}

func writeComment(b *strings.Builder, indent, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "* /"))
	}
}
