package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	cd "github.com/chromedp/chromedp"

	"vrametre/web/build"
	"vrametre/web/piece"
	"vrametre/web/site"
	figures "vrametre/web/view"
)

// host serves a page of another site, whose body may name the site's root as
// ROOT, and returns its address. The page collects the events of its figures.
func host(t *testing.T, root, body string) string {
	t.Helper()
	page := `<!doctype html><html lang="fr"><meta charset="utf-8"><title>Cours</title><link rel="icon" href="data:,"><body>` + strings.ReplaceAll(body, "ROOT", root) + `
<script nonce="host">window.heard = []; addEventListener("message", ({data}) => data?.app === "vrametre" && !document.querySelector("vrametre-figure") && heard.push({...data, on: ""})); for (const type of ["ready", "height", "state", "answer"]) addEventListener(type, (e) => heard.push({type, on: e.target.id, ...e.detail}));</script>
<script src="` + root + `embed.js"></script>`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/stranger" { // says what it is told to, and that it has
			fmt.Fprint(w, `<script>addEventListener("message", ({data: {to, message}}) => { (to === "host" ? parent : parent.document.querySelector("#one iframe").contentWindow).postMessage(message, "*"); parent.postMessage("said", "*"); })</script>`)
			return
		}
		// A strict host: no style of its own, no script but its own and ours.
		origin := root[:strings.Index(root[len("http://"):], "/")+len("http://")]
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src data:; script-src 'nonce-host' "+origin+"; frame-src 'self' "+origin)
		fmt.Fprint(w, page)
	}))
	t.Cleanup(server.Close)
	// Not 127.0.0.1: another site, not only another port of the same one.
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/"
}

// heard waits for an event of a figure that the host has received.
func (tab *tab) heard(condition string) {
	tab.t.Helper()
	tab.until(`heard.some((e) => ` + condition + `)`)
}

// framesOf are the figures in a page of another site, by name: Chromium gives
// each a process, hence a target.
func framesOf(from *tab, root string) map[string]*tab {
	from.t.Helper()
	targets, err := cd.Targets(from)
	if err != nil {
		from.t.Fatal(err)
	}
	frames := map[string]*tab{}
	for _, target := range targets {
		if target.Type != "iframe" || !strings.HasPrefix(target.URL, root) {
			continue
		}
		ctx, cancel := cd.NewContext(from, cd.WithTargetID(target.TargetID))
		from.t.Cleanup(cancel)
		u, err := url.Parse(target.URL)
		if err != nil {
			from.t.Fatal(err)
		}
		frames[path.Base(u.Path)] = &tab{Context: ctx, t: from.t}
	}
	return frames
}

// Each part fits its frame: no scroll bar at the height that it tells, at any width.
func TestPartsFitTheirFrames(t *testing.T) {
	root := serve(t, "")
	for _, width := range []int64{320, 720} {
		tab := opened(t, view{width: width, height: 600})
		for _, p := range piece.All {
			if p.Kind == piece.Quiz && p.Part != "predict.weights" && p.Part != "recall.message" {
				continue
			}
			tab.navigate(root + "embed/" + p.Name + "/#v=1")
			tab.awake()
			if over := eval[[]float64](tab, `(() => { const e = document.documentElement; return [e.scrollWidth - e.clientWidth, e.scrollHeight - Math.max(innerHeight, Math.ceil(e.getBoundingClientRect().height))]; })()`); over[0] > 0 || over[1] > 0 {
				t.Errorf("%s at %d pixels: %v pixels over its frame", p.Name, width, over)
			}
			if height := eval[float64](tab, `document.documentElement.getBoundingClientRect().height`); width == 720 && (height > float64(p.Height) || height < .75*float64(p.Height)) {
				t.Errorf("%s is %v high, %d are said", p.Name, height, p.Height)
			}
			for _, violation := range violations(tab) {
				t.Errorf("%s: %s", p.Name, violation)
			}
			if width == 320 && p.Kind != piece.Quiz { // what a question tells comes after the choice
				tab.conceals(p)
			}
		}
		tab.quiet(root)
	}
}

