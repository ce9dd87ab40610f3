// Package site writes the static site: every page whole, in both languages,
// with the lesson's numbers already in it. Addresses are relative, so that the
// folder can be moved anywhere; the same sources give the same bytes.
package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"html/template"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/calc/validate"
	"vrametre/content"
	"vrametre/content/lesson"
	"vrametre/content/python"
	"vrametre/web/build"
	"vrametre/web/chart"
	"vrametre/web/figure"
	"vrametre/web/piece"
	"vrametre/web/ui/island"
	"vrametre/web/validation"
	"vrametre/web/view"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed style.css
var style []byte

// page is one HTML file of the site.
type page struct {
	// Path is the file's name in the site.
	Path string
	// Root leads from the page to the site's root.
	Root string
	// Name is what the scripts know the page by.
	Name string
	Lang content.Lang
	// Other is the same page in the other language, from this page.
	Other     string
	OtherLang content.Lang
	// Nav are the pages of this language, in the order of the header.
	Nav []navLink
	// Piece is the part of the page Name that this one shows alone; Gallery says
	// that this one lists all such parts.
	Piece   piece.Piece
	Gallery bool
	// Whole leads from the page of a part to that of the whole.
	Whole string
}

// meets are the kinds of memory that the reader meets in a section of the
// lesson. The tank shows them in full from there on.
var meets = map[string]string{
	"weights":     view.KindWeights + " " + view.KindGradients + " " + view.KindOptimizer,
	"batch":       view.KindBatch,
	"activations": view.KindActivations,
	"total":       view.KindTemporaries,
	"compute":     view.KindRuntime,
}

// Still reports whether nothing on the page moves: it is read without the engine.
func (p page) Still() bool { return p.Name == lesson.Validation }

// navLink leads to a page of the same language.
type navLink struct {
	Name, Href string
	Current    bool
}

// pages are those of lesson.Pages, then those of parts alone, in every language.
var pages = func() []page {
	var all []page
	for _, lang := range content.Langs {
		for _, name := range lesson.Pages {
			p := newPage(name, lang, name)
			for _, other := range lesson.Pages {
				p.Nav = append(p.Nav, navLink{other, relative(p.Path, pathOf(other, lang)), other == name})
			}
			all = append(all, p)
		}
		gallery := newPage(lesson.Lesson, lang, piece.Folder)
		gallery.Gallery = true
		all = append(all, gallery)
		for _, e := range piece.All {
			p := newPage(e.Page, lang, path.Join(piece.Folder, e.Name))
			p.Piece = e
			all = append(all, p)
		}
	}
	return all
}()

// Program is the program that wakes the page.
func (p page) Program() string {
	if p.Name == lesson.Lesson {
		return build.Lesson
	}
	return build.Workshop
}

// newPage is a page in a folder of its language, known to the scripts by a name.
func newPage(name string, lang content.Lang, folder string) page {
	p := page{Path: pathOf(folder, lang), Name: name, Lang: lang}
	p.Root = relative(p.Path, "")
	p.Whole = relative(p.Path, pathOf(name, lang))
	for _, other := range content.Langs {
		if other != lang {
			p.Other, p.OtherLang = relative(p.Path, pathOf(folder, other)), other
		}
	}
	return p
}

// pathOf is a page's file: the lesson at the root of its language.
func pathOf(name string, lang content.Lang) string {
	folder := ""
	if lang != content.French {
		folder = string(lang)
	}
	if name != lesson.Lesson {
		folder = path.Join(folder, name)
	}
	return path.Join(folder, "index.html")
}

// relative leads from a file to another. Links name index.html so that they
// also work from a folder opened in the browser; the root is a folder.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	if to == "" && up == "" {
		return "./"
	}
	return up + to
}

// Options of a build.
type Options = build.Options

// Build writes the whole site into a folder, which it makes where it is
// missing. What the folder already holds becomes part of the site.
func Build(dir string, options Options) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	assets, err := build.Assets(dir, options)
	if err != nil {
		return err
	}
	b, err := newBuilder(dir, assets)
	if err != nil {
		return err
	}
	if b.pictures, err = draw(b.start); err != nil {
		return err
	}
	names, pictures, err := b.pages()
	if err != nil {
		return err
	}
	if err := b.rasterize(names, pictures); err != nil {
		return err
	}
	if err := b.single(); err != nil {
		return err
	}
	return assets.Finish()
}

// single writes the edition in one file, of the pages of both languages.
func (b *builder) single() error {
	var list []build.SinglePage
	for _, p := range pages {
		if p.Gallery || p.Piece.Name != "" {
			continue
		}
		query := path.Dir(p.Path)
		if query == "." {
			query = "" // it opens with the French lesson
		}
		list = append(list, build.SinglePage{Path: p.Path, Query: query})
	}
	return b.assets.Single(b.style, list)
}

