package build

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/andybalholm/brotli"
)

// Size reports what a built site takes, file by file, and what each dependency
// costs in the lesson's WebAssembly module.
func Size(w io.Writer, dir string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	if err := sizeOfFiles(w, dir); err != nil {
		return err
	}
	unlock, err := lock(root)
	if err != nil {
		return err
	}
	defer unlock()
	module, err := lessonProgram.compile(root, true)
	if err != nil {
		return err
	}
	paths, err := lessonProgram.packages(root)
	if err != nil {
		return err
	}
	for _, by := range []struct {
		title string
		group func(string) string
		most  int
	}{
		{"\nIn the lesson's module, by dependency (compressed apart, so that the sum is more than the module)", dependency, 20},
		{"\nIts largest packages", func(path string) string { return path }, 20},
	} {
		costs, err := Costs(module, paths, by.group)
		if err != nil {
			return err
		}
		table := newTable(w, by.title, "raw", "gzip", "")
		for _, c := range costs[:min(by.most, len(costs))] {
			table.row(c.Name, c.Raw, c.Gzip)
		}
		if err := table.end(); err != nil {
			return err
		}
	}
	return nil
}

// dependency groups packages for the report.
func dependency(path string) string {
	switch {
	case path == dataName || path == unowned:
		return path
	case path == "main" || strings.HasPrefix(path, "vrametre/web") || strings.HasPrefix(path, "vrametre/content"):
		return "the page (wasm, web, content)"
	case strings.HasPrefix(path, "vrametre/calc"):
		return "the engine (calc)"
	case strings.HasPrefix(path, "github.com/"):
		parts := strings.SplitN(path, "/", 4)
		return strings.Join(parts[:3], "/")
	case path == "runtime" || strings.HasPrefix(path, "runtime/") || strings.HasPrefix(path, "internal/runtime"):
		return "Go runtime"
	case path == "encoding/json" || path == "reflect" || path == "internal/reflectlite":
		return "Go encoding/json, reflect"
	}
	return "Go, other packages"
}

func sizeOfFiles(w io.Writer, dir string) error {
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	table := newTable(w, "Files of the site", "raw", "gzip", "brotli")
	var visit [3]int64
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		sizes, err := compressedSizes(name, content)
		if err != nil {
			return err
		}
		table.row(name, sizes[:]...)
		if firstVisit(name) {
			for i, n := range sizes {
				visit[i] += n
			}
		}
	}
	table.row("first visit: page, style, scripts, engine, charts (brotli: from a host that sends the module unpacked)", visit[:]...)
	return table.end()
}

// firstVisit says what the French page loads when first opened on the web.
func firstVisit(name string) bool {
	for _, start := range []string{Lesson + ".", "early.", "boot.", "recover.", "charts.", "style.", "index.html", "manifest.webmanifest", "icon.svg"} {
		if strings.HasPrefix(name, start) {
			return Online(name) == ""
		}
	}
	return false
}

// compressedSizes are the bytes of a file as it is, as gzip and as brotli. The
// module lies compressed: its three sizes are those of what it holds.
func compressedSizes(name string, content []byte) ([3]int64, error) {
	packed := int64(0)
	if strings.HasSuffix(name, ".gz") {
		packed = int64(len(content))
		plain, err := gunzipped(content)
		if err != nil {
			return [3]int64{}, fmt.Errorf("%s: %w", name, err)
		}
		content = plain
	} else {
		zipped, err := gzipped(content)
		if err != nil {
			return [3]int64{}, err
		}
		packed = int64(len(zipped))
	}
	var b bytes.Buffer
	writer := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: 24})
	if _, err := writer.Write(content); err != nil {
		return [3]int64{}, err
	}
	if err := writer.Close(); err != nil {
		return [3]int64{}, err
	}
	return [3]int64{int64(len(content)), packed, int64(b.Len())}, nil
}

// table writes names and sizes in columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, title string, columns ...string) table {
	fmt.Fprintln(w, title)
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)}
	fmt.Fprintf(t.w, "%s\t\t\n", strings.Join(columns, "\t"))
	return t
}

func (t table) row(name string, sizes ...int64) {
	for _, n := range sizes {
		fmt.Fprintf(t.w, "%d\t", n)
	}
	fmt.Fprintf(t.w, "\t %s\n", name)
}

func (t table) end() error { return t.w.Flush() }
