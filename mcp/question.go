package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp/form"
	"github.com/mcpbelt/mcpbelt/mcp/internal/pages"
)

// An ElicitRequest is a request of a server that the user fill in a form.
type ElicitRequest struct {
	// Server is the name of the server that asks, as given to [NewClient].
	// Show it to the user: what Params says comes from that server.
	Server string
	// Params are the question and the schema of the answer, which is held as a
	// [json.RawMessage].
	Params *ElicitParams
	// Form is the form of that schema: its fields, what to warn the user of, and by Fill how
	// content will be sent if it is accepted. The client fills in what a handler returns in
	// the same way; a handler that asks again needs to know before.
	Form form.Form
	// Caused says that it is known which call, or other request of this client, made the
	// server ask. The handler's context then has the values of the context of that request,
	// such as the user whom a gateway put there; it ends as it always does. If Caused is
	// false the handler's context has the values of no request.
	//
	// In revision 2026-07-28 the request is always known. In older ones it is known over
	// HTTP if the server asks on the stream of the answer, and if the server names the
	// task of the request. Else it is taken to be the only one under way on the
	// connection, and is unknown if there are several, or if the server may still be at
	// work for one that was given up or has become a task.
	Caused bool
	// Tool is the name of the tool that was called; empty if Caused is false, or if the
	// request was no call of a tool.
	Tool string
	RawRequest
}

// An ElicitURLRequest asks the user to open a URL, to enter data that must not pass
// through the client.
//
// The handler shows the user the server's name and the whole URL, its host above all,
// and asks whether they agree. If they do, it opens the page in their browser, or lets
// them open it, and accepts. Accepting says that the user agreed, not that they are
// done. Nothing may be fetched from the URL before, nor by the program at all.
type ElicitURLRequest struct {
	// Server is the name of the server that asks, as given to [NewClient].
	Server string
	// Message is the server's reason: text of an untrusted party.
	Message string
	// URL is http or https, absolute, and without control characters and user
	// names. Show all of it.
	URL string
	// Host is the host of URL: what to highlight.
	Host string
	// Warnings are reasons to look twice, such as a host that can be mistaken
	// for another one. They are sentences for the user.
	Warnings []string
	// Completed is closed when a notification of the server says that the user is done,
	// or when Done was called. Many servers send none.
	Completed <-chan struct{}
	// ServerWaits says that the server waits for the answer, and may give up if it is
	// not given as soon as the user has agreed. Otherwise nothing but the caller's own
	// call waits, and the handler can take its time until the user is done, which saves
	// another round.
	ServerWaits bool
	// Caused says that it is known which request made the server ask, as in
	// [ElicitRequest].
	Caused bool
	// Tool is the name of the tool that was called, as in [ElicitRequest].
	Tool string
	RawRequest

	page *pages.Page
}

// Done says that the user is done, for a server that sends no notification of it. A
// call that waits for it is then made again.
func (r *ElicitURLRequest) Done() {
	if r.page != nil { // of a request that is not the client's
		r.page.Complete()
	}
}

// A SampleRequest asks a language model to continue a conversation.
//
// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
// with older servers, and with newer ones that still use it.
type SampleRequest struct {
	// Server is the name of the server that asks, as given to [NewClient].
	// Show it to the user: what Params says comes from that server.
	Server string
	// Params are the conversation and how to continue it. MaxTokens must be respected.
	// The schemas of Tools, Metadata, and the structured content of tool results are
	// held as [json.RawMessage], and the numbers in a tool's input as [json.Number].
	// IncludeContext may ask for context of this or of all servers; the client adds
	// none, and to do so is for Sample to decide.
	Params *SampleParams
	// Caused says that it is known which request made the server ask, as in
	// [ElicitRequest].
	Caused bool
	// Tool is the name of the tool that was called, as in [ElicitRequest].
	Tool string
	RawRequest
}

// ErrRejected is returned by Sample of [ClientOptions] when the user rejects the
// request. A server of an older revision gets an error with code -1; in 2026-07-28 the
// call that caused the request ends with this error.
//
// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
// with older servers, and with newer ones that still use it.
//
//cure:none is needed: the user has said no
var ErrRejected = errors.New("the user rejected the request")

