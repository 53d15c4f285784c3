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
	state := l.now().state
	var changes []Change
	for name, srv := range state.servers {
		if len(servers) > 0 && !slices.Contains(servers, name) {
			continue
		}
		if q := srv.quarantine; q != nil && q.by == "" && !srv.rejected.has(q.fingerprint) {
			changes = append(changes, *srv.changeTo(ServerQuarantined, name, q.fingerprint))
		}
		if srv.pending != nil {
			changes = append(changes, *srv.changeTo(ServerChanged, name, srv.pending.fingerprint))
		}
		if t := srv.instructions; t != nil && t.pending != nil {
			changes = append(changes, *t.waiting(name, ""))
		}
		for tool, t := range srv.tools {
			if t.pending != nil {
				changes = append(changes, *t.waiting(name, tool))
			}
		}
	}
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
	return l.decide(ctx, by, changes, approveTool, approveServer)
}

// Reject refuses what has changed: it does not wait any more, cannot be called, and
// stays rejected when it comes back. It takes what [Ledger.Accept] takes, and also
// changes made from what [Ledger.Entries] returns, to refuse what was accepted.
func (l *Ledger) Reject(ctx context.Context, by string, changes ...Change) error {
	return l.decide(ctx, by, changes, rejectTool, rejectServer)
}

// Forget removes all that is known of a server: in [Pin] its next list is
// its first one.
func (l *Ledger) Forget(ctx context.Context, server string) error {
	return l.do(ctx, &request{op: ledgerOp{server: server, apply: func(e *ledgerEdit) error { e.removeServer(server); return nil }}})
}

// maxBy bounds who accepted, in bytes.
const maxBy = 256

func checkBy(by string) error {
	switch {
	case by == "" || len(by) > maxBy || !utf8.ValidString(by):
		return fmt.Errorf("ledger: by must have 1 to %d bytes of UTF-8", maxBy)
	case by == byFirstUse || by == byTrust:
		return fmt.Errorf("ledger: %s is what the ledger calls itself: say who decides", plain.Quote(by))
	}
	return nil
}

// A toolDecision returns the tool as it is after a decision about hash, or false
// if there is nothing of that hash.
type toolDecision func(t *ledgerTool, hash, by string, at time.Time) (*ledgerTool, bool)

// A serverDecision changes the marks of a server, or returns false if there is
// nothing of that hash.
type serverDecision func(srv *ledgerServer, hash, by string, at time.Time) bool

func (l *Ledger) decide(ctx context.Context, by string, changes []Change, tool toolDecision, server serverDecision) error {
	if err := checkBy(by); err != nil {
		return err
	}
	if len(changes) == 0 {
		return nil
	}
	at := time.Now().UTC().Truncate(time.Second)
	return l.do(ctx, &request{op: ledgerOp{apply: func(e *ledgerEdit) error {
		var stale []error
		for _, c := range changes {
			if err := decideOne(e, c, by, at, tool, server); err != nil {
				stale = append(stale, err)
			}
		}
		return errors.Join(stale...)
	}}})
}

func decideOne(e *ledgerEdit, c Change, by string, at time.Time, tool toolDecision, server serverDecision) error {
	srv := e.state.servers[c.Server]
	if srv == nil {
		return &StaleChangeError{Server: c.Server, Tool: c.Tool, Hash: c.Hash}
	}
	if c.Tool == "" && (c.Kind == InstructionsChanged || srv.instructions.has(c.Hash)) {
		next, ok := tool(srv.instructions, c.Hash, by, at)
		if !ok {
			return &StaleChangeError{Server: c.Server, Hash: c.Hash, Now: srv.instructions.waitingHash()}
		}
		if next != srv.instructions {
			e.server(c.Server).instructions = next
		}
		return nil
	}
	if c.Tool == "" {
		next := *srv
		if !server(&next, c.Hash, by, at) {
			return &StaleChangeError{Server: c.Server, Hash: c.Hash, Now: next.waitingHash()}
		}
		if next.approved != srv.approved || next.rejected != srv.rejected || next.pending != srv.pending || next.quarantine != srv.quarantine {
			own := e.server(c.Server)
			own.approved, own.rejected, own.pending, own.quarantine = next.approved, next.rejected, next.pending, next.quarantine
		}
		return nil
	}
	t := srv.tools[c.Tool]
	if t == nil {
		return &StaleChangeError{Server: c.Server, Tool: c.Tool, Hash: c.Hash}
	}
	next, ok := tool(t, c.Hash, by, at)
	if !ok {
		return &StaleChangeError{Server: c.Server, Tool: c.Tool, Hash: c.Hash, Now: t.waitingHash()}
	}
	if next != t {
		e.setTool(c.Server, c.Tool, next)
	}
	return nil
}

