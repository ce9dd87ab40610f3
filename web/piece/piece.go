// Package piece says which parts of the document stand alone, each in a page
// made for a frame of another site, and how such a page is addressed.
package piece

import (
	"slices"
	"strings"

	"vrametre/web/figure"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// Kind says what a page for a frame shows.
type Kind uint8

const (
	// Figure is one of the figures.
	Figure Kind = iota
	// Island is one of the islands.
	Island
	// Quiz is a question, Puzzle the puzzle.
	Quiz
	Puzzle
	// Sections are a run of the page's own sections.
	Sections
)

// Piece is one such part.
type Piece struct {
	// Name is its own, as in its address.
	Name string
	Kind Kind
	// Page is the page that it is a part of, Part its name there.
	Page, Part string
	// Height is about what it takes in a column 720 pixels wide, for pages that
	// cannot be told.
	Height int
	// Settings are the controls that stand below it.
	Settings []string
}

// Folder holds the pages of parts alone, in the folder of each language.
const Folder = "embed"

// Names of the pages with parts.
const (
	lesson   = "lesson"
	workshop = view.PageWorkshop
)

// Names of parts that are no figure's nor an island's.
const (
	Times8     = "times8"
	ThePuzzle  = "puzzle"
	Calculator = workshop
)

// CalculatorSections are the sections of the workshop's page that make the calculator.
var CalculatorSections = []string{"model", "training", "card", "result"}

// All lists them, in the order of their pages.
var All = func() []Piece {
	const batch, side, optimizer, gpu = view.ScrubBatch, view.ScrubSide, island.ControlOptimizer, island.ControlGPU
	list := []Piece{
		{figure.Slots, Figure, lesson, figure.Slots, 260, nil}, // chooses its optimizer itself
		{figure.Images, Figure, lesson, figure.Images, 540, []string{batch, side}},
		{figure.Maps, Figure, lesson, figure.Maps, 800, []string{batch, side}},
		{figure.Timeline, Figure, lesson, figure.Timeline, 760, []string{batch, side, optimizer}},
		{island.Where, Island, lesson, island.Where, 740, []string{batch, side, optimizer, view.ScrubBuffers, gpu}},
		{Times8, Figure, lesson, Times8, 360, []string{batch, side, optimizer}},
		{figure.Memory, Figure, lesson, figure.Memory, 540, []string{batch, side, optimizer, gpu}},
		{figure.Blocks, Figure, lesson, figure.Blocks, 480, []string{batch, side, optimizer}},
		{figure.Infer, Figure, lesson, figure.Infer, 580, []string{batch, side}},
		{island.Tank, Island, lesson, island.Tank, 220, []string{batch, side, optimizer, gpu}},
		{ThePuzzle, Puzzle, lesson, "", 520, nil},
	}
	for _, name := range figure.Quizzes() {
		list = append(list, Piece{strings.ReplaceAll(name, ".", "-"), Quiz, lesson, name, 220, nil})
	}
	return append(list,
		Piece{Calculator, Sections, workshop, "", 1280, nil},
		Piece{workshop + "-" + figure.Timeline, Figure, workshop, figure.Timeline, 740, []string{batch}},
		Piece{workshop + "-" + figure.Memory, Figure, workshop, figure.Memory, 500, []string{batch, gpu}},
		Piece{figure.Layers, Figure, workshop, figure.Layers, 800, []string{batch}},
	)
}()

// Named finds one.
func Named(name string) (Piece, bool) {
	for _, e := range All {
		if e.Name == name {
			return e, true
		}
	}
	return Piece{}, false
}

// Of is the name of a part of a page, "" where it does not stand alone.
func Of(page string, kind Kind, part string) string {
	for _, e := range All {
		if e.Page == page && e.Kind == kind && e.Part == part {
			return e.Name
		}
	}
	return ""
}

// Title names a part, in the language of figures and with their numbers.
func (p Piece) Title(f view.Figures) string {
	key := ""
	switch p.Kind {
	case Figure:
		key = "figure." + p.Part
	case Island:
		key = map[string]string{island.Where: "where.title", island.Tank: "tank.label"}[p.Part]
	case Puzzle:
		key = "puzzle.title"
	case Sections:
		key = "embed.calculator"
	case Quiz:
		ask, _ := figure.Ask(p.Part, figure.Of(f))
		return ask
	}
	title := view.Text(f.Lang(), key, nil)
	if p.Kind == Figure && p.Page == workshop {
		title = view.Text(f.Lang(), "embed.any", view.Args{"figure": title})
	}
	return title
}

// Pictures holds a picture of each figure, as SVG and as PNG, in each language.
const Pictures = "figures"

// Pictured reports whether a part has a picture: questions are words, and the
// calculator is nothing without its controls.
func (p Piece) Pictured() bool { return p.Name != "" && (p.Kind == Figure || p.Kind == Island) }

// Keys of an address that are the frame's and not the state's.
const (
	KeyFigure   = "fig"
	KeyLanguage = "lang"
	KeyTheme    = "theme"
	KeyHide     = "hide"
	KeyLock     = "lock"
	KeyID       = "id"
)

var keys = []string{KeyFigure, KeyLanguage, KeyTheme, KeyHide, KeyLock, KeyID}

// Parameters are the frame's part of a fragment, each pair with its "&" before it.
func Parameters(fragment string) string {
	var kept strings.Builder
	for pair := range strings.SplitSeq(strings.TrimPrefix(fragment, "#"), "&") {
		if key, _, ok := strings.Cut(pair, "="); ok && slices.Contains(keys, key) {
			kept.WriteString("&" + pair)
		}
	}
	return kept.String()
}
