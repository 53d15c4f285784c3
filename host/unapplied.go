package host

import (
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
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
