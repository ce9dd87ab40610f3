// Package build makes what the site's pages load: the WebAssembly module, the
// scripts, the charts' library, the offline worker, manifests and icons. Two
// builds of the same sources by the same Go are the same bytes.
package build

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"vrametre/content"
	"vrametre/web/piece"
)

// Options of a build.
type Options struct {
	// Small spends some fifteen seconds on compressing a changed module by four
	// per cent more.
	Small bool
}

// Site is a site being built: it names the files that pages link to, relative
// to the site's root. Names of files that change carry a hash of their bytes.
type Site struct {
	// Early is the script that starts the engine's download, to be loaded with
	// async; Boot starts the engine, to be loaded with defer.
	Early, Boot string
	// Charts is the script of the charts' library, Module the compressed program
	// of all pages but the lesson, which wakes the lesson as well.
	Charts, Module string
	// Still is the only script of a page that moves nothing, to be loaded with defer.
	Still string
	// Frame is the script of pages made for frames of other sites, to be loaded
	// before anything is painted.
	Frame string
	// Icon is a vector, TouchIcon a PNG of 180 pixels for apple-touch-icon.
	Icon, TouchIcon string

	root, dir string
	worker    []byte
	// bundled are the packages of npm in the site's scripts.
	bundled map[string]bool
}

// Assets builds all that pages load and writes it under dir. The pages are to
// be written there too before Finish.
func Assets(dir string, options Options) (*Site, error) {
	root, unlock, err := prepare()
	if err != nil {
		return nil, err
	}
	defer unlock()
	s := &Site{root: root, dir: dir, bundled: map[string]bool{}}
	if err := s.scripts(options); err != nil {
		return nil, err
	}
	licenses, err := s.licenses()
	if err != nil {
		return nil, err
	}
	if err := s.write(LicensesName, licenses); err != nil {
		return nil, err
	}
	return s, s.application()
}

// module is a program as the site has it.
type module struct {
	// compressed is the file on the web, script the one for pages opened as files.
	compressed, script string
	// bytes is the length of what is loaded in the end.
	bytes int
}

// module compiles a program and writes its files.
func (s *Site) module(p program, options Options) (module, error) {
	code, err := p.compile(s.root, false)
	if err != nil {
		return module{}, err
	}
	compress := gzipped
	if options.Small {
		compress = func(content []byte) ([]byte, error) { return deflate(s.root, content) }
	}
	packed, err := compress(code)
	if err != nil {
		return module{}, err
	}
	m := module{bytes: len(code)}
	if m.compressed, err = s.writeHashed(p.name, ".wasm.gz", packed); err != nil {
		return module{}, err
	}
	m.script = strings.TrimSuffix(m.compressed, ".gz") + ".js"
	return m, s.write(m.script, fmt.Appendf(nil, "vrametreModule(%q)\n", base64.StdEncoding.EncodeToString(packed)))
}

// json is the module as the boot script reads it.
func (m module) json() string {
	return fmt.Sprintf(`{"compressed":%q,"script":%q,"bytes":%d}`, m.compressed, m.script, m.bytes)
}

// scripts writes the modules and the scripts, each after those it names.
func (s *Site) scripts(options Options) error {
	var pages, early []string
	for _, p := range []program{lessonProgram, workshopProgram} {
		m, err := s.module(p, options)
		if err != nil {
			return err
		}
		if p.name == Workshop {
			s.Module = m.compressed
		}
		pages = append(pages, fmt.Sprintf("%q:%s", p.name, m.json()))
		early = append(early, fmt.Sprintf("%q:%q", p.name, m.compressed))
	}
	engine, err := s.module(engineProgram, options)
	if err != nil {
		return err
	}
	if s.Charts, err = s.script("charts"); err != nil {
		return err
	}
	if s.Early, err = s.script("early", "--define:PROGRAMS={"+strings.Join(early, ",")+"}"); err != nil {
		return err
	}
	glue, err := goRuntime(s.root)
	if err != nil {
		return err
	}
	s.Boot, err = s.script("boot",
		"--define:PROGRAMS={"+strings.Join(pages, ",")+"}", "--define:ENGINE="+engine.json(),
		define("CHARTS", s.Charts), "--alias:go-runtime="+glue)
	if err != nil {
		return err
	}
	library, err := s.bundle("vrametre.js", "--format=esm", "--external:node:fs/promises", "--define:ENGINE="+engine.json(), "--alias:go-runtime="+glue)
	if err != nil {
		return err
	}
	// Pages of others import it by its name.
	if err := s.write("vrametre.js", library); err != nil {
		return err
	}
	if s.Still, err = s.script("still"); err != nil {
		return err
	}
	if s.Frame, err = s.script("frame"); err != nil {
		return err
	}
	if err := s.loader(); err != nil {
		return err
	}
	recover, err := s.bundle("recover.js", "--format=iife")
	if err != nil {
		return err
	}
	// Pages of every version find it.
	if err := s.write(RecoverName, recover); err != nil {
		return err
	}
	s.worker, err = s.bundle("worker.js", "--format=iife", define("process.env.NODE_ENV", "production"))
	return err
}

