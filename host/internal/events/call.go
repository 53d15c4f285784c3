package events

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/activity/event"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
)

// call records what a registry has observed of a call.
func (r *Recorder) call(ctx context.Context, o *registry.Observation) {
	by, _ := session.UserOf(ctx)
	// The event is that of the user of the call, also if there is none.
	ctx = session.WithUser(ctx, o.User)
	e := ofCall(o)
	if by != "" && by != o.User {
		e.Detail["by"] = by
	}
	if o.Kind != registry.Approved || isUnknownApproval(o.Err) {
		r.Record(ctx, e)
		return
	}
	// The call was approved, and then made or not.
	if registry.CallIDOf(ctx) == "" {
		e.ID = rand.Text()
	}
	yes := e
	yes.Kind, yes.Outcome, yes.Error = "approval", "approved", ""
	yes.Time, yes.Duration, yes.ResultBytes = o.Began, 0, 0
	yes.Detail = maps.Clone(e.Detail)
	maps.DeleteFunc(yes.Detail, func(key, _ string) bool {
		return !slices.Contains([]string{"name", "conversation", "approval", "by"}, key)
	})
	r.Record(ctx, yes)
	delete(e.Detail, "by")
	r.Record(ctx, e)
}

func isUnknownApproval(err error) bool {
	return errors.As(err, new(*approval.UnknownError))
}

// ofCall returns the event for an observation.
func ofCall(o *registry.Observation) event.Event {
	e := event.Event{
		Time:        o.Began.Add(o.Duration),
		Tool:        o.Name,
		Outcome:     OutcomeOf(o.Err),
		Duration:    o.Duration,
		ResultBytes: int64(o.ResultBytes),
		Arguments:   o.Arguments,
		Detail:      map[string]string{},
	}
	if o.Tool != nil {
		e.Server = o.Tool.Origin.Server
		e.Tool = cmp.Or(o.Tool.Origin.Tool, o.Tool.Name)
		if o.Name != e.Tool {
			e.Detail["name"] = o.Name
		}
	}
	if notReady, ok := errors.AsType[*registry.NotReadyError](o.Err); e.Server == "" && ok {
		e.Server = notReady.Server
	}
	if o.Conversation != "" {
		e.Detail["conversation"] = o.Conversation
	}
	if o.Approval != "" {
		e.Detail["approval"] = shortHash(o.Approval)
	}
	if o.Relayed {
		e.Detail["via"] = "call_tool"
	}
	if o.RedactedArguments || o.RedactedResult {
		e.Detail["redacted"] = map[bool]string{true: "arguments", false: "result"}[o.RedactedArguments]
		if o.RedactedArguments && o.RedactedResult {
			e.Detail["redacted"] = "both"
		}
	}
	if o.Err != nil {
		e.Error = o.Err.Error()
	} else if o.IsError {
		e.Outcome = "tool_error"
	}
	e.Kind = kindOf(o, e.Outcome)
	if e.Kind == "call" && o.Err != nil {
		e.Detail["ran"] = ranOf(o.Err)
	}
	switch {
	case isUnknownApproval(o.Err):
		e.Outcome = "error"
	case o.Kind == registry.Denied:
		e.Outcome = "refused"
	}
	return e
}

func kindOf(o *registry.Observation, outcome string) string {
	switch {
	case o.Kind == registry.Denied, outcome == "asked", isUnknownApproval(o.Err):
		return "approval"
	case outcome == "denied":
		return "denied"
	case outcome == "quarantined":
		return "quarantined"
	}
	return "call"
}

// shortHash returns a hash that tells IDs apart and does not reveal them.
func shortHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

func ranOf(err error) string {
	switch mcp.OutcomeOf(err) {
	case mcp.NotSent:
		return "no"
	case mcp.Answered:
		return "yes"
	}
	return "perhaps"
}

// OutcomeOf returns the outcome that an error means.
func OutcomeOf(err error) string {
	class := failure.Of(err)
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, new(*registry.UnknownToolError)):
		return "unknown_tool"
	case errors.As(err, new(*registry.ArgumentsError)):
		return "bad_arguments"
	case errors.As(err, new(*registry.QuarantinedError)):
		return "quarantined"
	case errors.As(err, new(*registry.ApprovalRequiredError)):
		return "asked"
	case errors.As(err, new(*approval.DeniedError)), errors.As(err, new(*approval.PolicyError)), errors.As(err, new(*approval.StaleError)):
		return "denied"
	case class == failure.LoginRequired:
		return "login_required"
	case errors.As(err, new(*registry.NotReadyError)): // whatever has become of its server
		return "not_sent"
	case class == failure.Busy:
		return "busy"
	case class == failure.Cancelled:
		return "cancelled"
	case class == failure.Timeout:
		return "timeout"
	}
	switch mcp.OutcomeOf(err) {
	case mcp.NotSent:
		return "not_sent"
	case mcp.Unknown:
		return "unknown"
	}
	return "error"
}
