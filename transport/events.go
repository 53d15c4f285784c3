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
}

// An eventReader reads server-sent events as the HTML standard defines them:
// lines end with CR, LF or both, a line without a colon is a field with an
// empty value, and comments and unknown fields are skipped.
type eventReader struct {
	lines lineReader
	limit int64 // of the data of an event; a larger one ends the stream
	begun bool  // the first line, which may carry a byte order mark, was read
}

func newEventReader(r io.Reader, limit int64) *eventReader {
	return &eventReader{lines: lineReader{r: r, limit: limit + int64(len("data: ")), cr: true}, limit: limit}
}

// next returns the next event that carries anything. It returns io.EOF at the
// end of the stream; an event that was not finished by then is dropped.
func (e *eventReader) next() (event, error) {
	var ev event
	for {
		line, oversize, err := e.lines.next()
		switch {
		case err != nil:
			return event{}, err
		case oversize:
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
			ev = event{}
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
			if int64(len(ev.data)) > e.limit {
				return event{}, tooLarge(e.limit)
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
