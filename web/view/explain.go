package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"vrametre/calc"
	"vrametre/calc/oom"
	"vrametre/content"
)

func product(sides []int64) int64 {
	n := int64(1)
	for _, side := range sides {
		n *= side
	}
	return n
}

// Hints are what a scene's network and batch tell about a failed request.
func Hints(r calc.Result, batch int64) oom.Hints {
	h := oom.Hints{Batch: batch}
	for _, row := range r.Layers {
		if len(row.Output) < 2 || product(row.Output) == 0 {
			continue
		}
		known := oom.Known{Name: row.Path, Shape: row.Output[1:], DType: "float32", Bytes: valueBytes}
		if kept := slices.IndexFunc(r.Saved, func(s calc.Saved) bool {
			return slices.Equal(s.Shape, row.Output) && strings.Contains(s.DType, "float")
		}); kept >= 0 { // in the precision of the training
			known.DType, known.Bytes = r.Saved[kept].DType, r.Saved[kept].Bytes/product(row.Output)
		}
		known.Bytes *= product(known.Shape)
		if slices.ContainsFunc(h.Tensors, func(k oom.Known) bool { return slices.Equal(k.Shape, known.Shape) }) {
			continue // a ReLU after its convolution: the first of a size stands for all
		}
		h.Tensors = append(h.Tensors, known)
	}
	return h
}

// FillExplanation writes the words of an explanation, which calc leaves as codes.
func FillExplanation(e *oom.Explanation, lang content.Lang) {
	title, why := VerdictText(*e, lang)
	e.Verdict.Words = title + " " + why
	for i := range e.Advice {
		a := &e.Advice[i]
		a.Words = Text(lang, "oom.advice."+a.Code, nil)
	}
	for i := range e.Warnings {
		w := &e.Warnings[i]
		w.Words = Text(lang, "oom.warning."+w.Code, nil)
	}
	for i := range e.Candidates {
		c := &e.Candidates[i]
		c.Tensor.Words = Text(lang, "oom.tensor."+c.Tensor.Code, nil)
		c.Why.Words = filled(lang, "oom.why."+c.Why.Code, numbers(c.Why.Args))
	}
}

// VerdictText is what most likely happened, in a sentence, and why.
func VerdictText(e oom.Explanation, lang content.Lang) (title, why string) {
	key := "oom.verdict." + e.Verdict.Code
	return Text(lang, key, nil), filled(lang, key+".why", numbers(e.Verdict.Args))
}

func numbers(args map[string]int64) map[string]any {
	all := map[string]any{}
	for name, n := range args {
		all[name] = n
	}
	return all
}

// Run is a piece of a message as it was pasted; Mark is the number of the mark
// that explains it, 0: none.
type Run struct {
	Text string
	Mark int
}

// Mark explains one number of a message.
type Mark struct {
	// Number is its place in the message; 0: the message does not print it, it follows from the others.
	Number     int
	Field      string
	Label, Why string
}

// Limits of what is shown of a pasted text, in bytes.
const (
	maxQuote   = 6 << 10
	quoteLines = 300 // of the message's first line before it, and of its last after it
)

// Quote shows an explanation's message as it was pasted, cut at its numbers,
// and explains each of them. text is what was explained.
func Quote(text string, e oom.Explanation, lang content.Lang) ([]Run, []Mark) {
	m := e.Message
	if m.Kind == oom.KindUnrecognised {
		return nil, nil
	}
	var marks []Mark
	fields := slices.Clone(m.Fields)
	slices.SortStableFunc(fields, func(a, b oom.Field) int { return cmp.Compare(a.Start, b.Start) })
	var runs []Run
	from, to := quoted(text, m.Start, m.End)
	at, number := from, 0
	for _, f := range fields {
		mark := Mark{Field: f.Name, Label: Text(lang, "oom.field."+f.Name, nil), Why: fieldText(f, e, lang)}
		if f.Start >= at && f.End > f.Start && f.End <= to {
			number++
			mark.Number = number
			if f.Start > at {
				runs = append(runs, Run{Text: shown(text[at:f.Start])})
			}
			runs = append(runs, Run{shown(text[f.Start:f.End]), number})
			at = f.End
		}
		marks = append(marks, mark)
	}
	if at < to {
		runs = append(runs, Run{Text: shown(text[at:to])})
	}
	// What follows from the others comes last.
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(rank(a.Number), rank(b.Number)) })
	return runs, marks
}

func rank(number int) int {
	if number == 0 {
		return 1 << 30
	}
	return number
}

// quoted widens a message's place to whole lines, within bounds.
func quoted(text string, start, end int) (from, to int) {
	from = max(0, start-quoteLines)
	if i := strings.LastIndexByte(text[from:start], '\n'); i >= 0 {
		from += i + 1
	} else if from > 0 {
		from = start
	}
	end = min(end, from+maxQuote)
	to = min(len(text), end+quoteLines)
	if i := strings.IndexByte(text[end:to], '\n'); i >= 0 {
		to = end + i
	} else if to < len(text) {
		to = end
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return from, to
}

// shown leaves out what a terminal would act on and no reader sees.
func shown(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i++
			if i < len(s) && s[i] == '[' {
				for i++; i < len(s); i++ {
					if s[i] >= '@' && s[i] <= '~' {
						i++
						break
					}
				}
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f {
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// fieldText explains one number.
func fieldText(f oom.Field, e oom.Explanation, lang content.Lang) string {
	key, args := "oom.field."+f.Name+".why", Args{"bytes": f.Bytes, "pid": strconv.FormatInt(f.PID, 10), "n": f.Bytes}
	switch f.Name {
	case oom.Requested:
		ranges := e.RequestRanges
		switch {
		case !e.Message.Segment || len(ranges) == 0 || ranges[0] == [2]int64{f.Low, f.High}:
			key += ".exact"
		case ranges[0][0] == 1:
			key += ".small"
		case len(ranges) > 1:
			key += ".large"
		default:
			key += ".segment"
			args["low"], args["high"] = ranges[0][0], ranges[0][1]
		}
	case oom.InUse, oom.OtherProcess:
		if f.Bytes > unknownMemory {
			key += ".unknown"
		}
	}
	return Text(lang, key, args)
}

// unknownMemory is more than any device has: what a driver prints for what it does not know.
const unknownMemory = 1 << 50

// CandidateText writes a candidate as the product that it is: 32 × 12 × 512 × 512 × 4 o.
func CandidateText(c oom.Candidate, lang content.Lang) string {
	n := int64(1)
	for _, side := range c.Shape {
		n *= side
	}
	product := Shape(c.Shape)
	if n > 0 && c.Bytes%n == 0 {
		product += noBreakSpace + "×" + noBreakSpace + Bytes(lang, c.Bytes/n)
	}
	return product
}
