package main

import (
	"encoding/json"
	"fmt"
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

// One model of every kind of file, with a request or without.
func TestEstimateReadsFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	onnx, err := filepath.Glob("../calc/read/onnx/testdata/*.onnx")
	if err != nil || len(onnx) == 0 {
		t.Fatalf("ONNX files: %v, %v", onnx, err)
	}
	header := `{"w": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}}`
	gguf := "GGUF\x03\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" + // version 3, one tensor, no metadata
		"\x01\x00\x00\x00\x00\x00\x00\x00w" + "\x01\x00\x00\x00" + "\x20\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" // "w", one dimension of 32, F32, offset 0
	gguf += strings.Repeat("\x00", (32-len(gguf)%32)%32+128)
	for _, c := range []struct {
		path, request string
		parameters    int64
	}{
		{"../calc/testdata/golden/resnet/resnet18.txt", "", 11689512},
		{"../calc/testdata/golden/resnet/resnet18.txt", `{"batch": 4, "num_classes": 37}`, 11195493},
		{"../calc/read/trace/testdata/lesson.json", `{"batch": 8}`, 538981},
		{file("config.json", `{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 100, "n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 2}`), "{}", 8704},
		{file("summary.txt", "Layer (type:depth-idx)                   Output Shape              Param #\nSequential                               [4, 10]                   --\n├─Linear: 1-1                            [4, 10]                   330\nTotal params: 330\n"), "", 330},
		{file("w.safetensors", string(rune(len(header)))+"\x00\x00\x00\x00\x00\x00\x00"+header+strings.Repeat("\x00", 48)), `{"mode": "infer"}`, 12},
		{file("w.gguf", gguf), `{"mode": "infer"}`, 32},
		{onnx[0], "", 0},
		{"../calc/read/pickle/testdata/state.pt", `{"mode": "infer"}`, 0},
	} {
		status, stdout, stderr := shell(c.request, "estimate", "--file", c.path)
		var result calc.Result
		if err := json.Unmarshal([]byte(stdout), &result); status != 0 || err != nil {
			t.Errorf("%s: status %d, %s, %v", c.path, status, stderr, err)
			continue
		}
		if got := result.Parameters.Total; got != c.parameters && c.parameters > 0 || got == 0 || result.MaxBatch == nil {
			t.Errorf("%s: %d parameters, want %d", c.path, got, c.parameters)
		}
	}
	// Two shards are one checkpoint.
	second := strings.Replace(header, `"w"`, `"v"`, 1)
	parts := []string{"estimate"}
	for i, h := range []string{header, second} {
		parts = append(parts, "--file", file(fmt.Sprintf("model-0000%d-of-00002.safetensors", i+1), string(rune(len(h)))+"\x00\x00\x00\x00\x00\x00\x00"+h+strings.Repeat("\x00", 48)))
	}
	for given, want := range map[int]int64{3: 12, 5: 24} {
		status, stdout, stderr := shell(`{"mode": "infer"}`, parts[:given]...)
		var result calc.Result
		if err := json.Unmarshal([]byte(stdout), &result); status != 0 || err != nil || result.Parameters.Total != want || strings.Contains(stdout, "shards-missing") != (given == 3) {
			t.Errorf("%v: status %d, %d parameters, %s", parts[:given], status, result.Parameters.Total, stderr)
		}
	}
	for _, c := range []struct{ path, request, want string }{
		{filepath.Join(dir, "nowhere"), "{}", "nowhere"},
		{dir, "{}", dir},
		{file("empty", ""), "{}", "vide"},
		{file("photo", "\x89PNG\x00\x00"), `{"language": "en"}`, "photo is not a file that is read here"},
		{file("net.txt", "Net(\n  (a): Linear(in_features=3"), `{"language": "en"}`, "model.torch:2"},
		{file("ok.txt", "Sequential(\n  (0): ReLU()\n)"), `{"model": {"preset": "lesson"}}`, "model"},
		{file("ok.txt", "Sequential(\n  (0): ReLU()\n)"), `{"batc": 1}`, "batc"},
	} {
		status, stdout, stderr := shell(c.request, "estimate", "--file", c.path)
		if status != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", c.path, status, stdout, stderr, c.want)
		}
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

// A message is explained for the network of a request, or of a file.
func TestExplainForANetwork(t *testing.T) {
	const message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 3.81 GiB of which 250.64 MiB is free."
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	batch := file("request.json", `{"batch": 512}`)
	input := file("input.json", `{"batch": 512, "input": {"shape": [3, 64, 64]}}`)
	model := file("model.txt", "Sequential(\n  (first): Conv2d(3, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n  (1): ReLU()\n)\n")
	for _, c := range []struct {
		args  []string
		name  string
		shape string
	}{
		{[]string{"-request", batch}, "2", "[512 32 64 64]"},
		{[]string{"-request", input, "-file", model}, "first", "[512 32 64 64]"},
	} {
		status, stdout, stderr := shell(message, append([]string{"explain"}, c.args...)...)
		var answer struct {
			Candidates []struct {
				Name  string
				Shape []int64
			}
		}
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil || status != 0 || len(answer.Candidates) == 0 {
			t.Errorf("%v: status %d, %v, %s", c.args, status, err, stderr)
			continue
		}
		if first := answer.Candidates[0]; first.Name != c.name || fmt.Sprint(first.Shape) != c.shape {
			t.Errorf("%v: %+v", c.args, first)
		}
	}
	for _, args := range [][]string{{"-request", filepath.Join(dir, "none.json")}, {"-file", dir}, {"-request", model}, {"-request", batch, "-file", model, "-file", model}} {
		if status, stdout, stderr := shell(message, append([]string{"explain"}, args...)...); status == 0 || stdout != "" || stderr == "" {
			t.Errorf("%v: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}
