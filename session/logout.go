package session

import (
	"context"
	"errors"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/storage"
)

// loggedOut is why a user who has logged out is not asked to log in.
const loggedOut = "the user has logged out"

// Logout ends a session: its tokens and secrets are removed from the store, and
// then revoked, where the authorization server offers that. The user is not asked
// to log in again until the program calls Login. Other processes that share the store
// learn of it within half a minute. The error tells that revocation
// failed; nothing is left here all the same, unless it is a [*StoreError].
func (m *Manager) Logout(ctx context.Context, key Key) error {
	e := m.entry(key)
	var grant *auth.TokenSet
	var pending string
	err := e.exclusively(ctx, func(ctx context.Context) error {
		_, err := e.change(ctx, func(r *record) *record {
			grant = r.Grant
			if r.Login != nil {
				pending = r.Login.Name
			}
			return r.with(func(r *record) {
				r.Grant, r.Ended, r.Journal, r.Login, r.StepUps, r.Header = nil, "", nil, nil, 0, nil
				r.DeclinedReason, r.Failed = loggedOut, ""
			})
		})
		if unsaved := e.takeUnsaved(); err == nil && unsaved != nil {
			grant = unsaved.grant // the newer one
		}
		return err
	})
	if err != nil {
		return err
	}
	m.drop(ctx, pending)
	e.stopShowing()
	m.opts.Logger.Info("session: logged out", "user", key.User, "server", key.Server)
	if grant == nil {
		return nil
	}
	flow, _, err := m.flow(key)
	if err != nil {
		return err
	}
	return flow.Revoke(WithUser(ctx, key.User), grant)
}

// Forget removes everything that is known of a session. The registration of the program
// is that of all sessions, and stays. It does not revoke tokens: call Logout before.
func (m *Manager) Forget(ctx context.Context, key Key) error {
	e := m.entry(key)
	pending := ""
	err := e.exclusively(ctx, func(ctx context.Context) error {
		e.takeUnsaved()
		for {
			r, at, err := m.load(ctx, key, e.name)
			if at == "" {
				return err
			}
			if err == nil && r.Login != nil {
				pending = r.Login.Name
			}
			err = m.store.Delete(ctx, e.name, at) // also what cannot be read
			if err == nil || errors.Is(err, storage.ErrNotFound) {
				_, _, err = e.load(ctx)
				return err
			}
			if !errors.Is(err, storage.ErrConflict) {
				return &StoreError{key: key, op: "remove", err: err}
			}
		}
	})
	m.drop(ctx, pending)
	e.stopShowing()
	return err
}

// exclusively runs f while no other process changes the session.
func (e *entry) exclusively(ctx context.Context, f func(context.Context) error) error {
	unlock, err := e.locked(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return f(ctx)
}

// stopShowing ends the login that is shown to the user, if there is one.
func (e *entry) stopShowing() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.active != nil {
		e.active.stop()
	}
}
