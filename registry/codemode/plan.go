package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/child"
)

// A Plan is what a script would do: the calls that its dry run has listed.
type Plan struct {
	Code  string        // of the script
	Input []byte        // what the script gets, as JSON; nil: nothing
	Calls []PlannedCall // in the order of the script
}

// A PlannedCall is one call of a [Plan].
type PlannedCall struct {
	Tool      *registry.Definition // the tool; its annotations are claims
	Arguments json.RawMessage      // as the script gives them, without defaults
}

// plan makes a dry run and has the person asked about it. Without a plan the report, or
// the error, says why.
func (c *Runner) plan(ctx context.Context, s *Script) (*plan, *Report, error) {
	if c.opts.ApprovePlan == nil {
		return nil, nil, errors.New("codemode: no one can be asked about a plan: Options.ApprovePlan is nil")
	}
	dry := *s
	dry.DryRun = true
	r, err := c.begin(ctx, &dry, nil)
	if err != nil {
		return nil, nil, err
	}
	if report := r.attend(ctx); report.ID != "" || ctx.Err() != nil { // a read waits for approval, too
		return nil, report, nil
	}
	shown := &Plan{Code: s.Code, Input: s.Input, Calls: r.listed}
	p := &plan{left: map[string]int{}}
	for _, call := range shown.Calls {
		p.left[keyOf(call.Tool, call.Arguments)]++
	}
	if len(shown.Calls) == 0 {
		return p, nil, nil
	}
	decision, err := c.opts.ApprovePlan(ctx, shown)
	if err != nil {
		return nil, nil, &approval.PolicyError{Tool: ToolName, Err: err}
	}
	if decision.Verdict != approval.Allow && decision.Verdict != approval.AllowForConversation {
		return nil, nil, &approval.DeniedError{Tool: ToolName, Reason: decision.Reason}
	}
	return p, nil, nil
}

// plans notes a call that a dry run does not make. The script gets null.
func (r *run) plans(call *CallReport, def *registry.Definition, args json.RawMessage) (json.RawMessage, *exception) {
	if def == nil {
		return r.end(call, callNotSent, nil, unknownTool(call.Tool, 0))
	}
	r.mu.Lock()
	r.planned += len(args)
	tooMuch := r.planned > child.MaxArguments
	if !tooMuch {
		r.listed = append(r.listed, PlannedCall{def, args})
	}
	r.mu.Unlock()
	if tooMuch {
		r.cancel(&LimitError{"the arguments of its calls", bytesOf(child.MaxArguments)})
		return nil, notSent("limit", "the plan is too large")
	}
	_, _ = r.end(call, callPlanned, nil, nil)
	return json.RawMessage("null"), nil
}

// keyOf tells calls apart: by all that is said of the tool, and the arguments.
func keyOf(def *registry.Definition, args json.RawMessage) string {
	return fmt.Sprintf("%q %q %s %s", def.Name, def.Origin, def.Surface().Hash, args)
}

// A plan is one that was approved. A nil plan allows nothing.
type plan struct {
	mu   sync.Mutex
	left map[string]int
}

// A pass lets one call through an [Approver].
type pass struct {
	tool string // its key without arguments
	used atomic.Bool
}

type passKey struct{}

// pass returns a context under which a call of the plan is allowed, once.
func (p *plan) pass(ctx context.Context, def *registry.Definition, args json.RawMessage) context.Context {
	if p == nil || def == nil {
		return ctx
	}
	key := keyOf(def, args)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left[key] == 0 {
		return ctx
	}
	p.left[key]--
	return context.WithValue(ctx, passKey{}, &pass{tool: keyOf(def, nil)})
}

type scriptKey struct{}

// InScript reports whether ctx is that of a call which a script makes, for approvers that
// ask about those more often.
func InScript(ctx context.Context) bool { return ctx.Value(scriptKey{}) != nil }

// Approver returns an approver for the options of a registry that decides as inner does,
// but allows two things that inner would ask about: the tool of [Runner.Tool] itself, since
// each call of a script is decided by itself, and a call of a plan that was approved, see
// [Script].AskOnce. What inner denies stays denied. Of nil it returns nil, which allows all.
func Approver(inner registry.Approver) registry.Approver {
	if inner == nil {
		return nil
	}
	a := planApprover{inner}
	if d, ok := inner.(decider); ok {
		return &struct {
			planApprover
			decider
		}{a, d}
	}
	return a
}

// A decider is an approver that knows before a call what it will not allow, such as a
// policy.Policy.
type decider interface {
	Decide(req *registry.ApprovalRequest) approval.Decision
}

type planApprover struct{ inner registry.Approver }

// Approve implements registry.Approver.
func (a planApprover) Approve(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
	if req.Tool.Name != ToolName || req.Tool.Origin.Server != "" {
		one, _ := ctx.Value(passKey{}).(*pass)
		if one == nil || one.tool != keyOf(req.Tool, nil) || !one.used.CompareAndSwap(false, true) {
			return a.inner.Approve(ctx, req) // also what the call calls in its turn
		}
		asked := *req
		asked.Approved = true // inner need not ask: it says whether anything forbids the call
		req = &asked
	}
	d, err := a.inner.Approve(ctx, req)
	if err == nil && d.Verdict == approval.Ask {
		d = approval.Decision{Verdict: approval.Allow}
	}
	return d, err
}
