package registry

import (
	"context"

	"github.com/mcpbelt/mcpbelt/mcp"
)

type progressKey struct{}

// WithProgress returns a context under which calls report their progress to fn,
// whether the tool is native or a server's. A call invokes fn in order and not
// after it has returned, unless a native tool reports from a goroutine that
// outlives it; calls made at the same time under one context invoke fn at the
// same time. A nil fn ends the reporting to an outer context's function.
func WithProgress(ctx context.Context, fn func(*mcp.ProgressParams)) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// ReportProgress reports the progress of a native tool to whoever asked for it
// by [WithProgress]. Without such a listener, and for nil params, it does nothing.
func ReportProgress(ctx context.Context, params *mcp.ProgressParams) {
	if fn := progressOf(ctx); fn != nil && params != nil {
		fn(params)
	}
}

func progressOf(ctx context.Context) func(*mcp.ProgressParams) {
	fn, _ := ctx.Value(progressKey{}).(func(*mcp.ProgressParams))
	return fn
}
