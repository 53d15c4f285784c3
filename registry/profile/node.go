package profile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A node is a value of JSON that keeps the order of members and the spelling of
// numbers. Nodes that were read are never changed; those that are made may hold
// nodes that were read, which remember where they stood.
type node struct {
	kind    byte   // one of { [ " t f n, and 0 for a number
	text    string // content of a string, literal of a number
	members []member
	elems   []*node

	parent *node // where it was read; nil: at the root, or it was made
	token  string
	at     int // place in the order of the document
	size   int // about how many bytes it takes

	via []*node     // the targets of references that were written out to make it
	def *definition // of a reference that was made
}

type member struct {
	name  string
	value *node
}

// readNode reads JSON that has passed [jsonscan.Valid].
func readNode(raw []byte) *node {
	r := nodeReader{cursor: jsonscan.Walk(raw)}
	return r.value(nil, "")
}

type nodeReader struct {
	cursor jsonscan.Cursor
	at     int
}

func (r *nodeReader) value(parent *node, token string) *node {
	n := &node{kind: r.cursor.Kind(), parent: parent, token: token, at: r.at}
	r.at++
	switch n.kind {
	case '{':
		for key := range r.cursor.Members() {
			name := string(key)
			n.members = append(n.members, member{name, r.value(n, name)})
			n.size += len(name) + 4 + n.members[len(n.members)-1].value.size
		}
	case '[':
		for i := range r.cursor.Elements() {
			n.elems = append(n.elems, r.value(n, strconv.Itoa(i)))
			n.size += 1 + n.elems[i].size
		}
	case '"':
		n.text, _ = jsonscan.String(r.cursor.Value())
	case 't', 'f', 'n':
		r.cursor.Skip()
	default:
		n.kind, n.text = '0', string(r.cursor.Value())
	}
	n.size += len(n.text) + 2
	return n
}

// maxPath bounds how long the pointer to a place becomes, in bytes.
const maxPath = 2_048

// path returns where n was read, as a JSON pointer.
func (n *node) path() string {
	var tokens []string
	size := 0
	for at := n; at.parent != nil; at = at.parent {
		token := strings.ReplaceAll(strings.ReplaceAll(at.token, "~", "~0"), "/", "~1")
		size += 1 + len(token)
		tokens = append(tokens, token)
	}
	var path strings.Builder
	path.Grow(min(size, maxPath+len("…")))
	for _, token := range slices.Backward(tokens) {
		if path.Len()+1+len(token) > maxPath {
			path.WriteString("/…")
			break
		}
		path.WriteByte('/')
		path.WriteString(token)
	}
	return path.String()
}

// get returns the member of an object, or nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// list returns the members of an object; none of nil.
func (n *node) list() []member {
	if n == nil {
		return nil
	}
	return n.members
}

// set replaces or adds a member of an object that was made.
func (n *node) set(name string, value *node) {
	for i := range n.members {
		if n.members[i].name == name {
			n.members[i].value = value
			return
		}
	}
	n.members = append(n.members, member{name, value})
}

// drop removes members of an object that was made.
func (n *node) drop(names ...string) {
	n.members = slices.DeleteFunc(n.members, func(m member) bool { return slices.Contains(names, m.name) })
}

// copyOf returns an object with the same members, to be changed.
func copyOf(n *node) *node {
	return &node{kind: n.kind, text: n.text, members: slices.Clone(n.members), elems: slices.Clone(n.elems),
		parent: n.parent, token: n.token, at: n.at, via: n.via, def: n.def}
}

// placed gives a node that was made the place of another one.
func placed(made, like *node) *node {
	made.parent, made.token, made.at = like.parent, like.token, like.at
	return made
}

func objectNode(members ...member) *node { return &node{kind: '{', members: members} }

func listNode(elems ...*node) *node { return &node{kind: '[', elems: elems} }

func textNode(text string) *node { return &node{kind: '"', text: text} }

func numberNode(n int) *node { return &node{kind: '0', text: strconv.Itoa(n)} }

func boolNode(b bool) *node {
	if b {
		return &node{kind: 't'}
	}
	return &node{kind: 'f'}
}

// typed returns a schema that says nothing but types.
func typed(types typeSet) *node { return objectNode(member{"type", typesNode(types)}) }

// textsNode returns a list of strings.
func textsNode(texts []string) *node {
	list := listNode()
	for _, text := range texts {
		list.elems = append(list.elems, textNode(text))
	}
	return list
}

// texts returns the strings of a list.
func (n *node) texts() []string {
	if n == nil {
		return nil
	}
	var all []string
	for _, e := range n.elems {
		if e.kind == '"' {
			all = append(all, e.text)
		}
	}
	return all
}

// append writes n without white space.
func (n *node) append(dst []byte) []byte {
	switch n.kind {
	case '{':
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = canonjson.AppendString(dst, m.name)
			dst = append(dst, ':')
			dst = m.value.append(dst)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, e := range n.elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.append(dst)
		}
		return append(dst, ']')
	case '"':
		return canonjson.AppendString(dst, n.text)
	case 't':
		return append(dst, "true"...)
	case 'f':
		return append(dst, "false"...)
	case 'n':
		return append(dst, "null"...)
	}
	return append(dst, n.text...)
}

// canonical returns what n means, so that equal values have equal strings.
func (n *node) canonical() string {
	if n.kind == '"' {
		return string(canonjson.AppendString(nil, n.text))
	}
	return string(canonjson.AppendChecked(nil, n.append(nil)))
}

// sameNode reports whether two nodes mean the same.
func sameNode(a, b *node) bool {
	switch {
	case a == b:
		return true
	case a.kind != b.kind:
		return false
	case a.kind == '"':
		return a.text == b.text
	}
	return a.canonical() == b.canonical()
}
