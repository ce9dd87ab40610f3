package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"vrametre/calc/gpu"
	"vrametre/calc/oom"
	"vrametre/content"
	"vrametre/web/view"
)

// explain says what the out-of-memory message of a text means.
func explain(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	lang := flags.String("lang", string(content.French), "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 0 || !slices.Contains(content.Langs, content.Lang(*lang)) {
		return errUsage
	}
	text, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	explanation := oom.Explain(string(utf8Of(text)), oom.Hints{})
	view.FillExplanation(&explanation, content.ParseLang(*lang))
	return write(stdout, explanation)
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
