package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The stubs replace files of exactly these contents.
func TestReplacedFilesAreThoseTheStubsWereWrittenFor(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cuts {
		if len(c.packages) == 0 {
			continue
		}
		source, err := c.source(root)
		if err != nil {
			t.Errorf("%s: %v", c.module, err)
			continue
		}
		stubs, err := readGoFiles(filepath.Join(root, "web", "build", "_cut", c.stubs))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.verify(source, stubs); err != nil {
			t.Errorf("%s: %v", c.module, err)
		}
		// A changed file is noticed, another one does not matter.
		copied := t.TempDir()
		for _, pkg := range c.packages {
			if err := os.CopyFS(filepath.Join(copied, pkg), os.DirFS(filepath.Join(source, pkg))); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.verify(copied, stubs); err != nil {
			t.Errorf("%s, copied: %v", c.module, err)
		}
		for name := range stubs {
			target := filepath.Join(copied, name)
			content, err := os.ReadFile(target)
			if err != nil {
				continue // a file of ours beside theirs
			}
			if err := os.Chmod(target, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(target, append(content, "// changed\n"...), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := c.verify(copied, stubs); err == nil || !strings.Contains(err.Error(), "have changed") {
				t.Errorf("%s: a change of %s goes unnoticed: %v", c.module, name, err)
			}
			if err := os.WriteFile(target, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What the cuts are for, and what else is too heavy for a page.
func TestModuleIsWithoutHeavyPackages(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(root)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	packages, err := lessonProgram.packages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, needed := range []string{"vrametre/calc", "vrametre/web/ui", "github.com/maxence-charriere/go-app/v10/pkg/app"} {
		if !slices.Contains(packages, needed) {
			t.Errorf("%s is not linked: the list is not the module's", needed)
		}
	}
	for _, path := range packages {
		for _, heavy := range []string{
			"net/http", "regexp", "text/template", "html/template", "crypto", "go/", "os/exec",
			"github.com/yuin/goldmark", "gopkg.in/yaml.v3", "golang.org/x/net", "github.com/andybalholm/brotli",
			"github.com/invopop/jsonschema", "vrametre/calc/read/print", "vrametre/calc/read/trace", "vrametre/web/site", "vrametre/web/build", "vrametre/content/lesson",
		} {
			if path == heavy || strings.HasPrefix(path, strings.TrimSuffix(heavy, "/")+"/") {
				t.Errorf("%s is linked into the page", path)
			}
		}
	}
}
