package goose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// parse reads YAML into the common tree. Its error is a [*jsonc.SyntaxError].
func parse(data []byte) (*jsonc.Document, error) {
	b := &builder{data: data}
	if len(data) > jsonc.MaxSize {
		return nil, b.fail(nil, "the file has %d bytes, more than the limit of %d", len(data), jsonc.MaxSize)
	}
	if !utf8.Valid(data) {
		return nil, b.failAt(bytes.IndexFunc(data, func(r rune) bool { return r == utf8.RuneError }), "invalid UTF-8: save the file as UTF-8")
	}
	b.index()
	if n := tokens(data); n > jsonc.MaxNodes {
		return nil, b.fail(nil, "the file has about %d values, more than the limit of %d", n, jsonc.MaxNodes)
	}
	var doc yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(jsonc.MaxDepth), loaderlimits.AliasNone())
	if err := yaml.Load(data, &doc, yaml.WithPlugin(limits)); err != nil {
		return nil, b.refused(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, b.fail(nil, "the file is empty")
	}
	root, err := b.value(doc.Content[0], "", 0)
	if err != nil {
		return nil, err
	}
	return jsonc.New(data, root), nil
}

// tokens returns how many values a text has at most, nearly: what can begin or end
// one is counted.
func tokens(data []byte) int {
	n := bytes.Count(data, []byte("- ")) - bytes.Count(data, []byte("\r\n"))
	for _, c := range []byte("\n\r,[{") {
		n += bytes.Count(data, []byte{c})
	}
	return n
}

// A builder makes the tree of one file.
type builder struct {
	data  []byte
	lines []int // numbers of the first characters of the lines, as YAML breaks them
	marks []int // offset of each stride-th character
	nodes int
}

// stride is how many characters a place may be away from a known one: a line may be
// as long as the file, and each of a million values in it has a place.
const stride = 64

// index notes where lines start.
func (b *builder) index() {
	start := 0
	if bytes.HasPrefix(b.data, []byte("\xef\xbb\xbf")) {
		start = 3
	}
	b.lines = []int{0}
	count := 0
	for i, r := range string(b.data[start:]) {
		if count%stride == 0 {
			b.marks = append(b.marks, start+i)
		}
		count++
		next := start + i + 1
		switch r {
		case '\n', 0x85, 0x2028, 0x2029:
			b.lines = append(b.lines, count)
		case '\r':
			if next == len(b.data) || b.data[next] != '\n' {
				b.lines = append(b.lines, count)
			}
		}
	}
}

// offset returns the place of a line and a column that counts characters, both from 1.
func (b *builder) offset(line, column int) int {
	if len(b.marks) == 0 || line < 1 {
		return 0
	}
	character := b.lines[min(line, len(b.lines))-1] + max(column, 1) - 1
	if character/stride >= len(b.marks) {
		return len(b.data)
	}
	at := b.marks[character/stride]
	for range character % stride {
		_, size := utf8.DecodeRune(b.data[at:])
		at += size
	}
	return at
}

// fail is an error at a node, or at the start of the file.
func (b *builder) fail(n *yaml.Node, format string, args ...any) error {
	at := 0
	if n != nil {
		at = b.offset(n.Line, n.Column)
	}
	return b.failAt(at, format, args...)
}

func (b *builder) failAt(offset int, format string, args ...any) error {
	return &jsonc.SyntaxError{
		Position: jsonc.New(b.data, jsonc.Node{}).Position(offset),
		Message:  fmt.Sprintf(format, args...),
	}
}

// refused is the error of the YAML parser, without the names that it may quote: what
// looks like an alias may be a secret that lacks its quotes.
func (b *builder) refused(err error) error {
	var bad *yaml.LoadError
	known := errors.As(err, &bad)
	if !known || bad.Mark.Line == 0 {
		switch text := err.Error(); {
		case strings.Contains(text, "no documents"):
			return b.fail(nil, "the file is empty")
		case strings.Contains(text, "multiple"):
			return b.fail(nil, "the file has more than one document: remove those after ---")
		}
	}
	if !known {
		return b.fail(nil, "this is not YAML that can be read")
	}
	message := plain.Line(bad.Message)
	if bad.Stage == "composer" && strings.ContainsAny(message, "'\"`") {
		message = "an alias or an anchor that cannot be used: put a text that starts with * or & in quotes"
	}
	return b.failAt(b.offset(bad.Mark.Line, bad.Mark.Column), "%s", message)
}

