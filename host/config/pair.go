package config

import (
	"errors"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A pair is an environment variable or a header of an entry.
type pair struct {
	name   string
	at     jsonc.Path
	offset int // of the name as written
	value  *jsonc.Node
	field  *dialect.Field
}

// pairs returns the pairs of a key, wherever the entry has them. Objects only: what
// else stands under the key is for checkedPairs.
func (e *entry) pairs(key string) []pair {
	var list []pair
	for i := range e.fields {
		f := &e.fields[i]
		switch {
		case f.Key != key || f.Value.Kind == jsonc.Null:
		case f.Name != "":
			list = append(list, pair{f.Name, f.At, f.Offset, f.Value, f})
		default:
			for j := range f.Value.Members {
				m := &f.Value.Members[j]
				list = append(list, pair{m.Key, f.At.Key(m.Key), m.Offset, &m.Value, f})
			}
		}
	}
	return list
}

// checkedPairs is pairs, with a fault for what is not an object. It reports whether
// the entry has the key at all.
func (e *entry) checkedPairs(key string) (list []pair, ok bool) {
	for i := range e.fields {
		f := &e.fields[i]
		if f.Key == key && f.Value.Kind != jsonc.Null && (f.Name != "" || e.check(f.Value, f.At, jsonc.Object)) {
			ok = true
		}
	}
	return e.pairs(key), ok
}

// pair returns the value of a pair expanded, and whether there is one.
func (e *entry) pair(p pair) (string, bool) {
	if !e.check(p.value, p.at, jsonc.String) || e.hopeless() {
		return "", false
	}
	e.expand.mayWait = true
	defer func() {
		e.expand.mayWait = false
		e.refer(p.at)
	}()
	text, err := e.expand.expand(p.value.Text)
	var unset *UnsetVariableError
	if errors.As(err, &unset) {
		if p.field.Optional {
			return "", false
		}
		if p.field.Otherwise != "" {
			text, err = e.expand.expand(p.field.Otherwise)
		}
	}
	if err != nil {
		e.fail(p.value.Offset, p.at, "%w", err)
		return "", false
	}
	return text, true
}

// clean reports whether the operating system takes the value of a pair.
func (e *entry) clean(p pair, value string) bool {
	if strings.ContainsRune(value, 0) {
		e.fail(p.value.Offset, p.at, "holds a NUL byte: remove it")
		return false
	}
	return true
}
