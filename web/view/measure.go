package view

import "vrametre/content"

// States of Measurement.
const (
	MeasureIdle      = "idle"
	MeasureRunning   = "running"
	MeasureReached   = "reached"   // the cap, without an error
	MeasureFull      = "full"      // the browser refused more
	MeasureCancelled = "cancelled" // by the reader
	MeasureLost      = "lost"      // the card was taken away
	MeasureAbsent    = "absent"    // there is no WebGPU here, or no card
	MeasureFailed    = "failed"    // another error
)

// Measurement is what a browser could get of the card's memory by asking for it.
type Measurement struct {
	State string
	// Got is what it got, of Cap that the reader allowed, Step at a time.
	Got, Cap, Step int64
	// Detail is the browser's own word for an error.
	Detail string
}

// Bounds of what a measurement may ask for, in bytes.
const (
	MinMeasure     = 1 << 30
	MaxMeasure     = 64 << 30
	DefaultMeasure = 2 << 30
	// measureSteps is into how many pieces the cap is cut; a step is at least minStep.
	measureSteps = 8
	minStep      = 64 << 20
)

// Measure starts a measurement up to a cap, brought into bounds.
func Measure(limit int64) Measurement {
	limit = min(max(limit, MinMeasure), MaxMeasure)
	return Measurement{State: MeasureRunning, Cap: limit, Step: max(limit/measureSteps, minStep)}
}

// Text says what was measured, and what it is worth.
func (m Measurement) Text(lang content.Lang) string {
	return Text(lang, "measure."+m.State, Args{"got": m.Got, "cap": m.Cap, "detail": m.Detail})
}

// Done says whether there is a figure to compare with the catalogue's.
func (m Measurement) Done() bool {
	switch m.State {
	case MeasureReached, MeasureFull, MeasureCancelled, MeasureLost, MeasureFailed:
		return m.Got > 0
	}
	return false
}
