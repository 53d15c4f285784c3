package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// arguments are the values of a call by name, as they were written.
type arguments map[string]json.RawMessage

// mistakes are what is wrong with the arguments of a call.
type mistakes struct{ list []registry.Problem }

// add notes a problem; nil is none.
func (m *mistakes) add(p *registry.Problem) {
	if p != nil && !m.full() {
		m.list = append(m.list, *p)
	}
}

// full reports whether more mistakes are of no interest.
func (m *mistakes) full() bool { return len(m.list) == 8 }

// err returns the error of a call, or nil if nothing is wrong.
func (m *mistakes) err(tool string) error {
	if len(m.list) == 0 {
		return nil
	}
	texts := make([]string, len(m.list))
	for i, p := range m.list {
		texts[i] = p.String()
	}
	return &registry.ArgumentsError{Tool: tool, Problems: m.list, Err: errors.New(strings.Join(texts, "; "))}
}

// read takes the arguments of a call apart, and adds the defaults of those that are
// missing. A registry has done so by the schema; a call past it gets no further
// with what the schema does not know either.
func (o *operation) read(raw json.RawMessage, m *mistakes) arguments {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if problem := schemagate.CheckSyntax(raw); problem != nil {
		m.add(&registry.Problem{Path: problem.Path, Want: problem.Want, Got: problem.Got, Hint: problem.Note})
		return nil
	}
	if raw[0] != '{' {
		m.add(&registry.Problem{Want: "a JSON object", Got: kindOf(raw)})
		return nil
	}
	args := arguments{}
	for key, value := range jsonscan.Fields(raw) {
		if m.full() {
			return nil
		}
		if !slices.Contains(o.known, string(key)) {
			m.add(&registry.Problem{Path: schemagate.Member("", string(key)), Got: "a member"})
			continue
		}
		args[string(key)] = value
	}
	for _, p := range o.Params {
		if _, ok := args[p.Argument]; ok {
			continue
		}
		if p.Default != nil {
			args[p.Argument] = p.Default
		} else if p.needed() {
			m.add(&registry.Problem{Path: p.path(), Want: "a value"})
		}
	}
	if whole := o.whole; whole != "" && args[whole] == nil && o.Body.Required {
		m.add(&registry.Problem{Path: schemagate.Member("", whole), Want: "the body of the request"})
	}
	return args
}

// An object is a JSON object that is written member by member.
type object []byte

func (o *object) add(key string, value []byte) {
	if *o = append(*o, ','); len(*o) == 1 {
		*o = object{'{'}
	}
	*o = append(append(canonjson.AppendString(*o, key), ':'), value...)
}

// text returns the whole object.
func (o object) text() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return append(o, '}')
}

// inputSchema makes the schema of the arguments: an object whose properties are in
// the order of the parameters.
func (o *operation) inputSchema() json.RawMessage {
	var properties, schema object
	var required [][]byte
	for _, p := range o.Params {
		properties.add(p.Argument, described(p.Schema, p.Description, p.Default))
		if p.needed() {
			required = append(required, canonjson.AppendString(nil, p.Argument))
		}
	}
	if o.whole != "" {
		schema := o.Body.Schema
		switch {
		case schema == nil && o.kind == textBody:
			schema = json.RawMessage(`{"type":"string"}`)
		case schema == nil && o.kind != jsonBody:
			schema = json.RawMessage(`{"type":"object"}`)
		case schema == nil || string(schema) == "true":
			schema = json.RawMessage(`{}`)
		}
		properties.add(o.whole, schema)
		if o.Body.Required {
			required = append(required, canonjson.AppendString(nil, o.whole))
		}
	}
	schema.add("type", []byte(`"object"`))
	schema.add("properties", properties.text())
	if required != nil {
		schema.add("required", slices.Concat([]byte("["), bytes.Join(required, []byte(",")), []byte("]")))
	}
	schema.add("additionalProperties", []byte("false"))
	if o.Defs != nil {
		schema.add("$defs", o.Defs)
	}
	return schema.text()
}

// described returns a schema, an object, with a description and a default in place
// of its own.
func described(schema []byte, description string, fallback json.RawMessage) []byte {
	if description == "" && fallback == nil {
		return schema
	}
	var with object
	for key, value := range jsonscan.Fields(schema) {
		if string(key) == "description" && description != "" || string(key) == "default" && fallback != nil {
			continue
		}
		with.add(string(key), value)
	}
	if description != "" {
		with.add("description", canonjson.AppendString(nil, description))
	}
	if fallback != nil {
		with.add("default", fallback)
	}
	return with.text()
}
