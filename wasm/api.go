//go:build js && wasm

package main

import (
	"encoding/json"
	"syscall/js"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/view"
)

// announceEngine hands estimate to the boot script, which makes
// window.vrametre.estimate of it: JSON in, JSON out.
func announceEngine() {
	dispatch("engine", map[string]any{
		"estimate": js.FuncOf(func(_ js.Value, args []js.Value) any { return estimate(args[0].String()) }),
	})
}

// estimate answers a request in JSON with {"result": ...} or {"error": ...}.
func estimate(request string) string {
	var answer struct {
		Result *calc.Result  `json:"result,omitempty"`
		Error  *view.Failure `json:"error,omitempty"`
	}
	result, lang, err := answerTo(request)
	if err != nil {
		failure := view.FailureOf(err, lang)
		answer.Error = &failure
	} else {
		answer.Result = &result
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // a result always has a JSON form
	}
	return string(text)
}

func answerTo(request string) (calc.Result, content.Lang, error) {
	r, err := calc.ParseRequest([]byte(request))
	lang := content.ParseLang(r.Language)
	if err != nil {
		return calc.Result{}, lang, err
	}
	result, err := calc.Estimate(r)
	if err == nil {
		view.Fill(&result, lang)
	}
	return result, lang, err
}
