package config

import (
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// identity reads on whose behalf connections are made.
func (e *entry) identity(s *Server) {
	s.Identity = own(e, "identity", e.choice("identity", IdentityShared, IdentityUser, IdentityHeader))
	if f := e.field("identity"); s.Identity == IdentityHeader && s.Transport == TransportStdio {
		e.fail(f.Value.Offset, f.At, "a local server has no headers: write user for a process of each user, or shared")
	} else if s.Identity == IdentityHeader && s.Transport == TransportUnix {
		e.fail(f.Value.Offset, f.At, "a server behind a socket has no headers: write user for a connection of each user, or shared")
	}
	f := e.field("userHeader")
	if f == nil || !e.check(f.Value, f.At, jsonc.String) {
		return
	}
	s.UserHeader = f.Value.Text
	switch {
	case !httpfield.ValidName(s.UserHeader):
		e.fail(f.Value.Offset, f.At, "is not the name of a header: use letters, digits and -")
	case s.Identity != IdentityHeader:
		e.warn(f.Offset, f.At, "has no effect without \"identity\": \"header\"")
	}
}
