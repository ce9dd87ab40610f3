// Package content holds every word the reader sees, in French and in English,
// as data: the message catalogue of the page and the command is embedded here,
// the lesson's prose in content/lesson, which only the site generator imports.
package content

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Lang is a language of the product.
type Lang string

// The two languages. French is the original.
const (
	French  Lang = "fr"
	English Lang = "en"
)

// Langs lists the languages, the original first.
var Langs = []Lang{French, English}

// ParseLang returns the language of a tag ("fr", "en"); French for anything else.
func ParseLang(tag string) Lang {
	if tag == string(English) {
		return English
	}
	return French
}

var (
	//go:embed messages/fr.json
	frenchJSON []byte
	//go:embed messages/en.json
	englishJSON []byte

	load = sync.OnceValue(func() map[Lang]map[string]Message {
		all := map[Lang]map[string]Message{}
		for lang, data := range map[Lang][]byte{French: frenchJSON, English: englishJSON} {
			messages := map[string]Message{}
			if err := json.Unmarshal(data, &messages); err != nil {
				panic(fmt.Sprintf("content/messages/%s.json: %v", lang, err)) // embedded data, held by the tests
			}
			all[lang] = messages
		}
		return all
	})
)

// Message is one text of the catalogue. Its placeholders are {name}, or
// {name:format} where the format says how a number is written. A message with
// plural forms is {"one": ..., "other": ...} in JSON.
type Message struct {
	one, other string
}

// UnmarshalJSON reads a string or an object of plural forms.
func (m *Message) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &m.other); err == nil {
		m.one = m.other
		return nil
	}
	var forms struct{ One, Other string }
	if err := json.Unmarshal(data, &forms); err != nil {
		return err
	}
	if forms.One == "" || forms.Other == "" {
		return fmt.Errorf("plural message without one or other: %s", data)
	}
	m.one, m.other = forms.One, forms.Other
	return nil
}

// Plural reports whether the message has plural forms, chosen by the argument "n".
func (m Message) Plural() bool { return m.one != m.other }

// Fill writes the message's singular or plural form; value gives the text of each placeholder.
func (m Message) Fill(singular bool, value func(name, format string) string) string {
	text := m.other
	if singular {
		text = m.one
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		placeholder, after, closed := strings.Cut(rest, "}")
		if !closed {
			b.WriteString("{" + rest)
			return b.String()
		}
		name, format, _ := strings.Cut(placeholder, ":")
		b.WriteString(value(name, format))
		text = after
	}
}

// Placeholders lists the message's distinct placeholders as written, sorted.
func (m Message) Placeholders() []string {
	seen := map[string]bool{}
	for _, form := range []string{m.one, m.other} {
		Message{other: form}.Fill(false, func(name, format string) string {
			if format != "" {
				name += ":" + format
			}
			seen[name] = true
			return ""
		})
	}
	list := make([]string, 0, len(seen))
	for name := range seen {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}

// Lookup finds a message of the catalogue.
func Lookup(lang Lang, key string) (Message, bool) {
	m, ok := load()[lang][key]
	return m, ok
}

// Keys lists the catalogue's keys, sorted.
func Keys(lang Lang) []string {
	keys := make([]string, 0, len(load()[lang]))
	for key := range load()[lang] {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// Singular reports whether a count takes the singular form: French counts 0
// and 1 as one, English only 1.
func Singular(lang Lang, n int64) bool {
	if lang == French {
		return n == 0 || n == 1
	}
	return n == 1
}
