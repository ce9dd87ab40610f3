package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"
	"golang.org/x/net/html"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/content/lesson"
	"vrametre/web/build"
	"vrametre/web/view"
)

// written are the pages of a site whose scripts and pictures are built elsewhere.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	b, err := newBuilder(dir, &build.Site{Early: "early.js", Boot: "boot.js", Frame: "frame.js", Still: "still.js", Icon: "icon.svg", TouchIcon: "icon-180.png"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.pages(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parsed(t *testing.T, dir, name string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(read(t, dir, name)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// words is the text of a node, its runs of plain spaces made one.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return regexp.MustCompile(`[ \n]+`).ReplaceAllString(b.String(), " ")
}

func TestBuildIsReproducible(t *testing.T) {
	first, second := written(t), written(t)
	err := fs.WalkDir(os.DirFS(first), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && read(t, first, name) != read(t, second, name) {
			t.Errorf("%s differs between two builds", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Each figure of the lesson stands beside the exact one, in both languages.
func TestPagesHoldTheLessonsFigures(t *testing.T) {
	dir := written(t)
	for _, c := range []struct {
		page    string
		figures []string
	}{
		{"index.html", []string{
			"538 981", "8 Mo", "8 623 696 octets", "200 ko", "196 608 octets", "6 Mo", "6 291 456 octets", "50 Mo", "50 331 648 octets",
			"524 288", "262 144", "131 072", "65 536", "917 760", "3,6 Mo", "3 671 040 octets", "115 Mo", "117 473 280 octets", "921 Mo", "939 786 240 octets",
			"160 Mo", "174 Mo", "168 Mo", "203 Mo", "1 400 Mo", "1 458 Mo", "1 281 Mo", "1 563 Mo", "214 Mo", "244 Mo",
		}},
		{"en/index.html", []string{
			"538,981", "8 MB", "8,623,696 bytes", "200 kB", "196,608 bytes", "6 MB", "6,291,456 bytes", "50 MB", "50,331,648 bytes",
			"524,288", "262,144", "131,072", "65,536", "917,760", "3.6 MB", "3,671,040 bytes", "115 MB", "117,473,280 bytes", "921 MB", "939,786,240 bytes",
			"160 MB", "174 MB", "168 MB", "203 MB", "1,400 MB", "1,458 MB", "1,281 MB", "1,563 MB", "214 MB", "244 MB",
		}},
	} {
		text := strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(words(parsed(t, dir, c.page)))
		for _, figure := range c.figures {
			if !strings.Contains(text, figure) {
				t.Errorf("%s: no %q", c.page, figure)
			}
		}
	}
}

// The lesson comes first, then the help in need, then the workshop; in the
// lesson the puzzle and the way to the workshop come last.
func TestReadingOrder(t *testing.T) {
	dir := written(t)
	for _, lang := range []string{"", "en/"} {
		source, err := os.ReadFile(filepath.Join(dir, lang, "index.html"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(source)
		last := 0
		for _, mark := range []string{`<nav`, `#lesson"`, `oom/index.html"`, `atelier/index.html"`, `id="message"`, `id="weights"`, `id="activations"`, `id="total"`, `id="inference"`, `id="end"`, `data-puzzle`, `class="onward"`, `class="sources"`, `</main>`} {
			at := strings.Index(page[last:], mark)
			if at < 0 {
				t.Fatalf("%sindex.html: no %s after what comes before it", lang, mark)
			}
			last += at
		}
	}
}

// Each of the ten misunderstandings has its answer on the message's page, and nothing else is called one.
func TestBeliefsAreAnswered(t *testing.T) {
	dir := written(t)
	for _, name := range []string{"oom/index.html", "en/oom/index.html"} {
		var ids []string
		for n := range parsed(t, dir, name).Descendants() {
			if class, _ := attribute(n, "class"); n.Type != html.ElementNode || class != "belief" {
				continue
			}
			id, _ := attribute(n, "id")
			ids = append(ids, id)
			if question, all := words(n.FirstChild), words(n); len(question) < 20 || len(all) < len(question)+200 {
				t.Errorf("%s: %s asks %q and answers %q", name, id, question, all)
			}
		}
		if !slices.Equal(ids, view.Beliefs) {
			t.Errorf("%s answers %v, not %v", name, ids, view.Beliefs)
		}
	}
}

// Addresses are relative and lead somewhere; only the sources at the end lead away.
func TestAddresses(t *testing.T) {
	dir := written(t)
	for _, name := range []string{"early.js", "boot.js", "frame.js", "still.js", "icon.svg", "icon-180.png", "manifest.webmanifest", "en/manifest.webmanifest", build.LicensesName, build.RecoverName, build.SingleName} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pages {
		doc := parsed(t, dir, p.Path)
		ids := map[string]bool{}
		for n := range doc.Descendants() {
			if id, ok := attribute(n, "id"); ok {
				if ids[id] {
					t.Errorf("%s: two elements are called %q", p.Path, id)
				}
				ids[id] = true
			}
		}
		for n := range doc.Descendants() {
			for _, name := range []string{"href", "src"} {
				address, ok := attribute(n, name)
				if !ok {
					continue
				}
				u, err := url.Parse(address)
				switch {
				case err != nil:
					t.Errorf("%s: %v", p.Path, err)
				case u.Host != "":
					if n.Data != "a" {
						t.Errorf("%s: <%s> asks %s", p.Path, n.Data, u.Host)
					}
				case strings.HasPrefix(u.Path, "/"):
					t.Errorf("%s: %s is not relative", p.Path, address)
				case u.Path == "":
					if !ids[u.Fragment] {
						t.Errorf("%s: nothing is called %s", p.Path, address)
					}
				default:
					file := path.Join(path.Dir(p.Path), u.Path)
					if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
						t.Errorf("%s: %s leads nowhere", p.Path, address)
					}
					// Offline, every link leads somewhere but the one to the site in one file.
					if why := build.Online(file); why != "" && file != build.SingleName {
						t.Errorf("%s: %s is not kept for offline use: %s", p.Path, address, why)
					}
				}
			}
		}
	}
}

// A strict content security policy allows no inline style or script.
func TestNothingInline(t *testing.T) {
	dir := written(t)
	for _, p := range pages {
		for n := range parsed(t, dir, p.Path).Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if _, ok := attribute(n, "style"); ok || n.Data == "style" {
				t.Errorf("%s: <%s> has a style of its own", p.Path, n.Data)
			}
			if _, ok := attribute(n, "src"); n.Data == "script" && !ok {
				t.Errorf("%s: an inline script", p.Path)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s %s>", p.Path, n.Data, a.Key)
				}
			}
		}
	}
}

// What the wasm will write into the page is what the page already says.
func TestFiguresAreTheViews(t *testing.T) {
	dir := written(t)
	sheet := ""
	for _, p := range pages {
		scene, err := view.Compute(view.Start(p.Name))
		if err != nil {
			t.Fatal(err)
		}
		figures := view.NewFigures(scene, p.Lang)
		shown := 0
		for n := range parsed(t, dir, p.Path).Descendants() {
			if ref, ok := attribute(n, "data-v"); ok {
				shown++
				if want, known := figures.Text(ref); !known || words(n) != want {
					t.Errorf("%s: %s is %q, the view says %q", p.Path, ref, words(n), want)
				}
			}
			if name, ok := attribute(n, "data-scrub"); ok {
				if want := figures.ScrubText(name); words(n) != want {
					t.Errorf("%s: {~%s} is %q, the view says %q", p.Path, name, words(n), want)
				}
				if _, ok := attribute(n, "role"); ok {
					t.Errorf("%s: {~%s} promises a role before it works", p.Path, name)
				}
			}
			if href, ok := attribute(n, "href"); ok && strings.HasSuffix(href, ".css") {
				sheet = read(t, dir, path.Base(href))
			}
			if ref, ok := attribute(n, "data-share"); ok && !strings.Contains(read(t, dir, styleName(t, dir)), `[data-page="`+p.Name+`"] [data-share="`+ref+`"]{--share:`) {
				t.Errorf("%s: no length for %s", p.Path, ref)
			}
		}
		if least := map[string]int{lesson.Lesson: 50, lesson.OOM: 10}[p.Name]; shown < least && p.Piece.Name == "" && !p.Gallery {
			t.Errorf("%s: only %d figures", p.Path, shown)
		}
	}
	if sheet == "" {
		t.Error("no style sheet")
	}
}

func styleName(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "style.*.css"))
	if err != nil || len(names) != 1 {
		t.Fatalf("style sheets: %v, %v", names, err)
	}
	return filepath.Base(names[0])
}

func TestPagesAreWellFormed(t *testing.T) {
	dir := written(t)
	for _, p := range pages {
		source := read(t, dir, p.Path)
		for _, unfinished := range []string{"{{", "}}", "ZgotmplZ", "&lt;span", "{~", "<no value>"} {
			if strings.Contains(source, unfinished) {
				t.Errorf("%s holds %q", p.Path, unfinished)
			}
		}
		doc := parsed(t, dir, p.Path)
		counts := map[string]int{}
		islands := map[string]bool{}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			counts[n.Data]++
			if name, ok := attribute(n, "data-island"); ok {
				islands[name] = true
			}
			if n.Data == "html" {
				if lang, _ := attribute(n, "lang"); lang != string(p.Lang) {
					t.Errorf("%s: lang %q", p.Path, lang)
				}
			}
			if n.Data == "body" {
				first := n.FirstChild
				for first != nil && first.Type != html.ElementNode {
					first = first.NextSibling
				}
				if id, _ := attribute(first, "id"); id != "goapp-root" && !p.Gallery {
					t.Errorf("%s: the body begins with %q", p.Path, id)
				}
			}
			// A text with {braces} is a message whose argument is missing.
			if n.FirstChild != nil && n.FirstChild.Type == html.TextNode && n.Data != "code" && strings.ContainsAny(n.FirstChild.Data, "{}") {
				t.Errorf("%s: <%s> says %q", p.Path, n.Data, n.FirstChild.Data)
			}
		}
		if p.Piece.Name != "" || p.Gallery {
			if counts["h1"] != 1 || counts["main"] != 1 {
				t.Errorf("%s: %d h1, %d main", p.Path, counts["h1"], counts["main"])
			}
			continue
		}
		if sections := map[string]int{lesson.Lesson: 10, lesson.OOM: 4, lesson.Workshop: 8, lesson.Validation: 8}[p.Name]; counts["h1"] != 1 || counts["main"] != 1 || counts["h2"] != sections {
			t.Errorf("%s: %d h1, %d main, %d h2", p.Path, counts["h1"], counts["main"], counts["h2"])
		}
		for _, name := range map[string][]string{lesson.Lesson: {"tank", "toolbar", "settings", "where"}, lesson.OOM: {"tank", "toolbar", "settings", "oom", "card", "advice"}, lesson.Workshop: {"tank", "toolbar", "model", "training", "card", "advice"}}[p.Name] {
			if !islands[name] {
				t.Errorf("%s: no island %s", p.Path, name)
			}
		}
	}
}

