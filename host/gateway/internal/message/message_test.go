package message_test

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An answer is one line, whatever line breaks its result has, and has an id if the message had one.
func TestResponse(t *testing.T) {
	busy := message.Failure(message.CodeBusy, "%d are too many", 2)
	for _, c := range []struct {
		id, result string
		err        *mcp.JSONRPCError
		want       string
	}{
		{`7`, "{\"a\":\r\n1}", nil, `{"jsonrpc":"2.0","id":7,"result":{"a":  1}}`},
		{`"x"`, ``, busy, `{"jsonrpc":"2.0","id":"x","error":{"code":-32000,"message":"2 are too many"}}`},
		{``, ``, message.InvalidParams("no"), `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}`},
	} {
		m := message.Response(json.RawMessage(c.id), json.RawMessage(c.result), c.err)
		assert.Equal(t, string(m.AppendTo(nil)), c.want)
	}
	m := message.Whole(message.Notification("a", nil, "7"))
	assert.Equal(t, string(m.AppendTo(nil)), `{"jsonrpc":"2.0","id":"7","method":"a"}`)
}

// The other values of an object keep their bytes.
func TestObject(t *testing.T) {
	one := func(f func(json.RawMessage, string, []byte) json.RawMessage) func(json.RawMessage) json.RawMessage {
		return func(object json.RawMessage) json.RawMessage { return f(object, "k", []byte("1")) }
	}
	for _, c := range []struct {
		name         string
		change       func(json.RawMessage) json.RawMessage
		object, want string
	}{
		{"with a member", one(message.WithMember), `{"a": 1.0, "k" : [2] , "b":"é"}`, `{"a": 1.0, "k" : 1 , "b":"é"}`},
		{"with a new member", one(message.WithMember), `{"a": 1.0}`, `{"k":1,"a": 1.0}`},
		{"with the only member", one(message.AddMember), ` { } `, `{"k":1 } `},
		{"with a member of an array", one(message.AddMember), `[1]`, `[1]`},
		{"with a member of an empty list", one(message.AddMember), ` [ ] `, `{"k":1}`},
		{"with new meta", one(message.WithMeta), `{"a":1}`, `{"_meta":{"k":1},"a":1}`},
		{"with meta", one(message.WithMeta), `{"_meta":{"x":2},"a":1}`, `{"_meta":{"k":1,"x":2},"a":1}`},
	} {
		assert.Equal(t, string(c.change(json.RawMessage(c.object))), c.want, "%s", c.name)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
