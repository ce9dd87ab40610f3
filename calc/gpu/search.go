package gpu

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc/fault"
)

// Search finds cards for a picker: every word of the query, in any order and
// without regard to case or accents, must occur in the card's name, id, maker,
// architecture, segment or size ("12", "12go", "12gb"). Cards whose words
// begin with the query's come first, then the catalogue's order. An empty query lists all.
func Search(query string) []Card {
	var words []string
	for _, w := range fold(query) {
		// "16 Go" is one word.
		if n := len(words); n > 0 && slices.Contains([]string{"go", "gb", "gio", "gib"}, w) && strings.Trim(words[n-1], "0123456789") == "" {
			words[n-1] += w
			continue
		}
		words = append(words, w)
	}
	type hit struct {
		card  Card
		loose int
	}
	var hits []hit
	for _, c := range load().cards {
		hay := c.words()
		joined := strings.Join(hay, "")
		loose := 0
		ok := true
		for _, w := range words {
			switch {
			case slices.Contains(hay, w):
			case slices.ContainsFunc(hay, func(h string) bool { return strings.HasPrefix(h, w) }):
				loose++
			case len(w) > 2 && strings.Contains(joined, w): // "rtx3060"
				loose += 2
			default:
				ok = false
			}
		}
		if ok {
			hits = append(hits, hit{c, loose})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.loose - b.loose })
	out := make([]Card, len(hits))
	for i, h := range hits {
		out[i] = h.card
	}
	return out
}

// nearest are suggested at most.
const nearest = 3

// Nearest are the ids that a name which is none can mean, the likeliest first: those of the card that a renderer string
// or a number says, then what a search for its words finds, then the ids that it resembles.
func Nearest(name string) []string {
	words := strings.Join(fold(name), "-")
	if words == "" {
		return nil
	}
	var out []string
	add := func(id string) {
		if len(out) < nearest && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, c := range Lookup(name).Cards {
		add(c.ID)
	}
	for _, c := range Search(name) {
		add(c.ID)
	}
	var ids []string
	for _, c := range load().cards {
		ids = append(ids, c.ID)
	}
	for _, id := range fault.Nearest(words, ids) {
		add(id)
	}
	return out
}

func (c *Card) words() []string {
	out := fold(c.Name + " " + c.ID + " " + c.Vendor + " " + c.Architecture + " " + c.Segment)
	for _, s := range c.VRAMGiB {
		n := strconv.FormatInt(s, 10)
		out = append(out, n, n+"gb", n+"go", n+"gib", n+"gio")
	}
	return out
}

// accents folds the letters that French keyboards add.
var accents = strings.NewReplacer("à", "a", "â", "a", "ä", "a", "ç", "c", "é", "e", "è", "e", "ê", "e", "ë", "e", "î", "i", "ï", "i", "ô", "o", "ö", "o", "ù", "u", "û", "u", "ü", "u")

// fold splits text into lower-case words without accents.
func fold(text string) []string {
	return strings.FieldsFunc(accents.Replace(strings.ToLower(text)), func(r rune) bool {
		return r < 0x80 && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}
