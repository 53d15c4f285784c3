package schemagate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Modern returns a schema whose keywords have the meaning of today where it has those of
// draft 4, as OpenAPI 3.0 does, or of draft 3; and whether it had. What was a flag beside a
// bound, as in {"minimum": 0, "exclusiveMinimum": true}, becomes a bound; "required" that is
// a flag goes, and so does a $schema that names draft 4.
//
// It also mends what programs write that have nothing to say, and flaw tells in words of what
// kind the first is; empty if there is none. A keyword that is null goes, unless null may be meant;
// so does one that should hold schemas by name, or additionalProperties, and is an empty
// array, as PHP writes it. A property of that kind allows anything. A name that is
// required twice stands once.
//
// All else keeps its bytes but for spaces. A schema that is not JSON, or needs no change, is
// returned as it is.
func Modern(raw json.RawMessage) (modernized json.RawMessage, old bool, flaw string) {
	if len(raw) > MaxBytes || jsonscan.Valid(raw) != nil {
		return raw, false, ""
	}
	m := modern{cursor: jsonscan.Walk(raw)}
	m.schema()
	if !m.old && m.flaw == "" {
		return raw, false, ""
	}
	m = modern{cursor: jsonscan.Walk(raw), out: make([]byte, 0, len(raw))}
	m.schema()
	return m.out, m.old, m.flaw
}

// modern writes a schema in the keywords of today.
type modern struct {
	cursor jsonscan.Cursor
	out    []byte // nil: nothing is written, only found out
	old    bool
	flaw   string // the first; empty: none
}

// schema writes a schema, or a list of them.
func (m *modern) schema() {
	switch m.cursor.Kind() {
	case '{':
		m.object()
	case '[':
		m.write('[')
		for i := range m.cursor.Elements() {
			if i > 0 {
				m.write(',')
			}
			m.schema()
		}
		m.write(']')
	default:
		m.write(m.cursor.Value()...)
	}
}

func (m *modern) write(text ...byte) {
	if m.out != nil {
		m.out = append(m.out, text...)
	}
}

// A bound is a limit of numbers, and whether it is itself too much.
type bound struct {
	value     []byte
	exclusive bool
}

func (m *modern) object() {
	begin := m.open()
	var least, most bound
	for key := range m.cursor.Members() {
		kind := m.cursor.Kind()
		flag := kind == 't' || kind == 'f'
		switch name := string(key); {
		case name == "minimum" && kind != '{' && kind != 'n':
			least.value = m.cursor.Value()
		case name == "maximum" && kind != '{' && kind != 'n':
			most.value = m.cursor.Value()
		case name == "exclusiveMinimum" && flag:
			least.exclusive, m.old = kind == 't', true
			m.cursor.Skip()
		case name == "exclusiveMaximum" && flag:
			most.exclusive, m.old = kind == 't', true
			m.cursor.Skip()
		case name == "required" && flag:
			m.old = true
			m.cursor.Skip()
		case kind == 'n' && mayBeAbsent(name):
			m.absent(key, "null")
			m.cursor.Skip()
		case kind == '[' && (name == "additionalProperties" || holdsSchemas(name)):
			if value := m.cursor.Value(); isEmptyList(value) {
				m.absent(key, "[]")
			} else {
				m.member(begin, key, value)
			}
		case kind == '[' && name == "required":
			m.names(begin, m.cursor.Value())
		case name == "$schema" && kind == '"':
			if value := m.cursor.Value(); bytes.Contains(value, []byte("json-schema.org/draft-04/schema")) {
				m.old = true
			} else {
				m.member(begin, key, value)
			}
		case kind == '{' && holdsSchemas(name):
			m.member(begin, key, nil)
			inner := m.open()
			for key := range m.cursor.Members() {
				m.member(inner, key, nil)
				m.named(name, key)
			}
			m.write('}')
		case holdsData(name):
			m.member(begin, key, m.cursor.Value())
		default:
			m.member(begin, key, nil)
			m.schema()
		}
	}
	m.bound(begin, "inimum", least)
	m.bound(begin, "aximum", most)
	m.write('}')
}

// absent notes a keyword, or a property, that says nothing.
func (m *modern) absent(name []byte, written string) {
	m.flaw = cmp.Or(m.flaw, shorten(fmt.Sprintf("%q is written as %s, and counts as absent", name, written)))
}

// named writes the schema at the cursor, which a keyword holds by a name.
func (m *modern) named(keyword string, name []byte) {
	kind := m.cursor.Kind()
	if kind != 'n' && kind != '[' || keyword == "dependencies" {
		m.schema()
		return
	}
	value := m.cursor.Value()
	if kind == 'n' || isEmptyList(value) {
		m.absent(name, string(value))
		value = []byte("{}")
	}
	m.write(value...)
}

// names writes the list "required", each name once.
func (m *modern) names(begin int, value []byte) {
	once, twice := make([][]byte, 0, 16), false
	for name := range jsonscan.Elements(value) {
		if name[0] == '"' && slices.ContainsFunc(once, func(other []byte) bool { return bytes.Equal(other, name) }) {
			m.flaw, twice = cmp.Or(m.flaw, `a name stands twice in "required", and counts once`), true
			continue
		}
		once = append(once, name)
	}
	if twice {
		value = slices.Concat([]byte{'['}, bytes.Join(once, []byte{','}), []byte{']'})
	}
	m.member(begin, []byte("required"), value)
}

func isEmptyList(value []byte) bool {
	for range jsonscan.Elements(value) {
		return false
	}
	return true
}

// mayBeAbsent reports whether null cannot be meant as the value of a keyword.
func mayBeAbsent(keyword string) bool {
	switch keyword {
	case "$ref", "$schema", "$id", "$anchor", "$comment", "title", "description", "format", "examples", "deprecated", "readOnly", "writeOnly", "nullable":
		return true
	}
	f, _ := draft{}.formOf(keyword)
	return f != 0
}

// bound writes a limit, after the other members.
func (m *modern) bound(begin int, suffix string, b bound) {
	switch {
	case b.value == nil:
	case b.exclusive:
		m.member(begin, []byte("exclusiveM"+suffix), b.value)
	default:
		m.member(begin, []byte("m"+suffix), b.value)
	}
}

// open begins an object, and returns where its first member comes.
func (m *modern) open() int {
	m.write('{')
	return len(m.out)
}

// member writes a member of the object whose members begin there. Nil: its value follows.
func (m *modern) member(begin int, name, value []byte) {
	if m.out == nil {
		return
	}
	if len(m.out) > begin {
		m.out = append(m.out, ',')
	}
	quoted, _ := json.Marshal(string(name)) // a string always has one
	m.out = append(append(append(m.out, quoted...), ':'), value...)
}

// holdsSchemas reports whether the members of a keyword's value are schemas by any name.
func holdsSchemas(keyword string) bool {
	return slices.Contains([]string{"properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "dependencies"}, keyword)
}

// holdsData reports whether the value of a keyword is no schema.
func holdsData(keyword string) bool {
	return slices.Contains([]string{"enum", "const", "default", "examples", "example"}, keyword)
}
