package host

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/feed"
)

// consentInterval is how often the host looks whether another process, or the program
// itself by its book, has decided something.
const consentInterval = time.Second

// rejectedGrace is how long calls of a server that was denied elsewhere may go on.
const rejectedGrace = 5 * time.Second

// obeyConsents starts and stops servers as is decided elsewhere, until there is none that has to be allowed:
// a server that waits starts when it is allowed, and one that runs stops when it is denied.
func (h *Host) obeyConsents() {
	for {
		supervisors := h.guardedSupervisors()
		if len(supervisors) == 0 || feed.Sleep(h.intake, consentInterval) != nil {
			return
		}
		for _, sv := range supervisors {
			if act := h.decided(sv); act != nil && sv.enabled() && sv.obeying.CompareAndSwap(false, true) {
				h.ending.Go(func() { // what comes of it is in the status
					defer sv.obeying.Store(false)
					_ = act()
				})
			}
		}
	}
}

// decided returns what is to be done about a server since it was decided whether it may start; nil: nothing.
func (h *Host) decided(sv *supervisor) func() error {
	s := sv.now()
	if s == nil {
		return nil
	}
	denied := h.notAllowed(h.intake, s.entry)
	waits := denial(s.unusable()) != nil
	chosen, _ := h.chooses(sv)
	switch {
	case !waits && denied != nil && denied.Err == nil && denied.Verdict == consent.Rejected:
		return func() error {
			ctx, stop := context.WithTimeout(h.intake, rejectedGrace)
			defer stop()
			return errors.Join(h.forbid(ctx, sv.name), h.reconsider(h.intake, sv))
		}
	case chosen != nil:
		return func() error { return h.reconsider(h.intake, sv) }
	case waits && denied == nil:
		return func() error { return h.Enable(h.intake, sv.name) }
	}
	return nil
}