// A server request is an elicitation, sampling, or a request for the roots. Until revision
// 2025-11-25 it is a request of its own; in 2026-07-28 it comes with a result. Both are
// handled here.

const (
	// maxServerRequests is how many requests of one server can be under way, and how many
	// can come with one result.
	maxServerRequests = 16
)

// A RawRequest is a server request as it came, for handlers that pass it on, as a gateway does.
type RawRequest struct {
	// Raw are the parameters as the server wrote them, which may share memory with others: do not
	// change them. Text of an untrusted party.
	Raw json.RawMessage

	answer json.RawMessage
}

// Answer has a JSON object sent as the result, as it is, in the place of what the handler returns: that
// is not looked at then, unless it is an error.
func (r *RawRequest) Answer(result json.RawMessage) { r.answer = oneLine(result) }

type askerKey struct{}

// WithAsker says who is asked what servers want to know in the course of calls under the returned context. If several calls
// are under way, and it is not known which of them makes the server ask, the handler gets the values of the
// context of one of them if all have the same asker, a pointer or another comparable value. Caused of its request
// is false then.
func WithAsker(ctx context.Context, asker any) context.Context {
	return context.WithValue(ctx, askerKey{}, asker)
}

// A refusal says why a server request is refused, in words that the server may see.
type refusal string

func (r refusal) Error() string { return string(r) }

// refusalOf finds a refusal in an error.
func refusalOf(err error) (string, bool) {
	var reason refusal
	var schema *form.SchemaError
	var field *form.FieldError
	switch {
	case errors.As(err, &reason):
		return string(reason), true
	case errors.As(err, &schema):
		return schema.Error(), true
	case errors.As(err, &field):
		return field.Error(), true
	}
	return "", false
}

func refused(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// refuse turns an error into an answer for the server. Of an error that a
// handler returned the server learns nothing, unless it is meant for it.
func refuse(err error) *JSONRPCError {
	var invalid *ProtocolError
	var refusal *JSONRPCError
	reason, refusalFor := refusalOf(err)
	switch {
	case errors.As(err, &refusal):
		return refusal
	case refusalFor:
		return &JSONRPCError{Code: jsonrpc.CodeInvalidParams, Message: reason}
	case errors.As(err, &invalid):
		return &JSONRPCError{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s: %v", invalid.Path, invalid.Err)}
	}
	return &JSONRPCError{Code: jsonrpc.CodeInternalError, Message: "the client could not do that"}
}

// A question is an elicitation or a sampling: what a server wants of a human.

const (
	// questionBurst is how many times MaxQuestions a connection can ask at once, and
	// questionPause the time after which it can ask once more.
	questionBurst = 4
	questionPause = time.Second
	// declinedPause is how long after telling of declined questions no more are told of.
	declinedPause = 10 * time.Second
)

// errTooManyQuestions declines a question that is no elicitation.
const errTooManyQuestions = refusal("too many questions")

func isQuestion(method string) bool { return method == protocol.Elicit || method == protocol.Sample }

// asked counts the questions in the course of one request of a caller.
type asked struct {
	n      atomic.Int64
	tool   string // that the request calls; empty if none
	awaits bool   // the request has become a task; changed only while there is no pending request of it
}

// cause returns what a handler is told of the request that caused a question.
func (a *asked) cause() (caused bool, tool string) {
	if a == nil {
		return false, ""
	}
	return true, a.tool
}

// An allowance is how many questions a connection may ask, whatever for.
type allowance struct {
	mu   sync.Mutex
	full time.Time // when it is as large as at first
}

// receive takes a question from an allowance of size at most. It reports whether there is
// one.
func (a *allowance) take(size int64) bool {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full.Before(now) {
		a.full = now
	}
	if a.full.Sub(now) > time.Duration(size-1)*questionPause {
		return false
	}
	a.full = a.full.Add(questionPause)
	return true
}
