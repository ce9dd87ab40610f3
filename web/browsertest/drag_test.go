package browsertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// moves of a drag.
const moves = 100

// BenchmarkDrag moves the batch size 100 times, one image at a time, and reports,
// for 95 of 100 moves, the work of the main thread and the time from the key to
// the frame that shows its effect, with the processor as it is and four times
// slower, and how many tasks took more than 50 ms. What is in sight decides what
// is drawn. Work is the thread's own time; a machine with other work inflates it
// all the same, and lets so much time go by between two keys that the page takes
// it for a pause, whose work is then a move's. The frame's time is the clock's,
// in steps of 8 ms.
func BenchmarkDrag(b *testing.B) {
	const resnet = workshop + "#v=1&batch=32&m=resnet50"
	for _, page := range []struct{ name, path, inSight string }{
		{"lesson/chart", "", ".chart"},
		{"lesson/timeline", "", "[data-figure=timeline]"},
		{"resnet50/settings", resnet, ".settings"},
		{"resnet50/timeline", resnet, "[data-figure=timeline]"},
	} {
		for _, rate := range []float64{1, 4} {
			b.Run(fmt.Sprintf("%s/throttle=%g", page.name, rate), func(b *testing.B) { drag(b, page.path, page.inSight, rate) })
		}
	}
}

// drag moves the batch of a page with a part of it in sight.
func drag(b *testing.B, path, inSight string, rate float64) {
	tab := open(b, serve(b, "")+path, view{})
	eval[any](tab, `document.querySelector("`+inSight+`").scrollIntoView({block: "center", behavior: "instant"})`)
	if inSight == ".chart" {
		tab.until(`document.querySelectorAll(".chart > div").length === 1`)
	}
	eval[any](tab, `(() => {
		document.querySelector("`+slider+`").focus({preventScroll: true});
		self.events = [];
		self.long = [];
		new PerformanceObserver((list) => events.push(...list.getEntries().filter((e) => e.name === "keydown").map((e) => e.duration)))
			.observe({type: "event", durationThreshold: 16});
		new PerformanceObserver((list) => long.push(...list.getEntries().map((e) => e.duration))).observe({type: "longtask"});
	})()`)
	call(tab, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: rate})
	busy := tab.busy()
	move := func() {
		if err := cd.Do(tab, cd.KeyEvent(kb.ArrowRight)); err != nil {
			b.Fatal(err)
		}
		// Until its frame is painted; sooner than what follows a pause.
		eval[any](tab, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))`)
	}
	for range 20 { // the compiler warms up
		move()
	}
	eval[any](tab, `events.length = long.length = 0`)
	var work []float64
	for b.Loop() {
		for range moves {
			was := busy()
			move()
			work = append(work, busy()-was)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(p95(work), "ms-work-p95")
	b.ReportMetric(p95(eval[[]float64](tab, `events`)), "ms-to-frame-p95")
	b.ReportMetric(float64(len(eval[[]float64](tab, `long`))), "long-tasks")
}

// busy begins to count the time of the main thread, in milliseconds.
func (tab *tab) busy() func() float64 {
	call(tab, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	return func() float64 {
		for _, m := range call(tab, performance.GetMetrics, cdp.Empty{}).Metrics {
			if m.Name == "TaskDuration" {
				return m.Value * 1000
			}
		}
		tab.t.Fatal("the browser does not say how busy it is")
		return 0
	}
}

// BenchmarkPrint has the workshop's page read ResNet-50's print and estimate it,
// and reports the work of the main thread: the first time, and once the compiler
// has warmed up, for half of the times and for 95 of 100. Nothing is remembered
// between them.
func BenchmarkPrint(b *testing.B) {
	tab := open(b, serve(b, "")+workshop, view{})
	request, err := json.Marshal(map[string]any{"model": map[string]any{"torch": golden(b, "resnet/resnet50")}})
	if err != nil {
		b.Fatal(err)
	}
	busy := tab.busy()
	estimate := func() float64 {
		was := busy()
		if n := eval[int64](tab, `vrametre.estimate(`+string(request)+`).then(({ parameters }) => parameters.total)`); n != 25_557_032 {
			b.Fatalf("%d parameters", n)
		}
		return busy() - was
	}
	first := estimate()
	for range 50 {
		estimate()
	}
	var work []float64
	for b.Loop() {
		for range 50 {
			work = append(work, estimate())
		}
	}
	slices.Sort(work)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(first, "ms-first")
	b.ReportMetric(work[len(work)/2], "ms-median")
	b.ReportMetric(p95(work), "ms-p95")
}

func p95(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)*95/100]
}
