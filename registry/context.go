package registry

import (
	"cmp"
	"context"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
)

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
