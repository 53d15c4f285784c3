package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// ErrorResult returns what a model is told when [Registry.Call] fails: a result
// with IsError. It returns nil for a nil error.
//
// Errors that are made for models keep their text: [*UnknownToolError],
// [*ArgumentsError], [*approval.DeniedError], [*ApprovalRequiredError] and
// [*QuarantinedError], of which the structured content says the same to programs. Of a
// [*NotReadyError] the model is told all but Err. All
// others, those of connections, logins and panics, may hold secrets. Of them the
// model gets a fixed text that says whether the call may have run, see [mcp.OutcomeOf]. The message of a server that
// refused the call ([*mcp.ServerError]) is quoted, without secrets of known forms, on
// one line and cut off if it is long. The content for models of a result that does not fit its
// output schema ([*mcp.OutputError] of Call) comes through, marked as not checked. Show the error
// itself to people.
func ErrorResult(err error) *mcp.CallToolResult {
	if err == nil {
		return nil
	}
	if output, ok := err.(*mcp.OutputError); ok && output.Result != nil {
		return unchecked(output)
	}
	said, ok := forModel(err)
	if held, isHeld := errors.AsType[*QuarantinedError](err); ok && isHeld {
		return held.analysis()
	}
	if !ok {
		said = reasonOf(err) + " " + consequence(mcp.OutcomeOf(err))
	}
	return &mcp.CallToolResult{IsError: true, Content: text(said)}
}

// unchecked returns what a tool answered without the structured content that its output schema
// promises, or with another one: the content for models alone, and why it is not checked. It has
// IsError, since a client that knows the output schema would refuse it otherwise.
func unchecked(e *mcp.OutputError) *mcp.CallToolResult {
	why := "does not have the structured content that its output schema promises"
	if problem, ok := errors.AsType[*schemagate.Problem](e.Err); ok {
		why = "does not fit its output schema: " + problem.Error()
	}
	said := "The tool has run. Its answer " + why
	if len(e.Result.Content) == 0 {
		return &mcp.CallToolResult{IsError: true, Content: text(said + ". It says nothing else; calling it again in the same way will not help.")}
	}
	return &mcp.CallToolResult{IsError: true, Content: append(text(said+". What it says is not checked:"), e.Result.Content...)}
}

// forModel returns the text of an error that was made for models. The error that a panic
// wraps does not count: it is not about this call.
func forModel(err error) (text string, ok bool) {
	if as[*PanicError](err) != nil {
		return "", false
	}
	if notReady, ok := errors.AsType[*NotReadyError](err); ok {
		return notReady.reason(), true
	}
	for _, made := range []error{
		as[*UnknownToolError](err), as[*ArgumentsError](err), as[*approval.DeniedError](err), as[*ApprovalRequiredError](err),
		as[*QuarantinedError](err), as[*approval.StaleError](err), as[*approval.UnknownError](err),
	} {
		if made != nil {
			return made.Error(), true
		}
	}
	return "", false
}

// as returns the error of a type that err is or wraps; nil if there is none.
func as[E error](err error) error {
	if found, ok := errors.AsType[E](err); ok {
		return found
	}
	return nil
}

// retryTime says when a call of a server that is busy is to be tried again.
func retryTime(wait time.Duration) string {
	if wait <= 0 {
		return "later"
	}
	return "in " + plain.Number(int((wait+time.Second-1)/time.Second), "second")
}

// consequence says what the outcome of a failed call means.
func consequence(o mcp.Outcome) string {
	switch o {
	case mcp.NotSent:
		return "It did not run."
	case mcp.Answered:
		return "It has run, or was refused by the server; calling it again in the same way will not help."
	default:
		return "It may have run or not; check before you call it again."
	}
}