// value turns a node into one of the common tree; depth counts what is around it.
func (b *builder) value(n *yaml.Node, at jsonc.Path, depth int) (jsonc.Node, error) {
	if b.nodes++; b.nodes > jsonc.MaxNodes {
		return jsonc.Node{}, b.fail(n, "the file has more than %d values, with its aliases written out", jsonc.MaxNodes)
	}
	if depth > jsonc.MaxDepth {
		return jsonc.Node{}, b.fail(n, "nested deeper than %d levels, or an alias holds itself", jsonc.MaxDepth)
	}
	out := jsonc.Node{Offset: b.offset(n.Line, n.Column)}
	out.End = out.Offset
	switch n.Kind {
	case yaml.AliasNode:
		return b.value(n.Alias, at, depth+1)
	case yaml.SequenceNode:
		out.Kind, out.Elems = jsonc.Array, make([]jsonc.Node, 0, len(n.Content))
		for i, e := range n.Content {
			v, err := b.value(e, at.Index(i), depth+1)
			if err != nil {
				return out, err
			}
			out.Elems, out.End = append(out.Elems, v), max(out.End, v.End)
		}
	case yaml.MappingNode:
		out.Kind = jsonc.Object
		m := &mapping{builder: b, node: &out, at: at, seen: make(map[string]bool, len(n.Content)/2)}
		if err := m.read(n, false, depth); err != nil {
			return out, err
		}
	case yaml.ScalarNode:
		out.Kind, out.Text = scalar(n)
		out.End = min(out.Offset+len(n.Value), len(b.data))
	default:
		return out, b.fail(n, "a kind of YAML that a config file cannot have")
	}
	return out, nil
}

// A mapping collects the members of one object.
type mapping struct {
	*builder
	node *jsonc.Node
	at   jsonc.Path
	seen map[string]bool
}

// read adds the members of n. Those that are merged give way to what is there.
func (m *mapping) read(n *yaml.Node, merged bool, depth int) error {
	if depth > jsonc.MaxDepth {
		return m.fail(n, "nested deeper than %d levels, or an alias holds itself", jsonc.MaxDepth)
	}
	var later []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.ShortTag() == "!!merge" {
			later = append(later, v)
			continue
		}
		place := k
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			return m.fail(place, "a key must be a text")
		}
		if m.seen[k.Value] {
			if m.nodes++; m.nodes > jsonc.MaxNodes {
				return m.fail(place, "the file has more than %d values, with its aliases written out", jsonc.MaxNodes)
			}
			if merged {
				continue
			}
			return &jsonc.SyntaxError{Position: jsonc.New(m.data, jsonc.Node{}).Position(m.offset(place.Line, place.Column)),
				Path: m.at.Key(k.Value), Message: "duplicate key: remove one"}
		}
		m.seen[k.Value] = true
		value, err := m.value(v, m.at.Key(k.Value), depth+1)
		if err != nil {
			return err
		}
		m.node.Members = append(m.node.Members, jsonc.Member{Key: k.Value, Offset: m.offset(place.Line, place.Column), Value: value})
		m.node.End = max(m.node.End, value.End)
	}
	for _, from := range later {
		if err := m.merge(from, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapping) merge(from *yaml.Node, depth int) error {
	if m.nodes++; m.nodes > jsonc.MaxNodes {
		return m.fail(from, "the file has more than %d values, with its aliases written out", jsonc.MaxNodes)
	}
	if from.Kind == yaml.AliasNode {
		from = from.Alias
	}
	switch from.Kind {
	case yaml.MappingNode:
		return m.read(from, true, depth)
	case yaml.SequenceNode:
		if depth > jsonc.MaxDepth {
			return m.fail(from, "nested deeper than %d levels, or an alias holds itself", jsonc.MaxDepth)
		}
		for _, e := range from.Content {
			if err := m.merge(e, depth+1); err != nil {
				return err
			}
		}
		return nil
	default:
		return m.fail(from, "a merge key takes a mapping")
	}
}

// scalar returns what JSON has for a scalar.
func scalar(n *yaml.Node) (jsonc.Kind, string) {
	switch n.ShortTag() {
	case "!!null":
		return jsonc.Null, ""
	case "!!bool":
		if v, err := strconv.ParseBool(strings.ToLower(n.Value)); err == nil {
			return jsonc.Bool, strconv.FormatBool(v)
		}
	case "!!int", "!!float":
		if text, ok := number(n.Value); ok {
			return jsonc.Number, text
		}
	}
	return jsonc.String, n.Value
}

// number writes a number of YAML as JSON has it.
func number(text string) (string, bool) {
	if text != "" && (text[0] == '-' || '0' <= text[0] && text[0] <= '9') && json.Valid([]byte(text)) {
		return text, true
	}
	digits := strings.ReplaceAll(strings.TrimPrefix(text, "+"), "_", "")
	if len(digits) > 64 {
		return "", false
	}
	if i, ok := new(big.Int).SetString(digits, 0); ok {
		return i.String(), true
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}
