package secret

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Encode returns v as JSON with its secrets in clear, for storage that seals
// it. [json.Unmarshal] reads it back. Of struct tags it knows names, "-" and
// omitempty; structs must not be embedded, and keys of maps are strings.
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
	t := v.Type()
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[Secret]():
		return v.String(), nil
	case kind == reflect.Pointer || kind == reflect.Interface:
		return reveal(v.Elem()) // nothing if it is nil
	case t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return v.Interface(), nil
	case kind == reflect.Slice && v.IsNil(), kind == reflect.Map && v.IsNil():
		return nil, nil
	case kind == reflect.Slice && t.Elem().Kind() != reflect.Uint8, kind == reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = reveal(v.Index(i)); err != nil {
				return nil, err
			}
		}
		return list, nil
	case kind == reflect.Map && t.Key().Kind() == reflect.String:
		members := make(map[string]any, v.Len())
		for key, value := range v.Seq2() {
			var err error
			if members[key.String()], err = reveal(value); err != nil {
				return nil, err
			}
		}
		return members, nil
	case kind == reflect.Map:
		return nil, fmt.Errorf("secret: cannot encode %v", t)
	case kind == reflect.Struct:
		return revealStruct(v)
	}
	return v.Interface(), nil
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
		name = cmp.Or(name, field.Name)
		var err error
		if members[name], err = reveal(v.Field(i)); err != nil {
			return nil, err
		}
	}
	return members, nil
}
