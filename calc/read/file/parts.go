package file

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/read"
	"vrametre/calc/read/checkpoint"
	"vrametre/calc/read/gguf"
	"vrametre/calc/read/hf"
	"vrametre/calc/read/pickle"
	"vrametre/calc/read/safetensors"
	"vrametre/calc/read/trace"
)

// Part is one of the files that are given together, Size bytes long.
type Part struct {
	Name string
	Data io.ReaderAt
	Size int64
}

// MaxParts bounds the files that are read together; the largest published checkpoints have some two hundred.
const MaxParts = 512

// folder is what lies in a model's folder: its weights, and what says more of them.
type folder struct {
	format  string
	weights []Part
	index   *Part
	config  *Part
	unread  []string
	warned  []*fault.Error
}

func (f *folder) warn(code, at string, args ...any) {
	f.warned = append(f.warned, fault.New(code, at, args...))
}

// besides are the first words of the names of a training's files that are no part of the model.
var besides = []string{"optimizer", "scheduler", "scaler", "rng_state", "training_args", "trainer_state"}

func isBeside(name string) bool {
	return slices.ContainsFunc(besides, func(word string) bool { return strings.HasPrefix(path.Base(name), word) })
}

// Read reads a file, or several that were given together: the parts of a checkpoint as the union of their tensors, checked
// with its index, and with config.json, which then says what network it is. tokens is the sequence length where the caller
// gave one.
func Read(parts []Part, tokens int64) (*read.Model, error) {
	if len(parts) > MaxParts {
		return nil, fault.New("files-many", Field, "count", len(parts), "limit", MaxParts)
	}
	f, alone, err := sort(parts)
	if err != nil {
		return nil, err
	}
	var m *read.Model
	if alone != nil {
		m, err = single(*alone, tokens)
	} else {
		m, err = f.read(tokens)
	}
	if err != nil {
		return nil, err
	}
	if len(f.unread) > 0 {
		m.Warn("files-unread", Field, "names", listed(f.unread), "count", len(f.unread))
	}
	return m, nil
}

// sort says what each file is. alone is the only one that says anything of the model, where it is no part of a checkpoint.
func sort(parts []Part) (f folder, alone *Part, err error) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return strings.Compare(a.Name, b.Name) })
	kinds := make([]string, len(parts))
	for i, p := range parts {
		kind, err := Kind(p.Name, p.Data, p.Size)
		if err != nil {
			if p.Size == 0 && len(parts) > 1 {
				f.unread = append(f.unread, p.Name)
				continue
			}
			return f, nil, inside(err, p, parts)
		}
		if kind == PyTorch && isBeside(p.Name) {
			kind = Unknown
		}
		kinds[i] = kind
	}
	for _, format := range []string{Safetensors, GGUF, PyTorch} {
		if slices.Contains(kinds, format) {
			f.format = format
			break
		}
	}
	var others []Part // that are a model of their own
	for i, p := range parts {
		switch kind := kinds[i]; {
		case kind == Index && f.index == nil:
			f.index = &parts[i]
		case kind == JSON:
			if data, err := whole(p.Data, p.Size); err == nil && isConfig(data) && f.config == nil {
				f.config = &parts[i]
			} else if err == nil && IsIndex(data) && f.index == nil {
				f.index = &parts[i]
			} else if err == nil && trace.Is(data) {
				others = append(others, p)
			} else {
				f.unread = append(f.unread, p.Name)
			}
		case kind == f.format && kind != Unknown:
			f.weights = append(f.weights, p)
		case kind == ONNX:
			others = append(others, p)
		default:
			f.unread = append(f.unread, p.Name)
		}
	}
	switch {
	case len(others) > 1 || len(others) == 1 && f.format != "" && f.format != PyTorch:
		return f, nil, fault.New("files-several", Field, "names", listed(names(others)))
	case len(others) == 1: // the data of its weights may lie in files that look like PyTorch's
		f.unread = append(f.unread, names(f.weights)...)
		return f, &others[0], nil
	case f.format != "":
		return f, nil, nil
	case f.config != nil:
		if f.index != nil {
			f.unread = append(f.unread, f.index.Name)
		}
		return f, f.config, nil
	case f.index != nil:
		return f, f.index, nil
	}
	return f, nil, fault.New("file-kind", Field, "name", listed(names(parts)))
}

