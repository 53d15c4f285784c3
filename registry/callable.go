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
	policy, ok := r.approvals.approver.(*Policy)
	if !ok {
		return s.Tools()
	}
	user, _ := onbehalf.User(ctx)
	tools := make([]Tool, 0, len(s.tools))
	for _, e := range s.entries {
		if e.change != nil {
			continue
		}
		req := ApprovalRequest{User: user, Tool: e.def, Hints: e.hints, Trusted: e.trusted()}
		if policy.Decide(&req).Verdict != Deny {
			tools = append(tools, e.tool)
		}
	}
	return tools
}
