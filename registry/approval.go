package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// ApprovalOptions say how calls wait for an answer. Zero means the default.
type ApprovalOptions struct {
	// TTL is how long a call waits. Default: 30 minutes.
	TTL time.Duration
	// MaxPending is how many calls wait at one time; one more fails with a
	// [*DeniedError]. Default: 200.
	MaxPending int
	// MaxGrants is how many tools are allowed for sessions at one time; the one
	// that was not used for the longest time is forgotten. Default: 10,000.
	MaxGrants int
}

type conversationKey struct{}

// WithConversation returns a context for calls that belong to one conversation
// with a model. It bounds what [AllowForSession] allows, and who can read results
// that are kept. The id is any text; a program with one conversation needs none.
func WithConversation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, conversationKey{}, id)
}

func conversationOf(ctx context.Context) string {
	id, _ := ctx.Value(conversationKey{}).(string)
	return id
}

// An ApprovalRequiredError reports a call that waits for somebody's approval. It
// was not made. [Registry.Resume] makes it, [Registry.Refuse] drops it.
type ApprovalRequiredError struct {
	Request *ApprovalRequest // what is asked; its ID names the call
}

// Error is made for the model that wanted the call.
func (e *ApprovalRequiredError) Error() string {
	return fmt.Sprintf("tool %s needs the approval of the user, who has been asked; do not call it again before the user has answered", quote(e.Request.Tool.Name))
}

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *ApprovalRequiredError) Outcome() mcp.Outcome { return mcp.NotSent }

// A DeniedError reports a call that is not allowed. Its text is made for the
// model that wanted it.
type DeniedError struct {
	Tool   string // name of the tool
	Reason string // why; may be empty
}

// Error names the tool and the reason.
func (e *DeniedError) Error() string {
	text := fmt.Sprintf("calling tool %s is not allowed", quote(e.Tool))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *DeniedError) Outcome() mcp.Outcome { return mcp.NotSent }

// A PolicyError reports a call that was not made because nobody could decide
// whether it may be.
type PolicyError struct {
	Tool string // name of the tool
	Err  error  // of the [Approver]
}

// Error names the tool and what went wrong.
func (e *PolicyError) Error() string {
	return fmt.Sprintf("whether tool %s may be called could not be decided: %v", quote(e.Tool), e.Err)
}

func (e *PolicyError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *PolicyError) Outcome() mcp.Outcome { return mcp.NotSent }

// approvals holds the calls that wait, and what was allowed for sessions.
type approvals struct {
	approver Approver // nil: everything is allowed
	opts     ApprovalOptions
}

func newApprovals(approver Approver, opts ApprovalOptions) *approvals {
	return &approvals{approver, opts}
}

// decide returns nil if the call may be made now. Otherwise the error is an
// [*ApprovalRequiredError], a [*DeniedError] or a [*PolicyError].
func (a *approvals) decide(ctx context.Context, e *entry, args json.RawMessage) error { return nil }
