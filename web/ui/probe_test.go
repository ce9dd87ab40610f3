package ui

import (
	"testing"

	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// keepingDocument holds what is to be remembered.
type keepingDocument struct {
	quietDocument
	kept *string
}

func (d keepingDocument) Remembered() string   { return *d.kept }
func (d keepingDocument) Remember(text string) { *d.kept = text }

// A link's card that the catalogue does not know is not remembered, nor does it replace one that is; a choice is.
func TestUnknownCardIsNotRemembered(t *testing.T) {
	kept := ""
	p, err := NewPage(keepingDocument{kept: &kept}, view.PageOOM, "fr", "v=1&gpu=rtx+3060+mega", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.field(island.FieldRemember, checked(true), false)
	if kept != "" {
		t.Errorf("an unknown card is kept: %q", kept)
	}
	p.field(island.FieldSystem, "windows", false)
	if kept != "" {
		t.Errorf("an unknown card is kept with its system: %q", kept)
	}
	p.pick("tesla-t4")
	if got := view.ParseKept(view.Default().Device, kept); got.GPU != "tesla-t4" || got.Unknown != "" {
		t.Errorf("the choice is kept as %q", kept)
	}
	p.field(island.FieldRemember, checked(false), false)
	if kept != "" {
		t.Errorf("still kept: %q", kept)
	}
}
