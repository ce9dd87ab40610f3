package ui

import (
	"math"
	"strconv"
	"time"

	"vrametre/web/view"
)

const (
	// A drag of this many pixels goes through a scrub with few steps.
	dragWidth = 240
	// No step needs less of a drag, nor more.
	leastStep, mostStep = 4, 40
	// Scrubs with more steps than fit double every so many pixels instead.
	doubling = 72
)

// Drag is the number a scrub has after the pointer has moved dx pixels from
// where it held from.
func Drag(s view.Scrub, from int64, dx float64) int64 {
	steps := float64(s.Max-s.Min) / float64(s.Step)
	if steps*leastStep > 2*dragWidth {
		return s.Clamp(int64(math.Round(min(float64(s.Max), float64(from)*math.Exp2(dx/doubling)))))
	}
	perStep := min(mostStep, max(leastStep, dragWidth/steps))
	dx = min(dx, mostStep*steps) // farther than any bound
	return s.Clamp(from + int64(math.Round(max(dx, -mostStep*steps)/perStep))*s.Step)
}

// typingPause ends a number typed digit by digit.
const typingPause = time.Second

// Typing is a number being typed on a scrub.
type Typing struct {
	digits string
	at     time.Time
}

// Key is the number that a key gives a scrub whose number is n. Arrows step,
// the Page keys make larger steps, Home and End go to the bounds, digits are
// typed. False: the key means nothing here.
func (t *Typing) Key(s view.Scrub, n int64, key string, at time.Time) (int64, bool) {
	typed := t.digits
	if at.Sub(t.at) > typingPause {
		typed = ""
	}
	t.digits = ""
	switch key {
	case "ArrowRight", "ArrowUp":
		return s.Clamp(n + s.Step), true
	case "ArrowLeft", "ArrowDown":
		return s.Clamp(n - s.Step), true
	case "PageUp":
		return s.Clamp(n + s.Page), true
	case "PageDown":
		return s.Clamp(n - s.Page), true
	case "Home":
		return s.Min, true
	case "End":
		return s.Max, true
	case "Backspace":
		if typed == "" {
			return n, false
		}
		typed = typed[:len(typed)-1]
	default:
		if len(key) != 1 || key[0] < '0' || key[0] > '9' || len(typed) >= 15 {
			return n, false
		}
		typed += key
	}
	t.digits, t.at = typed, at
	typedNumber, err := strconv.ParseInt(typed, 10, 64)
	if err != nil { // nothing left of it
		return n, true
	}
	return s.Clamp(typedNumber), true
}
