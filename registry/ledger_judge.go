package registry

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// judge returns why a tool of a server may not be called, or nil if it may.
func (s *ledgerState) judge(mode LedgerMode, server *Server, sf *surface) *Change {
	srv := s.servers[server.Name]
	var t *ledgerTool
	if srv != nil {
		if c := srv.judge(mode, server); c != nil {
			return c
		}
		t = srv.tools[sf.def.called()]
	}
	switch {
	case t != nil && t.rejected.has(sf.hash):
		return t.changeTo(ToolRejected, server.Name, sf)
	case mode == LedgerTrust, t != nil && t.approved.has(sf.hash):
		return nil
	case t != nil && t.approved != nil:
		return t.changeTo(ToolChanged, server.Name, sf)
	}
	return t.changeTo(ToolNew, server.Name, sf)
}

// judge returns why no tool of the server may be called, or nil. An empty
// fingerprint is not compared.
func (srv *ledgerServer) judge(mode LedgerMode, server *Server) *Change {
	now := server.Fingerprint
	switch {
	case now == "":
		return nil
	case srv.rejected.has(now):
		return srv.changeTo(ToolRejected, server.Name, now)
	case mode == LedgerTrust, srv.unknown(), srv.approved.has(now):
		return nil
	}
	return srv.changeTo(ServerChanged, server.Name, now)
}

// unknown reports whether no fingerprint of the server was ever compared.
func (srv *ledgerServer) unknown() bool { return srv.approved == nil && srv.rejected == nil }

func (srv *ledgerServer) changeTo(kind ChangeKind, server, fingerprint string) *Change {
	c := &Change{Server: server, Kind: kind, Hash: fingerprintHash(fingerprint)}
	if srv.approved != nil {
		before, after := showPair(canonjson.AppendString(nil, srv.approved.fingerprint), canonjson.AppendString(nil, fingerprint))
		c.Fields = []FieldChange{{Field: "/fingerprint", Before: before, After: after}}
	}
	if srv.pending.has(fingerprint) {
		c.Since = srv.pending.at
	}
	return c
}

// changeTo returns the change from what was approved to a surface. What was
// recorded as pending is compared once only.
func (t *ledgerTool) changeTo(kind ChangeKind, server string, sf *surface) *Change {
	if t != nil && kind != ToolRejected && t.pending.has(sf.hash) {
		return t.waiting(server, sf.def.called())
	}
	c := &Change{Server: server, Tool: sf.def.called(), Kind: kind, Hash: sf.hash}
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
