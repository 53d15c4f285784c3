package eino

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
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

// concerns reports whether the user of ctx is the one who was asked. Nobody is, too: he
// who has no name answers for others, see [registry.Registry.Resume].
func (w *waiting) concerns(ctx context.Context) bool {
	user := userOf(ctx)
	return user == "" || user == w.User
}

func userOf(ctx context.Context) string {
	user, _ := onbehalf.User(ctx)
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

// answer makes a call, or goes on with one. The error is that of ctx.
func (b *Belt) answer(ctx context.Context, t *profile.Turn, c profile.Call) (profile.Answer, error) {
	w := resumed(ctx, c)
	if w == nil || w.Approval == "" || !w.concerns(ctx) { // a new one, one after a login, or another user's
		return t.Call(ctx, c), nil
	}
	if d := decision(ctx); d != nil {
		return b.decided(ctx, t, c, w, d)
	}
	if asks := b.asked(ctx, w.Approval); asks != nil { // nobody has answered
		return t.Answer(ctx, c, nil, &registry.ApprovalRequiredError{Request: asks}), nil
	}
	return b.awaited(ctx, t, c, w)
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

// awaited returns what came of a call that somebody has answered.
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

// lost is what a model is told of a call whose approval nobody remembers.
const lost = "The call waited for the approval of the user, and what became of it is not known any more: the program was started again, or it was too long ago. It may have run or not; check before you call it again."

// forgotten reports whether the registry knows nothing of a call, not even that it is
// over.
func forgotten(err error) bool {
	var unknown *registry.UnknownApprovalError
	return errors.As(err, &unknown) && unknown.Reason == ""
}

// decided carries out a decision.
func (b *Belt) decided(ctx context.Context, t *profile.Turn, c profile.Call, w *waiting, d *Decision) (profile.Answer, error) {
	if !d.Approve {
		err := b.registry.Refuse(ctx, w.Approval, d.Reason)
		if forgotten(err) {
			reason := "the user refused it"
			if d.Reason != "" {
				reason += ": " + d.Reason
			}
			return t.Answer(ctx, c, nil, &registry.DeniedError{Tool: c.Name, Reason: reason}), nil
		}
		return b.awaited(ctx, t, c, w)
	}
	res, err := b.registry.Resume(ctx, w.Approval, &registry.ResumeOptions{ForSession: d.ForSession})
	var over *registry.UnknownApprovalError
	switch {
	case !errors.As(err, &over):
		return t.Answer(ctx, c, res, err), nil
	case !forgotten(err) || w.Belt == b.id: // somebody was faster
		return b.awaited(ctx, t, c, w)
	case userOf(ctx) != w.User: // nobody knows any more for whom he would answer
		return t.Call(ctx, c), nil
	}
	return b.again(ctx, t, c, w, d)
}

// A redo is a call that was approved after the program had been restarted.
type redo struct {
	asked   chan struct{} // closed when id is set
	id      string        // of its new approval; empty if it did not need one
	expires time.Time     // of the old approval
}

// again makes a call that was approved after the program was restarted: the registry asks
// for it once more, and gets the same answer. If it is too late for that, or the tool is
// another one by now, somebody has to be asked. Who comes second with the same approval
// gets what came of the first.
func (b *Belt) again(ctx context.Context, t *profile.Turn, c profile.Call, w *waiting, d *Decision) (profile.Answer, error) {
	r, first := b.redo(w)
	if !first {
		select {
		case <-r.asked:
		case <-ctx.Done():
			return profile.Answer{}, ended(ctx, ctx.Err())
		}
		if asks := b.asked(ctx, r.id); asks != nil {
			return t.Answer(ctx, c, nil, &registry.ApprovalRequiredError{Request: asks}), nil
		}
		return b.awaited(ctx, t, c, &waiting{Approval: r.id})
	}
	a := func() profile.Answer {
		defer close(r.asked)
		a := t.Call(ctx, c)
		if asks := a.Approval(); asks != nil {
			r.id = asks.ID
		}
		return a
	}()
	asks := a.Approval()
	if asks == nil || toolKey(asks.Tool) != w.Tool || !time.Now().Before(w.Expires) {
		return a, nil
	}
	res, err := b.registry.Resume(ctx, r.id, &registry.ResumeOptions{ForSession: d.ForSession})
	return t.Answer(ctx, c, res, err), nil
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
	r = &redo{asked: make(chan struct{}), expires: w.Expires}
	b.redone[w.Approval] = r
	return r, true
}
