package codex

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parse reads TOML into the common tree. Its error is a [*jsonc.SyntaxError].
func parse(data []byte) (*jsonc.Document, error) {
	if len(data) > jsonc.MaxSize {
		return nil, syntaxError(nil, 0, "the file has %d bytes, more than the limit of %d", len(data), jsonc.MaxSize)
	}
	if !utf8.Valid(data) {
		return nil, syntaxError(data, firstInvalid(data), "invalid UTF-8: save the file as UTF-8")
	}
	mark := 0
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		mark = 3
	}
	b := &builder{all: data, data: data[mark:], mark: mark, root: &table{}}
	b.root.end = len(data)
	if err := b.build(); err != nil {
		return nil, err
	}
	// The tree is bounded now. The decoder of the library checks what may stand twice,
	// and what a number may be.
	var decoded map[string]any
	if err := toml.Unmarshal(b.data, &decoded); err != nil {
		return nil, b.refused(err)
	}
	return jsonc.New(data, b.root.node()), nil
}

// refused is the error of the decoder, without the values that it may quote.
func (b *builder) refused(err error) error {
	var bad *toml.DecodeError
	if !errors.As(err, &bad) {
		return syntaxError(b.all, 0, "this is not TOML")
	}
	line, column := bad.Position()
	message, _, _ := strings.Cut(strings.TrimPrefix(bad.Error(), "toml: "), ":")
	var at jsonc.Path
	for _, key := range bad.Key() {
		at = at.Key(key)
	}
	return &jsonc.SyntaxError{Position: jsonc.Position{Line: line, Column: column}, Path: at, Message: plain.Line(message)}
}

func syntaxError(data []byte, offset int, format string, args ...any) error {
	at := jsonc.New(data, jsonc.Node{}).Position(offset)
	return &jsonc.SyntaxError{Position: at, Message: fmt.Sprintf(format, args...)}
}

