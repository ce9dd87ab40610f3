package figure

import (
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// cells are one row of a table: its header first.
type cells []markup.Node

func words(list ...string) cells {
	row := make(cells, len(list))
	for i, s := range list {
		row[i] = markup.Text(s)
	}
	return row
}

// table is the twin of a drawing. The last row is a total where total says so.
func (s *Subject) table(caption string, head []string, rows []cells, total bool) markup.Node {
	titles := make([]markup.Node, len(head))
	for i, key := range head {
		titles[i] = markup.Elem("th", markup.A("scope", "col"), text(s.Lang, key))
	}
	body := make([]markup.Node, len(rows))
	for i, row := range rows {
		kids := make([]markup.Node, len(row))
		for j, cell := range row {
			if j == 0 {
				kids[j] = markup.Elem("th", markup.A("scope", "row"), cell)
			} else {
				kids[j] = markup.Elem("td", nil, cell)
			}
		}
		var attrs []markup.Attr
		if total && i == len(rows)-1 {
			attrs = markup.A("class", "total")
		}
		body[i] = markup.Elem("tr", attrs, kids...)
	}
	return markup.Elem("div", markup.A("class", "rows", "role", "region", "tabindex", "0", "aria-label", caption), markup.Elem("table", nil,
		markup.Elem("caption", nil, markup.Text(caption)),
		markup.Elem("thead", nil, markup.Elem("tr", nil, titles...)),
		markup.Elem("tbody", nil, body...)))
}

func (s *Subject) text(key string, args view.Args) string { return view.Text(s.Lang, key, args) }

func (s *Subject) bytes(n int64) string { return view.Bytes(s.Lang, n) }

// size is an element that holds a size and nothing else.
func (s *Subject) size(n int64) markup.Node {
	return markup.Elem("span", markup.A("class", "size"), markup.Text(s.bytes(n)))
}

func (s *Subject) exact(n int64) string { return view.Exact(s.Lang, n) }

func (s *Subject) count(n int64) string { return view.Count(s.Lang, n) }
