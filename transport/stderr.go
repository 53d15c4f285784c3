package transport

import (
	"bytes"
	"errors"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/proc"
)

// A ring keeps the last bytes of what it reads, and tells whole lines.
type ring struct {
	onLine func(string) // may be nil
	size   int

	reading sync.Mutex // held while it is read, and guards the following
	line    []byte     // begun
	over    bool       // all is read

	mu  sync.Mutex // guards the following
	buf []byte
}

// longestLine is where a line is cut for the callback.
const longestLine = 4 << 10

func newRing(size int, onLine func(string)) *ring { return &ring{onLine: onLine, size: size} }

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
		r.keep(buf[:n])
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

func (r *ring) keep(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, b...)
	if over := len(r.buf) - r.size; over > 0 {
		r.buf = append(r.buf[:0], r.buf[over:]...)
	}
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

// tail returns the last n bytes, from the beginning of a line if there is one.
func (r *ring) tail(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.buf
	if len(text) > n {
		text = text[len(text)-n:]
		if _, rest, found := bytes.Cut(text, []byte("\n")); found {
			text = rest
		}
	}
	return printable(text)
}

// printable replaces control characters, which could steer a terminal.
func printable(text []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, string(text))
}
