package view

import (
	"vrametre/calc"
	"vrametre/content"
)

// StatedRow is a line of the comparison of a summary's sizes with the peak: what the tool states and what is there, in
// the reader's words; Tool says so where the tool does not count it.
type StatedRow struct{ Name, Tool, Here string }

// Stated compares the sizes that the summary states with those at the peak of the answer; nil where it states none. The
// last row is the total of those above.
func (s State) Stated(result *calc.Result, lang content.Lang) (caption string, rows []StatedRow) {
	m, err := s.Imported()
	if err != nil || s.Setup.Model != ModelImport || m.Stated == nil || m.Stated.ForwardBytes <= 0 || result == nil {
		return "", nil
	}
	here := map[string]int64{}
	for _, p := range result.Parts {
		here[p.Kind] += p.Bytes
	}
	t := m.Stated
	var tool, total int64
	row := func(name string, stated int64, kinds ...string) {
		r := StatedRow{Name: Text(lang, name, nil), Tool: Text(lang, "atelier.stated.none", nil)}
		if stated > 0 {
			r.Tool = Bytes(lang, stated)
			tool += stated
		}
		var n int64
		for _, k := range kinds {
			n += here[k]
		}
		total += n
		r.Here = Bytes(lang, n)
		if stated > 0 || n > 0 {
			rows = append(rows, r)
		}
	}
	row("part.batch", t.InputBytes, "batch")
	row("kind.activations", t.ForwardBytes, "activations", "outputs")
	row("kind.weights", t.ParamsBytes, "weights", "module_buffers", "cast_weights")
	row("kind.gradients", 0, "gradients")
	row("kind.optimizer", 0, "optimizer")
	row("kind.temporaries", 0, "temporaries", "optimizer_temporaries")
	if t.TotalBytes > 0 {
		tool = t.TotalBytes
	}
	rows = append(rows, StatedRow{Text(lang, "atelier.stated.total", nil), Bytes(lang, tool), Bytes(lang, total)})
	batch := s.Batch
	return Text(lang, "atelier.stated.caption", Args{"tool": max(t.Batch, 1), "batch": batch}), rows
}
