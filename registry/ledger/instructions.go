package ledger

import (
	"cmp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Instructions returns those that are accepted.
func (l *Ledger) Instructions(s Server) string {
	l, _ = l.At(s.Place)
	srv, mode := l.now().state.servers[s.Name], l.modeOf(&s)
	if srv == nil || srv.judge(mode, &s) != nil || srv.tools[""] == (marks{}) {
		return ""
	}
	m := srv.tools[""]
	if s.Instructions != nil && mode == Trust && !m.rejected.has(instructionsSurface(*s.Instructions).Hash) {
		return *s.Instructions
	}
	if a := m.approved; a != nil {
		for _, value := range jsonscan.Fields(a.surface) { // there is one, or none
			text, _ := jsonscan.String(value)
			return text
		}
	}
	return ""
}

const instructionsKey = "instructions"

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
	before := e.state.servers[name].tools[""]
	first := before == marks{}
	known, held := s.heldElsewhere(first, "", sf.Hash)
	next := s.judged(cmp.Or(before, known), sf, first && !held)
	if first && *s.server.Instructions == "" { // there is nothing to review
		next = marks{approved: s.markOf(sf, byFirstUse)}
	}
	if next == before {
		return false
	}
	e.setTool(name, "", next)
	return first && next.approved != nil
}

// verifyInstructions returns what a server says of its use otherwise than the ledger, or
// nil. The ledger of an older version may know a server without them.
func (srv *ledgerServer) verifyInstructions(s *Server) *Change {
	if s.Instructions == nil || srv.tools[""] == (marks{}) && (*s.Instructions == "" || len(srv.tools) > 0) {
		return nil
	}
	return srv.judgeTool(Pin, s, instructionsSurface(*s.Instructions))
}
