package session

import "context"

// A Key names one session: one user at one server.
type Key struct {
	// User is who is logged in. Programs with one user leave it empty.
	User string
	// Server is the name under which the server is configured.
	Server string
}

type userKey struct{}

// WithUser returns a context for calls on behalf of a user.
func WithUser(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// UserOf returns the user on whose behalf ctx's calls are made.
func UserOf(ctx context.Context) (user string, ok bool) {
	user, ok = ctx.Value(userKey{}).(string)
	return user, ok
}
