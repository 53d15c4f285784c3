package host

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A callFate is what became of a call.
type callFate int

const (
	fateDone        callFate = iota // the tool did what it was asked
	fateToolError                   // it said that it failed, or that the arguments are wrong
	fateFailed                      // the server answered with an error, or not as the protocol wants
	fateTimedOut                    // no answer in time
	fateUnknown                     // the connection was lost with the call under way
	fateUnavailable                 // there was no connection; nothing was sent
	fateRefused                     // turned away on this side; nothing was sent
	fateCancelled                   // given up by the caller
)

// measured reports whether the time it took is the server's.
func (f callFate) measured() bool { return f <= fateUnknown }

// failure reports whether it is the server that failed.
func (f callFate) failure() bool { return f >= fateFailed && f <= fateUnavailable }

// fateOf tells what became of a call by what it returned. A caller who gives up has
// no answer to complain of; one whose deadline passes has waited in vain, and that
// is counted as the server's.
func fateOf(res *mcp.CallToolResult, err error) callFate {
	if err == nil {
		if res != nil && res.IsError {
			return fateToolError
		}
		return fateDone
	}
	class := mcp.ClassOf(err)
	if class == mcp.ClassCancelled {
		return fateCancelled
	}
	if mcp.OutcomeOf(err) == mcp.NotSent {
		return unsentFate(err)
	}
	var answer *mcp.JSONRPCError
	switch {
	case errors.As(err, &answer) && answer.Code == jsonrpc.CodeInvalidParams:
		return fateToolError
	case mcp.OutcomeOf(err) == mcp.Answered:
		return fateFailed
	case class == mcp.ClassTimeout:
		return fateTimedOut
	}
	return fateUnknown
}

// unsentFate tells why a call was not sent, or was refused unread.
func unsentFate(err error) callFate {
	class := mcp.ClassOf(err)
	var nobody *NoUserError
	var unapproved *UnapprovedError
	var quarantined *registry.QuarantinedError
	var unknown *UnknownServerError
	var status *transport.StatusError
	switch {
	case class == mcp.ClassBusy, class == mcp.ClassLoginRequired, errors.As(err, &nobody), errors.As(err, &unapproved),
		errors.As(err, &quarantined), errors.As(err, &unknown), errors.Is(err, errDisabled), errors.Is(err, ErrClosed):
		return fateRefused
	case errors.As(err, &status):
		return fateFailed
	}
	return fateUnavailable
}