// A reader on a slow line has the whole lesson after this much.
func TestPagesAreSmall(t *testing.T) {
	dir := written(t)
	for _, p := range pages {
		if p.Piece.Name != "" { // smaller than the page that it is a part of
			continue
		}
		var b bytes.Buffer
		w := brotli.NewWriterLevel(&b, brotli.BestCompression)
		for _, name := range []string{p.Path, styleName(t, dir)} {
			if _, err := w.Write([]byte(read(t, dir, name))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if b.Len() > 100_000 {
			t.Errorf("%s and its style: %d bytes compressed", p.Path, b.Len())
		}
	}
}

// The ledger adds up, for every state of the page.
func TestLedgerSums(t *testing.T) {
	for _, card := range view.Cards {
		for _, s := range []view.State{view.Default().WithGPU(card), view.Default().WithGPU(card).With(view.ScrubBatch, 1).With(view.ScrubSide, 32).WithOptimizer("sgd")} {
			scene, err := view.Compute(s)
			if err != nil {
				t.Fatal(err)
			}
			figures := view.NewFigures(scene, content.French)
			for total, rows := range map[string][]string{"peak.device": lessonParts, "card.usable": lessonLines} {
				family := "part."
				if total == "card.usable" {
					family = "budget."
				}
				var sum int64
				for _, row := range rows {
					n, _ := figures.Number(family + row)
					sum += n
				}
				if want, _ := figures.Number(total); sum != want {
					t.Errorf("%+v: %s lines sum to %d, %s is %d", s, family, sum, total, want)
				}
			}
		}
	}
}

func TestDirectives(t *testing.T) {
	scene, err := view.Compute(view.Default())
	if err != nil {
		t.Fatal(err)
	}
	fixed := func(name string) (view.Figures, bool, error) {
		batch, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return view.Figures{}, false, nil
		}
		scene, err := view.Compute(view.Default().With(view.ScrubBatch, batch))
		return view.NewFigures(scene, content.English), true, err
	}
	for _, c := range []struct{ source, want string }{
		{"a {params} b", `a <span class="num w" data-v="params">538,981</span> b`},
		{"{256:rule.batch:exact}", "<span class=\"num b\">50,331,648\u00a0bytes</span>"},
		{"{=4*1024*1024}", "<span class=\"num\">4.19\u00a0MB</span>"},
		{"{params:exact}", `<span class="num w" data-v="params:exact">538,981</span>`},
		{"{~batch}", "<span class=\"scrub b\" data-scrub=\"batch\">32\u00a0images</span>"},
		{"{activations|the <maps>}", `<span class="kind a" data-kind="activations">the &lt;maps&gt;</span>`},
		{"{dotted|so}", `<span class="scrub sample">so</span>`},
		{"{peak.phase}", `<span class="word" data-v="peak.phase">the backward pass</span>`},
		{"`{params}` and {}", `<code>{params}</code> and {}`},
	} {
		p := newProse(page{Nav: []navLink{{Name: "oom", Href: "oom/index.html"}}}, view.NewFigures(scene, content.English), fixed)
		got, err := p.line(c.source)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.source, got, err, c.want)
		}
	}
	for _, bad := range []string{"{nothing}", "{~nothing}", "{32:nothing}", "{99999999999999999999:params}", "{=2*x}", "{nobody:params}"} {
		p := newProse(page{Nav: []navLink{{Name: "oom", Href: "oom/index.html"}}}, view.NewFigures(scene, content.English), fixed)
		if got, err := p.line(bad); err == nil {
			t.Errorf("%s is accepted: %s", bad, got)
		}
	}
}

