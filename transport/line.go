package transport

import (
	"bytes"
	"io"
	"slices"
)

// keptOfOversize is how much of the beginning and of the end of an oversize
// line is kept, to find out which request it belongs to.
const keptOfOversize = 256

const (
	// lineRoom is the memory that a reader keeps. Lines up to this size are put
	// together there and copied once.
	lineRoom = 32 << 10
	// longRead bounds one read of a longer line: as much as a pipe holds.
	longRead = 64 << 10
)

// A lineReader cuts a byte stream into lines. Each line gets memory of its own,
// since parts of it live on in results.
type lineReader struct {
	r     io.Reader
	limit int64

	buf   []byte // unread bytes are buf[start:end]
	start int
	end   int
}

// A line is what came before a newline, or the ends of it if it was too long.
type line struct {
	bytes    []byte
	oversize bool
}

// next returns the next line without its newline. At the end of input it
// returns the reader's error; an unfinished line is lost, since nobody can tell
// whether it is whole.
func (l *lineReader) next() (line, error) {
	if l.buf == nil {
		l.buf = make([]byte, lineRoom)
	}
	for searched := 0; ; {
		rest := l.buf[l.start:l.end]
		if i := bytes.IndexByte(rest[searched:], '\n'); i >= 0 {
			l.start += searched + i + 1
			return l.limited(bytes.Clone(rest[:searched+i])), nil
		}
		searched = len(rest)
		if searched == len(l.buf) {
			l.start = l.end
			return l.long(rest)
		}
		l.keep(rest)
		n, err := l.r.Read(l.buf[l.end:])
		if n == 0 && err != nil {
			return line{}, err
		}
		l.end += n
	}
}

// keep makes rest, which may be a part of the buffer, all that is unread.
func (l *lineReader) keep(rest []byte) {
	if len(rest) > len(l.buf) {
		l.buf = make([]byte, longRead)
	}
	l.start, l.end = 0, copy(l.buf, rest)
}

func (l *lineReader) limited(text []byte) line {
	if int64(len(text)) > l.limit {
		return line{ends(text), true}
	}
	return line{text, false}
}

// ends returns the beginning and the end of a line that is too long.
func ends(text []byte) []byte {
	head := text[:min(len(text), keptOfOversize)]
	return slices.Concat(head, text[max(len(head), len(text)-keptOfOversize):])
}

// long reads the rest of a line that the buffer is too small for, most of it
// without a copy.
func (l *lineReader) long(begun []byte) (line, error) {
	text := append(make([]byte, 0, 4*len(begun)), begun...)
	for int64(len(text)) <= l.limit {
		if cap(text)-len(text) < lineRoom {
			text = slices.Grow(text, len(text))
		}
		room := text[len(text):min(cap(text), len(text)+longRead)]
		n, err := l.r.Read(room)
		if n == 0 && err != nil {
			return line{}, err
		}
		if i := bytes.IndexByte(room[:n], '\n'); i >= 0 {
			l.keep(room[i+1 : n])
			return l.limited(text[: len(text)+i : len(text)+i]), nil
		}
		text = text[:len(text)+n]
	}
	return l.skip(ends(text))
}

// skip reads to the end of a line that is too long, of which it returns the
// ends.
func (l *lineReader) skip(kept []byte) (line, error) {
	head := kept[:min(len(kept), keptOfOversize)]
	tail := kept[len(head):]
	for {
		n, err := l.r.Read(l.buf)
		if n == 0 && err != nil {
			return line{}, err
		}
		chunk, rest, found := bytes.Cut(l.buf[:n], []byte{'\n'})
		tail = slices.Concat(tail, chunk[max(0, len(chunk)-keptOfOversize):])
		tail = tail[max(0, len(tail)-keptOfOversize):]
		if found {
			l.keep(rest)
			return line{slices.Concat(head, tail), true}, nil
		}
	}
}
