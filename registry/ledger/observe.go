package ledger

import (
	"time"
	"unicode/utf8"
)

// A sighting is a list of tools that a server has given.
type sighting struct {
	server Server
	mode   Mode
	tools  map[string]*Surface
	lists  bool // tools, or that there are none; else only instructions are known
	at     time.Time
}

// sightingOf keeps the first of several tools of one name: the others are not
// accepted by being there. Names that the file cannot hold are left out, and so
// are never accepted.
func sightingOf(server Server, mode Mode, surfaces []*Surface, now time.Time) *sighting {
	s := &sighting{server: server, mode: mode, tools: make(map[string]*Surface, len(surfaces)), lists: len(surfaces) > 0 || server.Instructions == nil, at: now}
	for _, sf := range surfaces {
		if sf == nil {
			continue
		}
		if _, twice := s.tools[sf.Tool]; twice || sf.Tool == "" || !utf8.ValidString(sf.Tool) {
			continue
		}
		s.tools[sf.Tool] = sf
	}
	return s
}

// observe notes what a server lists. It reports whether that accepts what was not accepted
// before, or begins a quarantine, so that it must not be forgotten.
func (s *sighting) observe(e *ledgerEdit) (durable bool) {
	name := s.server.Name
	srv := e.state.servers[name]
	first := srv == nil || srv.bare()
	if srv == nil {
		e.server(name).mode = s.mode
	}
	durable = s.observeInstructions(e)
	if !s.lists { // it may only have gone away
		return durable
	}
	durable = s.observeServer(e) || durable
	before := e.state.servers[name].tools // of the state, or of this edit
	for tool, sf := range s.tools {
		m := before[tool]
		if next := s.judged(m, sf, first); next != m {
			e.setTool(name, tool, next)
		}
	}
	if !first {
		for tool, m := range before {
			if _, listed := s.tools[tool]; !listed {
				if next := s.gone(m); next != m {
					e.setTool(name, tool, next)
				}
			}
		}
	}
	if e.changed && e.own[e.state.servers[name]] {
		e.server(name).mode = s.mode
	}
	return first || durable
}

// observeServer compares the fingerprint. One that was not known before is kept
// without asking: there is nothing that it could differ from.
// It reports whether that begins a quarantine.
func (s *sighting) observeServer(e *ledgerEdit) (quarantines bool) {
	name, print := s.server.Name, s.server.Fingerprint
	quarantines = s.observeQuarantine(e)
	if print == "" {
		return quarantines
	}
	srv, hash := e.state.servers[name], fingerprintHash(print)
	next := srv.self
	switch {
	case next.approved.has(hash), next.rejected.has(hash):
		next.pending = nil
	case s.mode == Trust:
		next.approved, next.pending = markOfPrint(print, byTrust, s.at), nil
	case srv.unknown():
		next.approved, next.pending = markOfPrint(print, byFirstUse, s.at), nil
	case !next.pending.has(hash):
		next.pending = markOfPrint(print, "", s.at)
	}
	if next != srv.self {
		e.server(name).self = next
	}
	return quarantines
}

// observeQuarantine notes what begins a quarantine, and forgets who ended one when there
// is none any more. It reports whether one begins.
func (s *sighting) observeQuarantine(e *ledgerEdit) (begins bool) {
	name, print := s.server.Name, quarantinePrint(&s.server)
	srv := e.state.servers[name]
	switch q := srv.quarantine; {
	case srv.quarantines(&s.server):
		if q == nil || q.by != "" || q.fingerprint != print {
			e.server(name).quarantine = markOfPrint(print, "", s.at)
			return true
		}
	case q != nil && !s.server.Quarantined:
		e.server(name).quarantine = nil
	}
	return false
}

// judged returns what is to be known of a tool that is listed with surface sf: m itself if
// nothing changes.
func (s *sighting) judged(m marks, sf *Surface, first bool) marks {
	switch {
	case m.rejected.has(sf.Hash), m.approved.has(sf.Hash):
		m.pending = nil
	case s.mode == Trust:
		m.approved, m.pending = s.markOf(sf, byTrust), nil
	case first && s.mode == Pin:
		m = marks{approved: s.markOf(sf, byFirstUse)}
	case !m.pending.has(sf.Hash):
		m.pending = s.markOf(sf, "")
	}
	return m
}

// gone returns what is to be known of a tool that is not listed any more. An accepted or
// rejected tool stays so; an undecided one is not kept, or a server could fill the ledger
// with names.
func (s *sighting) gone(m marks) marks {
	if s.mode == Trust && m.approved != nil && m.approved.by == byTrust {
		m.approved = nil
	}
	m.pending = nil
	return m
}

// note is the sighting as something that is written later. If the server is not
// known any more by then it is left to its next list to be the first one: this one
// may hold what was in quarantine.
func (s *sighting) note() ledgerOp {
	return ledgerOp{server: s.server.Name, apply: func(e *ledgerEdit) error {
		if e.state.servers[s.server.Name] != nil {
			s.observe(e)
		}
		return nil
	}}
}

// markOf makes a mark of a surface.
func (s *sighting) markOf(sf *Surface, by string) *mark {
	return &mark{hash: sf.Hash, by: by, at: s.at, surface: sf.canonical()}
}
