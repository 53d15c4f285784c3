package transport

import (
	"bytes"
	"io"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/scratch"
	"github.com/mcpbelt/mcpbelt/internal/stall"
)

const (
	// keptOfOversize is how much of the beginning and of the end of an oversize line is
	// kept, to find out which request it belongs to.
	keptOfOversize = 256
	// readRoom is the memory that a reader holds while it waits. Most messages fit.
	readRoom = 2 << 10
	// longRead bounds one read of a longer line: as much as a pipe holds, if the system
	// allows it to be widened.
	longRead = 128 << 10
	// longRoom is what a line that is longer than that gets at once: growing by steps costs
	// more than all of it, and scratch keeps as much for the next one.
	longRoom = 1 << 20
)

// A lineReader cuts a byte stream into lines. Each line gets memory of its own, since
// parts of it live on in results.
type lineReader struct {
	r     io.Reader
	limit int64 // of a line, in bytes
	// skips says that a line that is too long is skipped, but for its ends. Otherwise it ends
	// the reading, at once and without an error.
	skips   bool
	most    int64        // of skips, in bytes of skipped; more ends the reading, too; 0: no limit
	skipped int64        // bytes of lines that were too long; who reads sets it to 0 again
	cr      bool         // CR and CR LF end a line, too
	heard   func()       // called when something was read; may be nil
	stall   *stall.Watch // waits for the rest of a message; may be nil

	small   [readRoom]byte
	large   []byte // in the place of small while a long line is read
	unread  []byte // of one of them
	afterCR bool   // the last line ended with CR
	over    bool   // the end of the stream was read
}

// next returns the next line without its end, or the ends of one that is longer than the
// limit. At the end of input it returns the reader's error; an unfinished line is lost, since
// it may not be whole.
func (l *lineReader) next() (line []byte, oversize bool, err error) {
	shared := false
	for {
		part, whole := l.part()
		size := int64(len(part))
		if oversize { // its beginning is kept already
			part = part[max(0, len(part)-keptOfOversize):]
		}
		if line == nil && !whole {
			line, shared = scratch.Get(), true
		}
		if cap(line)-len(line) < len(part) {
			room := max(len(line), len(part))
			if len(line) >= longRead {
				room = max(room, longRoom-len(line))
			}
			line = slices.Grow(line, room)
		}
		line = append(line, part...)
		if int64(len(line)) > l.limit || oversize {
			if l.skipped += size; !l.skips || l.most > 0 && l.skipped > l.most {
				return nil, true, nil
			}
			line, oversize = ends(line), true
		}
		if whole {
			if shared {
				line = scratch.Own(line)
			}
			return line, oversize, nil
		}
		if err := l.read(line); err != nil {
			return nil, false, err
		}
	}
}

// part returns what is unread up to the end of the line, or all of it, and whether the line
// ended.
func (l *lineReader) part() (part []byte, whole bool) {
	if l.afterCR && len(l.unread) > 0 {
		l.afterCR = false
		l.unread = bytes.TrimPrefix(l.unread, []byte("\n"))
	}
	at := bytes.IndexByte(l.unread, '\n')
	if l.cr {
		if cr := bytes.IndexByte(l.unread, '\r'); cr >= 0 && (at < 0 || cr < at) {
			at, l.afterCR = cr, true
		}
	}
	part = l.unread
	if at < 0 {
		l.unread = nil
		return part, false
	}
	l.unread = part[at+1:]
	return part[:at], true
}

// read reads once, after the beginning of a line.
func (l *lineReader) read(begun []byte) error {
	room := l.small[:]
	if len(begun) < readRoom {
		scratch.Put(l.large)
		l.large = nil
	} else {
		if l.large == nil {
			l.large = slices.Grow(scratch.Get(), longRead)[:longRead]
		}
		room = l.large
	}
	waits := l.stall != nil && beginsMessage(begun)
	if waits {
		l.stall.Start()
	}
	n, err := l.r.Read(room)
	if n == 0 {
		return err
	}
	l.unread, l.over = room[:n], err == io.EOF
	if waits {
		l.stall.Stop()
	}
	if l.heard != nil {
		l.heard()
	}
	return nil
}

// ends returns the beginning and the end of a line that is too long, in its own memory.
func ends(text []byte) []byte {
	if len(text) > 2*keptOfOversize {
		copy(text[keptOfOversize:], text[len(text)-keptOfOversize:])
		text = text[:2*keptOfOversize]
	}
	return text
}

// beginsMessage reports whether text is the beginning of a message, or of a batch of
// them, and not of a line of another kind.
func beginsMessage(text []byte) bool {
	const blanks = " \t\r"
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), blanks)
	if rest, batch := bytes.CutPrefix(text, []byte("[")); batch {
		text = bytes.TrimLeft(rest, blanks)
	}
	return len(text) > 0 && text[0] == '{'
}
