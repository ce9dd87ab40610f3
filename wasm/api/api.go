// Package api answers in JSON what pages ask in JavaScript.
package api

import (
	"encoding/json"

	"vrametre/calc"
	"vrametre/calc/oom"
	"vrametre/content"
	"vrametre/web/view"
)

// elsewhere sends the caller to the whole engine.
const elsewhere = `{"error":{"code":"reader-elsewhere"}}`

// Explain says in JSON what the message of a text means, in a language.
func Explain(text, lang string) string {
	if !calc.Whole {
		return elsewhere
	}
	e := oom.Explain(text, oom.Hints{})
	view.FillExplanation(&e, content.ParseLang(lang))
	answer, err := json.Marshal(e)
	if err != nil {
		panic(err) // an explanation always has a JSON form
	}
	return string(answer)
}

// Presets lists the models known by name, in JSON.
func Presets() string {
	if !calc.Whole {
		return elsewhere
	}
	var list []calc.Preset
	for _, name := range calc.Presets() {
		if p, ok := calc.PresetOf(name); ok {
			list = append(list, p)
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // a preset always has a JSON form
	}
	return string(text)
}

// Estimate answers a request in JSON with {"result": ...} or {"error": ...}.
func Estimate(request string) string {
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
