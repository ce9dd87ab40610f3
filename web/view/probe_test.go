package view

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/content"
)

type probeCase struct {
	Name  string
	Probe Probe
	// State and Conclusion are the codes wanted; First is the first option's key.
	State, Conclusion, First string
	// Options is how many are left, -1: several cards.
	Options *int
	// Says are codes of sentences that must be among those said.
	Says []string
}

func probes(t testing.TB) []probeCase {
	t.Helper()
	data, err := os.ReadFile("testdata/probes.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []probeCase
	if err := json.Unmarshal(data, &list); err != nil || len(list) < 30 {
		t.Fatalf("%d probes, %v", len(list), err)
	}
	return list
}

func TestProbe(t *testing.T) {
	current := Default().Device.WithSystem(gpu.Windows).WithDesktop(true)
	for _, c := range probes(t) {
		for _, lang := range content.Langs {
			r := c.Probe.Read(current, lang)
			if r.State != c.State || r.Conclusion != c.Conclusion {
				t.Errorf("%s: %s, %s, want %s, %s", c.Name, r.State, r.Conclusion, c.State, c.Conclusion)
			}
			first := ""
			if len(r.Options) > 0 {
				first = r.Options[0].Key()
			}
			if c.First != "" && first != c.First || c.Options != nil && len(r.Options) != *c.Options || c.Options == nil && len(r.Options) < 2 {
				t.Errorf("%s: %d options, the first %s", c.Name, len(r.Options), first)
			}
			for _, o := range r.Options {
				if got := ParseOption(current, o.Key()); got != o.Device || o.Device.OS != gpu.Windows || !o.Device.Desktop {
					t.Errorf("%s: option %s is read as %+v, want %+v", c.Name, o.Key(), got, o.Device)
				}
			}
			for _, sentence := range append(slices.Clone(r.Sentences), r.Question) {
				if sentence == "" || strings.Contains(sentence, "probe.") || strings.ContainsAny(sentence, "{}") {
					t.Errorf("%s: %q", c.Name, sentence)
				}
			}
			for _, code := range c.Says {
				message, ok := content.Lookup(lang, "probe."+code)
				if !ok {
					t.Fatalf("%s: no text %q", c.Name, code)
				}
				start, _, _ := strings.Cut(message.Fill(false, func(string, string) string { return "{" }), "{")
				if !slices.ContainsFunc(r.Sentences, func(s string) bool { return strings.HasPrefix(s, start) }) {
					t.Errorf("%s: %s is not said in %q", c.Name, code, r.Sentences)
				}
			}
		}
	}
	r := Probe{}.Read(current, content.French)
	if r.State != "unasked" || r.Conclusion != ConclusionUnasked || len(r.Sentences) != 1 {
		t.Errorf("%+v", r)
	}
}

// There is no sentence about a browser's answer that none of the answers above gets.
func TestEveryStateIsProbed(t *testing.T) {
	said := []string{}
	for _, p := range append(probes(t), probeCase{}) {
		r := p.Probe.Read(Default().Device, content.English)
		said = append(append(said, r.Sentences...), r.Question)
	}
	for _, key := range content.Keys(content.English) {
		code, ok := strings.CutPrefix(key, "probe.")
		if !ok || code == "limits" || strings.HasPrefix(code, "limits.") || strings.HasPrefix(code, "limit.") || slices.Contains([]string{"ask", "again", "asking"}, code) {
			continue // what is asked, and the table of limits
		}
		message, _ := content.Lookup(content.English, key)
		start, _, _ := strings.Cut(message.Fill(false, func(string, string) string { return "{" }), "{")
		if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, start) }) {
			t.Errorf("no answer of a browser gets %s", key)
		}
	}
}

// A family is a set of sizes, never one: what is asked is never answered by the page.
func TestArchitectureNeverSinglesOut(t *testing.T) {
	seen := map[string]bool{}
	for _, card := range gpu.Cards() {
		key := card.WebGPUVendor + " " + card.WebGPUArchitecture
		if card.WebGPUVendor == "" || seen[key] {
			continue
		}
		seen[key] = true
		p := Probe{Asked: true, Secure: true, API: true, Adapter: &Adapter{Vendor: card.WebGPUVendor, Architecture: card.WebGPUArchitecture}}
		r := p.Read(Default().Device, content.English)
		m := gpu.ByArchitecture(card.WebGPUVendor, card.WebGPUArchitecture)
		if r.Conclusion == ConclusionFound && len(m.Cards) > 1 {
			t.Errorf("%s: %d cards, and yet %s", key, len(m.Cards), r.Question)
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d families", len(seen))
	}
}

func TestLimits(t *testing.T) {
	small, err := Compute(Default())
	if err != nil {
		t.Fatal(err)
	}
	large, err := Compute(Default().With(ScrubBatch, 1024).With(ScrubSide, 256))
	if err != nil {
		t.Fatal(err)
	}
	p := Probe{Asked: true, Adapter: &Adapter{Limits: map[string]int64{"maxBindGroups": 4, LimitBinding: 134217728, LimitBuffer: 1 << 30, "maxAnisotropy": 16}}}
	rows := p.Limits(small.Now, content.English)
	if len(rows) != 4 || rows[0].Name != LimitBuffer || rows[1].Name != LimitBinding || rows[2].Name != "maxAnisotropy" || rows[3].Value != "4" {
		t.Fatalf("%+v", rows)
	}
	if rows[0].Value != "1.00\u00a0GiB" || !strings.Contains(rows[0].Meaning, "No layer output exceeds it with your settings: the largest, layer 0 (Conv2d), is 64.0\u00a0MiB.") {
		t.Errorf("%+v", rows[0])
	}
	// 1024 images of 256 pixels: 8 GiB for the first convolution and its ReLU, 4 and 4 for the next, then 2 GiB.
	if got := p.Limits(large.Now, content.English)[0].Meaning; !strings.Contains(got, "exceed it with your settings: layer 0 (Conv2d), layer 1 (ReLU), layer 2 (MaxPool2d), layer 3 (Conv2d), ….") {
		t.Error(got)
	}
	if got := p.Limits(calc.Result{}, content.English)[0].Meaning; !strings.Contains(got, "does not tell") {
		t.Error(got)
	}
	if rows := (Probe{Asked: true}).Limits(small.Now, content.English); rows != nil {
		t.Errorf("limits without an adapter: %v", rows)
	}
}
