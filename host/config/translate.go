package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// translate turns what the file says of an entry into our vocabulary.
func (e *entry) translate(found *dialect.Entry) {
	fields, faults := dialect.FieldsOf(e.dialect, found)
	for _, fault := range faults {
		e.note(fault)
	}
	e.fields = fields
	first := make(map[string]*dialect.Field, len(e.fields))
	for i := range e.fields {
		f := &e.fields[i]
		if f.Foreign {
			continue
		}
		f.Key = e.ours(f.Key, entryKeys())
		if f.Name != "" || f.Value.Kind == jsonc.Null || f.Key == "env" || f.Key == "headers" {
			continue
		}
		if other := first[f.Key]; other != nil {
			e.fail(f.Offset, f.At, "is the same as %q: remove one of them", other.Written)
			continue
		}
		first[f.Key] = f
	}
}

// ours returns the spelling in known of a key, which the file's program may write in
// snake_case.
func (e *entry) ours(key string, known []string) string {
	if !e.dialect.Snake || !strings.Contains(key, "_") || slices.Contains(known, key) {
		return key
	}
	for _, k := range known {
		if dialect.SnakeCase(k) == key {
			return k
		}
	}
	return key
}

// note takes over a fault that the dialect has found.
func (e *entry) note(fault dialect.Fault) {
	if fault.Warning {
		e.warn(fault.Offset, fault.At, "%s", fault.Text)
	} else {
		e.fail(fault.Offset, fault.At, "%s", fault.Text)
	}
}

// word returns how the file's program writes one of our keys.
func (e *entry) word(key string) string {
	return cmp.Or(e.write.Keys[key], key)
}
