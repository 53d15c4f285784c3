package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A Verdict is what becomes of a call.
type Verdict int

// The verdicts. The zero value is the strictest.
const (
	// Deny: the call fails with a [*DeniedError].
	Deny Verdict = iota
	// Ask: the call fails with an [*ApprovalRequiredError], and goes on when
	// somebody calls [Registry.Approve].
	Ask
	// Allow: the call goes on.
	Allow
	// AllowForSession: the call goes on, and so do later ones of the same user
	// and conversation (see [WithConversation]) to the same tool, unless the
	// Approver denies them, as long as the tool does not change.
	AllowForSession
)

// String returns "deny", "ask", "allow" or "allow_for_session".
func (v Verdict) String() string {
	switch v {
	case Deny:
		return "deny"
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	case AllowForSession:
		return "allow_for_session"
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

// A Decision is an [Approver]'s answer.
type Decision struct {
	// Verdict is what becomes of the call. The zero value is [Deny].
	Verdict Verdict
	// Reason says why. The model and the person who is asked can read it.
	Reason string
}

// An ApprovalRequest is a call that wants to be made. It can be marshaled as JSON.
type ApprovalRequest struct {
	// ID names the request once it waits for somebody, see
	// [ApprovalRequiredError]. Empty before that.
	ID string `json:"id,omitempty"`
	// Approved says that somebody approved this call already, or the tool for the
	// session. An Approver that asks people need not do so again: it is asked
	// whether anything forbids the call by now, and [Ask] lets it pass.
	Approved bool `json:"approved"`
	// User is on whose behalf the call is made, as by session.WithUser; empty if
	// nobody was named.
	User string `json:"user,omitempty"`
	// Conversation is that of [WithConversation]; empty if none was named.
	Conversation string `json:"conversation,omitempty"`
	// CallID is that of [WithCallID]: for a call of a model the one that the model gave
	// it. It is that of the first call if the model repeats itself while that waits.
	CallID string `json:"callId,omitempty"`
	// Tool describes the tool. Its annotations are claims.
	Tool *Definition `json:"tool"`
	// Hints are what the annotations claim.
	Hints Hints `json:"hints"`
	// Trusted says that the claims are believed: the tool is native, or its
	// server is trusted.
	Trusted bool `json:"trusted"`
	// Args are the arguments that the tool would get, a JSON object, checked
	// and with defaults. The bytes are a copy; writing to them does not change the call.
	Args json.RawMessage `json:"args"`
	// Reason is why somebody has to be asked; empty before that was decided.
	Reason string `json:"reason,omitempty"`
	// Asked is since when the request waits; zero if it does not wait yet.
	Asked time.Time `json:"asked,omitzero"`
	// Expires is until when it waits; zero if it does not wait yet.
	Expires time.Time `json:"expires,omitzero"`
}

// An Approver decides which calls are made. It may take its time, and ask
// somebody right away, until ctx ends. It is safe for concurrent use. An error
// stops the call as [Deny] does, as a [*PolicyError].
type Approver interface {
	Approve(ctx context.Context, req *ApprovalRequest) (Decision, error)
}

// An ApproverFunc is a function that is an [Approver].
type ApproverFunc func(ctx context.Context, req *ApprovalRequest) (Decision, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, req *ApprovalRequest) (Decision, error) {
	return f(ctx, req)
}
