package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf16"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/calc/oom"
	"vrametre/content"
	"vrametre/web/view"
)

// explain says what the out-of-memory message of a text means. With a request, in a file, or the files of a model, its
// numbers are looked for among that network's tensors.
func explain(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	lang := flags.String("lang", string(content.French), "")
	asked := flags.String("request", "", "")
	var names []string
	flags.Func("file", "", func(name string) error { names = append(names, name); return nil })
	if err := flags.Parse(args); err != nil || flags.NArg() != 0 || !slices.Contains(content.Langs, content.Lang(*lang)) {
		return errUsage
	}
	text, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	var hints oom.Hints
	if *asked != "" || len(names) > 0 {
		if hints, err = hintsOf(*asked, names); err != nil {
			return errors.New(view.FailureOf(err, content.Lang(*lang)).Sentence(content.Lang(*lang)))
		}
	}
	explanation := oom.Explain(string(utf8Of(text)), hints)
	view.FillExplanation(&explanation, content.ParseLang(*lang))
	return write(stdout, explanation)
}

// hintsOf are what the network of a request tells, in the file of that name, of the named files, or both.
func hintsOf(asked string, names []string) (oom.Hints, error) {
	var input []byte
	if asked != "" {
		var err error
		if input, err = os.ReadFile(asked); err != nil {
			return oom.Hints{}, &calc.Error{Code: "file-unreadable", Args: map[string]any{"detail": err.Error()}}
		}
	}
	request, result, _, err := about(names, utf8Of(input))
	if err != nil {
		return oom.Hints{}, err
	}
	if request.Batch == 0 {
		request.Batch = calc.DefaultBatch
	}
	return view.Hints(result, request.Batch), nil
}

// utf8Of is a text without its byte order mark. Some shells begin with one what they pipe, and PowerShell's ">" writes UTF-16.
func utf8Of(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	units := make([]uint16, 0, len(text)/2)
	for text = text[2:]; len(text) >= 2; text = text[2:] {
		units = append(units, order.Uint16(text))
	}
	return []byte(string(utf16.Decode(units)))
}

// lookup lists the cards that a renderer name or a PCI id can mean; where there are none, the ids that are close.
func lookup(args []string, _ io.Reader, stdout io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	name := strings.Join(args, " ")
	answer := struct {
		gpu.Match
		Close []string `json:"close,omitempty"`
	}{Match: gpu.Lookup(name)}
	if len(answer.Cards) == 0 && (answer.Kind == gpu.KindUnknown || answer.Kind == gpu.KindVendor) {
		answer.Close = gpu.Nearest(name)
	}
	return write(stdout, answer)
}

func write(w io.Writer, answer any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(answer)
}
