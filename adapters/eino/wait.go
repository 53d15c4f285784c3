package eino

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A Wait is a call that waits for a person: what [compose.InterruptCtx].Info says of it,
// as JSON in a string, so that every checkpoint store takes it.
type Wait struct {
	// InterruptID is eino's id of the interrupt, for a targeted resume. [Waits] sets it.
	InterruptID string `json:"-"`
	// Tool is the name of the tool in the registry, as far as it is known; otherwise as
	// the model wrote it.
	Tool string `json:"tool"`
	// Arguments are those of the call, a JSON object unless the model made a mistake.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Approval is the id of a call that waits for an approval, for
	// [registry.Registry.Resume] and Refuse; empty if it waits for a login.
	Approval string `json:"approval,omitempty"`
	// Reason is why the approver wants to be asked; may be empty.
	Reason string `json:"reason,omitempty"`
	// Expires is until when the approval can be given; zero for a login.
	Expires time.Time `json:"expires,omitzero"`
	// Login says that the call waits for a login.
	Login bool `json:"login,omitempty"`
	// LoginURL is where to log in; empty if nobody knows it.
	LoginURL string `json:"loginURL,omitempty"`
}

// Waits returns the calls among interrupts that wait for a person. Those of an error
// are in [compose.ExtractInterruptInfo], those of an event of adk in its
// Action.Interrupted. Interrupts of other tools are left out.
func Waits(interrupts []*compose.InterruptCtx) []Wait {
	var waits []Wait
	for _, i := range interrupts {
		if i == nil {
			continue
		}
		text, ok := i.Info.(string)
		if !ok {
			continue
		}
		var w Wait
		if json.Unmarshal([]byte(text), &w) != nil || w.Approval == "" && !w.Login {
			continue
		}
		w.InterruptID = i.ID
		waits = append(waits, w)
	}
	return waits
}

// A Decision answers a call that waits for an approval: give it to eino as the data of a
// targeted resume, by [Wait.InterruptID]. The other way is [registry.Registry.Resume] or
// Refuse, from anywhere, and a resume without data.
//
// It also works if the program has been restarted since, until [Wait.Expires]; the
// registry has forgotten the call by then.
type Decision struct {
	// Approve has the call made. False refuses it.
	Approve bool
	// ForSession is that of [registry.ResumeOptions].
	ForSession bool
	// Reason is why it is refused, for the model; may be empty.
	Reason string
}

// waiting is the state of an interrupted call, as JSON in a string.
type waiting struct {
	Call     string    `json:"mcpbelt_call"` // see callKey
	Approval string    `json:"approval,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// callKey tells calls apart that an enclosing component makes at the same address.
func callKey(c profile.Call) string {
	sum := sha256.Sum256([]byte(c.Name + "\x00" + string(c.Arguments)))
	return hex.EncodeToString(sum[:16])
}

// interrupt returns eino's interrupt for a call that waits.
func interrupt(ctx context.Context, a *profile.Answer) error {
	info := Wait{Tool: a.Call.Name}
	if json.Valid(a.Call.Arguments) {
		info.Arguments = a.Call.Arguments
	}
	state := waiting{Call: callKey(a.Call)}
	if asks := a.Approval(); asks != nil {
		info.Approval, info.Reason, info.Expires = asks.ID, asks.Reason, asks.Expires
		if asks.Tool != nil {
			info.Tool, info.Arguments = asks.Tool.Name, asks.Args
		}
		state.Approval, state.Expires = asks.ID, asks.Expires
	} else {
		info.LoginURL, info.Login = a.Login()
	}
	shown, err := json.Marshal(info)
	if err != nil {
		return err
	}
	kept, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return tool.StatefulInterrupt(ctx, string(shown), string(kept))
}

// resumed returns what a call has waited for; nil if it has not waited.
func resumed(ctx context.Context, c profile.Call) *waiting {
	_, has, text := tool.GetInterruptState[string](ctx)
	var w waiting
	if !has || json.Unmarshal([]byte(text), &w) != nil || w.Call != callKey(c) {
		return nil
	}
	return &w
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
	if w == nil || w.Approval == "" { // a new one, or one after a login
		return t.Call(ctx, c), nil
	}
	if d := decision(ctx); d != nil {
		return b.decided(ctx, t, c, w, d)
	}
	if asks := b.asked(ctx, w.Approval); asks != nil { // nobody has answered
		return t.Answer(c, nil, &registry.ApprovalRequiredError{Request: asks}), nil
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
	a := t.Answer(c, res, err)
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
			return t.Answer(c, nil, &registry.DeniedError{Tool: c.Name, Reason: reason}), nil
		}
		return b.awaited(ctx, t, c, w)
	}
	res, err := b.registry.Resume(ctx, w.Approval, &registry.ResumeOptions{ForSession: d.ForSession})
	if forgotten(err) {
		return b.again(ctx, t, c, w, d), nil
	}
	var over *registry.UnknownApprovalError
	if errors.As(err, &over) { // somebody was faster
		return b.awaited(ctx, t, c, w)
	}
	return t.Answer(c, res, err), nil
}

// again makes a call that was approved after the program was restarted: the registry asks
// for it once more, and gets the same answer. If it is too late for that, somebody has
// to be asked.
func (b *Belt) again(ctx context.Context, t *profile.Turn, c profile.Call, w *waiting, d *Decision) profile.Answer {
	a := t.Call(ctx, c)
	asks := a.Approval()
	if asks == nil || !time.Now().Before(w.Expires) {
		return a
	}
	res, err := b.registry.Resume(ctx, asks.ID, &registry.ResumeOptions{ForSession: d.ForSession})
	return t.Answer(c, res, err)
}
