package events

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/mcpbelt/mcpbelt/host/activity"
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
		e.Detail[activity.DetailBy] = by
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
	yes.Kind, yes.Outcome, yes.Error = activity.KindApproval, activity.Approved, ""
	yes.Time, yes.Duration, yes.ResultBytes = o.Began, 0, 0
	yes.Detail = map[string]string{}
	for _, key := range []string{activity.DetailName, activity.DetailConversation, activity.DetailApproval, activity.DetailBy} {
		if value, ok := e.Detail[key]; ok {
			yes.Detail[key] = value
		}
	}
	r.Record(ctx, yes)
	delete(e.Detail, activity.DetailBy)
	r.Record(ctx, e)
}

func isUnknownApproval(err error) bool {
	var unknown *approval.UnknownError
	return errors.As(err, &unknown)
}

// ofCall returns the event for an observation.
func ofCall(o *registry.Observation) activity.Event {
	e := activity.Event{
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
		e.Tool = o.Tool.Origin.Tool
		if e.Tool == "" {
			e.Tool = o.Tool.Name
		}
		if o.Name != e.Tool {
			e.Detail[activity.DetailName] = o.Name
		}
	}
	var notReady *registry.NotReadyError
	if e.Server == "" && errors.As(o.Err, &notReady) {
		e.Server = notReady.Server
	}
	if o.Conversation != "" {
		e.Detail[activity.DetailConversation] = o.Conversation
	}
	if o.Approval != "" {
		e.Detail[activity.DetailApproval] = shortHash(o.Approval)
	}
	if o.Relayed {
		e.Detail[activity.DetailVia] = "call_tool"
	}
	if o.Err != nil {
		e.Error = o.Err.Error()
	} else if o.IsError {
		e.Outcome = activity.ToolError
	}
	e.Kind = kindOf(o, e.Outcome)
	if e.Kind == activity.KindCall && o.Err != nil {
		e.Detail[activity.DetailRan] = ranOf(o.Err)
	}
	switch {
	case isUnknownApproval(o.Err):
		e.Outcome = activity.Failed
	case o.Kind == registry.Denied:
		e.Outcome = activity.Refused
	}
	return e
}

func kindOf(o *registry.Observation, outcome activity.Outcome) activity.Kind {
	switch {
	case o.Kind == registry.Denied, outcome == activity.Asked, isUnknownApproval(o.Err):
		return activity.KindApproval
	case outcome == activity.Denied:
		return activity.KindDenied
	case outcome == activity.Quarantined:
		return activity.KindQuarantined
	}
	return activity.KindCall
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
func OutcomeOf(err error) activity.Outcome {
	var (
		unknownTool *registry.UnknownToolError
		arguments   *registry.ArgumentsError
		quarantined *registry.QuarantinedError
		asks        *registry.ApprovalRequiredError
		denied      *approval.DeniedError
		policy      *approval.PolicyError
		stale       *approval.StaleError
		notReady    *registry.NotReadyError
	)
	class := failure.Of(err)
	switch {
	case err == nil:
		return activity.OK
	case errors.As(err, &unknownTool):
		return activity.UnknownTool
	case errors.As(err, &arguments):
		return activity.BadArguments
	case errors.As(err, &quarantined):
		return activity.Quarantined
	case errors.As(err, &asks):
		return activity.Asked
	case errors.As(err, &denied), errors.As(err, &policy), errors.As(err, &stale):
		return activity.Denied
	case class == failure.LoginRequired:
		return activity.LoginRequired
	case errors.As(err, &notReady): // whatever has become of its server
		return activity.NotSent
	case class == failure.Busy:
		return activity.Busy
	case class == failure.Cancelled:
		return activity.Cancelled
	case class == failure.Timeout:
		return activity.TimedOut
	}
	switch mcp.OutcomeOf(err) {
	case mcp.NotSent:
		return activity.NotSent
	case mcp.Unknown:
		return activity.Unknown
	}
	return activity.Failed
}
