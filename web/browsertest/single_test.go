package browsertest

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cd "github.com/chromedp/chromedp"
)

// The whole site in one file, opened from a folder where nothing else lies.
func TestSingleFile(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(built, "vrametre.html"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "un cours.html")
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
	address := (&url.URL{Scheme: "file", Path: name}).String()
	tab := opened(t, view{})
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	before(tab, `self.violations = []; document.addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI));`)
	tab.navigate(address + "#v=1&batch=64")
	tab.awake()
	if got := tab.text(scrub); got != "64 images" {
		t.Errorf("the sentence says %s", got)
	}
	eval[any](tab, `document.querySelector(".chart").scrollIntoView()`)
	tab.until(`document.querySelectorAll(".chart > div").length === 1`)
	tab.put(slider, "128")
	tab.until(`location.hash.includes("batch=128")`)
	if got := eval[int](tab, `vrametre.presets().then((list) => list.length)`); got < 20 {
		t.Errorf("%d presets", got)
	}
	// The calculator takes the state along.
	if err := cd.Do(tab, cd.Click(cd.CSS(`nav a[href*="atelier"]`))); err != nil {
		t.Fatal(err)
	}
	tab.until(`document.body?.dataset.page === "atelier" && document.body.dataset.ready === "" && document.querySelector("` + slider + `").value === "128"`)
	tab.put(`[data-field="setup.model"]`, "resnet50")
	tab.until(`document.querySelector('#result [data-v="params"]').textContent.replace(/\D/g, "") === "25557032"`)
	tab.until(`document.querySelector("[data-lang-switch]").href.includes("m=resnet50")`)
	eval[any](tab, `document.querySelector("[data-lang-switch]").click()`)
	tab.until(`document.documentElement.lang === "en" && document.body.dataset.ready === "" && document.querySelector('[data-field="setup.model"]').value === "resnet50"`)
	// A page that is only read hands the settings on.
	tab.navigate("about:blank")
	tab.navigate(address + "?validation#v=1&batch=64")
	tab.until(`document.body?.dataset.page === "validation" && [...document.querySelectorAll("[data-lang-switch], nav [data-state-link]")].every((a) => a.hash === "#v=1&batch=64")`)
	eval[any](tab, `document.querySelector("nav [data-state-link]").click()`)
	tab.until(`document.body?.dataset.page === "lesson" && document.body.dataset.ready === ""`)
	if got := tab.text(scrub); got != "64 images" {
		t.Errorf("the lesson says %s", got)
	}
	tab.navigate(address + "?oom")
	tab.until(`document.body?.dataset.page === "oom" && document.body.dataset.ready === ""`)
	tab.paste(pasted)
	tab.until(`document.querySelectorAll(".oom .mark").length === 5`)
	for _, violation := range eval[[]string](tab, `violations`) {
		t.Error(violation)
	}
	for _, message := range console() {
		if !strings.Contains(message, "No available adapters") {
			t.Errorf("console: %s", message)
		}
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	for _, request := range tab.requests {
		if !strings.HasPrefix(request, address) && !strings.HasPrefix(request, "data:") {
			t.Errorf("the file asks for %s", request)
		}
	}
}
