package config

import (
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// env reads the environment of a local server.
func (e *entry) env(s *Server) {
	m := e.member("env")
	if m == nil || !e.check(&m.Value, e.at.Key("env"), jsonc.Object) {
		return
	}
	s.Env = make(map[string]Secret, len(m.Value.Members))
	for i := range m.Value.Members {
		m := &m.Value.Members[i]
		at := e.at.Key("env").Key(m.Key)
		if m.Key == "" || strings.ContainsFunc(m.Key, func(r rune) bool { return r < ' ' || r == '=' || r == 0x7f }) {
			e.fail(m.Offset, at, "is not the name of a variable: it is empty or holds = or a control character")
			continue
		}
		value, ok := e.system(&m.Value, at)
		if ok {
			s.Env[m.Key] = Secret(value)
		}
	}
}

// headers reads the HTTP headers of a remote server.
func (e *entry) headers(s *Server) {
	m := e.member("headers")
	if m == nil || !e.check(&m.Value, e.at.Key("headers"), jsonc.Object) {
		return
	}
	s.Headers = make(map[string]Secret, len(m.Value.Members))
	seen := make(map[string]string, len(m.Value.Members)) // canonical to written
	for i := range m.Value.Members {
		m := &m.Value.Members[i]
		at := e.at.Key("headers").Key(m.Key)
		if !httpfield.ValidName(m.Key) {
			e.fail(m.Offset, at, "is not the name of a header: use letters, digits and -")
			continue
		}
		canonical := http.CanonicalHeaderKey(m.Key)
		if other, ok := seen[canonical]; ok {
			e.fail(m.Offset, at, "is the same header as %s: remove one of them", other)
			continue
		}
		seen[canonical] = m.Key
		value, ok := e.expanded(&m.Value, at)
		if !ok {
			continue
		}
		if !httpfield.ValidValue(value) {
			e.fail(m.Value.Offset, at, "holds a line break or a control character: remove it from the value or its variable")
			continue
		}
		s.Headers[m.Key] = Secret(value)
	}
}
