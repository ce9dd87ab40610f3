package validate

import (
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"

	"vrametre/calc"
)

// JSON is the whole study.
func (s *Study) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", " ")
	return append(data, '\n'), err
}

// column is one column of a table: its name and its text for a line.
type column[T any] struct {
	name string
	text func(T) string
}

func csvOf[T any](columns []column[T], lines []T) ([]byte, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	write := func(text func(column[T]) string) error {
		record := make([]string, len(columns))
		for i, c := range columns {
			record[i] = text(c)
		}
		return w.Write(record)
	}
	err := write(func(c column[T]) string { return c.name })
	for _, line := range lines {
		if err == nil {
			err = write(func(c column[T]) string { return c.text(line) })
		}
	}
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return []byte(b.String()), err
}

func bytesText(n int64) string { return strconv.FormatInt(n, 10) }

// errorText is a relative error with four decimals: a hundredth of a per cent.
func errorText(e float64) string { return strconv.FormatFloat(e, 'f', 4, 64) }

func yes(b bool) string { return strconv.FormatBool(b) }

// asked are the columns of a request.
func asked[T any](of func(T) calc.Request) []column[T] {
	text := func(name string, text func(calc.Request) string) column[T] {
		return column[T]{name, func(line T) string { return text(of(line)) }}
	}
	return []column[T]{
		text("network", func(q calc.Request) string { return q.Model.Preset }),
		text("mode", func(q calc.Request) string { return first(q.Mode, "train") }),
		text("batch", func(q calc.Request) string { return bytesText(q.Batch) }),
		text("accumulation", func(q calc.Request) string { return strconv.Itoa(max(q.Accumulation, 1)) }),
		text("input", inputText),
		text("optimizer", func(q calc.Request) string { return first(q.Optimizer.Name, "adam") }),
		text("precision", func(q calc.Request) string { return first(q.Precision, "fp32") }),
		text("checkpointing", func(q calc.Request) string { return yes(q.Checkpointing.EveryBlock) }),
		text("lora", func(q calc.Request) string { return yes(q.Adapter != nil) }),
	}
}

func first(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// inputText is a shape (3x86x86) or a number of tokens; empty: the preset's own.
func inputText(q calc.Request) string {
	if len(q.Input) == 0 {
		return ""
	}
	if n := q.Input[0].Tokens; n > 0 {
		return strconv.FormatInt(n, 10)
	}
	var sides []string
	for _, n := range q.Input[0].Shape {
		sides = append(sides, strconv.FormatInt(n, 10))
	}
	return strings.Join(sides, "x")
}

// CasesCSV is the table of measured cases. Sizes are bytes, errors are relative.
func (s *Study) CasesCSV() ([]byte, error) {
	columns := []column[Case]{
		{"id", func(c Case) string { return c.ID }},
		{"family", func(c Case) string { return c.Family }},
	}
	columns = append(columns, asked(func(c Case) calc.Request { return c.Request })...)
	columns = append(columns, []column[Case]{
		{"dataset", func(c Case) string { return c.Dataset }},
		{"gpu", func(c Case) string { return c.GPU }},
		{"pytorch", func(c Case) string { return c.PyTorch }},
		{"zero_grad_at", func(c Case) string { return first(c.Request.ZeroGradAt, "start") }},
		{"zero_grad_inferred", func(c Case) string { return yes(c.Inferred) }},
		{"measure", func(c Case) string { return string(c.Measure) }},
		{"measured_bytes", func(c Case) string { return bytesText(c.Measured) }},
		{"ours_bytes", func(c Case) string { return bytesText(c.Ours) }},
		{"error", func(c Case) string { return errorText(c.Error) }},
		{"at_start_bytes", func(c Case) string { return bytesText(c.AtStart) }},
		{"at_start_error", func(c Case) string { return errorText(c.AtStartError) }},
		{"low_bytes", func(c Case) string { return bytesText(c.Low) }},
		{"high_bytes", func(c Case) string { return bytesText(c.High) }},
	}...)
	for _, tool := range Tools {
		columns = append(columns, column[Case]{tool + "_bytes", func(c Case) string {
			if n, ok := c.Tools[tool]; ok {
				return bytesText(n)
			}
			return ""
		}})
	}
	columns = append(columns, []column[Case]{
		{"missed", func(c Case) string { return yes(c.Missed) }},
		{"cause", func(c Case) string { return c.Cause }},
		{"source", func(c Case) string { return c.Source }},
		{"url", func(c Case) string { return c.URL }},
	}...)
	return csvOf(columns, s.Cases)
}

// VerdictsCSV is the table of trainings that ran or did not.
func (s *Study) VerdictsCSV() ([]byte, error) {
	columns := []column[Verdict]{
		{"id", func(v Verdict) string { return v.ID }},
		{"kind", func(v Verdict) string { return v.Kind }},
		{"family", func(v Verdict) string { return v.Family }},
	}
	columns = append(columns, asked(func(v Verdict) calc.Request { return v.Request })...)
	columns = append(columns, []column[Verdict]{
		{"gpu", func(v Verdict) string { return v.GPU }},
		{"limit_bytes", func(v Verdict) string { return bytesText(v.Limit) }},
		{"reserve_bytes", func(v Verdict) string { return bytesText(v.Needs) }},
		{"ran", func(v Verdict) string { return yes(v.Ran) }},
		{"fits", func(v Verdict) string { return yes(v.Fits) }},
		{"right", func(v Verdict) string { return yes(v.Right) }},
		{"framework", func(v Verdict) string { return v.Framework }},
		{"claim", func(v Verdict) string { return yes(v.Claim) }},
		{"source", func(v Verdict) string { return v.Source }},
		{"url", func(v Verdict) string { return v.URL }},
	}...)
	return csvOf(columns, s.Verdicts)
}
