package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A cut is a module compiled into the page from a copy without what no browser
// needs. go-app links an HTTP server, regular expressions, cryptography and
// stored states into its client; go-echarts links html/template. Files of the module cache cannot
// be overlaid, so the build copies the module and puts our stubs over the files
// that bear their names. The copies are never committed.
type cut struct {
	// module is the import path, version the only one the stubs were written for.
	module, version string
	// packages are the directories copied, relative to the module's root.
	packages []string
	// stubs is the directory of ours that is laid over the copy, relative to web/build/_cut.
	stubs string
	// imports are import paths replaced in every copied file.
	imports map[string]string
	// sum is the SHA-256 over the files that the stubs and imports replace.
	sum string
	// requires are the modules that what is left still imports.
	requires []string
}

var cuts = []cut{
	{
		module:   "github.com/maxence-charriere/go-app/v10",
		version:  "v10.1.11",
		packages: []string{"pkg/app", "pkg/errors"},
		stubs:    "go-app",
		imports:  map[string]string{"time": "github.com/maxence-charriere/go-app/v10/cut/time"},
		sum:      "7d8e1124a81f65d566537cbdaea4f622c9c9629777c6cb86e52a6d020f18eb61",
		requires: []string{"github.com/google/uuid v1.6.0"},
	},
	{
		module:   "github.com/go-echarts/go-echarts/v2",
		version:  "v2.6.7",
		packages: []string{"charts", "datasets", "event", "opts", "render", "types", "util"},
		stubs:    "go-echarts",
		imports:  map[string]string{"html/template": "github.com/go-echarts/go-echarts/v2/cut"},
		sum:      "0013dee4880a1d19bb43a6b5da6e4fcfe88df851f2761571b9caa7de513cb449",
	},
	{
		module:  "github.com/google/uuid",
		version: "v1.6.0",
		stubs:   "uuid",
	},
}

// makeCuts writes the copies under dir and a go.mod beside them that replaces
// the modules, and returns that file's name.
func makeCuts(root, dir string) (modfile string, err error) {
	// A go.mod of the copies' own folder is what keeps them out of the module's ./... pattern.
	modfile = filepath.Join(dir, "go.mod")
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(root, dir)
	if err != nil {
		return "", err
	}
	for _, c := range cuts {
		if err := c.make(root, filepath.Join(dir, c.stubs)); err != nil {
			return "", fmt.Errorf("%s: %w", c.module, err)
		}
		mod = fmt.Appendf(mod, "\nreplace %s => ./%s\n", c.module, path.Join(filepath.ToSlash(relative), c.stubs))
	}
	if err := os.WriteFile(modfile, mod, 0o644); err != nil {
		return "", err
	}
	return modfile, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644)
}

// make writes one copy into dir, emptied before.
func (c cut) make(root, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	stubs, err := readGoFiles(filepath.Join(root, "web", "build", "_cut", c.stubs))
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	if len(c.packages) > 0 {
		source, err := c.source(root)
		if err != nil {
			return err
		}
		if err := c.verify(source, stubs); err != nil {
			return err
		}
		for _, pkg := range c.packages {
			originals, err := readGoFiles(filepath.Join(source, filepath.FromSlash(pkg)))
			if err != nil {
				return err
			}
			for name, content := range originals {
				if path.Dir(name) != "." { // another package, listed or unwanted
					continue
				}
				files[path.Join(pkg, name)] = c.reimport(content)
			}
		}
	}
	for name, content := range stubs {
		files[name] = content
	}
	mod := fmt.Appendf(nil, "module %s\n\ngo 1.23\n", c.module)
	for _, r := range c.requires {
		mod = fmt.Appendf(mod, "\nrequire %s\n", r)
	}
	files["go.mod"] = mod
	for name, content := range files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// source is the module's directory in the module cache.
func (c cut) source(root string) (string, error) {
	out, err := run(root, nil, "go", "list", "-m", "-json", c.module)
	if err != nil {
		return "", err
	}
	var m struct{ Version, Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", err
	}
	if m.Version != c.version {
		return "", fmt.Errorf("go.mod asks for %s, the stubs in web/build/_cut/%s were written for %s: compare the replaced files, then change version and sum", m.Version, c.stubs, c.version)
	}
	if m.Dir == "" {
		if _, err := run(root, nil, "go", "mod", "download", c.module); err != nil {
			return "", err
		}
		return c.source(root)
	}
	return m.Dir, nil
}

// verify compares the files about to be replaced with those the stubs were written for.
func (c cut) verify(source string, stubs map[string][]byte) error {
	sum, err := c.hash(source, stubs)
	if err != nil {
		return err
	}
	if sum != c.sum {
		return fmt.Errorf("the files that web/build/_cut/%s replaces have changed (sum %s, expected %s): compare them with the stubs, then change the sum", c.stubs, sum, c.sum)
	}
	return nil
}

func (c cut) hash(source string, stubs map[string][]byte) (string, error) {
	var replaced []string
	for _, pkg := range c.packages {
		originals, err := readGoFiles(filepath.Join(source, filepath.FromSlash(pkg)))
		if err != nil {
			return "", err
		}
		for name, content := range originals {
			full := path.Join(pkg, name)
			_, stubbed := stubs[full]
			if path.Dir(name) == "." && (stubbed || !bytes.Equal(content, c.reimport(content))) {
				replaced = append(replaced, full)
			}
		}
	}
	slices.Sort(replaced)
	h := sha256.New()
	for _, name := range replaced {
		content, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (c cut) reimport(content []byte) []byte {
	for from, to := range c.imports {
		name := path.Base(from)
		content = bytes.ReplaceAll(content, fmt.Appendf(nil, "\t%q\n", from), fmt.Appendf(nil, "\t%s %q\n", name, to))
	}
	return content
}

// readGoFiles reads the Go files under dir that are not tests, by slash-separated name.
func readGoFiles(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		files[name] = content
		return err
	})
	return files, err
}
