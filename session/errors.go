package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/outcome"
)

// A RefreshError reports that a token could not be renewed for now. The session
// lives on, and renewal is tried again.
type RefreshError struct {
	// Key is whose token it is.
	Key Key
	// RetryAt is before when no other attempt is made.
	RetryAt time.Time
	// Err is what happened.
	Err error
}

func (e *RefreshError) Error() string {
	return fmt.Sprintf("session: %v: token not renewed: %v", e.Key, e.Err)
}

// Unwrap returns Err.
func (e *RefreshError) Unwrap() error { return e.Err }

// A StoreError reports a store that could not be read or written. The store still holds
// what it held before.
type StoreError struct {
	// Key is whose session it was about; zero for a login of which that is not
	// known.
	Key Key
	// Op is "load", "save", "remove" or "lock".
	Op string
	// Err is what happened.
	Err error
}

func (e *StoreError) Error() string {
	if e.Key == (Key{}) {
		return fmt.Sprintf("session: cannot %s a record: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("session: %v: cannot %s the session: %v", e.Key, e.Op, e.Err)
}

// Unwrap returns Err.
func (e *StoreError) Unwrap() error { return e.Err }

// A RefusedError reports that the server refuses what it was sent, though no
// login would change that: the secrets set by SetHeader, or a request that this
// user may not make.
type RefusedError struct {
	// Key is the session that was refused.
	Key Key
	// Status is the HTTP status, 401 or 403.
	Status int
	// Problem says what was refused, and the cure.
	Problem string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("session: %v: refused with HTTP status %d: %s", e.Key, e.Status, e.Problem)
}

// Class returns failure.Denied.
func (e *RefusedError) Class() outcome.Class { return outcome.Denied }

// A UserError reports a request that was about to be made with the session of
// another user. It was not sent.
type UserError struct {
	// Key is whose session it is.
	Key Key
	// User is the user on whose behalf the request was made.
	User string
}

func (e *UserError) Error() string {
	return fmt.Sprintf("session: %v: not the session of user %q", e.Key, e.User)
}

// Outcome returns mcp.NotSent.
func (e *UserError) Outcome() outcome.Outcome { return outcome.NotSent }

// Class returns failure.Denied.
func (e *UserError) Class() outcome.Class { return outcome.Denied }

// ErrClosed is returned by the methods of a [Manager] that was closed.
var ErrClosed = errors.New("session: manager closed")
