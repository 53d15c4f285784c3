package registry

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

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

// grant remembers that a tool is allowed, unless grants were taken back since the
// decision began: the one who took them back cannot have meant to spare this one.
func (a *approvals) grant(key grantKey, subject string, since uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.grants
	if g.forgotten != since {
		return
	}
	_, known := g.subjects.Peek(key)
	g.subjects.Put(key, subject)
	if known {
		return
	}
	const quarter = 4
	user := share.Owner{User: key.owner}
	g.held.Add(user, 0)
	ofUser := g.held.Exceeds(user, quarter)
	if !ofUser && !g.held.Full() {
		return
	}
	for other := range g.subjects.Oldest() {
		if !ofUser || other.owner == key.owner {
			g.remove(other)
			return
		}
	}
}

// granted reports whether this very tool is allowed, and how often grants were taken back
// so far. A grant for a tool that is not what it was is over.
func (a *approvals) granted(key grantKey, subject string) (ok bool, forgotten uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.grants.subjects.Get(key)
	if ok && known != subject {
		a.grants.remove(key)
	}
	return ok && known == subject, a.grants.forgotten
}
