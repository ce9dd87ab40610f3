package build

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Go's linker cuts a module's data wherever eight zeros follow each other,
// which makes a hundred thousand segments whose heads compress badly. Memory
// starts as zeros anyway: longer pieces make the module longer, and a tenth
// smaller once compressed. The tables of line numbers, of use to stack traces
// alone, are as many bytes again.

// joinGap is the longest run of zeros that a segment may hold.
const joinGap = 64

// segment is a piece of memory that the module fills when it is loaded.
type segment struct {
	offset int64
	data   []byte
}

// pack rewrites the data of a module made by Go into few segments without line
// numbers.
func pack(module []byte) ([]byte, error) {
	r := &wasmReader{rest: module}
	out, err := r.bytes(8)
	if err != nil {
		return nil, err
	}
	out = slices.Clone(out)
	for len(r.rest) > 0 {
		id, err := r.bytes(1)
		if err != nil {
			return nil, err
		}
		content, err := r.block()
		if err != nil {
			return nil, err
		}
		if id[0] == sectionData {
			segments, err := dataSegments(&wasmReader{rest: content})
			if err != nil {
				return nil, err
			}
			memory := memoryOf(segments)
			dropLines(memory)
			content = encodeSegments(cutSegments(memory))
		}
		out = append(out, id[0])
		out = binary.AppendUvarint(out, uint64(len(content)))
		out = append(out, content...)
	}
	return out, nil
}

// Instructions of a segment's offset: i32.const N, end.
const (
	opI32Const = 0x41
	opEnd      = 0x0b
)

// mostMemory bounds the data of a module: more would be a misread offset.
const mostMemory = 1 << 28

func dataSegments(r *wasmReader) ([]segment, error) {
	n, err := r.uint()
	if err != nil {
		return nil, err
	}
	var segments []segment
	for range n {
		head, err := r.bytes(2)
		if err != nil {
			return nil, err
		}
		if head[0] != 0 || head[1] != opI32Const {
			return nil, errors.New("wasm: a data segment is not at a constant place in memory")
		}
		offset, err := r.int()
		if err != nil {
			return nil, err
		}
		if end, err := r.bytes(1); err != nil || end[0] != opEnd {
			return nil, errors.New("wasm: a data segment's place does not end")
		}
		data, err := r.block()
		if err != nil {
			return nil, err
		}
		if offset < 0 || offset+int64(len(data)) > mostMemory {
			return nil, errors.New("wasm: a data segment lies outside a page's memory")
		}
		segments = append(segments, segment{offset, data})
	}
	return segments, nil
}

// memoryOf is the memory that segments fill, from address 0.
func memoryOf(segments []segment) []byte {
	var end int64
	for _, s := range segments {
		end = max(end, s.offset+int64(len(s.data)))
	}
	memory := make([]byte, end)
	for _, s := range segments {
		copy(memory[s.offset:], s.data)
	}
	return memory
}

// cutSegments leaves out long runs of zeros.
func cutSegments(memory []byte) []segment {
	var segments []segment
	for at := 0; at < len(memory); {
		if memory[at] == 0 {
			at++
			continue
		}
		end, zeros := at, 0
		for end+zeros < len(memory) && zeros <= joinGap {
			if memory[end+zeros] == 0 {
				zeros++
			} else {
				end, zeros = end+zeros+1, 0
			}
		}
		segments = append(segments, segment{int64(at), memory[at:end]})
		at = end
	}
	return segments
}

func encodeSegments(segments []segment) []byte {
	b := binary.AppendUvarint(nil, uint64(len(segments)))
	for _, s := range segments {
		b = append(b, 0, opI32Const)
		b = appendInt(b, s.offset)
		b = append(b, opEnd)
		b = binary.AppendUvarint(b, uint64(len(s.data)))
		b = append(b, s.data...)
	}
	return b
}

// int reads a signed LEB128 number.
func (r *wasmReader) int() (int64, error) {
	var v int64
	for i, b := range r.rest {
		if i == 10 {
			return 0, errTooLong
		}
		v |= int64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			if b&0x40 != 0 && i < 9 {
				v |= -1 << (7 * (i + 1))
			}
			return v, nil
		}
	}
	return 0, errTruncated
}

// appendInt writes a signed LEB128 number.
func appendInt(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}
