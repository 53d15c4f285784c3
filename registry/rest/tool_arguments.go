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
	for _, p := range o.params {
		if _, ok := args[p.Argument]; ok {
			continue
		}
		if p.Default != nil {
			args[p.Argument] = p.Default
		} else if p.needed() {
			m.add(&registry.Problem{Path: p.path(), Want: "a value"})
		}
	}
	if whole := o.body.whole; whole != "" && args[whole] == nil && o.body.required {
		m.add(&registry.Problem{Path: schemagate.Member("", whole), Want: "the body of the request"})
	}
	return args
}

// inputSchema makes the schema of the arguments: an object whose properties are in
// the order of the parameters.
func (o *operation) inputSchema() json.RawMessage {
	text := []byte(`{"type":"object","properties":{`)
	var required []string
	add := func(name string, schema []byte) {
		if text[len(text)-1] != '{' {
			text = append(text, ',')
		}
		text = append(append(canonjson.AppendString(text, name), ':'), schema...)
	}
	for _, p := range o.params {
		add(p.Argument, described(p.Schema, p.Description, p.Default))
		if p.needed() {
			required = append(required, p.Argument)
		}
	}
	if o.body.whole != "" {
		schema := o.endpoint.Body.Schema
		switch {
		case schema == nil && o.body.kind == textBody:
			schema = json.RawMessage(`{"type":"string"}`)
		case schema == nil && o.body.kind != jsonBody:
			schema = json.RawMessage(`{"type":"object"}`)
		case schema == nil || string(schema) == "true":
			schema = json.RawMessage(`{}`)
		}
		add(o.body.whole, schema)
		if o.body.required {
			required = append(required, o.body.whole)
		}
	}
	text = append(text, '}')
	for i, name := range required {
		if i == 0 {
			text = append(text, `,"required":[`...)
		} else {
			text = append(text, ',')
		}
		text = canonjson.AppendString(text, name)
	}
	if required != nil {
		text = append(text, ']')
	}
	text = append(text, `,"additionalProperties":false`...)
	if o.endpoint.Defs != nil {
		text = append(append(text, `,"$defs":`...), o.endpoint.Defs...)
	}
	return append(text, '}')
}

// described returns a schema, an object, with a description and a default in place
// of its own.
func described(schema []byte, description string, fallback json.RawMessage) []byte {
	if description == "" && fallback == nil {
		return schema
	}
	text := []byte{'{'}
	add := func(key string, value []byte) {
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(canonjson.AppendString(text, key), ':'), value...)
	}
	for key, value := range jsonscan.Fields(schema) {
		switch string(key) {
		case "description":
			if description != "" {
				continue
			}
		case "default":
			if fallback != nil {
				continue
			}
		}
		add(string(key), value)
	}
	if description != "" {
		add("description", canonjson.AppendString(nil, description))
	}
	if fallback != nil {
		add("default", fallback)
	}
	return append(text, '}')
}
