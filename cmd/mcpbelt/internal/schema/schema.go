// Package schema reads JSON Schemas of tools that are decoded into maps and slices.
package schema

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// maxRefs bounds the references that lead to one another.
const maxRefs = 16

// Decode returns the value of a JSON text, its numbers as json.Number; nil if it is none.
func Decode(text []byte) any {
	var value any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return nil
	}
	return value
}

// Get returns a member of an object, nil if there is none.
func Get(value any, key string) any {
	object, _ := value.(map[string]any)
	return object[key]
}

// Lookup returns what a reference within a schema leads to, nil if there is nothing.
func Lookup(root any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	path, err := url.PathUnescape(path)
	if !ok || err != nil || path != "" && path[0] != '/' {
		return nil
	}
	at := root
	for path != "" {
		step, rest, more := strings.Cut(path[1:], "/")
		if path = ""; more {
			path = "/" + rest
		}
		if list, ok := at.([]any); ok {
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(list) {
				return nil
			}
			at = list[n]
			continue
		}
		at = Get(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return at
}

// Resolve follows the references of a schema.
func Resolve(root, schema any) any {
	for range maxRefs {
		ref, ok := Get(schema, "$ref").(string)
		if !ok {
			break
		}
		schema = Lookup(root, ref)
	}
	return schema
}

// Types returns the types that a schema names, or those of its constants; nil if it has neither.
func Types(schema any) (types []string) {
	switch t := Get(schema, "type").(type) {
	case string:
		return []string{t}
	case []any:
		for _, one := range t {
			name, _ := one.(string)
			types = append(types, name)
		}
		return types
	}
	values, _ := Get(schema, "enum").([]any)
	if value := Get(schema, "const"); value != nil {
		values = []any{value}
	}
	for _, v := range values {
		types = append(types, TypeOf(v))
	}
	return types
}

// TypeOf returns the type of a value.
func TypeOf(value any) string {
	switch v := value.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if _, fraction, _ := strings.Cut(v.String(), "."); !strings.ContainsAny(v.String(), "eE") && strings.Trim(fraction, "0") == "" {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	case nil:
		return "null"
	}
	return "object"
}
