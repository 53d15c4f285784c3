package registry

import (
	"context"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// JudgeApp returns why the ledger holds the app of a tool back, or nil: a page and what its server declares of it, as
// JSON, are accepted as tools are, see [ledger.Ledger.RecordApp]. Without a ledger all are. The error is that of a ledger
// that cannot be written.
func (r *Registry) JudgeApp(ctx context.Context, def *Definition, page []byte, declares json.RawMessage) (*ledger.Change, error) {
	if r.ledger == nil || def.Origin.Server == "" {
		return nil, nil
	}
	server := r.offering(def.Origin.Server).server
	return r.ledger.RecordApp(ctx, server.ledger(), ledger.NewAppSurface(def.called(), def.page, page, declares))
}

// Callable returns the tools that are worth showing to a model on behalf of the
// user of ctx: those of the [Snapshot] without those that the policy of the registry
// denies to the user, which is an [Approver] with a method Decide as that of
// policy.Policy. With any other Approver these are all tools, for it does not know
// before the call. A tool that is left out is denied all the same when it is called. The
// slice may be shared: do not change its elements.
func (r *Registry) Callable(ctx context.Context) []Tool {
	s := r.Snapshot()
	if _, ok := r.approvals.approver.(decider); !ok && !onbehalf.ShowsApps(ctx) {
		return s.Tools()
	}
	denied := r.deniedTo(ctx)
	tools := make([]Tool, 0, len(s.entries))
	for _, e := range s.entries {
		if e.listedFor(ctx) && denied(e) == nil {
			tools = append(tools, e.tool)
		}
	}
	return tools
}

// Decide returns what a policy as [Registry.Callable] describes it says, without the
// arguments, of calls of the tool of that name on behalf of the user of ctx; [approval.Deny] for
// a name that no listed tool has. Known is false if there is no such policy, which means that
// it is not known before the call.
func (r *Registry) Decide(ctx context.Context, name string) (verdict approval.Verdict, known bool) {
	e := r.Snapshot().find(name)
	if e == nil || !e.listedFor(ctx) {
		return approval.Deny, true
	}
	policy, known := r.approvals.approver.(decider)
	if !known {
		return approval.Allow, false
	}
	return policy.Decide(r.foreseen(ctx, e)).Verdict, true
}

// foreseen returns a request for a call whose arguments are not known yet.
func (r *Registry) foreseen(ctx context.Context, e *entry) *ApprovalRequest {
	return &ApprovalRequest{User: userOf(ctx), Tool: e.def, Hints: e.hints, Trusted: e.trusted()}
}

// A decider is an Approver that decides without the arguments, and at once.
type decider interface {
	Decide(req *ApprovalRequest) approval.Decision
}

// deniedTo returns a function that returns an error for a tool, listed or not, that
// the policy of the registry denies to the user of ctx.
func (r *Registry) deniedTo(ctx context.Context) func(*entry) *approval.DeniedError {
	policy, ok := r.approvals.approver.(decider)
	if !ok {
		return func(*entry) *approval.DeniedError { return nil }
	}
	return func(e *entry) *approval.DeniedError {
		if d := policy.Decide(r.foreseen(ctx, e)); d.Verdict == approval.Deny {
			return &approval.DeniedError{Tool: e.def.Name, Reason: d.Reason}
		}
		return nil
	}
}