// builder writes the pages of one site.
type builder struct {
	// root is the module's source, dir the site's folder.
	root, dir string
	assets    *build.Site
	// start is what each page starts with, by its name; own are the cases of its text by theirs.
	start map[string]start
	own   map[string]view.Scene
	// curve is the lesson's memory by batch size.
	curve *figure.Curve
	// pictures are the charts as they stand before any script, by page and language, then by their name.
	pictures map[pictureOf]map[string]string
	// study is what the page of measurements shows.
	study *validate.Study
	// style is the name of the style sheet.
	style string
}

// studied asks the engine for every measured case, once: the answers are the same for all sites.
var studied = sync.OnceValues(validate.Run)

func newBuilder(dir string, assets *build.Site) (*builder, error) {
	root, err := build.Root()
	if err != nil {
		return nil, err
	}
	b := &builder{root: root, dir: dir, assets: assets, start: map[string]start{}, own: map[string]view.Scene{}}
	if b.study, err = studied(); err != nil {
		return nil, fmt.Errorf("the measurements: %w", err)
	}
	for _, name := range lesson.Pages {
		if b.start[name], err = starting(name); err != nil {
			return nil, fmt.Errorf("the start of the page %s: %w", name, err)
		}
	}
	lessons := b.start[lesson.Lesson].scene
	b.curve, err = figure.Trace(lessons.State.Request(content.French), *lessons.Now.MaxBatch)
	return b, err
}

// start is what a page starts with.
type start struct {
	scene  view.Scene
	advice []calc.Advice
}

func starting(name string) (s start, err error) {
	state := view.Start(name)
	if s.scene, err = view.Compute(state); err != nil {
		return s, err
	}
	if name == lesson.OOM || name == lesson.Workshop {
		s.advice, err = view.AllAdvice(state)
	}
	return s, err
}

// pictureOf names the page and the language that a picture is drawn for.
type pictureOf struct {
	page string
	lang content.Lang
}

// Widths in pixels of the charts' pictures, for a wide and for a narrow text column.
const wideChart, narrowChart = 660, 340