func TestTable(t *testing.T) {
	scene, err := view.Compute(view.Default())
	if err != nil {
		t.Fatal(err)
	}
	p := newProse(page{Nav: []navLink{{Name: "oom", Href: "oom/index.html"}}}, view.NewFigures(scene, content.English), nil)
	table, rest, err := p.table("| | a |\n|---|---|\n| {weights|x} | 1 |\n| Total | 2 |\n\nAfter.")
	if err != nil || rest != "After." || len(table.Rows) != 2 || table.Last() != 1 || table.Head[0] != "" || table.Rows[1].Cells[0] != "2" {
		t.Errorf("%+v, %q, %v", table, rest, err)
	}
	if _, _, err := p.table("| a | b |\n|---|---|\n| 1 |\n"); err == nil {
		t.Error("a short row is accepted")
	}
}

func TestHandler(t *testing.T) {
	files := fstest.MapFS{
		"index.html":              {Data: []byte("home")},
		"en/index.html":           {Data: []byte("english")},
		"a b/é.json":              {Data: []byte("{}")},
		"engine.1234.wasm.gz":     {Data: []byte("gz")},
		"app.wasm":                {Data: []byte("wasm")},
		"manifest.webmanifest":    {Data: []byte("{}")},
		"boot.js":                 {Data: []byte("js")},
		"style.css":               {Data: []byte("css")},
		"deep/folder/index.html":  {Data: []byte("deep")},
		"deep/folder/picture.svg": {Data: []byte("svg")},
	}
	for _, prefix := range []string{"", "/cours/gpu", "/un dossier accentué"} {
		server := httptest.NewServer(http.StripPrefix(prefix, Handler(files)))
		defer server.Close()
		client := server.Client()
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for _, c := range []struct {
			path, kind, body string
			status           int
		}{
			{"/", "text/html; charset=utf-8", "home", 200},
			{"/index.html", "text/html; charset=utf-8", "home", 200},
			{"/en/", "text/html; charset=utf-8", "english", 200},
			{"/en/index.html", "text/html; charset=utf-8", "english", 200},
			{"/a b/é.json", "application/json", "{}", 200},
			{"/engine.1234.wasm.gz", "application/gzip", "gz", 200},
			{"/app.wasm", "application/wasm", "wasm", 200},
			{"/manifest.webmanifest", "application/manifest+json", "{}", 200},
			{"/boot.js", "text/javascript; charset=utf-8", "js", 200},
			{"/style.css", "text/css; charset=utf-8", "css", 200},
			{"/deep/folder/picture.svg", "image/svg+xml", "svg", 200},
			{"/nothing", "", "", 404},
			{"/deep/", "", "", 404},
			{"/../site.go", "", "", 404},
		} {
			address := server.URL + (&url.URL{Path: prefix + c.path}).EscapedPath()
			response, err := client.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			var body bytes.Buffer
			_, _ = body.ReadFrom(response.Body)
			response.Body.Close()
			if response.StatusCode != c.status {
				t.Errorf("%s: status %d, want %d", address, response.StatusCode, c.status)
			} else if c.status == 200 {
				if got := response.Header.Get("Content-Type"); got != c.kind || body.String() != c.body {
					t.Errorf("%s: %s %q", address, got, body.String())
				}
				if response.Header.Get("Cache-Control") != "no-cache" || response.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s: headers %v", address, response.Header)
				}
			}
		}
		// A folder without its slash: the browser is sent on, whatever the prefix.
		response, err := client.Get(server.URL + (&url.URL{Path: prefix + "/deep/folder"}).EscapedPath())
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		location, err := response.Location()
		if err != nil || location.Path != prefix+"/deep/folder/" {
			t.Errorf("redirected to %v, %v", location, err)
		}
		post, err := client.Post(server.URL+(&url.URL{Path: prefix + "/"}).EscapedPath(), "text/plain", nil)
		if err != nil {
			t.Fatal(err)
		}
		post.Body.Close()
		if post.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST: status %d", post.StatusCode)
		}
	}
}

