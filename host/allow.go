package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/launch"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/internal/feed"
)

// consentInterval is how often the host looks whether another process, or the program
// itself by its book, has decided something.
const consentInterval = time.Second

// rejectedGrace is how long calls of a server that was denied elsewhere may go on.
const rejectedGrace = 5 * time.Second

// A StaleLaunchError reports a fingerprint that is that of no server now: what would
// be started has changed since it was looked at, or its server is gone. Nothing was
// allowed or denied.
//
//cure:show the user the launch as it is now, and ask again
type StaleLaunchError struct {
	fingerprint string // that was asked for
}

// Error says what to do.
func (e *StaleLaunchError) Error() string {
	return fmt.Sprintf("host: no launch that has to be allowed has the fingerprint %q now: it may have changed since it was looked at; look at Host.PendingLaunches again", e.fingerprint)
}

// PendingLaunches returns what waits to be allowed: of each enabled server from a file that
// others may have written, and that was neither allowed nor denied, what would be started
// now. Show its String, which is the exact command. If the book cannot be read all of them
// wait. A server of that name that the user has already runs meanwhile. A program that
// trusts all that a file says allows it with:
//
//	for _, l := range h.PendingLaunches() {
//		err = errors.Join(err, h.AllowLaunch(ctx, by, l.Fingerprint()))
//	}
func (h *Host) PendingLaunches() []*consent.Launch {
	var list []*consent.Launch
	for _, sv := range h.guardedSupervisors() {
		if !sv.enabled() {
			continue
		}
		for _, e := range sv.guarded() {
			if denied := h.consents.notAllowed(h.ctx, e); denied != nil && denied.Verdict == consent.Pending {
				list = append(list, denied.Launch)
			}
		}
	}
	return list
}

// guardedSupervisors returns the supervisors that have guarded entries, in the order of the configuration.
func (h *Host) guardedSupervisors() []*supervisor {
	var list []*supervisor
	for _, name := range h.names() {
		if sv, err := h.supervisor(name); err == nil && len(sv.guarded()) > 0 {
			list = append(list, sv)
		}
	}
	return list
}

// guarded returns the sound entries that have to be allowed: those that wait to take the place of
// the server, and its own.
func (sv *supervisor) guarded() []*config.Server {
	chosen, s := sv.deciding().entries, sv.now()
	if s == nil {
		return nil
	}
	stronger := slices.IndexFunc(chosen, func(e *config.Server) bool { return hashOf(e) == s.hash })
	entries := slices.Clone(chosen[:max(stronger, 0)])
	if s.entry.Source.Scope.NeedsApproval() && s.entry.Err == nil {
		entries = append(entries, s.entry)
	}
	return entries
}

// AllowLaunch records that a user, by, allows the launch with a fingerprint, as
// [Host.PendingLaunches] has shown it, and starts its server at once unless that is disabled. It returns as
// [Host.Enable] does; if the start fails, the launch stays allowed. What was denied can be
// allowed after all. If the launch has changed since it was shown it fails with a [*StaleLaunchError].
func (h *Host) AllowLaunch(ctx context.Context, by, fingerprint string) error {
	return h.decide(ctx, by, fingerprint, consent.Approved, func(sv *supervisor) error {
		entry, _ := h.chooses(sv)
		s, chosen := sv.now(), entry != nil
		if !chosen {
			if s == nil || !s.needsConsent() {
				return nil
			}
			entry = s.entry
		}
		// The user is asked what the server needs before its start, which has a limit of time.
		if _, err := entry.Answered(ctx); err != nil {
			return err
		}
		if chosen {
			return h.reconsider(ctx, sv)
		}
		s.askAgain()
		return h.Enable(ctx, sv.name)
	})
}

// DenyLaunch records that a user, by, denies the launch with a fingerprint, so that it is
// not asked about again, and stops its server if that runs, here at once and in other processes
// that share the book within seconds. Calls under way may finish until ctx ends. A server
// of its name that the user has already runs then. It fails as [Host.AllowLaunch] does.
func (h *Host) DenyLaunch(ctx context.Context, by, fingerprint string) error {
	return h.disallow(ctx, by, fingerprint, consent.Rejected)
}

