package transport

import (
	"bytes"
	"io"

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
	// longPiece bounds the pieces in which a long line is read. They are put together once:
	// memory that grows with a line is copied and cleared again and again.
	longPiece = 1 << 20
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
	unread  []byte   // of small, or behind a long line
	pieces  [][]byte // of a long line, but for the last one
	before  int      // bytes of them
	afterCR bool     // the last line ended with CR
	over    bool     // the end of the stream was read
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
		if line == nil && !whole && size > 0 {
			line, shared = scratch.Get(0), true
		}
		line = append(line, part...) // read has put the rest of a long line there already
		if whole && shared {
			l.unread = bytes.Clone(l.unread) // which may stand behind the line
		}
		if int64(l.before+len(line)) > l.limit || oversize {
			if l.skipped += size; !l.skips || l.most > 0 && l.skipped > l.most {
				return nil, true, nil
			}
			if l.before > 0 {
				line = l.join(line)
			}
			line, oversize = ends(line), true
		}
		if whole {
			if shared {
				line = l.join(line)
			}
			return line, oversize, nil
		}
		if line, err = l.read(line); err != nil {
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

// join returns a line in memory of its own, of which last is the last piece.
func (l *lineReader) join(last []byte) []byte {
	l.pieces = append(l.pieces, last)
	line := scratch.Join(l.pieces...)
	clear(l.pieces)
	l.pieces, l.before = l.pieces[:0], 0
	return line
}

// read reads once, after the beginning of a line. It returns the last piece of that, behind
// which it puts what comes if the line is long.
func (l *lineReader) read(last []byte) ([]byte, error) {
	room, begun := l.small[:], last
	if l.before > 0 {
		begun = l.pieces[0]
	}
	if l.before+len(last) >= readRoom {
		if cap(last)-len(last) < readRoom {
			l.pieces, l.before = append(l.pieces, last), l.before+len(last)
			last = scratch.Get(min(max(l.before, longRead), longPiece))
		}
		room = last[len(last):min(cap(last), len(last)+longRead)]
	}
	waits := l.stall != nil && beginsMessage(begun)
	if waits {
		l.stall.Start()
	}
	n, err := l.r.Read(room)
	if n == 0 {
		return last, err
	}
	l.unread, l.over = room[:n], err == io.EOF
	if waits {
		l.stall.Stop()
	}
	if l.heard != nil {
		l.heard()
	}
	return last, nil
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
