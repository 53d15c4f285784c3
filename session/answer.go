package session

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
)

// An answer is a grant that the authorization server has given and that is not saved yet.
// No caller has got it.
type answer struct {
	grant *auth.Grant
	url   string // of the server
	hash  string // of the refresh token that it was given for; empty if for none
	login bool   // the user has logged in for it
	begun bool   // that login was begun some time before
}

// apply returns the record with the answer; nil if the session went on without it, because
// the answer is to another refresh token.
func (a *answer) apply(r *record) *record {
	if a.hash != "" && (r.Journal == nil || r.Journal.Refresh != a.hash) {
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
}

// keep saves a new grant before any caller gets it. With again set it tries until ctx or
// the manager ends, and then keeps the answer in memory, to be saved before anything else
// is done. For a login that the user has called off the error is an *auth.StateError.
func (e *entry) keep(ctx context.Context, a *answer, again bool) error {
	for attempt := 0; ; attempt++ {
		calledOff := false
		_, err := e.change(ctx, func(r *record) *record {
			if calledOff = a.begun && r.Login == nil && r.Silent == loggedOut; calledOff {
				return nil
			}
			return a.apply(r)
		})
		switch {
		case calledOff:
			return &auth.StateError{Server: e.key.Server, Problem: "the user has logged out since it was begun"}
		case err == nil || !again:
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

// saveUnsaved saves an answer that keep has left in memory, if there is one.
func (e *entry) saveUnsaved(ctx context.Context) error {
	e.mu.Lock()
	unsaved := e.unsaved
	e.mu.Unlock()
	if unsaved == nil {
		return nil
	}
	if err := e.keep(ctx, unsaved, false); err != nil && !errors.As(err, new(*auth.StateError)) {
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
