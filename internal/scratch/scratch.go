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

var unused = sync.Pool{New: func() any { return &[]byte{} }}

// Get returns an empty slice, with room that is left from others.
func Get() []byte { return *unused.Get().(*[]byte) }

// Put takes memory that nothing refers to any more.
func Put(b []byte) {
	if b = b[:0]; cap(b) > 0 && cap(b) <= most {
		unused.Put(&b)
	}
}

// Own returns what b holds, in memory of its own and of that size. It takes b, as [Put] does.
func Own(b []byte) []byte {
	if cap(b) > most {
		return b
	}
	defer Put(b)
	return bytes.Clone(b)
}

// ReadAll reads until the end, as [io.ReadAll] does, into memory of the size of what came. With an error it
// returns the beginning.
func ReadAll(r io.Reader) ([]byte, error) {
	b := bytes.NewBuffer(Get())
	_, err := b.ReadFrom(r)
	return Own(b.Bytes()), err
}
