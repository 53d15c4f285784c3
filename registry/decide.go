package registry

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// decide returns nil if the call may be made now. Otherwise the error is an
// [*ApprovalRequiredError], a [*approval.DeniedError] or a [*approval.PolicyError].
//
// The approver is asked each time, also for what was allowed for the conversation: a
// grant answers its question, and does not outrun a policy that says no by now. A hidden
// tool needs no approval: one that finds tools shows no more than a list of them would.
func (a *approvals) decide(ctx context.Context, e *entry, args json.RawMessage) error {
	if a.approver == nil || e.hidden {
		return nil
	}
	key, subject := grantOf(ctx, e), subjectOf(e)
	req := requestOf(ctx, e, args)
	var since uint64
	req.Approved, since = a.granted(key, subject)
	d, err := a.consult(ctx, req)
	if err != nil {
		return err
	}
	switch d.Verdict {
	case approval.AllowForConversation:
		a.grant(key, subject, since)
	case approval.Ask:
		if still, _ := a.granted(key, subject); still {
			return nil
		}
		if err := ctx.Err(); err != nil { // the caller has gone
			return &approval.PolicyError{Tool: e.def.Name, Err: err}
		}
		if ask, ok := ctx.Value(askKey{}).(ApproverFunc); ok && ask != nil {
			return a.ask(ctx, ask, e, args, d.Reason, since)
		}
		return a.hold(ctx, e, args, d.Reason)
	}
	return nil
}

// ask has the function of [WithAsk] decide, and returns what decide does.
func (a *approvals) ask(ctx context.Context, ask ApproverFunc, e *entry, args json.RawMessage, reason string, since uint64) error {
	req := requestOf(ctx, e, args)
	req.Reason = reason
	key := callKeyOf(ctx, e, args)
	before, wait := a.equal(key, req.Subject)
	if before != nil && wait == nil {
		return &ApprovalRequiredError{before} // it is being made
	}
	d, err := ask(ctx, req.copy())
	if err != nil {
		return &approval.PolicyError{Tool: e.def.Name, Err: err}
	}
	switch d.Verdict {
	case approval.Ask:
		return a.hold(ctx, e, args, reason)
	case approval.AllowForConversation: // the approver learns of it, and may forbid it by now
		req.Approved, req.ForConversation = true, true
		if _, err := a.consult(ctx, req); err != nil {
			return err
		}
	}
	if err := a.settle(key, before, wait, d); err != nil {
		return err
	}
	switch d.Verdict {
	case approval.AllowForConversation:
		a.grant(key.grantKey, req.Subject, since)
	case approval.Allow:
	default:
		return &approval.DeniedError{Tool: e.def.Name, Reason: d.Reason}
	}
	return nil
}

// equal returns the request of the call of that key that waits or runs, and the call itself if
// it waits.
func (a *approvals) equal(key callKey, subject string) (request *ApprovalRequest, waiting *pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire(time.Now())
	p := a.byCall[key]
	if p == nil || p.req.Subject != subject {
		return nil, nil
	}
	if request = p.req.copy(); p.phase == waits {
		waiting = p
	}
	return request, waiting
}

// settle ends the call of that key that waits, since its question was answered. It fails if the one
// that waited before the question was decided elsewhere, or one is being made.
func (a *approvals) settle(key callKey, before *ApprovalRequest, waited *pending, d approval.Decision) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.byCall[key]
	switch {
	case waited != nil && waited.phase != waits:
		return &ApprovalRequiredError{before}
	case p == nil:
	case p.phase == runs:
		return &ApprovalRequiredError{p.req.copy()}
	case d.Verdict == approval.Deny:
		a.end(p, refused, p.denied(d.Reason))
	default:
		a.end(p, repeated, p.denied(string(repeated)))
	}
	return nil
}
