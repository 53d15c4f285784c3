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
		if set := setterOf(s, name); set != nil && set(value.(json.RawMessage)) {
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

// setterOf returns what sets a keyword whose schemas the type does not take as they stand, and
// reports whether it could. These are the keywords that common schemas nest by; nil: the
// keyword is another one.
func setterOf(s *jsonschema.Schema, name string) func(json.RawMessage) bool {
	switch name {
	case "properties":
		return func(value json.RawMessage) bool {
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
		}
	case "$defs":
		return func(value json.RawMessage) bool {
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
	case "items":
		return setOne(&s.Items)
	case "additionalProperties":
		return setOne(&s.AdditionalProperties)
	case "allOf":
		return setList(&s.AllOf)
	case "anyOf":
		return setList(&s.AnyOf)
	case "oneOf":
		return setList(&s.OneOf)
	}
	return nil
}

func setOne(place **jsonschema.Schema) func(json.RawMessage) bool {
	return func(value json.RawMessage) bool {
		*place = exactSchema(value)
		return *place != nil
	}
}

func setList(place *[]*jsonschema.Schema) func(json.RawMessage) bool {
	return func(value json.RawMessage) bool {
		var raws []json.RawMessage
		if json.Unmarshal(value, &raws) != nil || len(raws) == 0 {
			return false
		}
		list := make([]*jsonschema.Schema, len(raws))
		for i, raw := range raws {
			if list[i] = exactSchema(raw); list[i] == nil {
				return false
			}
		}
		*place = list
		return true
	}
}
