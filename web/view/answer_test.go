package view

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/content"
)

// faultCall is a place where the engine makes an error or a warning.
type faultCall struct {
	code string
	args []string
	at   string
}

// faultCalls reads the engine's source: codes and arguments are literals there.
func faultCalls(t *testing.T) (errors, warnings []faultCall) {
	t.Helper()
	err := filepath.WalkDir("../../calc", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
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
			callee := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				callee = f.Name
			case *ast.SelectorExpr:
				callee = f.Sel.Name
				if receiver, ok := f.X.(*ast.Ident); ok {
					callee = receiver.Name + "." + callee
				}
			}
			// Where the code stands among the arguments, and where its own arguments begin.
			var code, first int
			switch callee {
			case "fault.New", "fault.Throw", "q.warn":
				code, first = 0, 2
			case "g.Fail", "g.Warn", "b.G.Fail":
				code, first = 0, 1
			case "fail":
				code, first = 1, 2
			case "a.fail", "a.Fail":
				code, first = 0, 3
			default:
				return true
			}
			if callee == "fail" && len(call.Args) > 0 { // a method of a reader, whose receiver knows the place
				if l, ok := call.Args[0].(*ast.BasicLit); ok && l.Kind == token.STRING {
					code, first = 0, 1
				}
			}
			literal := func(i int) (string, bool) {
				if i >= len(call.Args) {
					return "", false
				}
				l, ok := call.Args[i].(*ast.BasicLit)
				if !ok || l.Kind != token.STRING {
					return "", false
				}
				s, err := strconv.Unquote(l.Value)
				return s, err == nil
			}
			c := faultCall{at: positions.Position(call.Pos()).String()}
			if c.code, ok = literal(code); !ok {
				return true // a helper that passes a code on
			}
			if callee == "a.fail" || callee == "a.Fail" {
				c.args = []string{"type", "argument", "value"}
			}
			for i := first; i < len(call.Args); i += 2 {
				if name, ok := literal(i); ok {
					c.args = append(c.args, name)
				}
			}
			if callee == "g.Warn" || callee == "q.warn" {
				warnings = append(warnings, c)
			} else {
				errors = append(errors, c)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return errors, warnings
}

func TestEngineErrorsHaveTexts(t *testing.T) {
	failures, warnings := faultCalls(t)
	if len(failures) < 50 {
		t.Fatalf("only %d errors found in the engine", len(failures))
	}
	check := func(family string, calls []faultCall) {
		for _, c := range calls {
			key := family + "." + c.code
			variants := []string{key}
			for _, name := range c.args {
				if Has(content.French, key+"."+name) {
					variants = append(variants, key+"."+name)
				}
			}
			for _, variant := range variants {
				message, ok := content.Lookup(content.French, variant)
				if !ok {
					t.Errorf("%s: no text %q", c.at, variant)
					continue
				}
				for _, placeholder := range message.Placeholders() {
					name, _, _ := strings.Cut(placeholder, ":")
					if !slices.Contains(c.args, name) {
						t.Errorf("%s: %q wants {%s}, the engine gives %v", c.at, variant, name, c.args)
					}
				}
			}
		}
	}
	check("error", failures)
	check("warning", warnings)
}

func TestFailureOf(t *testing.T) {
	unknown := &calc.Error{Code: "field-unknown", At: "batc", Args: map[string]any{"field": "batc", "close": "batch"}}
	lost := &calc.Error{Code: "field-unknown", At: "x", Args: map[string]any{"field": "x", "close": ""}}
	for _, c := range []struct {
		err    error
		lang   content.Lang
		code   string
		phrase string
	}{
		{unknown, content.French, "field-unknown", "batc~: Champ inconnu~: batc. Vouliez-vous écrire batch~?"},
		{fmt.Errorf("wrapped: %w", unknown), content.English, "field-unknown", "batc: Unknown field: batc. Did you mean batch?"},
		{lost, content.English, "field-unknown", "x: Unknown field: x. The request schema lists the fields."},
		{&calc.Error{Code: "request-syntax", At: "2:7", Args: map[string]any{"line": 2, "column": 7, "comma": "{"}}, content.English, "request-syntax",
			"2:7: The JSON is broken: a comma is missing before “{”, or this character is one too many."},
		{&calc.Error{Code: "request-syntax"}, content.English, "request-syntax", "The request is not a valid JSON object."},
		{errors.New("broken"), content.English, "unexpected", "The computation failed: broken."},
	} {
		f := FailureOf(c.err, c.lang)
		if got := plain(f.Sentence(c.lang)); f.Code != c.code || got != c.phrase {
			t.Errorf("%v: %s %q, want %s %q", c.err, f.Code, got, c.code, c.phrase)
		}
	}
}

func TestFill(t *testing.T) {
	r := calc.Result{Warnings: []calc.Warning{{Code: "no-blocks"}}, Advice: []calc.Advice{{Costs: "free"}, {Costs: "fused free"}}}
	Fill(&r, content.English)
	if got := r.Warnings[0].Message; !strings.HasPrefix(got, "This model has no blocks") {
		t.Errorf("warning %q", got)
	}
	if got := r.Advice[0].Costs; got != "No drawback." {
		t.Errorf("one cost %q", got)
	}
	if got := r.Advice[1].Costs; got != "No drawback: a single kernel updates every weight. No drawback." {
		t.Errorf("two costs %q", got)
	}
}

// Whatever a result holds as a code has its words.
func TestResultCodesHaveTexts(t *testing.T) {
	for family, codes := range map[string][]string{
		"formula": calc.Formulas(), "source": calc.Sources(), "basis": calc.Bases(), "assumption": calc.AssumptionIDs(), "budget": BudgetLines, "part": calc.PartKinds,
	} {
		if len(codes) == 0 {
			t.Errorf("no %s", family)
		}
		for _, code := range codes {
			for _, lang := range content.Langs {
				if key := family + "." + code; !Has(lang, key) {
					t.Errorf("%s: no text %q", lang, key)
				}
			}
		}
	}
}

// The parts' formulas are filled by the engine's own arguments, and the
// advice's costs are words, on requests that reach many of them.
func TestAnswersAreWords(t *testing.T) {
	for _, r := range []calc.Request{
		{},
		{Mode: "infer"},
		{Precision: "amp-bf16", Optimizer: calc.Optimizer{Name: "sgd", Momentum: 0.9}},
		{Model: calc.Model{Preset: "resnet18"}, Batch: 1024, Device: calc.Device{GPU: "gtx-1650"}},
		{Model: calc.Model{Preset: "vit_b_16"}, ZeroGrad: "zeros", Attention: "math"},
	} {
		r.Want = calc.Wants
		result, err := calc.Estimate(r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if r.Mode != "infer" && len(result.Advice) == 0 {
			t.Errorf("%+v: no advice", r)
		}
		for _, lang := range content.Langs {
			for _, part := range result.Parts {
				args := Args{}
				for name, value := range part.FormulaArgs {
					args[name] = value
				}
				if got := Text(lang, "formula."+part.Formula, args); strings.ContainsAny(got, "{}") {
					t.Errorf("%s %s: %q, the engine gives %v", lang, part.Kind, got, part.FormulaArgs)
				}
			}
			for _, advice := range result.Advice {
				if got := costs(advice.Costs, lang); got == "" || strings.Contains(got, "costs.") {
					t.Errorf("%s %s: %q", lang, advice.Change, got)
				}
			}
		}
	}
}
