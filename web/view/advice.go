package view

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/content"
)

// AdviceRow is one change that the engine has tried.
type AdviceRow struct {
	// Change says what to change, Saves what it frees at the peak, Costs at what price.
	Change, Saves, Costs string
	// Fits says whether the step fits then; MaxBatch the largest batch that does.
	Fits, MaxBatch string
	Tone           Tone
	// Belief is what the change awakens, of Beliefs; "": none.
	Belief string
	// Idle: the change frees nothing, and Costs says why.
	Idle bool
}

// AdviceRows writes advice, what saves most first, what saves nothing last.
func AdviceRows(list []calc.Advice, lang content.Lang) []AdviceRow {
	list = slices.Clone(list)
	slices.SortStableFunc(list, calc.CompareAdvice)
	rows := make([]AdviceRow, len(list))
	for i, a := range list {
		row := AdviceRow{
			Change: ChangeText(a.Change, lang), Costs: costs(a.Costs, lang),
			Saves: Text(lang, "where.none", nil), Fits: Text(lang, "where.none", nil), MaxBatch: Text(lang, "where.none", nil),
			Tone: ToneUnknown, Idle: a.Saves <= 0, Belief: AdviceBelief(a),
		}
		if row.Idle {
			row.Costs = costs(strings.TrimPrefix(a.Costs, "saves-nothing "), lang) // the reason alone
		} else {
			row.Saves = Bytes(lang, a.Saves)
		}
		if a.Fits != nil {
			row.Fits, row.Tone = Text(lang, "advice.over", nil), ToneOver
			if *a.Fits {
				row.Fits, row.Tone = Text(lang, "advice.fits", nil), ToneFits
			}
		}
		if a.MaxBatch != nil {
			row.MaxBatch = Count(lang, *a.MaxBatch)
		}
		rows[i] = row
	}
	return rows
}

// ChangeText writes a change of calc ("batch=16,accumulation=2", pairs joined
// by " + ") in words. What has no words is shown as it is.
func ChangeText(change string, lang content.Lang) string {
	parts := strings.Split(change, " + ")
	for i, part := range parts {
		parts[i] = changeText(part, lang)
	}
	return strings.Join(parts, " + ")
}

func changeText(change string, lang content.Lang) string {
	args := Args{}
	key := "advice.change"
	// A list may hold commas; only batch and accumulation are two changes in one.
	fields := []string{change}
	if strings.HasPrefix(change, "batch=") {
		fields = strings.Split(change, ",")
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		key += "." + name
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			arg := map[string]string{"batch": "n"}[name]
			if arg == "" {
				arg = "m"
			}
			args[arg] = n
		} else if name == "input" {
			args["shape"] = strings.ReplaceAll(strings.Trim(value, "[]"), ", ", noBreakSpace+"×"+noBreakSpace)
		} else {
			key += "." + value
		}
	}
	if !Has(lang, key) {
		return change
	}
	return Text(lang, key, args)
}

// AllAdvice asks the engine for every change of a state, with the largest batch of each.
func AllAdvice(s State) ([]calc.Advice, error) {
	var list []calc.Advice
	for a, err := range calc.Advise(s.AdviceRequest(), nil) {
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// AdviceRequest is the question that calc.Advise answers piece by piece.
func (s State) AdviceRequest() calc.Request {
	r := s.Request(content.French)
	r.Want = []string{calc.WantMaxBatch}
	return r
}
