package transport

import (
	"bytes"
	"io"
	"strconv"
	"time"
)

// An event is one server-sent event.
type event struct {
	name  string
	data  []byte
	id    string        // empty if the event has none
	retry time.Duration // zero if the event has none
}

// An eventReader reads server-sent events as the HTML standard defines them:
// lines end with CR, LF or both, a line without a colon is a field with an
// empty value, and comments and unknown fields are skipped.
type eventReader struct {
	r     io.Reader
	limit int64

	buf        [4 << 10]byte // unread bytes are buf[start:end]
	start, end int
	afterCR    bool // the last line ended with CR
	begun      bool // the first line, which may carry a byte order mark, was read
}

func newEventReader(r io.Reader, limit int64) *eventReader {
	return &eventReader{r: r, limit: limit}
}

// next returns the next event that carries anything. It returns io.EOF at the
// end of the stream; an event that was not finished by then is dropped.
func (e *eventReader) next() (event, error) {
	var ev event
	var data []byte
	for {
		line, err := e.line(e.limit - int64(len(data)) + int64(len("data: ")))
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if data == nil && ev.id == "" && ev.retry == 0 {
				ev = event{}
				continue
			}
			if data != nil {
				ev.data = data[:len(data)-1] // without the last newline
			}
			return ev, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if int64(len(data)+len(value)) > e.limit {
				return event{}, tooLarge(e.limit)
			}
			data = append(append(data, value...), '\n')
		case "event":
			ev.name = string(value)
		case "id":
			if !bytes.ContainsRune(value, 0) {
				ev.id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				ev.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns the next line without its end. A line end of CR LF that arrives
// in two reads must not make two lines, and a CR must end its line at once.
func (e *eventReader) line(limit int64) ([]byte, error) {
	var line []byte
	for {
		if e.start == e.end {
			n, err := e.r.Read(e.buf[:])
			e.start, e.end = 0, n
			if n == 0 {
				if err == nil {
					continue
				}
				return nil, err
			}
		}
		if e.afterCR {
			e.afterCR = false
			if e.buf[e.start] == '\n' {
				e.start++
				continue
			}
		}
		rest := e.buf[e.start:e.end]
		at := bytes.IndexByte(rest, '\n')
		if cr := bytes.IndexByte(rest, '\r'); cr >= 0 && (at < 0 || cr < at) {
			at, e.afterCR = cr, true
		}
		found := at >= 0
		if !found {
			at = len(rest)
		}
		if int64(len(line)+at) > limit {
			return nil, tooLarge(e.limit)
		}
		line = append(line, rest[:at]...)
		e.start += at
		if !found {
			continue
		}
		e.start++
		if !e.begun {
			e.begun = true
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		return line, nil
	}
}
