package browsertest

import (
	"fmt"
	"strings"
	"testing"

	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"vrametre/web/piece"
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
	tab.clean("open")
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
	const title = "Une étape d’entraînement, opération par opération"
	state := strings.TrimPrefix(eval[string](tab, `location.hash`), "#v=1&")
	address := root + "embed/timeline/#v=1&" + state + "&theme=dark&hide=settings,result&lock=all"
	escape := func(s string) string { return strings.ReplaceAll(s, "&", "&amp;") }
	frame := func(source, more string) string {
		return `<iframe ` + source + `="` + escape(address) + `" title="` + title + `" width="100%" height="760" style="border:0" allow="clipboard-write"` + more + `></iframe>`
	}
	element := `<vrametre-figure figure="timeline" lang="fr" state="` + escape(state) + `" theme="dark" hide="settings,result" lock="all"></vrametre-figure>`
	for format, want := range map[string]string{
		"iframe":  frame("src", ` loading="lazy"`),
		"element": `<script src="` + root + `embed.js" async=""></script>` + "\n" + element,
		"rst":     ".. vrametre:: timeline\n   :lang: fr\n   :state: " + state + "\n   :theme: dark\n   :hide: settings,result\n   :lock: all",
		"jupyter": "```{vrametre} timeline\n:lang: fr\n:state: " + state + "\n:theme: dark\n:hide: settings,result\n:lock: all\n```",
		"myst":    ":::{iframe} " + address + "\n:width: 100%\n" + title + "\n:::",
		"mkdocs":  "# mkdocs.yml\nextra_javascript:\n  - " + root + "embed.js\n\n" + element,
		"moodle":  "<p>" + frame("src", "") + "</p>\n<p><a href=\"" + escape(address) + `" target="_blank" rel="noopener">` + title + "</a></p>",
		"reveal":  "<section>\n  " + frame("data-src", "") + "\n</section>",
		"link":    address,
	} {
		choose("format", format)
		if snippets[format] = eval[string](tab, code); snippets[format] != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, snippets[format], want)
		}
	}
	if len(snippets) != len(piece.Formats) {
		t.Errorf("%d formats of %d", len(snippets), len(piece.Formats))
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