// schema is what a test needs of a JSON Schema.
type schema struct {
	Ref         string             `json:"$ref"`
	Defs        map[string]*schema `json:"$defs"`
	Properties  map[string]*schema
	Items       *schema
	Enum        []string
	Description string
	AnyOf       []*schema
}

func published(t *testing.T, name string) *schema {
	t.Helper()
	var s schema
	if err := json.Unmarshal([]byte(read(t, written(t), "schema/"+name+".json")), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// resolve follows a reference into the definitions.
func (s *schema) resolve(defs map[string]*schema) *schema {
	if s.Ref == "" {
		return s
	}
	return defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
}

// missing lists the fields of a JSON value that the schema does not describe.
func (s *schema) missing(defs map[string]*schema, at string, value any) []string {
	s = s.resolve(defs)
	var list []string
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			property, ok := s.Properties[name]
			if !ok {
				list = append(list, at+"."+name)
				continue
			}
			list = append(list, property.missing(defs, at+"."+name, field)...)
		}
	case []any:
		if s.Items == nil {
			return []string{at + "[]"}
		}
		for _, item := range v {
			list = append(list, s.Items.missing(defs, at+"[]", item)...)
		}
	}
	return list
}

func TestResultSchemaDescribesResults(t *testing.T) {
	s := published(t, "result")
	result, err := calc.Estimate(calc.Request{Want: calc.Wants})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	if list := s.missing(s.Defs, "result", value); len(list) > 0 {
		t.Errorf("not described: %v", list)
	}
	if s.Defs["Peak"].Properties["reserved"].Description == "" {
		t.Error("fields have no descriptions")
	}
}

