package ui

import (
	"testing"
	"time"

	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// quietDocument is a document where nothing is shown.
type quietDocument struct{ Document }

func (quietDocument) Remembered() string { return "" }
func (quietDocument) Remembers() bool    { return true }
func (quietDocument) Kept() string       { return "" }
func (quietDocument) Frame(func())       {}

// After waits for nothing: what is to be done at once is.
func (quietDocument) After(d time.Duration, f func()) {
	if d == 0 {
		f()
	}
}
func (quietDocument) Show(view.Figures, bool) {}
func (quietDocument) Fragment(string)         {}
func (quietDocument) Failed(error)            {}

func workshop(t *testing.T, fragment string) *Page {
	t.Helper()
	p, err := NewPage(quietDocument{}, view.PageWorkshop, "fr", fragment, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func types(p *Page) string {
	out := ""
	for _, row := range p.State().Setup.List() {
		out += row.Type + " "
	}
	return out
}

// Layers are added, removed and moved, each a change that can be undone.
func TestEditRows(t *testing.T) {
	p := workshop(t, "v=1&m=layers&layers=Conv2d~3,+8,+3;ReLU;Flatten")
	for _, c := range []struct{ action, value, want string }{
		{island.ActionRowAdd, "0", "Conv2d ReLU ReLU Flatten "},
		{island.ActionRowDown, "0", "ReLU Conv2d ReLU Flatten "},
		{island.ActionRowUp, "3", "ReLU Conv2d Flatten ReLU "},
		{island.ActionRowUp, "0", "ReLU Conv2d Flatten ReLU "},
		{island.ActionRowRemove, "2", "ReLU Conv2d ReLU "},
		{island.ActionRowAdd, "end", "ReLU Conv2d ReLU ReLU "},
		{island.ActionRowRemove, "9", "ReLU Conv2d ReLU ReLU "},
	} {
		p.editRows(c.action, c.value)
		if got := types(p); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.action, c.value, got, c.want)
		}
	}
	p.undo()
	if got := types(p); got != "ReLU Conv2d ReLU " {
		t.Errorf("undone: %q", got)
	}
}

// Fields say what they hold, and take what the reader gives.
func TestWorkshopFields(t *testing.T) {
	p := workshop(t, "")
	p.editRows(island.ActionEdit, "")
	for _, c := range []struct{ name, value, want string }{
		{"setup.precision", "amp-fp16", "amp-fp16"}, {"setup.precision", "default", "default"}, {"setup.recompute", checked(true), checked(true)}, {"setup.recompute", checked(false), checked(false)},
		{"setup.accumulation", "4", "4"}, {"setup.optimizer", "adafactor", "adafactor"}, {"setup.optimizer", "sgd", "sgd"}, {"setup.input", "3, 64, 64", "3, 64, 64"},
		{"row.0.args", "3, 16, 3, padding=1", "3, 16, 3, padding=1"}, {"row.0.type", "", "Conv2d"}, {"row.1.name", "a", "a"}, {"row.2.inputs", "a", "a"},
	} {
		if !p.workshopField(c.name, c.value, false) {
			t.Errorf("%s is no field", c.name)
		}
		if got, ours := p.workshopValue(c.name); !ours || got != c.want {
			t.Errorf("%s=%s holds %q, want %q", c.name, c.value, got, c.want)
		}
	}
	if p.State().Optimizer != "sgd" || p.State().Setup.Optimizer != "" {
		t.Errorf("SGD is the lesson's: %+v", p.State())
	}
	if p.workshopField("other", "1", false) {
		t.Error("any field is taken")
	}
	p.workshopField("setup.accumulation", "9", true)
	if got, _ := p.workshopValue("setup.accumulation"); got != "4" {
		t.Errorf("half a number is taken: %s", got)
	}
}

// A question that cannot be answered is told at its layer, and the last answer stays.
func TestFaults(t *testing.T) {
	p := workshop(t, "v=1&m=layers&layers=Conv2d~3,+8,+3;ReLU;Conv2d~9,+8,+3")
	if w := p.shown.Workshop; w.Fault == "" || w.FaultRow != 2 || w.Shapes[0] == "" || w.Shapes[1] == "" || w.Shapes[2] != "" {
		t.Errorf("on opening: %+v", w)
	}
	p.workshopField("row.2.args", "8, 8, 3", true)
	p.follow()
	p.settle()
	if w := p.shown.Workshop; w.Fault != "" || w.Shapes[2] == "" {
		t.Errorf("mended: %+v", w)
	}
	peak := p.scene.Now.Peak
	p.workshopField("setup.input", "three", true)
	p.follow()
	p.settle()
	if w := p.shown.Workshop; w.Fault == "" || w.FaultRow != -1 || p.scene.Now.Peak != peak {
		t.Errorf("no shape: %+v", w)
	}
}
