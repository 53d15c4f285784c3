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
		if answered, ok := errors.AsType[*mcp.JSONRPCError](err); ok && answered != nil {
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
	switch {
	case err == nil && res != nil && res.IsError:
		return fate{kind: toolError}
	case err == nil, is[*registry.ApprovalRequiredError](err): // a call that waits has not failed
		return fate{}
	case is[*registry.PanicError](err):
		return fate{kind: "panic"}
	case is[*approval.DeniedError](err):
		return fate{kind: "denied"}
	case is[*approval.PolicyError](err):
		return fate{kind: "policy_failed"}
	case is[*registry.QuarantinedError](err):
		return fate{kind: "quarantined"}
	case is[*registry.UnknownToolError](err):
		return fate{kind: "unknown_tool"}
	case is[*registry.NotReadyError](err) && failure.Of(err) != failure.LoginRequired:
		return fate{kind: "server_not_ready"}
	case is[*registry.ArgumentsError](err):
		return fate{kind: "invalid_arguments"}
	case is[*approval.StaleError](err), is[*approval.UnknownError](err):
		return fate{kind: "approval_void"}
	case is[*registry.ResultError](err):
		return fate{kind: "invalid_response"}
	}
	return fateOf(err)
}

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	return errors.As(err, new(E))
}

// failed reports whether the result of tools/call, as it was sent, is a failure.
func failed(result json.RawMessage) bool {
	var r struct {
		IsError bool `json:"isError"`
		Snake   bool `json:"is_error"` // as some servers write it
	}
	return json.Unmarshal(result, &r) == nil && (r.IsError || r.Snake)
}
