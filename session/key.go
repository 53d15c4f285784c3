package session

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
)

// A Key names one session: one user at one server.
type Key struct {
	// User is who is logged in. Programs with one user leave it empty.
	User string
	// Server is the name under which the server is configured.
	Server string
}

// String returns the key as errors show it.
func (k Key) String() string {
	if k.User == "" {
		return fmt.Sprintf("server %q", k.Server)
	}
	return fmt.Sprintf("user %q at server %q", k.User, k.Server)
}

// WithUser returns a context for calls on behalf of a user. A [Handler] refuses
// to let out a request on behalf of another user than its own, the callbacks of
// an auth.Config find their user there, and so do a registry's policies.
func WithUser(ctx context.Context, user string) context.Context {
	return onbehalf.With(ctx, user)
}

// UserOf returns the user on whose behalf ctx's calls are made.
func UserOf(ctx context.Context) (user string, ok bool) {
	return onbehalf.User(ctx)
}
