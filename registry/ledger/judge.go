package ledger

import (
	"cmp"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// Judge returns why a tool of a server may not be called, or nil if it may.
func (s *ledgerState) judge(mode Mode, server *Server, sf *Surface) *Change {
	srv := s.servers[server.Name]
	if srv == nil {
		srv = &ledgerServer{}
	}
	if c := srv.judge(mode, server); c != nil {
		return c
	}
	if sf.Tool == "" && mode != Trust {
		return marks{}.changeTo(ToolNew, server.Name, sf)
	}
	return srv.judgeTool(mode, server, sf)
}

// judgeTool returns why a tool may not be called if its server may, or nil. The instructions are
// that of the empty name.
func (srv *ledgerServer) judgeTool(mode Mode, server *Server, sf *Surface) *Change {
	m := srv.tools[sf.Tool]
	switch {
	case m.rejected.has(sf.Hash):
		return m.changeTo(ToolRejected, server.Name, sf)
	case mode == Trust, m.approved.has(sf.Hash):
		return nil
	}
	return m.changeTo(m.kind(sf.Tool), server.Name, sf)
}

// judge returns why no tool of the server may be called, or nil. An empty fingerprint is not
// compared.
func (srv *ledgerServer) judge(mode Mode, server *Server) *Change {
	now := server.Fingerprint
	switch {
	case now != "" && srv.self.rejected.has(fingerprintHash(now)):
		return srv.changeTo(ToolRejected, server.Name, now)
	case srv.quarantines(server):
		return srv.changeTo(ServerQuarantined, server.Name, quarantinePrint(server))
	case now == "", mode == Trust, srv.unknown(), srv.self.approved.has(fingerprintHash(now)):
		return nil
	}
	return srv.changeTo(ServerChanged, server.Name, now)
}

// quarantines reports whether the server is in quarantine.
func (srv *ledgerServer) quarantines(server *Server) bool {
	switch q := srv.quarantine; {
	case q == nil:
		return server.Quarantined
	case q.by == "":
		return true
	default:
		return server.Quarantined && q.fingerprint != quarantinePrint(server)
	}
}

// quarantinePrint is what the end of a quarantine is bound to: the file has no empty
// fingerprint.
func quarantinePrint(server *Server) string { return cmp.Or(server.Fingerprint, "none") }

func (srv *ledgerServer) changeTo(kind ChangeKind, server, fingerprint string) *Change {
	c := &Change{Server: server, Kind: kind, Hash: fingerprintHash(fingerprint)}
	if a := srv.self.approved; a != nil && !a.has(c.Hash) {
		before, after := showPair(canonjson.AppendString(nil, a.fingerprint), canonjson.AppendString(nil, fingerprint))
		c.Fields = []FieldChange{{Field: "/fingerprint", Before: before, After: after}}
	}
	seen := srv.self.pending
	if kind == ServerQuarantined {
		seen = srv.quarantine
	}
	if seen.has(c.Hash) {
		c.Since = seen.at
	}
	return c
}

// changeTo returns the change from what was accepted to a surface.
func (m marks) changeTo(kind ChangeKind, server string, sf *Surface) *Change {
	c := &Change{Server: server, Tool: sf.Tool, Kind: kind, Hash: sf.Hash, Surface: sf.canonical()}
	if kind != ToolRejected && m.pending.has(sf.Hash) {
		c.Since = m.pending.at
	}
	if m.approved != nil {
		c.compare(nil, m.approved.surface, c.Surface)
	}
	return c
}

// kind returns that of the change to what is not decided of a tool or, if its name is empty, of the
// instructions.
func (m marks) kind(tool string) ChangeKind {
	switch {
	case tool == "":
		return InstructionsChanged
	case m.approved != nil:
		return ToolChanged
	}
	return ToolNew
}

// waiting returns the change to what is pending.
func (m marks) waiting(server, tool string) *Change {
	return m.changeTo(m.kind(tool), server, &Surface{Tool: tool, Hash: m.pending.hash, text: m.pending.surface})
}
