package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// An outcome is what came of a call or an answer, as it is kept.
type outcome struct {
	Result *mcp.CallToolResult `json:"result,omitempty"`
	Error  *wireError          `json:"error,omitempty"`
}

// A wireError is an error as it is kept.
type wireError struct {
	Kind   string        `json:"kind,omitempty"` // of the following; empty: another one
	Text   string        `json:"text"`
	Tool   string        `json:"tool,omitempty"`
	ID     string        `json:"id,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Made   mcp.Outcome   `json:"made"`
	Class  failure.Class `json:"class"`
}

const (
	kindDenied  = "denied"
	kindStale   = "stale"
	kindUnknown = "unknown"
)

// outcomeOf returns what is kept of what came of a call.
func outcomeOf(res *mcp.CallToolResult, err error) *outcome {
	if err == nil {
		return &outcome{Result: res}
	}
	w := &wireError{Text: err.Error(), Made: mcp.OutcomeOf(err), Class: failure.Of(err)}
	var (
		denied  *approval.DeniedError
		stale   *approval.StaleError
		unknown *approval.UnknownError
	)
	switch {
	case errors.As(err, &unknown):
		w.Kind, w.ID, w.Reason = kindUnknown, unknown.ID, unknown.Reason
	case errors.As(err, &stale):
		w.Kind, w.Tool = kindStale, stale.Tool
	case errors.As(err, &denied):
		w.Kind, w.Tool, w.Reason = kindDenied, denied.Tool, denied.Reason
	}
	return &outcome{Error: w}
}

// result returns what was kept.
func (o *outcome) result() (*mcp.CallToolResult, error) {
	w := o.Error
	if w == nil {
		return o.Result, nil
	}
	switch w.Kind {
	case kindUnknown:
		return nil, &approval.UnknownError{ID: w.ID, Reason: w.Reason}
	case kindStale:
		return nil, &approval.StaleError{Tool: w.Tool}
	case kindDenied:
		return nil, &approval.DeniedError{Tool: w.Tool, Reason: w.Reason}
	}
	return nil, &callError{w}
}

// A callError is the error of a call that another replica has made, where it is none of package
// approval. Its text, [mcp.OutcomeOf] and [failure.Of] are those of the error there.
type callError struct{ was *wireError }

func (e *callError) Error() string { return e.was.Text }

func (e *callError) Outcome() mcp.Outcome { return e.was.Made }

func (e *callError) Class() failure.Class { return e.was.Class }

// Is reports whether the call ended with its deadline or was cancelled, as errors of package context say.
func (e *callError) Is(target error) bool {
	return target == context.DeadlineExceeded && e.was.Class == failure.Timeout || target == context.Canceled && e.was.Class == failure.Cancelled
}

// storeError is the error of a store that fails.
func storeError(err error) error { return fmt.Errorf("replica: the store: %w", err) }
