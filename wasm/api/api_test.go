package api

import (
	"encoding/json"
	"strings"
	"testing"

	"vrametre/calc"
)

type answer struct {
	Result *calc.Result
	Error  *struct{ Code, Message, At string }
}

func ask(t *testing.T, request string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(Estimate(request)), &a); err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	if (a.Result == nil) == (a.Error == nil) {
		t.Fatalf("%s: neither or both of result and error", request)
	}
	return a
}

func TestEstimateAnswersTheLesson(t *testing.T) {
	r := ask(t, `{}`).Result
	if r == nil || r.Parameters.Total != 538981 || r.RuleOfThumb.Activations != 117473280 || r.SavedForBackward != 214012548 {
		t.Errorf("the lesson's network: %+v", r)
	}
	var sum int64
	for _, part := range r.Parts {
		sum += part.Bytes
	}
	if sum != r.Peak.Device {
		t.Errorf("parts sum to %d, the peak is %d", sum, r.Peak.Device)
	}
}

func TestEstimateSaysWhatIsWrong(t *testing.T) {
	for _, request := range []string{
		``, `{`, `[]`, `{"bacth": 3}`, `{"batch": -1}`, `{"batch": "many"}`,
		`{"model": {"preset": "no-such-net"}}`,
		`{"model": {"layers": [{"type": "Conv2d", "in_channels": 5, "out_channels": 3, "kernel_size": 3}]}, "input": {"shape": [3, 32, 32]}}`,
	} {
		e := ask(t, request).Error
		if e == nil {
			t.Errorf("%s: a result", request)
			continue
		}
		if e.Code == "" || e.Message == "" || strings.Contains(e.Message, "error.") || strings.Contains(e.Message, "{") {
			t.Errorf("%s: %+v", request, *e)
		}
	}
	french, english := ask(t, `{"bacth": 3}`).Error, ask(t, `{"language": "en", "bacth": 3}`).Error
	if french.Code != english.Code || french.At != "bacth" {
		t.Errorf("%+v and %+v", *french, *english)
	}
	if in := ask(t, `{"language": "en", "batch": -1}`).Error; in.Message == ask(t, `{"batch": -1}`).Error.Message {
		t.Errorf("both languages say %q", in.Message)
	}
}
