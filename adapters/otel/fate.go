package otel

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A fate is how an operation ended.
type fate struct {
	kind    string // error.type; empty: well
	code    string // rpc.response.status_code; empty: none
	message string // of the other side
}

// toolError is the kind of a tool's failure.
const toolError = "tool_error"

// fateOf returns the fate for an error.
func fateOf(err error) fate {
	switch class := failure.Of(err); class {
	case failure.None:
		return fate{}
	case failure.Cancelled:
		return fate{kind: "canceled"}
	case failure.Unreachable:
		return fate{kind: "unavailable"}
	case failure.Lost:
		return fate{kind: "outcome_unknown"}
	case failure.TooLarge:
		return fate{kind: "limit_exceeded"}
	case failure.Protocol:
		return fate{kind: "invalid_response"}
	case failure.Timeout, failure.LoginRequired, failure.Denied, failure.Busy, failure.Closed:
		return fate{kind: class.String()}
	case failure.ServerError:
		var answered *mcp.JSONRPCError
		if errors.As(err, &answered) && answered != nil {
			code := strconv.FormatInt(answered.Code, 10)
			return fate{code, code, answered.Message}
		}
	}
	return fate{kind: other}
}

// isCode reports whether a code of an error is one of JSON-RPC, of the protocol, or of
// its SDKs.
func isCode(code string) bool {
	switch code {
	case "-32700", "-32600", "-32601", "-32602", "-32603", // JSON-RPC
		"-32000", "-32001", // SDKs: connection closed, timeout
		"-32002", "-32020", "-32021", "-32022", "-32042": // not found, headers, capability, revision, page to visit
		return true
	}
	return false
}

// fateOfCall returns the fate for what a registry says of a call.
func fateOfCall(res *mcp.CallToolResult, err error) fate {
	var (
		required    *registry.ApprovalRequiredError
		denied      *approval.DeniedError
		policy      *approval.PolicyError
		quarantined *registry.QuarantinedError
		unknown     *registry.UnknownToolError
		notReady    *registry.NotReadyError
		arguments   *registry.ArgumentsError
		stale       *approval.StaleError
		gone        *approval.UnknownError
		panicked    *registry.PanicError
		result      *registry.ResultError
	)
	switch {
	case err == nil && res != nil && res.IsError:
		return fate{kind: toolError}
	case err == nil, errors.As(err, &required): // a call that waits has not failed
		return fate{}
	case errors.As(err, &panicked):
		return fate{kind: "panic"}
	case errors.As(err, &denied):
		return fate{kind: "denied"}
	case errors.As(err, &policy):
		return fate{kind: "policy_failed"}
	case errors.As(err, &quarantined):
		return fate{kind: "quarantined"}
	case errors.As(err, &unknown):
		return fate{kind: "unknown_tool"}
	case errors.As(err, &notReady) && failure.Of(err) != failure.LoginRequired:
		return fate{kind: "server_not_ready"}
	case errors.As(err, &arguments):
		return fate{kind: "invalid_arguments"}
	case errors.As(err, &stale), errors.As(err, &gone):
		return fate{kind: "approval_void"}
	case errors.As(err, &result):
		return fate{kind: "invalid_response"}
	}
	return fateOf(err)
}

// failed reports whether the result of tools/call, as it was sent, is a failure.
func failed(result json.RawMessage) bool {
	var r struct {
		IsError bool `json:"isError"`
		Snake   bool `json:"is_error"` // as some servers write it
	}
	return json.Unmarshal(result, &r) == nil && (r.IsError || r.Snake)
}
