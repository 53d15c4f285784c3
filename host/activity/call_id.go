package activity

import "context"

type callIDKey struct{}

// A callID is what a context says of the call that is made under it.
type callID struct{ id, parent string }

// WithCallID returns a context for one call, or for all that belongs to one step of
// an agent. Events of calls made under it have id as their ID, and as their Parent
// the id that ctx had before. The id may be any text of at most [MaxText] bytes, such
// as the one that a model has given to its call; empty means that one is made for
// each event.
func WithCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, callID{id, CallID(ctx)})
}

// CallID returns the id of [WithCallID], or "" if there is none.
func CallID(ctx context.Context) string {
	c, _ := ctx.Value(callIDKey{}).(callID)
	return c.id
}

func parentOf(ctx context.Context) string {
	c, _ := ctx.Value(callIDKey{}).(callID)
	return c.parent
}