func names(parts []Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Name)
	}
	return out
}

// maxListed bounds the names that a sentence lists.
const maxListed = 4

func listed(names []string) string {
	s := strings.Join(names[:min(len(names), maxListed)], ", ")
	if len(names) > maxListed {
		s += ", …"
	}
	return s
}

// inside puts the name of the file before the place of an error, where there are several.
func inside(err error, p Part, parts []Part) error {
	if e, ok := err.(*fault.Error); ok && len(parts) > 1 {
		at := strings.TrimPrefix(strings.TrimPrefix(e.At, Field), ".")
		e := *e
		e.At = p.Name
		if at != "" {
			e.At += ": " + at
		}
		return fault.Within(&e, Field)
	}
	return err
}

func isConfig(data []byte) bool {
	return !trace.Is(data) && (bytes.Contains(data, []byte(`"model_type"`)) || bytes.Contains(data, []byte(`"architectures"`)))
}

// list reads the tensors of one file.
func list(format string, p Part) (*checkpoint.File, error) {
	switch format {
	case Safetensors:
		return safetensors.Read(p.Data, p.Size)
	case GGUF:
		return gguf.Read(p.Data, p.Size)
	}
	return pickle.Read(p.Data, p.Size)
}

// read reads the checkpoint.
func (f *folder) read(tokens int64) (*read.Model, error) {
	u := union{sliced: sliced(f.weights)}
	for _, p := range f.weights {
		one, err := list(f.format, p)
		if err == nil && len(f.weights) == 1 { // the parts of one file are their own union
			u.file = one
		} else if err == nil {
			err = u.add(one)
		}
		if err != nil {
			return nil, inside(err, p, f.weights)
		}
	}
	sum := u.file
	if u.twice > 0 {
		f.warn("tensors-twice", Field, "count", u.twice, "name", u.first)
	}
	whole, err := f.complete(sum)
	if err != nil {
		return nil, err
	}
	m, err := model(sum, tokens, whole && f.config == nil)
	if err != nil {
		return nil, err
	}
	if f.config != nil {
		if err := f.configure(m, sum, whole, tokens); err != nil {
			return nil, err
		}
	}
	m.Warnings = append(m.Warnings, f.warned...)
	return m, nil
}

// union gathers the tensors of a checkpoint's files.
type union struct {
	file   *checkpoint.File
	at     map[string]int32
	sliced bool
	twice  int
	first  string
}

func (u *union) add(one *checkpoint.File) (err error) {
	defer fault.Catch(&err)
	if u.file == nil {
		u.file = one
		u.at = make(map[string]int32, len(one.Tensors))
		for i, t := range one.Tensors {
			u.at[t.Name] = int32(i)
		}
		return nil
	}
	u.file.Other = min(u.file.Other+one.Other, 1<<62)
	u.file.Warnings = append(u.file.Warnings, one.Warnings...)
	for _, t := range one.Tensors {
		i, known := u.at[t.Name]
		if !known {
			u.at[t.Name] = int32(len(u.file.Tensors))
			u.file.Add(t)
			continue
		}
		if have := &u.file.Tensors[i]; u.sliced && len(t.Shape) == 2 && len(have.Shape) == 2 {
			// one more slice of a matrix; along which side does not show
			have.Shape = []int64{have.Shape[0] + t.Shape[0], t.Shape[1]}
			have.Bytes += t.Bytes
			checkpoint.Numel(t.Name, have.Shape)
		} else if !u.sliced {
			if u.twice++; u.first == "" {
				u.first = checkpoint.Short(t.Name)
			}
		}
	}
	return nil
}

// sliced says whether the files are the shares of several cards, which Llama's authors name consolidated.00.pth and so on:
// each has all tensors, and of a matrix its slice.
func sliced(parts []Part) bool {
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(p Part) bool {
		number, ok := strings.CutPrefix(path.Base(p.Name), "consolidated.")
		number = strings.TrimSuffix(number, path.Ext(number))
		return !ok || !digits(number)
	})
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// shard reads the name of a part of a checkpoint as Hugging Face and llama.cpp write it: model-00001-of-00003.safetensors.
// name gives the names of all its parts.
func shard(file string) (total int, name func(n int) string) {
	base, ext := strings.TrimSuffix(file, path.Ext(file)), path.Ext(file)
	rest, of, ok := strings.Cut(base, "-of-")
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 || len(of) > 6 || !digits(of) || !digits(rest[i+1:]) {
		return 0, nil
	}
	total, _ = strconv.Atoi(of) // of at most six digits
	width := len(rest) - i - 1
	return total, func(n int) string {
		number := strconv.Itoa(n)
		return rest[:i+1] + strings.Repeat("0", max(width-len(number), 0)) + number + "-of-" + of + ext
	}
}

