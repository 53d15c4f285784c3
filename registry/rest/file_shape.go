package rest

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// shape notes where a value has not the form of a Go type: keys that its fields do
// not have, spelled exactly, and values of another kind.
func (f *apiFile) shape(n *jsonc.Node, path jsonc.Path, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return
	}
	if text, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok {
		if !f.is(n, path, jsonc.String) {
			return
		}
		if err := text.UnmarshalText([]byte(n.Text)); err != nil {
			f.fail(n.Offset, path, err.Error())
		}
		return
	}
	switch t.Kind() {
	case reflect.String:
		f.is(n, path, jsonc.String)
	case reflect.Bool:
		f.is(n, path, jsonc.Bool)
	case reflect.Int:
		if !f.is(n, path, jsonc.Number) {
			return
		}
		if _, err := strconv.Atoi(n.Text); err != nil {
			f.fail(n.Offset, path, "must be a whole number that is not too large")
		}
	case reflect.Slice:
		if !f.is(n, path, jsonc.Array) {
			return
		}
		for i := range n.Elems {
			f.shape(&n.Elems[i], path.Index(i), t.Elem())
		}
	case reflect.Map:
		if !f.is(n, path, jsonc.Object) {
			return
		}
		for i := range n.Members {
			f.shape(&n.Members[i].Value, path.Key(n.Members[i].Key), t.Elem())
		}
	case reflect.Struct:
		if !f.is(n, path, jsonc.Object) {
			return
		}
		f.members(n, path, t)
	default:
		f.fail(n.Offset, path, "cannot be given in a file")
	}
}

func (f *apiFile) members(n *jsonc.Node, path jsonc.Path, t reflect.Type) {
	fields := map[string]reflect.Type{}
	var known []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = t.Field(i).Type
		known = append(known, name)
	}
	for i := range n.Members {
		m := &n.Members[i]
		if field, ok := fields[m.Key]; ok {
			f.shape(&m.Value, path.Key(m.Key), field)
			continue
		}
		text := "there is no such key; there are " + strings.Join(known, ", ")
		for _, name := range known {
			if strings.EqualFold(name, strings.NewReplacer("_", "", "-", "").Replace(m.Key)) {
				text = "there is no such key; write " + strconv.Quote(name)
			}
		}
		f.fail(m.Offset, path.Key(m.Key), text)
	}
}

// is reports whether a value is of a kind, and notes a fault if it is not.
func (f *apiFile) is(n *jsonc.Node, path jsonc.Path, want jsonc.Kind) bool {
	if n.Kind != want {
		f.fail(n.Offset, path, "must be "+want.String()+", not "+n.Kind.String())
	}
	return n.Kind == want
}
