package session

import (
	"errors"
	"net/http"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/loginpage"
)

// CallbackOptions configure [Manager.CallbackHandler].
type CallbackOptions struct {
	// User returns who makes a request, by the program's own means, such as its
	// cookie. Only their own login is completed, unless Allow says otherwise:
	// somebody who was sent the address of another user's login would give them
	// their own account. If it returns an error the request gets status 403. Nil
	// means that the program has only one user, whose name in [Key] is empty.
	User func(*http.Request) (string, error)
	// Allow, if set, is asked when User has returned another user than that of the
	// login, and reports whether the request may complete the login all the same:
	// that of an administrator, for example, the login at a server that all share,
	// whose key has no user. Begin such a login only for those who may complete it,
	// and show its address to nobody else: others who have it could log in there and
	// send an administrator to the callback, and all would use their account. Allow
	// may be called from many goroutines. Nil: never.
	Allow func(r *http.Request, key Key) bool
	// SuccessURL is where the browser goes after a login. Empty means a page
	// that says so.
	SuccessURL string
	// FailureURL is where it goes if there was none. Empty means a page that
	// says so.
	FailureURL string
}

// CallbackHandler returns the handler of Options.RedirectURL, for web programs: it
// completes the logins that users' browsers come back from. One handler serves all
// users and servers, and the login may have been begun by another process that
// shares the store.
//
// It takes GET only. Nothing of a request is in an answer, and no answer is kept
// by a cache or tells its address to other sites. Why a login failed goes to
// Options.Logger. A login that somebody else has come back from goes on waiting.
//
// It needs no protection against requests across sites, as only who has begun the
// login has its state. Options may be nil.
func (m *Manager) CallbackHandler(o *CallbackOptions) http.Handler {
	var opts CallbackOptions
	if o != nil {
		opts = *o
	}
	return &callbackHandler{m, opts}
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
			h.fail(w, r, Key{}, &unknownUserError{err})
			return
		}
	}
	key, err := h.manager.complete(r.Context(), r.URL.RequestURI(), func(key Key) error {
		if key.User != user && (h.opts.Allow == nil || !h.opts.Allow(r, key)) {
			return &UserError{Key: key, User: user}
		}
		return nil
	})
	if err != nil {
		h.fail(w, r, key, err)
		return
	}
	if h.opts.SuccessURL != "" {
		redirect(w, r, h.opts.SuccessURL)
		return
	}
	_ = loginpage.Write(w, http.StatusOK, "Logged in", "You can close this page.")
}

// An unknownUserError says that the program does not know who has come back.
type unknownUserError struct{ err error }

func (e *unknownUserError) Error() string {
	return "session: nobody is logged in to the program: " + e.err.Error()
}

func (e *unknownUserError) Unwrap() error { return e.err }

// fail answers that there was no login.
func (h *callbackHandler) fail(w http.ResponseWriter, r *http.Request, key Key, err error) {
	h.manager.opts.Logger.Info("session: login not completed", "user", key.User, "server", key.Server, "error", err)
	if h.opts.FailureURL != "" {
		redirect(w, r, h.opts.FailureURL)
		return
	}
	status, text := failure(err)
	_ = loginpage.Write(w, status, "Not logged in", text)
}

// failure says what the user can be told of an error.
func failure(err error) (status int, text string) {
	var (
		nobody  *unknownUserError
		other   *UserError
		state   *auth.StateError
		refused *auth.OAuthError
	)
	switch {
	case errors.As(err, &nobody), errors.As(err, &other):
		return http.StatusForbidden, "This login was begun by somebody else. Log in to this program as the one who has begun it, and reload the page."
	case errors.As(err, &state):
		return http.StatusBadRequest, "This login is not known, or it is over. Begin it again."
	case errors.As(err, &refused) && refused.Status == 0:
		return http.StatusForbidden, "The login was not approved. Begin it again if you want to."
	case errors.Is(err, ErrClosed):
		return http.StatusServiceUnavailable, "The program is being stopped. Begin the login again."
	}
	return http.StatusBadGateway, "The login could not be completed. Reload the page, or begin the login again."
}

func redirect(w http.ResponseWriter, r *http.Request, to string) {
	loginpage.Protect(w.Header())
	http.Redirect(w, r, to, http.StatusSeeOther)
}
