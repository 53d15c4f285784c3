package registry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// ApproveOptions are the options of [Registry.Approve]. Nil means none.
type ApproveOptions struct {
	// ForConversation allows later calls to the same tool too, as [approval.AllowForConversation]
	// does: of the user who asked, in that conversation, until the tool changes,
	// [Registry.EndConversation] or [Registry.RevokeGrants].
	ForConversation bool
}

// Approve approves a call that waits under an id, see [ApprovalRequiredError], and
// makes it: with the arguments that were shown, as the user, in the conversation and
// under the id of the call (see [WithCallID]) that asked for it, and within ctx. What
// comes of it is returned here and to [Registry.Await]. A handler of web requests had better give it a
// context that does not end when the browser goes away, such as one of
// [context.WithoutCancel] with a timeout.
//
// A call is made once. Of several Approves one makes it; the others, and those for
// an id that is not known, was refused or has expired, fail with an
// [*approval.UnknownError]. The same id counts as not known if ctx names a user, as
// by session.WithUser, and the call is another user's; so put in the user who is logged
// in, or none where one person answers for others.
//
// Later decisions count. A tool that changed fails with a
// [*approval.StaleError], one that is quarantined with a [*QuarantinedError]. The
// [Approver] is asked again, and its [approval.Deny] wins over the approval.
//
// If the call was not sent, for instance because the server is away, it goes on
// waiting until it expires, and Approve may be tried again. In any other case it is
// over, also if ctx ended before there was an answer.
func (r *Registry) Approve(ctx context.Context, id string, opts *ApproveOptions) (*mcp.CallToolResult, error) {
	if err := r.made(); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	o := *cmp.Or(opts, new(ApproveOptions))
	return r.observed(ctx, &Observation{Kind: Approved, Approval: id}, func(ctx context.Context, seen *Observation) (*mcp.CallToolResult, error) {
		return r.resume(ctx, id, o, seen)
	})
}

// resume is [Registry.Approve], and notes in seen which call it is.
func (r *Registry) resume(ctx context.Context, id string, o ApproveOptions, seen *Observation) (res *mcp.CallToolResult, err error) {
	a := r.approvals
	p, since, err := a.claim(ctx, id)
	if err != nil {
		return nil, err
	}
	seen.setPending(p)
	if p.req.User != "" {
		ctx = onbehalf.With(ctx, p.req.User)
	}
	if p.key.owner != "" { // so that it finds what is kept of the call
		ctx = onbehalf.WithOwner(ctx, p.key.owner)
	}
	ctx = WithConversation(ctx, p.req.Conversation)
	if p.whole {
		ctx = result.WithWhole(ctx)
	}
	if p.app {
		ctx = AsApp(ctx, p.server)
	} else if p.shows {
		ctx = onbehalf.WithApps(ctx)
	}
	if p.req.CallID != "" {
		ctx = onbehalf.WithCall(ctx, onbehalf.Call{ID: p.req.CallID, Parent: p.parent})
	}

	// Foreign code runs from here on and may panic: the call is given back if it
	// was not made yet, and over if it was.
	back, how := true, done
	defer func() {
		if back {
			a.giveBack(p)
		} else {
			a.finish(p, how, res, err)
			res = shared(res)
		}
	}()

	e, verdict, err := r.confirm(ctx, p, o)
	if err != nil {
		back, how = !settles(err), stale
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(fmt.Errorf("tool %s: %w", plain.Quote(e.def.Name), err), mcp.NotSent)
	}
	if o.ForConversation || verdict == approval.AllowForConversation {
		a.grant(grantOf(ctx, e), p.req.Subject, since)
	}
	back = false
	err = fmt.Errorf("tool %s: the call was broken off by a panic", plain.Quote(e.def.Name)) // unless there is no panic
	seen.Passed = true
	res, err = r.carryOut(ctx, e, bytes.Clone(p.req.Args), false)
	back = mcp.SafeToRetry(err) && !settles(err)
	return res, err
}

// confirm returns the tool of a call that was approved, if it may still be called,
// and what the approver says of it now.
func (r *Registry) confirm(ctx context.Context, p *pending, o ApproveOptions) (*entry, approval.Verdict, error) {
	name := p.req.Tool.Name
	e, err := r.find(ctx, name)
	switch {
	case err != nil:
		return nil, approval.Deny, err
	case e.def.Name != name: // the nearest to it, which is not what was asked about
		return nil, approval.Deny, &UnknownToolError{Name: name, Suggestions: []string{e.def.Name}}
	case subjectOf(e) != p.req.Subject:
		return nil, approval.Deny, &approval.StaleError{Tool: name}
	}
	if err := e.busy(ctx, p.req.Args); err != nil {
		return nil, approval.Deny, err
	}
	req := requestOf(ctx, e, p.req.Args)
	req.Approved, req.ForConversation = true, o.ForConversation
	req.ID, req.Reason, req.Asked, req.Expires = p.req.ID, p.req.Reason, p.req.Asked, p.req.Expires
	d, err := r.approvals.consult(ctx, req)
	return e, d.Verdict, err
}

// settles reports whether approving the same call again would not help: who
// wanted it has to learn of the error instead.
func settles(err error) bool {
	return as[*approval.StaleError](err) != nil || as[*approval.DeniedError](err) != nil || as[*ArgumentsError](err) != nil ||
		as[*ApprovalRequiredError](err) != nil // by a tool that calls another one
}

