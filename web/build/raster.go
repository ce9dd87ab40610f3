package build

import (
	"encoding/json"
	"path/filepath"
)

// Rasterize draws SVG pictures as PNG, scale pixels for each of theirs, with
// fonts of a family and no others.
func Rasterize(pictures []string, family string, fonts [][]byte, scale float64) ([][]byte, error) {
	root, unlock, err := prepare()
	if err != nil {
		return nil, err
	}
	defer unlock()
	input, err := json.Marshal(struct {
		Fonts    [][]byte `json:"fonts"`
		Family   string   `json:"family"`
		Pictures []string `json:"pictures"`
		Scale    float64  `json:"scale"`
	}{fonts, family, pictures, scale})
	if err != nil {
		return nil, err
	}
	out, err := pipe(filepath.Join(root, "web", "build"), nil, input, "node", "raster.mjs")
	if err != nil {
		return nil, err
	}
	var drawn [][]byte
	return drawn, json.Unmarshal(out, &drawn)
}
