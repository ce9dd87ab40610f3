package view

import (
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/content"
)

// State is what the reader can change on the lesson's page. It lives in the
// address's fragment and nowhere else.
type State struct {
	// Batch is the number of images per step.
	Batch int64
	// Side is the images' width and height in pixels.
	Side int64
	// Optimizer is the ID of one of Optimizers.
	Optimizer string
	// BufferPercent is what the lesson's hand calculation adds to the activations.
	BufferPercent int64
	// Device is the card.
	Device Device
	// Setup is the workshop's; its zero value is the lesson's network.
	Setup Setup
}

// Optimizer is one choice of the page.
type Optimizer struct {
	ID string
	// Values is how many numbers training keeps per weight: value, gradient, and states.
	Values  int64
	Request calc.Optimizer
}

// Optimizers are the page's choices; the first of each number of values is
// the one that number stands for.
var Optimizers = []Optimizer{
	{ID: "sgd", Values: 2, Request: calc.Optimizer{Name: "sgd"}},
	{ID: "sgd-momentum", Values: 3, Request: calc.Optimizer{Name: "sgd", Momentum: 0.9}},
	{ID: "adam", Values: 4, Request: calc.Optimizer{Name: "adam"}},
	{ID: "adamw", Values: 4, Request: calc.Optimizer{Name: "adamw"}},
}

// Cards are the catalogue ids that the lesson offers, smallest first.
var Cards = []string{"gtx-1650", "rtx-3060-laptop", "rtx-4060", "rtx-3060", "tesla-t4", "rtx-4090", "a100-80"}

// Names of what can be scrubbed: a number in a sentence, a slider, a box.
const (
	ScrubBatch   = "batch"
	ScrubSide    = "side"
	ScrubValues  = "values"
	ScrubBuffers = "buffers"
)

// Scrub bounds one number the reader can move.
type Scrub struct {
	Name           string
	Min, Max, Step int64
	// Page is the step of the Page keys.
	Page int64
}

// Scrubs lists them. The lesson's network halves its maps three times, so the
// side moves by a multiple of 8.
var Scrubs = []Scrub{
	{Name: ScrubBatch, Min: 1, Max: 1024, Step: 1, Page: 32},
	{Name: ScrubSide, Min: 32, Max: 512, Step: 16, Page: 64},
	{Name: ScrubValues, Min: 2, Max: 4, Step: 1, Page: 1},
	{Name: ScrubBuffers, Min: 30, Max: 60, Step: 1, Page: 10},
}

// ScrubNamed finds a scrub.
func ScrubNamed(name string) (Scrub, bool) {
	for _, s := range Scrubs {
		if s.Name == name {
			return s, true
		}
	}
	return Scrub{}, false
}

// Clamp brings n into the bounds, on the nearest step.
func (s Scrub) Clamp(n int64) int64 {
	if n <= s.Min {
		return s.Min
	}
	if n >= s.Max {
		return s.Max
	}
	return s.Min + divRound(n-s.Min, s.Step)*s.Step
}

// Default is the lesson's own case, on the card of its opening message.
func Default() State {
	return State{Batch: 32, Side: 128, Optimizer: "adam", BufferPercent: 36, Device: Device{GPU: Cards[0]}}
}

// PageOOM is the page that explains a message; every other starts from Default.
const PageOOM = "oom"

// Start is the state of a page whose address holds none. The message that the
// OOM page explains first is that of the lesson's network with 512 images.
func Start(page string) State {
	if page == PageOOM {
		return Default().With(ScrubBatch, 512)
	}
	return Default().On(page)
}

// On is the state as a page takes it over from another one: the workshop opens
// with the lesson's network, the message's page keeps the workshop's, and the
// other pages know no other than the lesson's.
func (s State) On(page string) State {
	switch {
	case page == PageWorkshop:
		if s.Setup.Model == "" {
			s.Setup.Model = lessonModel
		}
	case page != PageOOM, s.Setup == Setup{Model: lessonModel}:
		s.Setup = Setup{}
	}
	return s
}

