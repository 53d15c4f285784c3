package host

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
)

const (
	unappliedBase    = 2 * time.Second
	unappliedCeiling = 2 * time.Minute
)

// setUnapplied keeps the entry that the server was to run as and does not, and has it tried again. Without
// an error the server runs, or not, as it is configured.
func (sv *supervisor) setUnapplied(entry *config.Server, err error) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	defer sv.host.changed.Ring()
	last := sv.unapplied
	if sv.unapplied = nil; err == nil {
		return
	}
	u := &Unapplied{Err: err, Failures: 1, Entry: entry}
	if last != nil && hashOf(last.Entry) == hashOf(entry) {
		u.Failures = last.Failures + 1
	}
	if entry.Err == nil && !sv.host.isClosing() {
		wait := backoff.Full(u.Failures-1, unappliedBase/2, unappliedBase, unappliedCeiling)
		u.RetryAt = time.Now().Add(wait)
		time.AfterFunc(wait, func() { sv.tryAgain(u) })
	}
	sv.unapplied = u
}

// configured returns the entry that a server of the supervisor is to have.
func (sv *supervisor) configured(s *server) *config.Server {
	if u := sv.lacks(); u != nil {
		return u.Entry
	}
	return s.entry
}

// tryAgain replaces the server by what is configured, unless another change was made
// meanwhile. It is called by a timer, which nobody stops.
func (sv *supervisor) tryAgain(u *Unapplied) {
	h := sv.host
	leave, err := h.visit()
	if err != nil {
		return
	}
	defer leave()
	began := time.Now()
	_, _ = sv.hold(h.intake, nil, func(ctx context.Context, _ *server) (wait, error) {
		if ctx.Err() == nil && sv.lacks() == u {
			did, _, err := sv.apply(ctx, u.Entry)
			sv.host.record(context.Background(), did, u.Entry, began, err)
		}
		return nil, nil
	})
}

// apply makes the supervisor run an entry, or nothing if it is nil. It returns what was done, and what is
// to be waited for then. The caller holds the supervisor.
func (sv *supervisor) apply(ctx context.Context, entry *config.Server) (lifecycle.Action, wait, error) {
	old, next := sv.now(), sv.newServer(entry)
	if next != nil {
		sv.mu.Lock()
		sv.change.hash = next.hash
		same := sv.hasLocked(entry, next.hash)
		sv.mu.Unlock()
		if same {
			return lifecycle.None, nil, nil
		}
	}
	did, until, err := sv.handle(ctx, sv.eventOf(old, next), next)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), ErrOvertaken): // what has overtaken it says how the server stands
	case did == lifecycle.Keep, did == lifecycle.Discard:
		sv.setUnapplied(entry, err)
	default:
		sv.setUnapplied(nil, nil)
	}
	return did, until, err
}
