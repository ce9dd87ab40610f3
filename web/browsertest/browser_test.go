package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	cd "github.com/chromedp/chromedp"

	"vrametre/web/build"
	"vrametre/web/site"
)

// built is the site under test, browser the one browser that opens it.
var (
	built   string
	browser context.Context
	axe     string
)

func TestMain(m *testing.M) {
	status, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func prepare(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "vrametre-browsertest-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	built = filepath.Join(dir, "site")
	if err := site.Build(built, site.Options{}); err != nil {
		return 1, err
	}
	root, err := build.Root()
	if err != nil {
		return 1, err
	}
	source, err := os.ReadFile(filepath.Join(root, "web", "build", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return 1, err
	}
	axe = string(source)

	options := append(cd.DefaultExecAllocatorOptions[:],
		cd.NoSandbox, // as root there is no other way
		cd.Flag("disable-quic", true),
		cd.Flag("enable-unsafe-swiftshader", true),
		// Whoever else the page calls cannot be found.
		cd.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"),
	)
	allocator, cancel := cd.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel := cd.NewContext(allocator)
	defer cancel()
	if err := cd.Do(ctx); err != nil {
		return 1, fmt.Errorf("the browser tests need Chromium (make browsers finds or installs it): %w", err)
	}
	browser = ctx
	return m.Run(), nil
}

// serve serves the built site under a prefix ("", "/cours/gpu") and returns the
// address of its root, with a slash at the end.
func serve(t testing.TB, prefix string) string {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix(prefix, site.Handler(os.DirFS(built))))
	t.Cleanup(server.Close)
	return server.URL + (&url.URL{Path: prefix + "/"}).EscapedPath()
}

// view is how a tab shows pages.
type view struct {
	width, height int64
	// media are CSS media features ("prefers-color-scheme": "dark"); print is the print medium.
	media     map[string]string
	print     bool
	noScripts bool
}

// tab is an open page, with what happened in it.
type tab struct {
	context.Context
	t testing.TB

	mu       sync.Mutex
	requests []string
	failures []string
}

// open opens an address in a tab with storage of its own, and waits until the page is awake.
func open(t testing.TB, address string, v view) *tab {
	t.Helper()
	tab := opened(t, v)
	tab.navigate(address)
	if !v.noScripts {
		tab.awake()
	}
	return tab
}

// opened is a blank tab.
func opened(t testing.TB, v view) *tab {
	t.Helper()
	return openedIn(t, browser, v)
}

// openedIn is a blank tab of a browser.
func openedIn(t testing.TB, in context.Context, v view) *tab {
	t.Helper()
	ctx, cancel := cd.NewContext(in, cd.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancelTime := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancelTime)
	tab := &tab{Context: ctx, t: t}
	if v.width == 0 {
		v.width = 1280
	}
	if v.height == 0 {
		v.height = 800
	}
	var features []*emulation.MediaFeature
	for name, value := range v.media {
		features = append(features, &emulation.MediaFeature{Name: name, Value: value})
	}
	medium := ""
	if v.print {
		medium = "print"
	}
	if err := cd.Listen(ctx, tab.note); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tab.stayed)
	call(tab, network.Enable, network.EnableParams{})
	call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.width, Height: v.height, DeviceScaleFactor: 1})
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: features})
	call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.noScripts})
	return tab
}

// note collects the requests and failures of a tab.
func (tab *tab) note(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		tab.requests = append(tab.requests, e.Request.URL)
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			tab.failures = append(tab.failures, fmt.Sprintf("%d %s", e.Response.Status, e.Response.URL))
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			tab.failures = append(tab.failures, e.ErrorText)
		}
	}
}

func (tab *tab) navigate(address string) {
	tab.t.Helper()
	if err := cd.Do(tab, cd.Navigate(address)); err != nil {
		tab.t.Fatalf("%s: %v", address, err)
	}
}

// awake waits until all islands are in place.
func (tab *tab) awake() {
	tab.t.Helper()
	if err := cd.Do(tab, cd.WaitReady(cd.CSS("body[data-ready]"))); err != nil {
		tab.t.Fatalf("the page does not wake up: %v", err)
	}
}

// follow clicks a link and waits until the page behind it is awake: until then
// the page that is left would answer for it.
func (tab *tab) follow(link string) {
	tab.t.Helper()
	eval[any](tab, "self.left = true")
	if err := cd.Do(tab, cd.Click(cd.CSS(link))); err != nil {
		tab.t.Fatal(err)
	}
	tab.until(`self.left === undefined && document.querySelector("body[data-ready]") !== null`)
}

// call sends a command of the DevTools protocol.
func call[P, R any](tab *tab, command cdp.Command[P, R], params P) R {
	tab.t.Helper()
	result, err := cd.Call(tab, command, params)
	if err != nil {
		tab.t.Fatal(err)
	}
	return result
}

// eval is the value of an expression in the page, awaited where it is a promise.
func eval[T any](tab *tab, expression string) T {
	tab.t.Helper()
	value, err := cd.Run(tab, cd.Evaluate[T](expression, cd.EvalAwaitPromise))
	if err != nil {
		tab.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// text is the text of the page as a reader sees it, its special spaces made plain.
func (tab *tab) text(selector string) string {
	tab.t.Helper()
	text, err := cd.Run(tab, cd.Text(cd.CSS(selector)))
	if err != nil {
		tab.t.Fatalf("%s: %v", selector, err)
	}
	return strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(text)
}

// stayed fails the test where a page has asked another host than the tests' own.
func (tab *tab) stayed() {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	for _, request := range tab.requests {
		u, err := url.Parse(request)
		if err != nil || u.Host != "" && !slices.Contains(own, u.Hostname()) {
			tab.t.Errorf("a page calls %s", request)
		}
	}
}

// own are the hosts of the tests, all on this machine.
var own = []string{"127.0.0.1", "localhost", "probe.test"}

// quiet fails the test where a request failed or left the site.
func (tab *tab) quiet(root string) {
	tab.t.Helper()
	tab.mu.Lock()
	defer tab.mu.Unlock()
	for _, failure := range tab.failures {
		tab.t.Errorf("request failed: %s", failure)
	}
	if len(tab.requests) == 0 {
		tab.t.Error("no requests were seen")
	}
	for _, request := range tab.requests {
		if !strings.HasPrefix(request, root) && !strings.HasPrefix(request, "data:") && !strings.HasPrefix(request, "blob:"+root) {
			tab.t.Errorf("the page calls %s", request)
		}
	}
}
