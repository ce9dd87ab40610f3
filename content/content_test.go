package content

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"vrametre/content/typography"
)

func TestLanguagesHaveTheSameMessages(t *testing.T) {
	if got, want := Keys(English), Keys(French); !slices.Equal(got, want) {
		for _, key := range want {
			if !slices.Contains(got, key) {
				t.Errorf("en.json lacks %q", key)
			}
		}
		for _, key := range got {
			if !slices.Contains(want, key) {
				t.Errorf("fr.json lacks %q", key)
			}
		}
	}
	for _, key := range Keys(French) {
		f, _ := Lookup(French, key)
		e, _ := Lookup(English, key)
		if got, want := e.Placeholders(), f.Placeholders(); !slices.Equal(got, want) {
			t.Errorf("%s: placeholders %v in English, %v in French", key, got, want)
		}
	}
}

func TestMessagesAreComplete(t *testing.T) {
	for _, lang := range Langs {
		if len(Keys(lang)) == 0 {
			t.Fatalf("%s: no messages", lang)
		}
		for _, key := range Keys(lang) {
			m, _ := Lookup(lang, key)
			for _, form := range []string{m.one, m.other} {
				if strings.TrimSpace(form) == "" {
					t.Errorf("%s %s: empty", lang, key)
				}
				if strings.Count(form, "{") != strings.Count(form, "}") {
					t.Errorf("%s %s: unbalanced braces in %q", lang, key, form)
				}
			}
			if m.Plural() && !slices.Contains(m.Placeholders(), "n") {
				t.Errorf("%s %s: plural forms without {n}", lang, key)
			}
		}
	}
}

func TestFrenchTypography(t *testing.T) {
	for _, key := range Keys(French) {
		m, _ := Lookup(French, key)
		for _, form := range []string{m.one, m.other} {
			for _, fault := range typography.FrenchFaults(form) {
				t.Errorf("%s: %s", key, fault)
			}
		}
	}
}

func TestFill(t *testing.T) {
	m := Message{one: "{n} image of {size:size}", other: "{n} images of {size:size}"}
	value := func(name, format string) string { return "<" + name + "/" + format + ">" }
	if got, want := m.Fill(true, value), "<n/> image of <size/size>"; got != want {
		t.Errorf("singular: %q, want %q", got, want)
	}
	if got, want := m.Fill(false, value), "<n/> images of <size/size>"; got != want {
		t.Errorf("plural: %q, want %q", got, want)
	}
	if got, want := m.Placeholders(), []string{"n", "size:size"}; !slices.Equal(got, want) {
		t.Errorf("placeholders %q, want %q", got, want)
	}
}

func TestUnmarshalRefusesHalfAPlural(t *testing.T) {
	var m Message
	if err := m.UnmarshalJSON([]byte(`{"one": "{n} image"}`)); err == nil {
		t.Error("a plural without its other form is accepted")
	}
	if err := m.UnmarshalJSON([]byte(`{"one": "{n} image", "other": "{n} images"}`)); err != nil || !m.Plural() {
		t.Errorf("plural: %v, %v", m, err)
	}
}

func TestSingular(t *testing.T) {
	for _, c := range []struct {
		lang Lang
		n    int64
		want bool
	}{{French, 0, true}, {French, 1, true}, {French, 2, false}, {English, 0, false}, {English, 1, true}, {English, 2, false}} {
		if got := Singular(c.lang, c.n); got != c.want {
			t.Errorf("Singular(%s, %d) = %v", c.lang, c.n, got)
		}
	}
}

// Straight keys keep the files easy to search and to diff.
func TestKeysAreDottedWords(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9]+([._-][a-zA-Z0-9]+)*$`)
	for _, key := range Keys(French) {
		if !form.MatchString(key) {
			t.Errorf("key %q", key)
		}
	}
}
