// Package infer infers the JSON Schemas of tools from types of Go.
package infer

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// Arguments returns the schema of a tool's arguments.
func Arguments(t reflect.Type) (json.RawMessage, error) {
	forms := forms{}
	// The form of the root is always that of its fields: an UnmarshalJSON there
	// is the way to set defaults.
	if err := forms.addFields(t); err != nil {
		return nil, err
	}
	s, err := infer(t, forms)
	if err != nil {
		return nil, err
	}
	if s.Type != "object" || t.Kind() == reflect.Map && t.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("cannot be had from %v, which is not an object in JSON; use a struct or a map with string keys", t)
	}
	return json.Marshal(s)
}

// Result returns the schema of a tool's structured content as JSON, or nil
// if t is neither a struct nor a map, is a whole result, or has a JSON form of its own.
func Result(t reflect.Type) (json.RawMessage, error) {
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map || t == reflect.TypeFor[mcp.CallToolResult]() {
		return nil, nil
	}
	forms := forms{}
	if err := forms.add(t); err != nil {
		return nil, err
	}
	s, err := infer(t, forms)
	if err != nil {
		return nil, fmt.Errorf("%w; return any instead to have no schema", err)
	}
	if s.Type != "object" {
		return nil, nil
	}
	return json.Marshal(s)
}

func infer(t reflect.Type, forms forms) (*jsonschema.Schema, error) {
	maps.DeleteFunc(forms, func(_ reflect.Type, s *jsonschema.Schema) bool { return s == nil })
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: forms})
	if err != nil {
		return nil, fmt.Errorf("cannot be had from %v: %w", t, err)
	}
	allowAny(s)
	return s, nil
}

// allowAny mends what inference makes of a pointer to a type of any form: a
// schema that allows nothing but null.
func allowAny(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 1 && s.Types[0] == "null" {
		s.Types = nil
	}
	for _, p := range s.Properties {
		allowAny(p)
	}
	allowAny(s.Items)
	allowAny(s.AdditionalProperties)
}

// forms are the schemas of types whose JSON is not that of their Go kind, which
// is all that inference looks at.
type forms map[reflect.Type]*jsonschema.Schema

// add collects the forms of t and of everything in it.
func (f forms) add(t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		return f.add(t.Elem())
	}
	if _, seen := f[t]; seen {
		return nil
	}
	if s := formOf(t); s != nil {
		f[t] = s
		return nil
	}
	return f.addFields(t)
}

// addFields collects the forms of what t consists of.
func (f forms) addFields(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		return f.add(t.Elem())
	case reflect.Struct:
		// A nil entry marks a struct as seen, which ends the walk of a
		// recursive type.
		f[t] = nil
		for i := range t.NumField() {
			field := t.Field(i)
			tag := field.Tag.Get("json")
			if tag == "-" || !field.IsExported() && !field.Anonymous {
				continue
			}
			_, options, _ := strings.Cut(tag, ",")
			if slices.Contains(strings.Split(options, ","), "string") {
				return fmt.Errorf("cannot be had from field %s of %v: the option \"string\" of its json tag is not supported", field.Name, t)
			}
			if err := f.add(field.Type); err != nil {
				return err
			}
		}
	case reflect.Pointer:
		return f.add(t)
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return errors.New("cannot be had from " + t.String() + ", which has no JSON form")
	}
	return nil
}

func formOf(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[slog.Level]():
		return &jsonschema.Schema{Type: "string"}
	case reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Type: "integer"}
	case reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	}
	switch {
	case has[json.Marshaler](t) || has[json.Unmarshaler](t):
		return &jsonschema.Schema{}
	case has[encoding.TextMarshaler](t) || has[encoding.TextUnmarshaler](t):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && formOf(t.Elem()) == nil:
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	}
	return nil
}

func has[Method any](t reflect.Type) bool {
	method := reflect.TypeFor[Method]()
	return t.Kind() != reflect.Interface && (t.Implements(method) || reflect.PointerTo(t).Implements(method))
}
