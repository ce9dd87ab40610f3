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
	"path/filepath"
	"regexp"
	"slices"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/content"
	"vrametre/content/lesson"
	"vrametre/web/build"
	"vrametre/web/chart"
	"vrametre/web/figure"
	"vrametre/web/ui/island"
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
}

// Links name index.html so that they also work from a folder opened in the browser.
var pages = []page{
	{Path: "index.html", Root: "./", Name: "lesson", Lang: content.French, Other: "en/index.html", OtherLang: content.English},
	{Path: "en/index.html", Root: "../", Name: "lesson", Lang: content.English, Other: "../index.html", OtherLang: content.French},
}

// Options of a build.
type Options = build.Options

// Build writes the whole site into a folder, which it makes where it is
// missing. What the folder already holds becomes part of the site.
func Build(dir string, options Options) error {
	assets, err := build.Assets(dir, options)
	if err != nil {
		return err
	}
	b, err := newBuilder(dir, assets)
	if err != nil {
		return err
	}
	if b.pictures, err = draw(b.scene); err != nil {
		return err
	}
	if err := b.pages(); err != nil {
		return err
	}
	return assets.Finish()
}

// builder writes the pages of one site.
type builder struct {
	// root is the module's source, dir the site's folder.
	root, dir string
	assets    *build.Site
	// scene is the lesson's default state; own are its cases by batch size.
	scene view.Scene
	own   map[int64]view.Scene
	// curve is that state's memory by batch size.
	curve *figure.Curve
	// pictures are the charts as they stand before any script, by language and name.
	pictures map[content.Lang]map[string]string
	// style is the name of the style sheet.
	style string
}

func newBuilder(dir string, assets *build.Site) (*builder, error) {
	root, err := build.Root()
	if err != nil {
		return nil, err
	}
	scene, err := view.Compute(view.Default())
	if err != nil {
		return nil, fmt.Errorf("the lesson's own case: %w", err)
	}
	curve, err := figure.Trace(scene.State.Request(content.French), *scene.Now.MaxBatch)
	if err != nil {
		return nil, err
	}
	return &builder{root: root, dir: dir, assets: assets, scene: scene, own: map[int64]view.Scene{}, curve: curve}, nil
}

// Widths in pixels of the charts' pictures, for a wide and for a narrow text column.
const wideChart, narrowChart = 660, 340