// told are the texts and labels of a part that say a size or the largest batch,
// outside of its settings.
const told = `(most) => {
	const size = /\d[\d\s.,]*\s([kMGT]i?)?(o|B|octets?|bytes?)(?![\p{L}])/u;
	const found = [];
	const look = (element, text) => {
		if (!element.closest("[data-island=settings],[data-island=training],[data-island=model],#card,pre,.ask,.choice,figcaption,legend,h1") && (size.test(text) || text.includes(most))) found.push(text.trim());
	};
	const texts = document.createNodeIterator(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	for (let text; (text = texts.nextNode()); ) look(text.parentElement, text.data);
	for (const element of document.querySelectorAll("main *")) for (const { value } of element.attributes) look(element, value);
	return found;
}`

// conceals checks that a part says none of its numbers where its host hides them,
// in no text, no label and nothing that a screen reader is told, before and after
// a move of the reader's, and that it says them again afterwards.
func (tab *tab) conceals(p piece.Piece) {
	tab.t.Helper()
	scene, err := figures.Compute(figures.Default())
	if err != nil {
		tab.t.Fatal(err)
	}
	said := func() []string {
		return eval[[]string](tab, fmt.Sprintf("(%s)(%q)", told, fmt.Sprintf("%d au plus", *scene.Now.MaxBatch)))
	}
	if len(said()) == 0 {
		tab.t.Errorf("%s says no number", p.Name)
	}
	whole := eval[string](tab, `document.querySelector("main").outerHTML`)
	eval[any](tab, `location.hash = "v=1&hide=result"`)
	tab.until(`document.documentElement.dataset.hide === "result"`)
	for _, number := range said() {
		tab.t.Errorf("%s, hidden, says %q", p.Name, number)
	}
	for _, violation := range violations(tab) {
		tab.t.Errorf("%s, hidden: %s", p.Name, violation)
	}
	if slices.Contains(p.Settings, figures.ScrubBatch) {
		tab.put(slider, "48")
		tab.until(`location.hash.includes("batch=48")`)
		for _, number := range said() {
			tab.t.Errorf("%s, hidden and moved, says %q", p.Name, number)
		}
	}
	sized := regexp.MustCompile(`\d[\s\x{202f}\x{a0}]([kMG]i?)?o\b|au plus`)
	if p.Kind != piece.Puzzle && p.Kind != piece.Sections { // their questions and their card have sizes
		for _, node := range call(tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
			for _, value := range []*accessibility.Value{node.Name, node.Value, node.Description} {
				if value != nil && sized.MatchString(string(value.Value)) {
					tab.t.Errorf("%s, hidden, tells a screen reader %s", p.Name, value.Value)
				}
			}
		}
	}
	eval[any](tab, `location.hash = "v=1"`)
	tab.until(`document.documentElement.dataset.hide === "" && (!document.querySelector("` + slider + `") || document.querySelector("` + slider + `").value === "32")`)
	if !slices.Contains(p.Settings, figures.ScrubBatch) && eval[string](tab, `document.querySelector("main").outerHTML`) != whole {
		tab.t.Errorf("%s is not as it was", p.Name)
	}
	if len(said()) == 0 {
		tab.t.Errorf("%s says no number again", p.Name)
	}
}

