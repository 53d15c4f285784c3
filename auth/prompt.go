package auth

import (
	"context"
	"errors"
)

// ErrDeclined reports that the user does not want to log in.
var ErrDeclined = errors.New("auth: the user declined to log in")

// A Prompt shows logins to a user. [Loopback] and [PasteURL] are ready ones.
type Prompt interface {
	// Start prepares for one login. registered are the redirect URIs that the
	// client is registered with, the last used first; one of them should be
	// used if that is possible.
	Start(ctx context.Context, registered []string) (Prompting, error)
}

// A Prompting is one login that is shown to a user.
type Prompting interface {
	// RedirectURI is where the browser is to come back to.
	RedirectURI() string
	// Show shows the login and returns the address at which the browser came
	// back. For a login by device code it shows the code and returns "" at once.
	// If the user does not want to it returns [ErrDeclined].
	Show(ctx context.Context, p *Pending) (callback string, err error)
	// Close ends it. It is called once, also after an error.
	Close() error
}
