package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/outcome"
)

// A RefreshError reports that a token could not be renewed for now. The session
// lives on, and renewal is tried again.
//
//cure:none is needed at first: it is tried again; the wrapped error is that of the provider
type RefreshError struct {
	// key is whose token it is.
	key Key
	// RetryAt is before when no other attempt is made.
	RetryAt time.Time
	// err is what happened.
	err error
}

func (e *RefreshError) Error() string {
	return fmt.Sprintf("session: %v: token not renewed: %v", e.key, e.err)
}

// Unwrap returns the cause.
func (e *RefreshError) Unwrap() error { return e.err }

// A StoreError reports a store that could not be read or written. The store still holds
// what it held before.
//
//cure:repair the store that the wrapped error names
type StoreError struct {
	// key is whose session it was about; zero for a login of which that is not
	// known.
	key Key
	// op is "load", "save", "remove" or "lock".
	op string
	// err is what happened.
	err error
}

func (e *StoreError) Error() string {
	if e.key == (Key{}) {
		return fmt.Sprintf("session: cannot %s a record: %v", e.op, e.err)
	}
	return fmt.Sprintf("session: %v: cannot %s the session: %v", e.key, e.op, e.err)
}

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.err }

// A refusedError reports that the server refuses what it was sent, though no
// login would change that: the secrets set by SetHeader, or a request that this
// user may not make.
type refusedError struct {
	// key is the session that was refused.
	key Key
	// status is the HTTP status, 401 or 403.
	status int
	// problem says what was refused, and the cure.
	problem string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("session: %v: refused with HTTP status %d: %s", e.key, e.status, e.problem)
}

// Class returns failure.Denied.
func (e *refusedError) Class() outcome.Class { return outcome.Denied }

// A UserError reports a request that was about to be made with the session of
// another user. It was not sent.
//
//cure:give the context the user whose session it is, by WithUser
type UserError struct {
	// key is whose session it is.
	key Key
	// user is the user on whose behalf the request was made.
	user string
}

func (e *UserError) Error() string {
	return fmt.Sprintf("session: %v: not the session of user %q", e.key, e.user)
}

// Outcome returns mcp.NotSent.
func (e *UserError) Outcome() outcome.Outcome { return outcome.NotSent }

// Class returns failure.Denied.
func (e *UserError) Class() outcome.Class { return outcome.Denied }

// ErrClosed is returned by the methods of a [Manager] that was closed.
//
//cure:make a new Manager
var ErrClosed = errors.New("session: manager closed")
