package pickle

import (
	"encoding/binary"
	"io"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/read/checkpoint"
)

// The zip directory, as far as it is needed: archive/zip keeps every entry, and a hostile directory has a million.
// Formats: PKWARE's APPNOTE.TXT, sections 4.3.7 to 4.3.16.

var le = binary.LittleEndian

// find gives where data.pkl lies in the archive.
func find(r io.ReaderAt, size int64) (from, n int64) {
	dir, length := directory(r, size)
	s := checkpoint.NewStream(r, size, dir)
	end := dir + length
	for s.Pos < end {
		h := s.Next(46)
		if le.Uint32(h) != 0x02014b50 {
			fault.Throw("zip-directory", "", "offset", s.Pos-46)
		}
		method, flags := le.Uint16(h[10:]), le.Uint16(h[8:])
		packed, plain := int64(le.Uint32(h[20:])), int64(le.Uint32(h[24:]))
		nameLen, extraLen, commentLen := int(le.Uint16(h[28:])), int(le.Uint16(h[30:])), int64(le.Uint16(h[32:]))
		at := int64(le.Uint32(h[42:]))
		name := string(s.Next(min(nameLen, 4096)))
		s.Skip(int64(nameLen - len(name)))
		extra := s.Next(extraLen)
		if name == "data.pkl" || strings.HasSuffix(name, "/data.pkl") {
			plain, packed, at = wide(extra, plain, packed, at)
			if method != 0 || flags&1 != 0 || packed != plain {
				fault.Throw("zip-compressed", name, "method", method)
			}
			if from = local(r, size, at, name); plain < 0 || from > size || plain > size-from {
				fault.Throw("file-short", name, "bytes", size, "wanted", plain)
			}
			return from, plain
		}
		s.Skip(commentLen)
	}
	fault.Throw("zip-without", "data.pkl")
	return 0, 0
}

// wide takes the 64-bit values of the extra field where the 32-bit ones are full.
func wide(extra []byte, plain, packed, at int64) (int64, int64, int64) {
	const full = 1<<32 - 1
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			break
		}
		if field := extra[:n]; id == 1 {
			for _, v := range []*int64{&plain, &packed, &at} {
				if *v == full && len(field) >= 8 {
					*v = int64(le.Uint64(field))
					field = field[8:]
				}
			}
		}
		extra = extra[n:]
	}
	return plain, packed, at
}

// local steps over the entry's own header.
func local(r io.ReaderAt, size, at int64, name string) int64 {
	if at < 0 || at > size-30 {
		fault.Throw("zip-directory", name, "offset", at)
	}
	h := checkpoint.NewStream(r, size, at).Next(30)
	if le.Uint32(h) != 0x04034b50 {
		fault.Throw("zip-directory", name, "offset", at)
	}
	return at + 30 + int64(le.Uint16(h[26:])) + int64(le.Uint16(h[28:]))
}

// directory finds the central directory from the record at the file's end.
func directory(r io.ReaderAt, size int64) (from, n int64) {
	const record, longest = 22, 22 + 1<<16 - 1
	k := min(size, longest)
	tail := make([]byte, k)
	if got, err := r.ReadAt(tail, size-k); int64(got) < k {
		detail := "cut short"
		if err != nil {
			detail = err.Error()
		}
		fault.Throw("file-unreadable", "", "detail", detail)
	}
	for i := len(tail) - record; i >= 0; i-- {
		if le.Uint32(tail[i:]) != 0x06054b50 {
			continue
		}
		from, n = int64(le.Uint32(tail[i+16:])), int64(le.Uint32(tail[i+12:]))
		if i >= 20 && le.Uint32(tail[i-20:]) == 0x07064b50 { // the 64-bit record's locator
			at := int64(le.Uint64(tail[i-12:]))
			if at < 0 || at > size-56 {
				fault.Throw("zip-directory", "", "offset", at)
			}
			h := checkpoint.NewStream(r, size, at).Next(56)
			if le.Uint32(h) != 0x06064b50 {
				fault.Throw("zip-directory", "", "offset", at)
			}
			from, n = int64(le.Uint64(h[48:])), int64(le.Uint64(h[40:]))
		}
		if from < 0 || n < 0 || from > size || n > size-from {
			fault.Throw("zip-directory", "", "offset", from)
		}
		return from, n
	}
	fault.Throw("zip-directory", "", "offset", size)
	return 0, 0
}
