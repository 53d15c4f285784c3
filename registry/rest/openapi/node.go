package openapi

import (
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Bounds on what is looked at in one place of a document.
const (
	maxMembers = 1 << 16 // members of one object; what comes behind is not seen
	maxHops    = 64      // references that lead to references
)

// A node is a value of the document. Its members are found when they are asked
// for: of a large document little is needed.
type node struct {
	raw    []byte
	parent *node
	key    string // in the parent

	opened  bool
	members []*node
	byKey   map[string]*node // members
}

// kind returns the first byte of the value, which tells its type.
func (n *node) kind() byte {
	if n == nil || len(n.raw) == 0 {
		return 0
	}
	switch c := n.raw[0]; {
	case c == '-' || c >= '0' && c <= '9':
		return '0'
	default:
		return c
	}
}

func (n *node) isObject() bool { return n.kind() == '{' }

func (n *node) open() {
	if n.opened {
		return
	}
	n.opened, n.byKey = true, map[string]*node{}
	switch n.kind() {
	case '{':
		for key, value := range jsonscan.Fields(n.raw) {
			n.add(string(key), value)
		}
	case '[':
		for value := range jsonscan.Elements(n.raw) {
			n.add(strconv.Itoa(len(n.members)), value)
		}
	}
}

func (n *node) add(key string, raw []byte) {
	if len(n.members) < maxMembers {
		m := &node{raw: raw, parent: n, key: key}
		n.members, n.byKey[key] = append(n.members, m), m
	}
}

// each returns the members of an object or the elements of an array.
func (n *node) each() []*node {
	if n == nil {
		return nil
	}
	n.open()
	return n.members
}

// get returns a member of an object, or nil.
func (n *node) get(key string) *node {
	if !n.isObject() {
		return nil
	}
	return n.child(key)
}

// child returns a member or element by its key, or nil.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	n.open()
	return n.byKey[key]
}

// text returns the content of a string, and of anything else nothing.
func (n *node) text() string {
	if n.kind() != '"' {
		return ""
	}
	s, _ := jsonscan.String(n.raw)
	return s
}

// isTrue reports whether the value is true.
func (n *node) isTrue() bool { return n.kind() == 't' }

// flag returns a boolean, or nil if there is none.
func (n *node) flag() *bool {
	if kind := n.kind(); kind == 't' || kind == 'f' {
		return new(kind == 't')
	}
	return nil
}

// pointer returns the JSON pointer of the value, as RFC 6901 has it.
func (n *node) pointer() string {
	text := ""
	for ; n != nil && n.parent != nil; n = n.parent {
		text = "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(n.key) + text
	}
	return text
}
