package registry

import (
	"cmp"
	"context"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// AsApp returns a context for calls that an app of a server makes: they reach the tools of that server that are [Definition.ForApps]
// and no others, and their results stay whole, see [result.WithWhole]. Approvers, middleware and observers see them as they do all calls.
func AsApp(ctx context.Context, server string) context.Context {
	return result.WithWhole(onbehalf.AsApp(ctx, server))
}

// WithConversation returns a context for calls that belong to one conversation
// with a model. It bounds what [approval.AllowForConversation] allows, and who can read results
// that are kept. The id is any text; a program with one conversation needs none.
func WithConversation(ctx context.Context, id string) context.Context {
	return onbehalf.WithConversation(ctx, id)
}

// OwnerOf returns by whom what a call leaves behind is kept apart from that of others, and counted: the user or,
// without one, the credential of a caller of a gateway; "" if neither is known. It is for tools and middleware that
// keep something.
func OwnerOf(ctx context.Context) string { return onbehalf.Owner(ctx) }

// userOf returns the user of ctx, or "" if ctx names none.
func userOf(ctx context.Context) string {
	user, _ := onbehalf.User(ctx)
	return user
}

// WithCallID returns a context for one call, or for all that belongs to one step of
// an agent. The id may be any text, such as the one that a model has given to its call;
// it need not be unique. Middleware, tools and progress functions get it by
// [CallIDOf]; an [Observation] and an [ApprovalRequest] have it as their CallID, and
// the events of package host/activity as their ID. The id that ctx had before is the
// Parent of these events. An empty id means that the calls have none.
//
// profile.Turn does this for the calls of a model.
func WithCallID(ctx context.Context, id string) context.Context {
	return onbehalf.WithCall(ctx, onbehalf.Call{ID: id, Parent: CallIDOf(ctx)})
}

// CallIDOf returns the id of [WithCallID], or "" if there is none.
func CallIDOf(ctx context.Context) string { return onbehalf.CallOf(ctx).ID }

type progressKey struct{}

// WithProgress returns a context under which calls report their progress to fn,
// whether the tool is native or a server's. A call invokes fn in order and not
// after it has returned, unless a native tool reports from a goroutine that
// outlives it; calls made at the same time under one context invoke fn at the
// same time. A nil fn ends the reporting to an outer context's function.
func WithProgress(ctx context.Context, fn func(*mcp.ProgressParams)) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// ReportProgress reports the progress of a native tool to the function given to
// [WithProgress]. Without such a listener, and for nil params, it does nothing.
func ReportProgress(ctx context.Context, params *mcp.ProgressParams) {
	if fn := progressOf(ctx); fn != nil && params != nil {
		fn(params)
	}
}

type callOptionsKey struct{}

// WithCallOptions returns a context under which tools of servers are called with these options,
// such as members of _meta, or an [mcp.InputRound] for a caller that gets the server's input by
// itself: see [mcp.InputRequiredError]. Progress of opts is for a context without [WithProgress].
// Native tools do not see them. SkipContent of opts does not count: [Registry.Forward] is for that. Do not
// change what opts holds.
func WithCallOptions(ctx context.Context, opts *mcp.RequestOptions) context.Context {
	return context.WithValue(ctx, callOptionsKey{}, opts)
}

// callOptions returns the options of a call under ctx; nil if there are none.
func callOptions(ctx context.Context, skipContent bool) *mcp.RequestOptions {
	opts, _ := ctx.Value(callOptionsKey{}).(*mcp.RequestOptions)
	fn := progressOf(ctx)
	if fn == nil && !skipContent && (opts == nil || !opts.SkipContent) {
		return opts
	}
	with := *cmp.Or(opts, new(mcp.RequestOptions))
	with.SkipContent = skipContent // see Registry.Forward
	if fn != nil {
		with.Progress = fn
	}
	return &with
}

func progressOf(ctx context.Context) func(*mcp.ProgressParams) {
	fn, _ := ctx.Value(progressKey{}).(func(*mcp.ProgressParams))
	return fn
}
