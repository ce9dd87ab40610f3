// Package exacttest keeps what the engine's tests find exact to the byte where package validate reads it: a test counts,
// and the counts are held to the committed ones, or written with -update.
package exacttest

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the counts of exact comparisons")

// Count is one kind of comparison.
type Count struct {
	Compared int `json:"compared"`
	Exact    int `json:"exact"`
}

// Add counts one more comparison.
func (c *Count) Add(exact bool) {
	c.Compared++
	if exact {
		c.Exact++
	}
}

// Hold compares a test's counts with those of a file, named from the test's folder.
func Hold(t *testing.T, file string, counts map[string]Count) {
	t.Helper()
	kept := map[string]Count{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	for what, got := range counts {
		if got.Compared == 0 {
			t.Errorf("%s: nothing compared", what)
		}
		if !*update && kept[what] != got {
			t.Errorf("%s: %d of %d exact, %s says %d of %d; run the test again with -update", what, got.Exact, got.Compared, file, kept[what].Exact, kept[what].Compared)
		}
		kept[what] = got
	}
	if !*update {
		return
	}
	if data, err = json.MarshalIndent(kept, "", "  "); err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
