package ledger

import (
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Instructions returns those that are accepted.
func (l *Ledger) Instructions(s Server) string {
	srv, mode := l.now().state.servers[s.Name], l.modeOf(&s)
	if srv == nil || srv.judge(mode, &s) != nil {
		return ""
	}
	t := srv.instructions
	if t == nil {
		return ""
	}
	if s.Instructions != nil && mode == Trust && !t.rejected.has(instructionsSurface(*s.Instructions).Hash) {
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
	instructionsIndent = toolIndent + "\t" // of their surface in the file
)

// instructionsSurface returns instructions as the ledger compares them.
func instructionsSurface(text string) *Surface {
	canonical := []byte("{}")
	if text != "" {
		canonical = append(appendSurfaceText(nil, instructionsKey, text), '}')
	}
	return &Surface{Hash: hashOf(canonical), text: canonical}
}

// observeInstructions notes what a server says of its use, if that is known. It
// reports whether that accepts what was not accepted before.
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
		next = t.with(s.markOf(sf, byFirstUse), nil, nil)
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
	case t.rejected.has(sf.Hash):
		return t.instructionsChange(ToolRejected, s.Name, sf)
	case t.approved.has(sf.Hash):
		return nil
	}
	return t.instructionsChange(InstructionsChanged, s.Name, sf)
}

func (t *ledgerTool) instructionsChange(kind ChangeKind, server string, sf *Surface) *Change {
	if kind == InstructionsChanged && t.pending.has(sf.Hash) {
		return t.waiting(server, "")
	}
	c := &Change{Server: server, Kind: kind, Hash: sf.Hash, Surface: sf.text}
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
func (s *Surface) surfaceText() []byte {
	indent := surfaceIndent
	if s.text != nil {
		indent = instructionsIndent
	}
	canonical := s.canonical()
	return canonjson.AppendIndented(make([]byte, 0, len(canonical)+len(canonical)/2), canonical, indent)
}
