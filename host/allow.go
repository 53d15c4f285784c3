package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/launch"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A LaunchNotAllowedError reports a server that was not started or connected to, because
// its entry comes from a file that others may have written, and it was not allowed here
// as it is now.
//
//cure:show the user the launch of PendingLaunches, and call AllowLaunch
type LaunchNotAllowedError struct {
	// Launch is what would be started. Its String is the exact command, and is not
	// part of the error's text, since it may hold secrets.
	Launch *consent.Launch
	// Verdict is [consent.Rejected] if it was denied, else [consent.Pending].
	Verdict consent.Verdict
	// Err is why it could not be found out, or nil.
	Err error
}

// Error names the server and its place, and says how to allow it.
func (e *LaunchNotAllowedError) Error() string {
	text := fmt.Sprintf("server %q (%s): ", e.Launch.Server, e.Launch.Source)
	switch {
	case e.Err != nil:
		return text + fmt.Sprintf("it cannot be found out whether it is allowed: %v", e.Err)
	case e.Verdict == consent.Rejected:
		return text + fmt.Sprintf("its launch was denied (fingerprint %s): Host.AllowLaunch lets it start after all", e.Launch.Fingerprint())
	}
	return text + fmt.Sprintf("its launch has to be allowed (fingerprint %s): look at its command with Host.PendingLaunches, then call Host.AllowLaunch or Host.DenyLaunch; or, if its file only has the name of a project's, say so with the Scope of Options.Config", e.Launch.Fingerprint())
}

func (e *LaunchNotAllowedError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent].
func (e *LaunchNotAllowedError) Outcome() mcp.Outcome { return mcp.NotSent }

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

// consents is the book of a host, opened when it is first needed.
type consents struct {
	mu   sync.Mutex
	book *consent.Book
}

// book returns the book of Options, or the one in StateDir.
func (h *Host) book() (*consent.Book, error) {
	if h.opts.Consents != nil {
		return h.opts.Consents, nil
	}
	h.consents.mu.Lock()
	defer h.consents.mu.Unlock()
	if h.consents.book != nil {
		return h.consents.book, nil
	}
	book := consent.New()
	if h.state != "" {
		var err error
		if book, err = consent.Open(filepath.Join(h.state, "consents.json")); err != nil {
			return nil, err
		}
	}
	h.consents.book = book
	return book, nil
}

// notAllowed returns why a server must not be started now, or nil. It is also nil if there
// is no such program: to start it fails anyway.
func (h *Host) notAllowed(ctx context.Context, e *config.Server) *LaunchNotAllowedError {
	_, err := h.allowedLaunch(ctx, e)
	return denial(err)
}

// denial returns the [*LaunchNotAllowedError] that an error is, or nil.
func denial(err error) *LaunchNotAllowedError {
	denied, _ := errors.AsType[*LaunchNotAllowedError](err)
	return denied
}

// allowedLaunch returns what may be started, or nil if it need not be allowed.
func (h *Host) allowedLaunch(ctx context.Context, e *config.Server) (*consent.Launch, error) {
	if !e.Source.Scope.NeedsApproval() {
		return nil, nil
	}
	l, err := launch.Of(e)
	if err != nil {
		return nil, err
	}
	verdict := consent.Pending
	book, err := h.book()
	if err == nil {
		verdict, err = book.Verdict(ctx, l)
	}
	if err != nil || verdict != consent.Approved {
		l.Accepted = launch.AcceptedTools(h.registry.Ledger(), e.Name, e.Source.ProjectFolder())
		return nil, &LaunchNotAllowedError{Launch: l, Verdict: verdict, Err: err}
	}
	return l, nil
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
			if denied := h.notAllowed(h.ctx, e); denied != nil && denied.Verdict == consent.Pending {
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
	entries := slices.Clone(sv.waiting())
	if s := sv.now(); s != nil && s.entry.Source.Scope.NeedsApproval() && s.entry.Err == nil {
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

// askAgain has the user asked again what was not answered.
func (s *server) askAgain() {
	if g, ok := s.transport.(*guarded); ok {
		g.refused.Store(nil)
	}
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
			err = h.forbid(ctx, sv.name)
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
	book, err := h.book()
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
func (h *Host) forbid(ctx context.Context, name string) error {
	if sv, err := h.supervisor(name); err == nil {
		sv.interrupt(nil)
	}
	return h.change(ctx, "deny", name, func(_ context.Context, sv *supervisor, old *server) (wait, error) {
		denied := h.notAllowed(h.ctx, old.entry)
		if denied == nil || !old.needsConsent() {
			return nil, nil
		}
		s := sv.newServer(old.entry)
		s.err = denied
		return sv.place(lifecycle.Refuse, s), nil
	})
}

// scopes are those of the files and stores that a host was told are of a scope that
// has to be allowed, by scopeKey. What was once said of a file counts for the life of the
// host: to read it again without a scope, because of an edit or of a file that was
// replaced, starts nothing.
type scopes map[string]config.Scope

// storeFile is the file of entries that are records of a store, and in no file.
const storeFile = "store"

// scopeKey names the file of an entry, or of what is kept in no file the entry.
func scopeKey(file, name string) string {
	if file == storeFile || file == "" {
		return file + "\x00" + name
	}
	if path, err := filepath.Abs(file); err == nil {
		return path
	}
	return file
}

// keep returns the entry in the stricter one of its scope and that which was known, and
// keeps that.
func (s scopes) keep(e *config.Server) *config.Server {
	e = whole(e)
	key := scopeKey(e.Source.File, e.Name)
	known := s[key]
	switch {
	case e.Source.Scope == config.ScopeProposed: // which is of the entry, and not of the file
	case e.Source.Scope.NeedsApproval():
		s[key] = e.Source.Scope
	case known != "":
		strict := *e
		strict.Source.Scope = known
		return &strict
	}
	return e
}

// whole returns an entry that was made in Go as one of a file is, which has a transport.
func whole(e *config.Server) *config.Server {
	if e.Transport != "" || e.Err != nil {
		return e
	}
	own := *e
	switch {
	case e.Command != "":
		own.Transport = config.TransportStdio
	case strings.HasPrefix(e.URL, "unix:"):
		own.Transport = config.TransportUnix
	default:
		own.Transport = config.TransportAuto
	}
	return &own
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
