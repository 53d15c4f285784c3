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

// pairs returns the pairs of a key, wherever the entry has them, and whether it has the key at
// all. What is neither an object nor null is a fault.
func (e *entry) pairs(key string) (list []pair, there bool) {
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
		there = true
		for j := range f.Value.Members {
			m := &f.Value.Members[j]
			list = append(list, pair{m.Key, f.At.Key(m.Key), m.Offset, &m.Value, f})
		}
	}
	return list, there
}

// pair returns the value of a pair expanded, and whether there is one.
func (e *entry) pair(p pair) (string, bool) {
	if e.dialect.Scalars && p.field.Key == "env" {
		switch p.value.Kind {
		case jsonc.Null:
			return "", false
		case jsonc.Number:
			return p.value.Text, true
		}
	}
	if !e.check(p.value, p.at, jsonc.String) || e.tooMany() {
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
		if p.field.Fallback != "" {
			text, err = e.expand.expand(p.field.Fallback)
		}
	}
	if err != nil {
		e.fail(p.value.Offset, p.at, "%w", err)
		return "", false
	}
	e.template(p.field.Key+" "+p.name, p.value.Text+orFallback(p.field.Fallback), text)
	return text, true
}

// orFallback is what stands for a value that cannot be had, as it is told.
func orFallback(text string) string {
	if text == "" {
		return ""
	}
	return " or " + text
}

// template keeps a value as written, if it is another one than it stands for.
func (e *entry) template(key, written, value string) {
	if written == value {
		delete(e.templates, key)
		return
	}
	if e.templates == nil {
		e.templates = make(map[string]string)
	}
	e.templates[key] = written
}

// written returns the values of the variables and headers of the entry, and the secret of
// its client, as they are written: with references not replaced, but for those of a file
// of variables, which has none. Of a Server that was not read from a file they are the
// values themselves.
func (s *Server) written() (env, headers map[string]Secret, clientSecret Secret) {
	written := func(key string, value Secret) Secret {
		if text, ok := s.templates[key]; ok {
			return Secret(text)
		}
		return value
	}
	env, headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for name, value := range env {
		env[name] = written("env "+name, value)
	}
	for name, value := range headers {
		headers[name] = written("headers "+name, value)
	}
	if s.Auth != nil {
		clientSecret = written("clientSecret", s.Auth.ClientSecret)
	}
	return env, headers, clientSecret
}
