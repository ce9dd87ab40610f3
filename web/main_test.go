package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vrametre/calc"
)

// shell runs the command as a shell does.
func shell(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errs strings.Builder
	status = run(args, strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

func TestEstimateAnswersOneRequest(t *testing.T) {
	for name, request := range map[string]string{
		"on one line":          `{"batch": 32}`,
		"over several lines":   "{\n  \"batch\": 32,\n  \"model\": {\n    \"preset\": \"lesson\"\n  }\n}\n",
		"with byte order mark": "\ufeff{}",
		"with blank lines":     "\n{}\n\n",
	} {
		status, stdout, stderr := shell(request, "estimate")
		if status != 0 || stderr != "" {
			t.Errorf("%s: status %d, stderr %q", name, status, stderr)
			continue
		}
		var result calc.Result
		if err := json.Unmarshal([]byte(stdout), &result); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := result.Parameters.Total; got != 538981 {
			t.Errorf("%s: %d parameters, want 538981", name, got)
		}
		if len(result.Timeline) == 0 || len(result.Layers) == 0 || result.MaxBatch == nil {
			t.Errorf("%s: the command leaves out what the request did not name", name)
		}
	}
}

func TestEstimateRefusesOneBadRequest(t *testing.T) {
	for _, c := range []struct{ request, want string }{
		{``, "La requête est vide"},
		{`{"batc": 3}`, "batc : Champ inconnu\u202f: batc. Vouliez-vous écrire batch"},
		{`{"language": "en", "batc": 3}`, "batc: Unknown field: batc. Did you mean batch?"},
		{`{"batch": "many"}`, "batch"},
		{`{"batch": 0}`, "batch"},
		{`{"model": {"preset": "resnt50"}, "language": "en"}`, "Did you mean resnet50?"},
		{`{"language": "en", "optimizer": {"nam": "sgd"}}`, "optimizer.nam: Unknown field: optimizer.nam. Did you mean optimizer.name?"},
		{"{\n  \"batch\": 3,\n", "2:14"},
		{`nonsense`, "1:1"},
		{"{\n\"model\": {\"layers\": [\n  {\"type\": \"ReLU\"}\n]},\n", "4:4"},
		{"{\"model\": {\"layers\": [\n{\"type\": \"ReLU\"}\n{\"type\": \"ReLU\"}\n]}}", "3:1"},
		{"{\n  \"é\": 3\n  \"batch\": 4\n}", "3:3"},
		{"{\"batch\": 4,\n{\"type\": \"ReLU\"}\n}", "2:1"},
	} {
		status, stdout, stderr := shell(c.request, "estimate")
		if status != 1 || stdout != "" {
			t.Errorf("%q: status %d, stdout %q", c.request, status, stdout)
		}
		if want := strings.ReplaceAll(c.want, " : Champ", "\u202f: Champ"); !strings.Contains(stderr, want) {
			t.Errorf("%q: stderr %q, want %q", c.request, stderr, want)
		}
		if strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: stderr is not one line: %q", c.request, stderr)
		}
	}
}

func TestEstimateAnswersJSONLines(t *testing.T) {
	for _, first := range []string{`{"batch": 1`, `{oops`, `nonsense`} {
		status, stdout, _ := shell(first+"\n{\"batch\": 1}\n", "estimate")
		if lines := strings.Split(stdout, "\n"); status != 0 || len(lines) != 3 || !strings.HasPrefix(lines[0], `{"error"`) || !strings.HasPrefix(lines[1], `{"parameters"`) {
			t.Errorf("%s, then a request: status %d, %q", first, status, stdout)
		}
	}
	status, stdout, stderr := shell("{\"batch\": 1}\n\n{\"batc\": 2, \"language\": \"en\"}\n{oops\n{\"batch\": 256}\n", "estimate")
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, stderr %q", status, stderr)
	}
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d answers, want 4", len(lines))
	}
	type reply struct {
		RuleOfThumb *calc.RuleOfThumb `json:"rule_of_thumb"`
		Error       *struct{ Code, Message, At string }
	}
	replies := make([]reply, 4)
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &replies[i]); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
	}
	if replies[0].RuleOfThumb == nil || replies[3].RuleOfThumb == nil || replies[3].RuleOfThumb.Activations != 939786240 {
		t.Errorf("good lines: %s, %s", lines[0], lines[3])
	}
	if e := replies[1].Error; e == nil || e.Code != "field-unknown" || e.At != "batc" || !strings.HasPrefix(e.Message, "Unknown field") {
		t.Errorf("unknown field: %s", lines[1])
	}
	if e := replies[2].Error; e == nil || e.Code != "request-syntax" {
		t.Errorf("broken line: %s", lines[2])
	}
}

func TestPresets(t *testing.T) {
	status, stdout, _ := shell("", "presets")
	if names := strings.Fields(stdout); status != 0 || len(names) != len(calc.Presets()) || !strings.Contains(stdout, "lesson\n") {
		t.Errorf("status %d, %q", status, stdout)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		stdout bool
	}{
		{nil, 2, false},
		{[]string{"help"}, 0, true},
		{[]string{"nonsense"}, 2, false},
		{[]string{"build"}, 2, false},
		{[]string{"presets", "x"}, 2, false},
		{[]string{"estimate", "x"}, 2, false},
		{[]string{"serve", "x", "y"}, 2, false},
	} {
		status, stdout, stderr := shell("", c.args...)
		if status != c.status || (stdout != "") != c.stdout || (stderr != "") == c.stdout || !strings.HasPrefix(stdout+stderr, "usage: web") {
			t.Errorf("%v: status %d, stdout %q, stderr %q", c.args, status, stdout, stderr)
		}
	}
}

// What it writes is tested by web/site and in the browser.
func TestBuildNeedsAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := shell("", "build", filepath.Join(file, "site")); status != 1 || !strings.Contains(stderr, file) {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

func TestServeRefusesABadAddress(t *testing.T) {
	if status, _, stderr := shell("", "serve", "nowhere:nothing"); status != 1 || stderr == "" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}