// Two figures in a page of another site: their heights come, the state goes
// both ways, and what is locked or hidden stays so.
func TestFiguresInAnotherSite(t *testing.T) {
	root := serve(t, "/cours/gpu")
	tab := opened(t, view{height: 2400})
	address := host(t, root, `
<vrametre-figure id="one" figure="timeline" state="batch=64" hide="caption,nav" lock="side"></vrametre-figure>
<vrametre-figure id="two" figure="memory" lang="en" theme="dark" lock="all"></vrametre-figure>`)
	console, err := watch(tab)
	if err != nil {
		t.Fatal(err)
	}
	tab.navigate(address)
	tab.heard(`e.type === "ready" && e.on === "one"`)
	tab.heard(`e.type === "ready" && e.on === "two"`)

	heights := eval[[]float64](tab, `(async () => {
		await new Promise((r) => setTimeout(r, 300));
		return [...document.querySelectorAll("iframe")].flatMap((f) => [f.getBoundingClientRect().height, heard.findLast((e) => e.type === "height" && e.on === f.parentNode.id).height]);
	})()`)
	if len(heights) != 4 || heights[0] != heights[1] || heights[2] != heights[3] || heights[0] < 300 || heights[2] < 250 {
		t.Errorf("heights %v", heights)
	}
	if titles := eval[[]string](tab, `[...document.querySelectorAll("iframe")].map((f) => f.title)`); !strings.Contains(titles[1], "batch size") || !strings.HasSuffix(titles[1], "· vramètre") {
		t.Errorf("titles %q", titles)
	}

	// What the host asks and sets.
	state := eval[map[string]any](tab, `document.querySelector("#one").get()`)
	if !strings.Contains(state["state"].(string), "batch=64") || state["result"].(map[string]any)["live"].(float64) < 4e8 {
		t.Errorf("state %v", state)
	}
	eval[any](tab, `document.querySelector("#one").set({batch: 128, opt: "sgd"})`)
	tab.heard(`e.type === "state" && e.on === "one" && e.state.includes("batch=128") && e.state.includes("opt=sgd") && e.result.live > 8e8`)
	eval[any](tab, `document.querySelector("#one").set("batch=100000&side=x&nothing=1")`)
	tab.heard(`e.type === "state" && e.on === "one" && e.state.includes("batch=1024") && e.state.includes("side=128")`)
	eval[any](tab, `document.querySelector("#one").reset()`)
	tab.heard(`e.type === "state" && e.on === "one" && heard.indexOf(e) > heard.findIndex((e) => e.state?.includes("batch=1024")) && e.state.includes("batch=64")`)
	eval[any](tab, `document.querySelector("#two").setAttribute("state", "batch=256")`)
	tab.heard(`e.type === "state" && e.on === "two" && e.state.includes("batch=256")`)
	if n := eval[int](tab, `history.length`); n > 2 {
		t.Errorf("%d entries in the history of the host", n)
	}

	// Inside.
	frames := framesOf(tab, root)
	one, two := frames["timeline"], frames["memory"]
	if href := eval[string](two, `document.querySelector(".whole a").href`); !strings.HasPrefix(href, root+"en/index.html#v=1&batch=256") {
		t.Errorf("the whole page is at %s", href)
	}
	if got := eval[[]bool](one, `["range", "number"].flatMap((type) => ["batch", "side"].map((name) => document.querySelector("[data-control=" + name + "][type=" + type + "]").disabled))`); !slices.Equal(got, []bool{false, true, false, true}) {
		t.Errorf("locked: %v", got)
	}
	if shown := eval[[]string](one, `["figcaption", ".whole", ".twin", "[data-island=settings]"].filter((s) => document.querySelector(s).checkVisibility())`); !slices.Equal(shown, []string{".twin", "[data-island=settings]"}) {
		t.Errorf("shown: %v", shown)
	}
	if got := eval[int](two, `document.querySelectorAll("[data-control]:enabled").length`); got != 0 {
		t.Errorf("%d controls of a locked figure", got)
	}
	if got := eval[string](two, `getComputedStyle(document.documentElement).backgroundColor + document.documentElement.lang`); got != "rgb(23, 22, 19)en" {
		t.Errorf("theme and language: %s", got)
	}
	// The reader's own move is told, and what the frame is stays in its address.
	one.put(`[data-control=batch][type=range]`, "200")
	tab.heard(`e.type === "state" && e.on === "one" && e.state.includes("batch=200")`)
	one.until(`location.hash.includes("batch=200") && location.hash.includes("hide=caption,nav") && location.hash.includes("lock=side")`)
	// A slide of reveal.js begins, and ends: the state is told again, and the keys are the slides'.
	one.until(`(document.querySelector("[data-control=batch]").focus(), document.activeElement !== document.body)`)
	eval[any](tab, `(heard.length = 0, document.querySelector("#one iframe").contentWindow.postMessage("slide:start", "*"))`)
	tab.heard(`e.type === "height" && e.on === "one" && e.height > 300`)
	tab.heard(`e.type === "state" && e.on === "one" && e.state.includes("batch=200")`)
	eval[any](tab, `document.querySelector("#one iframe").contentWindow.postMessage("slide:stop", "*")`)
	one.until(`document.activeElement === document.body`)
	// What a host hides later, and shows again.
	eval[any](tab, `document.querySelector("#two").setAttribute("hide", "result")`)
	two.until(`document.documentElement.dataset.hide === "result"`)
	if got := eval[[]string](two, "("+told+`)("at most")`); len(got) > 0 {
		t.Errorf("hidden later, it says %q", got)
	}
	eval[any](tab, `document.querySelector("#two").removeAttribute("hide")`)
	two.until("(" + told + `)("at most").length > 3`)
	for _, message := range console() {
		t.Errorf("console of the host: %s", message)
	}
	nothingSaid(t, frames)
}

