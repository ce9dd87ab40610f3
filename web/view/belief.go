package view

import (
	"strings"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/calc/oom"
)

// Beliefs are the misunderstandings that the message's page answers, each where it arises too: their ids there.
var Beliefs = []string{"small", "floor", "qlora", "frozen", "micro", "four", "vocabulary", "context", "which", "later"}

// AdviceBelief is the belief that a change of calc awakens; "": none.
func AdviceBelief(a calc.Advice) string {
	for _, c := range []struct{ change, belief string }{
		{"batch=1", "floor"}, {"optimizer=adam8bit", "qlora"}, {"frozen=", "frozen"}, {",accumulation=", "micro"},
	} {
		if a.Change == c.change || strings.HasSuffix(c.change, "=") && strings.Contains(a.Change, c.change) && !strings.Contains(a.Change, " + ") {
			return c.belief
		}
	}
	return ""
}

// VerdictBelief is the belief that a verdict awakens.
func VerdictBelief(code string) string {
	return map[string]string{oom.VerdictCardFull: "small", oom.VerdictTooBig: "four", oom.VerdictGrew: "later", oom.VerdictKVCache: "context", oom.VerdictProgram: "floor"}[code]
}

// FieldBelief is the belief that a number of a message awakens.
func FieldBelief(name string) string {
	return map[string]string{oom.Reserved: "which", oom.ReservedUnallocated: "which", oom.InUse: "which", oom.TokensNeeded: "context"}[name]
}

// TensorBelief is the belief that a tensor which a request can be awakens.
func TensorBelief(code string) string {
	if code == oom.TensorLogits {
		return "vocabulary"
	}
	return ""
}

// NoteBelief is the belief that a note of a budget awakens.
func NoteBelief(code string) string {
	if code == gpu.NoteDevices {
		return "four"
	}
	return ""
}
