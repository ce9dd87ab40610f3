package site

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"golang.org/x/net/html"

	"vrametre/web/build"
	"vrametre/web/figure"
	"vrametre/web/piece"
	"vrametre/web/still"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// dense is how many pixels of a PNG stand for one of its picture.
const dense = 2

// stills writes a picture of each figure, as an SVG that stands alone, and
// returns the names of the files and what is in them.
func (b *builder) stills(rendered [][]byte, sheet []byte) (names, pictures []string, err error) {
	for i, p := range pages {
		if !p.Piece.Pictured() {
			continue
		}
		drawing, err := pieceOf(rendered[i], p.Piece)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		figures := view.NewFigures(b.start[p.Name].scene, p.Lang)
		drawing = legend(figures, drawing) + drawing
		picture, err := still.SVG(still.Source{Figure: drawing, Paints: figure.Patterns(), Style: string(sheet), Name: p.Piece.Title(figures), Share: figures.Share})
		if err != nil {
			return nil, nil, fmt.Errorf("the picture of %s: %w", p.Path, err)
		}
		name := path.Join(piece.Pictures, p.Piece.Name+"."+string(p.Lang))
		if err := b.write(name+".svg", picture); err != nil {
			return nil, nil, err
		}
		names, pictures = append(names, name), append(pictures, string(picture))
	}
	return names, pictures, nil
}

// legend names the kinds of memory in bars, which the page names beside them.
func legend(f view.Figures, drawing string) string {
	kinds := view.TensorKinds
	switch {
	case !strings.Contains(drawing, "data-share") && !strings.Contains(drawing, "data-chart"):
		return ""
	case !strings.Contains(drawing, `class="bars"`):
		kinds = nil
		for _, row := range f.Where() {
			kinds = append(kinds, row.Kind)
		}
	}
	var items []markup.Node
	for _, kind := range kinds {
		items = append(items, markup.Elem("li", nil, markup.Elem("span", markup.A("class", "key k-"+kind)), markup.Text(view.Text(f.Lang(), "kind."+kind, nil))))
	}
	return markup.Elem("ul", markup.A("class", "legend"), items...).HTML()
}

// rasterize writes the pictures as PNG too.
func (b *builder) rasterize(names, pictures []string) error {
	drawn, err := build.Rasterize(pictures, still.Family, still.Fonts, dense)
	if err != nil {
		return err
	}
	for i, name := range names {
		if err := b.write(name+".png", drawn[i]); err != nil {
			return err
		}
	}
	return nil
}

// pieceOf finds a part's mark-up in its page.
func pieceOf(page []byte, p piece.Piece) (string, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return "", err
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		found := n.Data == "figure"
		for _, a := range n.Attr {
			found = found || p.Kind == piece.Island && a.Key == "data-island" && a.Val == p.Part
		}
		if found {
			var out bytes.Buffer
			err := html.Render(&out, n)
			return out.String(), err
		}
	}
	return "", fmt.Errorf("no figure in the page")
}
