package browsertest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	cd "github.com/chromedp/chromedp"
)

// Both languages can be installed, with shortcuts that lead to pages.
func TestInstallable(t *testing.T) {
	root := serve(t, "/cours/gpu")
	for _, path := range []string{"", "en/"} {
		// Not in a browser context of its own: there nothing can be installed.
		ctx, cancel := cd.NewContext(browser)
		t.Cleanup(cancel)
		ctx, cancelTime := context.WithTimeout(ctx, 2*time.Minute)
		t.Cleanup(cancelTime)
		tab := &tab{Context: ctx, t: t}
		tab.navigate(root + path)
		tab.awake()
		tab.kept()
		found := call(tab, page.GetInstallabilityErrors, cdp.Empty{})
		for _, e := range found.InstallabilityErrors {
			t.Errorf("/%s cannot be installed: %s %v", path, e.ErrorID, e.ErrorArguments)
		}
		read := call(tab, page.GetAppManifest, page.GetAppManifestParams{})
		for _, e := range read.Errors {
			t.Errorf("/%s: %s", path, e.Message)
		}
		var manifest struct{ Shortcuts []struct{ Name, URL string } }
		if err := json.Unmarshal([]byte(read.Data), &manifest); err != nil {
			t.Fatal(err)
		}
		if len(manifest.Shortcuts) != 3 {
			t.Errorf("/%s: shortcuts %v", path, manifest.Shortcuts)
		}
		for _, shortcut := range manifest.Shortcuts {
			to := eval[string](tab, `new URL("`+shortcut.URL+`", document.querySelector("link[rel=manifest]").href).href`)
			if status := eval[int](tab, `fetch("`+to+`").then((r) => r.status)`); status != 200 || !strings.HasPrefix(to, root+path) {
				t.Errorf("%s leads to %s: %d", shortcut.Name, to, status)
			}
		}
	}
}

// A device without room keeps nothing, and the page works all the same.
func TestNoRoom(t *testing.T) {
	root := serve(t, "")
	tab := opened(t, view{})
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	before(tab, `Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };`)
	room := 200_000.0
	call(tab, storage.OverrideQuotaForOrigin, storage.OverrideQuotaForOriginParams{Origin: strings.TrimSuffix(root, "/"), QuotaSize: &room})
	tab.navigate(root + oomPage)
	tab.awake()
	tab.until(`navigator.serviceWorker.getRegistration().then((r) => !r || !r.installing && !r.waiting)`)
	if eval[bool](tab, `navigator.serviceWorker.getRegistration().then((r) => Boolean(r?.active))`) {
		t.Error("a worker is there that cannot have kept the site")
	}
	tab.put("[data-field=query]", "colab")
	tab.until(`document.querySelectorAll(".hits button").length === 1`)
	eval[any](tab, `document.querySelector(".hits button").click()`)
	eval[any](tab, `document.querySelector("[data-field=remember]").click()`)
	tab.until(`location.hash.includes("gpu=colab-free-t4")`)
	tab.navigate("about:blank")
	tab.navigate(root + "#v=1&batch=64")
	tab.awake()
	if got := tab.text(scrub); got != "64 images" {
		t.Errorf("the sentence says %s", got)
	}
	if eval[bool](tab, `document.querySelector(".banner") !== null`) {
		t.Error("the page complains")
	}
	tab.quiet(root)
	for _, message := range console() {
		t.Errorf("console: %s", message)
	}
}
