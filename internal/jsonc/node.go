package jsonc

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A Kind is the JSON type of a [Node].
type Kind int

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the kind with its article, as error texts need it.
func (k Kind) String() string {
	switch k {
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	default:
		return "null"
	}
}

// A Node is one value of a [Document]. It is not changed after [Parse].
type Node struct {
	Kind   Kind
	Offset int // of the first byte of the value in the source
	End    int // of the first byte after the value

	// Text is the decoded content of a String, the literal of a Number with
	// every digit as written, "true" or "false" of a Bool, else empty.
	Text string

	Members []Member // of an Object, in source order, keys unique
	Elems   []Node   // of an Array
}

// A Member is one key and value of an object.
type Member struct {
	Key    string // decoded
	Offset int    // of the key's opening quote in the source
	Value  Node
}

// Member returns the member of n with the given key, or nil if n has none or
// is not an object.
func (n *Node) Member(key string) *Member {
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i]
		}
	}
	return nil
}

// A Document is a parsed file. It is safe for concurrent use.
type Document struct {
	Root Node

	data  []byte
	lines []int32 // offset of the first byte of each line
	made  bool    // by New: the source is not JSON
}

// Source returns the bytes of n as they stand in the file, comments included.
// The caller must not change them.
func (d *Document) Source(n *Node) []byte { return d.data[n.Offset:n.End:n.End] }

// JSON returns n as plain JSON: no comments, no trailing commas, no white
// space; strings and numbers byte for byte as in the source. The result shares
// nothing with the document.
func (d *Document) JSON(n *Node) json.RawMessage {
	if d.made {
		return appendMade(nil, n)
	}
	return d.appendJSON(make([]byte, 0, n.End-n.Offset), n)
}

func (d *Document) appendJSON(dst []byte, n *Node) []byte {
	switch n.Kind {
	case Array:
		dst = append(dst, '[')
		for i := range n.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = d.appendJSON(dst, &n.Elems[i])
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range n.Members {
			m := &n.Members[i]
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, d.data[m.Offset:stringEnd(d.data, m.Offset)]...)
			dst = append(dst, ':')
			dst = d.appendJSON(dst, &m.Value)
		}
		return append(dst, '}')
	default:
		return append(dst, d.data[n.Offset:n.End]...)
	}
}

// stringEnd returns the offset after the string that starts at start, which
// the parser has already accepted.
func stringEnd(data []byte, start int) int {
	for i := start + 1; ; i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// A Position is a place in a file. Line and Column count from 1; Column counts
// bytes, as the Go compiler does, and a byte order mark does not count.
type Position struct {
	Line, Column int
}

// Position returns the line and column of a byte offset. An offset outside the
// file gives the nearest place inside.
func (d *Document) Position(offset int) Position {
	offset = min(max(offset, 0), len(d.data))
	line, found := slices.BinarySearch(d.lines, int32(offset))
	if !found {
		line--
	}
	return Position{line + 1, offset - max(int(d.lines[line]), markEnd(d.data, offset)) + 1}
}

// lineStarts indexes the lines of data, which is no longer than MaxSize.
func lineStarts(data []byte) []int32 {
	starts := append(make([]int32, 0, bytes.Count(data, []byte{'\n'})+1), 0)
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, int32(i+1))
		}
	}
	return starts
}

// markEnd returns the offset after the byte order mark if offset is behind
// one, else 0.
func markEnd(data []byte, offset int) int {
	if bytes.HasPrefix(data[:offset], bom()) {
		return len(bom())
	}
	return 0
}

// position is Document.Position without the index, for the one error of a parse.
func position(data []byte, offset int) Position {
	offset = min(max(offset, 0), len(data))
	before := data[:offset]
	start := max(bytes.LastIndexByte(before, '\n')+1, markEnd(data, offset))
	return Position{bytes.Count(before, []byte{'\n'}) + 1, offset - start + 1}
}

func bom() []byte { return []byte("\xef\xbb\xbf") }
