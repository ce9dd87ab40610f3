package figure

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// layers: the table of the network's layers, sorted as the reader likes, to be
// taken away as text.
var layers = design{
	parts: []part{{name: "table", when: Late | Sorted, draw: drawLayers}},
	frame: func(s *Subject, parts map[string]markup.Node) []markup.Node {
		copies := []markup.Node{text(s.Lang, "figure.layers.copy")}
		for _, format := range Formats {
			copies = append(copies, markup.Elem("button", markup.A("type", "button", "class", "quiet", "data-copy", format), text(s.Lang, "figure.layers."+format)))
		}
		copies = append(copies, markup.Elem("span", markup.A("class", "said", "role", "status", "data-said", s.text("figure.layers.copied", nil), "data-refused", s.text("figure.layers.refused", nil))))
		return []markup.Node{parts["table"], markup.Elem("p", markup.A("class", "actions copies scripted"), copies...)}
	},
	wide: true,
}

// Sort is an order of the layers' table: by a column, from the smallest or the largest.
type Sort struct {
	Column string
	Down   bool
}

// Columns of the layers' table.
const (
	ByCall   = "call"
	ByType   = "type"
	ByOutput = "output"
	ByParams = "params"
	BySaved  = "saved"
)

// By is the order after the reader has asked for a column: numbers come largest
// first, and asking again turns it round.
func (o Sort) By(column string) Sort {
	if o.Column == column || o.Column == "" && column == ByCall {
		return Sort{column, !o.Down}
	}
	return Sort{column, column == ByOutput || column == ByParams || column == BySaved}
}

// values of a layer's output, for one sample.
func values(row calc.LayerRow) int64 {
	n := int64(1)
	for i, d := range row.Output {
		if i > 0 {
			n *= d
		}
	}
	return n
}

// sorted are the layers in the order asked for; equal ones stay in the network's.
func (s *Subject) sorted() []calc.LayerRow {
	rows := slices.Clone(s.Now.Layers)
	compare := map[string]func(a, b calc.LayerRow) int{
		ByType:   func(a, b calc.LayerRow) int { return cmp.Compare(a.Type, b.Type) },
		ByOutput: func(a, b calc.LayerRow) int { return cmp.Compare(values(a), values(b)) },
		ByParams: func(a, b calc.LayerRow) int { return cmp.Compare(a.Params, b.Params) },
		BySaved:  func(a, b calc.LayerRow) int { return cmp.Compare(a.Saved, b.Saved) },
	}[s.Sort.Column]
	switch {
	case compare == nil && s.Sort.Down:
		slices.Reverse(rows)
	case compare != nil && s.Sort.Down:
		slices.SortStableFunc(rows, func(a, b calc.LayerRow) int { return compare(b, a) })
	case compare != nil:
		slices.SortStableFunc(rows, compare)
	}
	return rows
}

