package transport

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// An event is one server-sent event.
type event struct {
	name  string
	data  []byte        // nil if the event has none
	id    string        // empty if the event has none
	retry time.Duration // at most longestRetry; zero if the event has none
	// oversize says that data holds only the ends of what was too large.
	oversize bool
}

// An eventReader reads server-sent events as the HTML standard defines them:
// lines end with CR, LF or both, a line without a colon is a field with an
// empty value, and comments and unknown fields are skipped.
type eventReader struct {
	lines lineReader
	limit int64 // of the data of an event; a larger one ends the stream, unless lines skips what is too long
	begun bool  // the first line, which may carry a byte order mark, was read
}

func newEventReader(r io.Reader, limit int64) *eventReader {
	return &eventReader{lines: lineReader{r: r, limit: limit + int64(len("data: ")), cr: true}, limit: limit}
}

// maxSkipped is how many times the limit an event may be long to be skipped.
const maxSkipped = 16

// skip has events that are too large come as their ends, unless they are far too large.
func (e *eventReader) skip() { e.lines.skips, e.lines.most = true, maxSkipped*e.limit }

// next returns the next event that carries anything. It returns io.EOF at the
// end of the stream; an event that was not finished by then is dropped.
func (e *eventReader) next() (event, error) {
	var ev event
	e.lines.skipped = 0
	for {
		line, oversize, err := e.lines.next()
		switch {
		case err != nil:
			return event{}, err
		case oversize && line == nil:
			return event{}, tooLarge(e.limit)
		}
		if !e.begun {
			e.begun = true
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(line) == 0 {
			if ev.data != nil || ev.id != "" || ev.retry != 0 {
				return ev, nil
			}
			ev, e.lines.skipped = event{}, 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			switch {
			case ev.data != nil:
				ev.data = append(append(ev.data, '\n'), value...)
			case value == nil:
				ev.data = []byte{}
			default:
				ev.data = value // which has memory of its own
			}
			if ev.oversize = ev.oversize || oversize || int64(len(ev.data)) > e.limit; ev.oversize {
				if e.lines.skipped += int64(len(value)); !e.lines.skips || e.lines.skipped > e.lines.most {
					return event{}, tooLarge(e.limit)
				}
				ev.data = ends(ev.data)
			}
		case "event":
			ev.name = string(value)
		case "id":
			if !bytes.ContainsRune(value, 0) {
				ev.id = string(value)
			}
		case "retry":
			// Of a number without end the largest that there is.
			if ms, err := strconv.ParseUint(string(value), 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
				ev.retry = time.Duration(min(ms, uint64(longestRetry.Milliseconds()))) * time.Millisecond
			}
		}
	}
}
