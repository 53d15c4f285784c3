package ledger

import (
	"cmp"
	"slices"
	"time"
)

// A Server is what the owner of a ledger knows of a server. It comes from the
// configuration, never from the server itself, but for Instructions.
type Server struct {
	Name         string  // configured name
	Place        string  // of the ledger that keeps it, see Options.Open; empty: the ledger itself
	Fingerprint  string  // of what the configuration leads to; empty: not compared
	Mode         Mode    // in place of the ledger's; empty: that of the ledger
	Instructions *string // what the server says of its use; nil: not known
	Quarantined  bool    // all of it is held back until the server is accepted
}

// An Entry is the decision about a tool, a server or its instructions.
type Entry struct {
	Server   string    // configured name of the server
	Place    string    // of the ledger that keeps it, see Options.Open
	Tool     string    // name of the tool there; empty if it is about the server itself or its instructions
	Hash     string    // of what was decided about
	Rejected bool      // it was rejected; otherwise accepted
	By       string    // who decided; "first use" or "trusted" if no person was asked
	At       time.Time // when, in UTC
}

// File returns the path that [Open] was given; empty if the ledger is kept elsewhere.
func (l *Ledger) File() string {
	if l == nil {
		return ""
	}
	return l.file
}

// Entries returns all decisions about the given servers or, if none is given, about
// all, sorted by server and tool.
func (l *Ledger) Entries(servers ...string) []Entry {
	var entries []Entry
	l.each(servers, func(place, name string, srv *ledgerServer) {
		add := func(tool string, m marks) {
			for _, decided := range []*mark{m.approved, m.rejected} {
				if decided != nil {
					entries = append(entries, Entry{Server: name, Place: place, Tool: tool, Hash: decided.hash, Rejected: decided == m.rejected, By: decided.by, At: decided.at})
				}
			}
		}
		add("", srv.self)
		for tool, m := range srv.tools {
			add(tool, m)
		}
	})
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return entries
}

// each calls f for the servers of the given names, or for all if there are none, of all places.
func (l *Ledger) each(names []string, f func(place, name string, srv *ledgerServer)) {
	parts, _ := l.parts()
	for _, part := range parts {
		for name, srv := range part.now().state.servers {
			if len(names) == 0 || slices.Contains(names, name) {
				f(part.place, name, srv)
			}
		}
	}
}

// Quarantines reports whether all of a server is held back because it is in quarantine,
// see [Server].Quarantined.
func (l *Ledger) Quarantines(s Server) bool {
	l, _ = l.At(s.Place)
	srv := l.now().state.servers[s.Name]
	if srv == nil {
		return s.Quarantined
	}
	return srv.quarantines(&s)
}

// Verify returns what a server offers otherwise than the ledger says, whatever the
// mode: tools that are new, changed, rejected or gone, a server that is another one,
// and instructions that it did not accept. It changes nothing. A test
// fails if it returns anything; registry.Verify takes tools.
func (l *Ledger) Verify(s Server, tools ...*Surface) []Change {
	l, _ = l.At(s.Place)
	srv := l.now().state.servers[s.Name]
	if srv == nil {
		srv = &ledgerServer{}
	}
	var changes []Change
	add := func(c *Change) {
		if c != nil {
			changes = append(changes, *l.placed(c))
		}
	}
	add(srv.judge(Pin, &s))
	add(srv.verifyInstructions(&s))
	listed := map[string]bool{}
	for _, sf := range tools {
		if sf != nil {
			listed[sf.Tool] = true
			add(srv.judgeTool(Pin, &s, sf))
		}
	}
	for name, m := range srv.tools {
		if name != "" && m.approved != nil && !listed[name] && !isApp(name) {
			add(&Change{Server: s.Name, Tool: name, Kind: ToolRemoved, Hash: m.approved.hash})
		}
	}
	sortChanges(changes)
	return changes
}
