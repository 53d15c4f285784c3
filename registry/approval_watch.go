package registry

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
)

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
