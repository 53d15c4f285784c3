package transport

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/stall"
)

// keptOfOversize is how much of the beginning and of the end of an oversize
// line is kept, to find out which request it belongs to.
const keptOfOversize = 256

const (
	// lineRoom is the memory that a reader keeps. Lines up to this size are put
	// together there and copied once.
	lineRoom = 32 << 10
	// longRead bounds one read of a longer line: as much as a pipe holds, if the system
	// allows it to be widened.
	longRead = 128 << 10
)

// A lineReader cuts a byte stream into lines. Each line gets memory of its own,
// since parts of it live on in results.
type lineReader struct {
	r     io.Reader
	lazy  lazyReader // r, if it can read lazily
	limit int64
	heard func()       // called when something is read; may be nil
	stall *stall.Watch // waits for the rest of a message; may be nil

	buf      []byte // unread bytes are buf[start:end]; nil while a lazy reader waits
	start    int
	end      int
	searched int // unread bytes without a newline

	long pieces // the beginning of a line that the buffer is too small for
	skip bool   // long is the ends of one that is too long
}

// A lazyReader takes memory for what it reads when there is something to read: an idle
// connection holds none.
type lazyReader interface {
	// ReadLazily reads once, into m.take(). It calls m.giveBack before it waits.
	ReadLazily(m *lineReader) (int, error)
}

// rooms are buffers of lineRoom bytes, as pointers to arrays.
var rooms = sync.Pool{New: func() any { return new([lineRoom]byte) }}

func (l *lineReader) take() []byte {
	if l.buf == nil {
		room, _ := rooms.Get().(*[lineRoom]byte)
		l.buf = room[:]
	}
	return l.buf
}

func (l *lineReader) giveBack() {
	if len(l.buf) == lineRoom {
		rooms.Put((*[lineRoom]byte)(l.buf))
	}
	l.buf = nil
}

// A line is what came before a newline, or the ends of it if it was too long.
type line struct {
	bytes    []byte
	oversize bool
}

// next returns the next line without its newline. At the end of input it
// returns the reader's error; an unfinished line is lost, since it may not be
// whole. After an error that was only an interruption it may be
// called again, and goes on where it was.
func (l *lineReader) next() (line, error) {
	if l.buf == nil && l.lazy == nil {
		l.buf = make([]byte, lineRoom)
	}
	for l.long.len() == 0 {
		rest := l.buf[l.start:l.end]
		if i := bytes.IndexByte(rest[l.searched:], '\n'); i >= 0 {
			i += l.searched
			l.start, l.searched = l.start+i+1, 0
			return l.limited(bytes.Clone(rest[:i])), nil
		}
		if len(rest) == len(l.buf) && l.buf != nil {
			l.long.add(rest)
			l.keep(nil)
			break
		}
		l.keep(rest)
		l.searched = len(rest)
		var n int
		var err error
		if len(rest) == 0 && l.lazy != nil {
			n, err = l.lazy.ReadLazily(l)
			if l.heard != nil && n > 0 {
				l.heard()
			}
		} else {
			n, err = l.read(l.buf[l.end:], rest)
		}
		if n == 0 && err != nil {
			return line{}, err
		}
		l.end += n
	}
	return l.nextLong()
}

// read reads once, after the beginning of a line. An interruption is not the end of
// the wait for its rest.
func (l *lineReader) read(p, begun []byte) (int, error) {
	waits := l.stall != nil && beginsMessage(begun)
	if waits {
		l.stall.Start()
	}
	n, err := l.r.Read(p)
	if waits && n > 0 {
		l.stall.Stop()
	}
	if l.heard != nil && n > 0 {
		l.heard()
	}
	return n, err
}

// keep makes rest, which may be a part of the buffer, all that is unread.
func (l *lineReader) keep(rest []byte) {
	if len(rest) > len(l.buf) {
		l.buf = make([]byte, longRead)
	}
	l.start, l.end, l.searched = 0, copy(l.buf, rest), 0
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

// nextLong reads the rest of a long line.
func (l *lineReader) nextLong() (line, error) {
	for {
		l.skip = l.skip || int64(l.long.len()) > l.limit
		if l.skip {
			l.long.cut()
		}
		room := l.long.room()
		room = room[:min(len(room), longRead)]
		n, err := l.read(room, l.long.beginning())
		if n == 0 && err != nil {
			return line{}, err
		}
		i := bytes.IndexByte(room[:n], '\n')
		if i < 0 {
			l.long.last += n
			continue
		}
		l.long.last += i
		l.keep(room[i+1 : n])
		oversize := l.skip || int64(l.long.len()) > l.limit
		l.skip = false
		if oversize {
			l.long.cut()
		}
		return line{l.long.join(), oversize}, nil
	}
}

// pieceSize is the size of a piece: several reads.
const pieceSize = 2 * longRead

// pieces are a long text whose length is not known before its end. It is put together once,
// and the pieces are used again: a slice that grows by itself takes several times the
// memory. The zero pieces are empty.
type pieces struct {
	all  []*[pieceSize]byte // full but for the last
	last int                // bytes in the last one
}

var unusedPieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

func (p *pieces) len() int { return max(len(p.all)-1, 0)*pieceSize + p.last }

// room returns memory for what comes next. The caller adds to last what it has filled.
func (p *pieces) room() []byte {
	if len(p.all) == 0 || p.last == pieceSize {
		piece, _ := unusedPieces.Get().(*[pieceSize]byte)
		p.all, p.last = append(p.all, piece), 0
	}
	return p.all[len(p.all)-1][p.last:]
}

// add appends a copy of text.
func (p *pieces) add(text []byte) {
	for len(text) > 0 {
		n := copy(p.room(), text)
		p.last += n
		text = text[n:]
	}
}

// beginning returns the first piece, as far as it is filled.
func (p *pieces) beginning() []byte {
	if len(p.all) == 0 {
		return nil
	}
	return p.all[0][:min(p.len(), pieceSize)]
}

// join returns the text in memory of its own, and empties p.
func (p *pieces) join() []byte {
	text := make([]byte, 0, p.len())
	for i, piece := range p.all {
		filled := piece[:]
		if i == len(p.all)-1 {
			filled = piece[:p.last]
		}
		text = append(text, filled...)
		unusedPieces.Put(piece)
	}
	*p = pieces{}
	return text
}

// cut keeps the ends of the text only. It is cheap, as it is called after each read.
func (p *pieces) cut() {
	k, n := len(p.all), min(p.last, keptOfOversize)
	if p.len() <= 2*keptOfOversize {
		return
	}
	tail := p.all[0][keptOfOversize : 2*keptOfOversize]
	if k > 1 { // a part of the tail may be in the last piece but one, which is full
		copy(tail, p.all[k-2][pieceSize-keptOfOversize+n:])
		copy(tail[keptOfOversize-n:], p.all[k-1][p.last-n:p.last])
	} else {
		copy(tail, p.all[0][p.last-keptOfOversize:p.last])
	}
	for i, piece := range p.all[1:] {
		unusedPieces.Put(piece)
		p.all[i+1] = nil
	}
	p.all, p.last = p.all[:1], 2*keptOfOversize
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
