// Package scratch has memory for what is needed for a moment: most of what a message costs is the
// memory that it takes on its way, and the collection of that.
package scratch

import (
	"bytes"
	"io"
	"sync"
)

// most bounds what is kept for others, in bytes.
const most = 1 << 20

// unused has slices for which others have no use, and headers has places for such slices.
var (
	unused  = sync.Pool{New: func() any { return new([]byte) }}
	headers = sync.Pool{New: func() any { return new([]byte) }}
)

// Get returns an empty slice that has room for that many bytes, or for more.
func Get(room int) (b []byte) {
	header := unused.Get().(*[]byte)
	b, *header = *header, nil
	headers.Put(header)
	if cap(b) < room {
		b = make([]byte, 0, room)
	}
	return b
}

// Put takes memory that nothing refers to any more.
func Put(b []byte) {
	if cap(b) > 0 && cap(b) <= most {
		header := headers.Get().(*[]byte)
		*header = b[:0]
		unused.Put(header)
	}
}

// Join returns what the pieces hold, in memory of its own and of that size. It takes them, as [Put] does.
func Join(pieces ...[]byte) []byte {
	if len(pieces) == 1 && cap(pieces[0]) > most {
		return pieces[0]
	}
	all := bytes.Join(pieces, nil)
	for _, b := range pieces {
		Put(b)
	}
	return all
}

// ReadAll reads until the end, as [io.ReadAll] does, into memory of the size of what came. With an error it
// returns the beginning. It is told the size, if that is known, and believes that of a long text only as far
// as a sixteenth of it has come.
func ReadAll(r io.Reader, size int64) (_ []byte, err error) {
	pieces, b, read := make([][]byte, 0, 8), Get(int(min(max(size+1, bytes.MinRead), most))), 0
	for err == nil {
		if len(b) == cap(b) {
			pieces, read = append(pieces, b), read+len(b)
			if int64(read) < size { // and it is no less than most, for which the first piece had room
				b = append(make([]byte, 0, min(size+1, 16*int64(read))), Join(pieces...)...)
				pieces, read = pieces[:0], 0
			} else {
				b = Get(min(max(read, bytes.MinRead), most))
			}
		}
		n := 0
		n, err = r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
	}
	if err == io.EOF {
		err = nil
	}
	return Join(append(pieces, b)...), err
}