// nothingSaid fails the test where frames have complained to their console.
func nothingSaid(t *testing.T, frames map[string]*tab) {
	t.Helper()
	for name, frame := range frames {
		said, err := watch(frame)
		if err != nil {
			t.Fatal(err)
		}
		eval[int](frame, `1`)
		for _, message := range said() {
			t.Errorf("console of %s: %s", name, message)
		}
	}
}

// A question tells what was chosen, and nothing that its host has hidden.
func TestQuestionInAnotherSite(t *testing.T) {
	root := serve(t, "")
	tab := opened(t, view{height: 1600})
	tab.navigate(host(t, root, `
<vrametre-figure id="one" figure="recall-weights"></vrametre-figure>
<vrametre-figure id="two" figure="tank" hide="result" sandbox="allow-scripts"></vrametre-figure>
<vrametre-figure id="three" figure="puzzle"></vrametre-figure>
<vrametre-figure id="four" figure="nothing"><a href="ROOT">kept</a></vrametre-figure>`))
	for _, id := range []string{"one", "two", "three"} {
		tab.heard(`e.type === "ready" && e.on === "` + id + `"`)
	}
	if got := eval[string](tab, `document.querySelector("#four").textContent`); got != "kept" {
		t.Errorf("an unknown figure shows %q", got)
	}
	// An element can be asked when it has its figure, and as long as it has it.
	if got := eval[[]string](tab, `(async () => {
		const four = document.querySelector("#four"), said = (asked) => asked.then(() => "answered", (e) => e.message);
		const nothing = await said(four.get());
		four.setAttribute("lang", "EN-GB");
		four.setAttribute("figure", "slots");
		const waiting = said(four.get());
		four.setAttribute("figure", "times8");
		const other = said(four.get());
		four.remove();
		return [nothing, await waiting, await other, await said(four.set("batch=8")), four.querySelector("iframe").src];
	})()`); !slices.Equal(got, []string{
		`<vrametre-figure figure="nothing">: there is no figure to ask`, `<vrametre-figure figure="times8">: the figure is gone`, `<vrametre-figure figure="times8">: the figure is gone`, `<vrametre-figure figure="times8">: there is no figure to ask`, root + "en/embed/times8/#v=1",
	}) {
		t.Errorf("an element says %q", got)
	}
	frames := framesOf(tab, root)
	quiz := frames["recall-weights"]
	eval[any](quiz, `document.querySelector("[data-choice='3']").click()`)
	tab.heard(`e.type === "answer" && e.on === "one" && e.question === "recall.weights" && e.choice === "3" && e.right === false`)
	eval[any](quiz, `document.querySelector("[data-choice='2']").click()`)
	tab.heard(`e.type === "answer" && e.on === "one" && e.choice === "2" && e.right === true`)
	eval[any](tab, `document.querySelector("#one").reset()`)
	quiz.until(`document.querySelector(".reveal").textContent === "" && !document.querySelector("[aria-pressed=true]")`)

	puzzle := frames["puzzle"]
	eval[any](puzzle, `document.querySelector("[data-lever=batch][value='64']").click()`)
	tab.heard(`e.type === "answer" && e.on === "three" && e.right === true && e.choice.batch === "64"`)

	if got := eval[bool](tab, `(async () => "result" in await document.querySelector("#two").get())()`); got {
		t.Error("what is hidden is told")
	}
	if got := eval[[]string](frames["tank"], `[origin, ...[".tank b", ".verdict", "[data-island=settings]"].filter((s) => document.querySelector(s).checkVisibility())]`); !slices.Equal(got, []string{"null", "[data-island=settings]"}) {
		t.Errorf("in the sandbox: %v", got)
	}
	if got := eval[[]string](frames["tank"], "("+told+`)("au plus")`); len(got) > 0 {
		t.Errorf("hidden from the beginning, it says %q", got)
	}
}

