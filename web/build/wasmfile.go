package build

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Cost is what a part of a WebAssembly module takes.
type Cost struct {
	// Name is the import path of a package, or says what else it is.
	Name string
	// Raw is the part's bytes, Gzip what they take compressed on their own.
	Raw, Gzip int64
}

// wasmReader walks the binary format of WebAssembly's core specification, sections 5.4 and 5.5.
type wasmReader struct{ rest []byte }

var (
	errTruncated = errors.New("wasm: truncated")
	errTooLong   = errors.New("wasm: number longer than 64 bits")
)

func (r *wasmReader) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(r.rest)) {
		return nil, errTruncated
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

// uint reads an unsigned LEB128 number.
func (r *wasmReader) uint() (uint64, error) {
	var v uint64
	for i, b := range r.rest {
		if i == 10 {
			return 0, errTooLong
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return v, nil
		}
	}
	return 0, errTruncated
}

// block reads a length and that many bytes.
func (r *wasmReader) block() ([]byte, error) {
	n, err := r.uint()
	if err != nil {
		return nil, err
	}
	return r.bytes(n)
}

// Sections and externals of the format.
const (
	sectionCustom   = 0
	sectionImport   = 2
	sectionCode     = 10
	sectionData     = 11
	externFunction  = 0
	nameSubFunction = 1
)

// dataName is the Cost of all that is no code: texts, types, and the tables by
// which the runtime finds functions.
const dataName = "(data)"

// Costs attributes an unstripped module to the parts that group makes of Go
// packages, whose import paths are given. The largest comes first.
func Costs(module []byte, paths []string, group func(path string) string) ([]Cost, error) {
	r := &wasmReader{rest: module}
	if head, err := r.bytes(8); err != nil || !bytes.Equal(head, []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, errors.New("wasm: not a module of version 1")
	}
	var imported uint64
	var bodies [][]byte
	names := map[uint64]string{}
	parts := map[string][]byte{}
	for len(r.rest) > 0 {
		id, err := r.bytes(1)
		if err != nil {
			return nil, err
		}
		content, err := r.block()
		if err != nil {
			return nil, err
		}
		section := &wasmReader{rest: content}
		switch id[0] {
		case sectionImport:
			imported, err = importedFunctions(section)
		case sectionCode:
			bodies, err = functionBodies(section)
		case sectionData:
			parts[dataName] = content
		case sectionCustom:
			err = functionNames(section, names)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, errors.New("wasm: no function names; build without -ldflags=-s")
	}
	packageOf := owner(paths)
	for i, body := range bodies {
		name := group(packageOf(names[imported+uint64(i)]))
		parts[name] = append(parts[name], body...)
	}
	costs := make([]Cost, 0, len(parts))
	for name, content := range parts {
		packed, err := gzipped(content)
		if err != nil {
			return nil, err
		}
		costs = append(costs, Cost{name, int64(len(content)), int64(len(packed))})
	}
	slices.SortFunc(costs, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(b.Raw, a.Raw), cmp.Compare(a.Name, b.Name))
	})
	return costs, nil
}

func importedFunctions(r *wasmReader) (uint64, error) {
	n, err := r.uint()
	if err != nil {
		return 0, err
	}
	var functions uint64
	for range n {
		for range 2 { // module and field
			if _, err := r.block(); err != nil {
				return 0, err
			}
		}
		kind, err := r.bytes(1)
		if err != nil {
			return 0, err
		}
		if kind[0] != externFunction {
			return 0, fmt.Errorf("wasm: import of kind %d, only functions are expected from Go", kind[0])
		}
		if _, err := r.uint(); err != nil {
			return 0, err
		}
		functions++
	}
	return functions, nil
}

func functionBodies(r *wasmReader) ([][]byte, error) {
	n, err := r.uint()
	if err != nil {
		return nil, err
	}
	var bodies [][]byte
	for range n {
		body, err := r.block()
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

func functionNames(r *wasmReader, names map[uint64]string) error {
	title, err := r.block()
	if err != nil || string(title) != "name" {
		return err
	}
	for len(r.rest) > 0 {
		id, err := r.bytes(1)
		if err != nil {
			return err
		}
		content, err := r.block()
		if err != nil {
			return err
		}
		if id[0] != nameSubFunction {
			continue
		}
		sub := &wasmReader{rest: content}
		n, err := sub.uint()
		if err != nil {
			return err
		}
		for range n {
			index, err := sub.uint()
			if err != nil {
				return err
			}
			name, err := sub.block()
			if err != nil {
				return err
			}
			names[index] = string(name)
		}
	}
	return nil
}

// unnamed matches what Go's linker replaces by an underscore in the names it writes.
var unnamed = regexp.MustCompile(`[^\w.]`)

// owner finds the package that a name in the module belongs to, given the import paths linked into it.
func owner(paths []string) func(name string) string {
	byPrefix := make(map[string]string, len(paths))
	for _, path := range paths {
		slash := strings.LastIndexByte(path, '/') + 1
		// The linker escapes the dots of the last element first.
		symbol := path[:slash] + strings.ReplaceAll(path[slash:], ".", "%2e")
		byPrefix[unnamed.ReplaceAllString(symbol, "_")] = path
	}
	return func(name string) string {
		if rest, ok := strings.CutPrefix(name, "type_."); ok { // generated equality and hash functions
			_, name, _ = strings.Cut(rest, ".")
		}
		// The longest prefix that ends at a dot and is a package.
		for i := len(name); i > 0; i = strings.LastIndexByte(name[:i], '.') {
			if path, ok := byPrefix[name[:i]]; ok {
				return path
			}
		}
		return unowned
	}
}

// unowned stands for functions that the linker makes.
const unowned = "(linker)"
