package eino

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/eino-contrib/jsonschema"
	orderedmap "github.com/wk8/go-ordered-map/v2"
)

// schemaOf returns a schema in eino's type, from which models read fields, or write JSON.
// That JSON says the same as raw, and has the properties in the same order. Keywords that
// the type has no field for, or not for their value, are in its Extras as they stand.
func schemaOf(raw json.RawMessage) (*jsonschema.Schema, error) {
	if s := exactSchema(raw); s != nil {
		return s, nil
	}
	return nil, errors.New("eino: a schema that is neither an object nor true or false")
}

// exactSchema is schemaOf; nil: it is no schema.
func exactSchema(raw []byte) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if decode(raw, s) && says(s, raw) {
		return s
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil
	}
	kept, extras := map[string]json.RawMessage{}, map[string]any{}
	for name, value := range fields {
		object, err := json.Marshal(map[string]json.RawMessage{name: value})
		if one := (&jsonschema.Schema{}); err == nil && decode(object, one) && says(one, object) {
			kept[name] = value
		} else {
			extras[name] = value
		}
	}
	s = &jsonschema.Schema{}
	if object, err := json.Marshal(kept); err != nil || !decode(object, s) {
		return nil
	}
	for name, value := range extras {
		if nest(s, name, value.(json.RawMessage)) {
			delete(extras, name)
		}
	}
	// Not nil even if it is empty: a schema without anything would be written as true,
	// which not every provider takes.
	s.Extras = extras
	return s
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
	return err == nil && reflect.DeepEqual(valueOf(written), valueOf(raw))
}

// valueOf returns the value of JSON, with numbers as they are written.
func valueOf(raw []byte) (value any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

// nest sets a keyword whose schemas the type does not take as they stand, and reports whether
// it could. These are the keywords that common schemas nest by.
func nest(s *jsonschema.Schema, name string, value json.RawMessage) bool {
	switch name {
	case "properties":
		members := orderedmap.New[string, json.RawMessage]()
		if value[0] != '{' || json.Unmarshal(value, members) != nil {
			return false
		}
		properties := orderedmap.New[string, *jsonschema.Schema]()
		for p := members.Oldest(); p != nil; p = p.Next() {
			sub := exactSchema(p.Value)
			if sub == nil {
				return false
			}
			properties.Set(p.Key, sub)
		}
		s.Properties = properties
		return true
	case "$defs":
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil || len(members) == 0 {
			return false
		}
		subs := jsonschema.Definitions{}
		for key, raw := range members {
			if subs[key] = exactSchema(raw); subs[key] == nil {
				return false
			}
		}
		s.Definitions = subs
		return true
	}
	if to, ok := map[string]**jsonschema.Schema{"items": &s.Items, "additionalProperties": &s.AdditionalProperties}[name]; ok {
		*to = exactSchema(value)
		return *to != nil
	}
	if to, ok := map[string]*[]*jsonschema.Schema{"allOf": &s.AllOf, "anyOf": &s.AnyOf, "oneOf": &s.OneOf}[name]; ok {
		*to = exactSchemas(value)
		return *to != nil
	}
	return false
}

// exactSchemas is exactSchema for a list; nil: it is none.
func exactSchemas(value json.RawMessage) []*jsonschema.Schema {
	var raws []json.RawMessage
	if json.Unmarshal(value, &raws) != nil {
		return nil
	}
	var list []*jsonschema.Schema
	for _, raw := range raws {
		sub := exactSchema(raw)
		if sub == nil {
			return nil
		}
		list = append(list, sub)
	}
	return list
}
