package browsertest

import (
	"bufio"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	cd "github.com/chromedp/chromedp"

	"vrametre/web/site"
)

// shipped serves the site with the headers that come with it, as the hosts that
// read them do.
func shipped(t *testing.T) string {
	t.Helper()
	file, err := os.Open(built + "/_headers")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rules := map[string]http.Header{}
	at := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, " ") {
			at = line
			rules[at] = http.Header{}
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("%q is no header", line)
		}
		rules[at].Set(name, value)
	}
	if rules["/*"].Get("Content-Security-Policy") == "" || len(rules) < 5 {
		t.Fatalf("headers: %v", rules)
	}
	files := site.Handler(os.DirFS(built))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, rule := range []string{"/*", r.URL.Path} {
			for name, values := range rules[rule] {
				w.Header()[name] = values
			}
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// addresses lists all pages of the built site.
func addresses(t testing.TB) (list []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(built), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Base(name) == "index.html" {
			list = append(list, strings.TrimPrefix(path.Dir(name)+"/", "./"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 6 {
		t.Fatalf("pages %q", list)
	}
	return list
}

// Every page works under the policy and the headers it is shipped with, says
// nothing to the console and calls nobody.
func TestPolicy(t *testing.T) {
	root := shipped(t)
	for _, page := range addresses(t) {
		if strings.HasPrefix(page, "en/embed/") {
			continue // the same elements as in French
		}
		t.Run("/"+page, func(t *testing.T) { obeysPolicy(t, root, page) })
	}
	// The policy is in force: what is inline is refused.
	tab := open(t, root, view{})
	eval[any](tab, `(() => {
		self.violations = [];
		document.addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective));
		document.body.insertAdjacentHTML("beforeend", "<p style='color: red'>x</p>");
		document.head.append(Object.assign(document.createElement("script"), {textContent: "self.inline = true"}));
		fetch("https://example.com/").catch(() => {});
	})()`)
	tab.until(`["style-src-attr", "script-src-elem", "connect-src"].every((d) => violations.includes(d)) && !("inline" in self)`)
}

// obeysPolicy wakes a page in a tab of its own, closed at its end: one of many
// open ones is no longer painted, and waits for its next frame for ever.
func obeysPolicy(t *testing.T, root, page string) {
	t.Helper()
	tab := opened(t, view{})
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	before(tab, `self.violations = []; document.addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));`)
	tab.navigate(root + page)
	if !eval[bool](tab, `document.querySelector("[data-island]") !== null`) {
		tab.quiet(root)
		return // nothing wakes there
	}
	tab.awake()
	eval[any](tab, `document.querySelectorAll("details").forEach((d) => (d.open = true))`)
	if eval[bool](tab, `document.querySelector("`+slider+`") !== null && !("embed" in document.body.dataset)`) {
		tab.put(slider, "500")
		tab.until(`location.hash.includes("batch=500")`)
	}
	eval[any](tab, `(async () => {
		for (const e of document.querySelectorAll("section, figure, [data-chart]")) {
			e.scrollIntoView();
			await new Promise(requestAnimationFrame);
		}
	})()`)
	for _, violation := range eval[[]string](tab, `violations`) {
		t.Errorf("%s", violation)
	}
	for _, message := range console() {
		if !strings.Contains(message, "No available adapters") { // what Chromium says where there is no card
			t.Errorf("console: %s", message)
		}
	}
	tab.quiet(root)
}

// The chart's tooltip is drawn, and holds to the policy.
func TestPolicyOfTooltips(t *testing.T) {
	tab := open(t, shipped(t), view{})
	eval[any](tab, `document.querySelector(".chart").scrollIntoView()`)
	tab.until(`document.querySelectorAll(".chart > div").length === 1`)
	x, y := tab.centre(".chart svg path[fill='var(--activations)']")
	if err := cd.Do(tab, cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y), cd.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+1, y)); err != nil {
		t.Fatal(err)
	}
	tab.until(`[...document.querySelectorAll(".chart svg text")].some((t) => /Activations.*\d/.test(t.textContent))`)
}
