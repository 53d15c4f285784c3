package providercheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Node is a JSON value as it was written: members in their order, numbers with
// their digits. The checkers read with it, so that they share nothing with the
// compiler.
type Node struct {
	Kind    byte // one of { [ " 0 t n: an object, array, string, number, boolean, null
	Text    string
	Names   []string // of the members, in their order
	Members map[string]*Node
	Items   []*Node
}

// Read reads one value, and refuses what is not read alike by everybody.
func Read(raw []byte) (*Node, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("bad UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	n, err := readFrom(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return n, nil
}

func readFrom(dec *json.Decoder) (*Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			return readArray(dec)
		}
		return readObject(dec)
	case string:
		return &Node{Kind: '"', Text: v}, nil
	case json.Number:
		return &Node{Kind: '0', Text: v.String()}, nil
	case bool:
		return &Node{Kind: 't', Text: fmt.Sprint(v)}, nil
	}
	return &Node{Kind: 'n', Text: "null"}, nil
}

func readArray(dec *json.Decoder) (*Node, error) {
	n := &Node{Kind: '['}
	for dec.More() {
		item, err := readFrom(dec)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
	_, err := dec.Token()
	return n, err
}

func readObject(dec *json.Decoder) (*Node, error) {
	n := &Node{Kind: '{', Members: map[string]*Node{}}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string)
		if n.Members[name] != nil {
			return nil, fmt.Errorf("member %q twice", name)
		}
		if n.Members[name], err = readFrom(dec); err != nil {
			return nil, err
		}
		n.Names = append(n.Names, name)
	}
	_, err := dec.Token()
	return n, err
}

// Get returns a member, or nil.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	return n.Members[name]
}

// Is reports whether the value is there and of a kind.
func (n *Node) Is(kind byte) bool { return n != nil && n.Kind == kind }

// IsTrue reports whether the value is true.
func (n *Node) IsTrue() bool { return n.Is('t') && n.Text == "true" }

// Says reports whether the value is a string of that content.
func (n *Node) Says(text string) bool { return n.Is('"') && n.Text == text }

// Keys returns the names of the members of an object.
func (n *Node) Keys() []string {
	if n == nil {
		return nil
	}
	return n.Names
}

// StringValue returns the text of a string, none of anything else.
func (n *Node) StringValue() string {
	if !n.Is('"') {
		return ""
	}
	return n.Text
}

// Str returns the text of a member that is a string, none of anything else.
func (n *Node) Str(name string) string { return n.Get(name).StringValue() }

// List returns the elements of an array, none of anything else.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Write returns the value as JSON in one form: members sorted.
func (n *Node) Write() string {
	raw, err := json.Marshal(n.plain())
	if err != nil {
		return "unwritable: " + err.Error()
	}
	return string(raw)
}

func (n *Node) plain() any {
	switch n.Kind {
	case '{':
		m := make(map[string]any, len(n.Names))
		for name, v := range n.Members {
			m[name] = v.plain()
		}
		return m
	case '[':
		list := make([]any, len(n.Items))
		for i, v := range n.Items {
			list[i] = v.plain()
		}
		return list
	case '"':
		return n.Text
	case '0':
		return json.Number(n.Text)
	case 't':
		return n.Text == "true"
	}
	return nil
}

// Member returns the JSON pointer of a member of the value at place.
func Member(place, name string) string {
	name = strings.ReplaceAll(name, "~", "~0")
	return place + "/" + strings.ReplaceAll(name, "/", "~1")
}

// Resolve returns what a reference within the document points at, or nil.
func (n *Node) Resolve(ref string) *Node {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch i, err := strconv.Atoi(step); {
		case rest == "":
		case n.Is('[') && err == nil && i >= 0 && i < len(n.Items):
			n = n.Items[i]
		default:
			n = n.Get(step)
		}
	}
	return n
}
