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
	w := writer{jsonscan.Walk(data), dst}
	w.value()
	return w.dst
}

// A writer writes a value that was checked.
type writer struct {
	jsonscan.Cursor
	dst []byte
}

func (w *writer) value() {
	switch w.Kind() {
	case '{':
		w.object()
	case '[':
		w.array()
	case '"':
		w.text()
	default:
		w.dst = appendScalar(w.dst, w.Value())
	}
}

func (w *writer) text() {
	quoted := w.Value()
	w.dst = appendQuoted(w.dst, quoted[1:len(quoted)-1])
}

func (w *writer) array() {
	w.Step()
	w.dst = append(w.dst, '[')
	for w.Kind() != ']' {
		w.value()
		if w.Kind() == ',' {
			w.Step()
			w.dst = append(w.dst, ',')
		}
	}
	w.Step()
	w.dst = append(w.dst, ']')
}

// A span is where a member stands in what was written: the key from quote to
// quote, then the value.
type span struct{ start, key, end int }

func (w *writer) object() {
	w.Step()
	w.dst = append(w.dst, '{')
	begin := len(w.dst)
	var members []span
	sorted := true
	for w.Kind() != '}' {
		m := span{start: len(w.dst)}
		w.text()
		m.key = len(w.dst)
		w.Kind()
		w.Step() // the colon
		w.dst = append(w.dst, ':')
		w.value()
		m.end = len(w.dst)
		if n := len(members); n > 0 && w.compare(members[n-1], m) > 0 {
			sorted = false
		}
		members = append(members, m)
		if w.Kind() == ',' {
			w.Step()
			w.dst = append(w.dst, ',')
		}
	}
	w.Step()
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
