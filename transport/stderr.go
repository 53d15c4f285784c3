package transport

import (
	"bytes"
	"errors"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/proc"
)

// A ring keeps the last bytes of what it reads, and tells whole lines.
type ring struct {
	onLine func(string) // may be nil

	reading sync.Mutex // held while it is read, and guards the following
	line    []byte     // begun
	over    bool       // all is read
	last    []byte     // at most stderrInError
	cut     bool       // there was more before that
}

// longestLine is where a line is cut for the callback.
const longestLine = 4 << 10

// readFrom reads src until there is nothing to read now, and reports whether there can be
// more. It never stops reading before, or the child would block on a full pipe.
func (r *ring) readFrom(src func([]byte) (int, error)) (more bool) {
	r.reading.Lock()
	defer r.reading.Unlock()
	buf := make([]byte, 4<<10)
	for !r.over {
		n, err := src(buf)
		if errors.Is(err, proc.ErrNothing) {
			return true
		}
		r.last = append(r.last, buf[:n]...)
		if over := len(r.last) - stderrInError; over > 0 {
			r.last, r.cut = append(r.last[:0], r.last[over:]...), true
		}
		if r.onLine != nil {
			r.line = r.lines(append(r.line, buf[:n]...))
		}
		if err != nil {
			r.over = true
			if len(r.line) > 0 {
				r.onLine(string(r.line))
			}
		}
	}
	return false
}

// lines reports the whole lines in text and returns what is left.
func (r *ring) lines(text []byte) []byte {
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if len(line) > longestLine {
			line, rest, whole = text[:longestLine], text[longestLine:], true
		}
		if !whole {
			return bytes.Clone(line)
		}
		r.onLine(string(line))
		text = rest
	}
}

// tail returns the last bytes, from the beginning of a line if there is one.
func (r *ring) tail() string {
	r.reading.Lock()
	defer r.reading.Unlock()
	if _, whole, found := bytes.Cut(r.last, []byte("\n")); found && r.cut {
		return string(whole)
	}
	return string(r.last)
}
