package registry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// hold keeps a call until it is approved or denied.
func (a *approvals) hold(ctx context.Context, e *entry, args json.RawMessage, reason string) error {
	req := requestOf(ctx, e, args)
	key := callKeyOf(ctx, e, args)

	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.expire(now)
	if p := a.byCall[key]; p != nil {
		if p.req.Subject == req.Subject || p.phase == runs {
			return &ApprovalRequiredError{p.req.copy()}
		}
		a.end(p, stale, newOutcome(nil, &approval.StaleError{Tool: p.req.Tool.Name}))
	}
	if req.ID = rand.Text(); a.opts.Replica != "" {
		req.ID = a.opts.Replica + "-" + req.ID
	}
	req.Reason = reason
	req.Asked = now
	req.Expires = now.Add(a.opts.TTL)
	_, isApp := onbehalf.AppOf(ctx)
	p := &pending{
		req: *req, key: key, server: e.def.Origin.Server,
		parent: onbehalf.CallOf(ctx).Parent, whole: result.IsWhole(ctx), shows: onbehalf.ShowsApps(ctx), app: isApp, ended: make(chan struct{}),
	}
	p.memory = callOverhead + p.texts() + len(args) + len(reason) + e.def.memory()
	if err := a.admit(p); err != nil {
		return err
	}
	a.waiting = append(a.waiting, p)
	a.byID[req.ID] = p
	a.byCall[key] = p
	a.announce()
	return &ApprovalRequiredError{p.req.copy()}
}

// admit accounts for a call that is to wait, unless there is no room for it. It needs
// the lock.
func (a *approvals) admit(p *pending) error {
	const quarter = 4
	user := share.Owner{User: p.key.owner}
	a.held.Add(user, p.memory)
	whose, most := "the calls of all users", a.held.Max
	switch {
	case a.held.Exceeds(user, quarter):
		whose, most = "the calls of this user", a.held.Share(quarter)
	case !a.held.Full():
		return nil
	}
	a.held.Remove(user, p.memory)
	reason := fmt.Sprintf("%s that wait for approval leave no room for this one (at most %d calls and %d MiB); approve or refuse some of them first, or give it smaller arguments", whose, most.Count, most.Bytes>>20)
	return &approval.DeniedError{Tool: p.req.Tool.Name, Reason: reason}
}

// seen returns the call of that id, if the owner of ctx may know of it: the call is the
// owner's, or ctx has none. It needs the lock.
func (a *approvals) seen(ctx context.Context, id string) (*pending, error) {
	a.expire(time.Now())
	p := a.byID[id]
	if owner := onbehalf.Owner(ctx); p == nil || owner != "" && owner != p.key.owner {
		return nil, &approval.UnknownError{ID: id}
	}
	return p, nil
}

// claim takes a call that waits, for the first caller, which ends it or gives it back.
func (a *approvals) claim(ctx context.Context, id string) (p *pending, since uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err = a.seen(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if p.phase != waits {
		return nil, 0, &approval.UnknownError{ID: id, Reason: string(p.phase)}
	}
	p.phase = runs
	a.announce()
	return p, a.grants.forgotten, nil
}

// giveBack lets a call that was claimed, and did not run, wait again.
func (a *approvals) giveBack(p *pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.phase = waits
	if p.dropped {
		a.end(p, over, p.denied(string(over)))
		return
	}
	a.expire(time.Now())
	a.announce()
}

// finish ends a call that was claimed.
func (a *approvals) finish(p *pending, how phase, res *mcp.CallToolResult, err error) {
	o := newOutcome(res, err)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(p, how, o)
}

// refuse ends a call that waits and was denied. Note is told which.
func (a *approvals) refuse(ctx context.Context, id, reason string, note func(*pending)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.seen(ctx, id)
	if err != nil {
		return err
	}
	if p.phase != waits {
		return &approval.UnknownError{ID: id, Reason: string(p.phase)}
	}
	note(p)
	text := "the user refused it"
	if reason != "" {
		text += ": " + reason
	}
	a.end(p, refused, p.denied(text))
	return nil
}

// expire drops what is past its time. It needs the lock.
func (a *approvals) expire(now time.Time) {
	for _, p := range slices.Clone(a.waiting) {
		if now.Before(p.req.Expires) {
			break
		}
		if p.phase == waits { // one that runs is not dropped
			a.end(p, expired, p.denied("it was not approved in time"))
		}
	}
	for len(a.ended) > 0 && !now.Before(a.ended[0].kept) {
		a.drop(a.ended[0])
	}
}

// end gives a call its outcome and keeps that for a while. It needs the lock.
func (a *approvals) end(p *pending, how phase, o outcome) {
	a.waiting = without(a.waiting, p)
	delete(a.byCall, p.key)
	a.held.Remove(share.Owner{User: p.key.owner}, p.memory)
	// It is over; the outcome is all that is wanted.
	p.req.Args, p.req.Tool, p.req.Reason = nil, nil, ""
	p.phase, p.outcome = how, o
	p.kept = time.Now().Add(a.opts.TTL)
	p.memory = callOverhead + p.texts() + o.memory
	a.ended = append(a.ended, p)
	a.kept.Add(p.owner(), p.memory)
	close(p.ended)
	a.announce()
	for a.kept.Full() {
		a.drop(share.First(&a.kept, a.outcomes))
	}
}

// outcomes yields the calls whose outcomes are kept, the oldest first. It needs the
// lock.
func (a *approvals) outcomes(yield func(*pending, share.Owner) bool) {
	for _, p := range a.ended {
		if !yield(p, p.owner()) {
			return
		}
	}
}

// drop forgets an outcome. A caller that waits for it already still gets it. It needs the
// lock.
func (a *approvals) drop(p *pending) {
	a.ended = without(a.ended, p)
	a.kept.Remove(p.owner(), p.memory)
	delete(a.byID, p.req.ID)
}

func without(list []*pending, p *pending) []*pending {
	return slices.DeleteFunc(list, func(other *pending) bool { return other == p })
}

// announce wakes those who watch. It needs the lock.
func (a *approvals) announce() {
	close(a.changed)
	a.changed = make(chan struct{})
}
