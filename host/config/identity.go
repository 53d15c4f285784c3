package config

import (
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// identity reads on whose behalf connections are made.
func (e *entry) identity(s *Server) {
	s.Identity = own(e, "identity", e.choice("identity", identityShared, IdentityUser, IdentityHeader))
	if s.Identity == IdentityHeader && (s.Transport == TransportStdio || s.Transport == TransportUnix) {
		f := e.field("identity")
		e.fail(f.Value.Offset, f.At, "a server of the type %s has no headers: write user for a process or connection of each user, or shared", s.Transport)
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
