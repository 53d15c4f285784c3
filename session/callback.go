package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/loginpage"
	"github.com/mcpbelt/mcpbelt/internal/secret"
	"github.com/mcpbelt/mcpbelt/storage"
)

// CallbackOptions configure [Manager.CallbackHandler].
type CallbackOptions struct {
	// User returns the user who makes a request, by the program's own means, such as its
	// cookie. Only their own login is completed, unless Allow says otherwise:
	// a user who was sent the address of another user's login would give them
	// their own account. If it returns an error the request gets status 403. Nil
	// means that the program has only one user, whose name in [Key] is empty.
	User func(*http.Request) (string, error)
	// Allow, if set, is asked when User has returned another user than that of the
	// login, and reports whether the request may complete the login all the same:
	// that of an administrator, for example, the login at a server that all share,
	// whose key has no user. Begin such a login only for those who may complete it,
	// and show its address to no one else: others who have it could log in there and
	// send an administrator to the callback, and all would use their account. Allow
	// may be called from many goroutines. Nil: never.
	Allow func(r *http.Request, key Key) bool
	// SuccessURL is where the browser goes after a login. Empty means a page
	// that says so.
	SuccessURL string
}

// CallbackHandler returns the handler of Options.RedirectURL, for web programs: it
// completes the logins that users' browsers come back from. One handler serves all
// users and servers, and the login may have been begun by another process that
// shares the store.
//
// It takes GET only. Nothing of a request is in an answer, and no answer is kept
// by a cache or tells its address to other sites. Why a login failed goes to
// Options.Logger. A login that another user has come back from goes on waiting.
//
// It needs no protection against requests across sites, as only the user who has begun
// the login has its state. Options may be nil.
func (m *Manager) CallbackHandler(o *CallbackOptions) http.Handler {
	return &callbackHandler{m, *cmp.Or(o, new(CallbackOptions))}
}

type callbackHandler struct {
	manager *Manager
	opts    CallbackOptions
}

// ServeHTTP implements [http.Handler].
func (h *callbackHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		_ = loginpage.Write(w, http.StatusMethodNotAllowed, "Wrong method", "A login comes back by GET.")
		return
	}
	user := ""
	if h.opts.User != nil {
		var err error
		if user, err = h.opts.User(r); err != nil {
			h.fail(w, Key{}, fmt.Errorf("%w: %w", errUnknownUser, err))
			return
		}
	}
	key, err := h.manager.complete(r.Context(), r.URL.RequestURI(), func(key Key) error {
		if key.User != user && (h.opts.Allow == nil || !h.opts.Allow(r, key)) {
			return &UserError{key: key, user: user}
		}
		return nil
	})
	if err != nil {
		h.fail(w, key, err)
		return
	}
	if h.opts.SuccessURL != "" {
		loginpage.Protect(w.Header())
		http.Redirect(w, r, h.opts.SuccessURL, http.StatusSeeOther)
		return
	}
	_ = loginpage.Write(w, http.StatusOK, "Logged in", "You can close this page.")
}

// errUnknownUser says that the program does not know which user has come back.
var errUnknownUser = errors.New("session: no user is logged in to the program")

// fail answers that there was no login.
func (h *callbackHandler) fail(w http.ResponseWriter, key Key, err error) {
	h.manager.opts.Logger.Info("session: login not completed", "user", key.User, "server", key.Server, "error", err)
	status, text := statusOf(err)
	_ = loginpage.Write(w, status, "Not logged in", text)
}

// statusOf says what the user can be told of an error.
func statusOf(err error) (status int, text string) {
	var refused *auth.OAuthError
	switch {
	case errors.Is(err, errUnknownUser), errors.As(err, new(*UserError)):
		return http.StatusForbidden, "Another user has begun this login. Log in to this program as that user, and reload the page."
	case errors.As(err, new(*auth.StateError)):
		return http.StatusBadRequest, "This login is not known, or it is over. Begin it again."
	case errors.As(err, &refused) && refused.Status == 0:
		return http.StatusForbidden, "The login was not approved. Begin it again if you want to."
	case errors.Is(err, ErrClosed):
		return http.StatusServiceUnavailable, "The program is being stopped. Begin the login again."
	}
	return http.StatusBadGateway, "The login could not be completed. Reload the page, or begin the login again."
}

// CompleteOptions restrict [Manager.Complete].
type CompleteOptions struct {
	// User is the user who has come back. A login of another user is an [*UserError],
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
			return &UserError{key: key, user: o.User}
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
	if !m.run(func() {
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
func (e *entry) complete(flow *auth.Flow, p *pending, at storage.Revision, callback string) (err error) {
	defer e.manager.caught(e.key, &err)
	ctx, stop := e.manager.lasting(e.key)
	defer stop()
	if err := e.manager.store.Delete(ctx, loginName(p.Login), at); err != nil {
		if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
			return &auth.StateError{Server: e.key.Server, Problem: "the login was completed before"}
		}
		return &StoreError{key: e.key, op: "remove", err: err}
	}
	asking, stopAsking := e.manager.request(ctx)
	defer stopAsking()
	grant, err := flow.Complete(asking, p.Login, callback)
	if failed, ok := errors.AsType[*auth.RequestError](err); ok && failed.NotSent && e.manager.putPending(ctx, p) == nil {
		return err // the code was not used: the user can reload the page
	}
	return e.conclude(p, grant, err)
}

// putPending saves a login for the process that completes it.
func (m *Manager) putPending(ctx context.Context, p *pending) error {
	data, err := secret.Encode(p)
	if err != nil {
		return err
	}
	_, err = m.store.Save(ctx, loginName(p.Login), data, "")
	return err
}

func (m *Manager) loadPending(ctx context.Context, name string) (*pending, storage.Revision, error) {
	kept, err := m.store.Load(ctx, name, "")
	at := kept.Revision
	if errors.Is(err, storage.ErrNotFound) {
		return nil, at, &auth.StateError{Problem: "its state is not known; it was completed before, or has expired"}
	}
	var p *pending
	if err == nil {
		p, err = decodePending(kept.Data)
	}
	if err != nil {
		return nil, at, &StoreError{op: "load", err: err}
	}
	return p, at, nil
}
