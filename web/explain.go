package main

import (
	"encoding/json"
	"flag"
	"io"
	"strings"

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
	if err := flags.Parse(args); err != nil || flags.NArg() != 0 {
		return errUsage
	}
	text, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	explanation := oom.Explain(string(text), oom.Hints{})
	view.FillExplanation(&explanation, content.ParseLang(*lang))
	return write(stdout, explanation)
}

// lookup lists the cards that a renderer name or a PCI id can mean.
func lookup(args []string, _ io.Reader, stdout io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	return write(stdout, gpu.Lookup(strings.Join(args, " ")))
}

func write(w io.Writer, answer any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(answer)
}
