package registry

import (
	"context"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// Callable returns the tools that are worth showing to a model on behalf of the
// user of ctx: those of the [Snapshot] without those that the policy of the registry
// denies to the user, which is an [Approver] with a method Decide as that of
// policy.Policy. With any other Approver these are all tools, for it does not know
// before the call. A tool that is left out is denied all the same when it is called. The
// slice may be shared: do not change its elements.
func (r *Registry) Callable(ctx context.Context) []Tool {
	s := r.Snapshot()
	if _, ok := r.approvals.approver.(decider); !ok {
		return s.Tools()
	}
	callable := r.callableBy(ctx)
	tools := make([]Tool, 0, len(s.entries))
	for _, e := range s.entries {
		if e.listed() && callable(e) {
			tools = append(tools, e.tool)
		}
	}
	return tools
}

// IsCallable reports whether [Registry.Callable] has a tool of that name.
func (r *Registry) IsCallable(ctx context.Context, name string) bool {
	e := r.Snapshot().find(name)
	return e != nil && e.listed() && r.deniedTo(ctx)(e) == nil
}

// Asks reports whether a person is asked before each call of a tool on behalf of the user of
// ctx. Known is false if that is not known before the call: only a policy as
// [Registry.Callable] describes it says so.
func (r *Registry) Asks(ctx context.Context, tool *Definition) (asks, known bool) {
	if r.made() != nil || tool == nil {
		return false, false
	}
	policy, ok := r.approvals.approver.(decider)
	if !ok {
		return false, false
	}
	e := r.Snapshot().find(tool.Name)
	if e == nil {
		return false, true
	}
	user, _ := onbehalf.User(ctx)
	req := ApprovalRequest{User: user, Tool: e.def, Hints: e.hints, Trusted: e.trusted()}
	return policy.Decide(&req).Verdict == approval.Ask, true
}

// A decider is an Approver that decides without the arguments, and at once.
type decider interface {
	Decide(req *ApprovalRequest) approval.Decision
}

// callableBy returns a function that reports whether a listed tool is worth showing
// to a model on behalf of the user of ctx.
func (r *Registry) callableBy(ctx context.Context) func(*entry) bool {
	denied := r.deniedTo(ctx)
	return func(e *entry) bool { return denied(e) == nil }
}

// deniedTo returns a function that returns an error for a tool, listed or not, that
// the policy of the registry denies to the user of ctx.
func (r *Registry) deniedTo(ctx context.Context) func(*entry) *approval.DeniedError {
	policy, ok := r.approvals.approver.(decider)
	if !ok {
		return func(*entry) *approval.DeniedError { return nil }
	}
	user, _ := onbehalf.User(ctx)
	return func(e *entry) *approval.DeniedError {
		req := ApprovalRequest{User: user, Tool: e.def, Hints: e.hints, Trusted: e.trusted()}
		if d := policy.Decide(&req); d.Verdict == approval.Deny {
			return &approval.DeniedError{Tool: e.def.Name, Reason: d.Reason}
		}
		return nil
	}
}