// OptimizerChoice finds the state's optimizer.
func (s State) OptimizerChoice() Optimizer {
	for _, o := range Optimizers {
		if o.ID == s.Optimizer {
			return o
		}
	}
	return Optimizers[0]
}

// Value reads a scrub's number.
func (s State) Value(name string) int64 {
	switch name {
	case ScrubBatch:
		return s.Batch
	case ScrubSide:
		return s.Side
	case ScrubValues:
		return s.OptimizerChoice().Values
	case ScrubBuffers:
		return s.BufferPercent
	}
	return 0
}

// With sets a scrub's number, brought into its bounds. The number of values
// per weight is the optimizer seen as a number, so setting one sets the other.
func (s State) With(name string, n int64) State {
	scrub, ok := ScrubNamed(name)
	if !ok {
		return s
	}
	n = scrub.Clamp(n)
	switch name {
	case ScrubBatch:
		s.Batch = n
	case ScrubSide:
		s.Side = n
	case ScrubBuffers:
		s.BufferPercent = n
	case ScrubValues:
		if s.OptimizerChoice().Values == n {
			return s
		}
		for _, o := range Optimizers {
			if o.Values == n {
				s.Optimizer = o.ID
				break
			}
		}
	}
	return s
}

// WithOptimizer chooses an optimizer by its ID; an unknown one changes nothing.
func (s State) WithOptimizer(id string) State {
	for _, o := range Optimizers {
		if o.ID == id {
			s.Optimizer = id
		}
	}
	return s
}

// WithGPU chooses a card of the catalogue.
func (s State) WithGPU(id string) State {
	s.Device = s.Device.WithGPU(id)
	return s
}

// Request asks calc the question of this state, without what the reader has
// written amiss: see Ask.
func (s State) Request(lang content.Lang) calc.Request {
	r, _ := s.Ask(lang)
	return r
}

// Ask asks calc the question of this state; the error says what in the
// workshop's settings is no question.
func (s State) Ask(lang content.Lang) (calc.Request, error) {
	r := calc.Request{
		Model:     calc.Model{Preset: "lesson"},
		Input:     calc.Inputs{{Shape: []int64{3, s.Side, s.Side}}},
		Batch:     s.Batch,
		Optimizer: s.OptimizerChoice().Request,
		Device:    s.Device.Request(),
		Language:  string(lang),
	}
	if s.Setup.Model == "" {
		return r, nil
	}
	return r, s.Setup.apply(&r)
}

// fragmentVersion is raised when a key changes its meaning.
const fragmentVersion = "1"

// NoState is the fragment of a page as it comes, where one must begin as a state does.
const NoState = "v=" + fragmentVersion

// Fragment writes the state as the address's fragment, without the #.
func (s State) Fragment() string {
	return "v=" + fragmentVersion +
		"&batch=" + strconv.FormatInt(s.Batch, 10) +
		"&side=" + strconv.FormatInt(s.Side, 10) +
		"&opt=" + s.Optimizer +
		"&buffers=" + strconv.FormatInt(s.BufferPercent, 10) +
		s.Device.fragment() +
		s.Setup.fragment()
}

// ParseFragment reads a fragment, with or without its #. What it does not
// know is ignored, what is out of bounds is clamped, and a fragment of another
// version (or a mere link to a section) is the default state.
func ParseFragment(fragment string) State {
	s := Default()
	pairs := map[string]string{}
	for _, pair := range strings.Split(strings.TrimPrefix(fragment, "#"), "&") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			pairs[key] = value
		}
	}
	if pairs["v"] != fragmentVersion {
		return s
	}
	for key, name := range map[string]string{"batch": ScrubBatch, "side": ScrubSide, "buffers": ScrubBuffers} {
		if n, err := strconv.ParseInt(pairs[key], 10, 64); err == nil {
			s = s.With(name, n)
		}
	}
	s.Device = parseDevice(s.Device, pairs)
	s.Setup = parseSetup(pairs)
	return s.WithOptimizer(pairs["opt"]).possible()
}