// draw draws the charts of the lesson's start, in both languages and two widths.
func draw(starts map[string]start) (map[pictureOf]map[string]string, error) {
	var drawings []build.Drawing
	for _, lang := range content.Langs {
		options, err := chart.Where(view.NewFigures(starts[lesson.Lesson].scene, lang))
		if err != nil {
			return nil, err
		}
		for size, width := range map[string]int{"wide": wideChart, "narrow": narrowChart} {
			drawings = append(drawings, build.Drawing{Name: string(lang) + "-" + size, Options: options, Width: width, Height: chart.WhereHeight})
		}
	}
	slices.SortFunc(drawings, func(a, b build.Drawing) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	drawn, err := build.Draw(drawings)
	if err != nil {
		return nil, err
	}
	pictures := map[pictureOf]map[string]string{}
	for i, d := range drawings {
		of, size := pictureOf{lesson.Lesson, content.Lang(d.Name[:2])}, d.Name[3:]
		if pictures[of] == nil {
			pictures[of] = map[string]string{}
		}
		pictures[of][island.Where] += `<div class="` + size + `">` + drawn[i] + `</div>`
	}
	return pictures, nil
}

// exporterFile is the script that readers run beside their own network.
const exporterFile = "python/" + python.Name

// pages writes the pages, the style sheet, the schemas and the pictures of the
// figures, and returns the names of the pictures and what is in them.
func (b *builder) pages() (names, pictures []string, err error) {
	if err := b.writeSchemas(); err != nil {
		return nil, nil, err
	}
	if err := b.writeStudy(); err != nil {
		return nil, nil, err
	}
	if err := b.write(exporterFile, []byte(python.Exporter)); err != nil {
		return nil, nil, err
	}
	// The bars of the pages are known once they are rendered; their lengths go in
	// the style sheet, whose name the pages hold: hence two rounds.
	first, err := b.renderAll()
	if err != nil {
		return nil, nil, err
	}
	sheet, err := b.stylesheet(first)
	if err != nil {
		return nil, nil, err
	}
	b.style = hashed("style", "css", sheet)
	if err := b.write(b.style, sheet); err != nil {
		return nil, nil, err
	}
	rendered, err := b.renderAll()
	if err != nil {
		return nil, nil, err
	}
	for i, p := range pages {
		if err := b.write(p.Path, rendered[i]); err != nil {
			return nil, nil, err
		}
	}
	return b.stills(rendered, sheet)
}

func (b *builder) renderAll() ([][]byte, error) {
	all := make([][]byte, len(pages))
	for i, p := range pages {
		rendered, err := b.render(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		all[i] = rendered
	}
	return all, nil
}

var shareAttribute = regexp.MustCompile(`data-share="([^"]*)"`)

// stylesheet is style.css with the lengths of the bars of the pages, each
// under its page's name. They are rules and not style attributes, so that a
// strict content security policy holds.
func (b *builder) stylesheet(rendered [][]byte) ([]byte, error) {
	rules := map[string]float64{}
	for i, p := range pages {
		figures := view.NewFigures(b.start[p.Name].scene, p.Lang)
		for _, m := range shareAttribute.FindAllSubmatch(rendered[i], -1) {
			ref := html.UnescapeString(string(m[1]))
			length, ok := figures.Share(ref)
			if !ok {
				return nil, fmt.Errorf("unknown share %q", ref)
			}
			rules[fmt.Sprintf("[data-page=%q] [data-share=%q]", p.Name, ref)] = length
		}
	}
	themed, err := themeRules()
	if err != nil {
		return nil, err
	}
	sheet := bytes.NewBuffer(slices.Concat(style, themed, figure.Style, validation.Style))
	fmt.Fprintf(sheet, ".chart,.chart svg{height:%dpx}\n", chart.WhereHeight)
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		fmt.Fprintf(sheet, "%s{--share:%.4f}\n", rule, rules[rule])
	}
	return sheet.Bytes(), nil
}

// themes are the colours of style.css, of a light page and of a dark one.
var themes = []struct {
	name    string
	colours *regexp.Regexp
}{
	{"light", regexp.MustCompile(`:root\{\n  color-scheme:light dark;\n((?:  --[^\n]*#[^\n]*\n)+)`)},
	{"dark", regexp.MustCompile(`@media \(prefers-color-scheme:dark\)\{:root\{\n([^}]*)\}\}`)},
}

// themeRules are the colours once more, for a page that is told its theme.
func themeRules() ([]byte, error) {
	var rules bytes.Buffer
	for _, theme := range themes {
		found := theme.colours.FindSubmatch(style)
		if found == nil {
			return nil, fmt.Errorf("style.css has no colours of a %s page", theme.name)
		}
		fmt.Fprintf(&rules, ":root[data-theme=%s]{color-scheme:%[1]s;%s}\n", theme.name, found[1])
	}
	return rules.Bytes(), nil
}

// pageData is what the page's template reads.
type pageData struct {
	page
	Assets             *build.Site
	Style              string
	Title, Description string
	Opening            []Block
	Sections           []pageSection
	// Blocks are those of a part alone.
	Blocks []Block
	// Embeds are the gallery's.
	Embeds []embedLink
}

// embedLink leads to the page of a part alone.
type embedLink struct{ Name, Href, Title string }

type pageSection struct {
	lesson.Section
	Blocks []Block
}

func (b *builder) render(p page) ([]byte, error) {
	doc, err := lesson.Parse(lesson.Source(p.Name, p.Lang))
	if err != nil {
		return nil, err
	}
	figures := view.NewFigures(b.start[p.Name].scene, p.Lang)
	text := newProse(p, figures, func(name string) (view.Figures, bool, error) {
		scene, ok, err := b.ownCase(name)
		return view.NewFigures(scene, p.Lang), ok, err
	})
	if p.Name == lesson.Validation {
		text.fact, text.drawn = b.measured(p)
	}
	data := pageData{page: p, Assets: b.assets, Style: b.style, Title: doc.Title, Description: doc.Description}
	switch {
	case p.Gallery:
		return b.execute(p, figures, "embeds.html", gallery(data, figures))
	case p.Piece.Name != "":
		if data, err = alone(data, doc, text); err != nil {
			return nil, err
		}
		data.Title = p.Piece.Title(figures)
		return b.execute(p, figures, "embed.html", data)
	}
	if data.Opening, err = text.blocks(doc.Opening); err != nil {
		return nil, err
	}
	for _, s := range doc.Sections {
		blocks, err := text.blocks(s.Blocks)
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", s.ID, err)
		}
		data.Sections = append(data.Sections, pageSection{s, blocks})
	}
	return b.execute(p, figures, "page.html", data)
}