// The words that the schema allows are those that calc takes, and no others.
func TestRequestSchemaChoices(t *testing.T) {
	s := published(t, "request")
	for place := range choices {
		definition, field, _ := strings.Cut(place, ".")
		d, ok := s.Defs[definition]
		if !ok {
			continue // of the result
		}
		property := d.Properties[field]
		if property == nil {
			t.Errorf("%s is not in the schema", place)
			continue
		}
		if property.Items != nil {
			property = property.Items
		}
		if len(property.Enum) == 0 {
			t.Errorf("%s has no choices", place)
		}
		if definition != "Request" || field == "want" {
			continue
		}
		for _, word := range append(slices.Clone(property.Enum), "nonsense") {
			request, err := calc.ParseRequest([]byte(`{"` + field + `": "` + word + `"}`))
			if err != nil {
				t.Fatalf("%s: %v", place, err)
			}
			_, err = calc.Estimate(request)
			refused := err != nil && strings.HasPrefix(err.Error(), "field-choice")
			if refused != (word == "nonsense") {
				t.Errorf("%s %q: %v", place, word, err)
			}
		}
	}
	if s.Defs["Request"].Properties["checkpointing"].AnyOf == nil || s.Defs["Request"].Properties["input"].AnyOf == nil {
		t.Error("types with a JSON form of their own are not described")
	}
	layers := s.Defs["Model"].Properties["layers"].Items.resolve(s.Defs)
	if !slices.Contains(layers.Properties["type"].Enum, "Conv2d") {
		t.Errorf("layers: %+v", layers)
	}
}

