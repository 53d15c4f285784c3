package gateway_test

import (
	"net/http"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The two paths of HandsAI answer in its form.
func TestHandsAI(t *testing.T) {
	s := openSite(t, nil)
	list := s.do(t, query{method: http.MethodGet, path: "/mcp/tools/list"}).body
	assert.Contains(t, list, `"name":"one__echo"`)
	const echo = `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"one__echo","arguments":{"text":"hi"}}`
	const said = `"content":[{"type":"text","text":"hi"}]`
	answers := map[string]string{`{"jsonrpc":"2.0","result":{"tools":[{`: list}
	for _, c := range []struct{ message, want, has string }{
		{echo + `,"id":"exec-456"}`, `{"jsonrpc":"2.0","id":"exec-456","result":{`, said},
		{echo + `}`, `{"jsonrpc":"2.0","result":{`, said},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"missing"},"id":"1"}`, `{"jsonrpc":"2.0","id":"1","error":{"code":-32602`, ""},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x","arguments":{"a":1,"a":2}},"id":"2"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`, ""},
		{`{"jsonrpc":"2.0","method":"tools/call","id":"3"}`, `{"jsonrpc":"2.0","id":"3","error":{"code":-32602`, ""},
		{`{"jsonrpc":"2.0","method":"tools/run","params":{},"id":"4"}`, `{"jsonrpc":"2.0","id":"4","error":{"code":-32601`, ""},
		{`{"jsonrpc":"2.0",`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`, ""},
	} {
		body := s.do(t, query{path: "/mcp/tools/call", body: c.message, header: acceptJSON}).body
		assert.Contains(t, body, c.has, "%s", c.message)
		answers[c.want] = body
	}
	for begin, answer := range answers {
		assert.Equal(t, answer[:min(len(begin), len(answer))], begin)
	}
}
