package jsonc

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Bounds of what [Parse] accepts.
const (
	MaxSize  = 16 << 20 // bytes
	MaxDepth = 128      // objects and arrays inside each other
	MaxNodes = 1 << 20  // values; keeps the tree of a hostile file under 200 MB
)

// A SyntaxError says what is wrong with a document and where.
type SyntaxError struct {
	Position
	Path    Path   // of the innermost value that was being read
	Message string // what is wrong and how to cure it
}

func (e *SyntaxError) Error() string {
	where := fmt.Sprintf("%d:%d: ", e.Line, e.Column)
	if e.Path != "" {
		where += string(e.Path) + ": "
	}
	return where + e.Message
}

// CheckText returns a [*SyntaxError] for what no config file of any syntax can be: one that
// is larger than [MaxSize], or not UTF-8.
func CheckText(data []byte) error {
	fail := func(offset int, text string) error {
		return &SyntaxError{New(data[:min(len(data), MaxSize)], Node{}).Position(offset), "", text}
	}
	switch {
	case len(data) > MaxSize:
		return fail(0, fmt.Sprintf("the file has %d bytes, more than the limit of %d", len(data), MaxSize))
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		return fail(0, "the file is UTF-16: save it as UTF-8")
	}
	for i := 0; !utf8.Valid(data[i:]); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return fail(i, "invalid UTF-8: save the file as UTF-8")
		}
		i += size
	}
	return nil
}

// Parse reads one JSON value with comments and trailing commas. The error, if
// any, is a [*SyntaxError]. The document keeps data: the caller must not change
// it afterwards.
func Parse(data []byte) (*Document, error) {
	if err := CheckText(data); err != nil {
		return nil, err
	}
	p := &parser{data: data, pos: MarkEnd(data, len(data))}
	var root Node
	if err := p.document(&root); err != nil {
		return nil, err
	}
	return New(data, root), nil
}

type parser struct {
	data  []byte
	pos   int
	nodes int
	path  []step // of the value being read
}

// A step is a key of an object, or an index of an array if index >= 0.
type step struct {
	key   string
	index int
}

func (p *parser) fail(offset int, format string, args ...any) error {
	var path Path
	for _, s := range p.path {
		if s.index >= 0 {
			path = path.Index(s.index)
		} else {
			path = path.Key(s.key)
		}
	}
	return &SyntaxError{New(p.data, Node{}).Position(offset), path, fmt.Sprintf(format, args...)}
}

// found describes what stands at the parser's position.
func (p *parser) found() string {
	if p.pos >= len(p.data) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRune(p.data[p.pos:])
	return fmt.Sprintf("%q", r)
}

func (p *parser) document(root *Node) error {
	if err := p.space(); err != nil {
		return err
	}
	if p.pos >= len(p.data) {
		return p.fail(p.pos, "the file is empty")
	}
	if err := p.value(root); err != nil {
		return err
	}
	if err := p.space(); err != nil {
		return err
	}
	if p.pos < len(p.data) {
		return p.fail(p.pos, "unexpected %s after the end of the document: remove it", p.found())
	}
	return nil
}

// space skips white space and comments.
func (p *parser) space() error {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		case '/':
			if err := p.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (p *parser) comment() error {
	start := p.pos
	rest := p.data[start:]
	var length int
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		length = bytes.IndexByte(rest, '\n')
		if length < 0 {
			length = len(rest)
		}
	case bytes.HasPrefix(rest, []byte("/*")):
		end := bytes.Index(rest[2:], []byte("*/"))
		if end < 0 {
			return p.fail(start, "the comment is not closed: add */")
		}
		length = end + 4
	default:
		return p.fail(start, "unexpected '/': a comment is // or /* */")
	}
	for i, c := range rest[:length] {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return p.fail(start+i, "control character %#02x in a comment: remove it", c)
		}
	}
	p.pos = start + length
	return nil
}

// value reads the value at the parser's position into n.
func (p *parser) value(n *Node) error {
	if p.nodes++; p.nodes > MaxNodes {
		return p.fail(p.pos, "the file has more than %d values", MaxNodes)
	}
	if p.pos >= len(p.data) {
		return p.fail(p.pos, "expected a value, found the end of the file")
	}
	n.Offset = p.pos
	var err error
	switch c := p.data[p.pos]; {
	case c == '{':
		n.Kind = Object
		err = p.container(n, '}')
	case c == '[':
		n.Kind = Array
		err = p.container(n, ']')
	case c == '"':
		n.Kind = String
		n.Text, err = p.string()
	case c == '-' || '0' <= c && c <= '9':
		err = p.number(n)
	default:
		err = p.word(n)
	}
	n.End = p.pos
	return err
}

// container reads an object or an array up to its closing bracket.
func (p *parser) container(n *Node, closing byte) error {
	if len(p.path) >= MaxDepth {
		return p.fail(p.pos, "nested deeper than %d levels", MaxDepth)
	}
	open := p.pos
	p.pos++
	var seen map[string]int // key to offset
	if n.Kind == Object {
		seen = make(map[string]int)
	}
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.pos >= len(p.data) {
			return p.fail(open, "the %s is not closed: add %c", map[byte]string{'}': "object", ']': "array"}[closing], closing)
		}
		if p.data[p.pos] == closing {
			p.pos++
			return nil
		}
		var value *Node
		if n.Kind == Object {
			m, err := p.key(n, seen)
			if err != nil {
				return err
			}
			value = &m.Value
		} else {
			p.path = append(p.path, step{"", len(n.Elems)})
			n.Elems = append(n.Elems, Node{})
			value = &n.Elems[len(n.Elems)-1]
		}
		if err := p.value(value); err != nil {
			return err
		}
		p.path = p.path[:len(p.path)-1]
		if err := p.space(); err != nil {
			return err
		}
		switch {
		case p.pos >= len(p.data) || p.data[p.pos] == closing:
		case p.data[p.pos] == ',':
			p.pos++
		default:
			return p.fail(p.pos, "expected ',' or '%c', found %s", closing, p.found())
		}
	}
}

// key reads the key of a member and the colon, and goes to the value.
func (p *parser) key(n *Node, seen map[string]int) (*Member, error) {
	if p.data[p.pos] != '"' {
		return nil, p.fail(p.pos, "expected a key in double quotes, found %s", p.found())
	}
	n.Members = append(n.Members, Member{Offset: p.pos})
	m := &n.Members[len(n.Members)-1]
	var err error
	if m.Key, err = p.string(); err != nil {
		return nil, err
	}
	p.path = append(p.path, step{m.Key, -1})
	if first, twice := seen[m.Key]; twice {
		return nil, p.fail(m.Offset, "duplicate key, first on line %d: remove one", New(p.data, Node{}).Position(first).Line)
	}
	seen[m.Key] = m.Offset
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos >= len(p.data) || p.data[p.pos] != ':' {
		return nil, p.fail(p.pos, "expected ':' after the key, found %s", p.found())
	}
	p.pos++
	return m, p.space()
}
