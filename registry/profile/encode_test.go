package profile_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

type registryTool = registry.Tool

// canBeWritten reports whether there are arguments that fit the compiled schema and
// are turned back into args. It goes through the ways to write them that the
// documentation speaks of.
func canBeWritten(t *testing.T, compiled *profile.Tool, theirs *schemagate.Schema, args []byte) bool {
	t.Helper()
	want := sameText(t, args)
	w := answerer{root: decoded(t, compiled.Schema), left: 50_000}
	value := decoded(t, args)
	renamed(t, compiled, w.root, value)
	for _, v := range w.ways(w.root, value) {
		written := encoded(t, v)
		if theirs.Validate(written) != nil {
			continue
		}
		back, err := compiled.Unmap(written)
		if err == nil && sameText(t, back) == want {
			return true
		}
	}
	return false
}

// renamed gives the properties of the arguments the names that the provider has for
// them.
func renamed(t *testing.T, compiled *profile.Tool, root, value any) {
	t.Helper()
	object, _ := value.(map[string]any)
	properties, _ := root.(map[string]any)["properties"].(map[string]any)
	for name := range properties {
		back := assert.Value(compiled.Unmap(encoded(t, map[string]any{name: 1})))(t)
		for own := range decoded(t, back).(map[string]any) {
			if v, there := object[own]; there && own != name {
				delete(object, own)
				object[name] = v
			}
		}
	}
}

type answerer struct {
	root any
	left int
}

// ways returns the forms in which a value may be written for a compiled schema.
func (w *answerer) ways(schema, value any) []any {
	s, ok := schema.(map[string]any)
	if !ok || w.left <= 0 {
		return []any{value}
	}
	w.left--
	if ref, ok := s["$ref"].(string); ok {
		target := w.root
		for _, token := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			target = target.(map[string]any)[token]
		}
		return w.ways(target, value)
	}
	if union, ok := s["anyOf"].([]any); ok {
		var all []any
		for _, e := range union {
			all = append(all, w.ways(e, value)...)
		}
		return all
	}
	all := []any{value}
	switch v := value.(type) {
	case map[string]any:
		if takes(s, "object") {
			all = append(all, w.objects(s, v)...)
		}
	case []any:
		if takes(s, "array") {
			all = append(all, w.lists(s, v)...)
		}
	}
	return all
}

func takes(s map[string]any, kind string) bool {
	switch t := s["type"].(type) {
	case string:
		return t == kind
	case []any:
		return slices.Contains(t, any(kind))
	}
	return true
}

func (w *answerer) lists(s map[string]any, v []any) []any {
	some := []any{[]any{}}
	for _, e := range v {
		var next []any
		for _, list := range some {
			for _, way := range w.ways(s["items"], e) {
				if len(next) < 4_000 {
					next = append(next, append(slices.Clone(list.([]any)), way))
				}
			}
		}
		some = next
	}
	return some
}

func (w *answerer) objects(s, v map[string]any) []any {
	properties, _ := s["properties"].(map[string]any)
	some := []map[string]any{{}}
	rest := map[string]any{}
	for k := range v {
		if properties[k] == nil {
			rest[k] = v[k]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		var ways []any
		switch own, there := v[name]; {
		case there:
			ways = w.ways(properties[name], own)
		default:
			ways = []any{nil}
		}
		if required, _ := s["required"].([]any); !slices.Contains(required, any(name)) {
			if _, there := v[name]; !there {
				continue
			}
		}
		var next []map[string]any
		for _, o := range some {
			for _, way := range ways {
				if len(next) < 4_000 {
					made := maps.Clone(o)
					made[name] = way
					next = append(next, made)
				}
			}
		}
		some = next
	}
	var all []any
	for _, o := range some {
		maps.Copy(o, rest)
		all = append(all, o)
	}
	return all
}
