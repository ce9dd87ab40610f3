package site

import (
	"slices"
	"strings"

	"vrametre/content/lesson"
	"vrametre/web/piece"
	"vrametre/web/view"
)

// alone keeps of a page's text what the part of it has that stands alone.
func alone(data pageData, doc lesson.Doc, text *prose) (pageData, error) {
	e := data.Piece
	var kept []lesson.Block
	for _, s := range doc.Sections {
		if e.Kind == piece.Sections && slices.Contains(piece.CalculatorSections, s.ID) {
			blocks, err := text.blocks(s.Blocks)
			if err != nil {
				return data, err
			}
			data.Sections = append(data.Sections, pageSection{s, blocks})
		}
		for _, b := range s.Blocks {
			if e.Kind == piece.Figure && b.Directive == "figure" && b.Argument == e.Part {
				kept = append(kept, b)
			}
		}
	}
	switch e.Kind {
	case piece.Island:
		kept = []lesson.Block{{Directive: "island", Argument: e.Part}}
	case piece.Puzzle:
		kept = []lesson.Block{{Directive: "puzzle"}}
	case piece.Quiz:
		kept = []lesson.Block{{Directive: "quiz", Argument: e.Part}}
	}
	var err error
	data.Blocks, err = text.blocks(kept)
	return data, err
}

// gallery lists the parts that stand alone.
func gallery(data pageData, f view.Figures) pageData {
	data.Title, data.Description = view.Text(f.Lang(), "embed.title", nil), view.Text(f.Lang(), "embed.description", nil)
	for _, e := range piece.All {
		href := strings.TrimPrefix(pathOf(piece.Folder+"/"+e.Name, data.Lang), strings.TrimSuffix(data.Path, "index.html"))
		data.Embeds = append(data.Embeds, embedLink{e.Name, href, e.Title(f)})
	}
	return data
}