// Strangers are not heard, by the figure or by the host.
func TestStrangersAreNotHeard(t *testing.T) {
	root := serve(t, "")
	tab := opened(t, view{height: 1600})
	tab.navigate(host(t, root, `
<vrametre-figure id="one" figure="slots"></vrametre-figure>
<iframe id="stranger" src="stranger"></iframe>`))
	tab.heard(`e.type === "ready" && e.on === "one"`)
	got := eval[[]any](tab, `(async () => {
		const figure = document.querySelector("#one iframe"), stranger = document.querySelector("#stranger");
		const before = heard.length, height = figure.style.height;
		// A stranger speaks to the host, and so does the host itself.
		const says = (to, message) => new Promise((resolve) => {
			addEventListener("message", ({data}) => data === "said" && resolve());
			stranger.contentWindow.postMessage({to, message}, "*");
		});
		await says("host", {app: "vrametre", v: 1, type: "height", height: 7});
		postMessage({app: "vrametre", v: 1, type: "height", height: 8}, "*");
		// A stranger speaks to the figure.
		await says("figure", {app: "vrametre", v: 1, type: "set", state: "batch=77"});
		// The host speaks another language.
		for (const key of ["__proto__", "constructor", "a&b#c"]) figure.contentWindow.postMessage({app: "vrametre", v: 1, type: "set", state: JSON.parse('{"' + key + '": {"toString": 1}}')}, "*");
		const circle = {app: "vrametre", v: 1, type: "set", state: {theme: {toString: 1}, hide: "\ud800", batch: "\udfff"}};
		circle.state.lock = circle;
		for (const message of [circle, null, 1, "slide:", {app: "other", v: 1, type: "set", state: "batch=77"}, {app: "vrametre", v: 2, type: "set", state: "batch=77"}, {app: "vrametre", v: 1, type: "explode"}]) figure.contentWindow.postMessage(message, "*");
		const { state } = await document.querySelector("#one").get();
		return [heard.length - before, height === figure.style.height, state.includes("batch=32")];
	})()`)
	if got[0].(float64) != 0 || got[1] != true || got[2] != true {
		t.Errorf("heard %v", got)
	}
}

