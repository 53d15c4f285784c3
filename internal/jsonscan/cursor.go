package jsonscan

import (
	"bytes"
	"iter"
)

// A Cursor walks through a value that has passed [Scan] or [Valid]. It goes down
// into what it is asked for and passes over the rest, so that no byte is looked
// at more often than needed, however deep it lies.
type Cursor struct{ reader }

// Walk returns a cursor at value.
func Walk(value []byte) Cursor { return Cursor{reader{data: value}} }

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

// Checked is Value for an element of a list of which only the end is certain, see
// [ScanLists]. The error is that of [Valid].
func (c *Cursor) Checked() (value []byte, err error) {
	c.space()
	s := scanner{reader: reader{data: c.data[c.pos:]}}
	if err = s.value(0); err == nil {
		s.data = s.data[:s.pos:s.pos]
		err = s.characters()
	}
	if err != nil {
		return c.Value(), err
	}
	c.pos += s.pos
	return s.data, nil
}

// From returns what lies between an earlier position and the cursor.
func (c *Cursor) From(pos int) []byte { return c.data[pos:c.pos:c.pos] }

// Pos returns where the value at the cursor begins.
func (c *Cursor) Pos() int {
	c.space()
	return c.pos
}

// Step passes over the bracket, comma or colon at the cursor.
func (c *Cursor) Step() { c.pos++ }

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

func (c *Cursor) skipString() { c.pos, _ = EndOfString(c.data, c.pos) }

// EndOfString returns where the string ends that begins at start, or the length if it
// has no end. It looks for the quote that ends it, and for nothing else.
func EndOfString(data []byte, start int) (end int, ok bool) {
	for pos := start + 1; ; {
		i := bytes.IndexByte(data[pos:], '"')
		if i < 0 {
			return len(data), false
		}
		quote := pos + i
		content := quote
		for content > pos && data[content-1] == '\\' {
			content--
		}
		if pos = quote + 1; (quote-content)%2 == 0 {
			return pos, true
		}
	}
}
