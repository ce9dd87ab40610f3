package view

import (
	"encoding/hex"
	"errors"
	"hash/fnv"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/calc/oom"
	"vrametre/calc/read"
	"vrametre/content"
)

// Import is a model that the reader has pasted or dropped. It does not change: another text is another import.
type Import struct {
	// Text is what was pasted, or a dropped text; "" for a file of which only the header is read.
	Text string
	// Names are the files'.
	Names []string

	model calc.Model
}

// Paste is the model of a text.
func Paste(text string) *Import {
	m := calc.Recognise(text)
	m.Memo = new(calc.Memo)
	return &Import{Text: text, model: m}
}

// Drop is the model of a file, or of several that belong together. All that files are ever asked for is read here.
func Drop(files []calc.File) (*Import, error) {
	m, text, err := calc.Open(files)
	if err != nil {
		return nil, err
	}
	i := &Import{model: m}
	if text != "" {
		i = Paste(text)
	}
	for _, f := range files {
		i.Names = append(i.Names, f.Name)
	}
	if text == "" {
		i.model.Memo = new(calc.Memo)
		_, err = calc.Read(calc.Request{Model: i.model})
	}
	return i, err
}

// Shared is the model of a text that comes without a word about what it is; nil
// where it holds a message, or no model.
func Shared(text string) *Import {
	if Short(text) && oom.Parse(text).Kind != oom.KindUnrecognised {
		return nil
	}
	i := Paste(text)
	if _, err := calc.Read(calc.Request{Model: i.model}); err != nil {
		return nil
	}
	return i
}

// ModelFiles are the endings of the names of files that Drop reads, by their
// type: what an operating system may be told.
var ModelFiles = map[string][]string{
	"application/octet-stream": {".safetensors", ".gguf", ".onnx", ".pt", ".pth", ".ckpt", ".bin"},
	"application/json":         {".json"},
	"text/plain":               {".txt"},
}

// maxCarried bounds the text that an address carries, in bytes as they stand there.
const maxCarried = 4000

// Carried says whether addresses carry the model.
func (i *Import) Carried() bool {
	return i.Text != "" && len(i.Text) <= maxCarried && len(escape(i.Text)) <= maxCarried
}

// Sum tells one text from another, where the text itself is too long.
func (i *Import) Sum() string {
	h := fnv.New64a()
	h.Write([]byte(i.Text))
	return hex.EncodeToString(h.Sum(nil))
}

// sumLength is that of a Sum.
const sumLength = 16

// Found puts a text that was kept in the place of the model that the address does not carry, if it is that one.
func (s State) Found(text string) State {
	if s.Setup.Model == ModelImport && s.Setup.Import == nil && text != "" {
		if i := Paste(text); i.Sum() == s.Setup.Elsewhere {
			s.Setup.Import, s.Setup.Elsewhere = i, ""
			s.Setup = s.Setup.fitted()
		}
	}
	return s
}

// reading is the request that reads the reader's model, without what is written amiss beside it.
func (u Setup) reading() calc.Request {
	r := calc.Request{Model: u.Import.model, NumClasses: int(u.Classes)}
	if input, err := parseInput(u.Input); err == nil {
		r.Input = calc.Inputs{input}
	}
	return r
}

// Imported is what the reader's model was understood as; an error where there is none.
func (s State) Imported() (*read.Model, error) {
	if s.Setup.Import == nil {
		return nil, errElsewhere
	}
	r := s.Setup.reading()
	m, err := calc.Read(r)
	if err != nil && r.NumClasses > 0 { // which it may not have
		r.NumClasses = 0
		return calc.Read(r)
	}
	return m, err
}

// Fixed says why the input, the loss and the recomputation of the reader's model cannot be chosen, as read.Model.Fixed
// does; "" where they can.
func (s State) Fixed() string {
	if s.Setup.Model != ModelImport {
		return ""
	}
	m, err := s.Imported()
	if err != nil {
		return ""
	}
	return m.Fixed()
}

