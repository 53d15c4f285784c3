package config

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// unixScheme is how the URL of a server behind a Unix socket begins; what follows is the
// path, as it is.
const unixScheme = "unix://"

// Socket returns the path of the socket of a server of [TransportUnix], or "".
func (s *Server) Socket() string {
	if s.Transport != TransportUnix {
		return ""
	}
	return strings.TrimPrefix(s.URL, unixScheme)
}

// isSocket reports whether an address is that of a Unix socket.
func isSocket(f *dialect.Field) bool {
	return f.Value.Kind == jsonc.String && strings.HasPrefix(f.Value.Text, unixScheme)
}

// socket reads the address of a server behind a Unix socket.
func (e *entry) socket(s *Server, f *dialect.Field) {
	s.Transport = cmp.Or(s.Transport, TransportUnix)
	s.URL = e.ruled(f.Value, f.At, true, noNUL, func(text string) string {
		path, unix := strings.CutPrefix(text, unixScheme)
		switch {
		case !unix || s.Transport != TransportUnix:
			return "must start with unix:// for the type \"unix\", and only for that: write unix:///run/server.sock"
		case e.opts.AsWritten && strings.Contains(path, "$"): // what it will be is not known
		case !filepath.IsAbs(path):
			return "is not absolute: write unix:///run/server.sock"
		}
		return ""
	})
}
