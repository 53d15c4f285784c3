package host

import (
	"context"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
)

const (
	unappliedBase    = 2 * time.Second
	unappliedCeiling = 2 * time.Minute
)

// An Unapplied is the configured entry of a server that goes on as it was, since what the
// entry says does not work.
type Unapplied struct {
	Err      error     // why it does not work
	Failures int       // how often it has failed
	RetryAt  time.Time // when it is tried again; zero if that could not help

	Entry *config.Server // with its secrets; do not change it
}

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

// lacks returns the entry that the server does not run as, or nil if it runs as it is
// configured.
func (sv *supervisor) lacks() *Unapplied {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.unapplied
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
			h.record(context.Background(), did, u.Entry, began, err)
		}
		return nil, nil
	})
}
