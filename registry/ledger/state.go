package ledger

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// The words that the ledger writes in the place of a person.
const (
	byFirstUse = "first use" // the first list of a server that is pinned
	byTrust    = "trusted"   // by a server whose mode is trust
)

// A ledgerState is what the ledger knows at one moment. It and all it leads to
// never change; a ledgerEdit makes another one.
type ledgerState struct {
	servers map[string]*ledgerServer
	others  map[string]*ledgerServer // that the ledger is not for: their texts only
	extra   []ledgerExtra
}

// A ledgerServer is what is known of a server.
type ledgerServer struct {
	mode       Mode // that was used when it was written last
	approved   *ledgerServerMark
	rejected   *ledgerServerMark
	pending    *ledgerServerMark
	quarantine *ledgerServerMark // nil: none; without by: it is in quarantine; else by ended that
	// Instructions are what is known of the server's instructions; nil: nothing.
	instructions *ledgerTool
	tools        map[string]*ledgerTool
	extra        []ledgerExtra
	text         []byte // as it stands in the file, with the texts of its tools; nil if it was edited since
}

// A ledgerServerMark says who said something of a fingerprint, and when.
type ledgerServerMark struct {
	fingerprint string
	by          string // empty: undecided, it was seen
	at          time.Time
	extra       []ledgerExtra
}

// A ledgerTool is what is known of a tool, or of the instructions of a server. One at least of its marks is there.
type ledgerTool struct {
	approved *ledgerMark
	rejected *ledgerMark
	pending  *ledgerMark
	extra    []ledgerExtra
	text     []byte // as it stands in the file, with the surfaces of its marks; nil if it was made since

	change atomic.Pointer[Change] // of pending, once it is asked for
}

// A ledgerMark says who said something of a surface, and when.
type ledgerMark struct {
	hash    string
	by      string // empty: undecided, it was seen
	at      time.Time
	surface []byte // JSON, as it stands in the file
	extra   []ledgerExtra
}

// A ledgerExtra is a member of the file that a later version has written. It is
// kept as it stands.
type ledgerExtra struct {
	key   string
	value []byte
}

func (m *ledgerMark) has(hash string) bool { return m != nil && m.hash == hash }

func (m *ledgerServerMark) has(fingerprint string) bool {
	return m != nil && m.fingerprint == fingerprint
}

// canonical returns the surface as canonical JSON; nil if there is none.
func (m *ledgerMark) canonical() []byte {
	if m == nil {
		return nil
	}
	return canonjson.AppendChecked(nil, m.surface) // it was read or made here
}

// fingerprintHash is what an acceptance of a server is bound to.
func fingerprintHash(fingerprint string) string { return hashOf([]byte(fingerprint)) }

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
		e.state = &ledgerState{servers: maps.Clone(e.state.servers), others: e.state.others, extra: e.state.extra}
	}
}

// server returns a server that may be written to. It is made if there is none.
func (e *ledgerEdit) server(name string) *ledgerServer {
	e.begin()
	srv := e.state.servers[name]
	switch {
	case srv == nil:
		srv = &ledgerServer{tools: map[string]*ledgerTool{}}
	case e.own[srv]:
		return srv
	default:
		c := *srv
		srv = &c
		srv.tools = maps.Clone(srv.tools)
		srv.text = nil
	}
	e.own[srv] = true
	e.state.servers[name] = srv
	return srv
}

// setTool puts a tool in the place of another one. Nil, or one without marks,
// removes it.
func (e *ledgerEdit) setTool(server, tool string, t *ledgerTool) {
	srv := e.server(server)
	if t == nil || t.approved == nil && t.rejected == nil && t.pending == nil && t.extra == nil {
		delete(srv.tools, tool)
	} else {
		srv.tools[tool] = t
	}
}

// removeServer forgets a server.
func (e *ledgerEdit) removeServer(name string) {
	if e.state.servers[name] != nil {
		e.begin()
		delete(e.state.servers, name)
	}
}

// with returns a copy of the tool, or a new one, with other marks.
func (t *ledgerTool) with(approved, rejected, pending *ledgerMark) *ledgerTool {
	c := &ledgerTool{approved: approved, rejected: rejected, pending: pending}
	if t != nil {
		c.extra = t.extra
	}
	return c
}
