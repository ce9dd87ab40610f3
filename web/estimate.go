package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/view"
)

// estimate answers one request, which may stretch over lines, or many as JSON
// lines. One bad request is an error; a bad line is answered in its place.
func estimate(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 0 {
		return errUsage
	}
	input, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	// Some shells begin what they pipe with a byte order mark.
	input = bytes.TrimPrefix(input, []byte("\ufeff"))
	if !jsonLines(input) {
		result, lang, err := answer(input)
		if err != nil {
			return errors.New(view.FailureOf(err, lang).Sentence(lang))
		}
		return write(stdout, result)
	}
	out := bufio.NewWriter(stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for line := range bytes.Lines(input) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var reply any
		result, lang, err := answer(line)
		if reply = result; err != nil {
			reply = struct {
				Error view.Failure `json:"error"`
			}{view.FailureOf(err, lang)}
		}
		if err := encoder.Encode(reply); err != nil {
			return err
		}
	}
	return out.Flush()
}

// jsonLines tells many requests, one a line, from one request over several
// lines, broken though it may be. A first line that is a whole request ends it;
// one that ends in the middle of something goes on below. Where the first line
// is broken in itself, a later one that is a whole request tells.
func jsonLines(input []byte) bool {
	if json.Valid(input) {
		return false
	}
	first := true
	for line := range bytes.Lines(input) {
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		if line[0] == '{' && json.Valid(line) {
			return true
		}
		if first && bytes.IndexByte([]byte("{[,:"), text[len(text)-1]) >= 0 {
			return false
		}
		first = false
	}
	return false
}

// answer answers one request, in the language it asks for.
func answer(input []byte) (calc.Result, content.Lang, error) {
	if len(bytes.TrimSpace(input)) == 0 {
		return calc.Result{}, content.French, &calc.Error{Code: "request-empty", Args: map[string]any{"json": "{}"}}
	}
	// The language is read apart: an error in the rest must be said in it too.
	var tongue struct{ Language string }
	_ = json.Unmarshal(input, &tongue)
	lang := content.ParseLang(tongue.Language)
	request, err := calc.ParseRequest(input)
	if err != nil {
		return calc.Result{}, lang, err
	}
	if request.Want == nil {
		request.Want = calc.Wants
	}
	result, err := calc.Estimate(request)
	if err != nil {
		return calc.Result{}, lang, err
	}
	view.Fill(&result, lang)
	return result, lang, nil
}
