package build

import (
	"bytes"
	"encoding/json"
	"image/png"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vrametre/content"
	"vrametre/web/chart"
	"vrametre/web/view"
)

// Budgets in bytes, which a test that fails keeps from growing unseen.
const (
	mostGzip       = 1_810_000
	mostBrotli     = 1_300_000
	mostFirstVisit = 1_455_000 // brotli; with the page and its style, under 1.5 MB
)

func TestAssets(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		site, err := Assets(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range []string{"index.html", "en/index.html"} {
			if err := site.write(page, []byte("<!doctype html>"+page)); err != nil {
				t.Fatal(err)
			}
		}
		if err := site.Finish(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{site.Early, site.Boot, site.Icon, site.TouchIcon, site.Manifest(content.French), site.Manifest(content.English)} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	t.Run("two builds are the same", func(t *testing.T) { sameFiles(t, dirs[0], dirs[1]) })
	t.Run("names carry hashes", func(t *testing.T) { namesCarryHashes(t, dirs[0]) })
	t.Run("no other host", func(t *testing.T) { noOtherHost(t, dirs[0]) })
	t.Run("manifests", func(t *testing.T) { manifestsNameFiles(t, dirs[0]) })
	t.Run("worker's list", func(t *testing.T) { workerList(t, dirs[0]) })
	t.Run("licenses", func(t *testing.T) { licensesAreWhole(t, dirs[0]) })
	t.Run("module", func(t *testing.T) { moduleIsSmall(t, dirs[0]) })
}

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sameFiles(t *testing.T, a, b string) {
	first, second := files(t, a), files(t, b)
	if len(first) != len(second) {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
	for name, content := range first {
		if !bytes.Equal(content, second[name]) {
			t.Errorf("%s is not the same", name)
		}
	}
}

func namesCarryHashes(t *testing.T, dir string) {
	named := regexp.MustCompile(`\.([0-9a-f]{10})\.`)
	hashed := 0
	for name, content := range files(t, dir) {
		found := named.FindStringSubmatch(name)
		if found == nil {
			continue
		}
		hashed++
		// The script that holds the module goes by the module's name.
		if got := hash(content); got != found[1] && !strings.HasSuffix(name, ".wasm.js") {
			t.Errorf("%s has hash %s", name, got)
		}
	}
	if hashed != 11 {
		t.Errorf("%d files are named by their hash", hashed)
	}
}

// noOtherHost looks for addresses in all that pages load. XML names its
// languages by addresses that nobody asks for, and one of Workbox's errors
// names a page about it.
func noOtherHost(t *testing.T, dir string) {
	address := regexp.MustCompile(`(?:https?:)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+`)
	for name, content := range files(t, dir) {
		if path.Ext(name) != ".js" || strings.HasSuffix(name, ".wasm.js") {
			continue
		}
		for _, found := range address.FindAll(content, -1) {
			if host := string(found); host != "http://www.w3.org" && host != "https://bit.ly" {
				t.Errorf("%s names %s", name, host)
			}
		}
	}
}

func workerList(t *testing.T, dir string) {
	present := files(t, dir)
	script := string(present["worker.js"])
	list, _, ok := strings.Cut(strings.TrimPrefix(script, "self.precached="), ";\n")
	if !ok {
		t.Fatalf("no list at the start of %.100s", script)
	}
	var entries []struct {
		URL       string
		Revision  *string
		Integrity string
	}
	if err := json.Unmarshal([]byte(list), &entries); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, e := range entries {
		u, err := url.Parse(e.URL)
		if err != nil || u.IsAbs() || strings.HasPrefix(e.URL, "/") {
			t.Errorf("%q is not relative: %v", e.URL, err)
		}
		name := strings.TrimPrefix(e.URL, "./")
		if name == "" || strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		content, ok := present[name]
		if !ok {
			t.Errorf("%s is listed and not there", e.URL)
		}
		sum := hash(content)
		if inName := strings.Contains(name, sum); inName == (e.Revision != nil) || !inName && *e.Revision != sum {
			t.Errorf("%s has revision %v, its hash is %s", e.URL, e.Revision, sum)
		}
		if checked := strings.Contains(name, sum) && path.Ext(name) != ".gz"; checked != strings.HasPrefix(e.Integrity, "sha256-") {
			t.Errorf("%s has integrity %q", e.URL, e.Integrity)
		}
		listed[name] = true
	}
	left := map[string]bool{}
	for name := range present {
		switch {
		case listed[name] == (Online(name) != ""):
			t.Errorf("%s is kept: %v, and %q is why not", name, listed[name], Online(name))
		case !listed[name] && strings.HasSuffix(name, ".wasm.js"):
			left["*.wasm.js"] = true
		case !listed[name] && path.Dir(name) == screenshots:
			left[screenshots] = true
		case !listed[name]:
			left[name] = true
		}
	}
	// The worker would never change if it kept itself, and never be installed if it asked for what hosts do not publish.
	if want := []string{"*.wasm.js", "_headers", "embed.js", screenshots, "vrametre.js", "vrametre.py", "worker.js"}; !slices.Equal(slices.Sorted(maps.Keys(left)), want) {
		t.Errorf("not kept: %q", slices.Sorted(maps.Keys(left)))
	}
	for name, kept := range map[string]bool{"python/exporter.py": true, "schema/request.json": true, "vrametre.d.ts": false, "embed.d.ts": false, SingleName: false, "figures/memory.fr.png": false} {
		if (Online(name) == "") != kept {
			t.Errorf("%s is kept: %v", name, !kept)
		}
	}
	// Each reason holds for something.
	for _, o := range online {
		if o.why == "" {
			t.Errorf("%s: no reason", o.pattern)
		}
		if _, err := path.Match(o.pattern, ""); err != nil {
			t.Errorf("%s: %v", o.pattern, err)
		}
	}
}

// manifestsNameFiles looks for the pictures of the manifests.
func manifestsNameFiles(t *testing.T, dir string) {
	present := files(t, dir)
	for _, lang := range content.Langs {
		name := (&Site{}).Manifest(lang)
		var m manifest
		if err := json.Unmarshal(present[name], &m); err != nil {
			t.Fatal(err)
		}
		for _, image := range append(m.Icons, m.Screenshots...) {
			if len(present[path.Join(path.Dir(name), image.Src)]) == 0 {
				t.Errorf("%s: there is no %s", name, image.Src)
			}
		}
	}
}

func licensesAreWhole(t *testing.T, dir string) {
	text := string(files(t, dir)[LicensesName])
	for _, want := range []string{"\nGo\n==", "vrametre\n==", "go-app/v10 v10", "go-echarts/v2 v2", "npm echarts\n", "npm zrender\n", "npm workbox-core\n", "Apache License", "MIT License", "Redistributions in binary form"} {
		if !strings.Contains("\n"+text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "npm esbuild") {
		t.Error("a tool of the build is not in the site")
	}
}

func moduleIsSmall(t *testing.T, dir string) {
	var visit int64
	for name, content := range files(t, dir) {
		if !firstVisit(name) {
			continue
		}
		sizes, err := compressedSizes(name, content)
		if err != nil {
			t.Fatal(err)
		}
		visit += sizes[2]
		if !strings.HasPrefix(name, lessonProgram.name+".") {
			continue
		}
		t.Logf("%s: %d bytes, %d as gzip, %d as brotli", name, sizes[0], sizes[1], sizes[2])
		if sizes[1] > mostGzip || sizes[2] > mostBrotli {
			t.Errorf("%s takes %d bytes as gzip and %d as brotli, at most %d and %d are allowed: see make size", name, sizes[1], sizes[2], mostGzip, mostBrotli)
		}
		plain, err := gunzipped(content)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := pack(plain); err != nil || !bytes.Equal(again, plain) {
			t.Errorf("the module is not packed: %v", err)
		}
	}
	t.Logf("first visit, beside the page and its style: %d bytes as brotli", visit)
	if visit > mostFirstVisit {
		t.Errorf("a first visit takes %d bytes, at most %d are allowed", visit, mostFirstVisit)
	}
}

// zopfli's gzip is a gzip of the same bytes, and smaller.
func TestDeflate(t *testing.T) {
	root, unlock, err := prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	content, err := os.ReadFile(filepath.Join(root, "web", "build", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	small, err := deflate(root, content)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := gunzipped(small); err != nil || !bytes.Equal(plain, content) {
		t.Errorf("other bytes come back: %v", err)
	}
	usual, err := gzipped(content)
	if err != nil {
		t.Fatal(err)
	}
	if len(small) >= len(usual) {
		t.Errorf("%d bytes, gzip takes %d", len(small), len(usual))
	}
}

// The lock file names versions and hashes, no registry.
func TestLockFileNamesNoHost(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "web", "build", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(content, []byte(`"resolved"`)) {
		t.Error("package-lock.json says where its packages were downloaded: install with web/build/.npmrc")
	}
}

func TestWebManifests(t *testing.T) {
	for _, lang := range content.Langs {
		text, err := webManifest(lang)
		if err != nil {
			t.Fatal(err)
		}
		var m manifest
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if m.Lang != string(lang) || strings.Contains(m.Name+m.ShortName+m.Description, "manifest.") || m.Name == "" || m.Description == "" {
			t.Errorf("%s: %+v", lang, m)
		}
		// Wherever the folder lies, the scope is the folder and the start is the page.
		base, err := url.Parse("https://example.com/cours/gpu/" + (&Site{}).Manifest(lang))
		if err != nil {
			t.Fatal(err)
		}
		resolve := func(ref string) string {
			u, err := base.Parse(ref)
			if err != nil {
				t.Fatal(err)
			}
			return u.Path
		}
		start := map[content.Lang]string{content.French: "/cours/gpu/", content.English: "/cours/gpu/en/"}[lang]
		if resolve(m.Scope) != "/cours/gpu/" || resolve(m.StartURL) != start {
			t.Errorf("%s: scope %s, start %s", lang, resolve(m.Scope), resolve(m.StartURL))
		}
		if len(m.Shortcuts) != 3 || resolve(m.Shortcuts[0].URL) != start || resolve(m.Shortcuts[1].URL) != start+"atelier/" || resolve(m.Shortcuts[2].URL) != start+"oom/" {
			t.Errorf("%s: shortcuts %+v", lang, m.Shortcuts)
		}
		if len(m.Files) != 1 || resolve(m.Files[0].Action) != start+"atelier/" || !slices.Contains(m.Files[0].Accept["application/octet-stream"], ".safetensors") {
			t.Errorf("%s: files %+v", lang, m.Files)
		}
		if resolve(m.Share.Action) != start+"oom/" || m.Share.Method != "GET" || m.Share.Params["text"] != "text" {
			t.Errorf("%s: share %+v", lang, m.Share)
		}
		forms := map[string]int{}
		for _, s := range m.Screenshots {
			forms[s.Form]++
			if s.Label == "" || strings.Contains(s.Label, ".") || !strings.HasSuffix(s.Src, "."+string(lang)+".webp") {
				t.Errorf("%s: screenshot %+v", lang, s)
			}
		}
		if forms["wide"] < 2 || forms["narrow"] < 2 {
			t.Errorf("%s: screenshots %v", lang, forms)
		}
		sizes := map[string]bool{}
		for _, icon := range m.Icons {
			sizes[icon.Sizes+icon.Purpose] = true
			if !strings.HasPrefix(resolve(icon.Src), "/cours/gpu/icon") {
				t.Errorf("%s: icon at %s", lang, resolve(icon.Src))
			}
		}
		for _, want := range []string{"192x192", "512x512", "512x512maskable"} {
			if !sizes[want] {
				t.Errorf("%s: no icon %s", lang, want)
			}
		}
	}
}

func TestIcons(t *testing.T) {
	for _, side := range append([]int{touchIconSize}, iconSizes...) {
		content, err := iconPNG(side)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); b.Dx() != side || b.Dy() != side {
			t.Errorf("icon of %d is %v", side, b)
		}
		if r, g, b, a := img.At(0, 0).RGBA(); r>>8 != 0xfb || g>>8 != 0xfa || b>>8 != 0xf6 || a>>8 != 0xff {
			t.Errorf("icon of %d has a corner of another colour", side)
		}
	}
	// A mask may leave only the circle of 80 %.
	for y := range iconSide {
		for x := range iconSide {
			dx, dy := float64(x)+.5-iconSide/2, float64(y)+.5-iconSide/2
			if dx*dx+dy*dy > .16*iconSide*iconSide && iconAt(float64(x)+.5, float64(y)+.5) != paper {
				t.Fatalf("the drawing reaches %d, %d, outside every mask", x, y)
			}
		}
	}
	if svg := string(iconSVG()); strings.Count(svg, "<path") != len(iconLayers) || strings.Contains(svg, "style") {
		t.Errorf("icon.svg is %s", svg)
	}
}

func TestDraw(t *testing.T) {
	var drawings []Drawing
	for _, lang := range content.Langs {
		scene, err := view.Compute(view.Default())
		if err != nil {
			t.Fatal(err)
		}
		options, err := chart.Where(view.NewFigures(scene, lang))
		if err != nil {
			t.Fatal(err)
		}
		drawings = append(drawings, Drawing{Name: string(lang) + "-wide", Options: options, Width: 660, Height: chart.WhereHeight})
	}
	pictures, err := Draw(drawings)
	if err != nil {
		t.Fatal(err)
	}
	if len(pictures) != len(drawings) {
		t.Fatalf("%d pictures of %d charts", len(pictures), len(drawings))
	}
	for i, picture := range pictures {
		name := drawings[i].Name
		if !strings.HasPrefix(picture, `<svg viewBox="0 0 660 228">`) {
			t.Errorf("%s starts with %.80s", name, picture)
		}
		for _, refused := range []string{" style=", "<style", " class=", "zr0", "ecmeta", "NaN", "undefined"} {
			if strings.Contains(picture, refused) {
				t.Errorf("%s: %q in the picture", name, refused)
			}
		}
		for _, want := range []string{`fill="var(--activations)"`, `stroke="var(--alarm)"`, `id="` + name + `-`, `url(#` + name + `-`, "GeForce"} {
			if !strings.Contains(picture, want) {
				t.Errorf("%s: no %s in the picture", name, want)
			}
		}
	}
	if !strings.Contains(pictures[0], "À la main") || !strings.Contains(pictures[1], "By hand") {
		t.Error("the pictures do not speak their languages")
	}
}
