package schemagate

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Modern returns a schema whose keywords have the meaning of today where it has those of
// draft 4, as OpenAPI 3.0 does, or of draft 3; and whether it had. What was a flag beside a
// bound, as in {"minimum": 0, "exclusiveMinimum": true}, becomes a bound; "required" that is
// a flag goes, and so does a $schema that names draft 4. All else keeps its bytes but for
// spaces. A schema that is not JSON is returned as it is.
func Modern(raw json.RawMessage) (json.RawMessage, bool) {
	if !mayBeOld(raw) || len(raw) > MaxBytes || jsonscan.Valid(raw) != nil {
		return raw, false
	}
	m := modern{cursor: jsonscan.Walk(raw), out: make([]byte, 0, len(raw))}
	m.schema()
	if !m.old {
		return raw, false
	}
	return m.out, true
}

// mayBeOld reports whether a schema has to be read to know that it is of today.
func mayBeOld(raw []byte) bool {
	for _, keyword := range []string{`"exclusiveM`, `draft-04`} {
		if bytes.Contains(raw, []byte(keyword)) {
			return true
		}
	}
	for rest := raw; ; {
		_, after, found := bytes.Cut(rest, []byte(`"required"`))
		if !found {
			return false
		}
		rest = bytes.TrimLeft(after, ": \t\r\n")
		if len(rest) > 0 && (rest[0] == 't' || rest[0] == 'f') {
			return true
		}
	}
}

// modern writes a schema in the keywords of today.
type modern struct {
	cursor jsonscan.Cursor
	out    []byte
	old    bool
}

// schema writes a schema, or a list of them.
func (m *modern) schema() {
	switch m.cursor.Kind() {
	case '{':
		m.object()
	case '[':
		m.out = append(m.out, '[')
		for i := range m.cursor.Elements() {
			if i > 0 {
				m.out = append(m.out, ',')
			}
			m.schema()
		}
		m.out = append(m.out, ']')
	default:
		m.out = append(m.out, m.cursor.Value()...)
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
		case name == "minimum" && kind != '{':
			least.value = m.cursor.Value()
		case name == "maximum" && kind != '{':
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
		case name == "$schema" && kind == '"':
			value := m.cursor.Value()
			if bytes.Contains(value, []byte("json-schema.org/draft-04/schema")) {
				m.old = true
				continue
			}
			m.key(begin, name)
			m.out = append(m.out, value...)
		case kind == '{' && holdsSchemas(name):
			m.key(begin, name)
			inner := m.open()
			for key := range m.cursor.Members() {
				m.key(inner, string(key))
				m.schema()
			}
			m.out = append(m.out, '}')
		case (kind == '{' || kind == '[') && !holdsData(name):
			m.key(begin, name)
			m.schema()
		default:
			m.key(begin, name)
			m.out = append(m.out, m.cursor.Value()...)
		}
	}
	m.bound(begin, "inimum", least)
	m.bound(begin, "aximum", most)
	m.out = append(m.out, '}')
}

// bound writes a limit, after the other members.
func (m *modern) bound(begin int, suffix string, b bound) {
	switch {
	case b.value == nil:
	case b.exclusive:
		m.key(begin, "exclusiveM"+suffix)
		m.out = append(m.out, b.value...)
	default:
		m.key(begin, "m"+suffix)
		m.out = append(m.out, b.value...)
	}
}

// open begins an object, and returns where its first member comes.
func (m *modern) open() int {
	m.out = append(m.out, '{')
	return len(m.out)
}

// key writes the name of a member of the object whose members begin there.
func (m *modern) key(begin int, name string) {
	if len(m.out) > begin {
		m.out = append(m.out, ',')
	}
	quoted, _ := json.Marshal(name) // a string always has one
	m.out = append(append(m.out, quoted...), ':')
}

// holdsSchemas reports whether the members of a keyword's value are schemas by any name.
func holdsSchemas(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "dependencies":
		return true
	}
	return false
}

// holdsData reports whether the value of a keyword is no schema.
func holdsData(keyword string) bool {
	switch keyword {
	case "enum", "const", "default", "examples", "example":
		return true
	}
	return false
}
