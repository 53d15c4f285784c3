package session

import (
	"context"
	"errors"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/secret"
	"github.com/mcpbelt/mcpbelt/session/driver"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// CompleteOptions restrict [Manager.Complete].
type CompleteOptions struct {
	// User is who has come back. A login of somebody else is an [*UserError],
	// and goes on waiting.
	User string
}

// Complete completes the login that the user's browser has come back from:
// callback is the address it came to, as a whole or from its path on. It may have
// been begun by another process that shares the store. A login can be completed
// once. Without options every user's login is.
//
// The errors are those of [auth.Flow.Complete], [*UserError] and [*StoreError].
func (m *Manager) Complete(ctx context.Context, callback string, o *CompleteOptions) (Key, error) {
	return m.complete(ctx, callback, func(key Key) error {
		if o != nil && o.User != key.User {
			return &UserError{Key: key, User: o.User}
		}
		return nil
	})
}

// complete is Complete, for the logins for which check returns nil.
func (m *Manager) complete(ctx context.Context, callback string, check func(Key) error) (Key, error) {
	state, err := auth.StateOf(callback)
	if err != nil {
		return Key{}, err
	}
	p, at, err := m.loadPending(ctx, pendingName(state))
	if err != nil {
		return Key{}, err
	}
	key := Key{User: p.User, Server: p.Server}
	if err := check(key); err != nil {
		return Key{}, err
	}
	flow, _, err := m.flow(key)
	if err != nil {
		return key, err
	}
	done := make(chan error, 1)
	if !m.goes(func() {
		e, stop := m.watch(key)
		err := e.complete(flow, p, at, callback)
		stop()
		done <- err
	}) {
		return key, ErrClosed
	}
	select {
	case err := <-done:
		return key, err
	case <-ctx.Done():
		return key, ctx.Err()
	}
}

// complete takes the login in the state at out of the store, exchanges the code of
// a callback and concludes the login.
func (e *entry) complete(flow *auth.Flow, p *pending, at seal.Version, callback string) (err error) {
	defer e.manager.caught(e.key, &err)
	ctx, stop := e.manager.lasting(e.key)
	defer stop()
	if err := e.manager.store.Delete(ctx, loginName(p.Login), at); err != nil {
		if errors.Is(err, driver.ErrConflict) || errors.Is(err, driver.ErrNotFound) {
			return &auth.StateError{Server: e.key.Server, Problem: "the login was completed before"}
		}
		return &StoreError{Key: e.key, Op: "remove", Err: err}
	}
	asking, stopAsking := e.manager.request(ctx)
	defer stopAsking()
	grant, err := flow.Complete(asking, p.Login, callback)
	var failed *auth.RequestError
	if errors.As(err, &failed) && failed.NotSent {
		// The code was not used: the user can reload the page.
		if e.manager.putPending(ctx, p) == nil {
			return err
		}
	}
	return e.conclude(p, grant, err)
}

// putPending saves a login for whoever completes it.
func (m *Manager) putPending(ctx context.Context, p *pending) error {
	data, err := secret.Encode(p)
	if err != nil {
		return err
	}
	_, err = m.store.Save(ctx, loginName(p.Login), data, seal.Version{})
	return err
}

func (m *Manager) loadPending(ctx context.Context, name string) (*pending, seal.Version, error) {
	data, at, err := m.store.Load(ctx, name)
	if errors.Is(err, driver.ErrNotFound) {
		return nil, at, &auth.StateError{Problem: "its state is not known; it was completed before, or has expired"}
	}
	var p *pending
	if err == nil {
		p, err = decodePending(data)
	}
	if err != nil {
		return nil, at, &StoreError{Op: "load", Err: err}
	}
	return p, at, nil
}
