package host

import (
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// consentInterval is how often is looked whether another process, or the program
// itself by its book, has approved a server that waits.
const consentInterval = time.Second

// awaitConsents sees to it that a server that waits for approval starts when it is
// approved elsewhere. As long as one waits there is one goroutine for all of them.
func (h *Host) awaitConsents() {
	h.consents.waiting.Lock()
	defer h.consents.waiting.Unlock()
	if !h.consents.awaiting {
		h.consents.awaiting = true
		h.ending.Go(h.admitApproved)
	}
}

// admitApproved starts servers that wait, when they are approved, until none waits.
func (h *Host) admitApproved() {
	ticker := time.NewTicker(consentInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-h.intake.Done():
			return
		}
		waiting := h.awaitingConsent()
		if len(waiting) == 0 {
			return
		}
		for _, e := range waiting {
			if h.unapproved(h.intake, e) == nil {
				h.ending.Go(func() { _ = h.Enable(h.intake, e.Name) }) // its Status has the error
			}
		}
	}
}

// awaitingConsent returns the entries that wait. If there are none nobody awaits
// them any more.
func (h *Host) awaitingConsent() []*config.Server {
	h.consents.waiting.Lock()
	defer h.consents.waiting.Unlock()
	var list []*config.Server
	for _, s := range h.standing() {
		if s.unapproved() {
			list = append(list, s.entry)
		}
	}
	h.consents.awaiting = len(list) > 0
	return list
}

// unapproved reports whether the server does not run for want of approval.
func (s *server) unapproved() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var unapproved *UnapprovedError
	return s.enabled && !s.stopped && errors.As(s.err, &unapproved)
}