// fitted is the setup without what its model cannot follow, where the controls are disabled.
func (u Setup) fitted() Setup {
	switch (State{Setup: u}).Fixed() {
	case "trace":
		u.Input, u.Loss, u.Classes, u.Blocks, u.Recompute = "", "", 0, "", false
	case "weights":
		u.Input, u.Loss, u.Classes, u.Blocks, u.Recompute, u.Attention = "", "", 0, "", false, ""
	}
	return u
}

// errElsewhere is a model that an address speaks of and does not carry.
var errElsewhere = &calc.Error{Code: "import-elsewhere", At: "model"}

// WithImport makes the reader's model the one that is asked about; nil goes back to the lesson's. The changes made to a
// model before it was edited stay where it has what they change.
func (u Setup) WithImport(i *Import) Setup {
	if i == nil {
		u.Import = nil
		if u.Model == ModelImport {
			u = u.With(SetupModel, lessonModel)
		}
		return u
	}
	was := u
	u.Model, u.Import, u.Elsewhere = ModelImport, i, ""
	now, err := calc.Read(calc.Request{Model: i.model})
	if err != nil {
		return u
	}
	if was.Model == ModelImport && was.Import != nil {
		before, err := calc.Read(calc.Request{Model: was.Import.model})
		if err == nil && (before.Kind != now.Kind || before.Tree.Class != now.Tree.Class) {
			u = u.plain()
		}
	} else {
		u = u.plain()
	}
	here := map[string]bool{}
	Modules(now.Tree, func(m Module) { here[m.ID] = true })
	keep := func(paths string) string {
		var kept []string
		for _, p := range list(paths) {
			if here[p] {
				kept = append(kept, p)
			}
		}
		return strings.Join(kept, ",")
	}
	u.Frozen, u.Blocks = keep(u.Frozen), keep(u.Blocks)
	return u.fitted()
}

// plain is the setup without what belongs to one model.
func (u Setup) plain() Setup {
	u.Input, u.Loss, u.Classes, u.Frozen, u.Blocks = "", "", 0, "", ""
	return u
}

// Module is a line of a model's tree.
type Module struct {
	*read.Node
	// ID is its path as Setup.Frozen and calc take it: "layer.0-11" stands for twelve.
	ID string
	// Name is the ID's last part.
	Name string
}

// ModuleOf is the line of a node below the module of an ID.
func ModuleOf(n *read.Node, above string) Module {
	m := Module{Node: n, Name: n.Path[strings.LastIndexByte(n.Path, '.')+1:]}
	if first, err := strconv.Atoi(m.Name); err == nil && n.Repeat > 1 {
		m.Name += "-" + strconv.Itoa(first+n.Repeat-1)
	}
	if m.ID = m.Name; above != "" {
		m.ID = above + "." + m.Name
	}
	return m
}

// Modules calls visit with every module of a tree, a parent before its children.
func Modules(tree *read.Node, visit func(Module)) { modules(tree, "", visit) }

func modules(n *read.Node, above string, visit func(Module)) {
	m := ModuleOf(n, above)
	visit(m)
	for _, c := range n.Children {
		modules(c, m.ID, visit)
	}
}

// list reads paths that a setup holds.
func list(paths string) []string {
	if paths == "" {
		return nil
	}
	return strings.Split(paths, ",")
}

// Listing says how a list of modules holds one: itself, or through one above it.
type Listing int

// Listings.
const (
	Unlisted Listing = iota
	Listed
	ListedAbove
)

// ListingOf finds a module in a list.
func ListingOf(paths, id string) Listing {
	for _, p := range list(paths) {
		switch {
		case p == id:
			return Listed
		case strings.HasPrefix(id, p+"."):
			return ListedAbove
		}
	}
	return Unlisted
}

