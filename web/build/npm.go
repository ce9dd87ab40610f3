package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"vrametre/web/chart"
)

// lock keeps other processes of this module out of the build folder until the
// returned function is called.
func lock(root string) (unlock func(), err error) {
	dir := filepath.Join(root, "build")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// prepare holds the build folder, with the packages of npm in place, until the
// returned function is called.
func prepare() (root string, unlock func(), err error) {
	if root, err = Root(); err != nil {
		return "", nil, err
	}
	if unlock, err = lock(root); err != nil {
		return "", nil, err
	}
	if err := npmInstall(root); err != nil {
		unlock()
		return "", nil, err
	}
	return root, unlock, nil
}

// Packages brings the packages of npm that the build and its tests use.
func Packages() error {
	_, unlock, err := prepare()
	if err != nil {
		return err
	}
	unlock()
	return nil
}

// npmInstall brings the packages of web/build/package-lock.json, if they are
// not there already, without running any script of theirs.
func npmInstall(root string) error {
	dir := filepath.Join(root, "web", "build")
	want, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "node_modules", ".installed")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, want) {
		return nil
	}
	if _, err := run(dir, nil, "npm", "ci", "--ignore-scripts"); err != nil {
		return err
	}
	return os.WriteFile(stamp, want, 0o644)
}

// bundle turns a script of web/static and all it imports into one minified
// script, and names the packages of npm in it; flags are esbuild's.
func bundle(root, name string, flags ...string) (script []byte, packages []string, err error) {
	out := filepath.Join(root, "build", name)
	meta := out + ".meta.json"
	args := append([]string{
		filepath.Join("web", "static", name),
		"--bundle", "--minify", "--target=es2020", "--charset=utf8",
		"--legal-comments=none", "--log-level=warning", "--metafile=" + meta, "--outfile=" + out,
	}, flags...)
	modules := filepath.Join(root, "web", "build", "node_modules")
	if _, err := run(root, []string{"NODE_PATH=" + modules}, filepath.Join(modules, ".bin", "esbuild"), args...); err != nil {
		return nil, nil, err
	}
	if script, err = os.ReadFile(out); err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(meta)
	if err != nil {
		return nil, nil, err
	}
	var read struct{ Inputs map[string]json.RawMessage }
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, nil, err
	}
	for input := range read.Inputs {
		_, file, ok := strings.Cut(input, "node_modules/")
		if !ok {
			continue
		}
		parts := strings.SplitN(file, "/", 3)
		if strings.HasPrefix(file, "@") {
			packages = append(packages, parts[0]+"/"+parts[1])
		} else {
			packages = append(packages, parts[0])
		}
	}
	return script, packages, nil
}

// deflate compresses with zopfli, which spends seconds to save four per cent.
// What was compressed once is kept in the build folder.
func deflate(root string, content []byte) ([]byte, error) {
	sum := sha256.Sum256(content)
	dir := filepath.Join(root, "build", "zopfli")
	kept := filepath.Join(dir, hex.EncodeToString(sum[:])+".gz")
	if have, err := os.ReadFile(kept); err == nil {
		return have, nil
	}
	out, err := pipe(filepath.Join(root, "web", "build"), nil, content, "node", "zopfli.mjs")
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errors.New("zopfli wrote nothing")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return out, os.WriteFile(kept, out, 0o644)
}

// Drawing asks for a picture of a chart, in a size in pixels. Its name starts
// the identifiers inside the picture, so it must be the only one on its page.
type Drawing struct {
	Name    string
	Options chart.Options
	Width   int
	Height  int
}

// Draw draws charts as SVG elements, with the library and the options of the
// live page.
func Draw(drawings []Drawing) ([]string, error) {
	root, unlock, err := prepare()
	if err != nil {
		return nil, err
	}
	defer unlock()
	program, _, err := bundle(root, "draw.js", "--format=cjs", "--platform=node")
	if err != nil {
		return nil, err
	}
	type asked struct {
		Name    string          `json:"name"`
		Options json.RawMessage `json:"options"`
		Width   int             `json:"width"`
		Height  int             `json:"height"`
	}
	list := make([]asked, len(drawings))
	for i, d := range drawings {
		list[i] = asked{d.Name, json.RawMessage(d.Options), d.Width, d.Height}
	}
	input, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	script := filepath.Join(root, "build", "draw.cjs")
	if err := os.WriteFile(script, program, 0o644); err != nil {
		return nil, err
	}
	out, err := pipe(root, nil, input, "node", script)
	if err != nil {
		return nil, err
	}
	var pictures []string
	if err := json.Unmarshal(out, &pictures); err != nil {
		return nil, err
	}
	return pictures, nil
}
