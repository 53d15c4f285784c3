package pages

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
)

// madeWithin is how long the page of a call waits for what comes of it.
const madeWithin = 5 * time.Second

// park adds the errand of a call that waits for approval in the registry. Its Subject and its times are set.
func (d *Desk) park(e *Errand) *Errand {
	e.Subject = "approval " + e.Call.ID
	e.Expires, e.Kept = e.Call.Expires, e.Call.Expires.Add(e.Call.Expires.Sub(e.Call.Asked))
	e.decide = func(ctx context.Context, v approval.Verdict, note string) error {
		return d.resume(ctx, e.Call, v, note)
	}
	return d.Add(e)
}

// resume makes, or drops, a call that waits in the registry.
func (d *Desk) resume(ctx context.Context, req *registry.ApprovalRequest, v approval.Verdict, note string) error {
	if req.User != "" {
		ctx = session.WithUser(ctx, req.User)
	}
	if v == approval.Deny {
		return d.opts.Registry.Deny(ctx, req.ID, note)
	}
	made := make(chan error, 1)
	if !d.opts.Spawn(func(over context.Context) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(over, stop)()
		_, err := d.opts.Registry.Approve(ctx, req.ID, &registry.ApproveOptions{ForConversation: v == approval.AllowForConversation})
		made <- err
	}) {
		return context.Canceled
	}
	select {
	case err := <-made:
		return err
	case <-time.After(madeWithin): // it goes on
		return nil
	}
}

// Outcome returns what came of a call that was parked, and forgets it: a caller that wants it once more makes a new call. Ok
// is false if it still waits and need not be waited for, or nothing is known of it.
func (d *Desk) Outcome(ctx context.Context, e *Errand, wait bool) (res *mcp.CallToolResult, err error, ok bool) {
	id := e.Call.ID
	if !wait && slices.ContainsFunc(d.opts.Registry.Approvals(ctx), func(req *registry.ApprovalRequest) bool { return req.ID == id }) {
		return nil, nil, false
	}
	if res, err = d.opts.Registry.Await(ctx, id); ctx.Err() == nil {
		d.Remove(e)
	}
	return res, err, !errors.As(err, new(*approval.UnknownError))
}

// Ask has a person decide on the page of an errand until ctx ends. Answered is what the client says that
// shows the page.
func (d *Desk) Ask(ctx context.Context, e *Errand, show func(*Errand) (answered <-chan string)) approval.Decision {
	decided := make(chan approval.Decision, 1)
	e.decide = func(_ context.Context, v approval.Verdict, note string) error {
		decided <- Verdict(v, note)
		return nil
	}
	e = d.Add(e)
	defer d.Remove(e)
	none := approval.Decision{Verdict: approval.Ask}
	answered := show(e)
	for waits := true; waits; {
		select {
		case decision := <-decided:
			return decision
		case action := <-answered:
			answered, waits = nil, action == "accept"
			if action == "decline" {
				none = Verdict(approval.Deny, "")
			}
		case <-ctx.Done():
			waits = false
		}
	}
	if d.setUsed(e, true) {
		return none
	}
	return <-decided // the decision is made just now
}
