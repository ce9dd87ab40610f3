package build

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// LicensesName is the file that holds the licenses of what the site contains.
const LicensesName = "licenses.txt"

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|copyright)`)

// licenses collects the licenses of all that the site's programs and scripts
// are made of, as their own packages have them.
func (s *Site) licenses() ([]byte, error) {
	dirs := map[string]string{}
	goroot, err := run(s.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs["Go"] = strings.TrimSpace(string(goroot))
	own, err := run(s.root, nil, "go", "list", "-m")
	if err != nil {
		return nil, err
	}
	dirs[strings.TrimSpace(string(own))] = s.root
	for _, p := range []program{lessonProgram, workshopProgram, engineProgram} {
		out, err := run(s.root, wasmEnv, "go", "list", "-tags="+p.tags, "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", p.dir)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[name] = dir
			}
		}
	}
	for name := range s.bundled {
		dirs["npm "+name] = filepath.Join(s.root, "web", "build", "node_modules", filepath.FromSlash(name))
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		texts, err := licensesIn(dirs[name])
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			return nil, fmt.Errorf("%s: no license in its folder", name)
		}
		fmt.Fprintf(&b, "%s\n%s\n\n", name, strings.Repeat("=", len(name)))
		for _, text := range texts {
			b.Write(bytes.TrimSpace(text))
			b.WriteString("\n\n")
		}
	}
	return b.Bytes(), nil
}

// licensesIn reads the license files of a package, those in its folder of that
// name too.
func licensesIn(dir string) (texts [][]byte, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case !licenseFile.MatchString(e.Name()):
		case e.IsDir():
			inner, err := licensesIn(name)
			if err != nil {
				return nil, err
			}
			texts = append(texts, inner...)
		case e.Type().IsRegular():
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
	}
	return texts, nil
}
