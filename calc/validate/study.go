package validate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vrametre/calc"
	"vrametre/calc/gpu"
)

// Families of measured cases.
const (
	CNN         = "cnn"
	Transformer = "transformer"
	Segmented   = "segmentation"
	BERT        = "bert"
)

// Families lists them.
var Families = []string{CNN, Transformer, Segmented, BERT}

// Reserved is what xMem's experiment measured: memory reserved by the allocator, with ContextGrowth.
const Reserved Measure = "reserved"

// Beyond is the relative error from which a case is a miss, inside its interval or not.
const Beyond = .10

// Causes of a miss: what the evidence says, never more.
const (
	// CauseWorkspace: only some batches of some networks, by more than any tensor: workspaces of cuDNN, probably.
	CauseWorkspace = "cudnn-workspace"
	// CauseHead: the same surplus at every depth of the backbone, and larger with a wider head.
	CauseHead = "head-workspace"
	// CauseCards: the same training measured on two cards differs by as much.
	CauseCards = "two-cards"
	// CauseRuns: the same training measured twice on one card differs by as much.
	CauseRuns = "two-runs"
	// CauseUnknown: nothing explains it.
	CauseUnknown = "unknown"
)

// Causes lists them.
var Causes = []string{CauseWorkspace, CauseHead, CauseCards, CauseRuns, CauseUnknown}

// Case is one measured training beside the engine's answer, whatever table it comes from. Sizes are bytes.
type Case struct {
	ID     string `json:"id"`
	Family string `json:"family"`
	// Request is the question that the engine answered.
	Request calc.Request `json:"request"`
	// GPU as the source names it; PyTorch is empty where the source names no version.
	GPU     string `json:"gpu"`
	PyTorch string `json:"pytorch,omitempty"`
	Dataset string `json:"dataset,omitempty"`
	// Inferred: the source does not record where zero_grad stands, its authors' code suggests it.
	Inferred bool    `json:"zero_grad_inferred,omitempty"`
	Measure  Measure `json:"measure"`
	Measured int64   `json:"measured_bytes"`
	Ours     int64   `json:"ours_bytes"`
	// Error is (Ours - Measured) / Measured.
	Error float64 `json:"error"`
	// AtStart and AtStartError are the same where an inferred position is taken to be the start of the iteration.
	AtStart      int64   `json:"at_start_bytes"`
	AtStartError float64 `json:"at_start_error"`
	// Low and High are the interval that a page shows for this answer.
	Low  int64 `json:"low_bytes"`
	High int64 `json:"high_bytes"`
	// Tools are the published estimators' figures, by their names in Tools.
	Tools map[string]int64 `json:"tools_bytes,omitempty"`
	// Missed: beyond the interval, or off by more than Beyond. Cause says why, as far as is known.
	Missed bool   `json:"missed"`
	Cause  string `json:"cause,omitempty"`
	Source string `json:"source"`
	URL    string `json:"url"`
}

// Within reports whether the measurement lies in the interval.
func (c Case) Within() bool { return c.Low <= c.Measured && c.Measured <= c.High }

// ToolError is a tool's relative error; false: it gave no figure.
func (c Case) ToolError(tool string) (float64, bool) {
	v, ok := c.Tools[tool]
	return relative(v, c.Measured), ok
}

func relative(got, want int64) float64 { return float64(got-want) / float64(want) }

// Kinds of verdicts.
const (
	// Capped: a second run of a measured case, limited to a given memory.
	Capped = "capped"
	// Card: the whole card.
	Card = "card"
	// Public: a report that somebody wrote.
	Public = "report"
)

// Verdict is a training that ran or ran out of memory, beside the engine's answer.
type Verdict struct {
	ID      string       `json:"id"`
	Kind    string       `json:"kind"`
	Family  string       `json:"family,omitempty"`
	Request calc.Request `json:"request"`
	GPU     string       `json:"gpu,omitempty"`
	// Limit is the memory there was, in bytes.
	Limit int64 `json:"limit_bytes"`
	// Needs is what the program takes if nothing holds it back: an answer of another question, beside Fits.
	Needs int64 `json:"reserve_bytes"`
	Ran   bool  `json:"ran"`
	Fits  bool  `json:"fits"`
	Right bool  `json:"right"`
	// Framework of a report, Claim where nobody ran it.
	Framework string `json:"framework,omitempty"`
	Claim     bool   `json:"claim,omitempty"`
	Source    string `json:"source"`
	URL       string `json:"url"`
}

// Study is all that is known of the engine's errors.
type Study struct {
	Cases    []Case    `json:"cases"`
	Verdicts []Verdict `json:"verdicts"`
	Exact    []Exact   `json:"exact"`
}

// CardContext is what the CUDA context takes of a card in a verdict on the whole card: what CUDA 11.7 and later take
// before the first tensor, in bytes.
const CardContext = 300 << 20

