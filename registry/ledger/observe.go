package ledger

import (
	"cmp"
	"maps"
	"slices"
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
	twins  []*ledgerServer   // at its first list: the servers of other names with its fingerprint
	listed map[string]string // hashes of the tools that this process has listed until now, by name
}

// maxUnlisted bounds the tools of a server that wait though its latest list has none of them: a
// server may list other names at each start.
const maxUnlisted = 200

// maxListed bounds the tools that the ledger remembers to have been listed by one server.
const maxListed = 10_000

// listedAfter returns the hashes of the tools that this process has listed, by name, after the list.
// It does not change before, which it returns if that has them all.
func (s *sighting) listedAfter(before map[string]string) map[string]string {
	after, own := before, false
	for tool, sf := range s.tools {
		if after[tool] == sf.Hash {
			continue
		}
		if !own {
			after, own = make(map[string]string, len(s.tools)), true
			if len(before) < maxListed {
				maps.Copy(after, before)
			}
		}
		after[tool] = sf.Hash
	}
	return after
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
	if s.twins = nil; first {
		s.twins = e.state.sameLaunch(name, s.server.Fingerprint)
	}
	durable = s.observeInstructions(e)
	if !s.lists { // it may only have gone away
		return durable
	}
	durable = s.observeServer(e) || durable
	before := e.state.servers[name].tools // of the state, or of this edit
	for tool, sf := range s.tools {
		m := before[tool]
		known, held := s.heldElsewhere(first, tool, sf.Hash)
		if next := s.judged(cmp.Or(m, known), sf, first && !held); next != m {
			e.setTool(name, tool, next)
		}
	}
	if !first {
		s.observeGone(e, before)
	}
	if e.changed && e.own[e.state.servers[name]] {
		e.server(name).mode = s.mode
	}
	return first || durable
}

// observeGone notes the tools that are not listed any more.
func (s *sighting) observeGone(e *ledgerEdit, before map[string]marks) {
	name := s.server.Name
	var unlisted []string
	for tool, m := range before {
		if _, listed := s.tools[tool]; listed || tool == "" {
			continue
		}
		next := s.gone(tool, m)
		if next != m {
			e.setTool(name, tool, next)
		}
		if next.pending != nil {
			unlisted = append(unlisted, tool)
		}
	}
	if len(unlisted) <= maxUnlisted {
		return
	}
	slices.SortFunc(unlisted, func(a, b string) int {
		return cmp.Or(before[a].pending.at.Compare(before[b].pending.at), cmp.Compare(a, b))
	})
	for _, tool := range unlisted[:len(unlisted)-maxUnlisted] {
		m := before[tool]
		m.pending = nil
		e.setTool(name, tool, m)
	}
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
	case srv.unknown() && s.twin(func(t *ledgerServer) bool { return t.self.rejected.has(hash) }):
		next.rejected, next.pending = markOfPrint(print, byOtherName, s.at), nil
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

// sameLaunch returns the servers of other names that the same configuration leads to.
func (s *ledgerState) sameLaunch(name, fingerprint string) (twins []*ledgerServer) {
	if fingerprint == "" {
		return nil
	}
	hash := fingerprintHash(fingerprint)
	for other, srv := range s.servers {
		if other != name && srv.self.has(hash) {
			twins = append(twins, srv)
		}
	}
	return twins
}

// twin reports whether there is one of which f is true.
func (s *sighting) twin(f func(*ledgerServer) bool) bool { return slices.ContainsFunc(s.twins, f) }

// accepts reports whether a tool of the server was accepted: where none was, one that waits says
// nothing of the others.
func (srv *ledgerServer) accepts() bool {
	for name, m := range srv.tools {
		if name != "" && m.approved != nil {
			return true
		}
	}
	return false
}

// heldElsewhere returns what is known of a tool, or of instructions by the empty name, at another
// server that the same configuration leads to, if it is held back there: the first list of a server
// does not accept it, since a new name decides nothing.
func (s *sighting) heldElsewhere(first bool, tool, hash string) (known marks, held bool) {
	if !first || s.twin(func(t *ledgerServer) bool { return t.tools[tool].approved.has(hash) }) {
		return marks{}, false
	}
	for _, t := range s.twins {
		if m := t.tools[tool]; m.rejected != nil || m.pending != nil && t.accepts() {
			return m, true
		}
	}
	return marks{}, false
}

// gone returns what is to be known of a tool that is not listed any more. An accepted or
// rejected tool stays so. An undecided one is forgotten by the ledger that saw it wait: another
// process has a connection of its own, which may list it still.
func (s *sighting) gone(tool string, m marks) marks {
	if s.mode == Trust && m.approved != nil && m.approved.by == byTrust {
		m.approved = nil
	}
	if m.pending.has(s.listed[tool]) {
		m.pending = nil
	}
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
