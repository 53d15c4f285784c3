package jsonscan

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// A Cursor walks through a value that has passed [Scan] or [Valid]. It goes down
// into what it is asked for and passes over the rest, so that no byte is looked
// at more often than needed, however deep it lies.
type Cursor struct {
	data []byte
	pos  int
}

// Walk returns a cursor at value.
func Walk(value []byte) Cursor { return Cursor{data: value} }

// Kind returns the first byte of the value at the cursor, which tells its type:
// one of { [ " t f n, a minus or a digit; 0 at the end.
func (c *Cursor) Kind() byte {
	c.space()
	if c.pos >= len(c.data) {
		return 0
	}
	return c.data[c.pos]
}

// Members yields the keys of the object at the cursor, unescaped. The cursor is
// at the key's value then, and passes over it unless the loop does. Afterwards
// it is behind the object. Of another kind of value nothing is yielded.
func (c *Cursor) Members() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		if c.Kind() != '{' {
			return
		}
		c.pos++
		for c.Kind() == '"' {
			key := unquote(c.Value())
			c.space()
			c.pos++ // the colon
			c.space()
			start := c.pos
			if !yield(key) {
				return
			}
			if c.pos == start {
				c.Skip()
			}
			if c.Kind() == ',' {
				c.pos++
			}
		}
		c.pos++
	}
}

// Elements yields the places of the elements of the array at the cursor, from 0.
// The cursor is at the element then, and passes over it unless the loop does.
// Afterwards it is behind the array. Of another kind of value nothing is yielded.
func (c *Cursor) Elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		if c.Kind() != '[' {
			return
		}
		c.pos++
		for i := 0; c.Kind() != ']' && c.Kind() != 0; i++ {
			start := c.pos
			if !yield(i) {
				return
			}
			if c.pos == start {
				c.Skip()
			}
			if c.Kind() == ',' {
				c.pos++
			}
		}
		c.pos++
	}
}

// Value returns the value at the cursor as it stands there, and passes over it.
func (c *Cursor) Value() []byte {
	c.space()
	start := c.pos
	c.Skip()
	return c.data[start:c.pos:c.pos]
}

// From returns what lies between an earlier position and the cursor.
func (c *Cursor) From(pos int) []byte { return c.data[pos:c.pos:c.pos] }

// Pos returns where the value at the cursor begins.
func (c *Cursor) Pos() int {
	c.space()
	return c.pos
}

// Skip passes over the value at the cursor. Where none is it goes to the end.
func (c *Cursor) Skip() {
	switch c.Kind() {
	case '{', '[':
		c.skipNested()
	case '"':
		c.skipString()
	case ',', ']', '}', ':':
		c.pos = len(c.data)
	default:
		for c.pos < len(c.data) && !endsScalar(c.data[c.pos]) {
			c.pos++
		}
	}
}

func endsScalar(b byte) bool {
	switch b {
	case ',', ']', '}', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

func (c *Cursor) space() {
	for c.pos < len(c.data) {
		switch c.data[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

func (c *Cursor) skipNested() {
	for depth := 0; c.pos < len(c.data); {
		switch c.data[c.pos] {
		case '"':
			c.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.pos++
		if depth == 0 {
			return
		}
	}
}

// skipString looks for what ends the string, or hides its end, and for nothing
// else.
func (c *Cursor) skipString() {
	for c.pos++; c.pos < len(c.data); c.pos += 2 {
		c.pos = special(c.data, c.pos)
		if c.pos < len(c.data) && c.data[c.pos] == '"' {
			c.pos++
			return
		}
	}
	c.pos = len(c.data)
}

// special returns the place of the next quote or backslash, or the length.
func special(data []byte, pos int) int {
	for ; len(data)-pos >= 8; pos += 8 {
		w := binary.LittleEndian.Uint64(data[pos:])
		if found := zeros(w^'"'*ones) | zeros(w^'\\'*ones); found != 0 {
			return pos + bits.TrailingZeros64(found)/8
		}
	}
	for ; pos < len(data); pos++ {
		if data[pos] == '"' || data[pos] == '\\' {
			break
		}
	}
	return pos
}