// A figure whose page is not there is not waited for.
func TestFigureWithoutAnswer(t *testing.T) {
	files := site.Handler(os.DirFS(built))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/embed/slots/") {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	tab := opened(t, view{})
	before(tab, `{ const usual = setTimeout; self.setTimeout = (run, wait, ...more) => usual(run, Math.min(wait, 10), ...more); }`)
	tab.navigate(host(t, server.URL+"/", `<vrametre-figure figure="slots"></vrametre-figure>`))
	if got, want := eval[string](tab, `document.querySelector("vrametre-figure").get().catch((e) => e.message)`), `<vrametre-figure figure="slots">: no answer from `+server.URL+"/embed/slots/#v=1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Figures of one page share what they download.
func TestFiguresShareTheirDownload(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]int{}
	files := os.DirFS(built)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent[r.URL.Path]++
		mu.Unlock()
		if strings.Contains(r.URL.Path, ".wasm.") { // as README tells hosts to serve files named by their hash
			w = &cached{w}
		}
		site.Handler(files).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	tab := opened(t, view{height: 2400})
	tab.navigate(host(t, server.URL+"/", `<vrametre-figure id="one" figure="timeline"></vrametre-figure><vrametre-figure id="two" figure="memory"></vrametre-figure>`))
	tab.heard(`e.type === "ready" && e.on === "one"`)
	tab.heard(`e.type === "ready" && e.on === "two"`)
	mu.Lock()
	defer mu.Unlock()
	modules := 0
	for name, times := range sent {
		// The offline worker may be bringing the other programs meanwhile.
		if strings.HasPrefix(name, "/"+build.Lesson+".") && strings.HasSuffix(name, ".wasm.gz") {
			modules += times
		}
	}
	if modules != 1 {
		t.Errorf("the module is sent %d times: %v", modules, sent)
	}
}

// cached marks an answer as one that never changes.
type cached struct{ http.ResponseWriter }

func (c *cached) WriteHeader(status int) {
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	c.ResponseWriter.WriteHeader(status)
}

func (c *cached) Write(b []byte) (int, error) {
	c.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return c.ResponseWriter.Write(b)
}

// The one address of all figures leads to each.
func TestGalleryLeadsToFigures(t *testing.T) {
	root := serve(t, "/cours/gpu")
	for fragment, want := range map[string]string{
		"v=1&fig=timeline&lang=en&batch=64&hide=nav": "en/embed/timeline/#v=1&batch=64&hide=nav",
		"fig=slots": "embed/slots/#v=1",
	} {
		tab := open(t, root+"embed/#"+fragment, view{})
		if got, want := eval[string](tab, `location.href`), root+want; got != want {
			t.Errorf("%s leads to %s, want %s", fragment, got, want)
		}
	}
	tab := opened(t, view{})
	tab.navigate(root + "embed/#fig=" + url.QueryEscape("../../evil"))
	if got := eval[string](tab, `document.querySelector("h1").textContent + location.pathname`); got != "Les figures à intégrer/cours/gpu/embed/" {
		t.Errorf("a name that is none: %s", got)
	}
}

// After one visit a figure in another site's page opens without its server, and
// so does any other figure.
func TestPartsStayOffline(t *testing.T) {
	root, server := closable(t, built, "/cours/gpu")
	tab := opened(t, view{height: 1600})
	address := host(t, root, `<iframe src="ROOTembed/timeline/#v=1&batch=64&id=first"></iframe>`)
	tab.navigate(address)
	tab.heard(`e.type === "ready" && e.id === "first"`)
	framesOf(tab, root)["timeline"].kept()
	server.CloseClientConnections()
	server.Close()
	eval[any](tab, `heard.length = 0; location.reload()`) // what the page before heard does not count
	tab.until(`self.heard?.some((e) => e.type === "ready" && e.id === "first" && e.state.includes("batch=64"))`)
	eval[any](tab, `document.querySelector("iframe").src = "`+root+`en/embed/memory/#v=1&id=second"`)
	tab.heard(`e.type === "ready" && e.id === "second" && e.figure === "memory"`)
}
