package checkpoint

import (
	"errors"
	"io"

	"vrametre/calc/fault"
)

// Stream reads a file in order through one small window, so that what is skipped costs no memory.
type Stream struct {
	r    io.ReaderAt
	size int64
	// Pos is the offset of the next byte.
	Pos  int64
	buf  []byte
	base int64
	read int64
}

const (
	window = 64 << 10
	// maxRead bounds what one header makes read.
	maxRead = 256 << 20
)

// NewStream starts at an offset of a file of size bytes.
func NewStream(r io.ReaderAt, size, pos int64) *Stream { return &Stream{r: r, size: size, Pos: pos} }

// Left is how many bytes follow.
func (s *Stream) Left() int64 { return max(s.size-s.Pos, 0) }

// Next gives the next n bytes, valid until the following call; n is at most 64 KiB. The end of the file is thrown.
func (s *Stream) Next(n int) []byte {
	if int64(n) > s.Left() {
		fault.Throw("file-short", "", "bytes", s.size, "wanted", s.Pos+int64(n))
	}
	at := s.Pos - s.base
	if at < 0 || at+int64(n) > int64(len(s.buf)) {
		if s.buf == nil {
			s.buf = make([]byte, 0, window)
		}
		k := int(min(window, s.Left()))
		if s.read += int64(k); s.read > maxRead {
			fault.Throw("file-header", "", "limit", maxRead)
		}
		s.buf = s.buf[:k]
		if got, err := s.r.ReadAt(s.buf, s.Pos); got < k {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			fault.Throw("file-unreadable", "", "detail", err.Error())
		}
		s.base, at = s.Pos, 0
	}
	s.Pos += int64(n)
	return s.buf[at : at+int64(n)]
}

// Skip steps over n bytes.
func (s *Stream) Skip(n int64) {
	if n < 0 || n > s.Left() {
		fault.Throw("file-short", "", "bytes", s.size, "wanted", s.Pos)
	}
	s.Pos += n
}
