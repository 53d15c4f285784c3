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

// kinds are those of classes that have another name here.
var kinds = map[failure.Class]string{
	failure.None: "", failure.Cancelled: "canceled", failure.Unreachable: "unavailable", failure.Lost: "outcome_unknown",
	failure.TooLarge: "limit_exceeded", failure.Protocol: "invalid_response", failure.Timeout: failure.Timeout.String(),
	failure.LoginRequired: failure.LoginRequired.String(), failure.Denied: failure.Denied.String(), failure.Busy: failure.Busy.String(),
	failure.Closed: failure.Closed.String(),
}

// fateOf returns the fate for an error.
func fateOf(err error) fate {
	class := failure.Of(err)
	if kind, ok := kinds[class]; ok {
		return fate{kind: kind}
	}
	if answered, ok := errors.AsType[*mcp.JSONRPCError](err); ok && answered != nil && class == failure.ServerError {
		code := strconv.FormatInt(answered.Code, 10)
		return fate{code, code, answered.Message}
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
	}
	for _, of := range callKinds {
		if of.is(err) {
			return fate{kind: of.kind}
		}
	}
	return fateOf(err)
}

// callKinds are those of what a registry says, the first that fits.
var callKinds = []struct {
	is   func(error) bool
	kind string
}{
	{is[*registry.PanicError], "panic"}, {is[*approval.DeniedError], "denied"}, {is[*approval.PolicyError], "policy_failed"},
	{is[*registry.QuarantinedError], "quarantined"}, {is[*registry.UnknownToolError], "unknown_tool"},
	{func(err error) bool {
		return is[*registry.NotReadyError](err) && failure.Of(err) != failure.LoginRequired
	}, "server_not_ready"},
	{is[*registry.ArgumentsError], "invalid_arguments"}, {is[*approval.StaleError], "approval_void"}, {is[*approval.UnknownError], "approval_void"},
	{is[*registry.ResultError], "invalid_response"},
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
