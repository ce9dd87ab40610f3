package calc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"vrametre/calc/models"
	"vrametre/calc/validate/exacttest"
)

// TestGoldenLayers compares, path by path, the bytes each module is the first to save, and their sum with the whole.
// Networks with dropout are left out: their measured rows hold the CPU's four-byte masks.
func TestGoldenLayers(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var modules exacttest.Count
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var g struct {
			Name, Family string
			Modules      struct {
				Batch int64
				Rows  [][]any
			}
			Cases []struct {
				NativeDropout *struct{} `json:"native_dropout"`
			}
		}
		if err := json.Unmarshal(data, &g); err != nil || len(g.Cases) == 0 || g.Cases[0].NativeDropout != nil || g.Family == "rnn" ||
			!slices.Contains(models.Names(), g.Name) {
			continue // measurements of another kind
		}
		r, err := Estimate((&golden{Name: g.Name}).request(g.Modules.Batch))
		if err != nil {
			t.Fatal(err)
		}
		ours := map[string]int64{}
		var sum int64
		for _, l := range r.Layers {
			ours[l.Path] += l.Saved
			sum += l.Saved
		}
		if sum != r.SavedForBackward {
			t.Errorf("%s: layers save %d, the network %d", g.Name, sum, r.SavedForBackward)
		}
		measured := map[string]int64{}
		for _, row := range g.Modules.Rows { // path, class, in, out, own parameters, first saved...
			measured[row[0].(string)] += int64(row[5].(float64))
		}
		for path, want := range measured {
			modules.Add(ours[path] == want)
			if ours[path] != want {
				t.Errorf("%s %s: saves %d, measured %d", g.Name, path, ours[path], want)
			}
		}
	}
	exacttest.Hold(t, exactFile, map[string]exacttest.Count{"layers": modules})
}
