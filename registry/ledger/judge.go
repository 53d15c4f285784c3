package ledger

import (
	"cmp"
	"encoding/json"

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
	return srv.judgeTool(mode, server, sf)
}

// judgeTool returns why a tool may not be called if its server may, or nil.
func (srv *ledgerServer) judgeTool(mode Mode, server *Server, sf *Surface) *Change {
	t := srv.tools[sf.Tool]
	switch {
	case t != nil && t.rejected.has(sf.Hash):
		return t.changeTo(ToolRejected, server.Name, sf)
	case mode == Trust, t != nil && t.approved.has(sf.Hash):
		return nil
	case t != nil && t.approved != nil:
		return t.changeTo(ToolChanged, server.Name, sf)
	}
	return t.changeTo(ToolNew, server.Name, sf)
}

// Judge returns why no tool of the server may be called, or nil. An empty
// fingerprint is not compared.
func (srv *ledgerServer) judge(mode Mode, server *Server) *Change {
	now := server.Fingerprint
	switch {
	case now != "" && srv.rejected.has(now):
		return srv.changeTo(ToolRejected, server.Name, now)
	case srv.quarantines(server):
		return srv.changeTo(ServerQuarantined, server.Name, quarantinePrint(server))
	case now == "":
		return nil
	case mode == Trust, srv.unknown(), srv.approved.has(now):
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
		return server.Quarantined && !q.has(quarantinePrint(server))
	}
}

// quarantinePrint is what the end of a quarantine is bound to: the file has no empty
// fingerprint.
func quarantinePrint(server *Server) string { return cmp.Or(server.Fingerprint, "none") }

// unknown reports whether no fingerprint of the server was ever compared.
func (srv *ledgerServer) unknown() bool { return srv.approved == nil && srv.rejected == nil }

func (srv *ledgerServer) changeTo(kind ChangeKind, server, fingerprint string) *Change {
	c := &Change{Server: server, Kind: kind, Hash: fingerprintHash(fingerprint)}
	if srv.approved != nil && !srv.approved.has(fingerprint) {
		before, after := showPair(canonjson.AppendString(nil, srv.approved.fingerprint), canonjson.AppendString(nil, fingerprint))
		c.Fields = []FieldChange{{Field: "/fingerprint", Before: before, After: after}}
	}
	mark := srv.pending
	if kind == ServerQuarantined {
		mark = srv.quarantine
	}
	if mark.has(fingerprint) {
		c.Since = mark.at
	}
	return c
}

// changeTo returns the change from what was accepted to a surface. A recorded pending
// surface is compared once only.
func (t *ledgerTool) changeTo(kind ChangeKind, server string, sf *Surface) *Change {
	if t != nil && kind != ToolRejected && t.pending.has(sf.Hash) {
		return t.waiting(server, sf.Tool)
	}
	c := &Change{Server: server, Tool: sf.Tool, Kind: kind, Hash: sf.Hash}
	after := sf.canonical()
	c.Surface = after
	if t != nil && t.approved != nil {
		c.compare(t.approved.canonical(), after)
	}
	return c
}

// waiting returns the change that waits; the tool, or if its name is empty the
// instructions, have a pending mark.
func (t *ledgerTool) waiting(server, tool string) *Change {
	if c := t.change.Load(); c != nil {
		return c
	}
	c := &Change{Server: server, Tool: tool, Kind: ToolNew, Hash: t.pending.hash, Since: t.pending.at}
	if tool == "" {
		c.Kind = InstructionsChanged
	}
	after := t.pending.canonical()
	c.Surface = json.RawMessage(after)
	if t.approved != nil {
		if tool != "" {
			c.Kind = ToolChanged
		}
		c.compare(t.approved.canonical(), after)
	}
	t.change.Store(c)
	return c
}

func (c *Change) compare(before, after []byte) {
	d := diffSurfaces(before, after)
	c.Fields, c.More = d.fields, d.more
}
