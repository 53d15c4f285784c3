package eino

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A Wait is a call that waits for a person: what [compose.InterruptCtx].Info says of it,
// as JSON in a string, so that every checkpoint store takes it.
type Wait struct {
	// InterruptID is eino's id of the interrupt, for a targeted resume. [Waits] sets it.
	InterruptID string `json:"-"`
	profile.Wait
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
// targeted resume, by [Wait.InterruptID]. The other way is [registry.Registry.Approve] or
// Refuse, from anywhere, and a resume without data.
//
// It is of the user who was asked: with the context of another one, the call is a new
// one of theirs. It also works if the program has been restarted since, until
// Wait.Expires and for the same tool; the registry has forgotten the call by then, so that
// there is no other way. The call is made once by one [Belt].
type Decision struct {
	// Approve has the call made. False refuses it.
	Approve bool
	// ForConversation is that of [registry.ApproveOptions].
	ForConversation bool
	// Reason is why it is refused, for the model; may be empty.
	Reason string
}

// waiting is the state of an interrupted call, as JSON in a string.
type waiting struct {
	Call     string    `json:"mcpbelt_call"` // see callKey
	Approval string    `json:"approval,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Tool     string    `json:"tool,omitempty"`  // see toolKey
	User     string    `json:"user,omitempty"`  // who was asked
	Belt     string    `json:"belt,omitempty"`  // whose registry asked
	Shown    string    `json:"shown,omitempty"` // the Wait
}

// callKey tells calls apart that an enclosing component makes at the same address.
func callKey(c profile.Call) string {
	sum := sha256.Sum256([]byte(c.Name + "\x00" + string(c.Arguments)))
	return hex.EncodeToString(sum[:16])
}

// toolKey tells tools apart that a person was asked about.
func toolKey(d *registry.Definition) string {
	shown, err := json.Marshal(d)
	if err != nil { // it has been listed as JSON before
		return ""
	}
	sum := sha256.Sum256(shown)
	return hex.EncodeToString(sum[:16])
}

// interrupt returns eino's interrupt for a call that waits.
func (b *Belt) interrupt(ctx context.Context, a *profile.Answer) error {
	state := waiting{Call: callKey(a.Call)}
	if asks := a.Approval(); asks != nil {
		state.Approval, state.Expires, state.User = asks.ID, asks.Expires, asks.User
		state.Tool, state.Belt = toolKey(asks.Tool), b.id
	}
	shown, err := json.Marshal(profile.WaitOf(a))
	if err != nil {
		return err
	}
	state.Shown = string(shown)
	return state.interrupt(ctx)
}

// interrupt returns the interrupt of a call that waits, also if it does so once more.
func (w *waiting) interrupt(ctx context.Context) error {
	kept, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return tool.StatefulInterrupt(ctx, w.Shown, string(kept))
}
