package build

import (
	"bytes"
	"encoding/binary"
)

// The runtime finds functions, their names, the sizes of their frames and their
// files and lines in one structure, the pclntab. Its layout is that of
// cmd/link/internal/ld/pcln.go and of runtime.pcHeader and runtime._func in
// Go 1.26. Where a function's tables of files and lines are at offset 0, the
// runtime reports the file "?" and the line 0, and misses nothing else.

// pcHeader is the start of a pclntab: a magic number, two zeros, the unit of
// instructions, the size of a pointer.
var pcHeader = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}

// Offsets of uint32 fields in runtime._func.
const (
	funcName      = 4
	funcFrameSize = 16
	funcFile      = 20
	funcLine      = 24
	funcPCData    = 28 // how many tables follow
	funcUnit      = 32 // the compilation unit, which names files
	funcStartLine = 36
	funcFuncData  = 43 // one byte
	funcSize      = 44 // the tables follow, 4 bytes each
)

// pclntab is the structure in a memory image.
type pclntab struct {
	memory []byte
	// names and pctab are the regions of names and of tables; functions is where
	// the functions' index starts, all in the memory.
	names, pctab []byte
	functions    int
	count        int
}

// dropLines clears the files and lines in a memory image, if it holds a
// pclntab of the layout known here. It reports whether it does.
func dropLines(memory []byte) bool {
	t, ok := findPclntab(memory)
	if !ok {
		return false
	}
	kept := map[uint32]bool{0: true} // no table
	dropped := map[uint32]bool{}
	for i := range t.count {
		f := t.function(i)
		kept[field(f, funcFrameSize)] = true
		for n := range field(f, funcPCData) {
			kept[field(f, funcSize+4*int(n))] = true
		}
		dropped[field(f, funcFile)] = true
		dropped[field(f, funcLine)] = true
	}
	for i := range t.count {
		f := t.function(i)
		for _, at := range []int{funcFile, funcLine, funcUnit, funcStartLine} {
			binary.LittleEndian.PutUint32(f[at:], 0)
		}
	}
	for offset := range dropped {
		if !kept[offset] {
			table := t.pctab[offset:]
			clear(table[:tableLength(table)])
		}
	}
	return true
}

func field(f []byte, at int) uint32 { return binary.LittleEndian.Uint32(f[at:]) }

// function is the i-th function's record and what follows it.
func (t pclntab) function(i int) []byte {
	return t.memory[t.functions+int(field(t.memory, t.functions+8*i+4)):]
}

// findPclntab looks for a pclntab all of whose functions make sense.
func findPclntab(memory []byte) (pclntab, bool) {
	for start := 0; ; start++ {
		found := bytes.Index(memory[start:], pcHeader)
		if found < 0 {
			return pclntab{}, false
		}
		start += found
		if t, ok := readPclntab(memory, start); ok {
			return t, true
		}
	}
}

func readPclntab(memory []byte, start int) (pclntab, bool) {
	const words = 8 // functions, files, one unused, then the regions
	if start+8+8*words > len(memory) {
		return pclntab{}, false
	}
	var word [words]int
	for i := range word {
		n := binary.LittleEndian.Uint64(memory[start+8+8*i:])
		if n > uint64(len(memory)) {
			return pclntab{}, false
		}
		word[i] = int(n)
	}
	names, units, files, pctab, functions := word[3], word[4], word[5], word[6], word[7]
	if names > units || units > files || files > pctab || pctab > functions || start+functions > len(memory) {
		return pclntab{}, false
	}
	t := pclntab{
		memory: memory, count: word[0], functions: start + functions,
		names: memory[start+names : start+units], pctab: memory[start+pctab : start+functions],
	}
	if t.count == 0 || t.functions+8*t.count > len(memory) {
		return pclntab{}, false
	}
	for i := range t.count {
		record := t.functions + int(field(memory, t.functions+8*i+4))
		if record+funcSize > len(memory) {
			return pclntab{}, false
		}
		f := memory[record:]
		end := funcSize + 4*int(field(f, funcPCData)) + 4*int(f[funcFuncData])
		if field(f, funcPCData) > 16 || end > len(f) || !t.plausible(f) {
			return pclntab{}, false
		}
	}
	return t, true
}

// plausible reports whether a record's name is one and its tables are tables.
func (t pclntab) plausible(f []byte) bool {
	name := int(field(f, funcName))
	if name >= len(t.names) {
		return false
	}
	length := bytes.IndexByte(t.names[name:], 0)
	if length < 0 || bytes.ContainsFunc(t.names[name:name+length], func(r rune) bool { return r < ' ' }) {
		return false
	}
	for _, at := range []int{funcFrameSize, funcFile, funcLine} {
		if offset := int(field(f, at)); offset >= len(t.pctab) || tableLength(t.pctab[offset:]) < 0 {
			return false
		}
	}
	return true
}

// tableLength is the length of a table of pairs of numbers, of which the first
// of a pair is 0 at the end, or -1.
func tableLength(table []byte) int {
	for at, pair := 0, 0; ; pair++ {
		value, n := binary.Uvarint(table[at:])
		if n <= 0 {
			return -1
		}
		at += n
		if value == 0 && pair > 0 {
			return at
		}
		if _, n = binary.Uvarint(table[at:]); n <= 0 {
			return -1
		}
		at += n
	}
}
