package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	cd "github.com/chromedp/chromedp"

	"vrametre/web/build"
	"vrametre/web/site"
)

// Both languages can be installed, with shortcuts that lead to pages, and take
// texts and files of other applications.
func TestInstallable(t *testing.T) {
	root, asked := recorded(t, "/cours/gpu")
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
		// The browser has understood what is beyond an icon and a name.
		if m := read.Manifest; m == nil || m.ShareTarget == nil || len(m.Screenshots) != len(build.Screenshots) || m.LaunchHandler == nil {
			t.Errorf("/%s: read as %+v", path, m)
		} else {
			for _, s := range m.Screenshots {
				size := eval[string](tab, `fetch("`+s.Image.URL+`").then((r) => r.blob()).then(createImageBitmap).then((b) => b.width + "x" + b.height)`)
				if size != s.Image.Sizes || s.FormFactor == "" {
					t.Errorf("%s: %s, %+v", s.Image.URL, size, s)
				}
			}
		}
		var manifest struct {
			Shortcuts []struct{ Name, URL string }
			Files     []struct{ Action string } `json:"file_handlers"`
		}
		if err := json.Unmarshal([]byte(read.Data), &manifest); err != nil {
			t.Fatal(err)
		}
		if len(manifest.Shortcuts) != 3 {
			t.Errorf("/%s: shortcuts %v", path, manifest.Shortcuts)
		}
		for _, f := range manifest.Files { // which the browser reads where there are applications to install
			manifest.Shortcuts = append(manifest.Shortcuts, struct{ Name, URL string }{"a file", f.Action})
		}
		for _, shortcut := range manifest.Shortcuts {
			to := eval[string](tab, `new URL("`+shortcut.URL+`", document.querySelector("link[rel=manifest]").href).href`)
			if status := eval[int](tab, `fetch("`+to+`").then((r) => r.status)`); status != 200 || !strings.HasPrefix(to, root+path) {
				t.Errorf("%s leads to %s: %d", shortcut.Name, to, status)
			}
		}
		tab.takesShares(root + path)
	}
	for _, address := range asked() {
		if strings.Contains(address, "text=") {
			t.Errorf("a shared text is sent: %s", address)
		}
	}
}

// recorded serves the site, and tells what it was asked for.
func recorded(t *testing.T, prefix string) (root string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var addresses []string
	files := http.StripPrefix(prefix, site.Handler(os.DirFS(built)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		addresses = append(addresses, r.RequestURI)
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + prefix + "/", func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(addresses)
	}
}

// takesShares shares texts with the installed application of a language, as a
// browser does: in the address of the page that the manifest names.
func (tab *tab) takesShares(root string) {
	tab.t.Helper()
	share := func(title, text string) {
		tab.navigate(root + oomPage + "?" + url.Values{"title": {title}, "text": {text}}.Encode())
	}
	share("a message", pasted)
	tab.until(`document.querySelectorAll(".oom .mark").length === 5 && document.querySelector("[data-field=message]").value.startsWith("` + pasted[:20] + `") && location.search === ""`)
	share("only <b>words</b>", "")
	tab.until(`document.querySelector("[data-field=message]").value === "only <b>words</b>" && document.querySelectorAll(".oom .mark, .oom b").length === 0`)
	share("", "")
	tab.until(`document.body.dataset.ready === "" && location.search === "" && document.querySelector("[data-field=message]").value === ""`)
	// A model goes on to the workshop, even one that no address carries.
	share("a model", golden(tab.t, "resnet/resnet18"))
	tab.until(`document.body?.dataset.page === "atelier" && document.body.dataset.ready === "" && ` + params + ` === "11689512" && location.search === ""`)
}

// A file that the system opens with the application is read in the workshop.
func TestOpenedWithTheApplication(t *testing.T) {
	tab := opened(t, view{})
	before(tab, `Object.defineProperty(self, "launchQueue", {value: {setConsumer(take) { self.launch = take; }}});`)
	root := serve(t, "")
	tab.navigate(root + workshop)
	tab.awake()
	launch := func(file string) { eval[any](tab, `launch({files: [{getFile: async () => { `+file+` }}]})`) }
	launch(fmt.Sprintf(`return new File([%q], "net.txt")`, smallPrint))
	tab.until(params + ` === "754" && document.querySelector('` + modelText + `').value.startsWith("Net(")`)
	launch(`throw new DOMException("it has moved", "NotFoundError")`)
	tab.until(`document.querySelector("#import-trouble").textContent.includes("it has moved")`)
	launch(`return new File([new Uint8Array(9)], "song.xyz")`)
	tab.until(`document.querySelector("#import-trouble").textContent.includes("song.xyz")`)
	if got := eval[string](tab, params); got != "754" { // what was there stays
		t.Errorf("%s parameters", got)
	}
	eval[any](tab, `launch({files: []})`) // a launch without a file
	tab.quiet(root)
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
