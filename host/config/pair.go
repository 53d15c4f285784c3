package config

import (
	"errors"
	"maps"

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

// pairs returns the pairs of a key, wherever the entry has them. What is neither an object
// nor null is a fault.
func (e *entry) pairs(key string) (list []pair) {
	for i := range e.fields {
		f := &e.fields[i]
		switch {
		case f.Key != key || f.Value.Kind == jsonc.Null:
			continue
		case f.Name != "":
			list = append(list, pair{f.Name, f.At, f.Offset, f.Value, f})
		case !e.check(f.Value, f.At, jsonc.Object):
			continue
		}
		for j := range f.Value.Members {
			m := &f.Value.Members[j]
			list = append(list, pair{m.Key, f.At.Key(m.Key), m.Offset, &m.Value, f})
		}
	}
	return list
}

// pair returns the value of a pair expanded, and whether there is one.
func (e *entry) pair(p pair) (string, bool) {
	if kind := p.value.Kind; e.dialect.Scalars && p.field.Key == "env" && (kind == jsonc.Null || kind == jsonc.Number) {
		return p.value.Text, kind == jsonc.Number
	}
	if !e.check(p.value, p.at, jsonc.String) || e.tooMany() {
		return "", false
	}
	x, written := &expander{entry: e, mayWait: true}, p.value.Text
	text, err := x.expand(written)
	unset := errors.As(err, new(*UnsetVariableError))
	if p.field.Fallback != "" {
		written += " or " + p.field.Fallback
		if unset {
			text, err = x.expand(p.field.Fallback)
		}
	}
	if name := x.literal; name != "" {
		e.warn(p.value.Offset, p.at, "$%[1]s stays as it is, as in the file's program: write ${%[1]s} for what the variable holds", name)
	}
	e.refer(p.at, x.seen)
	if err != nil {
		if !unset || !p.field.Optional {
			e.fail(p.value.Offset, p.at, "%w", err)
		}
		return "", false
	}
	e.templates[p.field.Key+" "+p.name] = written
	return text, true
}

// written returns the values of the variables and headers of the entry, and the secret of
// its client, as they are written: with references not replaced, but for those of a file
// of variables, which has none. Of a Server that was not read from a file they are the
// values themselves.
func (s *Server) written() (env, headers map[string]Secret, clientSecret Secret) {
	written := func(key string, values map[string]Secret) map[string]Secret {
		values = maps.Clone(values)
		for name := range values {
			if text, ok := s.templates[key+" "+name]; ok {
				values[name] = Secret(text)
			}
		}
		return values
	}
	if s.Auth != nil {
		clientSecret = written("auth", map[string]Secret{"clientSecret": s.Auth.ClientSecret})["clientSecret"]
	}
	return written("env", s.Env), written("headers", s.Headers), clientSecret
}
