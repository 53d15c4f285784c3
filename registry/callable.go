package registry

import (
	"context"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
)

// Callable returns the tools that are worth showing to a model on behalf of the
// user of ctx: those of the [Snapshot] without those that the [Policy] of the
// registry denies to the user. With any other [Approver] these are all tools, for
// nobody else knows before the call. What is not shown is denied all the same
// when it is called. The slice may be shared: do not change its elements.
func (r *Registry) Callable(ctx context.Context) []Tool {
	s := r.Snapshot()
	if _, ok := r.approvals.approver.(*Policy); !ok {
		return s.Tools()
	}
	callable := r.callableBy(ctx)
	tools := make([]Tool, 0, len(s.tools))
	for _, e := range s.entries {
		if e.listed() && callable(e) {
			tools = append(tools, e.tool)
		}
	}
	return tools
}

// callableBy returns a function that reports whether a listed tool is worth showing
// to a model on behalf of the user of ctx.
func (r *Registry) callableBy(ctx context.Context) func(*entry) bool {
	policy, ok := r.approvals.approver.(*Policy)
	if !ok {
		return func(*entry) bool { return true }
	}
	user, _ := onbehalf.User(ctx)
	return func(e *entry) bool {
		req := ApprovalRequest{User: user, Tool: e.def, Hints: e.hints, Trusted: e.trusted()}
		return policy.Decide(&req).Verdict != Deny
	}
}
