package registry

import (
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// The codes of JSON-RPC 2.0, section 5.1, that [ErrorCode] returns.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternalError  = -32603
)

// ErrorCode returns the JSON-RPC code with which a server that serves this registry
// answers an error of [Registry.Call]; 0 for nil:
//
//   - -32700 for arguments that are not JSON,
//   - -32600 for arguments that are another JSON value than an object,
//   - -32602 for other arguments that do not fit, and for a name that no tool has: so
//     the protocol says for tools/call,
//   - -32601 for what is not there at all ([errors.ErrUnsupported]),
//   - the server's own code for an [*mcp.ServerError] or [*mcp.JSONRPCError],
//   - -32603 for all else.
//
// The code tells a program what happened; what a model should read is in
// [ErrorResult], and most failures are better answered with that.
func ErrorCode(err error) int64 {
	if err == nil {
		return 0
	}
	var (
		panicked  *PanicError
		notReady  *NotReadyError
		arguments *ArgumentsError
		unknown   *UnknownToolError
		answered  *mcp.JSONRPCError
		syntax    *json.SyntaxError
		other     *notObjectError
	)
	switch {
	case errors.As(err, &panicked), errors.As(err, &notReady): // what they wrap is not about this call
		return codeInternalError
	case errors.As(err, &arguments):
		switch {
		case errors.As(arguments.Err, &syntax):
			return codeParseError
		case errors.As(arguments.Err, &other):
			return codeInvalidRequest
		}
		return codeInvalidParams
	case errors.As(err, &unknown):
		return codeInvalidParams
	case errors.As(err, &answered) && answered != nil && answered.Code != 0:
		return answered.Code
	case errors.Is(err, errors.ErrUnsupported):
		return codeMethodNotFound
	}
	return codeInternalError
}

// A notObjectError reports arguments that are JSON, but no object.
type notObjectError struct{ got string }

func (e *notObjectError) Error() string { return "must be a JSON object, not " + e.got }
