package browsertest

import (
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// BenchmarkDrag moves the batch size one image at a time and reports, for 95 of
// 100 moves, the work of the main thread and the time from the key to the frame
// that shows its effect, with the processor as it is and four times slower.
// Work is the thread.s own time, whatever else the machine does; the frame.s is
// the clock.s, in steps of 8 ms.
func BenchmarkDrag(b *testing.B) {
	for name, rate := range map[string]float64{"unthrottled": 1, "throttled": 4} {
		b.Run(name, func(b *testing.B) {
			tab := open(b, serve(b, ""), view{})
			eval[any](tab, `(() => {
				document.querySelector(".chart").scrollIntoView({block: "center"});
				document.querySelector("`+slider+`").focus({preventScroll: true});
				self.events = [];
				self.long = [];
				new PerformanceObserver((list) => events.push(...list.getEntries().filter((e) => e.name === "keydown").map((e) => e.duration)))
					.observe({type: "event", durationThreshold: 16});
				new PerformanceObserver((list) => long.push(...list.getEntries().map((e) => e.duration))).observe({type: "longtask"});
			})()`)
			tab.until(`document.querySelectorAll(".chart > div").length === 1`)
			call(tab, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: rate})
			call(tab, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
			busy := func() float64 {
				for _, m := range call(tab, performance.GetMetrics, cdp.Empty{}).Metrics {
					if m.Name == "TaskDuration" {
						return m.Value * 1000
					}
				}
				b.Fatal("the browser does not say how busy it is")
				return 0
			}
			var work []float64
			for b.Loop() {
				was := busy()
				if err := cd.Do(tab, cd.KeyEvent(kb.ArrowRight)); err != nil {
					b.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond) // two frames and go-app's
				work = append(work, busy()-was)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(p95(work), "ms-work-p95")
			b.ReportMetric(p95(eval[[]float64](tab, `events`)), "ms-to-frame-p95")
			b.ReportMetric(float64(len(eval[[]float64](tab, `long`))), "long-tasks")
		})
	}
}

func p95(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)*95/100]
}
