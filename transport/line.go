package transport

import (
	"bytes"
	"io"
)

// keptOfOversize is how much of the beginning and of the end of an oversize
// line is kept, to find out which request it belongs to.
const keptOfOversize = 256

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
	var head, tail []byte // of an oversize line
	var whole []byte
	size := int64(0)
	for {
		chunk, found, err := l.chunk()
		if err != nil {
			return line{}, err
		}
		size += int64(len(chunk))
		switch {
		case size <= l.limit:
			whole = append(whole, chunk...)
		case head == nil:
			whole = append(whole, chunk...)
			head = bytes.Clone(whole[:min(len(whole), keptOfOversize)])
			tail = bytes.Clone(whole[max(0, len(whole)-keptOfOversize):])
			whole = nil
		default:
			tail = append(tail, chunk...)
			tail = bytes.Clone(tail[max(0, len(tail)-keptOfOversize):])
		}
		if !found {
			continue
		}
		if head != nil {
			return line{append(head, tail...), true}, nil
		}
		return line{whole, false}, nil
	}
}

// chunk returns bytes up to the next newline, or all that is buffered, and
// whether a newline followed. The bytes are valid until the next call.
func (l *lineReader) chunk() ([]byte, bool, error) {
	if l.start == l.end {
		if l.buf == nil {
			l.buf = make([]byte, 32<<10)
		}
		n, err := l.r.Read(l.buf)
		l.start, l.end = 0, n
		if n == 0 {
			if err == nil {
				return nil, false, nil
			}
			return nil, false, err
		}
	}
	rest := l.buf[l.start:l.end]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		l.start += i + 1
		return rest[:i], true, nil
	}
	l.start = l.end
	return rest, false, nil
}
