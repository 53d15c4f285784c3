// Package onbehalf carries the user on whose behalf something is done in a
// context, for the rooms that know users: sessions and policies.
package onbehalf

import "context"

type key struct{}

// With returns a context for what is done on behalf of user.
func With(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, key{}, user)
}

// User returns the user of [With].
func User(ctx context.Context) (user string, ok bool) {
	user, ok = ctx.Value(key{}).(string)
	return user, ok
}
