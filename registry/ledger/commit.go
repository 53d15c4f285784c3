package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/storage"
)

// A ledgerOp is something that happened. It is applied to what the store has at
// the moment of writing, again if another process was faster.
type ledgerOp struct {
	server string
	apply  func(*ledgerEdit) error
}

// noteEvery is how long a note of what one server lists keeps later ones out of the store.
const noteEvery = time.Minute

// mayNote reports whether what a server lists, while nobody has decided about it, may be written
// to the store now: once in noteEvery for each server, so that one whose tools change with each
// list does not make the file be written with each. Without a store there is nothing to spare.
func (l *Ledger) mayNote(server string, now time.Time) bool {
	if l.store != nil && now.Sub(l.noted[server]) < noteEvery {
		return false
	}
	l.noted[server] = now
	return true
}

// postpone puts op in the journal: it only notes what a server lists, so it takes
// the place of an earlier note of that server.
func (l *Ledger) postpone(op ledgerOp) {
	l.journal = slices.DeleteFunc(l.journal, func(o ledgerOp) bool { return o.server == op.server })
	l.journal = append(l.journal, op)
}

// refresh reads what the store has, if that is not what was read last. A file that
// went away, as it may while git changes branches, does not take with it what is
// known: the next write puts it back.
func (l *Ledger) refresh(ctx context.Context) error {
	if l.store == nil {
		return nil
	}
	stored, err := l.value.Load(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return l.fail(err)
	}
	l.take(stored)
	return nil
}

// take takes over what the store has; nil: it has nothing.
func (l *Ledger) take(stored *ledgerState) {
	if stored == nil || stored == l.stored {
		return
	}
	l.stored = stored
	if l.trouble.Load() != nil {
		stored = stored.over(l.kept)
	}
	l.kept = stored
}

// over returns what a file says that another process could write and this one could not,
// with the servers that are known here only: they must not be seen for the first
// time again. Where the file speaks of a server it is right, but for what was
// rejected here and not accepted since.
func (s *ledgerState) over(memory *ledgerState) *ledgerState {
	e := editLedger(s)
	for name, srv := range memory.servers {
		there := s.servers[name]
		if there == nil {
			e.begin()
			e.state.servers[name] = srv
			continue
		}
		if m := srv.self.rejected; m != nil && (there.unknown() || there.self.approved.has(m.hash) && !there.self.approved.at.After(m.at)) {
			e.server(name).self = marks{rejected: m}
		}
		for tool, t := range srv.tools {
			if was := there.tools[tool]; was.yields(t.rejected) {
				e.setTool(name, tool, was.without(t.rejected))
			}
		}
	}
	return e.state
}

// without returns the marks as they are after r was rejected.
func (m marks) without(r *mark) marks {
	if m.pending.has(r.hash) {
		m.pending = nil
	}
	return marks{rejected: r, pending: m.pending}
}

// yields reports whether what a file says was said before r, if that is not nil, was rejected.
func (m marks) yields(r *mark) bool {
	return r != nil && (m.approved == nil && m.rejected == nil || m.approved.has(r.hash) && !m.approved.at.After(r.at))
}

// replay returns what the store has with what is not in it yet.
func (l *Ledger) replay() *ledgerEdit {
	e := editLedger(l.kept)
	for _, op := range l.journal {
		_ = op.apply(e) // a note always can
	}
	return e
}

// commit makes what is asked for happen to what the store has now, and returns when it is kept. It
// needs the turn.
func (l *Ledger) commit(ctx context.Context, group ...*request) error {
	var e *ledgerEdit
	edit := func(stored *ledgerState) (*ledgerState, bool, error) {
		l.take(stored)
		e = l.replay()
		for _, r := range group {
			r.err = r.op.apply(e)
		}
		return e.state, e.changed, nil
	}
	err := storage.ErrReadOnly
	if l.store != nil {
		err = l.value.Change(ctx, edit)
	}
	if e == nil && errors.Is(err, storage.ErrReadOnly) { // there is no store, or it cannot be locked
		_, _, _ = edit(nil)
	}
	switch {
	case err == nil && e.changed:
		l.stored = e.state
		l.trouble.Store(nil)
	case err == nil, l.store == nil:
	case errors.Is(err, storage.ErrReadOnly):
		err = l.fail(err)
		l.trouble.Store(&err)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return l.fail(err)
	}
	l.kept, l.journal = e.state, nil
	l.publish(e.state)
	return nil
}

// publish lets readers see a state.
func (l *Ledger) publish(state *ledgerState) {
	if l.show(state); l.whole != nil {
		l.whole.show(nil)
	}
}

// show lets readers see a state, if it is another one, or if it is nil that something has changed at
// another place.
func (l *Ledger) show(state *ledgerState) {
	for {
		before := l.now()
		if before.state == state {
			return
		}
		next := &ledgerView{state: cmp.Or(state, before.state), n: before.n + 1, changed: make(chan struct{})}
		if l.view.CompareAndSwap(before, next) {
			close(before.changed)
			return
		}
	}
}