func drawLayers(s *Subject) []markup.Node {
	var heads []markup.Node
	for _, column := range []string{ByCall, ByType, ByOutput, ByParams, BySaved} {
		order := "none"
		if s.Sort.Column == column || s.Sort.Column == "" && column == ByCall {
			order = map[bool]string{true: "descending", false: "ascending"}[s.Sort.Down]
		}
		heads = append(heads, markup.Elem("th", markup.A("scope", "col", "aria-sort", order),
			markup.Elem("button", markup.A("type", "button", "class", "sort", "data-sort", column), text(s.Lang, "figure.layers."+column))))
	}
	var body []markup.Node
	var params, saved int64
	most := int64(1)
	for _, row := range s.Now.Layers {
		params, saved, most = params+row.Params, saved+row.Saved, max(most, row.Saved)
	}
	number := func(n int64, write func(int64) string) markup.Node {
		if n == 0 {
			return markup.Elem("td", nil, text(s.Lang, "where.none"))
		}
		return markup.Elem("td", nil, markup.Text(write(n)))
	}
	for _, row := range s.sorted() {
		shape := s.text("where.none", nil)
		if len(row.Output) > 1 {
			shape = view.Shape(row.Output[1:])
		}
		bar := markup.Elem("svg", markup.A("class", "row-bar", "aria-hidden", "true", "width", "100%"), elem("rect", "width", percent(float64(row.Saved), float64(most)), "height", "100%", "fill", fill(view.KindActivations)))
		kept := number(row.Saved, s.bytes)
		kept.Kids = append(kept.Kids, bar)
		own := number(row.Params, s.count)
		if row.Tied != "" {
			shared := markup.Elem("small", nil, markup.Text(s.text("figure.layers.tied", view.Args{"path": row.Tied})))
			if own.Kids = append(own.Kids, shared); row.Params == 0 {
				own.Kids = []markup.Node{shared}
			}
		}
		body = append(body, markup.Elem("tr", nil,
			markup.Elem("th", markup.A("scope", "row"), markup.Text(s.callName(row))), markup.Elem("td", nil, markup.Text(row.Type)), markup.Elem("td", nil, markup.Text(shape)),
			own, kept))
	}
	body = append(body, markup.Elem("tr", markup.A("class", "total"), markup.Elem("th", markup.A("scope", "row"), text(s.Lang, "where.total")), markup.Elem("td", nil), markup.Elem("td", nil),
		number(params, s.count), number(saved, s.bytes)))
	caption := s.text("figure.layers.table", view.Args{"n": s.Request.Batch})
	return []markup.Node{markup.Elem("div", markup.A("class", "rows", "role", "region", "tabindex", "0", "aria-label", caption), markup.Elem("table", nil,
		markup.Elem("caption", nil, markup.Text(caption)),
		markup.Elem("thead", nil, markup.Elem("tr", nil, heads...)),
		markup.Elem("tbody", nil, body...)))}
}

// callName is a layer's path; the loss has none.
func (s *Subject) callName(row calc.LayerRow) string {
	if row.Path == "<loss>" {
		return s.text("figure.maps.loss", nil)
	}
	return row.Path
}

// Formats of the layers' table as text.
var Formats = []string{"csv", "json", "markdown"}

// LayersText writes the layers in the order shown, sizes in bytes, under the
// names of calc's own fields.
func LayersText(s *Subject, format string) string {
	rows := s.sorted()
	shape := func(row calc.LayerRow) string {
		parts := make([]string, len(row.Output))
		for i, n := range row.Output {
			parts[i] = strconv.FormatInt(n, 10)
		}
		return strings.Join(parts, "x")
	}
	cell := func(path string) string { return strings.ReplaceAll(path, "|", `\|`) }
	var b strings.Builder
	switch format {
	case "json":
		data, err := json.MarshalIndent(rows, "", "  ")
		if err != nil {
			panic(err) // rows always have a JSON form
		}
		return string(data) + "\n"
	case "markdown":
		b.WriteString("| path | type | output | params | saved | tied |\n|---|---|---|---:|---:|---|\n")
		for _, row := range rows {
			b.WriteString("| " + cell(row.Path) + " | " + row.Type + " | " + shape(row) + " | " + strconv.FormatInt(row.Params, 10) + " | " + strconv.FormatInt(row.Saved, 10) + " | " + cell(row.Tied) + " |\n")
		}
	default:
		b.WriteString("path,type,output,params,saved,tied\n")
		for _, row := range rows {
			b.WriteString(quoted(row.Path) + "," + quoted(row.Type) + "," + shape(row) + "," + strconv.FormatInt(row.Params, 10) + "," + strconv.FormatInt(row.Saved, 10) + "," + quoted(row.Tied) + "\n")
		}
	}
	return b.String()
}

// quoted writes a cell of CSV.
func quoted(s string) string {
	if !strings.ContainsAny(s, ",\"\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
