package read

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCodesHaveTexts: every error and warning of the readers has a sentence in both languages, whose placeholders
// are arguments that the code gives.
func TestCodesHaveTexts(t *testing.T) {
	texts := map[string]map[string]string{}
	for _, lang := range []string{"fr", "en"} {
		data, err := os.ReadFile("../../content/messages/" + lang + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var raw map[string]any
		if err := json.Unmarshal(data, &raw); err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		for k, v := range raw {
			if text, ok := v.(string); ok {
				m[k] = text
			}
		}
		texts[lang] = m
	}
	// the callee's last name, where the code stands, where its arguments begin, and arguments that the callee adds
	callees := map[string]struct {
		code, first int
		more        []string
		family      string
	}{
		"New": {0, 2, nil, ""}, "Throw": {0, 2, nil, ""}, "Warn": {0, 2, nil, "warning"}, "Warning": {0, 2, nil, "warning"}, "warn": {1, 2, []string{"line", "class"}, "warning"},
		"note": {0, 2, []string{"line", "class"}, "warning"}, "fail": {0, 1, nil, "error"}, "Fail": {0, 1, nil, "error"},
	}
	found := 0
	scan := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			c, ok := callees[f.Sel.Name]
			if x, isIdent := f.X.(*ast.Ident); !ok || isIdent && f.Sel.Name == "New" && x.Name != "fault" {
				return true
			}
			word := func(i int) string {
				if i >= len(call.Args) {
					return ""
				}
				l, ok := call.Args[i].(*ast.BasicLit)
				if !ok || l.Kind != token.STRING {
					return ""
				}
				s, _ := strconv.Unquote(l.Value)
				return s
			}
			code := word(c.code)
			if code == "" {
				return true // a helper that passes a code on
			}
			found++
			args := slices.Clone(c.more)
			for i := c.first; i < len(call.Args); i++ {
				if s := word(i); s != "" {
					args = append(args, s)
				}
			}
			for lang, m := range texts {
				text, ok := m["error."+code]
				if c.family == "warning" || !ok && c.family == "" {
					text, ok = m["warning."+code]
				}
				if !ok {
					t.Errorf("%s: no text in %s for %s", positions.Position(call.Pos()), lang, code)
					continue
				}
				for _, part := range strings.Split(text, "{")[1:] {
					name, _, _ := strings.Cut(part, "}")
					name, _, _ = strings.Cut(name, ":")
					if !slices.Contains(args, name) {
						t.Errorf("%s: the text of %s wants {%s}, the code gives %v", positions.Position(call.Pos()), code, name, args)
					}
				}
			}
			return true
		})
		return nil
	}
	for _, dir := range []string{"print", "summary", "hf", "checkpoint", "file", "gguf", "jsonscan", "onnx", "pickle", "safetensors", "trace"} {
		if err := filepath.WalkDir(dir, scan); err != nil {
			t.Fatal(err)
		}
	}
	if found < 60 {
		t.Errorf("only %d codes found", found)
	}
}
