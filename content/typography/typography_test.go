package typography

import "testing"

func TestFrenchFaults(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"Un lot\u202f: 1\u202f458\u202fMo, l’image.", 0},
		{"Un lot: x", 1},
		{"Un lot : x", 1},
		{"Qui\u202f? Vous\u202f; moi", 0},
		{"Qui ?", 1},
		{"«\u202flot\u202f»", 0},
		{"« lot »", 2},
		{"\"lot\"", 2},
		{"l'image", 1},
		{"Bravo\u202f!", 1},
		{"3.6 Mo", 2},
		{"3,6\u202fMo", 0},
		{"12 000 octets", 2},
		{"{live|Changez : tout}", 1},
		{"{live|Changez\u202f: tout} {32:rule.total}", 0},
		{"un `x: y` et `a'b` et [lien](https://x.org/a?b)", 0},
	} {
		if got := FrenchFaults(c.text); len(got) != c.want {
			t.Errorf("FrenchFaults(%q) = %q, want %d faults", c.text, got, c.want)
		}
	}
}
