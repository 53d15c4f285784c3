package profile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A node is a JSON value as it was written: members in their order, numbers with
// their digits. The checkers read with it, so that they share nothing with the
// compiler.
type node struct {
	kind    byte // { [ " 0 t n: an object, array, string, number, boolean, null
	text    string
	names   []string
	members map[string]*node
	items   []*node
	joined  bool // of several that are elsewhere
}

// readNode reads one value, and refuses what is not read alike by everybody.
func readNode(raw []byte) (*node, error) {
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

func readFrom(dec *json.Decoder) (*node, error) {
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
		return &node{kind: '"', text: v}, nil
	case json.Number:
		return &node{kind: '0', text: v.String()}, nil
	case bool:
		return &node{kind: 't', text: fmt.Sprint(v)}, nil
	}
	return &node{kind: 'n', text: "null"}, nil
}

func readArray(dec *json.Decoder) (*node, error) {
	n := &node{kind: '['}
	for dec.More() {
		item, err := readFrom(dec)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token()
	return n, err
}

func readObject(dec *json.Decoder) (*node, error) {
	n := &node{kind: '{', members: map[string]*node{}}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string)
		if n.members[name] != nil {
			return nil, fmt.Errorf("member %q twice", name)
		}
		if n.members[name], err = readFrom(dec); err != nil {
			return nil, err
		}
		n.names = append(n.names, name)
	}
	_, err := dec.Token()
	return n, err
}

// get returns a member, or nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	return n.members[name]
}

// is tells whether the value is there and of a kind.
func (n *node) is(kind byte) bool { return n != nil && n.kind == kind }

// says tells whether the value is a string of that content.
func (n *node) says(text string) bool { return n.is('"') && n.text == text }

// write returns the value as JSON in one form: members sorted.
func (n *node) write() string {
	raw, err := json.Marshal(n.plain())
	if err != nil {
		return "unwritable: " + err.Error()
	}
	return string(raw)
}

func (n *node) plain() any {
	switch n.kind {
	case '{':
		m := make(map[string]any, len(n.names))
		for name, v := range n.members {
			m[name] = v.plain()
		}
		return m
	case '[':
		list := make([]any, len(n.items))
		for i, v := range n.items {
			list[i] = v.plain()
		}
		return list
	case '"':
		return n.text
	case '0':
		return json.Number(n.text)
	case 't':
		return n.text == "true"
	}
	return nil
}

// corpusMember returns the JSON pointer of a member of the value at place.
func corpusMember(place, name string) string {
	name = strings.ReplaceAll(name, "~", "~0")
	return place + "/" + strings.ReplaceAll(name, "/", "~1")
}

func corpusElement(place string, i int) string { return fmt.Sprintf("%s/%d", place, i) }

// resolve returns what a reference within the document points at, or nil.
func (n *node) resolve(ref string) *node {
	if ref == "#" {
		return n
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for _, step := range strings.Split(rest, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch {
		case n.is('{'):
			n = n.get(step)
		case n.is('['):
			var i int
			if _, err := fmt.Sscanf(step, "%d", &i); err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		default:
			return nil
		}
	}
	return n
}

// violations are what a provider would refuse.
type violations struct{ list []string }

func (v *violations) add(place, format string, args ...any) {
	if place == "" {
		place = "/"
	}
	v.list = append(v.list, place+": "+fmt.Sprintf(format, args...))
}

// only adds each member of n that is not one of the names.
func (v *violations) only(place string, n *node, names ...string) {
	for _, have := range n.names {
		found := false
		for _, name := range names {
			found = found || name == have
		}
		if !found {
			v.add(place, "%q is not known here", have)
		}
	}
}