// reasonOf says why a call failed, in words of ours only.
func reasonOf(err error) string {
	var server *mcp.ServerError
	var busy *mcp.BusyError
	var web interface {
		HTTPStatus() (code int, retryAfter time.Duration)
	}
	class := failure.Of(err)
	switch {
	case errors.As(err, new(*PanicError)):
		return "The tool broke down."
	case class == failure.LoginRequired:
		return "The tool needs the user to log in first."
	case errors.As(err, new(*approval.PolicyError)):
		return "Whether the tool may be called could not be decided."
	case errors.As(err, new(*DefinitionError)):
		return "The tool is defined in a way that cannot be used."
	case errors.As(err, new(*ResultError)), class == failure.Protocol:
		return "The tool gave an answer that cannot be used."
	case class == failure.TooLarge && mcp.SafeToRetry(err):
		return "The tool was given more than its server is sent; send less."
	case class == failure.TooLarge:
		return "The tool gave an answer that is too large; ask it for less."
	case errors.As(err, &server):
		return "The tool" + rejection(server.Err)
	case errors.As(err, &busy):
		return "The tool is on a server that is busy; try again " + retryTime(busy.RetryAfter) + "."
	case errors.As(err, &web): // also where it is why there is no connection
		code, wait := web.HTTPStatus()
		return "The tool" + statusReason(code, wait)
	case errors.Is(err, mcp.ErrCutOff):
		return "The tool is on a server that ended while it was given the arguments, which may be too large for it; do not send them again." + exitOf(err)
	case class == failure.Denied:
		return "The tool is not allowed for this user."
	case class == failure.Unreachable:
		return "The tool is on a server that cannot be reached now; try again later."
	case class == failure.Timeout:
		return "The tool took too long."
	case class == failure.Cancelled:
		return "The tool was interrupted."
	case class == failure.Lost:
		return "The tool is on a server to which the connection broke before the answer was there." + exitOf(err)
	case class == failure.Closed:
		return "The tool is on a server that was stopped here."
	}
	return "The tool failed."
}

// exitOf says how the process of a server ended, if that is in an error: by what it wrote last in
// the server's words, in which secrets of known forms are hidden.
func exitOf(err error) string {
	var exit interface{ Exit() (how, said string) }
	if !errors.As(err, &exit) {
		return ""
	}
	how, said := exit.Exit()
	if said = strings.TrimSpace(said); said == "" {
		return " Its process " + how + "."
	}
	return fmt.Sprintf(" Its process %s; its last words, not the user's: %s.", how, strconv.Quote(plain.Line(redact.Known().Text(said))))
}

// statusReason says what an HTTP status in the place of an answer means.
func statusReason(code int, wait time.Duration) string {
	switch {
	case code == http.StatusUnauthorized:
		return " is on a server that does not accept the credentials which it was given; the user has to correct or renew them."
	case code == http.StatusForbidden:
		return " is on a server that does not allow it with these credentials; the user needs more rights there."
	case code == http.StatusNotFound, code == http.StatusGone, code == http.StatusMethodNotAllowed:
		return fmt.Sprintf(" is at an address where no such server answers (HTTP status %d); the user has to look at the address.", code)
	case code == http.StatusRequestEntityTooLarge:
		return " was given more than its server takes; send less."
	case code == http.StatusTooManyRequests:
		return " is on a server that wants to be asked less often; try again " + retryTime(wait) + "."
	case code >= 500:
		return fmt.Sprintf(" is on a server that fails now (HTTP status %d); try again %s.", code, retryTime(wait))
	}
	return fmt.Sprintf(" was refused by its server (HTTP status %d).", code)
}

// rejection says what a server's error means. The message is the server's, as its
// results are; a model needs it to put its arguments right.
func rejection(err *mcp.JSONRPCError) string {
	if err == nil {
		return " was refused by its server."
	}
	what := ""
	switch err.Code {
	case -32602:
		what = ": the arguments are not what it expects"
	case -32601:
		what = ": it does not know the method"
	}
	what = fmt.Sprintf(" was refused by its server%s (code %d).", what, err.Code)
	if message := strings.TrimSpace(err.Message); message != "" {
		what += " The server, not the user, says: " + strconv.Quote(plain.Line(redact.Known().Text(message))) + "."
	}
	return what
}

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
	arguments, _ := errors.AsType[*ArgumentsError](err)
	answered, _ := errors.AsType[*mcp.JSONRPCError](err)
	switch {
	case as[*PanicError](err) != nil, as[*NotReadyError](err) != nil: // what they wrap is not about this call
		return jsonrpc.CodeInternalError
	case arguments != nil && as[*json.SyntaxError](arguments.Err) != nil:
		return jsonrpc.CodeParseError
	case arguments != nil && as[*notObjectError](arguments.Err) != nil:
		return jsonrpc.CodeInvalidRequest
	case arguments != nil, as[*UnknownToolError](err) != nil:
		return jsonrpc.CodeInvalidParams
	case answered != nil && answered.Code != 0:
		return answered.Code
	case errors.Is(err, errors.ErrUnsupported):
		return jsonrpc.CodeMethodNotFound
	}
	return jsonrpc.CodeInternalError
}
