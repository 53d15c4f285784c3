package jsonc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
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
	return [...]string{Null: "null", Bool: "a boolean", Number: "a number", String: "a string", Array: "an array", Object: "an object"}[k]
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

// MemberText returns the Text of the member of n with the given key, "" if there is none.
func (n *Node) MemberText(key string) string {
	if m := n.Member(key); m != nil {
		return m.Value.Text
	}
	return ""
}

// At returns the node at a path of keys of objects and decimal indexes of arrays, nil if
// there is none.
func (n *Node) At(path []string) *Node {
	for _, key := range path {
		i, err := strconv.Atoi(key)
		switch m := n.Member(key); {
		case m != nil:
			n = &m.Value
		case err == nil && i >= 0 && i < len(n.Elems):
			n = &n.Elems[i]
		default:
			return nil
		}
	}
	return n
}

// Wrap returns an object that has n at a path, or n if that is empty.
func (n *Node) Wrap(path []string) *Node {
	for _, key := range slices.Backward(path) {
		n = &Node{Kind: Object, Members: []Member{{Key: key, Value: *n}}}
	}
	return n
}

// JSON returns n as plain JSON: no comments, no trailing commas, no white space; numbers
// as they are written.
func (n *Node) JSON() json.RawMessage { return n.appendJSON(nil) }

func (n *Node) appendJSON(dst []byte) []byte {
	switch n.Kind {
	case Array:
		dst = append(dst, '[')
		for i := range n.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = n.Elems[i].appendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range n.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(canonjson.AppendString(dst, n.Members[i].Key), ':')
			dst = n.Members[i].Value.appendJSON(dst)
		}
		return append(dst, '}')
	case String:
		return canonjson.AppendString(dst, n.Text)
	case Null:
		return append(dst, "null"...)
	default:
		return append(dst, n.Text...)
	}
}

// A Document is a parsed file. It is safe for concurrent use.
type Document struct {
	Root Node
	Data []byte // the source; not to be changed

	lines []int32 // offset of the first byte of each line
}

// New returns the document of a tree that another parser has made from data, which
// is no longer than [MaxSize]. Offsets are those in data; the Text of a Number must
// be a JSON number. The document keeps both: the caller must not change them.
func New(data []byte, root Node) *Document {
	starts := append(make([]int32, 0, bytes.Count(data, []byte{'\n'})+1), 0)
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, int32(i+1))
		}
	}
	return &Document{Root: root, Data: data, lines: starts}
}

// A Position is a place in a file. Line and Column count from 1; Column counts
// bytes, as the Go compiler does, and a byte order mark does not count.
type Position struct {
	Line, Column int
}

// Position returns the line and column of a byte offset. An offset outside the
// file gives the nearest place inside.
func (d *Document) Position(offset int) Position {
	offset = min(max(offset, 0), len(d.Data))
	line, found := slices.BinarySearch(d.lines, int32(offset))
	if !found {
		line--
	}
	return Position{line + 1, offset - max(int(d.lines[line]), MarkEnd(d.Data, offset)) + 1}
}

// Offset returns the byte offset of a line and a column, which count from 1; the nearest in
// the file if there is no such place.
func (d *Document) Offset(line, column int) int {
	start := int(d.lines[min(max(line, 1), len(d.lines))-1])
	if start == 0 {
		start = MarkEnd(d.Data, len(d.Data))
	}
	return min(start+max(column, 1)-1, len(d.Data))
}

// MarkEnd returns the offset after the byte order mark if offset is behind
// one, else 0.
func MarkEnd(data []byte, offset int) int {
	if bytes.HasPrefix(data[:offset], bom()) {
		return len(bom())
	}
	return 0
}

func bom() []byte { return []byte("\xef\xbb\xbf") }