// draw draws the charts of the default state, in both languages and two widths.
func draw(scene view.Scene) (map[content.Lang]map[string]string, error) {
	var drawings []build.Drawing
	for _, lang := range content.Langs {
		options, err := chart.Where(view.NewFigures(scene, lang))
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
	pictures := map[content.Lang]map[string]string{}
	for i, d := range drawings {
		lang, size := content.Lang(d.Name[:2]), d.Name[3:]
		if pictures[lang] == nil {
			pictures[lang] = map[string]string{}
		}
		pictures[lang][island.Where] += `<div class="` + size + `">` + drawn[i] + `</div>`
	}
	return pictures, nil
}

// pages writes the pages, the style sheet and the schemas.
func (b *builder) pages() error {
	if err := b.writeSchemas(); err != nil {
		return err
	}
	// The bars of the pages are known once they are rendered; their lengths go in
	// the style sheet, whose name the pages hold: hence two rounds.
	first, err := b.renderAll()
	if err != nil {
		return err
	}
	sheet, err := b.stylesheet(first)
	if err != nil {
		return err
	}
	b.style = hashed("style", "css", sheet)
	if err := b.write(b.style, sheet); err != nil {
		return err
	}
	rendered, err := b.renderAll()
	if err != nil {
		return err
	}
	for i, p := range pages {
		if err := b.write(p.Path, rendered[i]); err != nil {
			return err
		}
	}
	return nil
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

// stylesheet is style.css with the lengths of the bars of the pages. They are
// rules and not style attributes, so that a strict content security policy holds.
func (b *builder) stylesheet(pages [][]byte) ([]byte, error) {
	figures := view.NewFigures(b.scene, content.French)
	lengths := map[string]float64{}
	for _, page := range pages {
		for _, m := range shareAttribute.FindAllSubmatch(page, -1) {
			ref := html.UnescapeString(string(m[1]))
			length, ok := figures.Share(ref)
			if !ok {
				return nil, fmt.Errorf("unknown share %q", ref)
			}
			lengths[ref] = length
		}
	}
	sheet := bytes.NewBuffer(slices.Concat(style, figure.Style))
	fmt.Fprintf(sheet, ".chart,.chart svg{height:%dpx}\n", chart.WhereHeight)
	for _, ref := range slices.Sorted(maps.Keys(lengths)) {
		fmt.Fprintf(sheet, "[data-share=%q]{--share:%.4f}\n", ref, lengths[ref])
	}
	return sheet.Bytes(), nil
}

// pageData is what the page's template reads.
type pageData struct {
	page
	Assets             *build.Site
	Style              string
	Title, Description string
	Opening            []Block
	Sections           []pageSection
}

type pageSection struct {
	lesson.Section
	Blocks []Block
}

func (b *builder) render(p page) ([]byte, error) {
	doc, err := lesson.Parse(lesson.Source(p.Lang))
	if err != nil {
		return nil, err
	}
	figures := view.NewFigures(b.scene, p.Lang)
	text := newProse(figures, func(batch int64) (view.Figures, error) {
		scene, err := b.ownCase(batch)
		return view.NewFigures(scene, p.Lang), err
	})
	data := pageData{page: p, Assets: b.assets, Style: b.style, Title: doc.Title, Description: doc.Description}
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
	var out bytes.Buffer
	if err := b.templates(figures).ExecuteTemplate(&out, "page.html", data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// ownCase is the lesson's own case at a batch size.
func (b *builder) ownCase(batch int64) (view.Scene, error) {
	if scene, ok := b.own[batch]; ok {
		return scene, nil
	}
	scene, err := view.Compute(view.Default().With(view.ScrubBatch, batch))
	if err == nil {
		b.own[batch] = scene
	}
	return scene, err
}

// templates are the page's templates, speaking the figures' language.
func (b *builder) templates(f view.Figures) *template.Template {
	t := template.New("")
	t.Funcs(template.FuncMap{
		"t":           func(key string) string { return view.Text(f.Lang(), key, nil) },
		"v":           func(ref string) (template.HTML, error) { return value(f, ref) },
		"list":        func(items ...string) []string { return items },
		"number":      func(i int) int { return i + 1 },
		"tensors":     func() []string { return view.TensorKinds },
		"parts":       func() []string { return lessonParts },
		"budgetLines": func() []string { return lessonLines },
		"assumptions": calc.AssumptionIDs,
		"paints":      func() template.HTML { return template.HTML(figure.Patterns()) },
		"drawn":       figure.Known,
		"draw": func(name string, caption template.HTML) template.HTML {
			subject := figure.Of(f)
			subject.Curve = b.curve
			return template.HTML(figure.HTML(name, subject, string(caption)))
		},
		"island": func(name string) template.HTML {
			return template.HTML(island.HTML(name, island.View{Figures: f}, b.pictures[f.Lang()]))
		},
	})
	return template.Must(t.ParseFS(templateFiles, "templates/*.html"))
}

// lessonParts are the parts that the lesson's network can have at its peak,
// lessonLines those of the budgets of the lesson's cards.
var (
	lessonParts = []string{calc.PartWeights, calc.PartGradients, calc.PartOptimizer, calc.PartBatch, calc.PartActivations, calc.PartOutputs,
		calc.PartTemporaries, calc.PartOptimizerTemporaries, calc.PartWorkspace, calc.PartRounding, calc.PartFragmentation, calc.PartContext}
	lessonLines = []string{gpu.LineBox, gpu.LineECC, gpu.LineDriver, gpu.LineContext}
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
