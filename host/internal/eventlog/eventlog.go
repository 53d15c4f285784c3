// Package eventlog tells a sink of events which log writes to it, so that it can record in all sinks.
package eventlog

import (
	"context"

	"github.com/mcpbelt/mcpbelt/host/activity/event"
)

// A Log keeps events. Record does not wait.
type Log interface {
	Record(ctx context.Context, e event.Event)
}

type key struct{}

// With returns a context under which a log writes.
func With(ctx context.Context, l Log) context.Context { return context.WithValue(ctx, key{}, l) }

// Of returns the log that writes under a context; nil if it is not known.
func Of(ctx context.Context) Log {
	l, _ := ctx.Value(key{}).(Log)
	return l
}