// Run asks the engine for every case.
func Run() (*Study, error) {
	s := &Study{}
	var err error
	if s.Exact, err = Exactly(); err != nil {
		return nil, err
	}
	if err := s.rows(); err != nil {
		return nil, err
	}
	for family, read := range map[string]func() ([]TableRow, error){Segmented: Segmentation, BERT: BertLarge} {
		if err := s.published(family, read); err != nil {
			return nil, err
		}
	}
	if err := s.reports(); err != nil {
		return nil, err
	}
	// by family, then network, then batch: neighbours are compared with the eye
	slices.SortStableFunc(s.Cases, func(a, b Case) int {
		if d := slices.Index(Families, a.Family) - slices.Index(Families, b.Family); d != 0 {
			return d
		}
		if a.Family == Segmented || a.Family == BERT {
			return 0 // the table's own order
		}
		return order(a.Request, b.Request)
	})
	slices.SortStableFunc(s.Verdicts, func(a, b Verdict) int {
		if d := strings.Compare(a.Kind, b.Kind); d != 0 || a.Kind == Public {
			return d
		}
		if d := slices.Index(Families, a.Family) - slices.Index(Families, b.Family); d != 0 {
			return d
		}
		return order(a.Request, b.Request)
	})
	return s, nil
}

func order(a, b calc.Request) int {
	if d := strings.Compare(a.Model.Preset, b.Model.Preset); d != 0 {
		return d
	}
	return int(a.Batch - b.Batch)
}

// rows adds the measured trainings, with what they say about cards and limits.
func (s *Study) rows() error {
	rows, err := Rows()
	if err != nil {
		return err
	}
	for _, r := range rows {
		o, err := Compare(r)
		if err != nil {
			return err
		}
		card := Verdict{ID: r.ID + "/card", Kind: Card, Family: r.Family(), Request: r.Request, GPU: r.GPU, Limit: r.Total, Ran: !r.OOM, Source: r.Source, URL: r.URL}
		context := int64(CardContext)
		card.Request.Device.TotalBytes, card.Request.Device.ContextBytes = &card.Limit, &context
		if err := s.judge(card); err != nil {
			return err
		}
		if r.OOM {
			continue
		}
		if r.Cap > 0 {
			s.Verdicts = append(s.Verdicts, Verdict{ID: r.ID + "/capped", Kind: Capped, Family: r.Family(), Request: r.Request, GPU: r.GPU, Limit: r.Cap,
				Needs: o.Result.Peak.Reserved + ContextGrowth, Ran: !r.CapOOM, Fits: o.CapFits, Right: o.CapFits != r.CapOOM, Source: r.Source, URL: r.URL})
		}
		c := Case{ID: r.ID, Family: r.Family(), Request: r.Request, GPU: r.GPU, PyTorch: r.PyTorch, Inferred: r.Inferred, Measure: Reserved, Measured: r.Ground,
			Ours: o.Result.Peak.Reserved + ContextGrowth, Low: o.Result.Interval.Low + ContextGrowth, High: o.Result.Interval.High + ContextGrowth,
			Tools: r.Tools, Source: r.Source, URL: r.URL}
		c.AtStart = c.Ours
		if r.Inferred && r.ZeroGradAt != "start" {
			r.Request.ZeroGradAt = "start"
			start, err := calc.Estimate(r.Request)
			if err != nil {
				return fmt.Errorf("%s: %w", r.ID, err)
			}
			c.AtStart = start.Peak.Reserved + ContextGrowth
		}
		s.add(c)
	}
	return nil
}

func (s *Study) add(c Case) {
	c.Error, c.AtStartError = relative(c.Ours, c.Measured), relative(c.AtStart, c.Measured)
	if c.Missed = !c.Within() || math.Abs(c.Error) > Beyond || math.Abs(c.AtStartError) > Beyond; c.Missed {
		c.Cause = cause(c)
	}
	s.Cases = append(s.Cases, c)
}

func (s *Study) published(family string, read func() ([]TableRow, error)) error {
	rows, err := read()
	if err != nil {
		return err
	}
	for i, r := range rows {
		got, _, interval, err := r.Compare()
		if err != nil {
			return err
		}
		s.add(Case{ID: fmt.Sprintf("%s-%d", r.Table, i+1), Family: family, Request: r.Request, GPU: r.GPU, Dataset: r.Dataset, Measure: r.Measure,
			Measured: r.Bytes, Ours: got, AtStart: got, Low: interval[0], High: interval[1], Source: r.Source, URL: r.URL})
	}
	return nil
}

