package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// An outcome is what came of a call or an answer, as it is kept: a result, or one of the errors.
type outcome struct {
	Result  *mcp.CallToolResult    `json:"result,omitempty"`
	Denied  *approval.DeniedError  `json:"denied,omitempty"`
	Stale   *approval.StaleError   `json:"stale,omitempty"`
	Unknown *approval.UnknownError `json:"unknown,omitempty"`
	Other   *callError             `json:"error,omitempty"`
}

// outcomeOf returns what is kept of what came of a call.
func outcomeOf(res *mcp.CallToolResult, err error) *outcome {
	o := &outcome{}
	switch {
	case err == nil:
		o.Result = res
	case errors.As(err, &o.Unknown), errors.As(err, &o.Stale), errors.As(err, &o.Denied):
	default:
		o.Other = &callError{err.Error(), mcp.OutcomeOf(err), failure.Of(err)}
	}
	return o
}

// result returns what was kept.
func (o *outcome) result() (*mcp.CallToolResult, error) {
	switch {
	case o.Unknown != nil:
		return nil, o.Unknown
	case o.Stale != nil:
		return nil, o.Stale
	case o.Denied != nil:
		return nil, o.Denied
	case o.Other != nil:
		return nil, o.Other
	}
	return o.Result, nil
}

// A callError is the error of a call that another replica has made, where it is none of package
// approval. Its text, [mcp.OutcomeOf] and [failure.Of] are those of the error there.
type callError struct {
	Text string        `json:"text"`
	Made mcp.Outcome   `json:"made"`
	Kind failure.Class `json:"class"`
}

func (e *callError) Error() string { return e.Text }

func (e *callError) Outcome() mcp.Outcome { return e.Made }

func (e *callError) Class() failure.Class { return e.Kind }

// Is reports whether the call ended with its deadline or was cancelled, as errors of package context say.
func (e *callError) Is(target error) bool {
	return target == context.DeadlineExceeded && e.Kind == failure.Timeout || target == context.Canceled && e.Kind == failure.Cancelled
}

// storeError is the error of a store that fails.
func storeError(err error) error { return fmt.Errorf("replica: the store: %w", err) }
