package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// Pending returns what waits for acceptance, of the given servers or, if none is
// given, of all: the server itself first, then its instructions, then its tools by name.
// A rejected tool does not wait.
func (l *Ledger) Pending(servers ...string) []Change {
	var changes []Change
	l.each(servers, func(place, name string, srv *ledgerServer) {
		add := func(c *Change) {
			c.Place = place
			changes = append(changes, *c)
		}
		if q := srv.quarantine; q != nil && q.by == "" && !srv.self.rejected.has(q.hash) {
			add(srv.changeTo(ServerQuarantined, name, q.fingerprint))
		}
		if m := srv.self.pending; m != nil {
			add(srv.changeTo(ServerChanged, name, m.fingerprint))
		}
		for tool, m := range srv.tools {
			if m.pending != nil {
				add(m.waiting(name, tool))
			}
		}
	})
	sortChanges(changes)
	return changes
}

func sortChanges(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(b.Kind, a.Kind))
	})
}

// Accept lets what has changed be called, as [Ledger.Pending], registry.Quarantined or a
// registry.QuarantinedError shows it, and returns when that is kept. By says who did it,
// and ends up in the file. All of a server is accepted by
//
//	err := l.Accept(ctx, by, l.Pending("github")...)
//
// An acceptance is for Change.Hash alone: what has changed again since fails with a
// [*StaleChangeError], and the others are accepted. A rejected tool may be accepted
// later; one that is accepted already stays so.
func (l *Ledger) Accept(ctx context.Context, by string, changes ...Change) error {
	return l.decide(ctx, by, changes, marks.accepted)
}

// Reject refuses what has changed: it does not wait any more, cannot be called, and
// stays rejected when it comes back. It takes what [Ledger.Accept] takes, and also
// changes made from what [Ledger.Entries] returns, to refuse what was accepted.
func (l *Ledger) Reject(ctx context.Context, by string, changes ...Change) error {
	return l.decide(ctx, by, changes, marks.refused)
}

// Forget removes all that is known of a server, at each place: in [Pin] its next list is
// its first one.
func (l *Ledger) Forget(ctx context.Context, server string) error {
	if l == nil || l.turn == nil {
		return errNoLedger
	}
	forget := ledgerOp{server: server, apply: func(e *ledgerEdit) error { e.removeServer(server); return nil }}
	return l.eachPart(func(part *Ledger) error { return part.do(ctx, &request{op: forget}) })
}

// maxBy bounds who accepted, in bytes.
const maxBy = 256

func checkBy(by string) error {
	switch {
	case by == "" || len(by) > maxBy || !utf8.ValidString(by):
		return fmt.Errorf("ledger: by must have 1 to %d bytes of UTF-8", maxBy)
	case by == byFirstUse || by == byTrust || by == byOtherName:
		return fmt.Errorf("ledger: %s is what the ledger calls itself: say who decides", plain.Quote(by))
	}
	return nil
}

// A decision returns marks as they are after a decision about hash, or false if there is
// nothing of that hash.
type decision func(m marks, hash, by string, at time.Time) (marks, bool)

func (l *Ledger) decide(ctx context.Context, by string, changes []Change, d decision) error {
	if err := checkBy(by); err != nil {
		return err
	}
	if len(changes) == 0 {
		return nil
	}
	at := time.Now().UTC().Truncate(time.Second)
	sorted, err := l.byPlace(changes)
	errs := []error{err}
	for part, changes := range sorted {
		errs = append(errs, part.do(ctx, &request{op: ledgerOp{apply: func(e *ledgerEdit) error {
			var stale []error
			for _, c := range changes {
				if now, ok := e.decide(c, by, at, d); !ok {
					stale = append(stale, &StaleChangeError{Server: c.Server, Tool: c.Tool, Hash: c.Hash, now: now})
				}
			}
			return errors.Join(stale...)
		}}}))
	}
	return errors.Join(errs...)
}

// decide makes one decision. If there is nothing of the hash of the change it returns false,
// and the hash of what waits now.
func (e *ledgerEdit) decide(c Change, by string, at time.Time, d decision) (now string, ok bool) {
	srv := e.state.servers[c.Server]
	if srv == nil {
		return "", false
	}
	var before, next marks
	switch {
	case c.Tool != "" || c.Kind == InstructionsChanged || srv.tools[""].has(c.Hash):
		before = srv.tools[c.Tool]
		if next, ok = d(before, c.Hash, by, at); ok && next != before {
			e.setTool(c.Server, c.Tool, next)
		}
	case srv.quarantine.has(c.Hash):
		if ended := srv.ended(c.Hash, d, by, at); ended.self != srv.self || ended.quarantine != srv.quarantine {
			own := e.server(c.Server)
			own.self, own.quarantine = ended.self, ended.quarantine
		}
		return "", true
	default:
		before = srv.self
		if next, ok = d(before, c.Hash, by, at); ok && next != before {
			e.server(c.Server).self = next
		}
	}
	if !ok && before.pending == nil && c.Tool == "" && c.Kind != InstructionsChanged {
		before.pending = srv.quarantine
	}
	if ok || before.pending == nil || before.pending.by != "" {
		return "", ok
	}
	return before.pending.hash, false
}

// ended returns the server as it is after a decision about the fingerprint of its quarantine,
// which an acceptance ends.
func (srv ledgerServer) ended(hash string, d decision, by string, at time.Time) ledgerServer {
	next, _ := d(marks{pending: srv.quarantine}, hash, by, at)
	if next.approved != nil && srv.quarantine.by == "" {
		srv.quarantine = next.approved
	}
	if self, ok := d(srv.self, hash, by, at); ok {
		srv.self = self
	} else if next.rejected != nil {
		srv.self.rejected = next.rejected
	}
	return srv
}

func (m marks) accepted(hash, by string, at time.Time) (marks, bool) {
	switch {
	case m.pending.has(hash):
		m.approved, m.pending = m.pending.decided(by, at), nil
		if m.rejected.has(hash) {
			m.rejected = nil
		}
	case m.rejected.has(hash):
		m.approved, m.rejected = m.rejected.decided(by, at), nil
	default:
		return m, m.approved.has(hash)
	}
	return m, true
}

func (m marks) refused(hash, by string, at time.Time) (marks, bool) {
	switch {
	case m.pending.has(hash):
		m.rejected, m.pending = m.pending.decided(by, at), nil
	case !m.rejected.has(hash) && m.approved.has(hash):
		m.rejected, m.approved = m.approved.decided(by, at), nil
	default:
		return m, m.rejected.has(hash)
	}
	return m, true
}