// complete looks for parts that are not there: those the index names, or those that the names of the others count. It
// gives false where some are missing.
func (f *folder) complete(sum *checkpoint.File) (bool, error) {
	here := map[string]bool{}
	for _, p := range f.weights {
		here[path.Base(p.Name)] = true
	}
	missing := map[string]bool{}
	tensors := 0
	if f.index != nil {
		data, err := whole(f.index.Data, f.index.Size)
		if err != nil {
			return false, inside(err, *f.index, append(f.weights, *f.index))
		}
		ix, err := safetensors.ReadIndex(data)
		if err != nil {
			return false, inside(err, *f.index, append(f.weights, *f.index))
		}
		have := make(map[string]bool, len(sum.Tensors))
		for i := range sum.Tensors {
			have[sum.Tensors[i].Name] = true
		}
		absent, first := 0, ""
		for i, name := range ix.Names {
			file := ix.Files[ix.Of[i]]
			switch {
			case have[name]:
			case !here[file]:
				tensors++
				if len(missing) < MaxParts {
					missing[file] = true
				}
			default:
				if absent++; first == "" {
					first = name
				}
			}
		}
		if absent > 0 {
			f.warn("index-tensors", Field, "count", absent, "name", checkpoint.Short(first))
		}
	}
	for _, p := range f.weights {
		total, name := shard(path.Base(p.Name))
		if name == nil {
			continue
		}
		for n := 1; n <= min(total, MaxParts); n++ {
			if !here[name(n)] {
				missing[name(n)] = true
			}
		}
		break // the others are of the same checkpoint, or are told by their tensors
	}
	if len(missing) == 0 {
		return true, nil
	}
	lost := make([]string, 0, len(missing))
	for name := range missing {
		lost = append(lost, name)
	}
	slices.Sort(lost)
	f.warn("shards-missing", Field, "names", listed(lost), "count", len(lost), "tensors", tensors)
	return false, nil
}

// configure makes the network that config.json describes the model's, and compares it with the tensors.
func (f *folder) configure(m *read.Model, sum *checkpoint.File, whole bool, tokens int64) error {
	data, err := io.ReadAll(io.NewSectionReader(f.config.Data, 0, f.config.Size))
	if err != nil {
		return inside(fault.New("file-unreadable", Field, "detail", err.Error()), *f.config, append(f.weights, *f.config))
	}
	h, err := hf.Read(data, tokens)
	if err != nil { // the tensors still say what they say
		m.Warn("config-unread", Field+"."+f.config.Name)
		return nil
	}
	found := m.Parameters
	if n := repeated(sum); found-n == h.Parameters {
		found -= n
	}
	m.Name, m.Inputs, m.Loss, m.Flat, m.KVElements, m.Build = h.Name, h.Inputs, h.Loss, h.Flat, h.KVElements, h.Build
	m.Heads, m.Classes, m.Missing = h.Heads, h.Classes, h.Missing
	m.Warnings = append(m.Warnings, h.Warnings...)
	m.Parameters, m.Trainable = h.Parameters, h.Trainable
	switch {
	case !whole:
	case found == h.Parameters:
		m.Kind = "checked"
	default:
		m.Warn("config-differs", Field, "name", h.Name, "expected", h.Parameters, "found", found)
	}
	m.Tree = h.Tree
	return nil
}

// repeated is the weights that a file may hold a second time: the output layer of a network that shares its embedding's.
func repeated(sum *checkpoint.File) int64 {
	for i := range sum.Tensors {
		if t := &sum.Tensors[i]; !t.Shared && (t.Name == "lm_head.weight" || t.Name == "output.weight") {
			return t.Elements()
		}
	}
	return 0
}