func (srv *ledgerServer) waitingHash() string {
	for _, m := range []*ledgerServerMark{srv.pending, srv.quarantine} {
		if m != nil && m.by == "" {
			return fingerprintHash(m.fingerprint)
		}
	}
	return ""
}

func (t *ledgerTool) waitingHash() string {
	if t == nil || t.pending == nil {
		return ""
	}
	return t.pending.hash
}

func approveTool(t *ledgerTool, hash, by string, at time.Time) (*ledgerTool, bool) {
	switch {
	case !t.has(hash):
		return nil, false
	case t.pending.has(hash):
		rejected := t.rejected
		if rejected.has(hash) {
			rejected = nil
		}
		return t.with(t.pending.decided(by, at), rejected, nil), true
	case t.rejected.has(hash):
		return t.with(t.rejected.decided(by, at), nil, t.pending), true
	case t.approved.has(hash):
		return t, true
	}
	return nil, false
}

func rejectTool(t *ledgerTool, hash, by string, at time.Time) (*ledgerTool, bool) {
	switch {
	case !t.has(hash):
		return nil, false
	case t.pending.has(hash):
		return t.with(t.approved, t.pending.decided(by, at), nil), true
	case t.rejected.has(hash):
		return t, true
	case t.approved.has(hash):
		return t.with(nil, t.approved.decided(by, at), t.pending), true
	}
	return nil, false
}

// decided returns the mark as a person's decision.
func (m *ledgerMark) decided(by string, at time.Time) *ledgerMark {
	return &ledgerMark{hash: m.hash, by: by, at: at, surface: m.surface, extra: m.extra}
}

func (m *ledgerServerMark) hasHash(hash string) bool {
	return m != nil && fingerprintHash(m.fingerprint) == hash
}

func (m *ledgerServerMark) decided(by string, at time.Time) *ledgerServerMark {
	return &ledgerServerMark{fingerprint: m.fingerprint, by: by, at: at, extra: m.extra}
}

func approveServer(srv *ledgerServer, hash, by string, at time.Time) bool {
	ended := srv.quarantine.hasHash(hash)
	if ended && srv.quarantine.by == "" {
		srv.quarantine = srv.quarantine.decided(by, at)
	}
	switch {
	case srv.pending.hasHash(hash):
		srv.approved, srv.pending = srv.pending.decided(by, at), nil
		if srv.rejected.hasHash(hash) {
			srv.rejected = nil
		}
	case srv.rejected.hasHash(hash):
		srv.approved, srv.rejected = srv.rejected.decided(by, at), nil
	default:
		return ended || srv.approved.hasHash(hash)
	}
	return true
}

func rejectServer(srv *ledgerServer, hash, by string, at time.Time) bool {
	switch {
	case srv.pending.hasHash(hash):
		srv.rejected, srv.pending = srv.pending.decided(by, at), nil
	case srv.approved.hasHash(hash):
		srv.rejected, srv.approved = srv.approved.decided(by, at), nil
	case srv.quarantine.hasHash(hash) && !srv.rejected.hasHash(hash):
		srv.rejected = srv.quarantine.decided(by, at)
	default:
		return srv.rejected.hasHash(hash)
	}
	return true
}
