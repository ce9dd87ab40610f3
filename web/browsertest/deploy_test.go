package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"vrametre/web/site"
)

var hashInName = regexp.MustCompile(`\.[0-9a-f]{10}\.`)

// A page of one version meets the files of another, and recovers with its state.
func TestHalfDeployed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(built, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), "</head>")
	if !ok {
		t.Fatal("the page has no head")
	}
	older := hashInName.ReplaceAllString(head, ".0000000000.") + "</head>" + rest
	boots, err := filepath.Glob(filepath.Join(built, "boot.*.js"))
	if err != nil || len(boots) != 1 {
		t.Fatal(boots, err)
	}
	boot, err := os.ReadFile(boots[0])
	if err != nil {
		t.Fatal(err)
	}
	olderBoot := regexp.MustCompile(`(lesson|workshop)\.[0-9a-f]{10}`).ReplaceAllString(string(boot), "$1.0000000000")
	files := site.Handler(os.DirFS(built))
	for name, host := range map[string]func(w http.ResponseWriter, r *http.Request, visit int) bool{
		// An old page from a cache; its files are gone.
		"old page": func(w http.ResponseWriter, r *http.Request, visit int) bool {
			if r.URL.Path != "/" || visit > 1 {
				return false
			}
			w.Header().Set("Cache-Control", "max-age=600")
			w.Write([]byte(older))
			return true
		},
		// An old page with its scripts; only the program is gone.
		"old scripts": func(w http.ResponseWriter, r *http.Request, visit int) bool {
			switch {
			case r.URL.Path == "/" && visit == 1:
				w.Header().Set("Cache-Control", "max-age=600")
				w.Write([]byte(older))
			case strings.HasPrefix(r.URL.Path, "/boot.0000000000."):
				w.Header().Set("Content-Type", "text/javascript")
				w.Write([]byte(olderBoot))
			default:
				return false
			}
			return true
		},
		// The new page is there before its scripts.
		"new page": func(w http.ResponseWriter, r *http.Request, visit int) bool {
			if !strings.HasPrefix(r.URL.Path, "/boot.") || visit > 2 {
				return false
			}
			http.NotFound(w, r)
			return true
		},
		// The new page and its scripts are there before the program.
		"new scripts": func(w http.ResponseWriter, r *http.Request, visit int) bool {
			if !strings.HasPrefix(r.URL.Path, "/lesson.") || visit > 2 {
				return false
			}
			http.NotFound(w, r)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			visits := map[string]int{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				visits[r.URL.Path]++
				visit := visits[r.URL.Path]
				mu.Unlock()
				if !host(w, r, visit) {
					files.ServeHTTP(w, r)
				}
			}))
			t.Cleanup(server.Close)
			tab := opened(t, view{})
			tab.navigate(server.URL + "/#v=1&batch=64")
			tab.until(`document.body?.dataset.ready === ""`)
			if got := tab.text(scrub); got != "64 images" {
				t.Errorf("the sentence says %s", got)
			}
		})
	}
	// Where the files never come, the page is not loaded for ever.
	var loads atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
			loads.Add(1)
			w.Write(page)
		case strings.HasPrefix(r.URL.Path, "/boot."):
			w.Header().Set("Content-Type", "text/javascript")
			w.Write([]byte("throw new Error('not for this browser')"))
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	tab := opened(t, view{})
	tab.navigate(server.URL + "/")
	tab.until(`performance.getEntriesByType("navigation")[0].type === "reload" && performance.now() > 6000`)
	if n := loads.Load(); n > 4 { // each page asks for itself once before it is loaded again
		t.Errorf("the page was asked for %d times", n)
	}
}
