package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// WithConversation returns a context for calls that belong to one conversation
// with a model. It bounds what [approval.AllowForConversation] allows, and who can read results
// that are kept. The id is any text; a program with one conversation needs none.
func WithConversation(ctx context.Context, id string) context.Context {
	return onbehalf.WithConversation(ctx, id)
}

// OwnerOf returns by whom what a call leaves behind is kept apart from that of others, and counted: the user or,
// without one, the credential of a caller of a gateway; "" if neither is known. It is for tools and middleware that
// keep something.
func OwnerOf(ctx context.Context) string { return onbehalf.Owner(ctx) }

// userOf returns the user of ctx, or "" if ctx names none.
func userOf(ctx context.Context) string {
	user, _ := onbehalf.User(ctx)
	return user
}

// approvals holds the calls that wait, and what was allowed for conversations. It runs
// nothing by itself: it drops what is past its time at the next access.
type approvals struct {
	approver Approver // nil: everything is allowed
	opts     approval.Options

	mu      sync.Mutex
	byID    map[string]*pending
	byCall  map[callKey]*pending // those that wait or run
	waiting []*pending           // those that wait or run, in the order of asking
	held    share.Book           // what these take
	ended   []*pending           // those whose outcome is kept, in the order of ending
	kept    share.Book           // what these take
	changed chan struct{}        // closed, and replaced, when waiting changes
	grants  *grants
}

func newApprovals(approver Approver, opts approval.Options) *approvals {
	if opts.TTL <= 0 {
		opts.TTL = 30 * time.Minute
	}
	if opts.MaxPending <= 0 {
		opts.MaxPending = 200
	}
	most := share.Amount{Count: opts.MaxPending, Bytes: maxKept}
	return &approvals{
		approver: approver,
		opts:     opts,
		byID:     map[string]*pending{},
		byCall:   map[callKey]*pending{},
		held:     share.Book{Max: most},
		kept:     share.Book{Max: most},
		changed:  make(chan struct{}),
		grants:   &grants{held: share.Book{Max: share.Amount{Count: maxGrants}}},
	}
}

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

// consult asks the approver. The error is a [*approval.DeniedError] or a [*approval.PolicyError].
func (a *approvals) consult(ctx context.Context, req *ApprovalRequest) (approval.Decision, error) {
	name := req.Tool.Name
	d, err := a.approver.Approve(ctx, req)
	if err != nil {
		return d, &approval.PolicyError{Tool: name, Err: err}
	}
	switch d.Verdict {
	case approval.Ask, approval.Allow, approval.AllowForConversation:
		return d, nil
	}
	return d, &approval.DeniedError{Tool: name, Reason: d.Reason}
}

// requestOf returns what an approver gets to see of a call. The arguments are
// copied: writing to them does not change the call.
func requestOf(ctx context.Context, e *entry, args json.RawMessage) *ApprovalRequest {
	return &ApprovalRequest{
		User:         userOf(ctx),
		Conversation: onbehalf.ConversationOf(ctx),
		CallID:       CallIDOf(ctx),
		Tool:         e.def,
		Hints:        e.hints,
		Trusted:      e.trusted(),
		Subject:      subjectOf(e),
		Args:         bytes.Clone(args),
	}
}

// copy returns a copy whose arguments can be written to.
func (r *ApprovalRequest) copy() *ApprovalRequest {
	c := *r
	c.Args = bytes.Clone(r.Args)
	return &c
}
