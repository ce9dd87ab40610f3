package oom

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// messages.json: one message of each form, as people posted them, with the
// place it is from and every number it holds.
type item struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Source string `json:"source"`
	Want   struct {
		Framework string           `json:"framework"`
		Device    string           `json:"device"`
		Kind      string           `json:"kind"`
		GPU       int64            `json:"gpu"`
		Fields    map[string]int64 `json:"fields"`
		Tensor    *struct {
			Shape []int64 `json:"shape"`
			DType string  `json:"dtype"`
			Bytes int64   `json:"bytes"`
		} `json:"tensor"`
	} `json:"want"`
}

func items(t testing.TB) []item {
	t.Helper()
	data, err := os.ReadFile("testdata/messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []item
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 36 {
		t.Fatalf("%d messages", len(list))
	}
	return list
}

func verify(t *testing.T, label string, it item, m Message) {
	t.Helper()
	w := it.Want
	if m.Framework != w.Framework || m.Device != w.Device || m.Kind != w.Kind || m.GPU != w.GPU {
		t.Errorf("%s %s: %s %s %s gpu %d, want %s %s %s gpu %d", it.ID, label, m.Framework, m.Device, m.Kind, m.GPU, w.Framework, w.Device, w.Kind, w.GPU)
	}
	if len(m.Fields) != len(w.Fields) {
		t.Errorf("%s %s: fields %v, want %v", it.ID, label, m.Fields, w.Fields)
	}
	for name, want := range w.Fields {
		// A printed decimal may be one byte off when two ways of rounding meet.
		if got, ok := m.Get(name); !ok || got.Bytes < want-1 || got.Bytes > want+1 {
			t.Errorf("%s %s: %s is %d (%v), want %d", it.ID, label, name, got.Bytes, ok, want)
		}
	}
	if w.Tensor != nil {
		if m.Tensor == nil || m.Tensor.DType != w.Tensor.DType || m.Tensor.Bytes != w.Tensor.Bytes || len(m.Tensor.Shape) != len(w.Tensor.Shape) {
			t.Errorf("%s %s: tensor %+v, want %+v", it.ID, label, m.Tensor, w.Tensor)
		}
	} else if m.Tensor != nil {
		t.Errorf("%s %s: tensor %+v from nowhere", it.ID, label, m.Tensor)
	}
}

func TestMessages(t *testing.T) {
	for _, it := range items(t) {
		m := Parse(it.Text)
		verify(t, "plain", it, m)
		for _, f := range m.Fields {
			if f.Low > f.Bytes || f.Bytes > f.High {
				t.Errorf("%s: %s is %+v", it.ID, f.Name, f.Size)
			}
			if f.End > f.Start { // not implied by others
				if text := it.Text[f.Start:f.End]; text[0] < '0' || text[0] > '9' {
					t.Errorf("%s: %s is said to be %q", it.ID, f.Name, text)
				}
			}
		}
	}
}

// However a message is quoted, coloured, wrapped or buried, it reads the same.
func TestMessagesInDisguise(t *testing.T) {
	noise := strings.Repeat("2024-05-01 12:00:00 INFO step done, memory 3.2 GB, alloc ok, loss=0.123\n", 300)
	trace := "Traceback (most recent call last):\n  File \"train.py\", line 12, in <module>\n    main()\n  File \"/usr/lib/python3/dist-packages/torch/nn/modules/module.py\", line 1130, in _call_impl\n    return forward_call(*input, **kwargs)\n"
	for name, wrap := range map[string]func(string) string{
		"traceback": func(s string) string { return trace + s + "\n" },
		"log":       func(s string) string { return noise + s + "\n" + noise },
		"ansi":      func(s string) string { return "\x1b[0;31m" + strings.ReplaceAll(s, " ", " \x1b[1m\x1b[0m") + "\x1b[0m" },
		"wrapped": func(s string) string {
			var b strings.Builder
			for i, w := range strings.Split(s, " ") {
				if i > 0 {
					b.WriteString(map[bool]string{true: "\n", false: " "}[i%4 == 0])
				}
				b.WriteString(w)
			}
			return b.String()
		},
		"crlf":   func(s string) string { return strings.ReplaceAll(s, " ", "\r\n") },
		"quoted": func(s string) string { return "> " + strings.ReplaceAll(s, ". ", ".\n> ") },
		"frame":  func(s string) string { return "│ " + strings.ReplaceAll(s, ". ", ". │\n│ ") + " │" },
		"nbsp":   func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") },
		"string": func(s string) string { return `"` + strings.ReplaceAll(s, `\`, `\\`) + `\n",` },
		"upper":  strings.ToUpper,
		"wide":   func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") },
		"code":   func(s string) string { return "```\n" + s + "\n```" },
	} {
		for _, it := range items(t) {
			verify(t, name, it, Parse(wrap(it.Text)))
		}
	}
}

// A number is read right, or not at all.
func TestNumbersInDisguise(t *testing.T) {
	message := func(total, free string) string {
		return "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of " + total + " of which " + free + " is free. Of the allocated memory 3.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated."
	}
	for _, c := range []struct {
		printed string
		bytes   int64 // 0: not told
	}{
		{"1,22 GiB", 1309965025},
		{"1,5 GiB", 3 << 29},
		{"16,270.50 MiB", 16270<<20 + 1<<19},
		{"1,016,270 MiB", 1016270 << 20},
		{"1,22.5 GiB", 0},
		{"1,2222 GiB", 0},
		{"1,22,333 GiB", 0},
		{"1,,22 GiB", 0},
		{"6\n5.12 MiB", 0},
		{"65\n.12 MiB", 0},
		{"65.\n12 MiB", 0},
		{"65.1\n2 MiB", 0},
		{"65.12\nMiB", 68283269},
		{"99999999999999999999 GiB", 0},
		{"-1 GiB", 0},
		{"1e3 GiB", 0},
		{"MiB", 0},
	} {
		for name, text := range map[string]string{Total: message(c.printed, "1.00 GiB"), Free: message("8.00 GiB", c.printed)} {
			m := Parse(text)
			if got, ok := m.Get(name); ok != (c.bytes > 0) || got.Bytes != c.bytes {
				t.Errorf("%s %q: %d (%v), want %d", name, c.printed, got.Bytes, ok, c.bytes)
			}
			if len(m.Fields) < 5 {
				t.Errorf("%s %q: the other numbers are lost: %v", name, c.printed, m.Fields)
			}
		}
	}
}
