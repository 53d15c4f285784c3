package eino

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/eino-contrib/jsonschema"
	orderedmap "github.com/wk8/go-ordered-map/v2"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// schemaOf returns a schema in eino's type, from which models read fields, or write JSON.
// That JSON says the same as raw, and has the properties in the same order. Keywords that
// the type has no field for are in its Extras as they stand.
func schemaOf(raw json.RawMessage) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{}
	if decode(raw, s) && says(s, raw) {
		return s, nil
	}
	if err := jsonscan.Valid(raw); err != nil {
		return nil, fmt.Errorf("eino: a schema that is not JSON: %w", err)
	}
	if s = exactSchema(raw); s == nil {
		return nil, fmt.Errorf("eino: a schema that is neither an object nor true or false")
	}
	return s, nil
}

// decode reads a schema, and reports whether it could: the type panics at some, such as
// one whose type is null.
func decode(raw []byte, s *jsonschema.Schema) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return json.Unmarshal(raw, s) == nil
}

// says reports whether the JSON of a schema says the same as raw.
func says(s *jsonschema.Schema, raw []byte) bool {
	written, err := json.Marshal(s)
	if err != nil {
		return false
	}
	want, err := canonjson.Append(nil, raw)
	if err != nil {
		return false
	}
	got, err := canonjson.Append(nil, written)
	return err == nil && bytes.Equal(got, want)
}

// exactSchema is schemaOf for what the type does not read, or not as it stands. Raw is
// checked; nil: it is no schema.
func exactSchema(raw []byte) *jsonschema.Schema {
	switch string(raw) {
	case "true", "false":
		s := &jsonschema.Schema{}
		_ = decode(raw, s)
		return s
	}
	if raw[0] != '{' {
		return nil
	}
	var (
		s       = &jsonschema.Schema{}
		plain   = map[string]json.RawMessage{} // keywords without schemas in them
		extras  = map[string]any{}
		schemas = map[string][]byte{}
	)
	for key, value := range jsonscan.Fields(raw) {
		name := string(key)
		switch {
		case holdsSchemas(name):
			schemas[name] = value
		case keeps(name, value):
			plain[name] = value
		default:
			extras[name] = json.RawMessage(value)
		}
	}
	if object, err := json.Marshal(plain); err != nil || !decode(object, s) {
		return nil
	}
	for name, value := range schemas {
		if !setSchemas(s, name, value) {
			extras[name] = json.RawMessage(value)
		}
	}
	// Not nil even if it is empty: a schema without anything would be written as true,
	// which not every provider takes.
	s.Extras = extras
	return s
}

// keeps reports whether the type has a place for a keyword with that value.
func keeps(name string, value []byte) bool {
	object, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return false
	}
	s := &jsonschema.Schema{}
	return decode(object, s) && says(s, object)
}

func holdsSchemas(name string) bool {
	s := &jsonschema.Schema{}
	return name == "properties" || placeOfOne(s, name) != nil || placeOfList(s, name) != nil || placeOfMap(s, name) != nil
}

// setSchemas sets a keyword that holds schemas, and reports whether it could.
func setSchemas(s *jsonschema.Schema, name string, value []byte) bool {
	if place := placeOfOne(s, name); place != nil {
		*place = exactSchema(value)
		return *place != nil
	}
	if place := placeOfList(s, name); place != nil {
		return setList(place, value)
	}
	if value[0] != '{' {
		return false
	}
	if place := placeOfMap(s, name); place != nil {
		return setMap(place, value)
	}
	properties := orderedmap.New[string, *jsonschema.Schema]()
	for key, raw := range jsonscan.Fields(value) {
		sub := exactSchema(raw)
		if sub == nil {
			return false
		}
		properties.Set(string(key), sub)
	}
	s.Properties = properties
	return true
}

func setList(place *[]*jsonschema.Schema, value []byte) bool {
	if value[0] != '[' {
		return false
	}
	var list []*jsonschema.Schema
	for raw := range jsonscan.Elements(value) {
		sub := exactSchema(raw)
		if sub == nil {
			return false
		}
		list = append(list, sub)
	}
	*place = list
	return list != nil // an empty one would not be written
}

func setMap(place *map[string]*jsonschema.Schema, value []byte) bool {
	subs := map[string]*jsonschema.Schema{}
	for key, raw := range jsonscan.Fields(value) {
		sub := exactSchema(raw)
		if sub == nil {
			return false
		}
		subs[string(key)] = sub
	}
	if len(subs) == 0 { // would not be written
		return false
	}
	*place = subs
	return true
}

// placeOfOne returns where the schema of a keyword belongs; nil: the keyword has not
// exactly one.
func placeOfOne(s *jsonschema.Schema, name string) **jsonschema.Schema {
	switch name {
	case "not":
		return &s.Not
	case "if":
		return &s.If
	case "then":
		return &s.Then
	case "else":
		return &s.Else
	case "items":
		return &s.Items
	case "contains":
		return &s.Contains
	case "additionalProperties":
		return &s.AdditionalProperties
	case "propertyNames":
		return &s.PropertyNames
	case "contentSchema":
		return &s.ContentSchema
	}
	return nil
}

// placeOfList is placeOfOne for keywords with a list of schemas.
func placeOfList(s *jsonschema.Schema, name string) *[]*jsonschema.Schema {
	switch name {
	case "allOf":
		return &s.AllOf
	case "anyOf":
		return &s.AnyOf
	case "oneOf":
		return &s.OneOf
	case "prefixItems":
		return &s.PrefixItems
	}
	return nil
}

// placeOfMap is placeOfOne for keywords with schemas by name.
func placeOfMap(s *jsonschema.Schema, name string) *map[string]*jsonschema.Schema {
	switch name {
	case "$defs":
		return (*map[string]*jsonschema.Schema)(&s.Definitions)
	case "dependentSchemas":
		return &s.DependentSchemas
	case "patternProperties":
		return &s.PatternProperties
	}
	return nil
}
