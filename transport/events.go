package transport

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// An event is one server-sent event.
type event struct {
	name  string
	data  []byte
	id    string        // empty if the event has none
	retry time.Duration // at most longestRetry; zero if the event has none
	// oversize says that data holds only the ends of what was too large.
	oversize bool
}

// maxSkipped is how many times its limit an event may be long to be skipped.
// One that is longer, or has no end, ends the stream.
const maxSkipped = 16

// An eventReader reads server-sent events as the HTML standard defines them:
// lines end with CR, LF or both, a line without a colon is a field with an
// empty value, and comments and unknown fields are skipped.
type eventReader struct {
	r     io.Reader
	limit int64
	// skips says that an event that is too large is skipped, but for its ends,
	// instead of ending the stream.
	skips bool
	// waits says that nothing may come for long: no buffer is held meanwhile.
	waits bool

	idle    [64]byte         // what the beginning of an event is waited for with
	small   *[eventRoom]byte // what the rest is read into; nil: not needed now
	big     *[pieceSize]byte // in the place of small while a long line is read
	unread  []byte           // of one of them
	long    pieces           // the line, from where it is long
	between bool             // it waits for the next event
	over    bool             // the end of the stream was read
	afterCR bool             // the last line ended with CR
	begun   bool             // the first line, which may carry a byte order mark, was read
	skipped int64            // bytes of this event, about, since it is too large
}

const eventRoom = 4 << 10

var eventRooms = sync.Pool{New: func() any { return new([eventRoom]byte) }}

func newEventReader(r io.Reader, limit int64) *eventReader {
	return &eventReader{r: r, limit: limit}
}

// next returns the next event that carries anything. It returns io.EOF at the
// end of the stream; an event that was not finished by then is dropped.
func (e *eventReader) next() (event, error) {
	var ev event
	var data, spare []byte
	e.skipped, e.between = 0, e.waits && len(e.unread) == 0
	for {
		room := e.limit - int64(len(data))
		if ev.oversize {
			room = keptOfOversize // more of it is not used
		}
		line, oversize, err := e.line(spare, room+int64(len("data: ")))
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 && !oversize {
			if data == nil && ev.id == "" && ev.retry == 0 {
				ev, e.between = event{}, e.waits && len(e.unread) == 0
				continue
			}
			ev.data = data
			return ev, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if ev.oversize {
				spare = line[:0]
			}
			switch {
			case data != nil:
				data = append(append(data, '\n'), value...)
			case value == nil:
				data = []byte{}
			default:
				data = value // which has memory of its own
			}
			if ev.oversize = ev.oversize || oversize || int64(len(data)) > e.limit; ev.oversize {
				if e.skipped += int64(len(value)); !e.skips || e.skipped > maxSkipped*e.limit {
					return event{}, tooLarge(e.limit)
				}
				data = cut(data)
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

// line returns the next line without its end, or the ends of one that is longer
// than limit. A line end of CR LF that arrives in two reads must not make two
// lines, and a CR must end its line at once.
//
// It is put into spare, if there is room.
func (e *eventReader) line(spare []byte, limit int64) (line []byte, oversize bool, err error) {
	line = spare
	for {
		chunk, found, err := e.chunk()
		if err != nil {
			return nil, false, err
		}
		if len(line)+len(chunk) > eventRoom || e.long.len() > 0 {
			e.long.add(line)
			e.long.add(chunk)
			line = nil
		} else {
			if cap(line)-len(line) < len(chunk) {
				line = slices.Grow(line, max(len(line), len(chunk)))
			}
			line = append(line, chunk...)
		}
		if oversize = oversize || int64(len(line)+e.long.len()) > limit; oversize {
			if e.skipped += int64(len(chunk)); !e.skips || e.skipped > maxSkipped*e.limit {
				return nil, false, tooLarge(e.limit)
			}
			e.long.cut()
			line = cut(line)
		}
		if !found {
			continue
		}
		if e.long.len() > 0 {
			line = e.long.join()
			e.shrink()
		}
		if !e.begun {
			e.begun = true
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		return line, oversize, nil
	}
}

// cut returns the ends of a text that is too long, in its own memory unless that
// is worth giving back.
func cut(text []byte) []byte {
	if cap(text) > lineRoom {
		return ends(text)
	}
	if len(text) <= 2*keptOfOversize {
		return text
	}
	copy(text[keptOfOversize:], text[len(text)-keptOfOversize:])
	return text[:2*keptOfOversize]
}

// chunk returns bytes up to the end of the line, or all that are buffered, and
// whether the line ended. They are valid until the next call.
func (e *eventReader) chunk() ([]byte, bool, error) {
	for len(e.unread) == 0 || e.afterCR {
		if len(e.unread) == 0 {
			room := e.room()
			n, err := e.r.Read(room)
			e.unread, e.over = room[:n], err == io.EOF
			if n == 0 && err != nil {
				return nil, false, err
			}
			continue
		}
		e.afterCR = false
		if e.unread[0] == '\n' {
			e.unread = e.unread[1:]
		}
	}
	rest := e.unread
	at := bytes.IndexByte(rest, '\n')
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 && (at < 0 || cr < at) {
		at = cr
	}
	if at < 0 {
		e.unread = nil
		return rest, false, nil
	}
	e.afterCR = rest[at] == '\r'
	e.unread = rest[at+1:]
	return rest[:at], true, nil
}

// room returns memory to read into, when nothing is unread.
func (e *eventReader) room() []byte {
	switch {
	case e.long.len() > 0:
		if e.big == nil {
			e.big, _ = unusedPieces.Get().(*[pieceSize]byte)
		}
		return e.big[:longRead]
	case e.between:
		e.giveBack()
		e.between = false
		return e.idle[:]
	}
	e.shrink()
	return e.roomOf()[:]
}

// roomOf returns small.
func (e *eventReader) roomOf() *[eventRoom]byte {
	if e.small == nil {
		e.small, _ = eventRooms.Get().(*[eventRoom]byte)
	}
	return e.small
}

// shrink ends the use of big, unless what is unread fills more than small.
func (e *eventReader) shrink() {
	if e.big != nil && len(e.unread) <= eventRoom {
		small := e.roomOf()
		e.unread = small[:copy(small[:], e.unread)]
		unusedPieces.Put(e.big)
		e.big = nil
	}
}

// giveBack ends the use of the reader, or of its memory when nothing is unread.
func (e *eventReader) giveBack() {
	e.unread = nil
	if e.big != nil {
		unusedPieces.Put(e.big)
		e.big = nil
	}
	if e.small != nil {
		eventRooms.Put(e.small)
		e.small = nil
	}
}