// loader writes what other sites load, under names that never change: the script
// of the element and the extension of Sphinx.
func (s *Site) loader() error {
	heights := map[string]int{}
	for _, p := range piece.All {
		heights[p.Name] = p.Height
	}
	figures, err := json.Marshal(heights)
	if err != nil {
		return err
	}
	languages, err := json.Marshal(content.Langs)
	if err != nil {
		return err
	}
	script, err := s.bundle("embed.js", "--define:FIGURES="+string(figures), "--define:LANGUAGES="+string(languages), "--format=iife")
	if err != nil {
		return err
	}
	if err := s.write("embed.js", script); err != nil {
		return err
	}
	directive, err := os.ReadFile(filepath.Join(s.root, "web", "sphinx", "vrametre.py"))
	if err != nil {
		return err
	}
	return s.write("vrametre.py", directive)
}

// define replaces an identifier by a string.
func define(name, value string) string { return "--define:" + name + "=" + strconv.Quote(value) }

// bundle bundles a script and remembers what is in it.
func (s *Site) bundle(name string, flags ...string) ([]byte, error) {
	content, packages, err := bundle(s.root, name, flags...)
	for _, p := range packages {
		s.bundled[p] = true
	}
	return content, err
}

// script bundles a classic script of web/static and writes it.
func (s *Site) script(name string, flags ...string) (string, error) {
	content, err := s.bundle(name+".js", append(flags, "--format=iife")...)
	if err != nil {
		return "", err
	}
	return s.writeHashed(name, ".js", content)
}

// Finish writes the worker, with the list of all files of dir that the site
// needs offline, and the headers that help. Call it when every page is there.
func (s *Site) Finish() error {
	list, err := precached(s.dir)
	if err != nil {
		return err
	}
	headers, err := headers(s.dir)
	if err != nil {
		return err
	}
	if err := s.write(headersName, headers); err != nil {
		return err
	}
	return s.write(workerName, fmt.Appendf(nil, "self.precached=%s;\n%s", list, s.worker))
}

const workerName = "worker.js"

// RecoverName is the script that helps a page whose other files are missing.
const RecoverName = "recover.js"

// hashLength is the number of hexadecimal digits of a hash in a file's name.
const hashLength = 10

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])[:hashLength]
}

// precached lists the files of a site for the worker, in JSON. Files named by
// their hash never change, and are checked when they arrive; the others, which
// some hosts add to, are told apart by a revision.
func precached(dir string) ([]byte, error) {
	type entry struct {
		URL       string  `json:"url"`
		Revision  *string `json:"revision"`
		Integrity string  `json:"integrity,omitempty"`
	}
	var entries []entry
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || Online(name) != "" {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		e := entry{URL: name}
		sum := hash(content)
		if !strings.Contains(path.Base(name), "."+sum+".") {
			e.Revision = &sum
		} else if path.Ext(name) != ".gz" { // which some hosts decode
			sum := sha256.Sum256(content)
			e.Integrity = "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
		}
		// A folder's page is asked for by the folder's address: some hosts
		// redirect the longer one there, and a redirected page cannot be kept.
		if path.Base(name) == "index.html" {
			e.URL = "./" + strings.TrimPrefix(path.Dir(name)+"/", "./")
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.URL, b.URL) })
	return json.Marshal(entries)
}

// online are the files that the worker does not keep, by patterns of their
// whole name, and why.
var online = []struct{ pattern, why string }{
	{workerName, "the browser asks for it apart; one that kept itself would never change"},
	{headersName, "hosts read it and do not publish it"},
	{SingleName, "the site once more, for those who take it away"},
	{"*.wasm.js", "for pages opened as files and frames without an origin, where no worker runs"},
	{"vrametre.js", "for pages of others, which this worker does not serve"},
	{"embed.js", "for pages of others, which this worker does not serve"},
	{"*.d.ts", "for the editors of those who write such pages"},
	{"vrametre.py", "for the documentation of others, when it is built"},
	{piece.Pictures + "/*", "for paper; no page shows them"},
	{screenshots + "/*", "for the browser's offer to install, which needs the network"},
}

// Online says why the worker does not keep a file, "" where it does.
func Online(name string) string {
	for _, o := range online {
		if ok, _ := path.Match(o.pattern, name); ok {
			return o.why
		}
	}
	return ""
}

// write writes a file of the site.
func (s *Site) write(name string, content []byte) error {
	target := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o644)
}

// writeHashed writes a file whose name carries its hash, and returns the name.
func (s *Site) writeHashed(name, extension string, content []byte) (string, error) {
	name += "." + hash(content) + extension
	return name, s.write(name, content)
}

func gzipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func gunzipped(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