func (b *builder) execute(p page, figures view.Figures, name string, data pageData) ([]byte, error) {
	var out bytes.Buffer
	if err := b.templates(p, figures).ExecuteTemplate(&out, name, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// templates are the page's templates, speaking the figures' language.
func (b *builder) templates(p page, f view.Figures) *template.Template {
	// integrate opens the dialog for a part of the page, outside of its own page.
	integrate := func(kind piece.Kind, part string) template.HTML {
		if p.Piece.Name != "" {
			return ""
		}
		return template.HTML(piece.Button(f, piece.Of(p.Name, kind, part)).HTML())
	}
	workshop := "" // a piece of a page leads nowhere inside another site's
	if p.Piece.Name == "" {
		workshop = relative(p.Path, pathOf(lesson.Workshop, p.Lang))
	}
	t := template.New("")
	t.Funcs(template.FuncMap{
		"workshop": func() string { return workshop },
		// attempt leads to the workshop as the puzzle begins; the live page keeps up with it.
		"attempt": func() template.URL { return template.URL(workshop + "#" + figure.Attempt{}.State().Fragment()) },
		"t":       func(key string) string { return view.Text(f.Lang(), key, nil) },
		"v":       func(ref string) (template.HTML, error) { return value(f, ref) },
		"list":    func(items ...string) []string { return items },
		"number":  func(i int) int { return i + 1 },
		"tensors": func() []string { return view.TensorKinds },
		"meets":   func(section string) string { return meets[section] },
		"parts": func() []string {
			if p.Name == lesson.Workshop {
				return calc.PartKinds
			}
			return lessonParts
		},
		"budgetLines": func() []string { return lessonLines },
		"assumptions": calc.AssumptionIDs,
		"languages": func() string {
			var tags []string
			for _, lang := range content.Langs {
				tags = append(tags, string(lang))
			}
			return strings.Join(tags, " ")
		},
		"quiz": func(kind, section string) template.HTML {
			if !figure.Asked(kind, section) {
				return ""
			}
			return template.HTML(figure.Question(kind, section, figure.Of(f)))
		},
		"question": func(name string) template.HTML {
			kind, section, _ := strings.Cut(name, ".")
			return template.HTML(figure.Question(kind, section, figure.Of(f)))
		},
		"puzzle": func() (template.HTML, error) {
			puzzle, err := figure.Puzzle(figure.Of(f))
			return template.HTML(puzzle), err
		},
		"root":         func() string { return p.Root },
		"exporter":     func() string { return python.Exporter },
		"exporterName": func() string { return python.Name },
		"exporterFile": func() string { return exporterFile },
		"paints":       func() template.HTML { return template.HTML(figure.Patterns()) },
		"drawn":        figure.Known,
		"policy":       func() string { return build.Policy },
		"licenses":     func() string { return build.LicensesName },
		"recover":      func() string { return build.RecoverName },
		"single":       func() string { return build.SingleName },
		"draw": func(name string, caption template.HTML) template.HTML {
			subject := figure.Of(f)
			subject.Curve = b.curve
			return template.HTML(figure.HTML(name, subject, string(caption+" "+integrate(piece.Figure, name))))
		},
		"dialog": func() template.HTML {
			folder := strings.TrimSuffix(pathOf(piece.Folder, p.Lang), "index.html")
			return template.HTML(piece.Dialog(f, p.Name, folder).HTML())
		},
		"integrateFigure":  func(name string) template.HTML { return integrate(piece.Figure, name) },
		"integrateIsland":  func(name string) template.HTML { return integrate(piece.Island, name) },
		"integratePuzzle":  func() template.HTML { return integrate(piece.Puzzle, "") },
		"integrateSection": func() template.HTML { return integrate(piece.Sections, "") },
		"island": func(name string) template.HTML {
			v := island.Start(f, p.Name)
			v.Advice = b.start[p.Name].advice
			v.Settings = p.Piece.Settings
			return template.HTML(island.HTML(name, v, b.pictures[pictureOf{p.Name, f.Lang()}]))
		},
	})
	return template.Must(t.ParseFS(templateFiles, "templates/*.html"))
}

// lessonParts are the parts that the lesson's network can have at its peak,
// lessonLines those of the budgets of all cards.
var (
	lessonParts = []string{calc.PartWeights, calc.PartGradients, calc.PartOptimizer, calc.PartBatch, calc.PartActivations, calc.PartOutputs,
		calc.PartTemporaries, calc.PartOptimizerTemporaries, calc.PartWorkspace, calc.PartRounding, calc.PartFragmentation, calc.PartContext}
	lessonLines = []string{gpu.LineBox, gpu.LineGiven, gpu.LineECC, gpu.LineDriver, gpu.LineSystem, gpu.LineContext, gpu.LineDesktop}
)

// hashed names a file by its content, so that no cache ever holds an old one for a new page.
func hashed(name, extension string, data []byte) string {
	sum := sha256.Sum256(data)
	return name + "." + hex.EncodeToString(sum[:5]) + "." + extension
}

func (b *builder) write(name string, data []byte) error {
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
