package view

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"vrametre/calc/oom"
	"vrametre/content"
)

type message struct{ ID, Text string }

// messages are the public messages that the engine is tested with.
func messages(t testing.TB) []message {
	t.Helper()
	data, err := os.ReadFile("../../calc/oom/testdata/messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []message
	if err := json.Unmarshal(data, &list); err != nil || len(list) < 30 {
		t.Fatalf("%d messages, %v", len(list), err)
	}
	return list
}

func TestExplanationCodesHaveTexts(t *testing.T) {
	for family, codes := range oom.Codes() {
		for _, code := range codes {
			key := "oom." + family + "." + code
			if family == "field" {
				key += ".why"
				if code == oom.Requested {
					key += ".exact"
				}
			}
			for _, lang := range content.Langs {
				if !Has(lang, key) {
					t.Errorf("%s: no text %q", lang, key)
				}
			}
			if family == "verdict" && !Has(content.French, key+".why") {
				t.Errorf("no text %q", key+".why")
			}
		}
	}
}

// hostile are pastes that no program printed.
var hostile = []string{
	"<script>alert(1)</script> CUDA out of memory. Tried to allocate <b>20.00 MiB</b> (GPU 0; 11.91 GiB total capacity; 10.20 GiB already allocated; 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)",
	"\x1b[31mRuntimeError\x1b[0m: CUDA out of memory. Tried to allocate 20.00 \x1b[1mMiB (GPU 0; 11.91 GiB total capacity;\r\n 10.20 GiB already allocated;\x00 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)",
	"CUDA out of memory. Tried to allocate 17179869184.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Process 9 has 17179869184.00 GiB memory in use.",
	"é\xff CUDA out of memory. Tried to allocate 2.00 MiB é\xff",
	strings.Repeat("x", 10000) + " CUDA out of memory. Tried to allocate 2.00 MiB. " + strings.Repeat("y", 10000),
	"CUDA out of memory. Tried to allocate 2.00 MiB. " + strings.Repeat("Process 1 has 1.00 GiB memory in use. ", 400),
}

// A request beyond any card is still named.
func TestImpossibleRequestIsNamed(t *testing.T) {
	for _, text := range []string{
		"CUDA out of memory. Tried to allocate 99999999999999999999 MiB (GPU 0; 14.76 GiB total capacity; 13.51 GiB already allocated; 11.75 MiB free; 13.85 GiB reserved in total by PyTorch)",
		"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 18446744073709551616 bytes.",
	} {
		e := oom.Explain(text, oom.Hints{})
		FillExplanation(&e, content.English)
		if words := e.Verdict.Words; !strings.Contains(words, "8,388,608\u00a0TiB") {
			t.Errorf("%s: %s", text, words)
		}
	}
}

// The marks are the numbers, in their order, and the rest is the text itself.
func TestQuote(t *testing.T) {
	texts := hostile
	for _, m := range messages(t) {
		texts = append(texts, m.Text, "Traceback (most recent call last):\n  File \"train.py\"\n"+m.Text+"\nmore")
	}
	for _, text := range texts {
		e := oom.Explain(text, oom.Hints{})
		for _, lang := range content.Langs {
			runs, marks := Quote(text, e, lang)
			whole, number := "", 0
			for _, r := range runs {
				whole += r.Text
				if r.Mark != 0 {
					number++
					if r.Mark != number {
						t.Errorf("%.60q: mark %d after %d", text, r.Mark, number-1)
					}
				}
			}
			if !strings.Contains(shown(text), whole) || len(runs) == 0 || len(whole) > maxQuote+3*quoteLines {
				t.Errorf("%.60q: the quote is %q", text, whole)
			}
			if !utf8.ValidString(whole) || strings.ContainsAny(whole, "\x1b\x00\r") {
				t.Errorf("%.60q: the quote %q", text, whole)
			}
			for i, m := range marks {
				if i < number && m.Number != i+1 || i >= number && m.Number != 0 {
					t.Errorf("%.60q: explanation %d is for mark %d", text, i, m.Number)
				}
				for _, words := range []string{m.Label, m.Why} {
					if words == "" || strings.HasPrefix(words, "oom.") || strings.ContainsAny(words, "{}") {
						t.Errorf("%.60q: %s is explained by %q", text, m.Field, words)
					}
				}
			}
		}
	}
	if runs, marks := Quote("hello", oom.Explain("hello", oom.Hints{}), content.French); runs != nil || marks != nil {
		t.Errorf("nothing is quoted as %v, %v", runs, marks)
	}
}

func TestQuoteMarksTheNumbers(t *testing.T) {
	const text = "RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 15.90 GiB total capacity; 14.75 GiB already allocated; 225.81 MiB free; 14.81 GiB reserved in total by PyTorch)"
	runs, marks := Quote(text, oom.Explain(text, oom.Hints{}), content.English)
	var numbers []string
	for _, r := range runs {
		if r.Mark > 0 {
			numbers = append(numbers, r.Text)
		}
	}
	if got := strings.Join(numbers, "|"); got != "384.00 MiB|15.90 GiB|14.75 GiB|225.81 MiB|14.81 GiB" {
		t.Errorf("marked %s", got)
	}
	if len(marks) != 6 || marks[0].Why != "PyTorch takes whole segments: the request itself is between 400,556,033\u00a0bytes and 402,653,184\u00a0bytes." || marks[5].Field != oom.ReservedUnallocated {
		t.Errorf("%+v", marks)
	}
}

func TestFillExplanation(t *testing.T) {
	for _, m := range messages(t) {
		for _, lang := range content.Langs {
			e := oom.Explain(m.Text, oom.Hints{})
			FillExplanation(&e, lang)
			texts := []oom.Text{e.Verdict}
			texts = append(append(texts, e.Advice...), e.Warnings...)
			for _, c := range e.Candidates {
				texts = append(texts, c.Tensor, c.Why)
				if got := CandidateText(c, lang); got == "" {
					t.Errorf("%s: no product", m.ID)
				}
			}
			for _, text := range texts {
				if text.Words == "" || strings.HasPrefix(text.Words, "oom.") || strings.ContainsAny(text.Words, "{}") {
					t.Errorf("%s: %s says %q", m.ID, text.Code, text.Words)
				}
			}
		}
	}
}

// The lesson’s own message is read with the lesson’s own network: its request is the output of the first pooling or of the third convolution.
func TestHintsNameTheLayer(t *testing.T) {
	scene, err := Compute(Default().With(ScrubBatch, 512))
	if err != nil {
		t.Fatal(err)
	}
	e := oom.Explain("CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 3.81 GiB of which 250.64 MiB is free.", Hints(scene.Now, 512))
	if len(e.Candidates) == 0 || e.Candidates[0].Tensor.Code != oom.TensorModel || e.Candidates[0].Sure != oom.Likely || e.Candidates[0].Name != "2" || e.Candidates[1].Sure != oom.Likely {
		t.Errorf("%+v", e.Candidates)
	}
}
