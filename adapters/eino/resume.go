package eino

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/session"
)

// resumed returns what a call has waited for; nil if it has not waited.
func resumed(ctx context.Context, c profile.Call) *waiting {
	_, has, text := tool.GetInterruptState[string](ctx)
	var w waiting
	if !has || json.Unmarshal([]byte(text), &w) != nil || w.Call != callKey(c) {
		return nil
	}
	return &w
}

// concerns reports whether the user of ctx is the one who was asked. A context without a
// user answers for all, see [registry.Registry.Approve].
func (w *waiting) concerns(ctx context.Context) bool {
	user := userOf(ctx)
	return user == "" || user == w.User
}

func userOf(ctx context.Context) string {
	user, _ := session.UserOf(ctx)
	return user
}

// decision returns what the program has decided as it resumed the call.
func decision(ctx context.Context) *Decision {
	_, _, data := tool.GetResumeContext[any](ctx)
	switch d := data.(type) {
	case Decision:
		return &d
	case *Decision:
		return d
	}
	return nil
}

// answer makes a call, or goes on with one. The error is that of ctx, or an interrupt.
func (b *Belt) answer(ctx context.Context, t *profile.Turn, c profile.Call) (profile.Answer, error) {
	w := resumed(ctx, c)
	if w == nil || w.Approval == "" || !w.concerns(ctx) { // a new one, one after a login, or another user's
		return t.Call(ctx, c), nil
	}
	if d := decision(ctx); d != nil {
		return b.decided(ctx, t, c, w, d)
	}
	if asks := b.asked(ctx, w.Approval); asks != nil { // it still waits
		return t.Answer(ctx, c, nil, &registry.ApprovalRequiredError{Request: asks}), nil
	}
	a, err := b.awaited(ctx, t, c, w)
	if forgotten(a.Err) && w.Belt != b.id && w.Shown != "" && time.Now().Before(w.Expires) {
		return profile.Answer{}, w.interrupt(ctx) // there can be a decision still
	}
	return a, err
}

// asked returns what waits under an id; nil if nothing does.
func (b *Belt) asked(ctx context.Context, id string) *registry.ApprovalRequest {
	all := b.registry.Approvals(ctx)
	i := slices.IndexFunc(all, func(r *registry.ApprovalRequest) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return all[i]
}

// awaited returns what came of a call whose approval was answered.
func (b *Belt) awaited(ctx context.Context, t *profile.Turn, c profile.Call, w *waiting) (profile.Answer, error) {
	res, err := b.registry.Await(ctx, w.Approval)
	if err != nil && ctx.Err() != nil {
		return profile.Answer{}, ended(ctx, err)
	}
	a := t.Answer(ctx, c, res, err)
	if forgotten(err) {
		a.Result = &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: lost}}}
	}
	return a, nil
}

// lost is what a model is told of a call whose approval is forgotten.
const lost = "The call waited for the approval of the user, and what became of it is not known any more: the program was started again, or it was too long ago. It may have run or not; check before you call it again."

// forgotten reports whether the registry knows nothing of a call, not even that it is
// over.
func forgotten(err error) bool {
	var unknown *approval.UnknownError
	return errors.As(err, &unknown) && unknown.Reason == ""
}

// decided carries out a decision.
func (b *Belt) decided(ctx context.Context, t *profile.Turn, c profile.Call, w *waiting, d *Decision) (profile.Answer, error) {
	if !d.Approve {
		if err := b.registry.Deny(ctx, w.Approval, d.Reason); forgotten(err) && w.Belt != b.id {
			reason := "the user refused it"
			if d.Reason != "" {
				reason += ": " + d.Reason
			}
			return t.Answer(ctx, c, nil, &approval.DeniedError{Tool: c.Name, Reason: reason}), nil
		}
		return b.awaited(ctx, t, c, w)
	}
	a, err := b.approve(ctx, t, c, w.Approval, d)
	if !forgotten(a.Err) || w.Belt == b.id {
		return a, err
	}
	if userOf(ctx) != w.User { // the user who was asked is forgotten
		return t.Call(ctx, c), nil
	}
	return b.again(ctx, t, c, w, d)
}

// approve has a call made that waits under an id. If a person was faster, the answer
// is what came of that.
func (b *Belt) approve(ctx context.Context, t *profile.Turn, c profile.Call, id string, d *Decision) (profile.Answer, error) {
	res, err := b.registry.Approve(ctx, id, &registry.ApproveOptions{ForConversation: d.ForConversation})
	if errors.As(err, new(*approval.UnknownError)) {
		return b.awaited(ctx, t, c, &waiting{Approval: id})
	}
	// A call that was not sent goes on waiting, and the model is told that it failed: it
	// must not be approved after that.
	if err != nil && ctx.Err() == nil && b.asked(ctx, id) != nil && b.registry.Deny(ctx, id, notSent) != nil {
		return b.awaited(ctx, t, c, &waiting{Approval: id}) // it was approved by now
	}
	return t.Answer(ctx, c, res, err), nil
}

// notSent is what others who await a call are told, see approve.
const notSent = "it was approved, but could not be made, and is given up"

// A redo is a call that was approved after the program had been restarted.
type redo struct {
	over    chan struct{} // closed when the rest is set
	id      string        // of its new approval; empty if it did not need one
	unmade  bool          // nothing was done, not even asked
	expires time.Time     // of the old approval
}

// again makes a call that was approved after the program was restarted: the registry asks
// for it once more, and gets the same answer. If it is too late for that, or the tool is
// another one by now, a person has to be asked. The second call with the same approval
// gets what came of the first.
func (b *Belt) again(ctx context.Context, t *profile.Turn, c profile.Call, w *waiting, d *Decision) (profile.Answer, error) {
	for {
		r, first := b.redo(w)
		if first {
			return b.first(ctx, t, c, w, d, r)
		}
		select {
		case <-r.over:
		case <-ctx.Done():
			return profile.Answer{}, ended(ctx, ctx.Err())
		}
		if r.unmade {
			continue
		}
		if asks := b.asked(ctx, r.id); asks != nil {
			return t.Answer(ctx, c, nil, &registry.ApprovalRequiredError{Request: asks}), nil
		}
		return b.awaited(ctx, t, c, &waiting{Approval: r.id})
	}
}

// first is again for the first call.
func (b *Belt) first(ctx context.Context, t *profile.Turn, c profile.Call, w *waiting, d *Decision, r *redo) (profile.Answer, error) {
	defer close(r.over)
	a := t.Call(ctx, c)
	asks := a.Approval()
	if asks == nil {
		if mcp.OutcomeOf(a.Err) == mcp.NotSent {
			b.drop(w, r)
		}
		return a, nil
	}
	r.id = asks.ID
	if toolKey(asks.Tool) != w.Tool || !time.Now().Before(w.Expires) {
		return a, nil
	}
	return b.approve(ctx, t, c, r.id, d)
}

// redo returns the redo of a call, and whether the caller is the first.
func (b *Belt) redo(w *waiting) (r *redo, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, ok := b.redone[w.Approval]; ok {
		return r, false
	}
	now := time.Now()
	maps.DeleteFunc(b.redone, func(_ string, r *redo) bool { return r.expires.Before(now) })
	r = &redo{over: make(chan struct{}), expires: w.Expires}
	b.redone[w.Approval] = r
	return r, true
}

// drop forgets a redo for which nothing was done.
func (b *Belt) drop(w *waiting, r *redo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.unmade = true
	delete(b.redone, w.Approval)
}
