package canonjson

import (
	"bytes"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Append appends the canonical form of a JSON value to dst. It fails, with the
// error of [jsonscan.ValidHalves], if data is not one JSON value, has a key twice
// or is nested deeper than [jsonscan.MaxDepth]; dst is returned as it was then.
func Append(dst, data []byte) ([]byte, error) {
	if err := jsonscan.ValidHalves(data); err != nil {
		return dst, err
	}
	return AppendChecked(dst, data), nil
}

// Same reports whether two JSON values mean the same, but for the order of members. Values
// that [Append] refuses are the same if their bytes are.
func Same(a, b []byte) bool {
	x, err := Append(nil, a)
	y, err2 := Append(nil, b)
	if err != nil || err2 != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x, y)
}

// AppendChecked is [Append] for data that is a part of what passed
// [jsonscan.ValidHalves]. It panics or writes nonsense if it is not.
func AppendChecked(dst, data []byte) []byte {
	w := writer{dst: dst, src: data}
	w.value()
	return w.dst
}

// A writer writes a value that was checked.
type writer struct {
	dst []byte
	src []byte
	pos int
}

// space passes over white space and returns what comes then, or 0.
func (w *writer) space() byte {
	for ; w.pos < len(w.src); w.pos++ {
		switch c := w.src[w.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (w *writer) value() {
	switch w.space() {
	case '{':
		w.object()
	case '[':
		w.array()
	case '"':
		w.dst = appendQuoted(w.dst, w.quoted())
	default:
		w.dst = appendScalar(w.dst, w.scalar())
	}
}

// scalar returns a number or a word, and passes over it.
func (w *writer) scalar() []byte {
	start := w.pos
	for w.pos < len(w.src) {
		switch w.src[w.pos] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return w.src[start:w.pos]
		}
		w.pos++
	}
	return w.src[start:]
}

// quoted returns what is between the quotes of a string, and passes over it.
func (w *writer) quoted() []byte {
	w.pos++
	start := w.pos
	for w.src[w.pos] != '"' {
		if w.src[w.pos] == '\\' {
			w.pos++
		}
		w.pos++
	}
	w.pos++
	return w.src[start : w.pos-1]
}

func (w *writer) array() {
	w.pos++
	w.dst = append(w.dst, '[')
	for w.space() != ']' {
		w.value()
		if w.space() == ',' {
			w.pos++
			w.dst = append(w.dst, ',')
		}
	}
	w.pos++
	w.dst = append(w.dst, ']')
}

// A span is where a member stands in what was written: the key from quote to
// quote, then the value.
type span struct{ start, key, end int }

func (w *writer) object() {
	w.pos++
	w.dst = append(w.dst, '{')
	begin := len(w.dst)
	var members []span
	sorted := true
	for w.space() != '}' {
		m := span{start: len(w.dst)}
		w.dst = appendQuoted(w.dst, w.quoted())
		m.key = len(w.dst)
		w.space()
		w.pos++ // the colon
		w.dst = append(w.dst, ':')
		w.value()
		m.end = len(w.dst)
		if n := len(members); n > 0 && w.compare(members[n-1], m) > 0 {
			sorted = false
		}
		members = append(members, m)
		if w.space() == ',' {
			w.pos++
			w.dst = append(w.dst, ',')
		}
	}
	w.pos++
	if !sorted {
		w.sort(begin, members)
	}
	w.dst = append(w.dst, '}')
}

// compare compares keys without their quotes: a key comes before those that it
// begins.
func (w *writer) compare(a, b span) int {
	return bytes.Compare(w.dst[a.start+1:a.key-1], w.dst[b.start+1:b.key-1])
}

// sort puts the members that were written from begin on in order.
func (w *writer) sort(begin int, members []span) {
	slices.SortFunc(members, w.compare)
	sorted := make([]byte, 0, len(w.dst)-begin)
	for i, m := range members {
		if i > 0 {
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, w.dst[m.start:m.end]...)
	}
	w.dst = append(w.dst[:begin], sorted...)
}
