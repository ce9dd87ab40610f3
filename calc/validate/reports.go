package validate

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"vrametre/calc"
)

// reports.jsonl: public reports of memory errors that a preset can express,
// with what their authors saw. Networks before PyTorch had fused attention are
// asked for with the explicit one, which their code used.
//
//go:embed data/reports.jsonl
var reports string

// Report is what somebody saw: a training or an inference that fits a card, or does not.
type Report struct {
	// ID tells reports of one thread apart from others; several rows may share it.
	ID   string `json:"id"`
	What string `json:"what"`
	Fits bool   `json:"fits"`
	// Source is the public thread: a GitHub repository with the number, or a page.
	Source string `json:"source"`
	// Framework ran the case; empty: PyTorch.
	Framework string `json:"framework"`
	// Claim: nobody ran the case; the source says the contrary of Fits, which a count of the weights and maps settles.
	Claim   bool         `json:"claim"`
	Request calc.Request `json:"request"`
}

// Reports reads the table.
func Reports() ([]Report, error) {
	var out []Report
	for line := range strings.Lines(reports) {
		var row struct {
			Report
			Request json.RawMessage `json:"request"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return nil, fmt.Errorf("reports.jsonl: %w", err)
		}
		r := row.Report
		request, err := calc.ParseRequest(row.Request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.ID, err)
		}
		r.Request = request
		out = append(out, r)
	}
	return out, nil
}

// Judged is a report beside the engine's answer.
type Judged struct {
	Report
	Result calc.Result
	// Right says that the engine's verdict is what was seen.
	Right bool
}

// Judge asks the engine whether a report's case fits.
func Judge(r Report) (Judged, error) {
	result, err := calc.Estimate(r.Request)
	if err != nil {
		return Judged{Report: r}, fmt.Errorf("%s: %w", r.ID, err)
	}
	return Judged{r, result, *result.Fits == r.Fits}, nil
}