func (s *Study) reports() error {
	list, err := Reports()
	if err != nil {
		return err
	}
	of := map[string]int{}
	for _, r := range list {
		of[r.ID]++
		v := Verdict{ID: fmt.Sprintf("%s-%d", r.ID, of[r.ID]), Kind: Public, Request: r.Request, Ran: r.Fits, Framework: r.Framework, Claim: r.Claim, Source: r.Source, URL: address(r.Source)}
		if card, ok := gpu.ByID(r.Request.Device.GPU); ok {
			v.GPU = card.Name
		}
		if v.Framework == "" && !v.Claim {
			v.Framework = "PyTorch"
		}
		if err := s.judge(v); err != nil {
			return err
		}
	}
	return nil
}

// judge adds a verdict with the engine's answer for its request.
func (s *Study) judge(v Verdict) error {
	result, err := calc.Estimate(v.Request)
	if err != nil {
		return fmt.Errorf("%s: %w", v.ID, err)
	}
	v.Fits, v.Needs = *result.Fits, result.Peak.Device
	if v.Limit == 0 {
		v.Limit = result.Budget.Total
	}
	v.Right = v.Fits == v.Ran
	s.Verdicts = append(s.Verdicts, v)
	return nil
}

// address of a report's source: owner/repository#number, owner/repository PR#number, or a page.
func address(source string) string {
	repository, number, ok := strings.Cut(source, "#")
	if !ok {
		return "https://" + source
	}
	if r, isPull := strings.CutSuffix(repository, " PR"); isPull {
		return "https://github.com/" + r + "/pull/" + number
	}
	return "https://github.com/" + repository + "/issues/" + number
}

func cause(c Case) string {
	preset := c.Request.Model.Preset
	switch c.Family {
	case CNN:
		switch preset {
		case "mobilenet_v2", "mnasnet1_0", "vgg19":
			return CauseWorkspace
		case "regnet_y_400mf":
			return CauseCards
		}
	case Transformer:
		if preset == "cerebras_gpt_111m" {
			return CauseRuns
		}
	case Segmented:
		if strings.HasPrefix(preset, "pspnet") {
			return CauseHead
		}
	}
	return CauseUnknown
}

// Stats sums up relative errors: their absolute values' median, 90th percentile and largest, and their signed median.
type Stats struct {
	Rows                      int
	Median, P90, Worst, Drift float64
}

// StatsOf sums up errors.
func StatsOf(errors []float64) Stats {
	signed := slices.Sorted(slices.Values(errors))
	var size []float64
	for _, e := range errors {
		size = append(size, math.Abs(e))
	}
	slices.Sort(size)
	return Stats{len(errors), Quantile(size, .5), Quantile(size, .9), Quantile(size, 1), Quantile(signed, .5)}
}

// Of lists the cases of a family.
func (s *Study) Of(family string) []Case {
	var list []Case
	for _, c := range s.Cases {
		if c.Family == family {
			list = append(list, c)
		}
	}
	return list
}

// Missed lists the cases that are misses.
func (s *Study) Missed() []Case {
	var list []Case
	for _, c := range s.Cases {
		if c.Missed {
			list = append(list, c)
		}
	}
	return list
}

// VerdictsOf lists the verdicts of a kind.
func (s *Study) VerdictsOf(kind string) []Verdict {
	var list []Verdict
	for _, v := range s.Verdicts {
		if v.Kind == kind {
			list = append(list, v)
		}
	}
	return list
}

// Unseen says for how many cases of a family the interval would have held, had it been computed without the measurements
// of their own network: a check that the interval's own rows cannot make.
func (s *Study) Unseen(family string) (held, of int) {
	ratio := func(c Case) float64 { return float64(c.Measured-ContextGrowth) / float64(c.Ours-ContextGrowth) }
	cases := s.Of(family)
	for _, c := range cases {
		low, high := 1., 1.
		for _, other := range cases {
			if other.Request.Model.Preset != c.Request.Model.Preset {
				low, high = min(low, ratio(other)), max(high, ratio(other))
			}
		}
		if r := ratio(c); low <= r && r <= high {
			held++
		}
	}
	return held, len(cases)
}

// Errors are those of a family's cases, with the positions of zero_grad recorded or inferred.
func (s *Study) Errors(family string) []float64 {
	var list []float64
	for _, c := range s.Of(family) {
		list = append(list, c.Error)
	}
	return list
}

// ErrorsAtStart are the same with inferred positions at the start of the iteration.
func (s *Study) ErrorsAtStart(family string) []float64 {
	var list []float64
	for _, c := range s.Of(family) {
		list = append(list, c.AtStartError)
	}
	return list
}

// ToolErrors are a tool's errors in a family, as published; cases without a figure are left out.
func (s *Study) ToolErrors(family, tool string) []float64 {
	var list []float64
	for _, c := range s.Of(family) {
		if e, ok := c.ToolError(tool); ok {
			list = append(list, e)
		}
	}
	return list
}