// ForgetLaunch takes back, for a user, by, what was decided about the launch with a fingerprint, so that it waits to be
// allowed again, and stops its server here if that runs. It fails as [Host.AllowLaunch] does.
func (h *Host) ForgetLaunch(ctx context.Context, by, fingerprint string) error {
	return h.disallow(ctx, by, fingerprint, consent.Pending)
}

func (h *Host) disallow(ctx context.Context, by, fingerprint string, v consent.Verdict) error {
	return h.decide(ctx, by, fingerprint, v, func(sv *supervisor) (err error) {
		if s := sv.now(); s != nil && s.needsConsent() {
			err = h.forbid(ctx, sv)
		}
		return errors.Join(err, h.reconsider(ctx, sv))
	})
}

// decide keeps what was decided about a launch, and has act carry it out for each supervisor whose
// server has that launch now, or in which it waits while another entry runs.
func (h *Host) decide(ctx context.Context, by, fingerprint string, v consent.Verdict, act func(*supervisor) error) error {
	need(ctx)
	if err := h.made(); err != nil {
		return err
	}
	if h.isClosing() {
		return ErrClosed
	}
	book, err := h.consents.open()
	if err != nil {
		return err
	}
	var decided *consent.Launch
	var supervisors []*supervisor
	for _, sv := range h.guardedSupervisors() {
		for _, e := range sv.guarded() {
			if l, err := launch.Of(e); err == nil && l.Fingerprint() == fingerprint {
				decided, supervisors = l, append(supervisors, sv)
				break
			}
		}
	}
	if decided == nil {
		return &StaleLaunchError{fingerprint: fingerprint}
	}
	if v == consent.Pending {
		err = book.Forget(ctx, fingerprint)
	} else {
		err = book.Decide(ctx, by, decided, v)
	}
	e := events.OfConsent(by, decided.Server, fingerprint, v == consent.Approved, err)
	if v == consent.Pending && err == nil {
		e.Outcome, e.Detail["change"] = "ok", "forget"
	}
	h.events.Record(ctx, e)
	if err != nil {
		return err
	}
	return atOnce(supervisors, act)
}

// forbid stops a server that must not run any more, unless it was allowed meanwhile. Calls under way may finish until ctx ends.
func (h *Host) forbid(ctx context.Context, sv *supervisor) error {
	sv.interrupt(nil)
	return h.change(ctx, "deny", sv.name, func(_ context.Context, sv *supervisor, old *server) (wait, error) {
		denied := h.consents.notAllowed(h.ctx, old.entry)
		if denied == nil || !old.needsConsent() {
			return nil, nil
		}
		s := sv.newServer(old.entry)
		s.err = denied
		return sv.place(lifecycle.Refuse, s), nil
	})
}

// KnownScope returns the scope, one that has to be allowed, of which the host was told that
// entries of a file are; empty if it was told of none. Of entries that are kept in no file
// each has its own, by its name. A program that reads the file again passes the scope to
// package config, so that no secret is asked for before it is allowed.
func (h *Host) KnownScope(file, name string) config.Scope {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.scopes[scopeKey(file, name)]
}

// needsConsent reports whether what is decided about the server matters now.
func (s *server) needsConsent() bool {
	return s.entry.Source.Scope.NeedsApproval() && s.target.enabled()
}

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
	denied := h.consents.notAllowed(h.intake, s.entry)
	waits := denial(s.unusable()) != nil
	chosen, _ := h.chooses(sv)
	switch {
	case !waits && denied != nil && denied.Err == nil && denied.Verdict == consent.Rejected:
		return func() error {
			ctx, stop := context.WithTimeout(h.intake, rejectedGrace)
			defer stop()
			return errors.Join(h.forbid(ctx, sv), h.reconsider(h.intake, sv))
		}
	case chosen != nil:
		return func() error { return h.reconsider(h.intake, sv) }
	case waits && denied == nil:
		return func() error { return h.Enable(h.intake, sv.name) }
	}
	return nil
}
