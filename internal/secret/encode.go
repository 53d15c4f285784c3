package secret

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Encode returns v as JSON with its secrets in clear, for storage that seals
// it. [json.Unmarshal] reads it back. Of struct tags it knows names, "-" and
// omitempty; structs that hold secrets must not be embedded.
func Encode(v any) ([]byte, error) {
	bare, err := reveal(reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	return json.Marshal(bare)
}

// reveal returns a value that package json writes as it would write v, but for
// the secrets.
func reveal(v reflect.Value) (any, error) {
	if !v.IsValid() {
		return nil, nil
	}
	if v.Type() == reflect.TypeFor[Secret]() {
		return v.String(), nil
	}
	if !holds(v.Type(), nil) {
		return v.Interface(), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return reveal(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return nil, nil
		}
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = reveal(v.Index(i)); err != nil {
				return nil, err
			}
		}
		return list, nil
	case reflect.Map:
		if v.IsNil() {
			return nil, nil
		}
		if v.Type().Key().Kind() != reflect.String {
			return nil, fmt.Errorf("secret: cannot encode %v", v.Type())
		}
		byKey := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			value, err := reveal(it.Value())
			if err != nil {
				return nil, err
			}
			byKey[it.Key().String()] = value
		}
		return byKey, nil
	case reflect.Struct:
		return revealStruct(v)
	}
	return nil, fmt.Errorf("secret: cannot encode %v", v.Type())
}

func revealStruct(v reflect.Value) (any, error) {
	members := map[string]any{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if field.Anonymous {
			return nil, fmt.Errorf("secret: cannot encode %v: %s is embedded", v.Type(), field.Name)
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || options == "omitempty" && v.Field(i).IsZero() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		value, err := reveal(v.Field(i))
		if err != nil {
			return nil, err
		}
		members[name] = value
	}
	return members, nil
}

// holds reports whether values of type t can hold secrets. Types that encode
// themselves, and those under way already, hold none.
func holds(t reflect.Type, above []reflect.Type) bool {
	if t == reflect.TypeFor[Secret]() {
		return true
	}
	for _, a := range above {
		if a == t {
			return false
		}
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holds(t.Elem(), above)
	case reflect.Map:
		return holds(t.Elem(), above)
	case reflect.Struct:
		if t.Implements(reflect.TypeFor[json.Marshaler]()) {
			return false
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && holds(f.Type, above) {
				return true
			}
		}
	}
	return false
}
