package browsertest

import (
	"fmt"
	"strings"
	"testing"

	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The dialog makes the snippet of a part as it stands, by the keyboard too, and
// the snippet works.
func TestIntegrate(t *testing.T) {
	root := serve(t, "/cours")
	tab := open(t, root, view{})
	const dialog, code = "dialog.integration", `document.querySelector("#integrate-code").value`
	choose := func(name, value string) {
		eval[any](tab, fmt.Sprintf(`(() => { const c = document.querySelector("[data-choose=%s]"); if (c.type === "checkbox") c.checked = %q === "on"; else c.value = %q; c.dispatchEvent(new Event("input", {bubbles: true})); })()`, name, value, value))
	}
	if err := cd.Do(tab, cd.Focus(cd.CSS("[data-integrate=timeline]")), cd.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	if got, want := eval[string](tab, code), `<iframe src="`+root+`embed/timeline/#v=1"`; !strings.HasPrefix(got, want) {
		t.Errorf("untouched: %s", got)
	}
	for _, violation := range violations(tab) {
		t.Errorf("open: %s", violation)
	}
	if told := tab.text("#integrate-note"); !strings.Contains(told, "n’est pas en ligne") {
		t.Errorf("on this machine: %q", told)
	}
	if err := cd.Do(tab, cd.KeyEvent(kb.Escape)); err != nil {
		t.Fatal(err)
	}
	tab.until(`!document.querySelector("` + dialog + `").open && document.activeElement.dataset.integrate === "timeline"`)

	tab.put(slider, "64")
	tab.until(`location.hash.includes("batch=64")`)
	eval[any](tab, `document.querySelector("[data-integrate=timeline]").click()`)
	choose("theme", "dark")
	choose("settings", "on")
	choose("result", "on")
	choose("all", "on")
	snippets := map[string]string{}
	for format, want := range map[string]string{
		"iframe": `theme=dark&amp;hide=settings,result&amp;lock=all"`, "element": `<vrametre-figure figure="timeline" lang="fr" state="batch=64`, "rst": ".. vrametre:: timeline\n   :lang: fr\n   :state: batch=64",
		"myst": ":::{iframe} " + root + "embed/timeline/#v=1&batch=64", "mkdocs": "extra_javascript:\n  - " + root + "embed.js", "moodle": `<p><a href="` + root + `embed/timeline/`, "reveal": "<section>\n  <iframe data-src=", "link": root + "embed/timeline/#v=1&batch=64",
	} {
		choose("format", format)
		if snippets[format] = eval[string](tab, code); !strings.Contains(snippets[format], want) {
			t.Errorf("%s: %s, want %s", format, snippets[format], want)
		}
	}
	choose("format", "link")
	choose("piece", "predict-weights")
	if got := eval[string](tab, code); !strings.HasPrefix(got, root+"embed/predict-weights/#") {
		t.Errorf("another part: %s", got)
	}
	// Copied, or selected where the browser refuses.
	eval[any](tab, `document.querySelector("[data-integration=copy]").click()`)
	tab.until(`document.querySelector("` + dialog + ` .said").textContent !== ""`)
	if err := cd.Do(tab, cd.Click(cd.CSS("[data-integration=close]"))); err != nil {
		t.Fatal(err)
	}
	tab.until(`!document.querySelector("` + dialog + `").open`)
	tab.quiet(root)

	// The element of the snippet, in another site.
	guest := opened(t, view{height: 1600})
	_, element, _ := strings.Cut(snippets["element"], "\n")
	guest.navigate(host(t, root, element))
	guest.heard(`e.type === "ready" && e.state.includes("batch=64")`)

	// Every figure and the calculator have their button, in pages but not in frames.
	for page, want := range map[string]int{"": 10, "atelier/": 4, "embed/timeline/": 0} {
		tab.navigate(root + page)
		tab.awake()
		if n := eval[int](tab, `document.querySelectorAll("[data-integrate]").length`); n != want {
			t.Errorf("/%s: %d buttons, want %d", page, n, want)
		}
	}
}
