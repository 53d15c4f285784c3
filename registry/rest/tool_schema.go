package rest

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

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
		case schema == nil && o.body.kind == textPayload:
			schema = json.RawMessage(`{"type":"string"}`)
		case schema == nil && o.body.kind != jsonPayload:
			schema = json.RawMessage(`{"type":"object"}`)
		case schema == nil || string(schema) == "true":
			schema = json.RawMessage(`{}`)
		}
		add(o.body.whole, schema)
		if o.body.required && o.body.fallback == nil {
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
		add("description", jsonString(description))
	}
	if fallback != nil {
		add("default", fallback)
	}
	return append(text, '}')
}
