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

// note keeps the entry that the server was to run as and does not, and has it tried again. Without
// an error the server runs, or not, as it is configured.
func (sl *slot) note(entry *config.Server, err error) {
	sl.mu.Lock()
	last := sl.unapplied
	sl.forgetLocked()
	if err != nil {
		u := &Unapplied{Err: err, Failures: 1, Entry: entry}
		if last != nil && hashOf(last.Entry) == hashOf(entry) {
			u.Failures = last.Failures + 1
		}
		if entry.Err == nil && !sl.host.isClosing() {
			wait := backoff.Full(u.Failures-1, unappliedBase/2, unappliedBase, unappliedCeiling)
			u.RetryAt = time.Now().Add(wait)
			sl.retry = time.AfterFunc(wait, func() { sl.tryAgain(u) })
		}
		sl.unapplied = u
	}
	sl.mu.Unlock()
	if err != nil || last != nil {
		sl.host.changed.Ring()
	}
}

// forgetLocked needs sl.mu.
func (sl *slot) forgetLocked() {
	if sl.unapplied = nil; sl.retry != nil {
		sl.retry.Stop()
		sl.retry = nil
	}
}

// lacks returns the entry that the server does not run as, or nil if it runs as it is
// configured.
func (sl *slot) lacks() *Unapplied {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.unapplied
}

// configured returns the entry that a server of the slot is to have.
func (sl *slot) configured(s *server) *config.Server {
	if u := sl.lacks(); u != nil {
		return u.Entry
	}
	return s.entry
}

// tryAgain replaces the server by what is configured, unless another change was made
// meanwhile. It is called by a timer.
func (sl *slot) tryAgain(u *Unapplied) {
	h := sl.host
	leave, err := h.visit()
	if err != nil {
		return
	}
	defer leave()
	began := time.Now()
	_, _ = sl.hold(h.intake, "retry", func(ctx context.Context, _ *slot, _ *server) (wait, error) {
		if ctx.Err() == nil && sl.lacks() == u {
			did, _, err := sl.apply(ctx, u.Entry)
			h.record(context.Background(), did, u.Entry, began, err)
		}
		return nil, nil
	})
}
