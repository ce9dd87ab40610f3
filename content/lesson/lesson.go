// Package lesson holds the pages' prose in both languages, as Markdown with a
// few directives. Only the site generator imports it: the prose is in the
// pages, and must not travel a second time in the wasm.
//
// A block directive is "::: name argument" up to a line ":::". In a line,
// {ref} is a figure of package view that follows the reader's settings,
// {32:ref} the same figure of the lesson's own case at that batch, {~name} a
// number that the reader can move, {name:ref} a figure of one of the generator's
// own cases, {=2*3*4} a size worked out from its factors, {kind|text} a word in the colour of a kind
// of memory, {live|text} what only holds while the page is awake. A section's heading is "## eyebrow | title {#id}".
// On the page of measurements {ref} is also one of its own figures, and a block "::: measured part" says the caption,
// the heads and the words of one of its tables, as package web/validation reads them.
package lesson

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"vrametre/content"
)

//go:embed *.md
var files embed.FS

// Names of the pages.
const (
	Lesson   = "lesson"
	OOM      = "oom"
	Workshop = "atelier"
	// Validation compares figures with measurements; nothing on it moves.
	Validation = "validation"
)

// Pages lists them.
var Pages = []string{Lesson, OOM, Workshop, Validation}

// Source is a page's text in a language.
func Source(page string, lang content.Lang) string {
	name := string(lang) + ".md"
	if page != Lesson {
		name = page + "." + name
	}
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded data, held by the tests
	}
	return string(text)
}

// Doc is a page's text, cut into blocks.
type Doc struct {
	Title, Description string
	// Opening is what stands before the first section.
	Opening  []Block
	Sections []Section
}

// Section is one numbered part of the lesson.
type Section struct {
	// ID is the same in both languages, so that the language switch keeps the place.
	ID             string
	Eyebrow, Title string
	Blocks         []Block
}

// Block is a run of Markdown paragraphs (Directive is empty), or one directive.
type Block struct {
	Directive, Argument string
	Text                string
}

var heading = regexp.MustCompile(`^## (.+) \| (.+) \{#([a-z0-9]+)\}$`)

// Parse cuts a lesson's text into sections and blocks.
func Parse(source string) (Doc, error) {
	var doc Doc
	lines := strings.Split(strings.TrimSpace(source), "\n")
	blocks := &doc.Opening
	var prose []string
	fenced := false
	flush := func() {
		if text := strings.TrimSpace(strings.Join(prose, "\n")); text != "" {
			*blocks = append(*blocks, Block{Text: text})
		}
		prose = nil
	}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		switch {
		case fenced:
			prose = append(prose, line)
		case i < 2:
			key, value, _ := strings.Cut(line, ": ")
			switch key {
			case "title":
				doc.Title = value
			case "description":
				doc.Description = value
			default:
				return Doc{}, fmt.Errorf("line %d: title and description come first, not %q", i+1, line)
			}
		case strings.HasPrefix(line, "## "):
			flush()
			m := heading.FindStringSubmatch(line)
			if m == nil {
				return Doc{}, fmt.Errorf("line %d: a heading is \"## eyebrow | title {#id}\", not %q", i+1, line)
			}
			doc.Sections = append(doc.Sections, Section{Eyebrow: m[1], Title: m[2], ID: m[3]})
			blocks = &doc.Sections[len(doc.Sections)-1].Blocks
		case strings.HasPrefix(line, "::: "):
			flush()
			name, argument, _ := strings.Cut(strings.TrimPrefix(line, "::: "), " ")
			start := i + 1
			for i++; i < len(lines) && lines[i] != ":::"; i++ {
			}
			if i == len(lines) {
				return Doc{}, fmt.Errorf("line %d: directive %s is not closed", start, name)
			}
			*blocks = append(*blocks, Block{name, argument, strings.TrimSpace(strings.Join(lines[start:i], "\n"))})
		case strings.TrimSpace(line) == "":
			flush()
		default:
			prose = append(prose, line)
		}
	}
	flush()
	if fenced {
		return Doc{}, fmt.Errorf("a code fence is not closed")
	}
	return doc, nil
}

var directive = regexp.MustCompile(`\{[^{}\n]+\}`)

// Directives lists the line directives of a text in order, the words of
// {kind|words} left out: what must be the same in every language.
func Directives(text string) []string {
	var list []string
	for _, d := range directive.FindAllString(text, -1) {
		kind, _, _ := strings.Cut(strings.Trim(d, "{}"), "|")
		list = append(list, kind)
	}
	return list
}
