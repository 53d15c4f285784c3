package host

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/meter"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// callOutcome tells what became of a call by what it returned. A caller who gives up has
// no answer to complain of; one whose deadline passes has waited in vain, and that
// is counted as the server's.
func callOutcome(res *mcp.CallToolResult, err error) meter.Outcome {
	if err == nil {
		if res != nil && res.IsError {
			return meter.ToolError
		}
		return meter.Done
	}
	var timeout *mcp.TimeoutError
	if errors.Is(err, context.Canceled) && !errors.As(err, &timeout) {
		return meter.Cancelled
	}
	if mcp.OutcomeOf(err) == mcp.NotSent {
		return unsentOutcome(err)
	}
	var answer *mcp.JSONRPCError
	switch {
	case errors.As(err, &answer) && answer.Code == jsonrpc.CodeInvalidParams:
		return meter.ToolError
	case mcp.OutcomeOf(err) == mcp.Answered:
		return meter.Failed
	case errors.Is(err, context.DeadlineExceeded):
		return meter.TimedOut
	}
	return meter.Unknown
}

// unsentOutcome tells why a call was not sent, or was refused unread.
func unsentOutcome(err error) meter.Outcome {
	var busy *mcp.BusyError
	var login interface{ LoginURL() string }
	var nobody *NoUserError
	var denied *LaunchNotAllowedError
	var quarantined *registry.QuarantinedError
	var unknown *UnknownServerError
	var status *transport.StatusError
	switch {
	case errors.As(err, &busy), errors.As(err, &login), errors.As(err, &nobody), errors.As(err, &denied),
		errors.As(err, &quarantined), errors.As(err, &unknown), errors.Is(err, errDisabled), errors.Is(err, ErrClosed):
		return meter.Refused
	case errors.As(err, &status):
		return meter.Failed
	}
	return meter.Unavailable
}
