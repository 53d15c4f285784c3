package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// requestOf returns what an approver gets to see of a call. The arguments are
// copied: writing to them does not change the call.
func requestOf(ctx context.Context, e *entry, args json.RawMessage) *ApprovalRequest {
	return &ApprovalRequest{
		User:         userOf(ctx),
		Conversation: onbehalf.ConversationOf(ctx),
		CallID:       CallIDOf(ctx),
		Tool:         e.def,
		Hints:        e.hints,
		Trusted:      e.trusted(),
		Subject:      subjectOf(e),
		Args:         bytes.Clone(args),
	}
}

// copy returns a copy whose arguments can be written to.
func (r *ApprovalRequest) copy() *ApprovalRequest {
	c := *r
	c.Args = bytes.Clone(r.Args)
	return &c
}

// An ApprovalRequiredError reports a call that waits for approval. It
// was not made. [Registry.Approve] makes it, [Registry.Deny] drops it, and
// [Registry.Await] waits for either.
//
//cure:let a person decide by Approve or Deny, and wait by Await
type ApprovalRequiredError struct {
	Request *ApprovalRequest // what is asked; its ID names the call
}

// Error is made for the model that wanted the call.
func (e *ApprovalRequiredError) Error() string {
	return fmt.Sprintf("tool %s has to be approved by the user first; do not call it again before that", plain.Quote(e.Request.Tool.Name))
}

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *ApprovalRequiredError) Outcome() mcp.Outcome { return mcp.NotSent }

// An ApprovalRequest is a call that wants to be made. It can be marshaled as JSON.
type ApprovalRequest struct {
	// ID names the request once it waits for approval, see
	// [ApprovalRequiredError]. Empty before that.
	ID string `json:"id,omitempty"`
	// Approved says that this call is approved already, or the tool for the conversation. An
	// Approver that asks people need not do so again: it is asked whether anything
	// forbids the call by now, and [approval.Ask] lets it pass.
	Approved bool `json:"approved"`
	// User is on whose behalf the call is made, as by session.WithUser; empty if no user
	// was named.
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
	// Subject names what is approved: it is the SHA-256, in hexadecimal digits, of the definition of the tool, of
	// what its server says of it, of the server's Fingerprint and of Trusted. It is the same in all programs that
	// have the same tool of the same server. Empty where a policy decides whether a tool is listed.
	Subject string `json:"subject,omitempty"`
	// ForConversation says that the user has allowed the tool for the conversation, as [ApproveOptions].ForConversation does.
	ForConversation bool `json:"forConversation,omitempty"`
	// Args are the arguments that the tool would get, a JSON object, checked
	// and with defaults. The bytes are a copy; writing to them does not change the call.
	Args json.RawMessage `json:"args"`
	// Reason is why the call needs approval; empty before that was decided.
	Reason string `json:"reason,omitempty"`
	// Asked is since when the request waits; zero if it does not wait yet.
	Asked time.Time `json:"asked,omitzero"`
	// Expires is until when it waits; zero if it does not wait yet.
	Expires time.Time `json:"expires,omitzero"`
}

// An Approver decides which calls are made. It may take its time, and ask a user right
// away, until ctx ends. It is safe for concurrent use. An error stops the call as
// [approval.Deny] does, as a [*approval.PolicyError].
type Approver interface {
	Approve(ctx context.Context, req *ApprovalRequest) (approval.Decision, error)
}

// An ApproverFunc is a function that is an [Approver].
type ApproverFunc func(ctx context.Context, req *ApprovalRequest) (approval.Decision, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, req *ApprovalRequest) (approval.Decision, error) {
	if f == nil {
		return approval.Decision{}, errors.New("registry: the ApproverFunc is nil")
	}
	return f(ctx, req)
}

type askKey struct{}

// WithAsk returns a context whose calls put their question to a person before they wait. When
// the [Approver] returns [approval.Ask], ask is called with the request and the reason. Its
// decision counts as one of the Approver, and with [approval.Ask] the call waits as it does
// without WithAsk. The Approver is asked again about what ask allows for the conversation, and its [approval.Deny] wins.
//
// An equal call that waits already ends with the decision. If it was decided elsewhere while ask
// ran, that decision counts: the error of the call is the [*ApprovalRequiredError] of the equal call, and
// [Registry.Await] returns the outcome. So the call is not made twice.
func WithAsk(ctx context.Context, ask func(ctx context.Context, req *ApprovalRequest) (approval.Decision, error)) context.Context {
	return context.WithValue(ctx, askKey{}, ApproverFunc(ask))
}
