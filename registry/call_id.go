package registry

import (
	"context"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
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
