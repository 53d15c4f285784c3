package registry

import (
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
)

// Instructions returns what may be told a model of the use of a server, out of what
// [Registry.ReplaceServer] was told of it: the text that the ledger has approved, which
// may be another one than the server gives now, or none. Without a ledger it is what the
// server says. Of a server that is not trusted, characters that people do not see are
// left out. The words are the server's.
//
// The ledger treats instructions as it does tools. Under [LedgerPin] the first that it
// hears of are approved, those of a server without any included.
func (r *Registry) Instructions(server string) string {
	if r.made() != nil {
		return ""
	}
	s := r.known(server)
	text := ""
	switch {
	case s == nil:
	case r.ledger != nil:
		text = r.ledger.instructions(s)
	case s.Instructions != nil:
		text = *s.Instructions
	}
	if s == nil || s.Trusted {
		return text
	}
	return textguard.Strip(text)
}

// instructions returns those that are approved.
func (l *Ledger) instructions(s *Server) string {
	srv, mode := l.now().state.servers[s.Name], l.modeOf(s)
	if srv == nil || srv.judge(mode, s) != nil {
		return ""
	}
	t := srv.instructions
	if t == nil {
		return ""
	}
	if s.Instructions != nil && mode == LedgerTrust && !t.rejected.has(instructionsSurface(*s.Instructions).hash) {
		return *s.Instructions
	}
	for key, value := range jsonscan.Fields(t.approved.canonical()) {
		if string(key) == instructionsKey {
			text, _ := jsonscan.String(value)
			return text
		}
	}
	return ""
}

const (
	instructionsKey    = "instructions"
	instructionsIndent = toolIndent + "  " // of their surface in the file
)

// instructionsSurface returns instructions as the ledger compares them.
func instructionsSurface(text string) *surface {
	canonical := []byte("{}")
	if text != "" {
		canonical = append(appendSurfaceText(nil, instructionsKey, text), '}')
	}
	return &surface{hash: hashOf(canonical), text: canonical}
}

// observeInstructions notes what a server says of its use, if that is known. It
// reports whether that approves what was not approved before.
func (s *sighting) observeInstructions(e *ledgerEdit) (durable bool) {
	if s.server.Instructions == nil {
		return false
	}
	name, sf := s.server.Name, instructionsSurface(*s.server.Instructions)
	var t *ledgerTool
	if srv := e.state.servers[name]; srv != nil {
		t = srv.instructions
	}
	var next *ledgerTool
	if first := t == nil; first && *s.server.Instructions == "" { // there is nothing to review
		next = t.with(markOf(sf, byFirstUse, s.at), nil, nil)
	} else {
		next = s.judged(t, sf, first)
	}
	if next == t {
		return false
	}
	e.server(name).instructions = next
	return t == nil && next.approved != nil
}

// verifyInstructions returns what a server says of its use otherwise than the ledger, or
// nil.
func (srv *ledgerServer) verifyInstructions(s *Server) *Change {
	t := srv.instructions
	if s.Instructions == nil || t == nil {
		return nil
	}
	sf := instructionsSurface(*s.Instructions)
	switch {
	case t.rejected.has(sf.hash):
		return t.instructionsChange(ToolRejected, s.Name, sf)
	case t.approved.has(sf.hash):
		return nil
	}
	return t.instructionsChange(InstructionsChanged, s.Name, sf)
}

func (t *ledgerTool) instructionsChange(kind ChangeKind, server string, sf *surface) *Change {
	if kind == InstructionsChanged && t.pending.has(sf.hash) {
		return t.waiting(server, "")
	}
	c := &Change{Server: server, Kind: kind, Hash: sf.hash, Surface: sf.text}
	if t.approved != nil {
		c.compare(t.approved.canonical(), sf.text)
	}
	return c
}

// has reports whether a mark is of a hash. T may be nil.
func (t *ledgerTool) has(hash string) bool {
	return t != nil && (t.approved.has(hash) || t.rejected.has(hash) || t.pending.has(hash))
}

// bare reports whether nothing is known of the server but its instructions.
func (srv *ledgerServer) bare() bool {
	return srv.unknown() && srv.pending == nil && len(srv.tools) == 0 && srv.extra == nil && srv.instructions != nil
}

// surfaceText returns a surface as it stands in the file.
func (s *surface) surfaceText() []byte {
	indent := surfaceIndent
	if s.text != nil {
		indent = instructionsIndent
	}
	return canonjson.AppendIndented(nil, s.canonical(), indent)
}