// Deny drops a call that waits under an id. A caller in [Registry.Await] gets a
// [*approval.DeniedError] with the reason, which is for the model and may be empty. For
// an id under which no call waits, or another user's than that of ctx, Deny fails with an
// [*approval.UnknownError], as [Registry.Approve] does.
func (r *Registry) Deny(ctx context.Context, id, reason string) error {
	if err := r.made(); err != nil {
		return err
	}
	_, err := r.observed(ctx, &Observation{Kind: Denied, Approval: id}, func(ctx context.Context, seen *Observation) (*mcp.CallToolResult, error) {
		return nil, r.approvals.refuse(ctx, id, reason, seen.setPending)
	})
	return err
}

// Await waits until the call with an id is over and returns what came of it: what
// [Registry.Approve] got, or a [*approval.DeniedError] if the call was refused, no answer
// came in time, or the conversation has ended. It is how an agent goes on after an
// [*ApprovalRequiredError] while the answer comes from elsewhere.
//
// Await may be called before and after the end, and more than once: outcomes are
// kept for approval.Options.TTL, though not more than MaxPending of them and not
// more than 64 MiB of memory: of what is more the oldest go, first those of users and
// of servers that have more than a quarter. After that, and for another user's id than
// that of ctx, Await fails with an [*approval.UnknownError]. The results share their
// blocks of content: do not change these.
//
// If ctx ends, Await returns its error, and the call goes on waiting.
func (r *Registry) Await(ctx context.Context, id string) (*mcp.CallToolResult, error) {
	if err := r.made(); err != nil {
		return nil, err
	}
	a := r.approvals
	a.mu.Lock()
	p, err := a.seen(ctx, id)
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	expires := time.After(time.Until(p.req.Expires))
	for {
		select {
		case <-p.ended:
			return shared(p.outcome.res), p.outcome.err
		case <-expires: // one that runs by now is waited for
			a.mu.Lock()
			a.expire(time.Now())
			a.mu.Unlock()
		case <-ctx.Done():
			return nil, fmt.Errorf("tool %s: waiting for approval: %w", plain.Quote(p.key.tool), ctx.Err())
		}
	}
}

// EndConversation forgets what the user of ctx, as by session.WithUser, was asked
// and has allowed in the conversation of ctx (see [WithConversation]). The calls
// that wait are denied; one that runs goes on to its end. An agent that keeps its
// process calls it at the end of each conversation.
func (r *Registry) EndConversation(ctx context.Context) {
	r.mustBeMade()
	owner, conversation := onbehalf.Owner(ctx), onbehalf.ConversationOf(ctx)
	ofConversation := func(key grantKey) bool { return key.owner == owner && key.conversation == conversation }
	a := r.approvals
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grants.forget(ofConversation)
	for _, p := range a.byID {
		switch {
		case !ofConversation(p.key.grantKey):
		case p.phase == waits:
			a.end(p, over, p.denied(string(over)))
		case p.phase == runs:
			p.dropped = true
		}
	}
}

// RevokeGrants takes back what the user of ctx, as by session.WithUser, has allowed for
// their sessions, in all conversations; if ctx names no user, what all users have. Later
// calls are asked for again. Calls that wait go on waiting.
func (r *Registry) RevokeGrants(ctx context.Context) {
	r.mustBeMade()
	owner := onbehalf.Owner(ctx)
	a := r.approvals
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grants.forget(func(key grantKey) bool { return owner == "" || key.owner == owner })
}

// Approvals returns the calls that wait for approval, the oldest first: those of
// the user of ctx, as by session.WithUser, or all if ctx names no user. The values
// are copies.
func (r *Registry) Approvals(ctx context.Context) []*ApprovalRequest {
	r.mustBeMade()
	list, _ := r.approvals.list(onbehalf.Owner(ctx))
	return copies(list)
}

// WatchApprovals yields what [Registry.Approvals] returns, at once and after each
// change, also when a call expires. Changes that come faster than the loop takes
// them are yielded as one; the last is never missed. The sequence ends when ctx
// ends.
func (r *Registry) WatchApprovals(ctx context.Context) iter.Seq[[]*ApprovalRequest] {
	return func(yield func([]*ApprovalRequest) bool) {
		r.mustBeMade()
		owner := onbehalf.Owner(ctx)
		var before []*ApprovalRequest
		for first := true; ctx.Err() == nil; first = false {
			list, changed := r.approvals.list(owner)
			if (first || !slices.EqualFunc(before, list, func(a, b *ApprovalRequest) bool { return a.ID == b.ID })) && !yield(copies(list)) {
				return
			}
			before = list
			var expires <-chan time.Time // the oldest call does
			if len(list) > 0 {
				expires = time.After(time.Until(list[0].Expires))
			}
			select {
			case <-changed:
			case <-expires:
			case <-ctx.Done():
			}
		}
	}
}

// copies returns copies that can be written to. The arguments of all calls can be
// large, so they are not copied under a lock.
func copies(list []*ApprovalRequest) []*ApprovalRequest {
	var all []*ApprovalRequest
	for _, req := range list {
		all = append(all, req.copy())
	}
	return all
}

// list returns the calls of an owner that wait; empty means all. They share
// their arguments with the calls. The channel is closed when that changes.
func (a *approvals) list(owner string) ([]*ApprovalRequest, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire(time.Now())
	var list []*ApprovalRequest
	for _, p := range a.waiting {
		if p.phase == waits && (owner == "" || owner == p.key.owner) {
			list = append(list, new(p.req))
		}
	}
	return list, a.changed
}
