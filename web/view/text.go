package view

import (
	"fmt"

	"vrametre/content"
)

// Args are the values of a message's placeholders. Integers are written with
// the language's digit grouping, or as sizes where the placeholder says so;
// "n" chooses the plural form.
type Args map[string]any

// Text fills a message of the catalogue. A key that the catalogue does not
// hold comes back as it is: the tests see to it that none is asked for.
func Text(lang content.Lang, key string, args Args) string {
	message, ok := content.Lookup(lang, key)
	if !ok {
		return key
	}
	n, counted := integer(args["n"])
	return message.Fill(counted && content.Singular(lang, n), func(name, format string) string {
		value, ok := args[name]
		if !ok {
			return "{" + name + "}"
		}
		number, ok := integer(value)
		if f, fraction := value.(float64); fraction {
			return decimal(lang, f)
		}
		if !ok {
			return fmt.Sprint(value)
		}
		switch format {
		case "size":
			return Bytes(lang, number)
		case "exact":
			return Exact(lang, number)
		case "binary":
			return Binary(lang, number)
		case "card":
			return Gigabytes(lang, number)
		}
		return Count(lang, number)
	})
}

// Has reports whether the catalogue holds a key.
func Has(lang content.Lang, key string) bool {
	_, ok := content.Lookup(lang, key)
	return ok
}

func integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	}
	return 0, false
}
