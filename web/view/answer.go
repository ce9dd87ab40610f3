package view

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"vrametre/calc"
	"vrametre/content"
)

// Failure is an error as the command prints it and the JavaScript API throws it.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	At      string `json:"at,omitzero"`
}

// FailureOf says in a language what is wrong with a request.
func FailureOf(err error, lang content.Lang) Failure {
	var e *calc.Error
	if !errors.As(err, &e) {
		return Failure{Code: "unexpected", Message: Text(lang, "error.unexpected", Args{"detail": err.Error()})}
	}
	return Failure{Code: e.Code, Message: filled(lang, "error."+e.Code, e.Args), At: e.At}
}

// Sentence is the failure on one line, its place first.
func (f Failure) Sentence(lang content.Lang) string {
	if f.At == "" {
		return f.Message
	}
	return Text(lang, "error.at", Args{"at": f.At, "message": f.Message})
}

// Fill writes the texts of a result, which calc leaves as codes.
func Fill(r *calc.Result, lang content.Lang) {
	for i := range r.Warnings {
		w := &r.Warnings[i]
		w.Message = filled(lang, "warning."+w.Code, w.Args)
	}
	for i := range r.Advice {
		r.Advice[i].Costs = costs(r.Advice[i].Costs, lang)
	}
}

// costs writes what an advice costs; a pair of changes costs both.
func costs(codes string, lang content.Lang) string {
	sentences := strings.Fields(codes)
	for i, code := range sentences {
		sentences[i] = Text(lang, "costs."+code, nil)
	}
	return strings.Join(sentences, " ")
}

// filled fills a message, in the variant named by an argument that has a
// value ("error.field-unknown.close") where the catalogue has one.
func filled(lang content.Lang, key string, args map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if value := args[name]; value != "" && value != 0 && value != int64(0) && Has(lang, key+"."+name) {
			key += "." + name
			break
		}
	}
	return Text(lang, key, args)
}
