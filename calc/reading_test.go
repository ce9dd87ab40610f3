package calc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vrametre/calc/models"
)

// printed is a measured network with its print(model).
type printed struct {
	golden
	text   string
	Inputs [][2]any
	Loss   string
}

func prints(t testing.TB) []printed {
	dir := os.Getenv("VRAMETRE_GOLDEN")
	if dir == "" {
		dir = "testdata/golden"
	}
	var out []printed
	for _, g := range goldens(t) {
		files, err := filepath.Glob(filepath.Join(dir, "*", g.Name+".txt"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: prints %v, %v", g.Name, files, err)
		}
		p := printed{golden: g}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		p.text = string(text)
		data, err := os.ReadFile(strings.TrimSuffix(files[0], ".txt") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &struct {
			Inputs *[][2]any `json:"inputs"`
			Loss   *string   `json:"loss"`
		}{&p.Inputs, &p.Loss}); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// inputs are the measured ones, per sample.
func (p *printed) inputs() Inputs {
	var out Inputs
	for _, v := range p.Inputs {
		in := Input{DType: strings.Split(v[0].(string), "<")[0]}
		for _, d := range v[1].([]any)[1:] {
			in.Shape = append(in.Shape, int64(d.(float64)))
		}
		if p.Family == "dtype" {
			in.DType = "float64"
		}
		out = append(out, in)
	}
	return out
}

func (p *printed) loss() string {
	for text, name := range map[string]string{"F.mse_loss": "mse", "F.l1_loss": "l1", "F.smooth_l1_loss": "smooth_l1", "F.nll_loss": "nll",
		"F.binary_cross_entropy_with_logits": "bce_with_logits", "F.binary_cross_entropy(": "bce"} {
		if strings.HasPrefix(p.Loss, text) {
			return name
		}
	}
	return "cross_entropy"
}

// TestGoldenPrints reads the print(model) of each measured network: exact parameters for all, and the saved bytes and
// peaks that its preset has.
func TestGoldenPrints(t *testing.T) {
	exact, total := 0, 0
	for _, p := range prints(t) {
		t.Run(p.Name, func(t *testing.T) {
			m, err := Read(Model{Torch: p.text}, p.inputs())
			if err != nil {
				t.Fatal(err)
			}
			if m.Parameters != p.Params.Total {
				t.Errorf("parameters %d, measured %d %v", m.Parameters, p.Params.Total, m.Warnings)
			}
			if p.Family == "rnn" {
				return
			}
			for _, c := range p.Cases {
				q := p.request(c.Batch)
				q.Model, q.Want = Model{Torch: p.text}, nil
				q.Input, q.Loss = p.inputs(), p.loss()
				if p.Family == "dtype" {
					q.Precision = "fp64"
				}
				if p.Family == "frozen" {
					q.Frozen = presetFrozen(p.Name)
				}
				r, err := Estimate(q)
				if err != nil {
					t.Fatal(err)
				}
				want, err := Estimate(p.request(c.Batch))
				if err != nil {
					t.Fatal(err)
				}
				total++
				if r.SavedForBackward != want.SavedForBackward || r.First != want.First {
					t.Errorf("batch %d: saved %d, peaks %+v; preset %d, %+v (%v)", c.Batch, r.SavedForBackward, r.First, want.SavedForBackward, want.First, r.Warnings)
					continue
				}
				exact++
			}
		})
	}
	t.Logf("same as the preset in %d of %d cases", exact, total)
}

func presetFrozen(name string) []string {
	p, err := models.Find(name)
	if err != nil {
		return nil
	}
	return p.Frozen
}