// List puts a module on a list, in place of those below it, or takes it off.
func List(paths, id string, on bool) string {
	if ListingOf(paths, id) == ListedAbove {
		return paths
	}
	var kept []string
	for _, p := range list(paths) {
		if p != id && !strings.HasPrefix(p, id+".") {
			kept = append(kept, p)
		}
	}
	if on && id != "" {
		kept = append(kept, id)
	}
	return strings.Join(kept, ",")
}

// Note is something that the reader should know of the model, at its place in the text.
type Note struct {
	// Line of the text, from 1; 0 where there is none. Quote is that line.
	Line  int
	Quote string
	// Place is what is meant where it is no line: a module, a tensor.
	Place   string
	Message string
}

// Notes are what could not be known of the reader's model. result answers the state, or is nil where it has no answer.
func (s State) Notes(result *calc.Result, lang content.Lang) []Note {
	var warnings []calc.Warning
	m, err := s.Imported()
	switch {
	case result != nil:
		warnings = append(warnings, result.Warnings...)
	case err == nil:
		for _, w := range m.Warnings {
			warnings = append(warnings, calc.Warning{Code: w.Code, At: w.At, Args: w.Args})
		}
	}
	if err != nil {
		m = nil
	}
	filled := calc.Result{Warnings: warnings}
	Fill(&filled, lang)
	var notes []Note
	for _, w := range filled.Warnings {
		notes = append(notes, s.note(m, w.At, w.Args, w.Message))
	}
	return notes
}

// FaultNote is an error of the reader's model, at its place.
func (s State) FaultNote(err error, lang content.Lang) Note {
	m, unread := s.Imported()
	if unread != nil {
		m = nil
	}
	f := FailureOf(err, lang)
	var e *calc.Error
	if !errors.As(err, &e) {
		return Note{Message: f.Message}
	}
	return s.note(m, f.At, e.Args, f.Message)
}

// quotedRunes bounds the line that is quoted, in characters.
const quotedRunes = 160

func (s State) note(m *read.Model, at string, args map[string]any, message string) Note {
	n := Note{Message: message, Place: at}
	text := ""
	if s.Setup.Import != nil {
		text = s.Setup.Import.Text
	}
	n.Line = lineOf(text, m, at, args)
	for _, field := range []string{"model.file.", "model.trace."} { // what it holds has places of its own
		n.Place = strings.TrimPrefix(n.Place, field)
	}
	if strings.HasPrefix(n.Place, "model.") || at == "model" || at == "input" || at == "num_classes" { // a field of the request, which the reader has not written
		n.Place = ""
	}
	if n.Line == 0 || text == "" {
		n.Line = 0
		return n
	}
	i := 1
	for line := range strings.SplitSeq(text, "\n") {
		if i == n.Line {
			n.Quote = shorten(strings.TrimSpace(line))
			break
		}
		i++
	}
	return n
}

func shorten(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	i := 0
	for at := range s {
		if i == quotedRunes {
			return s[:at] + "…"
		}
		i++
	}
	return s
}

// lineOf finds the line that a place means: "model.torch:12", a field of a config.json, or a module.
func lineOf(text string, m *read.Model, at string, args map[string]any) int {
	if i := strings.LastIndexByte(at, ':'); i >= 0 && strings.HasPrefix(at, "model.") {
		if n, err := strconv.Atoi(at[i+1:]); err == nil {
			return n
		}
	}
	if n, ok := integer(args["line"]); ok {
		return int(n)
	}
	if n, ok := integer(args["offset"]); ok && n >= 0 && n <= int64(len(text)) {
		return 1 + strings.Count(text[:n], "\n")
	}
	if field, ok := strings.CutPrefix(at, "model.hf."); ok {
		quoted := `"` + field[strings.LastIndexByte(field, '.')+1:] + `"`
		if i := strings.Index(text, quoted); i >= 0 {
			return 1 + strings.Count(text[:i], "\n")
		}
		return 0
	}
	if m == nil || at == "" {
		return 0
	}
	if node := m.Tree.Find(at); node != nil {
		return node.Line
	}
	return 0
}
