package host

import (
	"context"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
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

// note keeps an entry that the server was to run as and does not, and has it tried again.
func (sl *slot) note(entry *config.Server, err error) {
	u := &Unapplied{Err: err, Failures: 1, Entry: entry}
	hash := hashOf(entry)
	sl.mu.Lock()
	if last := sl.unapplied; last != nil && hashOf(last.Entry) == hash {
		u.Failures = last.Failures + 1
	}
	sl.forgetLocked()
	sl.unapplied = u
	if entry.Err == nil && !sl.host.isClosing() {
		wait := backoff.Full(u.Failures-1, unappliedBase/2, unappliedBase, unappliedCeiling)
		u.RetryAt = time.Now().Add(wait)
		sl.retry = time.AfterFunc(wait, func() { sl.tryAgain(u) })
	}
	sl.mu.Unlock()
	sl.host.broadcast()
}

// forget says that the server runs, or not, as it is configured.
func (sl *slot) forget() {
	sl.mu.Lock()
	known := sl.unapplied != nil
	sl.forgetLocked()
	sl.mu.Unlock()
	if known {
		sl.host.broadcast()
	}
}

// forgetLocked needs sl.mu.
func (sl *slot) forgetLocked() {
	sl.unapplied = nil
	if sl.retry != nil {
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
	own, out, err := sl.enter(h.intake, true)
	if err != nil {
		return
	}
	defer out()
	if own.Err() != nil || sl.lacks() != u {
		return
	}
	began := time.Now()
	did, _, err := sl.apply(own, u.Entry)
	if kind := did.kind(); kind != "" {
		h.events.Record(context.Background(), events.OfServer(kind, u.Entry, began, err))
	}
}
