package config

import (
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
)

// env reads the environment of a local server.
func (e *entry) env(s *Server) {
	pairs, ok := e.pairs("env")
	e.variables = pairs
	if !ok {
		return
	}
	if s.Env == nil { // else envFile has made it
		s.Env = make(map[string]Secret, len(pairs))
	}
	for _, p := range pairs {
		if p.name == "" || strings.ContainsFunc(p.name, func(r rune) bool { return r < ' ' || r == '=' || r == 0x7f }) {
			e.fail(p.offset, p.at, "is not the name of a variable: it is empty or holds = or a control character")
			continue
		}
		value, ok := e.pair(p)
		if ok && strings.ContainsRune(value, 0) {
			e.fail(p.value.Offset, p.at, "holds a NUL byte: remove it")
		} else if ok {
			s.Env[p.name] = Secret(value)
		}
	}
}

// headers reads the HTTP headers of a remote server.
func (e *entry) headers(s *Server) {
	pairs, ok := e.pairs("headers")
	e.headerPairs = pairs
	if !ok {
		return
	}
	s.Headers = make(map[string]Secret, len(pairs))
	seen := make(map[string]string, len(pairs)) // canonical to written
	for _, p := range pairs {
		if !httpfield.ValidName(p.name) {
			e.fail(p.offset, p.at, "is not the name of a header: use letters, digits and -")
			continue
		}
		canonical := http.CanonicalHeaderKey(p.name)
		if other, ok := seen[canonical]; ok {
			e.fail(p.offset, p.at, "is the same header as %s: remove one of them", other)
			continue
		}
		seen[canonical] = p.name
		value, ok := e.pair(p)
		if !ok {
			continue
		}
		if !httpfield.ValidValue(value) {
			e.fail(p.value.Offset, p.at, "holds a line break or a control character: remove it from the value or its variable")
			continue
		}
		s.Headers[p.name] = Secret(value)
	}
}
