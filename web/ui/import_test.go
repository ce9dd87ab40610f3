package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vrametre/calc"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

const printed = "Net(\n  (a): Linear(in_features=20, out_features=30, bias=True)\n  (b): Linear(in_features=30, out_features=4, bias=True)\n)"

// What is pasted or dropped is the model; its fields change it, and a file that is none changes nothing.
func TestImportFields(t *testing.T) {
	p := workshop(t, "")
	p.readModel(printed)
	p.settle()
	if got := p.scene.Now.Parameters; got.Total != 754 || p.modelText() != printed {
		t.Errorf("pasted: %+v, %q", got, p.modelText())
	}
	for _, c := range []struct {
		name, value string
		trained     int64
	}{
		{island.FieldFreeze + "a", checked(true), 124}, {island.FieldFreeze + "a", checked(false), 754}, {island.FieldSetup + view.SetupClasses, "5", 785}, {island.FieldSetup + view.SetupClasses, "", 754},
	} {
		if !p.workshopField(c.name, c.value, false) {
			t.Errorf("%s is no field", c.name)
		}
		p.settle()
		if got := p.scene.Now.Parameters.Trainable; got != c.trained {
			t.Errorf("%s=%s: %d parameters are trained, want %d", c.name, c.value, got, c.trained)
		}
		if got, ours := p.workshopValue(c.name); !ours || got != c.value {
			t.Errorf("%s holds %q", c.name, got)
		}
	}
	before := p.State()
	p.Receive(func(done func(*view.Import, error)) { done(nil, &calc.Error{Code: "file-empty", At: "model.file"}) })
	if p.State() != before || p.shown.Workshop.Imports.Refused == "" || p.shown.Workshop.Imports.Reading {
		t.Errorf("refused: %+v", p.shown.Workshop.Imports)
	}
	var late func(*view.Import, error)
	p.Receive(func(done func(*view.Import, error)) { late = done })
	p.Receive(func(done func(*view.Import, error)) { done(view.Paste("Sequential(\n  (0): ReLU()\n)"), nil) })
	now := p.State()
	if late(nil, errors.New("late")); p.State() != now || p.shown.Workshop.Imports.Refused != "" {
		t.Errorf("an outdated file: %+v", p.shown.Workshop.Imports)
	}
	p.undo()
	if p.modelText() != printed {
		t.Errorf("undone: %q", p.modelText())
	}
	p.readModel("  \n")
	if p.State().Setup.Import != nil || p.modelText() != "" {
		t.Errorf("nothing is a model: %+v", p.State().Setup)
	}
}

// The texts of models that can be undone are bounded, but for the last.
func TestPastTextsAreBounded(t *testing.T) {
	s := NewSession(view.Start(view.PageWorkshop))
	for i := range 8 {
		state := s.State()
		state.Setup.Import = view.Paste(strings.Repeat(" ", pastBytes/4))
		s.Change(strings.Repeat("x", i), state, time.UnixMilli(int64(i)*10_000))
	}
	if got := textBytes(s.past); got > pastBytes || len(s.past) < 2 {
		t.Errorf("%d bytes in %d states", got, len(s.past))
	}
}
