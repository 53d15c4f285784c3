package ledger

import (
	"maps"
	"time"
)

// The words that the ledger writes in the place of a person.
const (
	byFirstUse  = "first use"  // the first list of a server that is pinned
	byTrust     = "trusted"    // by a server whose mode is trust
	byOtherName = "other name" // of a server that the same configuration leads to
)

// A ledgerState is what the ledger knows at one moment. It and all it leads to
// never change; a ledgerEdit makes another one.
type ledgerState struct {
	servers map[string]*ledgerServer
}

// A ledgerServer is what is known of a server.
type ledgerServer struct {
	mode       Mode             // that was used when it was written last
	self       marks            // of fingerprints
	quarantine *mark            // of a fingerprint; nil: none; without by: it is in quarantine; else by ended that
	tools      map[string]marks // by name; none is empty; those of the instructions by the empty name
}

// Marks are what is known of a tool, of the instructions of a server, or of what its
// configuration leads to.
type marks struct{ approved, rejected, pending *mark }

// A mark says who said something of what has a hash, and when. It never changes.
type mark struct {
	hash        string
	by          string // empty: undecided, it was seen
	at          time.Time
	surface     []byte // canonical JSON; nil: it is of a fingerprint
	fingerprint string
}

// markOfPrint returns a mark of a fingerprint.
func markOfPrint(fingerprint, by string, at time.Time) *mark {
	return &mark{hash: fingerprintHash(fingerprint), by: by, at: at, fingerprint: fingerprint}
}

func (m *mark) has(hash string) bool { return m != nil && m.hash == hash }

// decided returns the mark as a person's decision.
func (m *mark) decided(by string, at time.Time) *mark {
	c := *m
	c.by, c.at = by, at
	return &c
}

// has reports whether a mark is of a hash.
func (m marks) has(hash string) bool {
	return m.approved.has(hash) || m.rejected.has(hash) || m.pending.has(hash)
}

// fingerprintHash is what an acceptance of a server is bound to.
func fingerprintHash(fingerprint string) string { return hashOf([]byte(fingerprint)) }

// unknown reports whether no fingerprint of the server was ever compared.
func (srv *ledgerServer) unknown() bool { return srv.self.approved == nil && srv.self.rejected == nil }

// bare reports whether nothing is known of the server but its instructions.
func (srv *ledgerServer) bare() bool {
	_, instructions := srv.tools[""]
	return srv.self == marks{} && len(srv.tools) == 1 && instructions
}

// A ledgerEdit makes a state out of another one.
type ledgerEdit struct {
	state   *ledgerState
	changed bool
	own     map[*ledgerServer]bool // servers that this edit has made
}

func editLedger(state *ledgerState) *ledgerEdit { return &ledgerEdit{state: state} }

// begin makes the state one that may be written to.
func (e *ledgerEdit) begin() {
	if !e.changed {
		e.changed = true
		e.own = map[*ledgerServer]bool{}
		e.state = &ledgerState{servers: maps.Clone(e.state.servers)}
	}
}

// server returns a server that may be written to. It is made if there is none.
func (e *ledgerEdit) server(name string) *ledgerServer {
	e.begin()
	srv := e.state.servers[name]
	switch {
	case srv == nil:
		srv = &ledgerServer{tools: map[string]marks{}}
	case e.own[srv]:
		return srv
	default:
		srv = new(*srv)
		srv.tools = maps.Clone(srv.tools)
	}
	e.own[srv] = true
	e.state.servers[name] = srv
	return srv
}

// setTool changes what is known of a tool, or of the instructions by the empty name; nothing removes it.
func (e *ledgerEdit) setTool(server, tool string, m marks) {
	srv := e.server(server)
	if m == (marks{}) {
		delete(srv.tools, tool)
	} else {
		srv.tools[tool] = m
	}
}

// removeServer forgets a server.
func (e *ledgerEdit) removeServer(name string) {
	if e.state.servers[name] != nil {
		e.begin()
		delete(e.state.servers, name)
	}
}
