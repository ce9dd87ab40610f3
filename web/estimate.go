package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/view"
)

// estimate answers one request, which may stretch over lines, or many as JSON
// lines. One bad request is an error; a bad line is answered in its place.
// With a file, or the several of a checkpoint, that is the model, and the request may be left out.
func estimate(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("estimate", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var names []string
	flags.Func("file", "", func(name string) error { names = append(names, name); return nil })
	if err := flags.Parse(args); err != nil || flags.NArg() != 0 {
		return errUsage
	}
	if len(names) > 0 && terminal(stdin) {
		stdin = strings.NewReader("{}")
	}
	input, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	input = utf8Of(input)
	if len(names) > 0 || !jsonLines(input) {
		result, lang, err := answer(names, input)
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
		result, lang, err := answer(nil, line)
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

// terminal says whether nobody has piped anything in.
func terminal(stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// about estimates a request about its own model, or about that of a file or of several that belong together.
func about(names []string, input []byte) (calc.Request, calc.Result, content.Lang, error) {
	if len(names) > 0 && len(bytes.TrimSpace(input)) == 0 {
		input = []byte("{}")
	}
	request, lang, err := parse(input)
	var given struct{ Model json.RawMessage }
	switch {
	case err != nil:
		return request, calc.Result{}, lang, err
	case len(names) > 0 && json.Unmarshal(input, &given) == nil && given.Model != nil:
		return request, calc.Result{}, lang, &calc.Error{Code: "model-several", At: "model"}
	}
	var files []calc.File
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return request, calc.Result{}, lang, unreadable(err)
		}
		defer file.Close()
		info, err := file.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s: %w", name, fs.ErrInvalid)
		}
		if err != nil {
			return request, calc.Result{}, lang, unreadable(err)
		}
		files = append(files, calc.File{Name: filepath.Base(name), Source: file, Size: info.Size()})
	}
	if len(files) > 0 {
		if request.Model, _, err = calc.Open(files); err != nil {
			return request, calc.Result{}, lang, err
		}
	}
	result, err := calc.Estimate(request)
	return request, result, lang, err
}

func unreadable(err error) error {
	return &calc.Error{Code: "file-unreadable", At: "model.file", Args: map[string]any{"detail": err.Error()}}
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

// answer answers one request in the language it asks for, about the model of the files where there are any.
func answer(names []string, input []byte) (calc.Result, content.Lang, error) {
	_, result, lang, err := about(names, input)
	if err != nil {
		return calc.Result{}, lang, err
	}
	view.Fill(&result, lang)
	return result, lang, nil
}

// parse reads a request, which wants all that it does not choose.
func parse(input []byte) (calc.Request, content.Lang, error) {
	if len(bytes.TrimSpace(input)) == 0 {
		return calc.Request{}, content.French, &calc.Error{Code: "request-empty", Args: map[string]any{"json": "{}"}}
	}
	// The language is read apart: an error in the rest must be said in it too.
	var tongue struct{ Language string }
	_ = json.Unmarshal(input, &tongue)
	lang := content.ParseLang(tongue.Language)
	request, err := calc.ParseRequest(input)
	if request.Want == nil {
		request.Want = calc.Wants
	}
	return request, lang, err
}
