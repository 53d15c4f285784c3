package codex

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxKeys bounds the keys of a file, also those of headers: what checks that none is
// there twice takes the square of their number.
const maxKeys = 1 << 13

// parse reads TOML into the common tree. Its error is a [*jsonc.SyntaxError].
func parse(data []byte) (*jsonc.Document, error) {
	if err := jsonc.CheckText(data); err != nil {
		return nil, err
	}
	b := &builder{all: data, data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	b.mark = len(data) - len(b.data)
	b.root = jsonc.Node{Kind: jsonc.Object, End: len(data)}
	if err := b.build(); err != nil {
		return nil, err
	}
	// The tree is bounded now. The decoder of the library checks what may stand twice,
	// and what a number may be.
	var decoded map[string]any
	if err := toml.Unmarshal(b.data, &decoded); err != nil {
		return nil, b.refused(err)
	}
	return jsonc.New(data, b.root), nil
}

// refused is the error of the decoder, without the values that it may quote.
func (b *builder) refused(err error) error {
	var bad *toml.DecodeError
	if !errors.As(err, &bad) {
		return b.fail(0, "this is not TOML")
	}
	line, column := bad.Position()
	message, _, _ := strings.Cut(strings.TrimPrefix(bad.Error(), "toml: "), ":")
	var at jsonc.Path
	for _, key := range bad.Key() {
		at = at.Key(key)
	}
	return &jsonc.SyntaxError{Position: jsonc.Position{Line: line, Column: column}, Path: at, Message: plain.Line(message)}
}

// A builder makes the tree of one file. Offsets in nodes are those of the whole file. The
// tree of a file that the decoder refuses is of no use.
type builder struct {
	all, data []byte // data is all without the byte order mark
	mark      int    // length of that
	root      jsonc.Node
	parser    unstable.Parser
	nodes     int
	keys      int
}

func (b *builder) fail(offset int, format string, args ...any) error {
	at := jsonc.New(b.all, jsonc.Node{}).Position(b.mark + offset)
	return &jsonc.SyntaxError{Position: at, Message: fmt.Sprintf(format, args...)}
}

// count bounds the tree.
func (b *builder) count(offset, depth int) error {
	if b.nodes++; b.nodes > jsonc.MaxNodes {
		return b.fail(offset, "the file has more than %d values", jsonc.MaxNodes)
	}
	if depth > jsonc.MaxDepth {
		return b.fail(offset, "nested deeper than %d levels", jsonc.MaxDepth)
	}
	return nil
}

func (b *builder) build() error {
	// What can begin a value in a list is counted, nearly: to parse a file must not take
	// more memory than its tree is allowed.
	few := 0
	for _, c := range []byte(",[{.") {
		few += bytes.Count(b.data, []byte{c})
	}
	if few > 2*jsonc.MaxNodes {
		return b.fail(0, "the file has more than %d values", jsonc.MaxNodes)
	}
	b.parser.Reset(b.data)
	table, depth := &b.root, 0
	for b.parser.NextExpression() {
		n := b.parser.Expression()
		var err error
		if n.Kind == unstable.KeyValue {
			_, err = b.keyValue(table, n, depth)
		} else {
			table, depth, err = b.header(n)
		}
		if err != nil {
			return err
		}
	}
	err := b.parser.Error()
	if err == nil {
		return nil
	}
	var bad *unstable.ParserError
	if !errors.As(err, &bad) {
		return b.fail(0, "this is not TOML")
	}
	return b.fail(int(b.parser.Range(bad.Highlight).Offset), "%s", plain.Line(bad.Message))
}

// below follows a dotted key from n, and makes the tables that are not there yet. It
// returns the value, whether it is new, how many parts the key has, and where it ends.
func (b *builder) below(n *jsonc.Node, key unstable.Iterator, depth int) (value *jsonc.Node, fresh bool, parts, end int, err error) {
	for key.Next() {
		k := key.Node()
		at := int(k.Raw.Offset)
		parts, end = parts+1, at+int(k.Raw.Length)
		if b.keys++; b.keys > maxKeys {
			return nil, false, 0, 0, b.fail(at, "the file has more than %d keys", maxKeys)
		}
		if err := b.count(at, depth+parts); err != nil {
			return nil, false, 0, 0, err
		}
		if n.Kind == jsonc.Array && len(n.Elems) > 0 { // of tables: the last one
			n = &n.Elems[len(n.Elems)-1]
		}
		m := n.Member(string(k.Data))
		if fresh = m == nil; fresh {
			n.Members = append(n.Members, jsonc.Member{Key: string(k.Data), Offset: b.mark + at,
				Value: jsonc.Node{Kind: jsonc.Object, Offset: b.mark + at, End: b.mark + end}})
			m = &n.Members[len(n.Members)-1]
		}
		n = &m.Value
	}
	return n, fresh, parts, end, nil
}

// header opens the table that a header names.
func (b *builder) header(n *unstable.Node) (*jsonc.Node, int, error) {
	value, fresh, depth, _, err := b.below(&b.root, n.Key(), 0)
	if err != nil || n.Kind != unstable.ArrayTable {
		return value, depth, err
	}
	table := jsonc.Node{Kind: jsonc.Object, Offset: value.Offset, End: value.End}
	if fresh {
		value.Kind = jsonc.Array
	}
	value.Elems = append(value.Elems, table)
	return &value.Elems[len(value.Elems)-1], depth + 1, nil
}

// keyValue adds what n says to a table, and returns the offset in data after it.
func (b *builder) keyValue(table *jsonc.Node, n *unstable.Node, depth int) (int, error) {
	value, fresh, parts, end, err := b.below(table, n.Key(), depth)
	if err != nil {
		return 0, err
	}
	// Behind the key only spaces stand in front of "=", and behind that too.
	start := b.gap(end + bytes.IndexByte(b.data[end:], '=') + 1)
	v, end, err := b.value(n.Value(), start, depth+parts)
	if fresh {
		*value = v
	}
	return end, err
}

// gap returns the offset of the next byte that is no white space, comma or comment.
func (b *builder) gap(i int) int {
	for i < len(b.data) {
		switch b.data[i] {
		case ' ', '\t', '\r', '\n', ',':
			i++
		case '#':
			next := bytes.IndexByte(b.data[i:], '\n')
			if next < 0 {
				return len(b.data)
			}
			i += next
		default:
			return i
		}
	}
	return i
}

// value reads the value that starts at start, and returns the offset after it.
func (b *builder) value(n *unstable.Node, start, depth int) (v jsonc.Node, end int, err error) {
	if err := b.count(start, depth); err != nil {
		return v, 0, err
	}
	v = jsonc.Node{Kind: jsonc.Object, Offset: b.mark + start}
	end = start + 1
	switch n.Kind {
	case unstable.Array:
		v.Kind = jsonc.Array
		for it := n.Children(); it.Next(); {
			var e jsonc.Node
			if e, end, err = b.value(it.Node(), b.gap(end), depth+1); err != nil {
				return v, 0, err
			}
			v.Elems = append(v.Elems, e)
		}
		end = b.gap(end) + 1
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			if end, err = b.keyValue(&v, it.Node(), depth); err != nil {
				return v, 0, err
			}
		}
		end = b.gap(end) + 1
	default:
		end = start + int(n.Raw.Length)
		v.Kind, v.Text = scalar(n)
	}
	v.End = b.mark + end
	return v, end, nil
}

// scalar returns what JSON has for a value; a date becomes a string.
func scalar(n *unstable.Node) (jsonc.Kind, string) {
	text := string(n.Data)
	switch n.Kind {
	case unstable.Bool:
		return jsonc.Bool, text
	case unstable.Integer:
		// Base 0 is that of TOML: 0x, 0o, 0b and _. The decoder refuses what is none.
		i, _ := strconv.ParseInt(strings.TrimPrefix(text, "+"), 0, 64)
		return jsonc.Number, strconv.FormatInt(i, 10)
	case unstable.Float:
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		switch {
		case err == nil && !math.IsInf(f, 0) && !math.IsNaN(f):
			return jsonc.Number, strconv.FormatFloat(f, 'g', -1, 64)
		case f < 0:
			return jsonc.Number, "-1e999" // which is out of every range
		}
		return jsonc.Number, "1e999"
	}
	return jsonc.String, text
}
