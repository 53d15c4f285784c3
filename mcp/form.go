package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A FormField is one field of a form that a server wants to have filled in.
type FormField struct {
	// Name is the field's name in the answer.
	Name string
}

// A form is the schema of an elicitation: a flat object of simple values.
type form struct {
	fields   []FormField
	types    map[string]formField
	required []string
}

type formField struct {
	Type    string          `json:"type"`
	Default json.RawMessage `json:"default"`
}

// newForm reads a requested schema, as decoded by the SDK. The protocol allows
// properties of type string, number, integer, boolean, and arrays of choices.
func newForm(schema json.RawMessage) (*form, error) {
	if len(schema) == 0 || string(schema) == "null" {
		return &form{}, nil
	}
	var object struct {
		Type       string               `json:"type"`
		Properties map[string]formField `json:"properties"`
		Required   []string             `json:"required"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, refused("requestedSchema is not a flat object schema")
	}
	if object.Type != "" && object.Type != "object" {
		return nil, refused("requestedSchema has type %q, must be object", object.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		switch object.Properties[name].Type {
		case "string", "number", "integer", "boolean", "array":
		default:
			return nil, refused("requestedSchema: property %q must have a simple type", name)
		}
	}
	return &form{types: object.Properties, required: object.Required}, nil
}

// fill returns content with the defaults of what it leaves out, and fails if a
// value is missing or has the wrong type.
func (f *form) fill(content map[string]any) (map[string]any, error) {
	filled := maps.Clone(content)
	if filled == nil {
		filled = map[string]any{}
	}
	for name, field := range f.types {
		value, given := filled[name]
		if !given {
			if field.Default != nil {
				filled[name] = field.Default
			}
			continue
		}
		if err := checkType(field.Type, value); err != nil {
			return nil, refused("the answer's %q %v", name, err)
		}
	}
	for _, name := range f.required {
		if _, given := filled[name]; !given {
			return nil, refused("the answer lacks %q", name)
		}
	}
	return filled, nil
}

func checkType(want string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil || len(raw) == 0 {
		return errors.New("is no JSON value")
	}
	var ok bool
	switch want {
	case "string":
		ok = raw[0] == '"'
	case "boolean":
		ok = raw[0] == 't' || raw[0] == 'f'
	case "number":
		ok = raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	case "integer":
		var whole int64
		ok = json.Unmarshal(raw, &whole) == nil
	case "array":
		ok = raw[0] == '['
	}
	if !ok {
		return fmt.Errorf("is not of type %s", want)
	}
	return nil
}
