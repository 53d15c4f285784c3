package ledger

import (
	"cmp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Instructions returns those that are accepted.
func (l *Ledger) Instructions(s Server) string {
	l, _ = l.At(s.Place)
	srv, mode := l.now().state.servers[s.Name], l.modeOf(&s)
	if srv == nil || srv.judge(mode, &s) != nil || srv.instructions == (marks{}) {
		return ""
	}
	if s.Instructions != nil && mode == Trust && !srv.instructions.rejected.has(instructionsSurface(*s.Instructions).Hash) {
		return *s.Instructions
	}
	if a := srv.instructions.approved; a != nil {
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
	var before marks
	if srv := e.state.servers[name]; srv != nil {
		before = srv.instructions
	}
	first := before == marks{}
	known, held := s.heldElsewhere(first, sf.Hash, func(srv *ledgerServer) marks { return srv.instructions })
	next := s.judged(cmp.Or(before, known), sf, first && !held)
	if first && *s.server.Instructions == "" { // there is nothing to review
		next = marks{approved: s.markOf(sf, byFirstUse)}
	}
	if next == before {
		return false
	}
	e.server(name).instructions = next
	return first && next.approved != nil
}

// verifyInstructions returns what a server says of its use otherwise than the ledger, or
// nil.
func (srv *ledgerServer) verifyInstructions(s *Server) *Change {
	m := srv.instructions
	if s.Instructions == nil || m == (marks{}) {
		return nil
	}
	sf := instructionsSurface(*s.Instructions)
	switch {
	case m.rejected.has(sf.Hash):
		return m.changeTo(ToolRejected, s.Name, sf)
	case m.approved.has(sf.Hash):
		return nil
	}
	return m.changeTo(InstructionsChanged, s.Name, sf)
}
