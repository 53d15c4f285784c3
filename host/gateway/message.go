package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Codes of errors, as the protocol has them.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotFound       = -32002 // a resource, before 2026-07-28
	codeBusy           = -32000
	codeHeader         = -32020
	codeCapability     = -32021
	codeRevision       = -32022
	codeVisit          = -32042 // the user has to visit a page first, in 2025-11-25
)

func failure(code int64, format string, args ...any) *mcp.JSONRPCError {
	return &mcp.JSONRPCError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *mcp.JSONRPCError {
	return failure(codeInvalidParams, format, args...)
}

// A message is one to a client. A result, which can be long, is copied when it is written and not
// before. It is no part of something much longer, as that would be kept with it.
type message struct {
	head   []byte          // the whole message, but for a result and the brace behind it
	result json.RawMessage // nil: there is none
}

// response returns the answer to a request. ID is as the client wrote it.
func response(id, result json.RawMessage, err *mcp.JSONRPCError) message {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	head := append(append(make([]byte, 0, len(id)+48), `{"jsonrpc":"2.0","id":`...), id...)
	if err == nil {
		return message{append(head, `,"result":`...), result}
	}
	return message{append(head, `,"error":`...), errorJSON(err)}
}

func errorJSON(err *mcp.JSONRPCError) json.RawMessage {
	return marshal(struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{err.Code, err.Message, err.Data})
}

// size returns about how many bytes the message has.
func (m *message) size() int { return len(m.head) + len(m.result) }

// appendTo appends the message as one line, as it is over stdio and in an event: line breaks cannot stand
// within a string, and become spaces.
func (m *message) appendTo(out []byte) []byte {
	out = append(slices.Grow(out, m.size()+16), m.head...) // with room for what ends a line
	if m.result == nil {
		return out
	}
	at := len(out)
	out = append(append(out, m.result...), '}')
	for _, b := range []byte("\n\r") {
		for rest := out[at:]; ; {
			i := bytes.IndexByte(rest, b)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i:]
		}
	}
	return out
}

// mostBuffer is up to which size memory is used again.
const mostBuffer = 1 << 20

// buffers are memory that is used again by those that read and write messages.
type buffers struct{ pool sync.Pool }

// take returns memory to put messages together in, of any size.
func (b *buffers) take() []byte {
	if room, ok := b.pool.Get().(*[]byte); ok {
		return (*room)[:0]
	}
	return nil
}

// giveBack ends the use of such memory, unless it was used with an error: it may still be read then.
func (b *buffers) giveBack(room []byte, err error) {
	if err == nil && cap(room) <= mostBuffer {
		b.pool.Put(&room)
	}
}

// notification returns a message that is not answered; with an id, a request.
func notification(method string, params any, id string) json.RawMessage {
	return marshal(struct {
		Version string `json:"jsonrpc"`
		ID      string `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{"2.0", id, method, params})
}

// validID reports whether an id is one that the protocol allows, and of a sensible length.
func validID(id []byte) bool {
	return len(id) > 0 && len(id) <= 1024 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// member returns a member of an object, or nil.
func member(object json.RawMessage, path ...string) json.RawMessage {
	for _, key := range path {
		if len(object) == 0 {
			return nil
		}
		walk := jsonscan.Walk(object)
		var found json.RawMessage
		for k := range walk.Members() {
			if string(k) == key {
				found = walk.Value()
				break // no key is there twice
			}
		}
		object = found
	}
	return object
}

// text returns a member that is a string.
func text(object json.RawMessage, path ...string) (string, bool) {
	return jsonscan.String(member(object, path...))
}

// isObject reports whether a value that was scanned is an object.
func isObject(value json.RawMessage) bool {
	if len(value) == 0 {
		return false
	}
	walk := jsonscan.Walk(value)
	return walk.Kind() == '{'
}

// params are the members of a request's parameters that the gateway knows, as they were written. They
// are found in one pass: the arguments can be long.
type params struct {
	all                                              json.RawMessage // an object, or nil
	name, uri, cursor, arguments, meta, task, taskID json.RawMessage
	responses, state                                 json.RawMessage
}

func paramsOf(object json.RawMessage) params {
	p := params{all: object}
	if object == nil {
		return p
	}
	walk := jsonscan.Walk(object)
	for key := range walk.Members() {
		var into *json.RawMessage
		switch string(key) {
		case "name":
			into = &p.name
		case "uri":
			into = &p.uri
		case "cursor":
			into = &p.cursor
		case "arguments":
			into = &p.arguments
		case "_meta":
			into = &p.meta
		case "task":
			into = &p.task
		case "taskId":
			into = &p.taskID
		case "inputResponses":
			into = &p.responses
		case "requestState":
			into = &p.state
		default:
			continue
		}
		*into = walk.Value()
	}
	return p
}

// str returns a member that is a string; empty if it is not there or no string.
func str(value json.RawMessage) string {
	s, _ := jsonscan.String(value)
	return s
}
