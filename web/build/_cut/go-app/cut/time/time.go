// Package time has what go-app uses of the package of that name. The real
// ticker hands its channel to the runtime in an interface, by which all of
// time's parsing and formatting stays in the program.
package time

import "time"

// Duration and Time are the real ones.
type (
	Duration = time.Duration
	Time     = time.Time
)

// Units of Duration.
const (
	Nanosecond = time.Nanosecond
	Second     = time.Second
	Hour       = time.Hour
)

// Sleep pauses the goroutine.
func Sleep(d Duration) { time.Sleep(d) }

// Ticker ticks once after it is made or reset: go-app resets it at every tick.
type Ticker struct {
	C     <-chan struct{}
	timer *time.Timer
}

// NewTicker returns a ticker that ticks after d.
func NewTicker(d Duration) *Ticker {
	ticks := make(chan struct{}, 1)
	return &Ticker{C: ticks, timer: time.AfterFunc(d, func() {
		select {
		case ticks <- struct{}{}:
		default:
		}
	})}
}

// Reset makes the ticker tick after d, and not for what was set before.
func (t *Ticker) Reset(d Duration) {
	t.timer.Stop()
	select {
	case <-t.C:
	default:
	}
	t.timer.Reset(d)
}

// Stop turns the ticker off.
func (t *Ticker) Stop() { t.timer.Stop() }
