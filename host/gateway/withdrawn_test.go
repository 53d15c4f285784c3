package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// newStuckServer returns a server that answers none of the given requests before they are cancelled, and
// counts those that wait and those that were cancelled.
func newStuckServer(methods map[string]string) (server *sdk.Server, waiting, cancelled *atomic.Int64) {
	server = newSDKServer()
	waiting, cancelled = new(atomic.Int64), new(atomic.Int64)
	server.AddResource(&sdk.Resource{Name: "note", URI: "test://note"}, nil)
	server.AddPrompt(&sdk.Prompt{Name: "greet"}, nil)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if methods[method] == "" {
				return next(ctx, method, r)
			}
			waiting.Add(1)
			defer cancelled.Add(1)
			defer waiting.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	return server, waiting, cancelled
}

// Whatever request is withdrawn, its server is told, and the client gets no answer.
func TestWithdrawn(t *testing.T) {
	methods := map[string]string{ // in the view of one server
		"resources/list":           `{}`,
		"resources/templates/list": `{}`,
		"prompts/list":             `{}`,
		"resources/read":           `{"uri":"test://note"}`,
		"prompts/get":              `{"name":"greet"}`,
		"completion/complete":      `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}`,
	}
	server, waiting, cancelled := newStuckServer(methods)
	s := &site{server: &upstream{Server: server}}
	s.open(t, s.hostOptions(), nil, []string{"belt"})
	for method, params := range methods {
		t.Run("http/"+method, func(t *testing.T) {
			before := cancelled.Load()
			id := s.begin(t, "/s/belt/mcp", "", mcp.Revision20251125)
			var all sync.WaitGroup
			var got *reply
			all.Go(func() {
				got = s.do(t, shot{path: "/s/belt/mcp", session: id, body: callOf(2, method, params)})
			})
			eventually(t, "the request waits", func() bool { return waiting.Load() == 1 })
			s.do(t, shot{path: "/s/belt/mcp", session: id, body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`})
			eventually(t, "the server is told", func() bool { return cancelled.Load() == before+1 })
			all.Wait()
			assert.Lacks(t, got.body, `"id":2`, "the answer")
		})
		for _, revision := range both {
			t.Run(fmt.Sprintf("stdio %s/%s", revision, method), func(t *testing.T) {
				before := cancelled.Load()
				c := s.stdio(t, "/s/belt/mcp")
				if revision == mcp.Revision20260728 {
					params = strings.Replace(params, "{", "{"+modernMeta+",", 1)
					params = strings.Replace(params, ",}", "}", 1)
				}
				c.begin(t)
				c.say(t, callOf(2, method, params))
				eventually(t, "the request waits", func() bool { return waiting.Load() == 1 })
				c.say(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
				eventually(t, "the server is told", func() bool { return cancelled.Load() == before+1 })
				c.say(t, callOf(3, "ping", `{}`))
				if m := c.message(t); string(m.ID) != "3" {
					t.Errorf("got the message %s %s, want the answer to ping", m.ID, m.Method)
				}
			})
		}
	}
}

// A client that withdraws a subscription waits no more for the server, whose subscriptions are shared.
func TestSubscriptionWithdrawn(t *testing.T) {
	const method, params = "resources/subscribe", `{"uri":"test://note"}`
	server, waiting, _ := newStuckServer(map[string]string{method: params})
	s := &site{server: &upstream{Server: server}}
	s.open(t, s.hostOptions(), nil, []string{"belt"})
	c := s.stdio(t, "/s/belt/mcp")
	c.begin(t)
	c.say(t, callOf(2, method, params))
	eventually(t, "the request waits", func() bool { return waiting.Load() == 1 })
	c.say(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	_ = c.in.Close()
	if err := <-c.ended; err != nil {
		t.Errorf("got %v, want an end when all requests have ended", err)
	}
}
