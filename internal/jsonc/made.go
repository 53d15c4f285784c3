package jsonc

import (
	"bytes"
	"encoding/json"
)

// New returns the document of a tree that another parser has made from data, which
// is no longer than [MaxSize]. Offsets are those in data; the Text of a Number must
// be a JSON number. The document keeps both: the caller must not change them.
func New(data []byte, root Node) *Document {
	return &Document{Root: root, data: data, lines: lineStarts(data), made: true}
}

// Offset returns the byte offset of a line and a column, which count from 1; the nearest in
// the file if there is no such place.
func (d *Document) Offset(line, column int) int {
	start := int(d.lines[min(max(line, 1), len(d.lines))-1])
	if start == 0 {
		start = markEnd(d.data, len(d.data))
	}
	return min(start+max(column, 1)-1, len(d.data))
}

// appendMade is appendJSON for a value whose source is not JSON.
func appendMade(dst []byte, n *Node) []byte {
	switch n.Kind {
	case Array:
		dst = append(dst, '[')
		for i := range n.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendMade(dst, &n.Elems[i])
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range n.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendText(dst, n.Members[i].Key)
			dst = append(dst, ':')
			dst = appendMade(dst, &n.Members[i].Value)
		}
		return append(dst, '}')
	case String:
		return appendText(dst, n.Text)
	case Null:
		return append(dst, "null"...)
	default:
		return append(dst, n.Text...)
	}
}

func appendText(dst []byte, text string) []byte {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	_ = w.Encode(text) // a string never fails
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
