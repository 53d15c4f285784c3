// Package onbehalf carries in a context on whose behalf something is done: for which
// user, in which conversation, and for which call. It is for the packages that know neither sessions nor
// registries.
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

// WithOwner returns a context for what is done for an owner that is no user, such as a key without one.
func WithOwner(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// Owner returns who has what is kept for ctx, and whose share of the room it takes: the owner of [WithOwner] or
// else the user, also under a context of [Shared]; "" if there is neither.
func Owner(ctx context.Context) string {
	if owner, ok := ctx.Value(ownerKey{}).(string); ok {
		return owner
	}
	user, _ := User(ctx)
	return user
}

type ownerKey struct{}

// Shared returns a context for what is done for ctx's user over a connection that all
// users share: it has the user "", and its [Owner] is that of ctx.
func Shared(ctx context.Context) context.Context { return shared{ctx} }

type shared struct{ context.Context }

func (s shared) Value(k any) any {
	switch k {
	case key{}:
		return ""
	case ownerKey{}:
		return Owner(s.Context)
	}
	return s.Context.Value(k)
}

type appsKey struct{}

// WithApps returns a context for calls of a program that shows apps of servers (MCP Apps):
// what is listed for it has the tools that are for them, which it keeps from its model.
func WithApps(ctx context.Context) context.Context { return context.WithValue(ctx, appsKey{}, true) }

// ShowsApps reports whether ctx is one of [WithApps].
func ShowsApps(ctx context.Context) bool { return ctx.Value(appsKey{}) != nil }

type appKey struct{}

// AsApp returns a context for calls that an app of a server makes, and which [ShowsApps].
func AsApp(ctx context.Context, server string) context.Context {
	return WithApps(context.WithValue(ctx, appKey{}, server))
}

// AppOf returns the server whose app makes the calls of ctx, if it is an app.
func AppOf(ctx context.Context) (server string, ok bool) {
	server, ok = ctx.Value(appKey{}).(string)
	return server, ok
}

type conversationKey struct{}

// WithConversation returns a context for what is done in a conversation.
func WithConversation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, conversationKey{}, id)
}

// ConversationOf returns the conversation of [WithConversation], or "".
func ConversationOf(ctx context.Context) string {
	id, _ := ctx.Value(conversationKey{}).(string)
	return id
}

// A Call is the call that something is done for.
type Call struct {
	ID     string   // empty: no call is known
	Parent string   // the ID of what the call is a part of; may be empty
	Mended []string // what of it goes back to its model otherwise than it was written
}

type callKey struct{}

// WithCall returns a context for what is done for a call.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallOf returns the call of [WithCall], or the zero Call.
func CallOf(ctx context.Context) Call {
	c, _ := ctx.Value(callKey{}).(Call)
	return c
}

type handlerKey[Request any] struct{}

// WithHandler returns a context in the course of whose calls handle answers a kind of server requests, in the place of the
// handler of the program.
func WithHandler[Request, Result any](ctx context.Context, handle func(context.Context, Request) (Result, error)) context.Context {
	return context.WithValue(ctx, handlerKey[Request]{}, handle)
}

// HandlerOf returns the handler of [WithHandler], or else that of the program.
func HandlerOf[Request, Result any](ctx context.Context, program func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	if handle, ok := ctx.Value(handlerKey[Request]{}).(func(context.Context, Request) (Result, error)); ok {
		return handle
	}
	return program
}
