package message

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Codes of errors, as the protocol has them.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeNoMethod       = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeNotFound       = -32002 // a resource, before 2026-07-28
	CodeBusy           = -32000
	CodeHeader         = -32020
	CodeCapability     = -32021
	CodeRevision       = -32022
)

// Failure returns an error of the given code, and a message as of [fmt.Sprintf].
func Failure(code int64, format string, args ...any) *mcp.JSONRPCError {
	return &mcp.JSONRPCError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// InvalidParams returns the error that says what is wrong with the parameters of a request.
func InvalidParams(format string, args ...any) *mcp.JSONRPCError {
	return Failure(CodeInvalidParams, format, args...)
}

// A Message is one to a client. A result, which can be long, is copied when it is written and not
// before. It is no part of something much longer, as that would be kept with it.
type Message struct {
	head   []byte          // the whole message, but for a result and the brace behind it
	result json.RawMessage // nil: there is none
}

// Whole returns a message that is JSON already.
func Whole(m json.RawMessage) Message { return Message{head: m} }

// Response returns the answer to a request. ID is as the client wrote it; null if it is nil, and left out if it is empty.
func Response(id, result json.RawMessage, err *mcp.JSONRPCError) Message {
	head := append(make([]byte, 0, len(id)+48), `{"jsonrpc":"2.0"`...)
	if id == nil {
		id = json.RawMessage("null")
	}
	if len(id) > 0 {
		head = append(append(head, `,"id":`...), id...)
	}
	if err == nil {
		return Message{append(head, `,"result":`...), result}
	}
	return Message{append(head, `,"error":`...), ErrorJSON(err)}
}

// ErrorJSON returns an error as it is sent.
func ErrorJSON(err *mcp.JSONRPCError) json.RawMessage {
	return Marshal(struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{err.Code, err.Message, err.Data})
}

// Size returns about how many bytes the message has.
func (m *Message) Size() int { return len(m.head) + len(m.result) }

// AppendTo appends the message as one line, as it is over stdio and in an event: line breaks cannot stand
// within a string, and become spaces.
func (m *Message) AppendTo(out []byte) []byte {
	out = append(slices.Grow(out, m.Size()+16), m.head...) // with room for what ends a line
	if m.result == nil {
		return out
	}
	at := len(out)
	out = append(append(out, m.result...), '}')
	jsonscan.OneLine(out[at:])
	return out
}

// Notification returns a message that is not answered; with an id, a request.
func Notification(method string, params any, id string) json.RawMessage {
	return Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      string `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{"2.0", id, method, params})
}
