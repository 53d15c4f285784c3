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
	texts  map[*Surface][]byte // of surfaces, as they stand in the file
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

// prepare renders the surfaces that a state does not know, before the turn is taken.
func (s *sighting) prepare(state *ledgerState) {
	srv := state.servers[s.server.Name]
	s.texts = map[*Surface][]byte{}
	for tool, sf := range s.tools {
		if srv == nil || !srv.tools[tool].has(sf.Hash) {
			s.texts[sf] = sf.surfaceText()
		}
	}
}

// observe notes what a server lists. It reports whether that accepts what was
// not accepted before, so that it must not be forgotten.
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
	s.observeServer(e, first)
	before := e.state.servers[name].tools // of the state, or of this edit
	for tool, sf := range s.tools {
		t := before[tool]
		if next := s.judged(t, sf, first); next != t {
			e.setTool(name, tool, next)
		}
	}
	if !first {
		for tool, t := range before {
			if _, listed := s.tools[tool]; !listed {
				if next := s.gone(t); next != t {
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
func (s *sighting) observeServer(e *ledgerEdit, first bool) {
	name, now := s.server.Name, s.server.Fingerprint
	s.observeQuarantine(e)
	srv := e.state.servers[name]
	switch {
	case now == "":
	case srv.approved.has(now), srv.rejected.has(now):
		if srv.pending != nil {
			e.server(name).pending = nil
		}
	case srv.unknown() || s.mode == Trust:
		by := byFirstUse
		if s.mode == Trust {
			by = byTrust
		}
		srv = e.server(name)
		srv.approved, srv.pending = &ledgerServerMark{fingerprint: now, by: by, at: s.at}, nil
	case !srv.pending.has(now):
		e.server(name).pending = &ledgerServerMark{fingerprint: now, at: s.at}
	}
}

// observeQuarantine notes what begins a quarantine, and forgets who ended one when there
// is none any more.
func (s *sighting) observeQuarantine(e *ledgerEdit) {
	name, print := s.server.Name, quarantinePrint(&s.server)
	srv := e.state.servers[name]
	switch q := srv.quarantine; {
	case srv.quarantines(&s.server):
		if q == nil || q.by != "" || !q.has(print) {
			e.server(name).quarantine = &ledgerServerMark{fingerprint: print, at: s.at}
		}
	case q != nil && !s.server.Quarantined:
		e.server(name).quarantine = nil
	}
}

// judged returns what is to be known of a tool that is listed with surface sf: t
// itself if nothing changes.
func (s *sighting) judged(t *ledgerTool, sf *Surface, first bool) *ledgerTool {
	var approved, rejected, pending *ledgerMark
	if t != nil {
		approved, rejected, pending = t.approved, t.rejected, t.pending
	}
	switch {
	case rejected.has(sf.Hash), approved.has(sf.Hash):
		if pending == nil {
			return t
		}
		return t.with(approved, rejected, nil)
	case s.mode == Trust:
		return t.with(s.markOf(sf, byTrust), rejected, nil)
	case first && s.mode == Pin:
		return t.with(s.markOf(sf, byFirstUse), nil, nil)
	case pending.has(sf.Hash):
		return t
	}
	return t.with(approved, rejected, s.markOf(sf, ""))
}

// gone returns what is to be known of a tool that is not listed any more. An accepted or
// rejected tool stays so; an undecided one is not kept, or a server could fill the ledger
// with names.
func (s *sighting) gone(t *ledgerTool) *ledgerTool {
	approved := t.approved
	if s.mode == Trust && approved != nil && approved.by == byTrust {
		approved = nil
	}
	if approved == t.approved && t.pending == nil {
		return t
	}
	return t.with(approved, t.rejected, nil)
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

// explain compares what waits with what was accepted, here where there is time:
// Judge is in a hurry.
func (s *sighting) explain(state *ledgerState) {
	srv := state.servers[s.server.Name]
	if srv == nil {
		return
	}
	if t := srv.instructions; t != nil && t.pending != nil {
		t.waiting(s.server.Name, "")
	}
	for tool := range s.tools {
		if t := srv.tools[tool]; t != nil && t.pending != nil {
			t.waiting(s.server.Name, tool)
		}
	}
}

// markOf makes a mark of a surface.
func (s *sighting) markOf(sf *Surface, by string) *ledgerMark {
	text := s.texts[sf]
	if text == nil {
		text = sf.surfaceText()
	}
	return &ledgerMark{hash: sf.Hash, by: by, at: s.at, surface: text}
}