// The opening message is the one that the lesson's own network gives, with 512
// images on a card of 4 GB: its six numbers and the sums that the text makes of them.
func TestOpeningMessageIsTrue(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	f, stops, err := calc.OutOfMemory(calc.Request{Batch: 512, Device: calc.Device{GPU: "gtx-1650"}})
	if err != nil || !stops {
		t.Fatalf("the run does not stop: %v", err)
	}
	size := func(n int64) string { // as PyTorch writes it
		if n <= gib {
			return fmt.Sprintf("%.2f MiB", float64(n)/mib)
		}
		return fmt.Sprintf("%.2f GiB", float64(n)/gib)
	}
	unused := f.Reserved - f.Allocated
	for _, lang := range content.Langs {
		doc, err := lesson.Parse(lesson.Source(lesson.Lesson, lang))
		if err != nil {
			t.Fatal(err)
		}
		var told, message string
		for _, b := range doc.Sections[0].Blocks {
			if b.Directive == "message" {
				message = b.Text
			} else {
				told += b.Text + "\n"
			}
		}
		for _, want := range []string{
			"1 Tried to allocate " + size(f.Segment), "2 total capacity of " + size(f.Total), "3 " + size(f.Free) + " is free",
			"4 this process has " + size(f.Process) + " memory in use", "5 " + size(f.Allocated) + " is allocated by PyTorch",
			"6 " + size(unused) + " is reserved by PyTorch but unallocated",
		} {
			if !strings.Contains(message, "["+want+"]") {
				t.Errorf("%s: the message does not say %q", lang, want)
			}
		}
		if got := strings.NewReplacer("[1 ", "", "[2 ", "", "[3 ", "", "[4 ", "", "[5 ", "", "[6 ", "", "]", "").Replace(message); got != view.ExampleMessage {
			t.Errorf("%s: the OOM page explains another message than %q", lang, got)
		}
		decimal := func(s string) string {
			s = strings.NewReplacer(" ", "\u00a0").Replace(s)
			if lang == content.French {
				s = strings.NewReplacer(".", ",", "\u00a0MiB", "\u202fMio", "\u00a0GiB", "\u202fGio").Replace(s)
			}
			return s
		}
		for _, want := range []string{
			size(f.Process), size(f.Allocated), fmt.Sprintf("%d MiB", f.Segment/mib),
			fmt.Sprintf("%.0f MiB", float64(unused)/mib), fmt.Sprintf("%.0f MiB", float64(f.Process-f.Reserved)/mib),
			fmt.Sprintf("%d MiB", (f.Segment-f.Free)/mib+1),
		} {
			if !strings.Contains(told, decimal(want)) {
				t.Errorf("%s: the text does not say %q", lang, decimal(want))
			}
		}
		if f.Requested != f.Segment || f.Free+unused < f.Segment {
			t.Errorf("the text says that the request is one tensor, and that the scraps would be enough: %+v", f)
		}
	}
}
