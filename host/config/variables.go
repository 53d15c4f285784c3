package config

import (
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
)

// env reads the environment of a local server.
func (e *entry) env(s *Server) {
	e.variables = e.pairs("env")
	if s.Env == nil && len(e.variables) > 0 { // else envFile has made it
		s.Env = make(map[string]Secret, len(e.variables))
	}
	for _, p := range e.variables {
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
	e.headerPairs = e.pairs("headers")
	if len(e.headerPairs) > 0 {
		s.Headers = make(map[string]Secret, len(e.headerPairs))
	}
	seen := make(map[string]string, len(e.headerPairs)) // canonical to written
	for _, p := range e.headerPairs {
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
		if ok && !httpfield.ValidValue(value) {
			e.fail(p.value.Offset, p.at, "holds a line break or a control character: remove it from the value or its variable")
		} else if ok {
			s.Headers[p.name] = Secret(value)
		}
	}
}
