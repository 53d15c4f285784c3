package session

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
)

// An answer is a grant that could not be saved when it came. Nobody has got it
// yet.
type answer struct {
	grant *auth.Grant
	url   string // of the server
	hash  string // of the refresh token that it was given for; empty if for none
	login bool   // somebody has logged in for it
	begun bool   // that login was begun some time before
}

// saveUnsaved saves such an answer, if there is one.
func (e *entry) saveUnsaved(ctx context.Context) error {
	e.mu.Lock()
	unsaved := e.unsaved
	e.mu.Unlock()
	if unsaved == nil {
		return nil
	}
	var over *auth.StateError
	if err := e.saveAnswer(ctx, unsaved); err != nil && !errors.As(err, &over) {
		return err
	}
	e.takeUnsaved()
	return nil
}

// takeUnsaved returns such an answer, or nil, and forgets it.
func (e *entry) takeUnsaved() *answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	unsaved := e.unsaved
	e.unsaved = nil
	return unsaved
}

// saveAnswer saves a new grant, unless the session went on without it. For a login
// that the user has called off the error is an *auth.StateError.
func (e *entry) saveAnswer(ctx context.Context, a *answer) error {
	over := false
	_, err := e.change(ctx, func(r *record) *record {
		over = a.begun && r.Login == nil && r.Silent == loggedOut
		if over || a.hash != "" && (r.Journal == nil || r.Journal.Refresh != a.hash) {
			return nil
		}
		return r.at(a.url).with(func(r *record) {
			r.Grant, r.URL, r.Ended, r.Journal = a.grant, a.url, "", nil
			r.HadMetadata = r.HadMetadata || a.grant.Authority.HasMetadata
			if a.login {
				r.Logins++
				r.Login, r.Silent, r.Unanswered, r.Header = nil, "", false, nil
			}
		})
	})
	if over {
		return &auth.StateError{Server: e.key.Server, Problem: "the user has logged out since it was begun"}
	}
	return err
}

// keep saves a new grant before anybody gets it. If that fails for too long it is
// kept in memory, to be saved before anything else is done.
func (e *entry) keep(ctx context.Context, a *answer) error {
	for attempt := 0; ; attempt++ {
		err := e.saveAnswer(ctx, a)
		if err == nil {
			return nil
		}
		if over := (*auth.StateError)(nil); errors.As(err, &over) {
			return err
		}
		timer := time.NewTimer(backoff.Full(attempt, renewBase/2, renewBase, renewCeiling))
		select {
		case <-timer.C:
			continue
		case <-ctx.Done():
		case <-e.manager.closing.Done():
		}
		timer.Stop()
		e.mu.Lock()
		e.unsaved = a
		e.planLocked()
		e.mu.Unlock()
		return err
	}
}