func firstInvalid(data []byte) int {
	for i := 0; ; {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}

// A table is an object while the file is read: headers add to it later.
type table struct {
	offset, end int
	keys        []string // in file order
	at          []int    // offsets of the keys
	values      map[string]*value
	closed      bool // an inline table: nothing is added
}

// A value is a table, a list of tables, or anything else.
type value struct {
	table  *table
	tables []*table
	node   jsonc.Node
}

func (t *table) add(key string, offset int, v *value) {
	if t.values == nil {
		t.values = make(map[string]*value)
	}
	t.keys, t.at = append(t.keys, key), append(t.at, offset)
	t.values[key] = v
}

func (t *table) node() jsonc.Node {
	n := jsonc.Node{Kind: jsonc.Object, Offset: t.offset, End: t.end, Members: make([]jsonc.Member, len(t.keys))}
	for i, key := range t.keys {
		n.Members[i] = jsonc.Member{Key: key, Offset: t.at[i], Value: t.values[key].tree()}
	}
	return n
}

func (v *value) tree() jsonc.Node {
	switch {
	case v.table != nil:
		return v.table.node()
	case v.tables != nil:
		n := jsonc.Node{Kind: jsonc.Array, Offset: v.tables[0].offset, Elems: make([]jsonc.Node, len(v.tables))}
		for i, t := range v.tables {
			n.Elems[i], n.End = t.node(), t.end
		}
		return n
	default:
		return v.node
	}
}

// A builder makes the tree of one file. Offsets in nodes are those of the whole file.
type builder struct {
	all, data []byte // data is all without the byte order mark
	mark      int    // length of that
	root      *table
	parser    unstable.Parser
	nodes     int
	keys      int
}

func (b *builder) fail(offset int, format string, args ...any) error {
	return syntaxError(b.all, b.mark+offset, format, args...)
}

// maxKeys bounds the keys of a file, also those of headers: what checks that none is
// there twice takes the square of their number.
const maxKeys = 1 << 13

// key counts a key.
func (b *builder) key(offset int) error {
	if b.keys++; b.keys > maxKeys {
		return b.fail(offset, "the file has more than %d keys", maxKeys)
	}
	return nil
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
	if err := b.brackets(); err != nil {
		return err
	}
	b.parser.Reset(b.data)
	here, depth := b.root, 0
	for b.parser.NextExpression() {
		n := b.parser.Expression()
		var err error
		switch n.Kind {
		case unstable.KeyValue:
			_, err = b.keyValue(here, n, depth)
		case unstable.Table, unstable.ArrayTable:
			here, depth, err = b.header(n)
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

// brackets refuses a file that would take more memory to parse than its tree is
// allowed: what can begin a value in a list is counted, nearly.
func (b *builder) brackets() error {
	n := bytes.Count(b.data, []byte{','}) + bytes.Count(b.data, []byte{'['}) + bytes.Count(b.data, []byte{'{'}) + bytes.Count(b.data, []byte{'.'})
	if n > 2*jsonc.MaxNodes {
		return b.fail(0, "the file has more than %d values", jsonc.MaxNodes)
	}
	return nil
}

// A part is one key of a dotted one.
type part struct {
	name   string
	offset int // in data
}

func keyParts(it unstable.Iterator) []part {
	var parts []part
	for it.Next() {
		n := it.Node()
		parts = append(parts, part{string(n.Data), int(n.Raw.Offset)})
	}
	return parts
}

// header opens the table that a header names.
func (b *builder) header(n *unstable.Node) (*table, int, error) {
	parts := keyParts(n.Key())
	last := len(parts) - 1
	if err := b.key(parts[last].offset); err != nil {
		return nil, 0, err
	}
	t, err := b.walk(b.root, parts[:last], 0)
	if err != nil {
		return nil, 0, err
	}
	p := parts[last]
	if err := b.count(p.offset, len(parts)); err != nil {
		return nil, 0, err
	}
	v := t.values[p.name]
	if n.Kind == unstable.ArrayTable {
		sub := &table{offset: b.mark + p.offset, end: b.mark + p.offset}
		switch {
		case v == nil:
			t.add(p.name, b.mark+p.offset, &value{tables: []*table{sub}})
		case v.tables == nil:
			return nil, 0, b.fail(p.offset, "this key holds something else already: remove one of them")
		default:
			v.tables = append(v.tables, sub)
		}
		return sub, len(parts) + 1, nil
	}
	sub, err := b.below(t, p)
	return sub, len(parts), err
}

// walk follows a dotted key, and makes the tables that are not there yet.
func (b *builder) walk(t *table, parts []part, depth int) (*table, error) {
	for i, p := range parts {
		if err := b.count(p.offset, depth+i+1); err != nil {
			return nil, err
		}
		if err := b.key(p.offset); err != nil {
			return nil, err
		}
		var err error
		if t, err = b.below(t, p); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (b *builder) below(t *table, p part) (*table, error) {
	v := t.values[p.name]
	switch {
	case v == nil:
		sub := &table{offset: b.mark + p.offset, end: b.mark + p.offset + len(p.name)}
		t.add(p.name, b.mark+p.offset, &value{table: sub})
		return sub, nil
	case v.table != nil && !v.table.closed:
		return v.table, nil
	case v.tables != nil:
		return v.tables[len(v.tables)-1], nil
	default:
		return nil, b.fail(p.offset, "this key holds something else already: remove one of them")
	}
}

// keyValue adds what n says to t, and returns the offset in data after it.
func (b *builder) keyValue(t *table, n *unstable.Node, depth int) (int, error) {
	parts := keyParts(n.Key())
	last := len(parts) - 1
	if err := b.key(parts[last].offset); err != nil {
		return 0, err
	}
	t, err := b.walk(t, parts[:last], depth)
	if err != nil {
		return 0, err
	}
	p := parts[last]
	if t.values[p.name] != nil {
		return 0, b.fail(p.offset, "duplicate key: remove one")
	}
	after := p.offset
	for it := n.Key(); it.Next(); {
		after = int(it.Node().Raw.Offset + it.Node().Raw.Length)
	}
	// Behind the key only spaces stand in front of "=", and behind that too.
	start := after + bytes.IndexByte(b.data[after:], '=') + 1
	start = b.gap(start)
	v, end, err := b.value(n.Value(), start, depth+len(parts))
	if err != nil {
		return 0, err
	}
	t.add(p.name, b.mark+p.offset, v)
	t.end = max(t.end, b.mark+end)
	return end, nil
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
func (b *builder) value(n *unstable.Node, start, depth int) (*value, int, error) {
	if err := b.count(start, depth); err != nil {
		return nil, 0, err
	}
	switch n.Kind {
	case unstable.Array:
		list := jsonc.Node{Kind: jsonc.Array, Offset: b.mark + start}
		end := start + 1
		for it := n.Children(); it.Next(); {
			v, after, err := b.value(it.Node(), b.gap(end), depth+1)
			if err != nil {
				return nil, 0, err
			}
			list.Elems = append(list.Elems, v.tree())
			end = after
		}
		end = b.gap(end) + 1
		list.End = b.mark + end
		return &value{node: list}, end, nil
	case unstable.InlineTable:
		t := &table{offset: b.mark + start}
		end := start + 1
		for it := n.Children(); it.Next(); {
			var err error
			if end, err = b.keyValue(t, it.Node(), depth); err != nil {
				return nil, 0, err
			}
		}
		end = b.gap(end) + 1
		t.end = b.mark + end
		t.close()
		return &value{table: t}, end, nil
	default:
		end := start + int(n.Raw.Length)
		return &value{node: scalar(n, b.mark+start, b.mark+end)}, end, nil
	}
}

// close forbids to add to an inline table and to those that its dotted keys made.
func (t *table) close() {
	t.closed = true
	for _, v := range t.values {
		if v.table != nil && !v.table.closed {
			v.table.close()
		}
	}
}

// scalar returns a value as the node that JSON has for it; a date becomes a string.
func scalar(n *unstable.Node, start, end int) jsonc.Node {
	node := jsonc.Node{Kind: jsonc.String, Offset: start, End: end, Text: string(n.Data)}
	switch n.Kind {
	case unstable.Bool:
		node.Kind = jsonc.Bool
	case unstable.Integer:
		// Base 0 is that of TOML: 0x, 0o, 0b and _. A word that is no number is refused
		// later.
		if i, err := strconv.ParseInt(strings.TrimPrefix(node.Text, "+"), 0, 64); err == nil {
			node.Text = strconv.FormatInt(i, 10)
		} else {
			node.Text = "0"
		}
		node.Kind = jsonc.Number
	case unstable.Float:
		f, err := strconv.ParseFloat(strings.ReplaceAll(node.Text, "_", ""), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			node.Text = "1e999" // which is out of every range
			if f < 0 {
				node.Text = "-1e999"
			}
		} else {
			node.Text = strconv.FormatFloat(f, 'g', -1, 64)
		}
		node.Kind = jsonc.Number
	}
	return node
}
