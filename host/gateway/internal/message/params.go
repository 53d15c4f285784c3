package message

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// IsBatch reports whether a body is an array.
func IsBatch(body []byte) bool {
	for _, c := range body {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == '['
		}
	}
	return false
}

// Read reads a message. If it is none, failed says why, to be answered under the id, which is nil if the protocol does
// not allow the message's own.
func Read(text []byte) (m jsonscan.Message, id json.RawMessage, failed *mcp.JSONRPCError) {
	m, err := jsonscan.Scan(text)
	if err != nil {
		return m, nil, Failure(CodeParse, "the message cannot be read: %v", err)
	}
	if ValidID(m.ID) {
		id = m.ID
	}
	return m, id, check(&m)
}

// check says what is wrong with a message that is JSON.
func check(m *jsonscan.Message) *mcp.JSONRPCError {
	switch {
	case m.Version != "2.0":
		return Failure(CodeInvalidRequest, `the member "jsonrpc" has to be "2.0"`)
	case m.IsResponse():
		return nil
	case m.Method == "" || len(m.Method) > 256:
		return Failure(CodeInvalidRequest, "the method is missing")
	case m.ID != nil && !ValidID(m.ID):
		return Failure(CodeInvalidRequest, "the id has to be a string or a number, of at most 1024 bytes")
	case m.Params != nil && !IsObject(m.Params):
		return InvalidParams("params is not an object")
	}
	return nil
}

// ValidID reports whether an id is one that the protocol allows, and of a sensible length.
func ValidID(id []byte) bool {
	return len(id) > 0 && len(id) <= 1024 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// Params are the members of a request's parameters that the gateway knows, as they were written. They
// are found in one pass: the arguments can be long.
type Params struct {
	All                                        json.RawMessage // an object, or nil
	Name, URI, Cursor, Arguments, Meta, TaskID json.RawMessage
	Responses, State                           json.RawMessage
}

// ParamsOf returns the members of an object that was scanned, or of nil.
func ParamsOf(object json.RawMessage) Params {
	p := Params{All: object}
	if object == nil {
		return p
	}
	walk := jsonscan.Walk(object)
	for key := range walk.Members() {
		var into *json.RawMessage
		switch string(key) {
		case "name":
			into = &p.Name
		case "uri":
			into = &p.URI
		case "cursor":
			into = &p.Cursor
		case "arguments":
			into = &p.Arguments
		case "_meta":
			into = &p.Meta
		case "taskId":
			into = &p.TaskID
		case "inputResponses":
			into = &p.Responses
		case "requestState":
			into = &p.State
		default:
			continue
		}
		*into = walk.Value()
	}
	if p.Arguments != nil && p.Arguments[0] == '[' && IsObject(p.Arguments) {
		p.Arguments = nil
	}
	return p
}
