package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Status is where one server stood at one moment.
type Status struct {
	// Name is the server's name, which begins the names of its tools.
	Name string
	// Title is the name as written in the config file.
	Title string
	// Description is the description in the config file.
	Description string
	// Source is where in the config file the server stands.
	Source config.Source
	// Transport is the kind of transport: stdio, http, sse, auto or unix.
	Transport string
	// Enabled says whether the server is meant to run.
	Enabled bool
	// Stage is how far the server is from being of use: whether its tools can be called. The Phase of
	// State is that of its connection alone.
	Stage Stage
	// State is the state of the client that all users share. Its phase is Idle for a
	// server that does not run now, and for one with a client for each user. Its
	// Instructions are those that were accepted, see [registry.Registry.Instructions].
	State mcp.State
	// Users is the number of clients of users.
	Users int
	// Tools is the number of the server's tools that the registry lists.
	Tools int
	// Quarantined is the number of its tools that the registry's ledger holds
	// back, because they were not accepted as they are.
	Quarantined int
	// Rejected are tools that are not in the registry, because others have
	// their names or the gate does not let them in.
	Rejected []registry.Rejection
	// Warnings are what looks like a mistake in its config entry. It can be used all
	// the same. Do not change them.
	Warnings []*config.Error
	// Err is what is wrong with the server now: its config entry, its
	// connection, or its list of tools. It is nil if nothing is.
	Err error
	// Unapplied is set while the server does not run as it is configured: its entry was
	// changed, what that says does not work, and the server goes on as it was. It is
	// tried again by itself. Do not change it.
	Unapplied *Unapplied
}

func (s *server) status() Status {
	instructions := s.host.registry.Instructions(s.entry.Name)
	c, users, unapplied := s.running(), s.pool.users(), s.target.lacks()
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	listErr := errors.Join(s.listErr, s.registryErr)
	status := Status{
		Name:        s.entry.Name,
		Title:       s.entry.Title,
		Description: s.entry.Description,
		Source:      s.said.Source,
		Transport:   s.entry.Transport,
		Enabled:     s != s.target.server || s.target.state.Enabled(),
		Users:       len(users),
		Rejected:    s.rejected,
		Warnings:    s.said.Warnings,
		Err:         errors.Join(s.err, listErr),
		Unapplied:   unapplied,
	}
	if c != nil {
		status.State = c.client.State()
		status.Err = errors.Join(status.Err, status.State.Err)
		if status.State.Server != nil || status.State.Instructions != "" { // it is connected
			status.State.Instructions = instructions
		}
	}
	status.Stage = s.stageLocked(status.Enabled, status.State)
	if status.Stage == StageCached && slices.ContainsFunc(users, func(c *conn) bool { return c.client.State().Phase == mcp.Ready }) {
		status.Stage = StageReady
	}
	if (status.Stage.hasTools() || status.Stage == StageConfigured) && s.quarantined() {
		status.Stage = StageQuarantined
	}
	return status
}

// stageLocked tells the stage by the state of the client for all users, and by whether
// the tools are known, or why they are not.
func (s *server) stageLocked(enabled bool, state mcp.State) Stage {
	switch {
	case !enabled && (s.entry.Err == nil || s.entry.Disabled):
		return StageDisabled
	case s.entry.Err != nil:
		return StageInvalid
	case denial(s.err) != nil, denial(state.Err) != nil:
		return StageNotAllowed
	case errors.Is(s.err, errNoLedger):
		return StageQuarantined
	case s.err != nil:
		return StageInvalid
	}
	tools := lifecycle.Unknown
	switch {
	case s.listed:
		tools = lifecycle.Listed
	case s.listErr != nil, s.registryErr != nil:
		tools = lifecycle.Unlisted
	}
	return Stage(lifecycle.Stage(state.Phase, tools))
}

// A Stage is how far a server is from being of use.
type Stage string

// The stages.
const (
	StageDisabled    Stage = "disabled"    // switched off
	StageInvalid     Stage = "invalid"     // its entry cannot be used
	StageNotAllowed  Stage = "not_allowed" // its launch was not allowed, or was denied
	StageQuarantined Stage = "quarantined" // its tools are known, or would be, and none is called before they are accepted
	StageConfigured  Stage = "configured"  // not started, and its tools are not known: perhaps no user has logged in yet
	StageCached      Stage = "cached"      // not started; its tools are known from an earlier time, and a call starts it
	StageStarting    Stage = "starting"    // being started or connected
	StageReady       Stage = "ready"       // connected, and its tools are listed
	StageWaiting     Stage = "waiting"     // lost or failed; it is tried again at State.RetryAt, or soon if only its tools could not be listed
	StageLogin       Stage = "login"       // it wants the user to log in
)

// hasTools reports whether the tools of a server at the stage are known and in the registry.
func (s Stage) hasTools() bool {
	return s == StageReady || s == StageCached || s == StageQuarantined
}

// firstAttempt waits for the first attempt of a started server, and returns what is
// wrong after it.
func (s *server) firstAttempt(ctx context.Context) error {
	select {
	case <-s.settled:
	case <-ctx.Done():
		return fmt.Errorf("server %q: %w", s.entry.Name, context.Cause(ctx))
	case <-s.host.intake.Done():
	}
	switch {
	case s.host.isClosing(): // which may be what has ended the attempt
		return ErrClosed
	case errors.Is(s.unusable(), errEnded):
		return fmt.Errorf("server %q: %w", s.entry.Name, ErrOvertaken)
	}
	return s.outcome()
}

// outcome returns what is wrong with the server, which may be nil, with its name and place.
func (s *server) outcome() error {
	if s == nil {
		return nil
	}
	status := s.status()
	if status.Err == nil || namesItsServer(status.Err) {
		return status.Err
	}
	return fmt.Errorf("server %q (%s): %w", status.Name, status.Source, status.Err)
}

// awaitsLogin reports whether the tools are not known, and are to be read with a login.
func (s *server) awaitsLogin() bool {
	return s.host.opts.Logins != nil && s.perUser() && s.entry.NoLogin() == "" && !s.toolsKnown()
}

// serves reports whether tools can be called now, or will be started by a call.
func (s *server) serves() bool {
	c := s.running()
	return c != nil && c.client.State().Phase == mcp.Ready || s.usable() && (s.entry.Lazy || s.perUser()) && s.toolsKnown()
}

// untilStarted returns what waits for the first attempt of a server that is not lazy.
func (s *server) untilStarted() wait {
	if s.entry.Lazy {
		return nil
	}
	return s.firstAttempt
}
