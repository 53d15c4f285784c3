package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// The two paths of HandsAI answer in its form.
func TestHandsAI(t *testing.T) {
	s := openSite(t, nil)
	sdk.AddTool(s.server.Server, &sdk.Tool{Name: "must"}, func(context.Context, *sdk.CallToolRequest, struct {
		Must string `json:"must"`
	}) (*sdk.CallToolResult, any, error) {
		return nil, nil, nil
	})
	sdk.AddTool(s.server.Server, &sdk.Tool{Name: "fails"}, func(context.Context, *sdk.CallToolRequest, anyInput) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("the token has expired")
	})
	hosttest.Eventually(t, "the tools are listed", func() bool { return hasTool(s.host, "fails") })
	list := s.do(t, query{method: http.MethodGet, path: "/mcp/tools/list"}).body
	assert.Contains(t, list, `"name":"one__echo"`)
	const echo = `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"one__echo","arguments":{"text":"hi"}}`
	const said = `"content":[{"type":"text","text":"hi"}]`
	answers := map[string]string{`{"jsonrpc":"2.0","result":{"tools":[{`: list}
	for _, c := range []struct{ message, want, has string }{
		{echo + `,"id":"exec-456"}`, `{"jsonrpc":"2.0","id":"exec-456","result":{`, said},
		{echo + `}`, `{"jsonrpc":"2.0","result":{`, said},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"missing"},"id":"1"}`, `{"jsonrpc":"2.0","id":"1","error":{"code":-32603`, ""},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"one__must","arguments":{}},"id":"5"}`, `{"jsonrpc":"2.0","id":"5","error":{"code":-32602`, ""},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"one__fails","arguments":{}},"id":"6"}`, `{"jsonrpc":"2.0","id":"6","error":{"code":-32603,"message":"the token has expired`, ""},
		{`{"jsonrpc":"2.0","method":7,"id":"7"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`, ""},
		{`"x"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`, ""},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x","arguments":{"a":1,"a":2}},"id":"2"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`, ""},
		{`{"jsonrpc":"2.0","method":"tools/call","id":"3"}`, `{"jsonrpc":"2.0","id":"3","error":{"code":-32602`, ""},
		{`{"jsonrpc":"2.0","method":"tools/run","params":{},"id":"4"}`, `{"jsonrpc":"2.0","id":"4","error":{"code":-32601`, ""},
		{`{"jsonrpc":"2.0",`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`, ""},
	} {
		body := s.wantStatus(t, http.StatusOK, query{path: "/mcp/tools/call", body: c.message, header: acceptJSON}, "%s", c.message).body
		assert.Contains(t, body, c.has, "%s", c.message)
		answers[c.want] = body
	}
	for begin, answer := range answers {
		assert.Equal(t, answer[:min(len(begin), len(answer))], begin)
	}
}
