package ui

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"vrametre/calc"
	"vrametre/web/ui/island"
	"vrametre/web/view"
)

// IsFault tells a question that cannot be answered, which the reader has to
// mend, from a failure of the program.
func IsFault(err error) bool {
	var fault *calc.Error
	return errors.As(err, &fault)
}

// focusAfter is how often a row is looked for that go-app has yet to make.
const focusAfter = 10 * time.Millisecond

// counted are settings whose number is read when it is complete.
var counted = []string{view.SetupAccumulation, view.SetupCards, view.SetupClasses}

// workshopField gives one of the workshop's fields a value.
func (p *Page) workshopField(name, value string, typing bool) bool {
	if p.importField(name, value) {
		return true
	}
	switch setting, isSetting := strings.CutPrefix(name, island.FieldSetup); {
	case name == island.FieldBranches:
		p.shown.Workshop.Branches = value == checked(true)
		p.render()
	case isSetting:
		if typing && slices.Contains(counted, setting) {
			break
		}
		if value == island.Default || value == checked(false) {
			value = ""
		} else if setting == view.SetupRecompute {
			value = "1"
		}
		p.change(name, p.session.State().WithSetting(setting, value))
		if !typing {
			p.syncFields()
		}
	case strings.HasPrefix(name, island.FieldRow):
		number, part, _ := strings.Cut(strings.TrimPrefix(name, island.FieldRow), ".")
		state := p.session.State()
		rows := state.Setup.List()
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(rows) {
			break
		}
		*map[string]*string{island.RowType: &rows[i].Type, island.RowArgs: &rows[i].Args, island.RowName: &rows[i].Name, island.RowInputs: &rows[i].Inputs}[part] = value
		if rows[i].Type == "" {
			break // a row without a type would be none: it stays what it was until it is something else
		}
		state.Setup = state.Setup.WithList(rows)
		p.change(name, state)
	default:
		return false
	}
	return true
}

// workshopValue is what a field of the workshop shows.
func (p *Page) workshopValue(name string) (value string, ours bool) {
	if value, ours := p.importValue(name); ours {
		return value, true
	}
	state := p.session.State()
	if setting, ok := strings.CutPrefix(name, island.FieldSetup); ok {
		value := state.Setting(setting)
		switch {
		case setting == view.SetupRecompute:
			return checked(value != ""), true
		case setting == view.SetupClasses && value == "0":
			return "", true
		case value == "" && setting != view.SetupInput:
			return island.Default, true
		}
		return value, true
	}
	if rest, ok := strings.CutPrefix(name, island.FieldRow); ok {
		number, part, _ := strings.Cut(rest, ".")
		rows := state.Setup.List()
		if i, err := strconv.Atoi(number); err == nil && i < len(rows) {
			return map[string]string{island.RowType: rows[i].Type, island.RowArgs: rows[i].Args, island.RowName: rows[i].Name, island.RowInputs: rows[i].Inputs}[part], true
		}
	}
	return "", false
}

// editRows adds, removes and moves layers; the keyboard stays with the layer.
func (p *Page) editRows(action, value string) {
	if p.actImport(action, value) {
		return
	}
	state := p.session.State()
	if action == island.ActionEdit {
		p.change(action, state.WithSetting(view.SetupModel, view.ModelRows))
		return
	}
	rows := state.Setup.List()
	i, err := strconv.Atoi(value)
	if err != nil {
		i = len(rows) - 1
	}
	if i < 0 || i >= len(rows) {
		return
	}
	control := action
	switch action {
	case island.ActionRowAdd:
		i++
		rows = slices.Insert(rows, i, view.Row{Type: "ReLU"})
		control = island.RowType
	case island.ActionRowRemove:
		if len(rows) == 1 {
			return
		}
		rows = slices.Delete(rows, i, i+1)
		i = min(i, len(rows)-1)
	case island.ActionRowUp, island.ActionRowDown:
		to := i + 1
		if action == island.ActionRowUp {
			to = i - 1
		}
		if to < 0 || to >= len(rows) {
			return
		}
		rows[i], rows[to] = rows[to], rows[i]
		i = to
	default:
		return
	}
	state.Setup = state.Setup.WithList(rows)
	p.edits++ // each edit is a change of its own, to be undone apart
	p.change(action+strconv.Itoa(p.edits), state)
	p.scene.State = state
	p.render()
	p.later(focusAfter, func() { p.focusRow(i, control, len(rows)) })
}

// focusRow brings the keyboard to a layer, once there are as many as there are
// to be: to the button just used where it can still be, else to its type.
func (p *Page) focusRow(i int, control string, rows int) {
	c := p.island(island.Model)
	if c == nil {
		return
	}
	switch {
	case len(p.session.State().Setup.List()) != rows: // edited again meanwhile
		return
	case c.JSValue().Call("querySelectorAll", ".layer").Length() != rows:
		p.later(focusAfter, func() { p.focusRow(i, control, rows) })
		return
	}
	number := strconv.Itoa(i)
	for _, selector := range []string{`[data-action="` + control + `"][data-value="` + number + `"]:enabled`, `[data-field="row.` + number + `.type"]`} {
		if element := c.JSValue().Call("querySelector", selector); element.Truthy() {
			element.Call("focus")
			if control == island.RowType {
				element.Call("select")
			}
			return
		}
	}
}
